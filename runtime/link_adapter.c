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

/* NULL: not a kernel of the compiled host code, nor of a library. */
static Contract *contract_of(const void *kernel)
{
    pthread_once(&once, load);
    pthread_mutex_lock(&lock);
    Entry *entry = kernel ? entry_of(kernel) : NULL;
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

/* Programs may ask for a kernel of a library before each launch. */
static void entry_add(const void *host, void *library, const char *name)
{
    pthread_mutex_lock(&lock);
    Entry *entry = library && entry_of(host) ? NULL : calloc(1, sizeof *entry);
    if (entry) {
        *entry = (Entry){.host = host, .library = library, .name = strdup(name), .next = entries};
        entries = entry;
    }
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

#define WRAP_GET_KERNEL(NAME)                                                                                          \
    extern int __real_##NAME(void **handle, const void *host) __attribute__((weak));                                   \
    int __wrap_##NAME(void **handle, const void *host)                                                                 \
    {                                                                                                                  \
        int error = __real_##NAME(handle, host);                                                                       \
        pthread_mutex_lock(&lock);                                                                                     \
        Entry *entry = error ? NULL : entry_of(host);                                                                  \
        if (entry)                                                                                                     \
            entry->handle = *handle;                                                                                   \
        pthread_mutex_unlock(&lock);                                                                                   \
        return error;                                                                                                  \
    }

WRAP_GET_KERNEL(__cudaGetKernel)
WRAP_GET_KERNEL(cudaGetKernel)

/* The runtime's libraries and kernels are the driver's. */
extern int __real_cudaLibraryGetKernel(void **kernel, void *library, const char *name) __attribute__((weak));
int __wrap_cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    int error = __real_cudaLibraryGetKernel(kernel, library, name);
    if (!error)
        entry_add(*kernel, library, name);
    return error;
}

/* The driver says how many there are: the rest of the array is not written. */
extern int __real_cudaLibraryEnumerateKernels(void **kernels, unsigned count, void *library) __attribute__((weak));
int __wrap_cudaLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    int error = __real_cudaLibraryEnumerateKernels(kernels, count, library);
    const char *name;
    unsigned there = 0;
    pthread_once(&once, load);
    if (error || !driver.kernel_name || !driver.kernel_count || driver.kernel_count(&there, library))
        return error;
    for (unsigned i = 0; i < count && i < there; i++)
        if (driver.kernel_name(&name, kernels[i]) == 0)
            entry_add(kernels[i], library, name);
    return error;
}

/* Its handles may be used again. */
extern int __real_cudaLibraryUnload(void *library) __attribute__((weak));
int __wrap_cudaLibraryUnload(void *library)
{
    pthread_mutex_lock(&lock);
    for (Entry *entry = entries; entry; entry = entry->next)
        if (entry->library && entry->library == library)
            entry->host = entry->library = NULL;
    pthread_mutex_unlock(&lock);
    return __real_cudaLibraryUnload(library);
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

/* The original, if it is to be launched instead; NULL: the launch is as this kernel needs it. */
static void *decide(const void *kernel, Dim3 *grid, Dim3 *block, size_t *shared)
{
    Contract *contract = contract_of(kernel);
    unsigned blocks[3], threads[3], bytes = (unsigned)*shared;
    unpack(grid, blocks);
    unpack(block, threads);
    if (launch_decide(contract, blocks, threads, &bytes) == LAUNCH_ORIGINAL)
        return contract->original;
    *grid = pack(blocks);
    *block = pack(threads);
    *shared = bytes;
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
        void *original = decide(kernel, &grid, &block, &shared);                                                       \
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

static int launch_original_config(void *original, const LaunchConfig *config, void **arguments, void *stream)
{
    const DriverConfig given = driver_config(config, stream);
    return driver.launch_ex ? driver.launch_ex(&given, original, arguments, NULL) : NOT_SUPPORTED;
}

#define WRAP_CONFIG(NAME, DEFAULT)                                                                                     \
    extern int __real_##NAME(const LaunchConfig *config, const void *kernel, void **arguments) __attribute__((weak));  \
    int __wrap_##NAME(const LaunchConfig *config, const void *kernel, void **arguments)                                \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        void *original = decide(kernel, &adapted.grid, &adapted.block, &adapted.shared);                               \
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

/* How a node is given to the runtime, or, where the kernel's original is used, to the driver. */
static Verdict node_decide(const KernelNode *given, KernelNode *node)
{
    *node = node_copy(given, false);
    Contract *contract = contract_of(node->function);
    Verdict verdict = launch_decide(contract, node->grid, node->block, &node->shared);
    if (verdict == LAUNCH_ORIGINAL)
        node_set_original(&driver, contract, node, true);
    return verdict;
}

static int add_original(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                        const KernelNode *given)
{
    AnyNode any = {.type = KERNEL_NODE, .kernel = *given};
    if (edges)
        return driver.graph_add_any ? driver.graph_add_any(node, graph, needs, edges, count, &any) : NOT_SUPPORTED;
    return driver.graph_add ? driver.graph_add(node, graph, needs, count, given) : NOT_SUPPORTED;
}

static int set_original(void *node, const KernelNode *given)
{
    return driver.graph_set ? driver.graph_set(node, given) : NOT_SUPPORTED;
}

static int set_instance_original(void *instance, void *node, const KernelNode *given)
{
    return driver.graph_set_instance ? driver.graph_set_instance(instance, node, given) : NOT_SUPPORTED;
}

extern int __real_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                         const KernelNode *parameters) __attribute__((weak));
int __wrap_cudaGraphAddKernelNode(void **node, void *graph, void *const *needs, size_t count,
                                  const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given) == LAUNCH_ORIGINAL
               ? add_original(node, graph, needs, NULL, count, &given)
               : __real_cudaGraphAddKernelNode(node, graph, needs, count, &given);
}

