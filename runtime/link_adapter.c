/* Linked into programs by ptxopt-nvcc, with --wrap for each function below: the launches of the CUDA runtime, static or
 * shared, as host code compiled by nvcc and clang makes them, adapted by the contracts of the loaded kernels.
 *
 * Host code names a kernel by the address of its host function, or by a handle that it got for that address. The first
 * launch of each asks the driver for the contract. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

typedef struct Dim3 {
    unsigned x, y, z;
} Dim3;

/* What the compiled host code registers, and the contract once it is known. */
typedef struct Entry {
    const void *host;
    const void *handle; /* that the runtime gives for it; or NULL */
    char *name;
    Contract *contract; /* NULL: not asked yet */
    struct Entry *next;
} Entry;

/* Compiled host code refers to it, so that it does not link without this adapter. */
char ptxopt_launch_adapter;

static Entry *entries;
static Driver driver;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *driver_function(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

static void load(void)
{
    driver_load(&driver, driver_function);
}

static Entry *entry_of(const void *host)
{
    Entry *entry = entries;
    while (entry && entry->host != host && (!entry->handle || entry->handle != host))
        entry = entry->next;
    return entry;
}

extern int cudaGetFuncBySymbol(void **function, const void *symbol);

/* NULL: not a kernel of the compiled host code. */
static Contract *contract_of(const void *kernel)
{
    pthread_once(&once, load);
    pthread_mutex_lock(&lock);
    Entry *entry = entry_of(kernel);
    Contract *contract = entry ? entry->contract : NULL;
    void *function = NULL, *module = NULL;
    if (entry && !contract && cudaGetFuncBySymbol(&function, entry->host) == 0 && driver.function_get_module &&
        driver.function_get_module(&module, function) == 0)
        contract_keep(contract = entry->contract = contract_read(&driver, module, NULL, entry->name));
    pthread_mutex_unlock(&lock);
    return contract;
}

extern void __real___cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit,
                                          void *thread, void *block, void *block_size, void *grid, int *warp);
void __wrap___cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit,
                                   void *thread, void *block, void *block_size, void *grid, int *warp)
{
    Entry *entry = calloc(1, sizeof *entry);
    if (entry) {
        *entry = (Entry){.host = host, .name = strdup(name)};
        pthread_mutex_lock(&lock);
        entry->next = entries;
        entries = entry;
        pthread_mutex_unlock(&lock);
    }
    __real___cudaRegisterFunction(module, host, device, name, limit, thread, block, block_size, grid, warp);
}

extern int __real___cudaGetKernel(void **handle, const void *host) __attribute__((weak));
int __wrap___cudaGetKernel(void **handle, const void *host)
{
    int error = __real___cudaGetKernel(handle, host);
    pthread_mutex_lock(&lock);
    Entry *entry = error ? NULL : entry_of(host);
    if (entry)
        entry->handle = *handle;
    pthread_mutex_unlock(&lock);
    return error;
}

enum { LEGACY_STREAM = 1, THREAD_STREAM = 2, ERROR_LAUNCH = 719 };

static int launch_original(const Contract *contract, Dim3 grid, Dim3 block, void **arguments, size_t shared,
                           void *stream, uintptr_t default_stream)
{
    if (!stream)
        stream = (void *)default_stream; // NOLINT: a constant of the CUDA API
    return driver.launch && driver.launch(contract->original, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                          (unsigned)shared, stream, arguments, NULL) == 0
               ? 0
               : ERROR_LAUNCH;
}

/* A launch function, and its twin for programs whose default stream is each thread's. */
#define WRAP_LAUNCH(NAME, KERNEL, DEFAULT)                                                                             \
    extern int __real_##NAME(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)      \
        __attribute__((weak));                                                                                         \
    int __wrap_##NAME(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)             \
    {                                                                                                                  \
        Contract *contract = contract_of(kernel);                                                                      \
        unsigned adapted[3] = {block.x, block.y, block.z};                                                             \
        if (launch_decide(contract, adapted) == LAUNCH_ORIGINAL)                                                       \
            return launch_original(contract, grid, block, arguments, shared, stream, DEFAULT);                         \
        block = (Dim3){adapted[0], adapted[1], adapted[2]};                                                            \
        return __real_##NAME(kernel, grid, block, arguments, shared, stream);                                          \
    }

