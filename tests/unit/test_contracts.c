/* The adapters' decisions about launches (runtime/contracts.c), on a driver whose answers the tests set. */
#include "runtime/runtime.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OK = 0, FAILED = 1 };

/* The driver's objects, and what it was asked. Variables and kernels are found by name in the one module or library. */
static struct {
    void *module, *library;
    const char *names[3]; /* of variables */
    const uint32_t *words[3];
    size_t sizes[3];
    const char *kernels[2];
    int capture_mode, mode_when_copied;
    int device, multiprocessors[3], attribute_calls;
    int most_shared, shared_calls, shared_limit;
    void *set_function, *set_kernel;
    int set_attribute, set_value, set_device;
    bool fails_to_copy;
} gpu;

static char mm_kernel, other_kernel, function_of_other;

static int find_variable(uint64_t *address, size_t *size, void *module, const char *name)
{
    if (module != gpu.module && module != gpu.library)
        return FAILED;
    for (size_t i = 0; i < 3; i++)
        if (gpu.names[i] && strcmp(gpu.names[i], name) == 0) {
            *address = (uint64_t)(uintptr_t)gpu.words[i];
            *size = gpu.sizes[i];
            return OK;
        }
    return FAILED;
}

static int find_kernel(void **found, void *module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < 2; i++)
        if (gpu.kernels[i] && strcmp(gpu.kernels[i], name) == 0) {
            *found = strchr(name, '_') ? &other_kernel : &mm_kernel;
            return OK;
        }
    return FAILED;
}

static int copy_out(void *to, uint64_t from, size_t size)
{
    gpu.mode_when_copied = gpu.capture_mode;
    memcpy(to, (const void *)(uintptr_t)from, size);
    return gpu.fails_to_copy ? FAILED : OK;
}

static int exchange_capture_mode(int *mode)
{
    int old = gpu.capture_mode;
    gpu.capture_mode = *mode;
    *mode = old;
    return OK;
}

static int current_device(int *device)
{
    *device = gpu.device;
    return OK;
}

static int device_attribute(int *value, int attribute, int device)
{
    gpu.attribute_calls++;
    *value = gpu.multiprocessors[device];
    return attribute == 16 ? OK : FAILED;
}

static int kernel_function(void **function, void *kernel)
{
    *function = &function_of_other;
    return kernel == &other_kernel ? OK : FAILED;
}

static int function_set(void *function, int attribute, int value)
{
    gpu.set_function = function;
    gpu.set_attribute = attribute;
    gpu.most_shared = value;
    gpu.shared_calls++;
    return value <= gpu.shared_limit ? OK : FAILED;
}

static int kernel_set(int attribute, int value, void *kernel, int device)
{
    gpu.set_kernel = kernel;
    gpu.set_attribute = attribute;
    gpu.set_value = value;
    gpu.set_device = device;
    return OK;
}

static const Driver driver = {
    .module_global = find_variable,
    .library_get_global = find_variable,
    .module_function = find_kernel,
    .library_get_kernel = find_kernel,
    .copy_out = copy_out,
    .exchange_capture_mode = exchange_capture_mode,
    .current_device = current_device,
    .device_attribute = device_attribute,
    .kernel_function = kernel_function,
    .function_set = function_set,
    .kernel_set = kernel_set,
};

/* Halves blocks of any size along x. */
static const uint32_t plain[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 2, 1, 1, 0, 0, 0, 1};
/* Halves the grid along y, and each block needs three times the dynamic shared memory. */
static const uint32_t grid_form[PTXOPT_CONTRACT_WORDS] = {
    PTXOPT_CONTRACT_MAGIC, 2, 3, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 1};
/* For blocks of 19 x 6 threads, of which ten and two are left. */
static const uint32_t known_block[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 2, 3, 1, 0, 0, 0, 1, 19, 6, 1};
/* In units of eight threads; in whole warps. */
static const uint32_t units[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 2, 1, 1, 0, 0, 0, 8};
static const uint32_t warps[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 2, 1, 1, 0, 0, 1, 1};

