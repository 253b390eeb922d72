/* The launches of the CUDA runtime, static or shared, as host code of nvcc and clang makes them, adapted by the
 * contracts of the loaded kernels. The functions below replace the runtime's: in objects that ptxopt-nvcc compiles,
 * which contain all of this and refer to it by other names (embed.awk; PTXOPT_EMBEDDED), or in a whole program, linked
 * with --wrap for each function.
 *
 * Host code names a kernel by the address of its host function, or by a handle that it got for that address. The
 * contract is read from the driver at the first launch of each. Functions that a version of the runtime lacks, and
 * those of a program without it, are NULL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

#ifdef PTXOPT_EMBEDDED
#define ADAPTED(NAME) ptxopt_##NAME
#define REAL(NAME) NAME
#else
#define ADAPTED(NAME) __wrap_##NAME
#define REAL(NAME) __real_##NAME
#endif

/* A kernel on one device: each has a function, and so a contract, of its own. */
typedef struct Loaded {
    void *function;
    Contract *contract;
    struct Loaded *next;
} Loaded;

/* A kernel that the compiled host code registers, or that the program gets from a library, and the devices on which it
 * has been launched. */
typedef struct Entry {
    const void *host;   /* a library's: its handle */
    void *library;      /* or NULL */
    const void *handle; /* the one that the runtime gives for it; or NULL */
    char *name;
    Loaded *loaded;
    struct Entry *next;
} Entry;

#ifndef PTXOPT_EMBEDDED
/* Host code that clang compiles refers to it (ptxopt-adapted.h), so that it does not link without this adapter. */
char ptxopt_launch_adapter;
#endif

extern __typeof__(dlopen) dlopen __attribute__((weak));
extern __typeof__(dlsym) dlsym __attribute__((weak));

static Entry *entries;
static Driver driver;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *driver_function(const char *name)
{
    void *library = dlopen && dlsym ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    return library ? dlsym(library, name) : NULL;
}

/* Loads the driver. The caller holds the lock. */
static void load(void)
{
    static bool is_loaded;
    if (!is_loaded)
        driver_load(&driver, driver_function);
    is_loaded = true;
}

static void load_now(void)
{
    pthread_mutex_lock(&lock);
    load();
    pthread_mutex_unlock(&lock);
}

static Entry *entry_of(const void *host)
{
    Entry *entry = entries;
    while (entry && entry->host != host && (!entry->handle || entry->handle != host))
        entry = entry->next;
    return entry;
}

extern int cudaGetFuncBySymbol(void **function, const void *symbol) __attribute__((weak));

/* The contract of an entry, given by its function of the current device, or by its library. The caller holds the
 * lock. */
static Contract *contract_loaded(Entry *entry, void *function)
{
    void *module = NULL;
    Loaded *loaded = entry->loaded;
    while (loaded && loaded->function != function)
        loaded = loaded->next;
    if (loaded)
        return loaded->contract;
    if (!entry->library && (!driver.function_get_module || driver.function_get_module(&module, function)))
        return NULL;
    loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return NULL;
    *loaded = (Loaded){function, contract_read(&driver, module, entry->library, entry->name), entry->loaded};
    contract_keep(loaded->contract);
    entry->loaded = loaded;
    return loaded->contract;
}

/* NULL: not a kernel of the compiled host code, nor of a library. The runtime knows the function of the current
 * device, which is not always the one of the launch before. */
static Contract *contract_of(const void *kernel)
{
    pthread_mutex_lock(&lock);
    load();
    Entry *entry = kernel ? entry_of(kernel) : NULL;
    Contract *contract = NULL;
    void *function = NULL;
    if (entry && entry->library)
        contract = contract_loaded(entry, NULL);
    else if (entry && cudaGetFuncBySymbol && cudaGetFuncBySymbol(&function, entry->host) == 0)
        contract = contract_loaded(entry, function);
    pthread_mutex_unlock(&lock);
    return contract;
}

/* Adds a kernel unless it is known: programs may request a kernel of a library before each launch. */
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

extern void REAL(__cudaRegisterFunction)(void **module, const char *host, char *device, const char *name, int limit,
                                          void *thread, void *block, void *block_size, void *grid, int *warp)
    __attribute__((weak));
void ADAPTED(__cudaRegisterFunction)(void **module, const char *host, char *device, const char *name, int limit,
                                   void *thread, void *block, void *block_size, void *grid, int *warp)
{
    entry_add(host, NULL, name);
    REAL(__cudaRegisterFunction)(module, host, device, name, limit, thread, block, block_size, grid, warp);
}

