/* The contracts of loaded kernels, and counts of launches: printed at the end of the program if $PTXOPT_LAUNCH_REPORT
 * is 1, or to the file that it names. */
#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

enum { MOST_THREADS = 1024 };

static Contract *contracts;
static pthread_mutex_t contracts_lock = PTHREAD_MUTEX_INITIALIZER;

void driver_load(Driver *driver, void *(*find)(const char *name))
{
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) *(void **)&driver->name = find(symbol);
#include "abi/driver.def"
}

static void print_counts(void)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    FILE *out = strcmp(wanted, "1") == 0 ? stderr : fopen(wanted, "a");
    pthread_mutex_lock(&contracts_lock);
    for (const Contract *contract = contracts; out && contract; contract = contract->next) {
        if (contract->is_coarsened || contract->tuning)
            fprintf(out, "ptxopt: kernel '%s': launches: %lu adapted, %lu of the original\n", contract->kernel,
                    contract->adapted, contract->originals);
        tuning_print(contract, out);
    }
    pthread_mutex_unlock(&contracts_lock);
    if (out && out != stderr)
        fclose(out);
}

void contract_keep(Contract *contract)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    pthread_mutex_lock(&contracts_lock);
    bool is_first = !contracts; /* it makes sure that the counts are printed */
    contract->next = contracts;
    contracts = contract;
    pthread_mutex_unlock(&contracts_lock);
    if (is_first && wanted && *wanted)
        atexit(print_counts);
}

_Noreturn static void stop(const char *kernel, const char *why)
{
    fprintf(stderr, "ptxopt: error: the coarsened kernel '%s' cannot be launched like this: %s\n", kernel, why);
    abort();
}

/* Words of contracts: the multiplier of the dynamic shared memory, whether warps must stay whole, the stride's unit,
 * and the original's block if known, in three words, along x, y and z. */
enum { WORD_SHARED = 2, WORD_WHOLE_WARPS = 8, WORD_UNIT = 9, WORD_BLOCK = 10 };
enum { WARP = 32 };

/* The divisor of the block, and what multiplies it before that. */
static unsigned factor_along(const Contract *contract, int axis)
{
    return ptxopt_contract_threads(contract->words, axis);
}

static unsigned grown_along(const Contract *contract, int axis)
{
    return ptxopt_contract_grown(contract->words, axis);
}

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
    int error = module && driver->module_function         ? driver->module_function(&found, module, name)
                : library && driver->library_get_kernel ? driver->library_get_kernel(&found, library, name)
                                                        : 1;
    return error ? NULL : found;
}

/* The name of something that belongs to a kernel, for the caller to free. */
static char *name_join(const char *before, const char *kernel, const char *after)
{
    size_t size = strlen(before) + strlen(kernel) + strlen(after) + 1;
    char *name = malloc(size);
    if (!name)
        stop(kernel, "out of memory");
    snprintf(name, size, "%s%s%s", before, kernel, after);
    return name;
}

/* The size of the module's or library's variable that belongs to the kernel; 0 if there is none. */
static size_t find_variable(const Driver *driver, void *module, void *library, const char *prefix, const char *kernel,
                            uint64_t *address)
{
    size_t size = 0;
    char *name = name_join(prefix, kernel, "");
    int error = module && driver->module_global         ? driver->module_global(address, &size, module, name)
                : library && driver->library_get_global ? driver->library_get_global(address, &size, library, name)
                                                        : 1;
    free(name);
    return error ? 0 : size;
}

/* Copies a variable of 'size' bytes. While a graph is captured, the copy would otherwise spoil it. */
static bool copy_variable(const Driver *driver, void *to, uint64_t address, size_t size)
{
    int mode = CAPTURE_RELAXED;
    bool is_exchanged = driver->exchange_capture_mode && driver->exchange_capture_mode(&mode) == 0;
    bool is_copied = driver->copy_out && driver->copy_out(to, address, size) == 0;
    if (is_exchanged)
        driver->exchange_capture_mode(&mode);
    return is_copied;
}

/* The contract's words. False if they cannot be read. */
static bool copy_words(const Driver *driver, Contract *contract, uint64_t address, size_t size)
{
    return size == sizeof contract->words && copy_variable(driver, contract->words, address, size);
}

/* Reads the size of the grid from which on the coarsened form pays, also by the value of a parameter; if that cannot be
 * read, it always does. */
