/* Contexts. They share the device's memory, and each thread has a stack of them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

enum { LIMIT_COUNT = 16, MOST_CONTEXTS = 64 };
enum { LIMIT_STACK, LIMIT_PRINTF, LIMIT_HEAP, LIMIT_DEPTH, LIMIT_PENDING, LIMIT_FETCH, LIMIT_PERSISTING };

typedef struct Context {
    unsigned flags;
    uint64_t id;
    int cache, shared_banks;
    size_t limits[LIMIT_COUNT];
} Context;

#define USUAL_LIMITS                                                                                                   \
    {                                                                                                                  \
        [LIMIT_STACK] = 1024, [LIMIT_PRINTF] = 1 << 20, [LIMIT_HEAP] = 8 << 20, [LIMIT_DEPTH] = 2,                     \
        [LIMIT_PENDING] = 2048, [LIMIT_FETCH] = 64                                                                     \
    }

static Context primary = {.id = 1, .limits = USUAL_LIMITS};
static unsigned primary_uses;
static uint64_t next_id = 2;
static int fault;
static _Thread_local Context *stack[MOST_CONTEXTS];
static _Thread_local unsigned stack_count;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int emulated_lock(void)
{
    return pthread_mutex_lock(&mutex);
}

void emulated_unlock(const int *locked)
{
    (void)locked;
    pthread_mutex_unlock(&mutex);
}

int device_error(void)
{
    return fault;
}

int device_fail(int error)
{
    return fault = error;
}

static Context *current(void)
{
    return stack_count ? stack[stack_count - 1] : NULL;
}

/* The current context or, for functions that work without one, the primary. */
static Context *usual(void)
{
    return current() ? current() : &primary;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    LOCKED;
    primary_uses++;
    *context = &primary;
    return device ? INVALID_DEVICE : DONE;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    LOCKED;
    if (device)
        return INVALID_DEVICE;
    if (!primary_uses)
        return INVALID_CONTEXT;
    primary_uses--;
    return DONE;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    LOCKED;
    if (device)
        return INVALID_DEVICE;
    fault = DONE;
    primary = (Context){.id = 1, .limits = USUAL_LIMITS};
    return DONE;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    primary.flags = flags;
    return device ? INVALID_DEVICE : DONE;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = primary.flags;
    *active = primary_uses > 0;
    return device ? INVALID_DEVICE : DONE;
}

static int push(Context *context)
{
    if (stack_count == MOST_CONTEXTS)
        return NO_MEMORY;
    stack[stack_count++] = context;
    return DONE;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    LOCKED;
    Context *made = device ? NULL : malloc(sizeof *made);
    if (!made)
        return device ? INVALID_DEVICE : NO_MEMORY;
    *made = (Context){.flags = flags, .id = next_id++, .limits = USUAL_LIMITS};
    *context = made;
    return push(made);
}

int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device)
{
    (void)affinity;
    return count ? NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)
{
    (void)parameters;
    return cuCtxCreate_v2(context, flags, device);
}

int cuCtxDestroy_v2(void *context)
{
    LOCKED;
    if (!context || context == &primary)
        return INVALID_CONTEXT;
    if (current() == context)
        stack_count--;
    free(context);
    return DONE;
}

int cuCtxGetCurrent(void **context)
{
    *context = current();
    return DONE;
}

int cuCtxSetCurrent(void *context)
{
    if (!context) {
        stack_count -= stack_count > 0;
        return DONE;
    }
    if (!stack_count)
        return push(context);
    stack[stack_count - 1] = context;
    return DONE;
}

int cuCtxPushCurrent_v2(void *context)
{
    return context ? push(context) : INVALID_CONTEXT;
}

int cuCtxPopCurrent_v2(void **context)
{
    if (!stack_count)
        return INVALID_CONTEXT;
    stack_count--;
    if (context)
        *context = stack[stack_count];
    return DONE;
}

int cuCtxAttach(void **context, unsigned flags)
{
    *context = current();
    return flags || !*context ? INVALID_VALUE : DONE;
}

int cuCtxDetach(void *context)
{
    return context ? DONE : INVALID_CONTEXT;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return DONE;
}

int cuCtxGetDevice_v2(int *device, void *context)
{
    (void)context;
    return cuCtxGetDevice(device);
}

int cuCtxSynchronize(void)
{
    LOCKED;
    return fault;
}

int cuCtxSynchronize_v2(void *context)
{
    (void)context;
    return cuCtxSynchronize();
}

int cuCtxGetApiVersion(void *context, unsigned *version)
{
    (void)context;
    *version = 13000;
    return DONE;
}

int cuCtxGetId(void *context, unsigned long long *id)
{
    *id = (context ? (Context *)context : usual())->id;
    return DONE;
}

int cuCtxGetFlags(unsigned *flags)
{
    *flags = usual()->flags;
    return DONE;
}

int cuCtxSetFlags(unsigned flags)
{
    usual()->flags = flags;
    return DONE;
}

int cuCtxGetCacheConfig(int *config)
{
    *config = usual()->cache;
    return DONE;
}

int cuCtxSetCacheConfig(int config)
{
    usual()->cache = config;
    return config < 0 || config > 3 ? INVALID_VALUE : DONE;
}

int cuCtxGetSharedMemConfig(int *config)
{
    *config = usual()->shared_banks;
    return DONE;
}

int cuCtxSetSharedMemConfig(int config)
{
    usual()->shared_banks = config;
    return config < 0 || config > 2 ? INVALID_VALUE : DONE;
}

/* CUlimit: the heap's size counts until a kernel uses it, the others have no effect. */
int cuCtxGetLimit(size_t *value, int limit)
{
    if (limit < 0 || limit > LIMIT_PERSISTING)
        return NOT_SUPPORTED;
    *value = usual()->limits[limit];
    return DONE;
}

int cuCtxSetLimit(int limit, size_t value)
{
    if (limit < 0 || limit > LIMIT_PERSISTING)
        return NOT_SUPPORTED;
    if (limit == LIMIT_HEAP && !heap_resize(value))
        return INVALID_VALUE;
    usual()->limits[limit] = value;
    return DONE;
}

int cuCtxResetPersistingL2Cache(void)
{
    return DONE;
}