static void reset(void)
{
    memset(&gpu, 0, sizeof gpu);
    gpu.module = &gpu.device;
    gpu.shared_limit = 100000;
}

static void variable(unsigned at, const char *name, const uint32_t *words, size_t size)
{
    gpu.names[at] = name;
    gpu.words[at] = words;
    gpu.sizes[at] = size;
}

/* The contract of kernel mm, coarsened by 'words', with or without its original. */
static Contract *coarsened(const uint32_t *words, bool has_original)
{
    reset();
    variable(0, "__ptxopt_launch_mm", words, 4 * PTXOPT_CONTRACT_WORDS);
    gpu.kernels[0] = "mm";
    gpu.kernels[1] = has_original ? "mm__ptxopt_original" : NULL;
    return contract_read(&driver, gpu.module, NULL, "mm");
}

static Contract *beside(const uint32_t *words)
{
    reset();
    variable(0, "__ptxopt_beside_mm", words, 4 * PTXOPT_CONTRACT_WORDS);
    gpu.kernels[0] = "mm__ptxopt_coarsened";
    return contract_read(&driver, gpu.module, NULL, "mm");
}

static void test_reading(void **state)
{
    (void)state;
    Contract *contract = coarsened(plain, true);
    assert_true(contract->is_coarsened && !contract->is_beside && !contract->is_of_library);
    assert_ptr_equal(contract->other, &other_kernel);
    assert_memory_equal(contract->words, plain, sizeof plain);
    assert_null(contract->function); /* its shared memory does not grow */
    contract_free(contract);

    contract = beside(grid_form);
    assert_true(contract->is_coarsened && contract->is_beside);
    assert_ptr_equal(contract->other, &other_kernel);
    assert_ptr_equal(contract->function, &other_kernel);
    contract_free(contract);

    contract = coarsened(grid_form, true);
    assert_ptr_equal(contract->function, &mm_kernel);
    contract_free(contract);

    reset();
    gpu.kernels[0] = "mm";
    contract = contract_read(&driver, gpu.module, NULL, "mm");
    assert_false(contract->is_coarsened);
    contract_free(contract);
}

/* A kernel of a library is found in the same way. */
static void test_library(void **state)
{
    (void)state;
    reset();
    gpu.library = &gpu.most_shared;
    gpu.module = NULL;
    variable(0, "__ptxopt_launch_mm", plain, 4 * PTXOPT_CONTRACT_WORDS);
    gpu.kernels[0] = "mm__ptxopt_original";
    Contract *contract = contract_read(&driver, NULL, gpu.library, "mm");
    assert_true(contract->is_coarsened && contract->is_of_library);
    assert_ptr_equal(contract->other, &other_kernel);
    contract_free(contract);
}

/* A captured graph is not spoilt by reading a contract, and goes on being captured in the program's mode. */
static void test_capture(void **state)
{
    (void)state;
    contract_free(coarsened(plain, false));
    assert_int_equal(gpu.mode_when_copied, 2);
    assert_int_equal(gpu.capture_mode, 0);
}

