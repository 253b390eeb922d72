/* Pools of memory for allocations in stream order. Streams are in order with each other, so memory exists from its
 * allocation until it is freed; a pool only counts. */
#include <stdlib.h>
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

/* CUmemPool_attribute */
enum { REUSE_FIRST = 1, REUSE_LAST = 3, THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH };

typedef struct Pool {
    uint64_t threshold, used, most;
    int reuse[REUSE_LAST + 1];
} Pool;

static Pool default_pool = {.reuse = {0, 1, 1, 1}};
static Pool *current_pool = &default_pool;

int cuMemPoolCreate(void **pool, const void *properties)
{
    Pool *made = properties ? malloc(sizeof *made) : NULL;
    *pool = made;
    if (made)
        *made = (Pool){.reuse = {0, 1, 1, 1}};
    return made ? DONE : INVALID_VALUE;
}

int cuMemPoolDestroy(void *pool)
{
    LOCKED;
    if (!pool || pool == &default_pool)
        return INVALID_VALUE;
    if (current_pool == pool)
        current_pool = &default_pool;
    free(pool);
    return DONE;
}

int cuDeviceGetDefaultMemPool(void **pool, int device)
{
    *pool = &default_pool;
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceGetMemPool(void **pool, int device)
{
    *pool = current_pool;
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceSetMemPool(int device, void *pool)
{
    if (!pool)
        return INVALID_VALUE;
    current_pool = pool;
    return device ? INVALID_DEVICE : DONE;
}

int cuMemGetDefaultMemPool(void **pool, const MemoryLocation *location, int kind)
{
    (void)location, (void)kind;
    *pool = &default_pool;
    return DONE;
}

int cuMemPoolTrimTo(void *pool, size_t size)
{
    (void)size;
    return pool ? DONE : INVALID_VALUE;
}

int cuMemPoolSetAccess(void *pool, const void *access, size_t count)
{
    (void)access, (void)count;
    return pool ? DONE : INVALID_VALUE;
}

int cuMemPoolGetAccess(int *access, void *pool, const MemoryLocation *location)
{
    enum { READ_WRITE = 3 };
    (void)location;
    *access = READ_WRITE;
    return pool ? DONE : INVALID_VALUE;
}

int cuMemPoolSetAttribute(void *handle, int attribute, void *value)
{
    Pool *pool = handle;
    if (!pool || attribute < REUSE_FIRST || attribute > USED_HIGH || attribute == RESERVED || attribute == USED)
        return INVALID_VALUE;
    if (attribute <= REUSE_LAST)
        pool->reuse[attribute] = *(int *)value;
    else if (attribute == THRESHOLD)
        pool->threshold = *(uint64_t *)value;
    else
        pool->most = pool->used;
    return DONE;
}

int cuMemPoolGetAttribute(void *handle, int attribute, void *value)
{
    const Pool *pool = handle;
    if (!pool || attribute < REUSE_FIRST || attribute > USED_HIGH)
        return INVALID_VALUE;
    if (attribute <= REUSE_LAST)
        *(int *)value = pool->reuse[attribute];
    else
        *(uint64_t *)value = attribute == THRESHOLD                       ? pool->threshold
                             : attribute == RESERVED || attribute == USED ? pool->used
                                                                          : pool->most;
    return DONE;
}

static int allocate(Pool *pool, uint64_t *address, size_t size)
{
    int error = cuMemAlloc_v2(address, size);
    if (error)
        return error;
    memory_at(*address)->pool = pool;
    pool->used += size;
    pool->most = pool->used > pool->most ? pool->used : pool->most;
    return DONE;
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t size, void *pool, void *stream)
{
    LOCKED;
    int error = pool ? allocate(pool, address, size) : INVALID_VALUE;
    if (error || !stream_is_captured(stream))
        return error;
    return stream_submit(stream, &(Work){.kind = WORK_ALLOCATE, .memory = {*address, size}});
}

int cuMemAllocAsync(uint64_t *address, size_t size, void *stream)
{
    LOCKED;
    return cuMemAllocFromPoolAsync(address, size, current_pool, stream);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    LOCKED;
    Memory *memory = memory_at(address);
    if (stream_is_captured(stream))
        return stream_submit(stream, &(Work){.kind = WORK_FREE, .memory = {.address = address}});
    if (memory && memory->pool)
        ((Pool *)memory->pool)->used -= memory->size;
    return cuMemFree_v2(address);
}

/* Memory that graphs allocate: CUgraphMem_attribute. */
int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    *(uint64_t *)value = 0;
    return device ? INVALID_DEVICE : attribute < 0 || attribute > 3 ? INVALID_VALUE : DONE;
}

int cuDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    (void)value;
    return device ? INVALID_DEVICE : attribute != 1 && attribute != 3 ? INVALID_VALUE : DONE;
}

int cuDeviceGraphMemTrim(int device)
{
    return device ? INVALID_DEVICE : DONE;
}

/* The names for programs whose threads have default streams of their own. */
SAME(cuMemAllocAsync_ptsz, cuMemAllocAsync);
SAME(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync);
SAME(cuMemFreeAsync_ptsz, cuMemFreeAsync);