#define WRAP_GET_KERNEL(NAME)                                                                                          \
    extern int REAL(NAME)(void **handle, const void *host) __attribute__((weak));                                      \
    int ADAPTED(NAME)(void **handle, const void *host)                                                                 \
    {                                                                                                                  \
        int error = REAL(NAME)(handle, host);                                                                          \
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
extern int REAL(cudaLibraryGetKernel)(void **kernel, void *library, const char *name) __attribute__((weak));
int ADAPTED(cudaLibraryGetKernel)(void **kernel, void *library, const char *name)
{
    int error = REAL(cudaLibraryGetKernel)(kernel, library, name);
    if (!error)
        entry_add(*kernel, library, name);
    return error;
}

/* The driver says how many there are: the rest of the array is not written. */
extern int REAL(cudaLibraryEnumerateKernels)(void **kernels, unsigned count, void *library) __attribute__((weak));
int ADAPTED(cudaLibraryEnumerateKernels)(void **kernels, unsigned count, void *library)
{
    int error = REAL(cudaLibraryEnumerateKernels)(kernels, count, library);
    const char *name;
    unsigned there = 0;
    load_now();
    if (error || !driver.kernel_name || !driver.kernel_count || driver.kernel_count(&there, library))
        return error;
    for (unsigned i = 0; i < count && i < there; i++)
        if (driver.kernel_name(&name, kernels[i]) == 0)
            entry_add(kernels[i], library, name);
    return error;
}

/* Handles may be reused after this. */
extern int REAL(cudaLibraryUnload)(void *library) __attribute__((weak));
int ADAPTED(cudaLibraryUnload)(void *library)
{
    pthread_mutex_lock(&lock);
    for (Entry *entry = entries; entry; entry = entry->next)
        if (entry->library && entry->library == library)
            entry->host = entry->library = NULL;
    pthread_mutex_unlock(&lock);
    return REAL(cudaLibraryUnload)(library);
}

enum { NOT_SUPPORTED = 801 };

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

/* A launch of the runtime's, while it is decided about and made. */
typedef struct Call {
    Contract *contract;
    void *other; /* the form that is launched instead; NULL: the program's own */
    Timing timing;
} Call;

/* Decides about a launch, which is changed to what the form needs. */
static Call call_begin(const void *kernel, Dim3 *grid, Dim3 *block, size_t *shared, void *const *arguments,
                       void *stream, LaunchKind kind)
{
    unsigned blocks[3], threads[3], bytes = (unsigned)*shared;
    Call call = {.contract = contract_of(kernel)};
    unpack(grid, blocks);
    unpack(block, threads);
    call.other =
        launched_form(launch_begin(call.contract, blocks, threads, &bytes, arguments, stream, kind, &call.timing));
    *grid = pack(blocks);
    *block = pack(threads);
    *shared = *shared == (unsigned)*shared ? bytes : *shared;
    return call;
}

static int call_end(Call *call, int error)
{
    launch_end(call->contract, &call->timing, error);
    return error;
}

static int launch_other(void *other, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    return driver.launch ? driver.launch(other, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                         stream, arguments, NULL)
                         : NOT_SUPPORTED;
}

static int launch_other_cooperative(void *other, Dim3 grid, Dim3 block, void **arguments, size_t shared,
                                       void *stream)
{
    return driver.launch_cooperative
               ? driver.launch_cooperative(other, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                           (unsigned)shared, stream, arguments)
               : NOT_SUPPORTED;
}

/* A launch function. If the driver refuses a launch, the runtime is given one without blocks: it refuses that too, and
 * so remembers an error for cudaGetLastError. */
#define WRAP_LAUNCH(NAME, KERNEL, OTHER, DEFAULT, KIND)                                                                \
    extern int REAL(NAME)(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)         \
        __attribute__((weak));                                                                                         \
    int ADAPTED(NAME)(KERNEL kernel, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)             \
    {                                                                                                                  \
        void *own = driver_stream(stream, DEFAULT);                                                                    \
        Call call = call_begin(kernel, &grid, &block, &shared, arguments, own, KIND);                                  \
        if (!call.other)                                                                                               \
            return call_end(&call, REAL(NAME)(kernel, grid, block, arguments, shared, stream));                        \
        int error = call_end(&call, OTHER(call.other, grid, block, arguments, shared, own));                           \
        if (error)                                                                                                     \
            REAL(NAME)(kernel, (Dim3){0, 0, 0}, block, arguments, shared, stream);                                     \
        return error;                                                                                                  \
    }

/* Each with its twin for programs whose default stream is each thread's. */
WRAP_LAUNCH(__cudaLaunchKernel, void *, launch_other, LEGACY_STREAM, LAUNCH_PLAIN)
WRAP_LAUNCH(__cudaLaunchKernel_ptsz, void *, launch_other, THREAD_STREAM, LAUNCH_PLAIN)
WRAP_LAUNCH(cudaLaunchKernel, const void *, launch_other, LEGACY_STREAM, LAUNCH_PLAIN)
WRAP_LAUNCH(cudaLaunchKernel_ptsz, const void *, launch_other, THREAD_STREAM, LAUNCH_PLAIN)
WRAP_LAUNCH(cudaLaunchCooperativeKernel, const void *, launch_other_cooperative, LEGACY_STREAM,
            LAUNCH_RESIDENT)
WRAP_LAUNCH(cudaLaunchCooperativeKernel_ptsz, const void *, launch_other_cooperative, THREAD_STREAM,
            LAUNCH_RESIDENT)

static int launch_other_config(void *other, const LaunchConfig *config, void **arguments, void *stream)
{
    const DriverConfig given = driver_config(config, stream);
    return driver.launch_ex ? driver.launch_ex(&given, other, arguments, NULL) : NOT_SUPPORTED;
}

#define WRAP_CONFIG(NAME, DEFAULT)                                                                                     \
    extern int REAL(NAME)(const LaunchConfig *config, const void *kernel, void **arguments) __attribute__((weak));     \
    int ADAPTED(NAME)(const LaunchConfig *config, const void *kernel, void **arguments)                                \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        void *own = driver_stream(config->stream, DEFAULT);                                                            \
        Call call = call_begin(kernel, &adapted.grid, &adapted.block, &adapted.shared, arguments, own,                 \
                               launch_kind(config->attributes, config->attribute_count));                              \
        if (!call.other)                                                                                               \
            return call_end(&call, REAL(NAME)(&adapted, kernel, arguments));                                           \
        int error = call_end(&call, launch_other_config(call.other, &adapted, arguments, own));                        \
        if (error) {                                                                                                   \
            adapted.grid = (Dim3){0, 0, 0};                                                                            \
            REAL(NAME)(&adapted, kernel, arguments);                                                                   \
        }                                                                                                              \
        return error;                                                                                                  \
    }