static void read_pays(const Driver *driver, void *module, void *library, Contract *contract)
{
    uint64_t address = 0;
    size_t size = find_variable(driver, module, library, "__ptxopt_pays_", contract->kernel, &address);
    if (size != sizeof contract->pays || !copy_variable(driver, contract->pays, address, size))
        memset(contract->pays, 0, sizeof contract->pays);
    size = 0;
    if (contract->pays[0])
        size = find_variable(driver, module, library, "__ptxopt_trips_", contract->kernel, &address);
    if (size != sizeof contract->trips || !copy_variable(driver, contract->trips, address, size))
        memset(contract->trips, 0, sizeof contract->trips);
}

void *variable_read(const Driver *driver, void *module, void *library, const char *prefix, const char *kernel,
                    size_t *size)
{
    uint64_t address = 0;
    *size = find_variable(driver, module, library, prefix, kernel, &address);
    void *bytes = *size ? malloc(*size) : NULL;
    if (bytes && copy_variable(driver, bytes, address, *size))
        return bytes;
    free(bytes);
    return NULL;
}

static void *find_form(const Driver *driver, void *module, void *library, const Contract *contract, const char *form)
{
    char *name = name_join("", contract->kernel, form);
    void *found = find_kernel(driver, module, library, name);
    free(name);
    return found;
}

/* Reads the contract of a kernel that is the original in the program: if something cannot be found out, launching it is
 * right. */
static void read_beside(const Driver *driver, void *module, void *library, Contract *contract)
{
    uint64_t address = 0;
    size_t size = find_variable(driver, module, library, "__ptxopt_beside_", contract->kernel, &address);
    void *coarsened = size ? find_form(driver, module, library, contract, "__ptxopt_coarsened") : NULL;
    if (!coarsened || !copy_words(driver, contract, address, size))
        return;
    contract->is_coarsened = contract->is_beside = true;
    contract->other = coarsened;
    if (shared_factor(contract) > 1)
        contract->function = coarsened;
}

/* Reads the contract of a kernel that is the coarsened one in the program. False if it has no contract. */
static bool read_coarsened(const Driver *driver, void *module, void *library, Contract *contract)
{
    uint64_t address = 0;
    size_t size = find_variable(driver, module, library, "__ptxopt_launch_", contract->kernel, &address);
    if (!size)
        return false;
    if (!copy_words(driver, contract, address, size))
        stop(contract->kernel, "its launch contract cannot be read");
    contract->is_coarsened = true;
    contract->other = find_form(driver, module, library, contract, "__ptxopt_original");
    if (shared_factor(contract) > 1)
        contract->function = find_kernel(driver, module, library, contract->kernel);
    return true;
}

bool form_read(const Driver *driver, void *module, void *library, const char *name, Contract *form)
{
    static const uint32_t unchanged[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 1, 1, 1, 0, 0, 0, 1};
    uint64_t address = 0;
    *form = (Contract){.driver = driver, .is_of_library = !module, .is_beside = true, .is_coarsened = true};
    form->other = find_kernel(driver, module, library, name);
    if (!form->other || !(form->kernel = strdup(name)))
        return false;
    const size_t size = find_variable(driver, module, library, "__ptxopt_launch_", name, &address);
    if (!size)
        memcpy(form->words, unchanged, sizeof unchanged);
    else if (!copy_words(driver, form, address, size))
        return false;
    if (shared_factor(form) > 1)
        form->function = form->other;
    return true;
}

Contract *contract_read(const Driver *driver, void *module, void *library, const char *kernel)
{
    Contract *contract = calloc(1, sizeof *contract);
    if (!contract || !(contract->kernel = strdup(kernel)))
        stop(kernel, "out of memory");
    contract->driver = driver;
    contract->is_of_library = !module;
    if (!read_coarsened(driver, module, library, contract))
        read_beside(driver, module, library, contract);
    if (!contract->is_coarsened)
        tuning_read(contract, module, library);
    if (contract->other)
        read_pays(driver, module, library, contract);
    return contract;
}

const Contract *contract_with(const Contract *contract, const void *other)
{
    const Contract *form;
    if (!contract || !other || contract->other == other)
        return contract && other ? contract : NULL;
    for (unsigned i = 1; contract->tuning && (form = tuning_form(contract->tuning, i)) != NULL; i++)
        if (form->other == other)
            return form;
    return NULL;
}

/* True if both have the same forms to choose from, or none. */
static bool same_tuning(const struct Tuning *one, const struct Tuning *other)
{
    const Contract *a = NULL, *b = NULL;
    for (unsigned i = 1; one && other; i++) {
        a = tuning_form(one, i);
        b = tuning_form(other, i);
        if (!a || !b || a->other != b->other)
            return !a && !b;
    }
    return !one && !other;
}