WRAP_LAUNCH(__cudaLaunchKernel, void *, LEGACY_STREAM)
WRAP_LAUNCH(__cudaLaunchKernel_ptsz, void *, THREAD_STREAM)
WRAP_LAUNCH(cudaLaunchKernel, const void *, LEGACY_STREAM)
WRAP_LAUNCH(cudaLaunchKernel_ptsz, const void *, THREAD_STREAM)

/* Launches that only the runtime can make have no way to the original kernel. */
static void adapt_or_stop(const void *kernel, Dim3 *block)
{
    unsigned adapted[3] = {block->x, block->y, block->z};
    launch_require(contract_of(kernel), adapted);
    *block = (Dim3){adapted[0], adapted[1], adapted[2]};
}

#define WRAP_COOPERATIVE(NAME)                                                                                         \
    extern int __real_##NAME(const void *kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream) \
        __attribute__((weak));                                                                                         \
    int __wrap_##NAME(const void *kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)        \
    {                                                                                                                  \
        adapt_or_stop(kernel, &block);                                                                                 \
        return __real_##NAME(kernel, grid, block, arguments, shared, stream);                                          \
    }

WRAP_COOPERATIVE(cudaLaunchCooperativeKernel)
WRAP_COOPERATIVE(cudaLaunchCooperativeKernel_ptsz)

/* cudaLaunchConfig_t */
typedef struct LaunchConfig {
    Dim3 grid, block;
    size_t shared;
    void *stream, *attributes;
    unsigned attribute_count;
} LaunchConfig;

#define WRAP_CONFIG(NAME)                                                                                              \
    extern int __real_##NAME(const LaunchConfig *config, const void *kernel, void **arguments) __attribute__((weak));  \
    int __wrap_##NAME(const LaunchConfig *config, const void *kernel, void **arguments)                                \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        adapt_or_stop(kernel, &adapted.block);                                                                         \
        return __real_##NAME(&adapted, kernel, arguments);                                                             \
    }

WRAP_CONFIG(cudaLaunchKernelExC)
WRAP_CONFIG(cudaLaunchKernelExC_ptsz)

/* cudaKernelNodeParams */
typedef struct NodeParameters {
    const void *kernel;
    Dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
} NodeParameters;

extern int __real_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                         const NodeParameters *parameters);
int __wrap_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                  const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    adapt_or_stop(adapted.kernel, &adapted.block);
    return __real_cudaGraphAddKernelNode(node, graph, needs, count, &adapted);
}

extern int __real_cudaGraphKernelNodeSetParams(void *node, const NodeParameters *parameters);
int __wrap_cudaGraphKernelNodeSetParams(void *node, const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    adapt_or_stop(adapted.kernel, &adapted.block);
    return __real_cudaGraphKernelNodeSetParams(node, &adapted);
}

extern int __real_cudaGraphExecKernelNodeSetParams(void *graph, void *node, const NodeParameters *parameters);
int __wrap_cudaGraphExecKernelNodeSetParams(void *graph, void *node, const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    adapt_or_stop(adapted.kernel, &adapted.block);
    return __real_cudaGraphExecKernelNodeSetParams(graph, node, &adapted);
}

/* cudaFuncAttributes, as far as it is looked at */
typedef struct FunctionAttributes {
    size_t shared, constant, local;
    int most_threads;
} FunctionAttributes;

/* The program counts in threads of the original kernel. */
extern int __real_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel);
int __wrap_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel)
{
    int error = __real_cudaFuncGetAttributes(attributes, kernel);
    if (!error)
        attributes->most_threads = threads_before(contract_of(kernel), attributes->most_threads);
    return error;
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                                size_t shared);
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
    return __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel,
                                                                threads_after(contract_of(kernel), threads), shared);
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                         size_t shared, unsigned flags);
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                  size_t shared, unsigned flags)
{
    return __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, kernel, threads_after(contract_of(kernel), threads), shared, flags);
}
