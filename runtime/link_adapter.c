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

/* What the compiled host code registers, or the program gets from a library, and the contract once it is known. */
typedef struct Entry {
    const void *host;   /* a library's: its handle */
    void *library;      /* or NULL */
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
    if (entry && !contract && entry->library)
        contract_keep(contract = entry->contract = contract_read(&driver, NULL, entry->library, entry->name));
    if (entry && !contract && cudaGetFuncBySymbol(&function, entry->host) == 0 && driver.function_get_module &&
        driver.function_get_module(&module, function) == 0)
        contract_keep(contract = entry->contract = contract_read(&driver, module, NULL, entry->name));
    pthread_mutex_unlock(&lock);
    return contract;
}

static void entry_add(const void *host, void *library, const char *name)
{
    Entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return;
    *entry = (Entry){.host = host, .library = library, .name = strdup(name)};
    pthread_mutex_lock(&lock);
    entry->next = entries;
    entries = entry;
    pthread_mutex_unlock(&lock);
}

extern void __real___cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit,
                                          void *thread, void *block, void *block_size, void *grid, int *warp);
void __wrap___cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit,
                                   void *thread, void *block, void *block_size, void *grid, int *warp)
{
    entry_add(host, NULL, name);
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

/* The runtime's libraries and kernels are the driver's. */
extern int __real_cudaLibraryGetKernel(void **kernel, void *library, const char *name) __attribute__((weak));
int __wrap_cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    int error = __real_cudaLibraryGetKernel(kernel, library, name);
    if (!error)
        entry_add(*kernel, library, name);
    return error;
}

enum { LEGACY_STREAM = 1, THREAD_STREAM = 2, NOT_SUPPORTED = 801 };

/* What the driver calls the runtime's default stream. */
static void *driver_stream(void *stream, uintptr_t default_stream)
{
    return stream ? stream : (void *)default_stream; // NOLINT: a constant of the CUDA API
}

static void unpack(const Dim3 *size, unsigned numbers[3])
{
    numbers[0] = size->x;
    numbers[1] = size->y;
    numbers[2] = size->z;
}

static Dim3 pack(const unsigned numbers[3])
{
    return (Dim3){numbers[0], numbers[1], numbers[2]};
}

/* The original, if it is to be launched instead; NULL: the block is as this kernel needs it. */
static void *decide(const void *kernel, Dim3 *block)
{
    Contract *contract = contract_of(kernel);
    unsigned adapted[3];
    unpack(block, adapted);
    if (launch_decide(contract, adapted) == LAUNCH_ORIGINAL)
        return contract->original;
    *block = pack(adapted);
    return NULL;
}

static int launch_original(void *original, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    return driver.launch ? driver.launch(original, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                         stream, arguments, NULL)
                         : NOT_SUPPORTED;
}

static int launch_original_cooperative(void *original, Dim3 grid, Dim3 block, void **arguments, size_t shared,
                                       void *stream)
{
    return driver.launch_cooperative
               ? driver.launch_cooperative(original, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                           (unsigned)shared, stream, arguments)
               : NOT_SUPPORTED;
}

/* A launch function. Where the driver refuses a launch of the original, the runtime is given one without blocks: it
 * refuses that, too, and so remembers an error for cudaGetLastError. */
#define WRAP_LAUNCH(NAME, KERNEL, ORIGINAL, DEFAULT)                                                                   \
    extern int __real_##NAME(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)      \
        __attribute__((weak));                                                                                         \
    int __wrap_##NAME(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)             \
    {                                                                                                                  \
        void *original = decide(kernel, &block);                                                                       \
        int error = 0;                                                                                                 \
        if (original &&                                                                                                \
            (error = ORIGINAL(original, grid, block, arguments, shared, driver_stream(stream, DEFAULT))) != 0)         \
            __real_##NAME(kernel, (Dim3){0, 0, 0}, block, arguments, shared, stream);                                  \
        return original ? error : __real_##NAME(kernel, grid, block, arguments, shared, stream);                       \
    }

/* Each with its twin for programs whose default stream is each thread's. */
WRAP_LAUNCH(__cudaLaunchKernel, void *, launch_original, LEGACY_STREAM)
WRAP_LAUNCH(__cudaLaunchKernel_ptsz, void *, launch_original, THREAD_STREAM)
WRAP_LAUNCH(cudaLaunchKernel, const void *, launch_original, LEGACY_STREAM)
WRAP_LAUNCH(cudaLaunchKernel_ptsz, const void *, launch_original, THREAD_STREAM)
WRAP_LAUNCH(cudaLaunchCooperativeKernel, const void *, launch_original_cooperative, LEGACY_STREAM)
WRAP_LAUNCH(cudaLaunchCooperativeKernel_ptsz, const void *, launch_original_cooperative, THREAD_STREAM)