bool contract_same(const Contract *one, const Contract *other)
{
    return same_tuning(one->tuning, other->tuning) &&
           strcmp(one->kernel, other->kernel) == 0 && one->is_coarsened == other->is_coarsened &&
           one->is_beside == other->is_beside && one->other == other->other &&
           memcmp(one->words, other->words, sizeof one->words) == 0 &&
           memcmp(one->pays, other->pays, sizeof one->pays) == 0 &&
           memcmp(one->trips, other->trips, sizeof one->trips) == 0;
}

void contract_free(Contract *contract)
{
    tuning_free(contract->tuning);
    free(contract->kernel);
    free(contract);
}

KernelNode node_copy(const KernelNode *given, bool has_kernel)
{
    KernelNode node = {0};
    memcpy(&node, given, has_kernel ? sizeof node : offsetof(KernelNode, kernel));
    return node;
}

/* The other form is found in the same way as the kernel: as a function of a module, or a kernel of a library. */
void node_set_other(const Driver *driver, const Contract *contract, KernelNode *node, bool has_kernel)
{
    bool is_kernel = has_kernel && contract->is_of_library;
    node->function = is_kernel ? NULL : contract->other;
    node->kernel = is_kernel ? contract->other : NULL;
    if (contract->is_of_library && !has_kernel && driver->kernel_function)
        driver->kernel_function(&node->function, contract->other);
}

int other_set(const Driver *driver, const Contract *contract, int attribute, int value, int device)
{
    const Contract *form;
    for (unsigned i = 1; contract && contract->tuning && (form = tuning_form(contract->tuning, i)) != NULL; i++)
        if (form->other != contract->other)
            other_set(driver, form, attribute, value, device); /* a form that refuses it is not launched */
    if (!contract || !contract->other)
        return 0;
    if (!contract->is_of_library)
        return driver->function_set ? driver->function_set(contract->other, attribute, value) : 0;
    if (device < 0 && (!driver->current_device || driver->current_device(&device)))
        return 0;
    return driver->kernel_set ? driver->kernel_set(attribute, value, contract->other, device) : 0;
}

enum { MOST_DEVICES = 64 };      /* whose multiprocessors are remembered */
enum { MULTIPROCESSORS = 16 };    /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
enum { MOST_DYNAMIC_SHARED = 8 }; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */

/* The multiprocessors of the current device; 0 if unknown. They are asked for once for each device. */
static unsigned multiprocessors(const Driver *driver)
{
    static int known[MOST_DEVICES];
    int device = 0, count = 0;
    if (!driver->current_device || !driver->device_attribute || driver->current_device(&device) || device < 0)
        return 0;
    if (device < MOST_DEVICES && (count = __atomic_load_n(&known[device], __ATOMIC_RELAXED)))
        return (unsigned)count;
    if (driver->device_attribute(&count, MULTIPROCESSORS, device) || count < 0)
        return 0;
    if (device < MOST_DEVICES)
        __atomic_store_n(&known[device], count, __ATOMIC_RELAXED);
    return (unsigned)count;
}

/* True if the coarsened form is faster in this launch of the original, or there is no choice. */
static bool pays(const Contract *contract, const LaunchShape *shape, void *const *parameters)
{
    return !contract->other || !contract->pays[0] ||
           ptxopt_launch_pays_for(contract->pays, contract->trips, shape->grid, shape->block,
                                  multiprocessors(contract->driver), parameters);
}

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

/* False, with the reason, if the launch is to run the original. */
static bool shape_adapt(const Contract *contract, LaunchShape *shape, void *const *parameters, char *why,
                        size_t why_size)
{
    if (!pays(contract, shape, parameters)) {
        snprintf(why, why_size, "it would be slower");
        return false;
    }
    return ptxopt_launch_adapt_grid(contract->words, shape->grid, shape->block, &shape->shared, why, why_size);
}

/* NULL for the program's own kernel. */
static void *form_of(const Contract *contract, bool is_coarsened)
{
    return contract && is_coarsened == contract->is_beside ? contract->other : NULL;
}

/* True if a form, the program's own (NULL) or the other, is the coarsened one. */
static bool is_coarsened_form(const Contract *contract, const void *other)
{
    return contract && contract->is_coarsened && (other != NULL) == contract->is_beside;
}

bool form_adapt(const Contract *form, LaunchShape *launch)
{
    char why[256];
    return ptxopt_launch_adapt_grid(form->words, launch->grid, launch->block, &launch->shared, why, sizeof why);
}

static void count(Contract *contract, bool is_adapted)
{
    __atomic_add_fetch(is_adapted ? &contract->adapted : &contract->originals, 1, __ATOMIC_RELAXED);
}