extern int __real_cudaGraphKernelNodeSetParams(void *node, const KernelNode *parameters) __attribute__((weak));
int __wrap_cudaGraphKernelNodeSetParams(void *node, const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given) == LAUNCH_ORIGINAL ? set_original(node, &given)
                                                              : __real_cudaGraphKernelNodeSetParams(node, &given);
}

extern int __real_cudaGraphExecKernelNodeSetParams(void *instance, void *node, const KernelNode *parameters)
    __attribute__((weak));
int __wrap_cudaGraphExecKernelNodeSetParams(void *instance, void *node, const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given) == LAUNCH_ORIGINAL
               ? set_instance_original(instance, node, &given)
               : __real_cudaGraphExecKernelNodeSetParams(instance, node, &given);
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

/* Programs change what they get, and set it again: the kernel is the one that they know, with the original's block,
 * whichever of the two the node has. */
static bool node_of_original(void *node, KernelNode *found)
{
    pthread_once(&once, load);
    if (!driver.graph_get || driver.graph_get(node, found))
        return false;
    const Entry *entry = entry_of_original(found->function ? found->function : found->kernel);
    found->function = entry ? (void *)entry->host : NULL;
    return entry;
}

extern int __real_cudaGraphKernelNodeGetParams(void *node, KernelNode *parameters) __attribute__((weak));
int __wrap_cudaGraphKernelNodeGetParams(void *node, KernelNode *parameters)
{
    KernelNode found;
    if (node_of_original(node, &found)) {
        memcpy(parameters, &found, offsetof(KernelNode, kernel));
        return 0;
    }
    int error = __real_cudaGraphKernelNodeGetParams(node, parameters);
    if (!error)
        launch_before(contract_of(parameters->function), parameters->grid, parameters->block, &parameters->shared);
    return error;
}

