/* Choosing a form by measured time (runtime/tune.c and its neighbours), on a driver that the tests script. */
#include "runtime/runtime.h"
#include "store/store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/cache_home.h"
#include "tests/unit/noise.h"

enum { OK = 0, FAILED = 1, NOT_READY = 600, FORMS = 3, KEYS = 100, MOST_LAUNCHES = 400 };

/* Launches, on a driver whose kernels take the times that the test sets. */

static struct {
    double times[FORMS + 1], noise; /* milliseconds of a launch of each form */
    double clock;
    double ready; /* events later than this have not happened yet */
    int mode, captured, records, creations, last, device, version, multiprocessors;
    unsigned long long context; /* its number; events of another one must not be touched */
    bool fails_to_record, is_forgetful;
} gpu;

typedef struct Event {
    struct Event *next; /* of all that were made */
    double time;
    unsigned long long context;
    bool is_broken; /* it could not be recorded once, and never can be again */
} Event;

static char kernels[FORMS];
static const char words[] = "x2\0x4\0vectors";
enum { HEADER = 32, FORM_BYTES = 4 * PTXOPT_FORM_WORDS };
static uint8_t table[HEADER + sizeof words + FORMS * FORM_BYTES];
static size_t table_size; /* without the words of the third format, unless a test adds them */
static uint32_t contracts[FORMS][PTXOPT_CONTRACT_WORDS];

static int find_variable(uint64_t *address, size_t *size, void *module, const char *name)
{
    (void)module;
    unsigned number;
    if (strcmp(name, "__ptxopt_tune_k") == 0) {
        *address = (uint64_t)(uintptr_t)table;
        *size = table_size;
        return OK;
    }
    if (sscanf(name, "__ptxopt_launch_k__ptxopt_form%u", &number) == 1 && contracts[number - 1][0]) {
        *address = (uint64_t)(uintptr_t)contracts[number - 1];
        *size = sizeof contracts[number - 1];
        return OK;
    }
    return FAILED;
}

static int find_kernel(void **found, void *module, const char *name)
{
    (void)module;
    unsigned number;
    if (gpu.is_forgetful || sscanf(name, "k__ptxopt_form%u", &number) != 1)
        return FAILED;
    *found = &kernels[number - 1];
    return OK;
}

static int copy_out(void *to, uint64_t from, size_t size)
{
    memcpy(to, (const void *)(uintptr_t)from, size);
    return OK;
}

static int exchange_mode(int *mode)
{
    const int before = gpu.mode;
    gpu.mode = *mode;
    *mode = before;
    return OK;
}

static int is_capturing(void *stream, int *status)
{
    *status = gpu.captured;
    return stream == &gpu.captured ? FAILED : OK;
}

static Event *events;

static int event_create(void **event, unsigned flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(gpu.mode, CAPTURE_RELAXED);
    gpu.creations++;
    Event *made = calloc(1, sizeof *made);
    made->context = gpu.context;
    made->next = events; /* the adapter keeps those that work, and forgets others */
    *event = events = made;
    return OK;
}

static int event_record(void *event, void *stream)
{
    (void)stream;
    assert_int_equal(gpu.mode, CAPTURE_RELAXED);
    assert_false(gpu.captured);
    gpu.records++;
    assert_int_equal(((Event *)event)->context, gpu.context);
    ((Event *)event)->time = gpu.clock;
    ((Event *)event)->is_broken |= gpu.fails_to_record;
    return ((Event *)event)->is_broken ? FAILED : OK;
}

static int event_query(void *event)
{
    assert_int_equal(((Event *)event)->context, gpu.context);
    return ((Event *)event)->time > gpu.ready ? NOT_READY : OK;
}

static int event_elapsed(float *milliseconds, void *start, void *end)
{
    *milliseconds = (float)(((Event *)end)->time - ((Event *)start)->time);
    return OK;
}

static int current_device(int *device)
{
    *device = gpu.device;
    return OK;
}

static int device_attribute(int *value, int attribute, int device)
{
    *value = gpu.multiprocessors;
    return attribute == 16 && device == 0 ? OK : FAILED;
}

static int current_context(void **context)
{
    *context = &gpu;
    return OK;
}

static int context_id(void *context, unsigned long long *id)
{
    (void)context;
    *id = gpu.context;
    return OK;
}

static int driver_version(int *version)
{
    *version = gpu.version;
    return OK;
}

static int device_name(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Test GPU %d", device);
    return OK;
}