/* The predicted form of a launch, or the only one. */
static Contract *decide_by_contract(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                                    void *const *parameters)
{
    char why[256];
    LaunchShape adapted = shape_of(grid, block, *shared);
    if (!contract->is_coarsened)
        return NULL;
    bool fits = shape_adapt(contract, &adapted, parameters, why, sizeof why);
    if (fits && !grow_shared(contract, adapted.shared)) {
        fits = false;
        snprintf(why, sizeof why, "it needs %zu bytes of dynamic shared memory, which the driver refuses",
                 adapted.shared);
    }
    if (!fits && !contract->other)
        stop(contract->kernel, why);
    if (fits)
        shape_put(&adapted, grid, block, shared);
    count(contract, fits);
    return form_of(contract, fits) ? contract : NULL;
}

/* True if all blocks of the form's launch are on the device at once. */
static bool is_resident(const Contract *form, const LaunchShape *launch)
{
    const Driver *driver = form->driver;
    const double blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    int each = 0;
    return driver->occupancy && driver->occupancy(&each, form->other, threads, launch->shared, 0) == 0 &&
           blocks <= (double)each * multiprocessors(driver);
}

/* The first form that pays in the launch; 'resident': and of whose launch all blocks are on the device at once. */
static Contract *decide_by_preference(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                                      void *const *parameters, bool resident)
{
    const LaunchShape launch = shape_of(grid, block, *shared);
    const unsigned sms = multiprocessors(contract->driver);
    LaunchShape adapted;
    unsigned number = 0;
    Contract *form;
    while ((form = tuning_preferred(contract, &number, &launch, &adapted, sms, parameters)) != NULL)
        if (grow_shared(form, adapted.shared) && (!resident || is_resident(form, &adapted)))
            break;
    if (form) {
        shape_put(&adapted, grid, block, shared);
        count(form, true);
    }
    count(contract, form != NULL);
    return form;
}

/* The form that is known, or whose turn it is; the predicted one if there is no choice. 'timing': NULL if the launch is
 * not timed. */
static Contract *decide_in_turn(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                                void *const *parameters, void *stream, Timing *timing)
{
    if (!contract || !contract->tuning)
        return contract ? decide_by_contract(contract, grid, block, shared, parameters) : NULL;
    if (tuning_is_preferred(contract))
        return decide_by_preference(contract, grid, block, shared, parameters, false);
    const LaunchShape launch = shape_of(grid, block, *shared);
    LaunchShape adapted;
    const int number = timing ? tuning_turn(contract, &launch, &adapted, stream, timing)
                              : tuning_known(contract, &launch, &adapted);
    Contract *form = number > 0 ? tuning_form(contract->tuning, (unsigned)number) : NULL;
    if (number < 0)
        return decide_by_contract(contract, grid, block, shared, parameters);
    if (form && !grow_shared(form, adapted.shared)) {
        tuning_drop(contract, timing, &launch, (unsigned)number);
        form = NULL;
    } else if (form) {
        shape_put(&adapted, grid, block, shared);
    }
    count(contract, form != NULL);
    return form;
}

/* An attribute is an int and, from its eighth byte, a value of 64 bytes. */
LaunchKind launch_kind(const void *attributes, unsigned count)
{
    enum { COOPERATIVE = 2, VALUE = 2, ATTRIBUTE_INTS = 18 };
    for (unsigned i = 0; i < count; i++) {
        const int *attribute = (const int *)attributes + i * ATTRIBUTE_INTS;
        if (attribute[0] == COOPERATIVE && attribute[VALUE])
            return LAUNCH_RESIDENT;
    }
    return count ? LAUNCH_SPECIAL : LAUNCH_PLAIN;
}

Contract *launch_begin(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                       void *const *parameters, void *stream, LaunchKind kind, Timing *timing)
{
    timing->shape = NULL;
    if (kind == LAUNCH_RESIDENT)
        return launch_decide_resident(contract, grid, block, shared, parameters);
    return decide_in_turn(contract, grid, block, shared, parameters, stream, kind == LAUNCH_PLAIN ? timing : NULL);
}

void launch_end(Contract *contract, Timing *timing, int error)
{
    if (timing->shape)
        tuning_end(contract, timing, error);
}

Contract *launch_decide(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                        void *const *parameters)
{
    return decide_in_turn(contract, grid, block, shared, parameters, NULL, NULL);
}

