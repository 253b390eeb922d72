/* gpu-run: one launch of a kernel and of its changed forms on a GPU, checked and timed.
 *
 *     gpu-run [options] LAUNCH.json INPUT.ptx [OUTPUT.ptx...]
 *     gpu-run --device-info
 *
 * Loads each PTX through the CUDA driver, which compiles it for this machine's GPU; launches INPUT as the launch file
 * says and each OUTPUT by the launch contract in its module; compares INPUT's results with the plain C reference, and
 * each OUTPUT's with INPUT's; then times all of them in turn.  Prints JSON (docs/corpus-run.md).
 *
 * Needs only a driver; tools/corpus-run --gpu calls it for the whole corpus.
 *
 * Exit status: 0 done; 1 a file is wrong, or a launch failed; 2 the usage is wrong; 3 there is no GPU; 5 the results
 * are wrong. */
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "corpus/reference.h"
#include "tools/gpu-launch.h"

enum { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_NO_GPU = 3, STATUS_DIFFERENT = 5 };

typedef void Reference(const RefLaunch *launch, void **args);

/* One PTX file, loaded. */
typedef struct Form {
    GpuForm on_gpu;
    const char *path;
    const char *problem;    /* it could not be loaded or launched */
    const char *difference; /* from the reference for the input, from the input for an output */
    EmulatorResult *result;
    void *events[4];     /* cold from, to; warm from, to */
    double *cold, *warm; /* microseconds */
} Form;

typedef struct Request {
    const char *launch, *references;
    const char *lock; /* a file; NULL: none */
    int device;
    unsigned repeat, launches;
    double seconds; /* for the rounds of one launch */
    bool device_info;
} Request;

typedef struct Gpu {
    Request request;
    GpuDriver driver;
    GpuLaunch on_gpu;
    Form *forms;
    unsigned form_count, rounds;
    DevicePointer *kept; /* by argument: contents to restore before a launch; 0: none needed */
    GpuFlush flush;
    const char *reference; /* the reference's results; NULL: there is no reference */
} Gpu;

/* Buffers that a kernel both reads and changes are restored before the next launch.  Arrays are left out: in one launch
 * only the thread that wrote to a surface can read the value back. */
static const char *keep_changed(Gpu *gpu)
{
    unsigned place = 0;
    for (unsigned i = 0; i < gpu->on_gpu.launch->argument_count; i++) {
        const LaunchArgument *argument = &gpu->on_gpu.launch->arguments[i];
        if (!gpu_owns_memory(argument))
            continue;
        const EmulatorBuffer *after = &gpu->forms[0].result->buffers[place++];
        if (!gpu->on_gpu.buffers[i] || argument->fill == FILL_POISON ||
            memcmp(after->bytes, gpu->on_gpu.contents[i], after->size) == 0)
            continue;
        int error = gpu->driver.memory_alloc(&gpu->kept[i], after->size);
        error = error ? error : gpu->driver.copy_in(gpu->kept[i], gpu->on_gpu.contents[i], after->size);
        if (error)
            return gpu_failure(&gpu->on_gpu, error, "making a copy");
    }
    return NULL;
}

static int restore(const Gpu *gpu)
{
    int error = CUDA_DONE;
    for (unsigned i = 0; i < gpu->on_gpu.launch->argument_count && error == CUDA_DONE; i++)
        if (gpu->kept[i])
            error = gpu->driver.copy_within(gpu->on_gpu.buffers[i], gpu->kept[i],
                                            gpu_argument_bytes(&gpu->on_gpu.launch->arguments[i]), NULL);
    return error;
}