WRAP_CONFIG(cudaLaunchKernelExC, LEGACY_STREAM)
WRAP_CONFIG(cudaLaunchKernelExC_ptsz, THREAD_STREAM)

/* Nodes of graphs. The runtime's graphs and nodes are the driver's. */

/* Decides about a node: if true, it goes to the driver and launches the other form; else it goes to the runtime. */
static bool node_decide(const KernelNode *given, KernelNode *node)
{
    *node = node_copy(given, false);
    Contract *contract = contract_of(node->function);
    const Contract *form = launch_decide(contract, node->grid, node->block, &node->shared, node->arguments);
    if (form)
        node_set_other(&driver, form, node, true);
    return form != NULL;
}

static int add_other(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                        const KernelNode *given)
{
    AnyNode any = {.type = KERNEL_NODE, .kernel = *given};
    if (edges)
        return driver.graph_add_any ? driver.graph_add_any(node, graph, needs, edges, count, &any) : NOT_SUPPORTED;
    return driver.graph_add ? driver.graph_add(node, graph, needs, count, given) : NOT_SUPPORTED;
}

static int set_other(void *node, const KernelNode *given)
{
    return driver.graph_set ? driver.graph_set(node, given) : NOT_SUPPORTED;
}

static int set_instance_other(void *instance, void *node, const KernelNode *given)
{
    return driver.graph_set_instance ? driver.graph_set_instance(instance, node, given) : NOT_SUPPORTED;
}

extern int REAL(cudaGraphAddKernelNode)(void **node, void *graph, void *const *needs, size_t count,
                                         const KernelNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphAddKernelNode)(void **node, void *graph, void *const *needs, size_t count,
                                  const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given)
               ? add_other(node, graph, needs, NULL, count, &given)
               : REAL(cudaGraphAddKernelNode)(node, graph, needs, count, &given);
}

extern int REAL(cudaGraphKernelNodeSetParams)(void *node, const KernelNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphKernelNodeSetParams)(void *node, const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given) ? set_other(node, &given)
                                                              : REAL(cudaGraphKernelNodeSetParams)(node, &given);
}

extern int REAL(cudaGraphExecKernelNodeSetParams)(void *instance, void *node, const KernelNode *parameters)
    __attribute__((weak));