/* Forks, since a contract that cannot be read ends the program. */
static bool aborts(void (*act)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        assert_non_null(freopen("/dev/null", "w", stderr));
        signal(SIGABRT, SIG_DFL);
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void read_short(void)
{
    reset();
    variable(0, "__ptxopt_launch_mm", plain, 4 * PTXOPT_CONTRACT_WORDS - 4);
    contract_read(&driver, gpu.module, NULL, "mm");
}

static void read_failing(void)
{
    reset();
    gpu.fails_to_copy = true;
    variable(0, "__ptxopt_launch_mm", plain, 4 * PTXOPT_CONTRACT_WORDS);
    contract_read(&driver, gpu.module, NULL, "mm");
}

static void launch_odd(void)
{
    unsigned grid[3] = {5, 1, 1}, block[3] = {63, 1, 1}, shared = 0;
    launch_decide(coarsened(plain, false), grid, block, &shared, NULL);
}

static void test_stops(void **state)
{
    (void)state;
    assert_true(aborts(read_short));
    assert_true(aborts(read_failing));
    assert_true(aborts(launch_odd));
}

/* A contract beside the original that cannot be read is not used. */
static void test_unreadable_beside(void **state)
{
    (void)state;
    reset();
    variable(0, "__ptxopt_beside_mm", plain, 4);
    gpu.kernels[0] = "mm__ptxopt_coarsened";
    Contract *contract = contract_read(&driver, gpu.module, NULL, "mm");
    assert_false(contract->is_coarsened);
    contract_free(contract);
    contract = beside(plain);
    contract_free(contract);
    gpu.kernels[0] = NULL;
    contract = contract_read(&driver, gpu.module, NULL, "mm");
    assert_false(contract->is_coarsened);
    contract_free(contract);
}

static void test_decide(void **state)
{
    (void)state;
    unsigned grid[3] = {5, 4, 1}, block[3] = {64, 1, 1}, shared = 100;
    Contract *contract = coarsened(plain, true);
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(block[0], 32);
    assert_int_equal(shared, 100);
    assert_int_equal(contract->adapted, 1);
    block[0] = 63;
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    assert_int_equal(block[0], 63);
    assert_int_equal(contract->originals, 1);
    contract_free(contract);

    contract = beside(plain);
    block[0] = 64;
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    assert_int_equal(block[0], 32);
    block[0] = 63;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(contract->adapted, 1);
    assert_int_equal(contract->originals, 1);
    contract_free(contract);
    assert_null(launch_decide(NULL, grid, block, &shared, NULL));
}

/* Dynamic shared memory is rounded up and multiplied; the driver is asked for the most that was ever needed. */
static void test_shared(void **state)
{
    (void)state;
    unsigned grid[3] = {5, 4, 1}, block[3] = {64, 1, 1}, shared = 130;
    Contract *contract = coarsened(grid_form, true);
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(grid[1], 2);
    assert_int_equal(shared, 768);
    assert_int_equal(gpu.most_shared, 768);
    assert_int_equal(gpu.set_attribute, 8);
    assert_ptr_equal(gpu.set_function, &mm_kernel);
    grid[1] = 4;
    shared = 128;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(shared, 384);
    assert_int_equal(gpu.most_shared, 768);
    /* More than there is: the original, with what it asked for; what is less is given again. */
    grid[1] = 4;
    shared = 99999;
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    assert_int_equal(shared, 99999);
    assert_int_equal(grid[1], 4);
    shared = 128;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(gpu.most_shared, 384);
    /* None is needed; the launch is the original's. */
    int calls = gpu.shared_calls;
    grid[1] = 3;
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    grid[1] = 4;
    shared = 0;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(gpu.shared_calls, calls);
    contract_free(contract);
}

/* The function of a library's kernel is what can be given shared memory. */
static void test_shared_of_library(void **state)
{
    (void)state;
    unsigned grid[3] = {5, 4, 1}, block[3] = {64, 1, 1}, shared = 128;
    reset();
    gpu.library = gpu.module;
    variable(0, "__ptxopt_beside_mm", grid_form, 4 * PTXOPT_CONTRACT_WORDS);
    gpu.kernels[0] = "mm__ptxopt_coarsened";
    Contract *contract = contract_read(&driver, NULL, gpu.library, "mm");
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    assert_ptr_equal(gpu.set_function, &function_of_other);
    contract_free(contract);
}

static void test_pays(void **state)
{
    (void)state;
    static const uint32_t pays[PTXOPT_PAYS_WORDS] = {PTXOPT_PAYS_MAGIC, 1, 1024, 0};
    unsigned grid[3] = {32, 1, 1}, block[3] = {64, 1, 1}, shared = 0;
    reset();
    variable(0, "__ptxopt_launch_mm", plain, 4 * PTXOPT_CONTRACT_WORDS);
    variable(1, "__ptxopt_pays_mm", pays, sizeof pays);
    gpu.kernels[0] = "mm__ptxopt_original";
    gpu.multiprocessors[0] = 2;
    gpu.multiprocessors[1] = 3;
    Contract *contract = contract_read(&driver, gpu.module, NULL, "mm");
    assert_null(launch_decide(contract, grid, block, &shared, NULL)); /* 2,048 threads for two SMs */
    block[0] = 62;
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    block[0] = 64;
    gpu.device = 1; /* three SMs: too few threads */
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    gpu.device = 0;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    assert_int_equal(gpu.attribute_calls, 2); /* once for each device */
    contract_free(contract);
    /* Words of another size are not for this reader. */
    gpu.sizes[1] = 12;
    contract = contract_read(&driver, gpu.module, NULL, "mm");
    block[0] = 62;
    assert_null(launch_decide(contract, grid, block, &shared, NULL));
    contract_free(contract);
}

/* Launches whose parameters are known decide by the one that sets the lengths of loops. */
static void test_pays_by_trips(void **state)
{
    (void)state;
    static const uint32_t never[PTXOPT_PAYS_WORDS] = {PTXOPT_PAYS_MAGIC, 1, UINT32_MAX, 0};
    static const uint32_t trips[PTXOPT_TRIPS_WORDS] = {PTXOPT_TRIPS_MAGIC, 1, 1, 2, 0, 16, UINT32_MAX, 32, 64};
    unsigned grid[3] = {32, 1, 1}, block[3] = {64, 1, 1}, shared = 0;
    int length = 8;
    void *const parameters[] = {&shared, &length};
    reset();
    variable(0, "__ptxopt_launch_mm", plain, 4 * PTXOPT_CONTRACT_WORDS);
    variable(1, "__ptxopt_pays_mm", never, sizeof never);
    variable(2, "__ptxopt_trips_mm", trips, sizeof trips);
    gpu.kernels[0] = "mm__ptxopt_original";
    gpu.multiprocessors[0] = 2;
    Contract *contract = contract_read(&driver, gpu.module, NULL, "mm");
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, parameters)), &other_kernel);
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &other_kernel);
    length = 32;
    assert_null(launch_decide(contract, grid, block, &shared, parameters));
    assert_int_equal(contract->adapted, 1);
    assert_int_equal(contract->originals, 2);
    Contract *other = contract_read(&driver, gpu.module, NULL, "mm");
    other->trips[3] = 1;
    assert_false(contract_same(contract, other));
    contract_free(other);
    contract_free(contract);
}