/* cudaLaunchConfig_t */
typedef struct LaunchConfig {
    Dim3 grid, block;
    size_t shared;
    void *stream, *attributes;
    unsigned attribute_count;
} LaunchConfig;

static int launch_original_config(void *original, const LaunchConfig *config, void **arguments, void *stream)
{
    DriverConfig given = {.shared = (unsigned)config->shared,
                          .stream = stream,
                          .attributes = config->attributes,
                          .attribute_count = config->attribute_count};
    unpack(&config->grid, given.grid);
    unpack(&config->block, given.block);
    return driver.launch_ex ? driver.launch_ex(&given, original, arguments, NULL) : NOT_SUPPORTED;
}

#define WRAP_CONFIG(NAME, DEFAULT)                                                                                     \
    extern int __real_##NAME(const LaunchConfig *config, const void *kernel, void **arguments) __attribute__((weak));  \
    int __wrap_##NAME(const LaunchConfig *config, const void *kernel, void **arguments)                                \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        void *original = decide(kernel, &adapted.block);                                                               \
        int error = 0;                                                                                                 \
        if (original && (error = launch_original_config(original, config, arguments,                                   \
                                                        driver_stream(config->stream, DEFAULT))) != 0) {               \
            adapted.grid = (Dim3){0, 0, 0};                                                                            \
            __real_##NAME(&adapted, kernel, arguments);                                                                \
        }                                                                                                              \
        return original ? error : __real_##NAME(&adapted, kernel, arguments);                                          \
    }

WRAP_CONFIG(cudaLaunchKernelExC, LEGACY_STREAM)
WRAP_CONFIG(cudaLaunchKernelExC_ptsz, THREAD_STREAM)

/* Nodes of graphs. The runtime's graphs and nodes are the driver's. */

/* cudaKernelNodeParams; cudaKernelNodeParamsV2 begins like it. */
typedef struct NodeParameters {
    const void *kernel;
    Dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
} NodeParameters;

static DriverNode node_of_original(void *original, const NodeParameters *parameters)
{
    DriverNode node = {.function = original,
                       .shared = parameters->shared,
                       .arguments = parameters->arguments,
                       .extra = parameters->extra};
    unpack(&parameters->grid, node.grid);
    unpack(&parameters->block, node.block);
    return node;
}

static int add_original(void *original, void **node, void *graph, void *const *needs, size_t count,
                        const NodeParameters *parameters)
{
    const DriverNode given = node_of_original(original, parameters);
    return driver.graph_add ? driver.graph_add(node, graph, needs, count, &given) : NOT_SUPPORTED;
}

static int set_original(void *original, void *node, const NodeParameters *parameters)
{
    const DriverNode given = node_of_original(original, parameters);
    return driver.graph_set ? driver.graph_set(node, &given) : NOT_SUPPORTED;
}

static int set_instance_original(void *original, void *instance, void *node, const NodeParameters *parameters)
{
    const DriverNode given = node_of_original(original, parameters);
    return driver.graph_set_instance ? driver.graph_set_instance(instance, node, &given) : NOT_SUPPORTED;
}

extern int __real_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                         const NodeParameters *parameters) __attribute__((weak));
int __wrap_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                  const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    void *original = decide(adapted.kernel, &adapted.block);
    return original ? add_original(original, node, graph, needs, count, &adapted)
                    : __real_cudaGraphAddKernelNode(node, graph, needs, count, &adapted);
}

extern int __real_cudaGraphKernelNodeSetParams(void *node, const NodeParameters *parameters) __attribute__((weak));
int __wrap_cudaGraphKernelNodeSetParams(void *node, const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    void *original = decide(adapted.kernel, &adapted.block);
    return original ? set_original(original, node, &adapted) : __real_cudaGraphKernelNodeSetParams(node, &adapted);
}

extern int __real_cudaGraphExecKernelNodeSetParams(void *instance, void *node, const NodeParameters *parameters)
    __attribute__((weak));
int __wrap_cudaGraphExecKernelNodeSetParams(void *instance, void *node, const NodeParameters *parameters)
{
    NodeParameters adapted = *parameters;
    void *original = decide(adapted.kernel, &adapted.block);
    return original ? set_instance_original(original, instance, node, &adapted)
                    : __real_cudaGraphExecKernelNodeSetParams(instance, node, &adapted);
}