extern int __real_cudaGraphNodeGetParams(void *node, AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphNodeGetParams(void *node, AnyNode *parameters)
{
    KernelNode found;
    if (node_of_original(node, &found)) {
        *parameters = (AnyNode){.type = KERNEL_NODE, .kernel = node_copy(&found, false)};
        return 0;
    }
    int error = __real_cudaGraphNodeGetParams(node, parameters);
    if (!error && parameters->type == KERNEL_NODE)
        launch_before(contract_of(parameters->kernel.function), parameters->kernel.grid, parameters->kernel.block,
                      &parameters->kernel.shared);
    return error;
}

/* Nodes of any kind. The runtime is given what the program gave, or, for a kernel, a changed copy: it writes into nodes
 * of other kinds. NULL: 'room' is for the driver. */
static AnyNode *any_decide(AnyNode *given, AnyNode *room)
{
    if (given->type != KERNEL_NODE)
        return given;
    *room = *given;
    return node_decide(&given->kernel, &room->kernel) == LAUNCH_ORIGINAL ? NULL : room;
}

extern int cudaRuntimeGetVersion(int *version);

/* The parameters are the last argument, which is the fifth before CUDA 13. */
extern int __real_cudaGraphAddNode(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
    __attribute__((weak));
int __wrap_cudaGraphAddNode(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
{
    int version = 0;
    cudaRuntimeGetVersion(&version);
    bool has_edges = version >= 13000;
    AnyNode room, *any = any_decide(has_edges ? sixth : fifth, &room);
    if (!any)
        return add_original(node, graph, needs, has_edges ? fourth : NULL, (size_t)(has_edges ? fifth : fourth),
                            &room.kernel);
    return has_edges ? __real_cudaGraphAddNode(node, graph, needs, fourth, fifth, any)
                     : __real_cudaGraphAddNode(node, graph, needs, fourth, any, sixth);
}

/* Of CUDA 12.3 to 12.9. */
extern int __real_cudaGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                                      AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                               AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? __real_cudaGraphAddNode_v2(node, graph, needs, edges, count, any)
               : add_original(node, graph, needs, edges, count, &room.kernel);
}

extern int __real_cudaGraphNodeSetParams(void *node, AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphNodeSetParams(void *node, AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? __real_cudaGraphNodeSetParams(node, any) : set_original(node, &room.kernel);
}

extern int __real_cudaGraphExecNodeSetParams(void *instance, void *node, AnyNode *parameters) __attribute__((weak));
int __wrap_cudaGraphExecNodeSetParams(void *instance, void *node, AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? __real_cudaGraphExecNodeSetParams(instance, node, any)
               : set_instance_original(instance, node, &room.kernel);
}

/* Attributes and queries: the program counts in threads of the original kernel. */

extern int __real_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel) __attribute__((weak));
int __wrap_cudaFuncGetAttributes(FunctionAttributes *attributes, const void *kernel)
{
    int error = __real_cudaFuncGetAttributes(attributes, kernel);
    if (!error)
        attributes->most_threads = threads_before(contract_of(kernel), attributes->most_threads);
    return error;
}

extern int __real_cudaFuncSetAttribute(const void *kernel, int attribute, int value) __attribute__((weak));
int __wrap_cudaFuncSetAttribute(const void *kernel, int attribute, int value)
{
    int error = __real_cudaFuncSetAttribute(kernel, attribute, value);
    return error ? error : original_set(&driver, contract_of(kernel), attribute, value, -1);
}

extern int __real_cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)
    __attribute__((weak));
int __wrap_cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)
{
    int error = __real_cudaKernelSetAttributeForDevice(kernel, attribute, value, device);
    return error ? error : original_set(&driver, contract_of(kernel), attribute, value, device);
}

static int occupancy_of_original(int *blocks, void *original, int threads, size_t shared, unsigned flags)
{
    return driver.occupancy ? driver.occupancy(blocks, original, threads, shared, flags) : NOT_SUPPORTED;
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                                size_t shared) __attribute__((weak));
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
    void *original = query_threads(contract_of(kernel), &threads, &shared);
    return original ? occupancy_of_original(blocks, original, threads, shared, 0)
                    : __real_cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}

extern int __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                         size_t shared, unsigned flags)
    __attribute__((weak));
int __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                  size_t shared, unsigned flags)
{
    void *original = query_threads(contract_of(kernel), &threads, &shared);
    return original ? occupancy_of_original(blocks, original, threads, shared, flags)
                    : __real_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared,
                                                                                    flags);
}

extern int __real_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *kernel, int blocks, int threads)
    __attribute__((weak));
int __wrap_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *kernel, int blocks, int threads)
{
    const Contract *contract = contract_of(kernel);
    void *original = query_threads(contract, &threads, NULL);
    if (!original) {
        int error = __real_cudaOccupancyAvailableDynamicSMemPerBlock(shared, kernel, blocks, threads);
        *shared = error ? *shared : shared_before(contract, *shared);
        return error;
    }
    return driver.available_shared ? driver.available_shared(shared, original, blocks, threads) : NOT_SUPPORTED;
}

/* Queries about clusters, which are given a whole launch. */
#define WRAP_CLUSTERS(NAME, ORIGINAL)                                                                                  \
    extern int __real_##NAME(int *answer, const void *kernel, const LaunchConfig *config) __attribute__((weak));       \
    int __wrap_##NAME(int *answer, const void *kernel, const LaunchConfig *config)                                     \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        DriverConfig given = driver_config(config, config->stream);                                                    \
        void *original = query_launch(contract_of(kernel), given.grid, given.block, &given.shared);                    \
        adapted.grid = pack(given.grid);                                                                               \
        adapted.block = pack(given.block);                                                                             \
        adapted.shared = given.shared;                                                                                 \
        return !original         ? __real_##NAME(answer, kernel, &adapted)                                             \
               : driver.ORIGINAL ? driver.ORIGINAL(answer, original, &given)                                           \
                                 : NOT_SUPPORTED;                                                                      \
    }

WRAP_CLUSTERS(cudaOccupancyMaxActiveClusters, active_clusters)
WRAP_CLUSTERS(cudaOccupancyMaxPotentialClusterSize, cluster_size)
