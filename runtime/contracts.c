/* The contracts of loaded kernels, and counts of launches: printed at the end of the program if $PTXOPT_LAUNCH_REPORT
 * is 1, or to the file that it names. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

enum { MOST_THREADS = 1024, CAPTURE_RELAXED = 2 };

static Contract *contracts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void driver_load(Driver *driver, void *(*find)(const char *name))
{
    *(void **)&driver->module_get_global = find("cuModuleGetGlobal_v2");
    *(void **)&driver->module_get_function = find("cuModuleGetFunction");
    *(void **)&driver->library_get_global = find("cuLibraryGetGlobal");
    *(void **)&driver->library_get_kernel = find("cuLibraryGetKernel");
    *(void **)&driver->copy_out = find("cuMemcpyDtoH_v2");
    *(void **)&driver->exchange_capture_mode = find("cuThreadExchangeStreamCaptureMode");
    *(void **)&driver->function_get_module = find("cuFuncGetModule");
    *(void **)&driver->launch = find("cuLaunchKernel");
    *(void **)&driver->launch_cooperative = find("cuLaunchCooperativeKernel");
    *(void **)&driver->launch_ex = find("cuLaunchKernelEx");
    *(void **)&driver->graph_add = find("cuGraphAddKernelNode_v2");
    *(void **)&driver->graph_get = find("cuGraphKernelNodeGetParams_v2");
    *(void **)&driver->graph_set = find("cuGraphKernelNodeSetParams_v2");
    *(void **)&driver->graph_add_any = find("cuGraphAddNode_v2");
    *(void **)&driver->graph_set_instance = find("cuGraphExecKernelNodeSetParams_v2");
    *(void **)&driver->function_name = find("cuFuncGetName");
    *(void **)&driver->kernel_name = find("cuKernelGetName");
    *(void **)&driver->kernel_library = find("cuKernelGetLibrary");
    *(void **)&driver->kernel_count = find("cuLibraryGetKernelCount");
    *(void **)&driver->kernel_function = find("cuKernelGetFunction");
    *(void **)&driver->current_device = find("cuCtxGetDevice");
    *(void **)&driver->function_set = find("cuFuncSetAttribute");
    *(void **)&driver->kernel_set = find("cuKernelSetAttribute");
    *(void **)&driver->occupancy = find("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
    *(void **)&driver->available_shared = find("cuOccupancyAvailableDynamicSMemPerBlock");
    *(void **)&driver->active_clusters = find("cuOccupancyMaxActiveClusters");
    *(void **)&driver->cluster_size = find("cuOccupancyMaxPotentialClusterSize");
}

static void print_counts(void)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    FILE *out = strcmp(wanted, "1") == 0 ? stderr : fopen(wanted, "a");
    pthread_mutex_lock(&lock);
    for (const Contract *contract = contracts; out && contract; contract = contract->next)
        if (contract->is_coarsened)
            fprintf(out, "ptxopt: kernel '%s': launches: %lu adapted, %lu of the original\n", contract->kernel,
                    contract->adapted, contract->originals);
    pthread_mutex_unlock(&lock);
    if (out && out != stderr)
        fclose(out);
}

void contract_keep(Contract *contract)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    pthread_mutex_lock(&lock);
    bool is_first = !contracts; /* it makes sure that the counts are printed */
    contract->next = contracts;
    contracts = contract;
    pthread_mutex_unlock(&lock);
    if (is_first && wanted && *wanted)
        atexit(print_counts);
}

_Noreturn static void stop(const char *kernel, const char *why)
{
    fprintf(stderr, "ptxopt: error: the coarsened kernel '%s' cannot be launched like this: %s\n", kernel, why);
    abort();
}

/* Words of contracts: what multiplies the dynamic shared memory, the factor, whether warps must stay whole, the
 * stride's unit, the original's block where it is known, and what divides the grid. Factor, block and grid have three
 * words, along x, y and z. */
enum { WORD_SHARED = 2, WORD_FACTOR = 3, WORD_WHOLE_WARPS = 8, WORD_UNIT = 9, WORD_BLOCK = 10, WORD_GRID = 13 };
enum { WARP = 32 };

static bool changes_grid(const Contract *contract)
{
    return contract && contract->is_coarsened && ptxopt_contract_changes_grid(contract->words);
}

static size_t shared_factor(const Contract *contract)
{
    return changes_grid(contract) ? contract->words[WORD_SHARED] : 1;
}

/* The driver's handle of a kernel of the module or library; NULL if there is none. */
static void *find_kernel(const Driver *driver, void *module, void *library, const char *name)
{
    void *found = NULL;
    int error = module && driver->module_get_function     ? driver->module_get_function(&found, module, name)
                : library && driver->library_get_kernel ? driver->library_get_kernel(&found, library, name)
                                                        : 1;
    return error ? NULL : found;
}

