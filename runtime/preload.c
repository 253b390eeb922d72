/* Preloaded (LD_PRELOAD=libptxopt-launch.so) into a program that uses the CUDA driver, including by cuGetProcAddress or
 * dlsym, as CUDA's shared runtime, CuPy and others do: launches of coarsened kernels are adapted by their contracts.
 *
 * A handle is looked up when the program requests it by name, or else when it is first used, by the name that the
 * driver gives for it. For the static runtime's look-up of the driver's functions, only dlsym can be preloaded;
 * programs that ptxopt-nvcc builds have link_adapter.c, and do not need this library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime/preload.h"

typedef struct Function {
    const void *handle, *owner; /* and its module or library */
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

void *driver_function(const char *name)
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

const Driver *preload_driver(void)
{
    pthread_once(&once, load);
    return &driver;
}

static Function *function_known(const void *handle)
{
    pthread_mutex_lock(&lock);
    Function *function = functions[(uintptr_t)handle / 16 % SLOTS];
    while (function && function->handle != handle)
        function = function->next;
    pthread_mutex_unlock(&lock);
    return function;
}

static Contract *contract_known(const void *handle)
{
    const Function *function = function_known(handle);
    return function ? function->contract : NULL;
}

/* The newest comes first. */
static void remember(const void *handle, const void *owner, Contract *contract)
{
    Function *function = calloc(1, sizeof *function);
    if (!function)
        return;
    pthread_mutex_lock(&lock);
    Function **slot = &functions[(uintptr_t)handle / 16 % SLOTS];
    *function = (Function){handle, owner, contract, *slot};
    *slot = function;
    pthread_mutex_unlock(&lock);
}

/* Forgets the handles of a module or library that is gone, because they may be reused. */
static void forget(const void *owner)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++)
        for (Function *function = functions[i]; function; function = function->next)
            if (function->owner == owner)
                function->handle = function->owner = NULL;
    pthread_mutex_unlock(&lock);
}

/* Notes a handle unless it is known: programs may request a function before each launch. */
static void note(const void *handle, void *module, void *library, const char *name)
{
    pthread_once(&once, load);
    Contract *contract = contract_read(&driver, module, library, name);
    const Contract *before = contract_known(handle);
    if (before && contract_same(before, contract)) {
        contract_free(contract);
        return;
    }
    contract_keep(contract);
    remember(handle, module ? module : library, contract);
}

/* The contract of a handle, also of one that the program did not get by name, such as those that a module
 * enumerates. */
static Contract *contract_of(void *handle)
{
    Contract *contract = contract_known(handle);
    const char *name = NULL;
    void *owner = NULL;
    if (contract || !handle)
        return contract;
    pthread_once(&once, load);
    if (driver.function_name && driver.function_get_module && driver.function_name(&name, handle) == 0 &&
        driver.function_get_module(&owner, handle) == 0)
        note(handle, owner, NULL, name);
    else if (driver.kernel_name && driver.kernel_library && driver.kernel_name(&name, handle) == 0 &&
             driver.kernel_library(&owner, handle) == 0)
        note(handle, NULL, owner, name);
    return contract_known(handle);
}

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
    const Function *known = function_known(kernel);
    if (!error && known && contract_known(*function) != known->contract)
        remember(*function, known->owner, known->contract);
    return error;
}

#define UNLOAD(NAME)                                                                                                   \
    OWN(int, NAME, void *owner)                                                                                        \
    {                                                                                                                  \
        forget(owner);                                                                                                 \
        return real_##NAME() ? real_##NAME()(owner) : NOT_FOUND;                                                       \
    }

UNLOAD(cuModuleUnload)
UNLOAD(cuLibraryUnload)

/* The function that is launched instead of this one, or this one; the launch is changed to what it needs. */
static void *launch_target(void *function, const Contract *form)
{
    return form ? form->other : function;
}