/* The program may have chosen the grid by a query, which was about the predicted form. */
Contract *launch_decide_resident(Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared,
                                 void *const *parameters)
{
    if (!contract || !contract->tuning)
        return launch_decide(contract, grid, block, shared, parameters);
    if (tuning_is_preferred(contract))
        return decide_by_preference(contract, grid, block, shared, parameters, true);
    const LaunchShape launch = shape_of(grid, block, *shared);
    LaunchShape adapted;
    const int number = tuning_known(contract, &launch, &adapted);
    Contract *form = number > 0 ? tuning_form(contract->tuning, (unsigned)number) : NULL;
    if (!form || !grow_shared(form, adapted.shared) || !is_resident(form, &adapted))
        return decide_by_contract(contract, grid, block, shared, parameters);
    shape_put(&adapted, grid, block, shared);
    count(contract, true);
    return form;
}

void launch_before(const Contract *contract, const void *other, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    if (!is_coarsened_form(contract, other))
        return;
    for (int d = 0; d < 3; d++) {
        uint32_t known = contract->words[WORD_BLOCK + d];
        block[d] = known ? known : block[d] * factor_along(contract, d) / grown_along(contract, d);
        grid[d] = grid[d] * ptxopt_contract_blocks(contract->words, d) / ptxopt_contract_spread(contract->words, d);
    }
    *shared = (unsigned)shared_before(contract, other, *shared);
}

static size_t grown(const Contract *contract, size_t shared)
{
    const size_t unit = PTXOPT_CONTRACT_SHARED_UNIT, factor = shared_factor(contract);
    return factor == 1 ? shared : (shared + unit - 1) / unit * unit * factor;
}

size_t shared_after(const Contract *contract, size_t shared)
{
    return is_coarsened_form(contract, NULL) ? grown(contract, shared) : shared;
}

size_t shared_before(const Contract *contract, const void *other, size_t shared)
{
    const size_t unit = PTXOPT_CONTRACT_SHARED_UNIT, factor = shared_factor(contract);
    return factor == 1 || !is_coarsened_form(contract, other) ? shared : shared / factor / unit * unit;
}

/* The threads of a block of the original and of the coarsened kernel: in proportion, or those of the only possible
 * block. */
static void proportion(const Contract *contract, int *before, int *after)
{
    *before = *after = 1;
    for (int d = 0; d < 3; d++) {
        int factor = (int)factor_along(contract, d), grown = (int)grown_along(contract, d);
        int known = (int)contract->words[WORD_BLOCK + d];
        *before *= known ? known : factor;
        *after *= known ? (known * grown + factor - 1) / factor : grown;
    }
}

static int shrunk(const Contract *contract, int threads)
{
    int before, after;
    proportion(contract, &before, &after);
    return threads % before == 0 ? threads / before * after : threads;
}

int threads_after(const Contract *contract, int threads)
{
    return is_coarsened_form(contract, NULL) ? shrunk(contract, threads) : threads;
}

/* True if the contract allows a block of this many threads, as far as their number tells. */
static bool count_fits(const Contract *contract, int threads)
{
    const uint32_t *words = contract->words;
    int before, after;
    proportion(contract, &before, &after);
    if (words[WORD_BLOCK])
        return threads == before;
    for (int d = 0; d < 3; d++)
        if (factor_along(contract, d) > 1 || ptxopt_contract_spread(words, d) > 1)
            before *= (int)words[WORD_UNIT];
    return threads % before == 0 && shrunk(contract, threads) <= MOST_THREADS &&
           (!words[WORD_WHOLE_WARPS] || shrunk(contract, threads) % WARP == 0);
}

void *query_threads(const Contract *contract, int *threads, size_t *shared)
{
    if (!contract || !contract->is_coarsened)
        return NULL;
    bool fits = !contract->other || count_fits(contract, *threads);
    if (fits) {
        *threads = shrunk(contract, *threads);
        if (shared)
            *shared = grown(contract, *shared);
    }
    return form_of(contract, fits);
}

void *query_launch(const Contract *contract, unsigned grid[3], unsigned block[3], unsigned *shared)
{
    char why[256];
    LaunchShape adapted = shape_of(grid, block, *shared);
    if (!contract || !contract->is_coarsened)
        return NULL;
    bool fits = shape_adapt(contract, &adapted, NULL, why, sizeof why);
    if (fits)
        shape_put(&adapted, grid, block, shared);
    return form_of(contract, fits);
}

int threads_before(const Contract *contract, int threads)
{
    int before, after;
    if (!is_coarsened_form(contract, NULL))
        return threads;
    proportion(contract, &before, &after);
    if (before == after)
        return threads;
    return threads / after > MOST_THREADS / before ? MOST_THREADS : threads / after * before;
}