static const Driver driver = {
    .module_global = find_variable,
    .module_function = find_kernel,
    .library_get_global = find_variable,
    .library_get_kernel = find_kernel,
    .copy_out = copy_out,
    .exchange_capture_mode = exchange_mode,
    .stream_is_capturing = is_capturing,
    .event_create = event_create,
    .event_record = event_record,
    .event_query = event_query,
    .event_elapsed = event_elapsed,
    .current_device = current_device,
    .device_attribute = device_attribute,
    .current_context = current_context,
    .context_id = context_id,
    .driver_version = driver_version,
    .device_name = device_name,
};

/* A module whose kernel has three forms, which halve, quarter and keep the block, of this content. */
static void reset(uint32_t content)
{
    const uint32_t header[8] = {0x4e545850, 1, FORMS, 1, content, 0};
    memset(&gpu, 0, sizeof gpu);
    gpu.ready = 1e30;
    gpu.version = 12040;
    memset(table, 0, sizeof table);
    memcpy(table, header, sizeof header);
    memcpy(table + sizeof header, words, sizeof words);
    table_size = HEADER + sizeof words;
    memset(contracts, 0, sizeof contracts);
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t halves[PTXOPT_CONTRACT_WORDS] = {PTXOPT_CONTRACT_MAGIC, 1, 0, 2u << i, 1, 1, 0, 0, 0, 1};
        memcpy(contracts[i], halves, sizeof halves);
    }
}

/* Contracts stay until the program ends, as in programs; so a check for leaks has to find them. */
static Contract *read_contract(void)
{
    enum { MOST = 1024 };
    static Contract *volatile made[MOST];
    static unsigned count;
    assert_true(count < MOST);
    return made[count++] = contract_read(&driver, &gpu, NULL, "k");
}

static Contract *tuned(uint32_t content)
{
    reset(content);
    return read_contract();
}

/* Launches once, as an adapter does; returns the form. */
static int launch(Contract *contract, unsigned threads, void *stream)
{
    unsigned grid[3] = {8, 1, 1}, block[3] = {threads, 1, 1}, shared = 0;
    Timing timing;
    const Contract *form = launch_begin(contract, grid, block, &shared, NULL, stream, LAUNCH_PLAIN, &timing);
    const int number = form ? (int)((char *)form->other - kernels) + 1 : 0;
    assert_int_equal(block[0], number == 1 ? threads / 2 : number == 2 ? threads / 4 : threads);
    assert_int_equal(gpu.mode, 0);
    gpu.clock += gpu.times[number] * (1 + gpu.noise * random_normal());
    launch_end(contract, &timing, OK);
    assert_int_equal(gpu.mode, 0);
    return number;
}

static void set_times(double original, double first, double second, double third)
{
    const double times[FORMS + 1] = {original, first, second, third};
    memcpy(gpu.times, times, sizeof times);
}

static int launch_often(Contract *contract, unsigned threads, unsigned times)
{
    int number = 0;
    for (unsigned i = 0; i < times; i++)
        number = launch(contract, threads, NULL);
    return number;
}

static void test_turns(void **state)
{
    (void)state;
    Contract *contract = tuned(1);
    unsigned often[FORMS + 1] = {0};
    set_times(1, 0.9, 0.7, 1.2);
    for (unsigned i = 0; i < 16; i++)
        often[launch(contract, 128, NULL)]++;
    for (unsigned i = 0; i <= FORMS; i++)
        assert_int_equal(often[i], 4);
    assert_int_equal(launch_often(contract, 128, 50), 2);
    const int records = gpu.records, creations = gpu.creations;
    assert_int_equal(launch_often(contract, 128, 60), 2);
    assert_true(gpu.records <= records + 4); /* one launch of 64 is timed */
    assert_int_equal(gpu.creations, creations);
    /* Another shape is another matter, and one that some forms do not allow knows only the others. */
    set_times(1, 0.5, 0.7, 1.2);
    assert_int_equal(launch_often(contract, 64, 60), 1);
    assert_int_equal(launch_often(contract, 127, 60), 0);
    assert_int_equal(contract->adapted + contract->originals, 16 + 50 + 60 + 60 + 60);
}

/* Each block size is a launch of its own, however many there are. */
static void test_shapes(void **state)
{
    (void)state;
    Contract *contract = tuned(8);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 3000; i++) {
            set_times(1, i % 2 ? 0.5 : 0.8, i % 2 ? 0.8 : 0.5, 1.2);
            assert_int_equal(launch_often(contract, 4 + 4 * i, round ? 1 : 34), i % 2 ? 1 : 2);
        }
    assert_true(gpu.creations <= 2 * 1024);
}