#define LAUNCH(NAME, DEFAULT)                                                                                          \
    OWN(int, NAME, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                \
        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra)             \
    {                                                                                                                  \
        unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};                           \
        Timing timing;                                                                                                 \
        Contract *contract = contract_of(function);                                                                    \
        Contract *form = launch_begin(contract, grid, block, &shared, arguments, driver_stream(stream, DEFAULT),       \
                                      LAUNCH_PLAIN, &timing);                                                          \
        function = launch_target(function, form);                                                                      \
        int error = real_##NAME() ? real_##NAME()(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],   \
                                                  shared, stream, arguments, extra)                                    \
                                  : NOT_FOUND;                                                                         \
        launch_end(contract, &timing, error);                                                                          \
        return error;                                                                                                  \
    }

LAUNCH(cuLaunchKernel, LEGACY_STREAM)
LAUNCH(cuLaunchKernel_ptsz, THREAD_STREAM)

#define COOPERATIVE(NAME)                                                                                              \
    OWN(int, NAME, void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                \
        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments)                           \
    {                                                                                                                  \
        unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};                           \
        function =                                                                                                     \
            launch_target(function, launch_decide_resident(contract_of(function), grid, block, &shared, arguments));   \
        return real_##NAME() ? real_##NAME()(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],        \
                                             shared, stream, arguments)                                                \
                             : NOT_FOUND;                                                                              \
    }

COOPERATIVE(cuLaunchCooperativeKernel)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_EX(NAME, DEFAULT)                                                                                       \
    OWN(int, NAME, const DriverConfig *config, void *function, void **arguments, void **extra)                         \
    {                                                                                                                  \
        DriverConfig adapted = *config;                                                                                \
        Timing timing;                                                                                                 \
        Contract *contract = contract_of(function);                                                                    \
        Contract *form = launch_begin(contract, adapted.grid, adapted.block, &adapted.shared, arguments,               \
                                      driver_stream(config->stream, DEFAULT),                                          \
                                      launch_kind(config->attributes, config->attribute_count), &timing);              \
        function = launch_target(function, form);                                                                      \
        int error = real_##NAME() ? real_##NAME()(&adapted, function, arguments, extra) : NOT_FOUND;                   \
        launch_end(contract, &timing, error);                                                                          \
        return error;                                                                                                  \
    }

LAUNCH_EX(cuLaunchKernelEx, LEGACY_STREAM)
LAUNCH_EX(cuLaunchKernelEx_ptsz, THREAD_STREAM)

/* Nodes of graphs. The first version of the parameters ends before the kernel. */

/* The node with the form to be launched: its function, or else its kernel, and the launch that this needs. */
static KernelNode node_adapted(const KernelNode *given, bool has_kernel)
{
    KernelNode node = node_copy(given, has_kernel);
    Contract *contract = contract_of(has_kernel && !node.function ? node.kernel : node.function);
    const Contract *form = launch_decide(contract, node.grid, node.block, &node.shared, node.arguments);
    if (form)
        node_set_other(&driver, form, &node, has_kernel);
    return node;
}

#define ADD_NODE(NAME, HAS_KERNEL)                                                                                     \
    OWN(int, NAME, void **node, void *graph, void *const *needs, size_t count, const KernelNode *parameters)           \
    {                                                                                                                  \
        KernelNode adapted = node_adapted(parameters, HAS_KERNEL);                                                     \
        return real_##NAME() ? real_##NAME()(node, graph, needs, count, &adapted) : NOT_FOUND;                         \
    }

ADD_NODE(cuGraphAddKernelNode, false)
ADD_NODE(cuGraphAddKernelNode_v2, true)

#define SET_NODE(NAME, HAS_KERNEL)                                                                                     \
    OWN(int, NAME, void *node, const KernelNode *parameters)                                                           \
    {                                                                                                                  \
        KernelNode adapted = node_adapted(parameters, HAS_KERNEL);                                                     \
        return real_##NAME() ? real_##NAME()(node, &adapted) : NOT_FOUND;                                              \
    }

SET_NODE(cuGraphKernelNodeSetParams, false)
SET_NODE(cuGraphKernelNodeSetParams_v2, true)

#define SET_INSTANCE_NODE(NAME, HAS_KERNEL)                                                                            \
    OWN(int, NAME, void *instance, void *node, const KernelNode *parameters)                                           \
    {                                                                                                                  \
        KernelNode adapted = node_adapted(parameters, HAS_KERNEL);                                                     \
        return real_##NAME() ? real_##NAME()(instance, node, &adapted) : NOT_FOUND;                                    \
    }