/* Runs the plain C reference.  *said describes what was compared; the result is the difference. */
static const char *reference_difference(Gpu *gpu, const EmulatorResult *result, const char **said)
{
    *said = NULL;
    if (!gpu->request.references)
        return NULL;
    void *library = dlopen(gpu->request.references, RTLD_NOW | RTLD_LOCAL);
    Reference *reference = NULL;
    if (library)
        *(void **)&reference =
            dlsym(library, arena_printf(gpu->on_gpu.arena, "%s_reference", gpu->on_gpu.launch->kernel));
    if (!reference)
        return NULL;
    *said = "plain C";
    const Launch *launch = gpu->on_gpu.launch;
    EmulatorResult *expected = gpu_launch_filled(&gpu->on_gpu);
    void **args = ARENA_ARRAY(gpu->on_gpu.arena, void *, launch->argument_count + 1);
    RefLaunch shape;
    memcpy(shape.grid, launch->grid, sizeof shape.grid);
    memcpy(shape.block, launch->block, sizeof shape.block);
    unsigned place = 0;
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        const char *of = argument->kind == ARGUMENT_POINTER ? argument->name
                         : argument->image                  ? argument->image->of
                                                            : NULL;
        args[i] = gpu_owns_memory(argument)               ? expected->buffers[place++].bytes
                  : argument->kind == ARGUMENT_SYMBOL ? gpu->on_gpu.contents[i]
                                                      : (void *)(uintptr_t)argument->bytes;
        for (unsigned k = 0; of && k < i; k++)
            if (gpu_owns_memory(&launch->arguments[k]) && strcmp(launch->arguments[k].name, of) == 0)
                args[i] = (char *)args[k] + argument->offset;
    }
    reference(&shape, args);
    return emulator_difference(gpu->on_gpu.arena, launch, expected, result, launch->reference_tolerance);
}

/* Runs each form once, then 'launches' times, as programs do that tune (docs/tuning.md). */
static void run_forms(Gpu *gpu)
{
    enum { QUEUED_MOST = 16 };
    for (unsigned i = 0; i < gpu->form_count; i++) {
        Form *form = &gpu->forms[i];
        if (!form->problem)
            form->problem = gpu_form_run(&gpu->on_gpu, &form->on_gpu, &form->result);
        for (unsigned k = 0; k < gpu->request.launches && !form->problem; k++) {
            int error = gpu_form_queue(&gpu->on_gpu, &form->on_gpu);
            if (!error && k % QUEUED_MOST == 0)
                error = gpu->driver.context_synchronize();
            form->problem = gpu_failure(&gpu->on_gpu, error, "launching it again");
        }
    }
}

/* Compares the results. */
static bool check(Gpu *gpu)
{
    const Form *input = &gpu->forms[0];
    const Launch *launch = gpu->on_gpu.launch;
    bool fine = true;
    for (unsigned i = 0; i < gpu->form_count; i++) {
        Form *form = &gpu->forms[i];
        if (!form->problem && i == 0)
            form->difference = reference_difference(gpu, form->result, &gpu->reference);
        else if (!form->problem && !input->problem)
            form->difference =
                emulator_difference(gpu->on_gpu.arena, launch, input->result, form->result, launch->tolerance);
        fine &= !form->problem && !form->difference;
    }
    return fine;
}