/* A kernel of a library runs on several devices. */
static void test_devices(void **state)
{
    (void)state;
    reset(9);
    Contract *contract = contract_read(&driver, NULL, &gpu, "k");
    for (unsigned round = 0; round < 2; round++)
        for (gpu.device = 0; gpu.device < 2; gpu.device++) {
            set_times(1, gpu.device ? 0.5 : 0.8, gpu.device ? 0.8 : 0.5, 1.2);
            assert_int_equal(launch_often(contract, 128, round ? 1 : 34), gpu.device ? 1 : 2);
        }
}

/* The context is reset while launches are timed: its events are not touched any more. */
static void test_reset(void **state)
{
    (void)state;
    Contract *contract = tuned(10);
    set_times(1, 0.9, 0.7, 1.2);
    for (unsigned i = 0; i < 12; i++, gpu.context++) {
        gpu.ready = i % 2 ? 1e30 : -1;
        launch_often(contract, 128, 3);
    }
    assert_int_equal(launch_often(contract, 128, 60), 2);
}

/* Times that are not known yet are not waited for: the predicted form, and then the best so far, is launched. */
static void test_not_ready(void **state)
{
    (void)state;
    Contract *contract = tuned(2);
    set_times(1, 0.9, 0.7, 1.2);
    gpu.ready = -1;
    launch_often(contract, 128, 20);
    const int records = gpu.records;
    assert_int_equal(launch_often(contract, 128, 100), 1);
    assert_int_equal(gpu.records, records);
    gpu.ready = 1e30;
    assert_int_equal(launch_often(contract, 128, 50), 2);
}

static void test_captured(void **state)
{
    (void)state;
    Contract *contract = tuned(3);
    set_times(1, 0.9, 0.7, 1.2);
    gpu.captured = 1;
    assert_int_equal(launch_often(contract, 128, 50), 1);
    assert_int_equal(gpu.records, 0);
    gpu.captured = 0;
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(launch(contract, 128, &gpu.captured), 1); /* it cannot be asked whether it is captured */
    launch_often(contract, 128, 60);
    gpu.captured = 1;
    const int records = gpu.records;
    assert_int_equal(launch_often(contract, 128, 200), 2);
    assert_int_equal(gpu.records, records);
    unsigned grid[3] = {8, 1, 1}, block[3] = {128, 1, 1}, shared = 0; /* a node of a graph */
    assert_ptr_equal(launched_form(launch_decide(contract, grid, block, &shared, NULL)), &kernels[1]);
    assert_int_equal(block[0], 32);
}

static void test_errors(void **state)
{
    (void)state;
    Contract *contract = tuned(4);
    set_times(1, 0.9, 0.7, 1.2);
    gpu.fails_to_record = true;
    assert_int_equal(launch_often(contract, 128, 300), 1); /* the predicted one */
    const int records = gpu.records;
    assert_true(records <= 64);
    launch_often(contract, 128, 300);
    assert_int_equal(gpu.records, records);
    gpu.fails_to_record = false; /* events of a context that is gone do not spoil those of another one */
    assert_int_equal(launch_often(contract, 256, 60), 2);
    contract = tuned(5);
    gpu.is_forgetful = true;
    Contract *without = read_contract();
    assert_null(without->tuning); /* a form is not there */
    assert_false(without->is_coarsened);
    gpu.is_forgetful = false;
    table[4] = 4; /* another format */
    assert_null(read_contract()->tuning);
    table[4] = 3; /* without the words of its forms */
    assert_null(read_contract()->tuning);
    table[4] = 2;
    table[24] = 1; /* a launch that is not there */
    assert_null(read_contract()->tuning);
    table[24] = 0;
    table[4] = 1;
    table[8] = 16; /* too many */
    assert_null(read_contract()->tuning);
    table[8] = 15; /* more than it names */
    assert_null(read_contract()->tuning);
    assert_non_null(contract);
}

/* Makes the table one of the third format. The first form pays from 1,024 threads for each SM on, where the second
 * parameter is small; the second one for blocks of 64 to 128 threads, up to 2,048 threads for each SM; the third one
 * always. */