SET_INSTANCE_NODE(cuGraphExecKernelNodeSetParams, false)
SET_INSTANCE_NODE(cuGraphExecKernelNodeSetParams_v2, true)

/* The handle that the program has for the kernel of this form, which was chosen for it; with *form, its contract. NULL:
 * it is not such a form. */
static void *handle_of_form(const void *other, const Contract **form)
{
    void *handle = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS && !handle; i++)
        for (const Function *function = functions[i]; function && !handle; function = function->next)
            if (function->handle && (function->contract->is_beside || function->contract->tuning) &&
                (*form = contract_with(function->contract, other)) != NULL)
                handle = (void *)function->handle;
    pthread_mutex_unlock(&lock);
    return handle;
}

/* Restores the original's kernel and launch: programs read parameters, change them, and set them again. */
static void node_before(KernelNode *node, bool has_kernel)
{
    void **place = has_kernel && !node->function ? &node->kernel : &node->function;
    const Contract *form = NULL;
    void *handle = handle_of_form(*place, &form);
    if (handle) {
        launch_before(form, *place, node->grid, node->block, &node->shared);
        *place = handle;
        return;
    }
    const Contract *contract = contract_of(*place);
    launch_before(contract, NULL, node->grid, node->block, &node->shared);
}

#define GET_NODE(NAME, HAS_KERNEL)                                                                                     \
    OWN(int, NAME, void *node, KernelNode *parameters)                                                                 \
    {                                                                                                                  \
        int error = real_##NAME() ? real_##NAME()(node, parameters) : NOT_FOUND;                                       \
        if (!error)                                                                                                    \
            node_before(parameters, HAS_KERNEL);                                                                       \
        return error;                                                                                                  \
    }

GET_NODE(cuGraphKernelNodeGetParams, false)
GET_NODE(cuGraphKernelNodeGetParams_v2, true)

/* The node for the driver: those of other kinds are passed as they are, because the driver writes into them. */
static AnyNode *any_adapted(AnyNode *given, AnyNode *room)
{
    if (given->type != KERNEL_NODE)
        return given;
    *room = *given;
    room->kernel = node_adapted(&given->kernel, true);
    return room;
}

OWN(int, cuGraphAddNode, void **node, void *graph, void *const *needs, size_t count, AnyNode *parameters)
{
    AnyNode room;
    return real_cuGraphAddNode() ? real_cuGraphAddNode()(node, graph, needs, count, any_adapted(parameters, &room))
                                 : NOT_FOUND;
}

OWN(int, cuGraphAddNode_v2, void **node, void *graph, void *const *needs, const void *edges, size_t count,
    AnyNode *parameters)
{
    AnyNode room;
    return real_cuGraphAddNode_v2()
               ? real_cuGraphAddNode_v2()(node, graph, needs, edges, count, any_adapted(parameters, &room))
               : NOT_FOUND;
}

OWN(int, cuGraphNodeSetParams, void *node, AnyNode *parameters)
{
    AnyNode room;
    return real_cuGraphNodeSetParams() ? real_cuGraphNodeSetParams()(node, any_adapted(parameters, &room)) : NOT_FOUND;
}

OWN(int, cuGraphExecNodeSetParams, void *instance, void *node, AnyNode *parameters)
{
    AnyNode room;
    return real_cuGraphExecNodeSetParams()
               ? real_cuGraphExecNodeSetParams()(instance, node, any_adapted(parameters, &room))
               : NOT_FOUND;
}

OWN(int, cuGraphNodeGetParams, void *node, AnyNode *parameters)
{
    int error = real_cuGraphNodeGetParams() ? real_cuGraphNodeGetParams()(node, parameters) : NOT_FOUND;
    if (!error && parameters->type == KERNEL_NODE)
        node_before(&parameters->kernel, true);
    return error;
}

/* Attributes and queries. */

enum { MOST_THREADS_PER_BLOCK = 0 }; /* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK */

OWN(int, cuFuncGetAttribute, int *value, int attribute, void *function)
{
    int error = real_cuFuncGetAttribute() ? real_cuFuncGetAttribute()(value, attribute, function) : NOT_FOUND;
    if (!error && attribute == MOST_THREADS_PER_BLOCK)
        *value = threads_before(contract_of(function), *value);
    return error;
}

