/* The times of the microkernels on a GPU. */
#include <string.h>

#include "calibrate/internal.h"
#include "gpu/gpu.h"
#include "timing/timing.h"

enum { MOST_ARGUMENTS = 4, LOG_BYTES = 4096 };

/* A kernel on the GPU. */
typedef struct Timing {
    const GpuDriver *driver;
    const GpuFlush *flush;
    void *function, *begin, *end;
    DevicePointer buffers[MOST_ARGUMENTS];
    void *arguments[MOST_ARGUMENTS];
} Timing;

static bool fail(const GpuDriver *driver, int error, const char *what, const char *doing)
{
    Buf text = {0};
    gpu_error_print(driver, error, &text);
    fprintf(stderr, "ptxopt: error: %s: %s%s%s: %s\n", driver->name, what, *what ? ": " : "", doing, buf_text(&text));
    buf_free(&text);
    return false;
}

bool calibrate_gpu_open(Calibration *calibration, GpuDriver *driver)
{
    Buf message = {0};
    const bool found = gpu_driver_open(driver, 0, &message);
    if (!found)
        fprintf(stderr, "ptxopt: error: %s; '-kernels FOLDER' writes the kernels, to be timed elsewhere\n",
                buf_text(&message));
    buf_free(&message);
    if (!found)
        return false;
    if (!driver->architecture || !driver->multiprocessors || !driver->cache_bytes || !driver->clock_khz) {
        fprintf(stderr, "ptxopt: error: %s: the driver does not give its architecture, multiprocessors, clock and L2\n",
                driver->name);
        return false;
    }
    calibration->is_measured_here = true;
    calibration->place = arena_strndup(calibration->arena, driver->name, strlen(driver->name));
    return true;
}

/* Allocates and fills the buffers; the driver's error. */
static int fill_arguments(Timing *timing, Arena *arena, const Launch *launch)
{
    int error = CUDA_DONE;
    require(launch->argument_count <= MOST_ARGUMENTS);
    for (unsigned i = 0; i < launch->argument_count && !error; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        const size_t bytes = argument->count * type_bits(argument->type) / 8;
        timing->arguments[i] = (void *)argument->bytes;
        if (argument->kind != ARGUMENT_BUFFER)
            continue;
        timing->arguments[i] = &timing->buffers[i];
        error = timing->driver->memory_alloc(&timing->buffers[i], bytes);
        if (error)
            return error;
        error = argument->fill == FILL_ZERO
                    ? timing->driver->fill(timing->buffers[i], 0, bytes, NULL)
                    : timing->driver->copy_in(timing->buffers[i], launch_fill(arena, argument), bytes);
    }
    return error;
}

/* One launch, with other data in L2, as the model assumes; its microseconds. */
static int time_once(const Timing *timing, const Launch *launch, double *time)
{
    const GpuDriver *driver = timing->driver;
    float milliseconds = 0;
    int error = gpu_flush_run(driver, timing->flush);
    error = error ? error : driver->event_record(timing->begin, NULL);
    error = error ? error
                  : driver->launch(timing->function, launch->grid[0], 1, 1, launch->block[0], 1, 1, 0, NULL,
                                   (void **)timing->arguments, NULL);
    error = error ? error : driver->event_record(timing->end, NULL);
    error = error ? error : driver->context_synchronize();
    error = error ? error : driver->event_elapsed(&milliseconds, timing->begin, timing->end);
    *time = 1000 * (double)milliseconds;
    return error;
}

/* The median of the runs, after one that is not counted: clocks rise, and code is loaded. */
static int time_kernel(const Timing *timing, Arena *arena, uint64_t runs, CalibrateKernel *kernel)
{
    double *times = ARENA_ARRAY(arena, double, runs), first;
    int error = time_once(timing, &kernel->launch, &first);
    for (uint64_t i = 0; i < runs && !error; i++)
        error = time_once(timing, &kernel->launch, &times[i]);
    kernel->measured = gpu_median(times, (unsigned)runs);
    return error;
}

/* The figures of the code that the driver has made, which runs. */
static int take_figures(const Timing *timing, CalibrateKernel *kernel)
{
    int registers = 0, shared = 0;
    int error = timing->driver->function_attribute(&registers, FUNCTION_REGISTERS, timing->function);
    error = error ? error : timing->driver->function_attribute(&shared, FUNCTION_SHARED, timing->function);
    kernel->registers = (unsigned)registers;
    kernel->shared = (uint64_t)shared;
    return error;
}

static bool measure(Timing *timing, const Calibration *calibration, void *module, CalibrateKernel *kernel)
{
    const GpuDriver *driver = timing->driver;
    const char *name = kernel->micro->name;
    Arena *arena = arena_new();
    int error = driver->module_function(&timing->function, module, name);
    error = error ? error : take_figures(timing, kernel);
    bool done = !error || fail(driver, error, name, "finding it");
    error = done ? fill_arguments(timing, arena, &kernel->launch) : error;
    done = done && (!error || fail(driver, error, name, "making its buffers"));
    error = done ? time_kernel(timing, arena, calibration->request->runs, kernel) : error;
    done = done && (!error || fail(driver, error, name, "running it"));
    for (unsigned i = 0; i < MOST_ARGUMENTS; i++)
        if (timing->buffers[i])
            driver->memory_free(timing->buffers[i]);
    memset(timing->buffers, 0, sizeof timing->buffers);
    arena_free(arena);
    if (done && !(kernel->measured > 0)) {
        fprintf(stderr, "ptxopt: error: %s: %s: its events have no time between them\n", driver->name, name);
        done = false;
    }
    return done;
}

static bool load(const GpuDriver *driver, const Calibration *calibration, void **module)
{
    char log[LOG_BYTES] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const int error = driver->module_load(module, calibration->source->text, 2, options, values);
    log[sizeof log - 1] = 0;
    log[strcspn(log, "\n")] = 0;
    return !error || fail(driver, error, log, "loading the kernels");
}

static bool measure_all(Calibration *calibration, Timing *timing, void *module)
{
    bool done = true;
    for (size_t i = 0; i < calibration->kernels.count && done; i++)
        done = measure(timing, calibration, module, &calibration->kernels.data[i]);
    return done;
}

bool kernels_measure(Calibration *calibration, const GpuDriver *driver)
{
    GpuFlush flush;
    Timing timing = {.driver = driver, .flush = &flush};
    void *module = NULL;
    bool done = load(driver, calibration, &module);
    if (!done)
        return false;
    int error = gpu_flush_open(driver, &flush);
    error = error ? error : driver->event_create(&timing.begin, 0);
    error = error ? error : driver->event_create(&timing.end, 0);
    done = error ? fail(driver, error, "", "preparing to measure") : measure_all(calibration, &timing, module);
    if (timing.begin)
        driver->event_destroy(timing.begin);
    if (timing.end)
        driver->event_destroy(timing.end);
    gpu_flush_close(driver, &flush);
    driver->module_unload(module);
    return done;
}