/* Waits until no other process has the GPU, and takes it; a process that ends gives it back. */
static int take_gpu(const Gpu *gpu)
{
    if (!gpu->request.lock)
        return -1;
    int file = open(gpu->request.lock, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (file >= 0)
        flock(file, LOCK_EX);
    return file;
}

static void give_gpu(int file)
{
    if (file >= 0)
        close(file);
}

/* Cold: the L2 cache is full of other data.  Warm: right after a launch of the same form, or, if the kernel changes its
 * inputs, after its buffers were restored. */
static int queue_form(const Gpu *gpu, const Form *form)
{
    const GpuDriver *driver = &gpu->driver;
    bool restores = false;
    for (unsigned i = 0; i < gpu->on_gpu.launch->argument_count; i++)
        restores |= gpu->kept[i] != 0;
    int error = restore(gpu);
    error = error ? error : gpu_flush_run(&gpu->driver, &gpu->flush);
    error = error ? error : driver->event_record(form->events[0], NULL);
    error = error ? error : gpu_form_queue(&gpu->on_gpu, &form->on_gpu);
    error = error ? error : driver->event_record(form->events[1], NULL);
    error = error ? error : restores ? restore(gpu) : gpu_form_queue(&gpu->on_gpu, &form->on_gpu);
    error = error ? error : driver->event_record(form->events[2], NULL);
    error = error ? error : gpu_form_queue(&gpu->on_gpu, &form->on_gpu);
    return error ? error : driver->event_record(form->events[3], NULL);
}

static int round_run(Gpu *gpu, unsigned round)
{
    const GpuDriver *driver = &gpu->driver;
    int error = CUDA_DONE;
    for (unsigned i = 0; i < gpu->form_count && !error; i++)
        if (!gpu->forms[i].problem)
            error = queue_form(gpu, &gpu->forms[i]);
    if (!error)
        error = driver->context_synchronize();
    for (unsigned i = 0; i < gpu->form_count && !error; i++) {
        Form *form = &gpu->forms[i];
        float cold = 0, warm = 0;
        if (form->problem)
            continue;
        error = driver->event_elapsed(&cold, form->events[0], form->events[1]);
        error = error ? error : driver->event_elapsed(&warm, form->events[2], form->events[3]);
        form->cold[round] = 1000.0 * (double)cold;
        form->warm[round] = 1000.0 * (double)warm;
    }
    return error;
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const char *time_forms(Gpu *gpu)
{
    const char *problem = keep_changed(gpu);
    if (!problem)
        problem = gpu_failure(&gpu->on_gpu, gpu_flush_open(&gpu->driver, &gpu->flush), "preparing to flush the cache");
    for (unsigned i = 0; i < gpu->form_count && !problem; i++) {
        Form *form = &gpu->forms[i];
        form->cold = ARENA_ARRAY(gpu->on_gpu.arena, double, gpu->request.repeat);
        form->warm = ARENA_ARRAY(gpu->on_gpu.arena, double, gpu->request.repeat);
        for (unsigned k = 0; k < COUNT_OF(form->events) && !problem; k++)
            problem = gpu_failure(&gpu->on_gpu, gpu->driver.event_create(&form->events[k], 0), "making an event");
    }
    if (!problem)
        problem = gpu_failure(&gpu->on_gpu, round_run(gpu, 0), "timing"); /* not counted: clocks rise, code is loaded */
    double begin = now_seconds();
    while (!problem && gpu->rounds < gpu->request.repeat &&
           (gpu->rounds < 3 || now_seconds() - begin < gpu->request.seconds)) {
        problem = gpu_failure(&gpu->on_gpu, round_run(gpu, gpu->rounds), "timing");
        gpu->rounds += !problem;
    }
    return problem;
}

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Microseconds: median and quartiles. */
static json_t *times_json(const double *times, unsigned count)
{
    if (!count)
        return json_null();
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        out_of_memory();
    memcpy(sorted, times, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_times);
    double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    json_t *value = json_pack("{s:f,s:f,s:f,s:f}", "median", median, "least", sorted[0], "quarter", sorted[count / 4],
                              "three_quarters", sorted[count - 1 - count / 4]);
    free(sorted);
    return value;
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    return value ? value : json_string("(not UTF-8)");
}

static json_t *form_json(const Gpu *gpu, const Form *form)
{
    json_t *value = json_object();
    json_object_set_new(value, "file", text_or_null(form->path));
    json_object_set_new(value, "problem", text_or_null(form->problem));
    json_object_set_new(value, "difference", text_or_null(form->difference));
    const Launch *launch = form->on_gpu.launch;
    if (launch) {
        const unsigned *grid = launch->grid, *block = launch->block;
        json_object_set_new(value, "by_contract", json_boolean(form->on_gpu.has_contract));
        json_object_set_new(value, "grid", json_pack("[i,i,i]", (int)grid[0], (int)grid[1], (int)grid[2]));
        json_object_set_new(value, "block", json_pack("[i,i,i]", (int)block[0], (int)block[1], (int)block[2]));
        json_object_set_new(value, "registers", json_integer(form->on_gpu.registers));
        json_object_set_new(value, "local_bytes", json_integer(form->on_gpu.local_bytes));
    }
    json_object_set_new(value, "cold_us", times_json(form->cold, form->problem ? 0 : gpu->rounds));
    json_object_set_new(value, "warm_us", times_json(form->warm, form->problem ? 0 : gpu->rounds));
    return value;
}

static json_t *device_json(const GpuDriver *driver)
{
    json_t *value = json_object();
    json_object_set_new(value, "name", text_or_null(driver->name));
    json_object_set_new(value, "arch", json_sprintf("sm_%u", driver->architecture));
    json_object_set_new(value, "multiprocessors", json_integer(driver->multiprocessors));
    json_object_set_new(value, "cache_bytes", json_integer((json_int_t)driver->cache_bytes));
    json_object_set_new(value, "clock_khz", json_integer(driver->clock_khz));
    json_object_set_new(value, "driver", json_sprintf("%u.%u", driver->version / 1000, driver->version % 1000 / 10));
    return value;
}

static void print_json(json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(value);
}

static void print_result(const Gpu *gpu)
{
    json_t *forms = json_array(), *value = json_object();
    for (unsigned i = 0; i < gpu->form_count; i++)
        json_array_append_new(forms, form_json(gpu, &gpu->forms[i]));
    json_object_set_new(value, "format", json_string("ptxopt-gpu-run"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "device", device_json(&gpu->driver));
    json_object_set_new(value, "launch", text_or_null(gpu->request.launch));
    json_object_set_new(value, "kernel", text_or_null(gpu->on_gpu.launch->kernel));
    json_object_set_new(value, "reference", text_or_null(gpu->reference));
    json_object_set_new(value, "rounds", json_integer(gpu->rounds));
    json_object_set_new(value, "flushed_bytes", json_integer((json_int_t)gpu->flush.bytes));
    json_object_set_new(value, "forms", forms);
    print_json(value);
}

static int usage(const char *message)
{
    fprintf(stderr,
            "gpu-run: %s\n"
            "usage: gpu-run [--device N] [--references FILE.so] [--repeat N] [--seconds S] [--launches N]\n"
            "               [--lock FILE] LAUNCH.json INPUT.ptx [OUTPUT.ptx...]\n"
            "       gpu-run [--device N] --device-info\n",
            message);
    return STATUS_USAGE;
}

static bool read_whole(const char *text, long least, long most, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return end > text && *end == 0 && *number >= least && *number <= most;
}

/* NULL, or what is wrong with the command line. */
static const char *read_options(int argc, char **argv, Request *request)
{
    enum { DEVICE = 256, REFERENCES, REPEAT, SECONDS, LAUNCHES, LOCK, INFO };
    static const struct option options[] = {{"device", required_argument, NULL, DEVICE},
                                            {"references", required_argument, NULL, REFERENCES},
                                            {"repeat", required_argument, NULL, REPEAT},
                                            {"seconds", required_argument, NULL, SECONDS},
                                            {"launches", required_argument, NULL, LAUNCHES},
                                            {"lock", required_argument, NULL, LOCK},
                                            {"device-info", no_argument, NULL, INFO},
                                            {NULL, 0, NULL, 0}};
    long number = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case DEVICE:
            if (!read_whole(optarg, 0, 1024, &number))
                return "--device: a number from 0";
            request->device = (int)number;
            break;
        case REPEAT:
            if (!read_whole(optarg, 1, 100000, &number))
                return "--repeat: a number from 1";
            request->repeat = (unsigned)number;
            break;
        case SECONDS:
            if (!read_whole(optarg, 0, 3600, &number))
                return "--seconds: a whole number";
            request->seconds = (double)number;
            break;
        case LAUNCHES:
            if (!read_whole(optarg, 0, 1000000, &number))
                return "--launches: a whole number";
            request->launches = (unsigned)number;
            break;
        case REFERENCES: request->references = optarg; break;
        case LOCK: request->lock = optarg; break;
        case INFO: request->device_info = true; break;
        default: return "unknown option, or one without its value";
        }
    }
    if (request->device_info ? optind < argc : optind + 2 > argc)
        return request->device_info ? "--device-info takes no file" : "expected LAUNCH.json INPUT.ptx";
    request->launch = argv[optind];
    return NULL;
}

static void clean_up(Gpu *gpu)
{
    const GpuDriver *driver = &gpu->driver;
    for (unsigned i = 0; i < gpu->form_count; i++) {
        Form *form = &gpu->forms[i];
        for (unsigned k = 0; k < COUNT_OF(form->events); k++)
            if (form->events[k])
                driver->event_destroy(form->events[k]);
        gpu_form_close(&gpu->on_gpu, &form->on_gpu);
    }
    for (unsigned i = 0; gpu->kept && i < gpu->on_gpu.launch->argument_count; i++)
        if (gpu->kept[i])
            driver->memory_free(gpu->kept[i]);
    if (gpu->on_gpu.launch)
        gpu_launch_close(&gpu->on_gpu);
    gpu_flush_close(driver, &gpu->flush);
}

static const char *load(const Gpu *gpu, Form *form, const char *path)
{
    const char *error;
    form->path = path;
    const Source *source = source_read(gpu->on_gpu.arena, path, &error);
    return source ? gpu_form_load(&gpu->on_gpu, source->text, &form->on_gpu) : error;
}

static int run(Gpu *gpu, char **files, unsigned count)
{
    const char *error;
    Buf message = {0};
    if (!gpu->request.device_info) {
        gpu->on_gpu.launch = launch_read(gpu->on_gpu.arena, gpu->request.launch, &error);
        if (!gpu->on_gpu.launch) {
            fprintf(stderr, "gpu-run: %s\n", error);
            return STATUS_INPUT;
        }
    }
    if (!gpu_driver_open(&gpu->driver, gpu->request.device, &message)) {
        fprintf(stderr, "gpu-run: %s\n", buf_text(&message));
        buf_free(&message);
        return STATUS_NO_GPU;
    }
    if (gpu->request.device_info) {
        print_json(device_json(&gpu->driver));
        return STATUS_DONE;
    }
    gpu->on_gpu.driver = &gpu->driver;
    gpu->kept = ARENA_ARRAY(gpu->on_gpu.arena, DevicePointer, gpu->on_gpu.launch->argument_count + 1);
    const char *problem = gpu_launch_open(&gpu->on_gpu);
    gpu->forms = ARENA_ARRAY(gpu->on_gpu.arena, Form, count);
    gpu->form_count = count;
    for (unsigned i = 0; i < count && !problem; i++) {
        gpu->forms[i].problem = load(gpu, &gpu->forms[i], files[i]);
    }
    bool fine = false;
    if (!problem) {
        int taken = take_gpu(gpu);
        run_forms(gpu);
        give_gpu(taken);
        fine = check(gpu);
    }
    if (!problem && !gpu->forms[0].problem) {
        int taken = take_gpu(gpu);
        problem = time_forms(gpu);
        give_gpu(taken);
    }
    if (problem) {
        fprintf(stderr, "gpu-run: %s: %s\n", gpu->request.launch, problem);
        return STATUS_INPUT;
    }
    print_result(gpu);
    bool all_ran = true;
    for (unsigned i = 0; i < count; i++)
        all_ran &= !gpu->forms[i].problem;
    return fine ? STATUS_DONE : all_ran ? STATUS_DIFFERENT : STATUS_INPUT;
}

int main(int argc, char **argv)
{
    Gpu gpu = {.request = {.repeat = 51, .seconds = 5}};
    const char *wrong = read_options(argc, argv, &gpu.request);
    if (wrong)
        return usage(wrong);
    gpu.on_gpu.arena = arena_new();
    int status = run(&gpu, argv + optind + 1, (unsigned)(argc - optind - 1));
    clean_up(&gpu);
    arena_free(gpu.on_gpu.arena);
    return status;
}