OWN(int, cuFuncSetAttribute, void *function, int attribute, int value)
{
    int error = real_cuFuncSetAttribute() ? real_cuFuncSetAttribute()(function, attribute, value) : NOT_FOUND;
    return error ? error : other_set(&driver, contract_of(function), attribute, value, -1);
}

OWN(int, cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
    int error = real_cuKernelSetAttribute() ? real_cuKernelSetAttribute()(attribute, value, kernel, device) : NOT_FOUND;
    return error ? error : other_set(&driver, contract_of(kernel), attribute, value, device);
}

/* The function that a query is about; the threads of a block, and its shared memory unless 'shared' is NULL, are
 * adapted to it. */
static void *asked_by_threads(void *function, int *threads, size_t *shared)
{
    void *other = query_threads(contract_of(function), threads, shared);
    return other ? other : function;
}

OWN(int, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int threads, size_t shared)
{
    __typeof__(&cuOccupancyMaxActiveBlocksPerMultiprocessor) real = real_cuOccupancyMaxActiveBlocksPerMultiprocessor();
    function = asked_by_threads(function, &threads, &shared);
    return real ? real(blocks, function, threads, shared) : NOT_FOUND;
}

OWN(int, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, void *function, int threads, size_t shared,
    unsigned flags)
{
    __typeof__(&cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) real =
        real_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags();
    function = asked_by_threads(function, &threads, &shared);
    return real ? real(blocks, function, threads, shared, flags) : NOT_FOUND;
}

OWN(int, cuOccupancyAvailableDynamicSMemPerBlock, size_t *shared, void *function, int blocks, int threads)
{
    __typeof__(&cuOccupancyAvailableDynamicSMemPerBlock) real = real_cuOccupancyAvailableDynamicSMemPerBlock();
    void *asked_for = asked_by_threads(function, &threads, NULL);
    int error = real ? real(shared, asked_for, blocks, threads) : NOT_FOUND;
    if (!error)
        *shared = shared_before(contract_of(function), asked_for == function ? NULL : asked_for, *shared);
    return error;
}

#define CLUSTERS(NAME)                                                                                                 \
    OWN(int, NAME, int *answer, void *function, const DriverConfig *config)                                            \
    {                                                                                                                  \
        DriverConfig adapted = *config;                                                                                \
        void *other = query_launch(contract_of(function), adapted.grid, adapted.block, &adapted.shared);               \
        return real_##NAME() ? real_##NAME()(answer, other ? other : function, &adapted) : NOT_FOUND;                  \
    }

CLUSTERS(cuOccupancyMaxActiveClusters)
CLUSTERS(cuOccupancyMaxPotentialClusterSize)

/* The program's callback for a block's dynamic shared memory expects the original's threads; the driver passes the
 * coarsened kernel's. */
static _Thread_local struct {
    size_t (*shared_of)(int threads);
    const Contract *contract;
} asked;

static size_t shared_of_after(int threads)
{
    return shared_after(asked.contract, asked.shared_of(threads_before(asked.contract, threads)));
}

OWN(int, cuOccupancyMaxPotentialBlockSizeWithFlags, int *grid, int *threads, void *function, size_t (*shared_of)(int),
    size_t shared, int limit, unsigned flags)
{
    __typeof__(&cuOccupancyMaxPotentialBlockSizeWithFlags) real = real_cuOccupancyMaxPotentialBlockSizeWithFlags();
    Contract *contract = contract_of(function);
    asked.shared_of = shared_of;
    asked.contract = contract;
    int error = real ? real(grid, threads, function, shared_of ? shared_of_after : NULL,
                            shared_after(contract, shared), threads_after(contract, limit), flags)
                     : NOT_FOUND;
    if (!error)
        *threads = threads_before(contract, *threads);
    return error;
}

OWN(int, cuOccupancyMaxPotentialBlockSize, int *grid, int *threads, void *function, size_t (*shared_of)(int),
    size_t shared, int limit)
{
    return real_cuOccupancyMaxPotentialBlockSize()
               ? cuOccupancyMaxPotentialBlockSizeWithFlags(grid, threads, function, shared_of, shared, limit, 0)
               : NOT_FOUND;
}

