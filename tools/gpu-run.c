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
#include <unistd.h>

#include "corpus/reference.h"
#include "tools/gpu-contract.h"

enum { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_USAGE = 2, STATUS_NO_GPU = 3, STATUS_DIFFERENT = 5 };

typedef void Reference(const RefLaunch *launch, void **args);

/* One PTX file, loaded. */
typedef struct Form {
    GpuForm on_gpu;
    const char *path;
    const char *problem;    /* it could not be loaded or launched */
    const char *difference; /* from the reference for the input, from the input for an output */
    EmulatorResult *result;
    bool has_contract;
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
    GpuTimed *timed; /* for each form */
    unsigned form_count;
    GpuRounds rounds;
    GpuFlush flush;
    const char *reference; /* the reference's results; NULL: there is no reference */
} Gpu;

static const char *failure(const Gpu *gpu, int error, const char *doing)
{
    return gpu_failure(&gpu->driver, gpu->on_gpu.arena, error, doing);
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
            form->problem = failure(gpu, error, "launching it again");
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

static const char *time_forms(Gpu *gpu)
{
    const char *problem = gpu_launch_keep(&gpu->on_gpu, gpu->forms[0].result);
    gpu->rounds = (GpuRounds){.most = gpu->request.repeat, .seconds = gpu->request.seconds};
    for (unsigned i = 0; i < gpu->form_count; i++)
        gpu->timed[i].form = gpu->forms[i].problem ? NULL : &gpu->forms[i].on_gpu;
    if (!problem)
        problem = failure(gpu, gpu_flush_open(&gpu->driver, &gpu->flush), "preparing to flush the cache");
    return problem ? problem : gpu_time(&gpu->on_gpu, &gpu->flush, gpu->timed, gpu->form_count, &gpu->rounds);
}

/* Microseconds: median and quartiles. */
static json_t *times_json(double *times, unsigned count)
{
    if (!count)
        return json_null();
    const double median = gpu_median(times, count);
    return json_pack("{s:f,s:f,s:f,s:f}", "median", median, "least", times[0], "quarter", times[count / 4],
                     "three_quarters", times[count - 1 - count / 4]);
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    return value ? value : json_string("(not UTF-8)");
}

static json_t *form_json(const Form *form, const GpuTimed *timed, unsigned rounds)
{
    json_t *value = json_object();
    json_object_set_new(value, "file", text_or_null(form->path));
    json_object_set_new(value, "problem", text_or_null(form->problem));
    json_object_set_new(value, "difference", text_or_null(form->difference));
    const Launch *launch = form->on_gpu.launch;
    if (launch) {
        const unsigned *grid = launch->grid, *block = launch->block;
        json_object_set_new(value, "by_contract", json_boolean(form->has_contract));
        json_object_set_new(value, "grid", json_pack("[i,i,i]", (int)grid[0], (int)grid[1], (int)grid[2]));
        json_object_set_new(value, "block", json_pack("[i,i,i]", (int)block[0], (int)block[1], (int)block[2]));
        json_object_set_new(value, "registers", json_integer(form->on_gpu.registers));
        json_object_set_new(value, "local_bytes", json_integer(form->on_gpu.local_bytes));
    }
    json_object_set_new(value, "cold_us", times_json(timed->cold, timed->form ? rounds : 0));
    json_object_set_new(value, "warm_us", times_json(timed->warm, timed->form ? rounds : 0));
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
        json_array_append_new(forms, form_json(&gpu->forms[i], &gpu->timed[i], gpu->rounds.done));
    json_object_set_new(value, "format", json_string("ptxopt-gpu-run"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "device", device_json(&gpu->driver));
    json_object_set_new(value, "launch", text_or_null(gpu->request.launch));
    json_object_set_new(value, "kernel", text_or_null(gpu->on_gpu.launch->kernel));
    json_object_set_new(value, "reference", text_or_null(gpu->reference));
    json_object_set_new(value, "rounds", json_integer(gpu->rounds.done));
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
    for (unsigned i = 0; i < gpu->form_count; i++)
        gpu_form_close(&gpu->on_gpu, &gpu->forms[i].on_gpu);
    if (gpu->on_gpu.launch)
        gpu_launch_close(&gpu->on_gpu);
    gpu_flush_close(driver, &gpu->flush);
}

static const char *load(const Gpu *gpu, Form *form, const char *path)
{
    const char *error;
    form->path = path;
    const Source *source = source_read(gpu->on_gpu.arena, path, &error);
    return source ? gpu_contract_load(&gpu->on_gpu, source->text, &form->on_gpu, &form->has_contract)
                  : error;
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
    const char *problem = gpu_launch_open(&gpu->on_gpu);
    gpu->forms = ARENA_ARRAY(gpu->on_gpu.arena, Form, count);
    gpu->timed = ARENA_ARRAY(gpu->on_gpu.arena, GpuTimed, count);
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
