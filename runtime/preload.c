/* Preloaded (LD_PRELOAD=libptxopt-launch.so) into a program that uses the CUDA driver, also by cuGetProcAddress or
 * dlsym as CUDA's shared runtime, CuPy and others do: launches of coarsened kernels are adapted by their contracts.
 *
 * Handles of functions are noted when the program asks for them by name. The static runtime asks for its functions
 * where nothing can be preloaded but dlsym; programs that ptxopt-nvcc builds have link_adapter.c, and need this one
 * not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

typedef struct Function {
    const void *handle;
    Contract *contract;
    struct Function *next;
} Function;

enum { SLOTS = 1024 };

static Function *functions[SLOTS];
static Driver driver;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *(*real_dlsym(void))(void *, const char *)
{
    static void *(*found)(void *, const char *);
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
        *(void **)&found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return found;
}

/* The driver's own function. */
static void *driver_function(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? real_dlsym()(library, name) : NULL;
}

static void load(void)
{
    driver_load(&driver, driver_function);
}

/* The newest: handles may be used again after a module is gone. */
static Contract *contract_of(const void *handle)
{
    pthread_mutex_lock(&lock);
    const Function *function = functions[(uintptr_t)handle / 16 % SLOTS];
    while (function && function->handle != handle)
        function = function->next;
    pthread_mutex_unlock(&lock);
    return function ? function->contract : NULL;
}

static void remember(const void *handle, Contract *contract)
{
    Function *function = calloc(1, sizeof *function);
    if (!function)
        return;
    pthread_mutex_lock(&lock);
    Function **slot = &functions[(uintptr_t)handle / 16 % SLOTS];
    *function = (Function){handle, contract, *slot};
    *slot = function;
    pthread_mutex_unlock(&lock);
}

/* Programs may ask for a function before each launch. */
static void note(const void *handle, void *module, void *library, const char *name)
{
    pthread_once(&once, load);
    Contract *contract = contract_read(&driver, module, library, name);
    const Contract *before = contract_of(handle);
    if (before && contract_same(before, contract)) {
        contract_free(contract);
        return;
    }
    contract_keep(contract);
    remember(handle, contract);
}

/* Each function calls the driver's own of the same name. */
#define OWN(TYPE, NAME, ...)                                                                                           \
    static __typeof__(TYPE(*)(__VA_ARGS__)) real_##NAME(void)                                                          \
    {                                                                                                                  \
        static __typeof__(TYPE(*)(__VA_ARGS__)) found;                                                                 \
        if (!found)                                                                                                    \
            *(void **)&found = driver_function(#NAME);                                                                 \
        return found;                                                                                                  \
    }                                                                                                                  \
    TYPE NAME(__VA_ARGS__)

enum { NOT_FOUND = 500 };

OWN(int, cuModuleGetFunction, void **function, void *module, const char *name)
{
    int error = real_cuModuleGetFunction() ? real_cuModuleGetFunction()(function, module, name) : NOT_FOUND;
    if (!error)
        note(*function, module, NULL, name);
    return error;
}

OWN(int, cuLibraryGetKernel, void **kernel, void *library, const char *name)
{
    int error = real_cuLibraryGetKernel() ? real_cuLibraryGetKernel()(kernel, library, name) : NOT_FOUND;
    if (!error)
        note(*kernel, NULL, library, name);
    return error;
}

OWN(int, cuKernelGetFunction, void **function, void *kernel)
{
    int error = real_cuKernelGetFunction() ? real_cuKernelGetFunction()(function, kernel) : NOT_FOUND;
    Contract *contract = contract_of(kernel);
    if (!error && contract && contract_of(*function) != contract)
        remember(*function, contract);
    return error;
}

/* The function that is launched instead of this one; the block is changed to what it needs. */
static void *launch_target(void *function, unsigned block[3])
{
    Contract *contract = contract_of(function);
    return launch_decide(contract, block) == LAUNCH_ORIGINAL ? contract->original : function;
}

#define LAUNCH(NAME)                                                                                                   \
    OWN(int, NAME, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                \
        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra)             \
    {                                                                                                                  \
        unsigned block[3] = {block_x, block_y, block_z};                                                               \
        function = launch_target(function, block);                                                                     \
        return real_##NAME() ? real_##NAME()(function, grid_x, grid_y, grid_z, block[0], block[1], block[2], shared,   \
                                             stream, arguments, extra)                                                 \
                             : NOT_FOUND;                                                                              \
    }

LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