OWN(int, cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
    int error = real_cuKernelGetAttribute() ? real_cuKernelGetAttribute()(value, attribute, kernel, device) : NOT_FOUND;
    if (!error && attribute == MOST_THREADS_PER_BLOCK)
        *value = threads_before(contract_of(kernel), *value);
    return error;
}

static const struct {
    const char *name;
    void *function;
} own[] = {
#define OWNED(NAME) {#NAME, (void *)NAME}
    OWNED(cuModuleGetFunction),
    OWNED(cuLibraryGetKernel),
    OWNED(cuKernelGetFunction),
    OWNED(cuModuleUnload),
    OWNED(cuLibraryUnload),
    OWNED(cuLaunchKernel),
    OWNED(cuLaunchKernel_ptsz),
    OWNED(cuLaunchCooperativeKernel),
    OWNED(cuLaunchCooperativeKernel_ptsz),
    OWNED(cuLaunchKernelEx),
    OWNED(cuLaunchKernelEx_ptsz),
    OWNED(cuGraphAddKernelNode),
    OWNED(cuGraphAddKernelNode_v2),
    OWNED(cuGraphKernelNodeSetParams),
    OWNED(cuGraphKernelNodeSetParams_v2),
    OWNED(cuGraphExecKernelNodeSetParams),
    OWNED(cuGraphExecKernelNodeSetParams_v2),
    OWNED(cuGraphKernelNodeGetParams),
    OWNED(cuGraphKernelNodeGetParams_v2),
    OWNED(cuGraphAddNode),
    OWNED(cuGraphAddNode_v2),
    OWNED(cuGraphNodeSetParams),
    OWNED(cuGraphExecNodeSetParams),
    OWNED(cuGraphNodeGetParams),
    OWNED(cuFuncSetAttribute),
    OWNED(cuKernelSetAttribute),
    OWNED(cuFuncGetAttribute),
    OWNED(cuKernelGetAttribute),
    OWNED(cuOccupancyMaxActiveBlocksPerMultiprocessor),
    OWNED(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
    OWNED(cuOccupancyAvailableDynamicSMemPerBlock),
    OWNED(cuOccupancyMaxPotentialBlockSize),
    OWNED(cuOccupancyMaxPotentialBlockSizeWithFlags),
    OWNED(cuOccupancyMaxActiveClusters),
    OWNED(cuOccupancyMaxPotentialClusterSize),
#undef OWNED
};

static void *own_function(const char *name)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].name, name) == 0)
            return own[i].function;
    return loads_function(name);
}

/* The flag chooses the functions whose default stream is each thread's, and the program's version of CUDA those with
 * newer parameters. */
enum { PER_THREAD_STREAM = 2 };

static void *own_for(const char *symbol, int version, uint64_t flags)
{
    char name[128];
    bool is_newer = version >= (strcmp(symbol, "cuGraphAddNode") == 0     ? 13000
                                : strncmp(symbol, "cuLinkAdd", 9) == 0 ? 6050
                                                                       : 12000);
    snprintf(name, sizeof name, "%s%s", symbol, flags & PER_THREAD_STREAM ? "_ptsz" : is_newer ? "_v2" : "");
    void *function = own_function(name);
    if (!function && is_newer) {
        snprintf(name, sizeof name, "%s_v2", symbol);
        function = own_function(name);
    }
    return function ? function : own_function(symbol);
}

OWN(int, cuGetProcAddress, const char *symbol, void **function, int version, uint64_t flags)
{
    int error = real_cuGetProcAddress() ? real_cuGetProcAddress()(symbol, function, version, flags) : NOT_FOUND;
    if (!error && *function && own_for(symbol, version, flags))
        *function = own_for(symbol, version, flags);
    return error;
}

OWN(int, cuGetProcAddress_v2, const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    int error =
        real_cuGetProcAddress_v2() ? real_cuGetProcAddress_v2()(symbol, function, version, flags, status) : NOT_FOUND;
    if (!error && *function && own_for(symbol, version, flags))
        *function = own_for(symbol, version, flags);
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