static void test_before(void **state)
{
    (void)state;
    unsigned grid[3] = {5, 2, 1}, block[3] = {10, 2, 1}, shared = 1000;
    Contract *contract = coarsened(known_block, false);
    launch_before(contract, NULL, grid, block, &shared);
    assert_int_equal(block[0], 19);
    assert_int_equal(block[1], 6);
    assert_int_equal(grid[1], 2);
    assert_int_equal(shared, 1000);
    contract_free(contract);

    contract = beside(grid_form);
    shared = 1000; /* of the coarsened form: at most 333 for each */
    launch_before(contract, &other_kernel, grid, block, &shared);
    assert_int_equal(grid[1], 4);
    assert_int_equal(shared, 256);
    launch_before(contract, NULL, grid, block, &shared); /* the program's own is the original */
    assert_int_equal(grid[1], 4);
    assert_int_equal(shared_after(contract, 130), 130);
    contract_free(contract);

    contract = coarsened(grid_form, false);
    assert_int_equal(shared_after(contract, 130), 768);
    assert_int_equal(shared_after(contract, 256), 768);
    assert_int_equal(shared_before(contract, NULL, 768), 256);
    contract_free(contract);
}

static void test_threads(void **state)
{
    (void)state;
    Contract *contract = coarsened(plain, false);
    assert_int_equal(threads_after(contract, 64), 32);
    assert_int_equal(threads_after(contract, 63), 63);
    assert_int_equal(threads_before(contract, 32), 64);
    assert_int_equal(threads_before(contract, 1024), 1024);
    assert_int_equal(threads_before(contract, 512), 1024);
    assert_int_equal(threads_before(contract, 513), 1024);
    contract_free(contract);
    contract = coarsened(known_block, false);
    assert_int_equal(threads_after(contract, 114), 20);
    assert_int_equal(threads_before(contract, 20), 114);
    contract_free(contract);
}