static void prefer(void)
{
    const uint32_t when[FORMS][PTXOPT_FORM_WORDS] = {
        {PTXOPT_PAYS_MAGIC, 1, 1024, 0, PTXOPT_TRIPS_MAGIC, 1, 1, 2, 0, 8, 1024, 9, UINT32_MAX},
        {PTXOPT_PAYS_MAGIC, 1, 0, 0, [20] = 64, 128, 2048},
        {PTXOPT_PAYS_MAGIC, 1},
    };
    reset(6);
    gpu.multiprocessors = 2;
    table[4] = 3;
    memcpy(table + HEADER + sizeof words, when, sizeof when);
    table_size = sizeof table;
}

/* The form that is launched with such blocks and such a second parameter. */
static int preferred(Contract *contract, unsigned blocks, unsigned threads, int32_t value)
{
    unsigned grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1}, shared = 0;
    void *parameters[] = {NULL, &value};
    Timing timing;
    const Contract *form = launch_begin(contract, grid, block, &shared, parameters, NULL, LAUNCH_PLAIN, &timing);
    const int number = form ? (int)((char *)form->other - kernels) + 1 : 0;
    assert_null(timing.shape);
    assert_int_equal(block[0], number == 1 ? threads / 2 : number == 2 ? threads / 4 : threads);
    return number;
}

/* Launches take the first form that pays and that its contract allows; nothing is timed. */
static void test_preferred(void **state)
{
    (void)state;
    prefer();
    setenv("PTXOPT_TUNE", "off", 1);
    Contract *contract = read_contract();
    unsetenv("PTXOPT_TUNE");
    assert_true(tuning_is_preferred(contract));
    assert_false(contract->is_coarsened); /* queries are about the original */
    assert_int_equal(preferred(contract, 16, 128, 8), 1);
    assert_int_equal(preferred(contract, 15, 128, 8), 2);
    assert_int_equal(preferred(contract, 16, 128, 9), 2);
    assert_int_equal(preferred(contract, 16, 126, 9), 3); /* not a multiple of four */
    assert_int_equal(preferred(contract, 16, 63, 9), 3);
    assert_int_equal(preferred(contract, 16, 132, 9), 3);
    assert_int_equal(preferred(contract, 32, 128, 9), 2);
    assert_int_equal(preferred(contract, 33, 128, 9), 3);
    assert_int_equal(contract->adapted, 8);
    assert_int_equal(tuning_form(contract->tuning, 2)->adapted, 3);
    assert_int_equal(gpu.records, 0);
    unsigned grid[3] = {16, 1, 1}, block[3] = {128, 1, 1}, shared = 0;
    assert_null(launch_decide_resident(contract, grid, block, &shared, NULL)); /* occupancy is not known */
    assert_int_equal(contract->originals, 1);
    assert_ptr_equal(contract_with(contract, &kernels[1]), tuning_form(contract->tuning, 2));
    assert_null(query_launch(contract, grid, block, &shared));
}

/* The form of a launch that only the third one allows, where this word of it has another value. */
static int preferred_with(unsigned word, uint8_t value)
{
    prefer();
    table[HEADER + sizeof words + 2 * FORM_BYTES + 4 * (size_t)word] = value;
    return preferred(read_contract(), 16, 132, 9);
}

/* Tables that are not whole, or of words that are not known, never make a launch read beyond them. */
static void test_preferred_errors(void **state)
{
    (void)state;
    uint32_t form[PTXOPT_FORM_WORDS];
    prefer();
    for (size_t size = 0; size < sizeof table; size++)
        assert_int_equal(ptxopt_forms_count(table, size), 0);
    assert_int_equal(ptxopt_forms_count(table, sizeof table), FORMS);
    assert_false(ptxopt_form_words(table, sizeof table, 0, form));
    assert_false(ptxopt_form_words(table, sizeof table, FORMS + 1, form));
    assert_true(ptxopt_form_words(table, sizeof table, 2, form));
    assert_int_equal(form[21], 128);
    for (table_size = HEADER; table_size < sizeof table; table_size += 7)
        assert_null(read_contract()->tuning);
    for (unsigned count = 0; count <= 16; count++) {
        prefer();
        table[8] = (uint8_t)count;
        assert_int_equal(read_contract()->tuning != NULL, count == FORMS);
    }
    /* A form with words of another format is not taken. */
    assert_int_equal(preferred_with(3, 0), 3);
    assert_int_equal(preferred_with(0, 0), 0);
    assert_int_equal(preferred_with(1, 2), 0);
    assert_int_equal(preferred_with(22, 1), 0); /* one thread for each SM is less than the launch has */
    assert_int_equal(preferred_with(23, 1), 0);
    assert_int_equal(preferred_with(4, 1), 0);
    prefer();
    table[HEADER + sizeof words + 4 * 7] = 6; /* points */
    assert_int_equal(preferred(read_contract(), 16, 128, 8), 2);
    gpu.is_forgetful = true; /* the forms are not there */
    assert_null(read_contract()->tuning);
}