static void read_words(const Driver *driver, void *module, void *library, Contract *contract)
{
    char name[4096];
    uint64_t address = 0;
    size_t size = 0;
    int length = snprintf(name, sizeof name, "__ptxopt_launch_%s", contract->kernel);
    if (length < 0 || (size_t)length >= sizeof name)
        return;
    int error = module && driver->module_get_global ? driver->module_get_global(&address, &size, module, name)
                : library && driver->library_get_global
                    ? driver->library_get_global(&address, &size, library, name)
                    : 1;
    if (error)
        return;
    contract->is_coarsened = true;
    /* While a graph is captured, the copy would otherwise spoil it. */
    int mode = CAPTURE_RELAXED;
    bool is_exchanged = driver->exchange_capture_mode && driver->exchange_capture_mode(&mode) == 0;
    if (size != sizeof contract->words || !driver->copy_out || driver->copy_out(contract->words, address, size))
        stop(contract->kernel, "its launch contract cannot be read");
    if (is_exchanged)
        driver->exchange_capture_mode(&mode);
    snprintf(name, sizeof name, "%s__ptxopt_original", contract->kernel);
    contract->is_of_library = !module;
    contract->original = find_kernel(driver, module, library, name);
    if (shared_factor(contract) > 1)
        contract->function = find_kernel(driver, module, library, contract->kernel);
}

Contract *contract_read(const Driver *driver, void *module, void *library, const char *kernel)
{
    Contract *contract = calloc(1, sizeof *contract);
    if (!contract || !(contract->kernel = strdup(kernel)))
        stop(kernel, "out of memory");
    contract->driver = driver;
    read_words(driver, module, library, contract);
    return contract;
}

bool contract_same(const Contract *one, const Contract *other)
{
    return strcmp(one->kernel, other->kernel) == 0 && one->is_coarsened == other->is_coarsened &&
           one->original == other->original && memcmp(one->words, other->words, sizeof one->words) == 0;
}

void contract_free(Contract *contract)
{
    free(contract->kernel);
    free(contract);
}

KernelNode node_copy(const KernelNode *given, bool has_kernel)
{
    KernelNode node = {0};
    memcpy(&node, given, has_kernel ? sizeof node : offsetof(KernelNode, kernel));
    return node;
}

/* Originals are found where the kernel was: as functions of modules, or kernels of libraries. */
void node_set_original(const Driver *driver, const Contract *contract, KernelNode *node, bool has_kernel)
{
    bool is_kernel = has_kernel && contract->is_of_library;
    node->function = is_kernel ? NULL : contract->original;
    node->kernel = is_kernel ? contract->original : NULL;
    if (contract->is_of_library && !has_kernel && driver->kernel_function)
        driver->kernel_function(&node->function, contract->original);
}

int original_set(const Driver *driver, const Contract *contract, int attribute, int value, int device)
{
    if (!contract || !contract->original)
        return 0;
    if (!contract->is_of_library)
        return driver->function_set ? driver->function_set(contract->original, attribute, value) : 0;
    if (device < 0 && (!driver->current_device || driver->current_device(&device)))
        return 0;
    return driver->kernel_set ? driver->kernel_set(attribute, value, contract->original, device) : 0;
}

enum { MOST_DYNAMIC_SHARED = 8 }; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */

/* Asks the driver for that much dynamic shared memory for the coarsened kernel, and at each launch, because the program
 * may have asked for what the original needs. No less than before, because another thread may be about to launch it.
 * False if there is none. */