static void check_query(Contract *contract, int threads, void *form, int expected)
{
    size_t shared = 100;
    assert_ptr_equal(query_threads(contract, &threads, &shared), form);
    assert_int_equal(threads, expected);
    assert_int_equal(shared, 100);
}

static void test_queries(void **state)
{
    (void)state;
    unsigned grid[3] = {5, 4, 1}, block[3] = {64, 1, 1}, shared = 130;
    int threads = 64;
    size_t bytes = 130;
    Contract *contract = coarsened(warps, true);
    check_query(contract, 64, NULL, 32);
    check_query(contract, 96, &other_kernel, 96); /* 48 are no whole warps */
    contract_free(contract);
    contract = coarsened(units, true);
    check_query(contract, 80, NULL, 40);
    check_query(contract, 72, &other_kernel, 72);
    contract_free(contract);
    contract = coarsened(known_block, true);
    check_query(contract, 114, NULL, 20);
    check_query(contract, 228, &other_kernel, 228);
    contract_free(contract);
    contract = coarsened(grid_form, true);
    assert_null(query_threads(contract, &threads, &bytes));
    assert_int_equal(threads, 64);
    assert_int_equal(bytes, 768);
    assert_null(query_launch(contract, grid, block, &shared));
    assert_int_equal(grid[1], 2);
    assert_int_equal(shared, 768);
    assert_int_equal(contract->adapted, 0); /* a query is no launch */
    grid[1] = 3;
    assert_ptr_equal(query_launch(contract, grid, block, &shared), &other_kernel);
    assert_int_equal(grid[1], 3);
    contract_free(contract);
    assert_null(query_threads(NULL, &threads, NULL));
    assert_int_equal(threads, 64);
}

/* Eight times as many blocks, of a multiple of eight threads. */
static void test_more_blocks(void **state)
{
    (void)state;
    static const uint32_t spread[PTXOPT_CONTRACT_WORDS] = {
        PTXOPT_CONTRACT_MAGIC, 3, 1, 1 | 1 << 16, 1 | 1 << 16, 1 | 1 << 16, 0, 0, 0, 8, 0, 0, 0, 1 | 8 << 16,
        1 | 1 << 16, 1 | 1 << 16};
    unsigned grid[3] = {5, 6, 1}, block[3] = {64, 3, 1}, shared = 100;
    Contract *contract = coarsened(spread, true);
    check_query(contract, 64, NULL, 64);
    check_query(contract, 60, &other_kernel, 60);
    assert_null(query_launch(contract, grid, block, &shared));
    assert_int_equal(grid[0], 40);
    assert_int_equal(grid[1], 6);
    assert_int_equal(block[0], 64);
    launch_before(contract, NULL, grid, block, &shared);
    assert_int_equal(grid[0], 5);
    grid[0] = 0x10000000;
    assert_ptr_equal(query_launch(contract, grid, block, &shared), &other_kernel);
    assert_int_equal(grid[0], 0x10000000);
    contract_free(contract);
}