/* The times drift: the forms are compared again, but not for ever. */
static void test_drift(void **state)
{
    (void)state;
    Contract *contract = tuned(6);
    random_state = 3;
    gpu.noise = 0.02;
    set_times(1, 0.9, 0.7, 1.2);
    assert_int_equal(launch_often(contract, 128, 60), 2);
    assert_int_equal(launch_often(contract, 128, 5000), 2); /* noise is no drift */
    set_times(1, 0.9, 1.5, 0.6);
    assert_int_equal(launch_often(contract, 128, 2000), 3);
    for (unsigned i = 0; i < 40; i++) {
        set_times(1, i % 2 ? 0.5 : 2, 1, i % 2 ? 2 : 0.5);
        launch_often(contract, 128, 20000);
    }
    const int records = gpu.records;
    launch_often(contract, 128, 20000);
    assert_true(gpu.records - records < 2 * 64);
}

/* 95 of 100 keys at 5% noise, through launches. */
static void test_hundred_keys(void **state)
{
    (void)state;
    unsigned right = 0, launches = 0;
    random_state = 1;
    for (unsigned key = 0; key < KEYS; key++) {
        Contract *contract = tuned(1000 + key);
        unsigned best = 0;
        gpu.noise = 0.05;
        gpu.times[0] = 0.02 * exp(5 * random_unit());
        for (unsigned i = 1; i <= FORMS; i++) {
            gpu.times[i] = gpu.times[0] * 0.6 * pow(2.5, random_unit());
            best = gpu.times[i] < gpu.times[best] ? i : best;
        }
        right += (unsigned)launch_often(contract, 128, 8 * (FORMS + 1) + 1) == best;
        launches += (unsigned)gpu.records / 2;
    }
    print_message("%u of %u keys right after %.1f timed launches a form\n", right, KEYS,
                  (double)launches / (KEYS * (FORMS + 1)));
    assert_true(right >= 95);
}

/* Without its journal, SQLite would roll that back into the next file. */
static void store_remove(void)
{
    char path[STORE_PATH], journal[STORE_PATH + 16];
    assert_true(store_file("Test GPU 0", path));
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path);
    unlink(journal);
}

/* A run uses what another has learned: in a child process each, because the store is read once. */
static int run_child(int (*run)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        exit(run());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int learn(void)
{
    Contract *contract = tuned(77);
    set_times(1, 0.9, 0.7, 1.2);
    return launch_often(contract, 128, 60);
}

static int first_form(void)
{
    return launch(tuned(77), 128, NULL);
}

static int first_form_of_other_driver(void)
{
    Contract *contract = tuned(77);
    gpu.version = 12050;
    return launch(contract, 128, NULL);
}

static int first_form_without(void)
{
    Contract *contract = tuned(77);
    set_times(1, 0.9, 0.7, 1.2);
    const int number = launch_often(contract, 128, 60);
    return gpu.records ? 99 : number;
}

static void test_next_run(void **state)
{
    (void)state;
    store_remove();
    setenv("PTXOPT_TUNE", "use", 1);
    assert_int_equal(run_child(first_form), 1); /* the predicted one */
    unsetenv("PTXOPT_TUNE");
    assert_int_equal(run_child(first_form), 0); /* the first whose turn it is */
    assert_int_equal(run_child(learn), 2);
    assert_int_equal(run_child(first_form), 2);
    assert_int_equal(run_child(first_form_of_other_driver), 0);
    setenv("PTXOPT_TUNE", "use", 1);
    assert_int_equal(run_child(first_form), 2);
    assert_int_equal(run_child(first_form_without), 2);
    setenv("PTXOPT_TUNE", "off", 1);
    assert_int_equal(run_child(first_form_without), 1);
    unsetenv("PTXOPT_TUNE");
}

/* The test with other processes comes first, because this one writes the store once many kernels were launched. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_run), cmocka_unit_test(test_turns),    cmocka_unit_test(test_not_ready),
        cmocka_unit_test(test_captured), cmocka_unit_test(test_errors),   cmocka_unit_test(test_drift),
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_devices),  cmocka_unit_test(test_reset),
        cmocka_unit_test(test_preferred),
        cmocka_unit_test(test_preferred_errors),
        cmocka_unit_test(test_hundred_keys),
    };
    return cmocka_run_group_tests(tests, make_cache_home, NULL);
}