/* The host function of an original that is used in place of its kernel. */
static const Entry *entry_of_original(const void *original)
{
    pthread_mutex_lock(&lock);
    const Entry *entry = entries;
    while (entry && !(entry->contract && entry->contract->original && entry->contract->original == original))
        entry = entry->next;
    pthread_mutex_unlock(&lock);
    return entry;
}

/* Programs change what they get, and set it again: the block is that of the original, whichever kernel the node has. */
extern int __real_cudaGraphKernelNodeGetParams(void *node, NodeParameters *parameters) __attribute__((weak));
int __wrap_cudaGraphKernelNodeGetParams(void *node, NodeParameters *parameters)
{
    DriverNode given;
    pthread_once(&once, load);
    const Entry *entry =
        driver.graph_get && driver.graph_get(node, &given) == 0 ? entry_of_original(given.function) : NULL;
    if (entry) {
        *parameters = (NodeParameters){.kernel = entry->host,
                                       .grid = pack(given.grid),
                                       .block = pack(given.block),
                                       .shared = given.shared,
                                       .arguments = given.arguments,
                                       .extra = given.extra};
        return 0;
    }
    int error = __real_cudaGraphKernelNodeGetParams(node, parameters);
    if (!error) {
        unsigned block[3];
        unpack(&parameters->block, block);
        block_before(contract_of(parameters->kernel), block);
        parameters->block = pack(block);
    }
    return error;
}

/* cudaGraphNodeParams */
enum { KERNEL_NODE = 0 };
typedef struct AnyNode {
    int type, reserved[3];
    union {
        long long padding[29];
        NodeParameters kernel;
    };
    long long more_padding;
} AnyNode;

extern int cudaRuntimeGetVersion(int *version);

/* The parameters are the last argument, which is the fifth before CUDA 13. */
extern int __real_cudaGraphAddNode(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
    __attribute__((weak));
int __wrap_cudaGraphAddNode(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
{
    int version = 0;
    cudaRuntimeGetVersion(&version);
    bool has_data = version >= 13000;
    AnyNode adapted = *(const AnyNode *)(has_data ? sixth : fifth);
    void *original = adapted.type == KERNEL_NODE ? decide(adapted.kernel.kernel, &adapted.kernel.block) : NULL;
    if (original && has_data && fourth)
        return NOT_SUPPORTED; /* what edges say has no place there */
    if (original)
        return add_original(original, node, graph, needs, (size_t)(has_data ? fifth : fourth), &adapted.kernel);
    return has_data ? __real_cudaGraphAddNode(node, graph, needs, fourth, fifth, &adapted)
                    : __real_cudaGraphAddNode(node, graph, needs, fourth, &adapted, sixth);
}

extern int __real_cudaGraphNodeSetParams(void *node, AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphNodeSetParams(void *node, AnyNode *parameters)
{
    AnyNode adapted = *parameters;
    void *original = adapted.type == KERNEL_NODE ? decide(adapted.kernel.kernel, &adapted.kernel.block) : NULL;
    return original ? set_original(original, node, &adapted.kernel) : __real_cudaGraphNodeSetParams(node, &adapted);
}

extern int __real_cudaGraphExecNodeSetParams(void *instance, void *node, AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphExecNodeSetParams(void *instance, void *node, AnyNode *parameters)
{
    AnyNode adapted = *parameters;
    void *original = adapted.type == KERNEL_NODE ? decide(adapted.kernel.kernel, &adapted.kernel.block) : NULL;
    return original ? set_instance_original(original, instance, node, &adapted.kernel)
                    : __real_cudaGraphExecNodeSetParams(instance, node, &adapted);
}

/* Queries: the program counts in threads of the original kernel. */

/* cudaFuncAttributes, as far as it is looked at */
typedef struct FunctionAttributes {
    size_t shared, constant, local;
    int most_threads;
} FunctionAttributes;

extern int __real_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel) __attribute__((weak));
int __wrap_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel)
{
    int error = __real_cudaFuncGetAttributes(attributes, kernel);
    if (!error)
        attributes->most_threads = threads_before(contract_of(kernel), attributes->most_threads);
    return error;
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                                size_t shared) __attribute__((weak));
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
    return __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel,
                                                                threads_after(contract_of(kernel), threads), shared);
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                         size_t shared, unsigned flags)
    __attribute__((weak));
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                  size_t shared, unsigned flags)
{
    return __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, kernel, threads_after(contract_of(kernel), threads), shared, flags);
}

extern int __real_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *kernel, int blocks, int threads)
    __attribute__((weak));
int __wrap_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *kernel, int blocks, int threads)
{
    return __real_cudaOccupancyAvailableDynamicSMemPerBlock(shared, kernel, blocks,
                                                            threads_after(contract_of(kernel), threads));
}