/* Blocks that grow: four along x become one, and along y two, whose threads are merged again. */
static void test_grown(void **state)
{
    (void)state;
    static const uint32_t grown[PTXOPT_CONTRACT_WORDS] = {
        PTXOPT_CONTRACT_MAGIC, 3, 1, 1 | 4 << 16, 2 | 2 << 16, 1 | 1 << 16, 0, 0, 0, 1, 0, 0, 0, 4 | 1 << 16,
        2 | 1 << 16, 1 | 1 << 16};
    unsigned grid[3] = {8, 6, 1}, block[3] = {32, 3, 1}, shared = 100;
    Contract *contract = coarsened(grown, true);
    assert_int_equal(threads_after(contract, 32), 128);
    assert_int_equal(threads_before(contract, 128), 32);
    assert_int_equal(threads_before(contract, 1024), 256);
    check_query(contract, 64, NULL, 256);
    check_query(contract, 512, &other_kernel, 512); /* 2048 are more than a block can have */
    assert_null(query_launch(contract, grid, block, &shared));
    assert_int_equal(grid[0], 2);
    assert_int_equal(grid[1], 3);
    assert_int_equal(block[0], 128);
    assert_int_equal(block[1], 3);
    assert_int_equal(shared, 100);
    launch_before(contract, NULL, grid, block, &shared);
    assert_int_equal(grid[0], 8);
    assert_int_equal(grid[1], 6);
    assert_int_equal(block[0], 32);
    assert_int_equal(block[1], 3);
    grid[0] = 9;
    assert_ptr_equal(query_launch(contract, grid, block, &shared), &other_kernel);
    assert_int_equal(block[0], 32);
    contract_free(contract);
}

static void test_same(void **state)
{
    (void)state;
    Contract *one = coarsened(plain, true), *other = coarsened(plain, true);
    assert_true(contract_same(one, other));
    other->words[3] = 4;
    assert_false(contract_same(one, other));
    other->words[3] = 2;
    other->pays[2] = 7;
    assert_false(contract_same(one, other));
    other->pays[2] = 0;
    other->other = NULL;
    assert_false(contract_same(one, other));
    other->other = one->other;
    other->is_beside = true;
    assert_false(contract_same(one, other));
    other->is_beside = false;
    other->kernel[1] = 'n';
    assert_false(contract_same(one, other));
    contract_free(other);
    contract_free(one);
}

static void test_nodes(void **state)
{
    (void)state;
    KernelNode node = {0};
    Contract *contract = coarsened(plain, true);
    node_set_other(&driver, contract, &node, true);
    assert_ptr_equal(node.function, &other_kernel);
    assert_null(node.kernel);
    contract->is_of_library = true;
    node_set_other(&driver, contract, &node, true);
    assert_null(node.function);
    assert_ptr_equal(node.kernel, &other_kernel);
    node_set_other(&driver, contract, &node, false);
    assert_ptr_equal(node.function, &function_of_other);
    assert_null(node.kernel);
    contract->is_of_library = false;
    node_set_other(&driver, contract, &node, false);
    assert_ptr_equal(node.function, &other_kernel);
    contract_free(contract);
}

static void test_attributes(void **state)
{
    (void)state;
    Contract *contract = coarsened(plain, true);
    assert_int_equal(other_set(&driver, contract, 5, 77, -1), OK);
    assert_ptr_equal(gpu.set_function, &other_kernel);
    assert_int_equal(gpu.set_attribute, 5);
    contract->is_of_library = true;
    gpu.device = 2;
    assert_int_equal(other_set(&driver, contract, 6, 78, -1), OK);
    assert_ptr_equal(gpu.set_kernel, &other_kernel);
    assert_int_equal(gpu.set_device, 2);
    assert_int_equal(gpu.set_value, 78);
    assert_int_equal(other_set(&driver, contract, 6, 78, 1), OK);
    assert_int_equal(gpu.set_device, 1);
    contract->other = NULL;
    assert_int_equal(other_set(&driver, contract, 9, 1, 0), OK);
    assert_int_equal(gpu.set_attribute, 6);
    contract_free(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_unreadable_beside),
        cmocka_unit_test(test_decide),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_of_library),
        cmocka_unit_test(test_pays),
        cmocka_unit_test(test_pays_by_trips),
        cmocka_unit_test(test_before),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_more_blocks),
        cmocka_unit_test(test_grown),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