#define COOPERATIVE(NAME)                                                                                              \
    OWN(int, NAME, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                \
        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments)                           \
    {                                                                                                                  \
        unsigned block[3] = {block_x, block_y, block_z};                                                               \
        function = launch_target(function, block);                                                                     \
        return real_##NAME() ? real_##NAME()(function, grid_x, grid_y, grid_z, block[0], block[1], block[2], shared,   \
                                             stream, arguments)                                                        \
                             : NOT_FOUND;                                                                              \
    }

COOPERATIVE(cuLaunchCooperativeKernel)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

/* CUlaunchConfig */
typedef struct LaunchConfig {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned attribute_count;
} LaunchConfig;

#define LAUNCH_EX(NAME)                                                                                                \
    OWN(int, NAME, const LaunchConfig *config, void *function, void **arguments, void **extra)                         \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        Contract *contract = contract_of(function);                                                                    \
        if (launch_decide(contract, adapted.block) == LAUNCH_ORIGINAL)                                                 \
            function = contract->original;                                                                             \
        return real_##NAME() ? real_##NAME()(&adapted, function, arguments, extra) : NOT_FOUND;                        \
    }

LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

enum { MOST_THREADS_PER_BLOCK = 0 }; /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */

OWN(int, cuFuncGetAttribute, int *value, int attribute, void *function)
{
    int error = real_cuFuncGetAttribute() ? real_cuFuncGetAttribute()(value, attribute, function) : NOT_FOUND;
    if (!error && attribute == MOST_THREADS_PER_BLOCK)
        *value = threads_before(contract_of(function), *value);
    return error;
}

OWN(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int threads, size_t shared)
{
    __typeof__(&cuOccupancyMaxActiveBlocksPerMultiprocessor) real = real_cuOccupancyMaxActiveBlocksPerMultiprocessor();
    return real ? real(blocks, function, threads_after(contract_of(function), threads), shared) : NOT_FOUND;
}

static const struct {
    const char *name;
    void *function;
} own[] = {
    {"cuModuleGetFunction", (void *)cuModuleGetFunction},
    {"cuLibraryGetKernel", (void *)cuLibraryGetKernel},
    {"cuKernelGetFunction", (void *)cuKernelGetFunction},
    {"cuLaunchKernel", (void *)cuLaunchKernel},
    {"cuLaunchKernel_ptsz", (void *)cuLaunchKernel_ptsz},
    {"cuLaunchCooperativeKernel", (void *)cuLaunchCooperativeKernel},
    {"cuLaunchCooperativeKernel_ptsz", (void *)cuLaunchCooperativeKernel_ptsz},
    {"cuLaunchKernelEx", (void *)cuLaunchKernelEx},
    {"cuLaunchKernelEx_ptsz", (void *)cuLaunchKernelEx_ptsz},
    {"cuFuncGetAttribute", (void *)cuFuncGetAttribute},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", (void *)cuOccupancyMaxActiveBlocksPerMultiprocessor},
};

static void *own_function(const char *name)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].function;
    return NULL;
}

/* The flag chooses the functions whose default stream is each thread's. */
enum { PER_THREAD_STREAM = 2 };

static void *own_for(const char *symbol, uint64_t flags)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", symbol, flags & PER_THREAD_STREAM ? "_ptsz" : "");
    void *function = own_function(name);
    return function ? function : own_function(symbol);
}

OWN(int, cuGetProcAddress, const char *symbol, void **function, int version, uint64_t flags)
{
    int error = real_cuGetProcAddress() ? real_cuGetProcAddress()(symbol, function, version, flags) : NOT_FOUND;
    if (!error && *function && own_for(symbol, flags))
        *function = own_for(symbol, flags);
    return error;
}

OWN(int, cuGetProcAddress_v2, const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    int error =
        real_cuGetProcAddress_v2() ? real_cuGetProcAddress_v2()(symbol, function, version, flags, status) : NOT_FOUND;
    if (!error && *function && own_for(symbol, flags))
        *function = own_for(symbol, flags);
    else if (!error && *function && strcmp(symbol, "cuGetProcAddress") == 0)
        *function = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
    return error;
}

/* Programs that open the driver themselves. */
void *dlsym(void *restrict library, const char *restrict name)
{
    void *found = real_dlsym()(library, name);
    if (!found || strncmp(name, "cu", 2) != 0)
        return found;
    if (strcmp(name, "cuGetProcAddress") == 0)
        return (void *)cuGetProcAddress;
    if (strcmp(name, "cuGetProcAddress_v2") == 0)
        return (void *)cuGetProcAddress_v2;
    void *function = own_function(name);
    return function ? function : found;
}