int ADAPTED(cudaGraphExecKernelNodeSetParams)(void *instance, void *node, const KernelNode *parameters)
{
    KernelNode given;
    return node_decide(parameters, &given)
               ? set_instance_other(instance, node, &given)
               : REAL(cudaGraphExecKernelNodeSetParams)(instance, node, &given);
}

/* The entry of the kernel whose other form this is, and its contract. */
static const Entry *entry_of_other(const void *other, const Contract **contract)
{
    pthread_mutex_lock(&lock);
    const Entry *found = NULL;
    for (const Entry *entry = entries; entry && !found; entry = entry->next)
        for (const Loaded *loaded = entry->loaded; loaded && !found; loaded = loaded->next)
            if (contract_with(loaded->contract, other)) {
                found = entry;
                *contract = contract_with(loaded->contract, other);
            }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Programs read parameters, change them, and set them again, so the kernel is the one that they know, with the
 * original's launch, whichever of the two forms the node has. */
static bool node_of_other(void *node, KernelNode *found)
{
    const Contract *contract = NULL;
    load_now();
    if (!driver.graph_get || driver.graph_get(node, found))
        return false;
    const void *kernel = found->function ? found->function : found->kernel;
    const Entry *entry = entry_of_other(kernel, &contract);
    launch_before(contract, kernel, found->grid, found->block, &found->shared);
    found->function = entry ? (void *)entry->host : NULL;
    return entry;
}

extern int REAL(cudaGraphKernelNodeGetParams)(void *node, KernelNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphKernelNodeGetParams)(void *node, KernelNode *parameters)
{
    KernelNode found;
    if (node_of_other(node, &found)) {
        memcpy(parameters, &found, offsetof(KernelNode, kernel));
        return 0;
    }
    int error = REAL(cudaGraphKernelNodeGetParams)(node, parameters);
    if (!error)
        launch_before(contract_of(parameters->function), NULL, parameters->grid, parameters->block,
                      &parameters->shared);
    return error;
}

extern int REAL(cudaGraphNodeGetParams)(void *node, AnyNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphNodeGetParams)(void *node, AnyNode *parameters)
{
    KernelNode found;
    if (node_of_other(node, &found)) {
        *parameters = (AnyNode){.type = KERNEL_NODE, .kernel = node_copy(&found, false)};
        return 0;
    }
    int error = REAL(cudaGraphNodeGetParams)(node, parameters);
    if (!error && parameters->type == KERNEL_NODE)
        launch_before(contract_of(parameters->kernel.function), NULL, parameters->kernel.grid,
                      parameters->kernel.block, &parameters->kernel.shared);
    return error;
}

/* Nodes of any kind. The runtime gets the program's node, into which it may write, or, for a kernel, a changed copy.
 * NULL: 'room' is for the driver. */
static AnyNode *any_decide(AnyNode *given, AnyNode *room)
{
    if (given->type != KERNEL_NODE)
        return given;
    *room = *given;
    return node_decide(&given->kernel, &room->kernel) ? NULL : room;
}

extern int cudaRuntimeGetVersion(int *version) __attribute__((weak));

/* The parameters are the last argument, which is the fifth before CUDA 13. */
extern int REAL(cudaGraphAddNode)(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
    __attribute__((weak));
int ADAPTED(cudaGraphAddNode)(void **node, void *graph, void *const *needs, void *fourth, void *fifth, void *sixth)
{
    int version = 0;
    if (cudaRuntimeGetVersion)
        cudaRuntimeGetVersion(&version);
    bool has_edges = version >= 13000;
    AnyNode room, *any = any_decide(has_edges ? sixth : fifth, &room);
    if (!any)
        return add_other(node, graph, needs, has_edges ? fourth : NULL, (size_t)(has_edges ? fifth : fourth),
                            &room.kernel);
    return has_edges ? REAL(cudaGraphAddNode)(node, graph, needs, fourth, fifth, any)
                     : REAL(cudaGraphAddNode)(node, graph, needs, fourth, any, sixth);
}

/* This function exists in CUDA 12.3 to 12.9. */
extern int REAL(cudaGraphAddNode_v2)(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                                      AnyNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphAddNode_v2)(void **node, void *graph, void *const *needs, const void *edges, size_t count,
                               AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? REAL(cudaGraphAddNode_v2)(node, graph, needs, edges, count, any)
               : add_other(node, graph, needs, edges, count, &room.kernel);
}

extern int REAL(cudaGraphNodeSetParams)(void *node, AnyNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphNodeSetParams)(void *node, AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? REAL(cudaGraphNodeSetParams)(node, any) : set_other(node, &room.kernel);
}

extern int REAL(cudaGraphExecNodeSetParams)(void *instance, void *node, AnyNode *parameters) __attribute__((weak));
int ADAPTED(cudaGraphExecNodeSetParams)(void *instance, void *node, AnyNode *parameters)
{
    AnyNode room, *any = any_decide(parameters, &room);
    return any ? REAL(cudaGraphExecNodeSetParams)(instance, node, any)
               : set_instance_other(instance, node, &room.kernel);
}

/* Attributes and queries: the program thinks in threads of the original kernel. */

extern int REAL(cudaFuncGetAttributes)(FunctionAttributes *attributes, const void *kernel) __attribute__((weak));
int ADAPTED(cudaFuncGetAttributes)(FunctionAttributes *attributes, const void *kernel)
{
    int error = REAL(cudaFuncGetAttributes)(attributes, kernel);
    if (!error)
        attributes->most_threads = threads_before(contract_of(kernel), attributes->most_threads);
    return error;
}

extern int REAL(cudaFuncSetAttribute)(const void *kernel, int attribute, int value) __attribute__((weak));
int ADAPTED(cudaFuncSetAttribute)(const void *kernel, int attribute, int value)
{
    int error = REAL(cudaFuncSetAttribute)(kernel, attribute, value);
    return error ? error : other_set(&driver, contract_of(kernel), attribute, value, -1);
}

extern int REAL(cudaKernelSetAttributeForDevice)(void *kernel, int attribute, int value, int device)
    __attribute__((weak));
int ADAPTED(cudaKernelSetAttributeForDevice)(void *kernel, int attribute, int value, int device)
{
    int error = REAL(cudaKernelSetAttributeForDevice)(kernel, attribute, value, device);
    return error ? error : other_set(&driver, contract_of(kernel), attribute, value, device);
}

static int occupancy_of_other(int *blocks, void *other, int threads, size_t shared, unsigned flags)
{
    return driver.occupancy ? driver.occupancy(blocks, other, threads, shared, flags) : NOT_SUPPORTED;
}

extern int REAL(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, const void *kernel, int threads,
                                                                size_t shared) __attribute__((weak));
int ADAPTED(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, const void *kernel, int threads, size_t shared)
{
    void *other = query_threads(contract_of(kernel), &threads, &shared);
    return other ? occupancy_of_other(blocks, other, threads, shared, 0)
                    : REAL(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(blocks, kernel, threads, shared);
}

extern int REAL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *blocks, const void *kernel, int threads,
                                                                         size_t shared, unsigned flags)
    __attribute__((weak));
int ADAPTED(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(int *blocks, const void *kernel, int threads,
                                                                  size_t shared, unsigned flags)
{
    void *other = query_threads(contract_of(kernel), &threads, &shared);
    return other ? occupancy_of_other(blocks, other, threads, shared, flags)
                    : REAL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, kernel, threads, shared,
                                                                                    flags);
}

extern int REAL(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t *shared, const void *kernel, int blocks, int threads)
    __attribute__((weak));
int ADAPTED(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t *shared, const void *kernel, int blocks, int threads)
{
    const Contract *contract = contract_of(kernel);
    void *other = query_threads(contract, &threads, NULL);
    int error = !other ? REAL(cudaOccupancyAvailableDynamicSMemPerBlock)(shared, kernel, blocks, threads)
                : driver.available_shared ? driver.available_shared(shared, other, blocks, threads)
                                          : NOT_SUPPORTED;
    *shared = error ? *shared : shared_before(contract, other, *shared);
    return error;
}

/* Queries about clusters, which take a whole launch. */
#define WRAP_CLUSTERS(NAME, OTHER)                                                                                     \
    extern int REAL(NAME)(int *answer, const void *kernel, const LaunchConfig *config) __attribute__((weak));          \
    int ADAPTED(NAME)(int *answer, const void *kernel, const LaunchConfig *config)                                     \
    {                                                                                                                  \
        LaunchConfig adapted = *config;                                                                                \
        DriverConfig given = driver_config(config, config->stream);                                                    \
        void *other = query_launch(contract_of(kernel), given.grid, given.block, &given.shared);                       \
        adapted.grid = pack(given.grid);                                                                               \
        adapted.block = pack(given.block);                                                                             \
        adapted.shared = given.shared;                                                                                 \
        return !other         ? REAL(NAME)(answer, kernel, &adapted)                                                   \
               : driver.OTHER ? driver.OTHER(answer, other, &given)                                                    \
                                 : NOT_SUPPORTED;                                                                      \
    }

WRAP_CLUSTERS(cudaOccupancyMaxActiveClusters, active_clusters)
WRAP_CLUSTERS(cudaOccupancyMaxPotentialClusterSize, cluster_size)