static bool grow_shared(Contract *contract, size_t shared)
{
    const Driver *driver = contract->driver;
    void *function = contract->function;
    size_t most = __atomic_load_n(&contract->most_shared, __ATOMIC_RELAXED);
    if (shared_factor(contract) == 1 || !shared)
        return true;
    while (most < shared && !__atomic_compare_exchange_n(&contract->most_shared, &most, shared, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    most = most > shared ? most : shared;
    if (contract->is_of_library && (!driver->kernel_function || driver->kernel_function(&function, function)))
        function = NULL;
    if (function && driver->function_set && driver->function_set(function, MOST_DYNAMIC_SHARED, (int)most) == 0)
        return true;
    __atomic_store_n(&contract->most_shared, 0, __ATOMIC_RELAXED); /* smaller launches may still work */
    return false;
}

/* The numbers of a launch that contracts change. */
typedef struct LaunchShape {
    unsigned grid[3], block[3];
    size_t shared;
} LaunchShape;

static LaunchShape shape_of(const unsigned grid[3], const unsigned block[3], size_t shared)
{
    LaunchShape shape = {.shared = shared};
    memcpy(shape.grid, grid, sizeof shape.grid);
    memcpy(shape.block, block, sizeof shape.block);
    return shape;
}

static void shape_put(const LaunchShape *shape, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    memcpy(grid, shape->grid, sizeof shape->grid);
    memcpy(block, shape->block, sizeof shape->block);
    *shared = (unsigned)shape->shared;
}

static bool shape_adapt(const Contract *contract, LaunchShape *shape, char *why, size_t why_size)
{
    return ptxopt_launch_adapt_grid(contract->words, shape->grid, shape->block, &shape->shared, why, why_size);
}

Verdict launch_decide(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    char why[256];
    LaunchShape adapted = shape_of(grid, block, *shared);
    if (!contract || !contract->is_coarsened)
        return LAUNCH_AS_GIVEN;
    bool fits = shape_adapt(contract, &adapted, why, sizeof why);
    if (fits && !grow_shared(contract, adapted.shared)) {
        fits = false;
        snprintf(why, sizeof why, "it needs %zu bytes of dynamic shared memory, which the driver refuses",
                 adapted.shared);
    }
    if (fits) {
        shape_put(&adapted, grid, block, shared);
        __atomic_add_fetch(&contract->adapted, 1, __ATOMIC_RELAXED);
        return LAUNCH_ADAPTED;
    }
    if (!contract->original)
        stop(contract->kernel, why);
    __atomic_add_fetch(&contract->originals, 1, __ATOMIC_RELAXED);
    return LAUNCH_ORIGINAL;
}

void launch_before(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    for (int d = 0; d < 3 && contract && contract->is_coarsened; d++) {
        uint32_t known = contract->words[WORD_BLOCK + d];
        block[d] = known ? known : block[d] * contract->words[WORD_FACTOR + d];
        grid[d] *= changes_grid(contract) ? contract->words[WORD_GRID + d] : 1;
    }
    *shared = (unsigned)shared_before(contract, *shared);
}

size_t shared_after(const Contract *contract, size_t shared)
{
    const size_t unit = PTXOPT_CONTRACT_SHARED_UNIT, factor = shared_factor(contract);
    return factor == 1 ? shared : (shared + unit - 1) / unit * unit * factor;
}

size_t shared_before(const Contract *contract, size_t shared)
{
    const size_t unit = PTXOPT_CONTRACT_SHARED_UNIT, factor = shared_factor(contract);
    return factor == 1 ? shared : shared / factor / unit * unit;
}

/* Threads of a block of the original, and of the coarsened kernel: in proportion, or of the only block there is. */
static void proportion(const Contract *contract, int *before, int *after)
{
    *before = *after = 1;
    for (int d = 0; d < 3 && contract && contract->is_coarsened; d++) {
        int factor = (int)contract->words[WORD_FACTOR + d], known = (int)contract->words[WORD_BLOCK + d];
        *before *= known ? known : factor;
        *after *= known ? (known + factor - 1) / factor : 1;
    }
}

int threads_after(const Contract *contract, int threads)
{
    int before, after;
    proportion(contract, &before, &after);
    return threads % before == 0 ? threads / before * after : threads;
}

/* Whether the contract allows a block of so many threads, as far as their number tells. */
static bool count_fits(const Contract *contract, int threads)
{
    const uint32_t *words = contract->words;
    int before, after;
    proportion(contract, &before, &after);
    if (words[WORD_BLOCK])
        return threads == before;
    for (int d = 0; d < 3; d++)
        if (words[WORD_FACTOR + d] > 1)
            before *= (int)words[WORD_UNIT];
    return threads % before == 0 && (!words[WORD_WHOLE_WARPS] || threads_after(contract, threads) % WARP == 0);
}

void *query_threads(const Contract *contract, int *threads, size_t *shared)
{
    if (contract && contract->is_coarsened && contract->original && !count_fits(contract, *threads))
        return contract->original;
    *threads = threads_after(contract, *threads);
    if (shared)
        *shared = shared_after(contract, *shared);
    return NULL;
}

void *query_launch(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    char why[256];
    LaunchShape adapted = shape_of(grid, block, *shared);
    if (!contract || !contract->is_coarsened)
        return NULL;
    if (!shape_adapt(contract, &adapted, why, sizeof why))
        return contract->original;
    shape_put(&adapted, grid, block, shared);
    return NULL;
}

int threads_before(const Contract *contract, int threads)
{
    int before, after;
    proportion(contract, &before, &after);
    if (before == after)
        return threads;
    return threads / after > MOST_THREADS / before ? MOST_THREADS : threads / after * before;
}
