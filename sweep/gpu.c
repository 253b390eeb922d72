/* Forms on a GPU: compared with the original there, and timed, by one process of the sweep at a time. */
#include <sys/mman.h>
#include <unistd.h>

#include "sweep/internal.h"

enum { MOST_ROUNDS = 21 };
static const double most_seconds = 0.25;

bool sweep_gpu_ask(Sweep *sweep)
{
    Buf message = {0};
    const bool found = gpu_device_ask(&sweep->device, &message);
    if (found)
        sweep->gpu_lock = memfd_create("ptxopt-gpu", MFD_CLOEXEC);
    if (!found)
        fprintf(stderr, "ptxopt: error: -measure: %s\n", buf_text(&message));
    buf_free(&message);
    return found;
}

bool sweep_gpu_open(Sweep *sweep)
{
    Buf message = {0};
    SweepGpu *gpu = ARENA_NEW(sweep->arena, SweepGpu);
    bool done = gpu_driver_open(&gpu->driver, 0, &message);
    if (done) {
        const int error = gpu_flush_open(&gpu->driver, &gpu->flush);
        done = error == CUDA_DONE;
        if (!done) {
            buf_printf(&message, "%s: a kernel that fills L2 with other data: ", gpu->driver.name);
            gpu_error_print(&gpu->driver, error, &message);
        }
    }
    if (!done)
        fprintf(stderr, "ptxopt: error: -measure: %s\n", buf_text(&message));
    buf_free(&message);
    sweep->gpu = done ? gpu : NULL;
    return done;
}

void sweep_gpu_close(Sweep *sweep)
{
    if (sweep->gpu)
        gpu_flush_close(&sweep->gpu->driver, &sweep->gpu->flush);
    sweep->gpu = NULL;
}

/* Notes an error after which this process cannot use the GPU any more. */
static const char *look(Sweep *sweep, const char *problem)
{
    if (problem)
        sweep->gpu->is_lost |= sweep->gpu->driver.context_synchronize() != CUDA_DONE;
    return problem;
}

static const char *load_form(SweepPair *pair, const FunctionForm *form, const LaunchChange *change, GpuForm *loaded)
{
    Buf text = {0};
    judge_print_form(form, &text);
    const char *problem = gpu_form_load(&pair->gpu, buf_text(&text), change, loaded);
    buf_free(&text);
    return problem;
}

const char *sweep_pair_open(Sweep *sweep, Arena *arena, const SweepKernel *kernel, SweepPair *pair)
{
    const FunctionForm original = {.function = kernel->kernel};
    *pair = (SweepPair){.gpu = {.driver = &sweep->gpu->driver, .arena = arena}};
    pair->gpu.launch = launch_changed(arena, kernel->launch, NULL);
    const char *problem = gpu_launch_open(&pair->gpu);
    return look(sweep, problem ? problem : load_form(pair, &original, NULL, &pair->original));
}

void sweep_pair_unload(SweepPair *pair)
{
    gpu_form_close(&pair->gpu, &pair->form);
}

const char *sweep_pair_load(Sweep *sweep, SweepPair *pair, const SweepMade *made)
{
    return look(sweep, load_form(pair, &made->written, &made->change, &pair->form));
}

const char *sweep_pair_load_image(Sweep *sweep, SweepPair *pair, const char *image, const LaunchChange *change)
{
    sweep_pair_unload(pair);
    return look(sweep, gpu_form_load(&pair->gpu, image, change, &pair->form));
}

void sweep_pair_close(SweepPair *pair)
{
    sweep_pair_unload(pair);
    gpu_form_close(&pair->gpu, &pair->original);
    gpu_launch_close(&pair->gpu);
}

static const char *reshape(const SweepPair *pair, const Launch *launch, const LaunchChange *change, GpuForm *form)
{
    form->launch = launch_changed(pair->gpu.arena, launch, change);
    return gpu_form_allow_shared(&pair->gpu, form);
}

/* Runs the original, and the form if it has been loaded: *difference is that of their results. These are large, so they
 * are in the scratch arena, where texts are, too. */
static const char *run(SweepPair *pair, Arena *scratch, const char **difference)
{
    GpuLaunch gpu = pair->gpu;
    EmulatorResult *original, *form;
    gpu.arena = scratch;
    const char *problem = gpu_form_run(&gpu, &pair->original, &original);
    problem = problem ? problem : gpu_launch_keep(&gpu, original);
    if (problem || !pair->form.module)
        return problem;
    problem = gpu_form_run(&gpu, &pair->form, &form);
    if (!problem)
        *difference = emulator_difference(scratch, gpu.launch, original, form, gpu.launch->tolerance);
    return problem;
}

/* Runs both with the launch's block; texts are in the pair's arena. */
static const char *compare(SweepPair *pair, const Launch *launch, const LaunchChange *change, const char **difference)
{
    Arena *arena = pair->gpu.arena, *scratch = arena_new();
    *difference = NULL;
    const char *problem = reshape(pair, launch, NULL, &pair->original);
    problem = problem || !pair->form.module ? problem : reshape(pair, launch, change, &pair->form);
    problem = problem ? problem : run(pair, scratch, difference);
    problem = problem ? arena_printf(arena, "%s", problem) : NULL;
    *difference = *difference ? arena_printf(arena, "%s", *difference) : NULL;
    arena_free(scratch);
    return problem;
}

/* Waits until no other process of the sweep times. */
static const char *time_alone(const Sweep *sweep, const SweepPair *pair, GpuTimed *timed, unsigned count,
                              GpuRounds *rounds)
{
    *rounds = (GpuRounds){.most = MOST_ROUNDS, .seconds = most_seconds};
    const bool is_locked = sweep->gpu_lock >= 0 && lockf(sweep->gpu_lock, F_LOCK, 0) == 0;
    const char *problem = gpu_time(&pair->gpu, &sweep->gpu->flush, timed, count, rounds);
    if (is_locked && lockf(sweep->gpu_lock, F_ULOCK, 0) != 0)
        bug("a lock cannot be released");
    return problem;
}

void sweep_pair_measure(Sweep *sweep, SweepPair *pair, const Launch *launch, const LaunchChange *change, SweepRow *row)
{
    const char *difference = NULL;
    const char *problem = sweep->gpu->is_lost ? "not run, because the driver refuses all launches after a fault"
                                              : look(sweep, compare(pair, launch, change, &difference));
    GpuTimed timed = {.form = pair->form.module ? &pair->form : &pair->original};
    GpuRounds rounds;
    if (!problem && !difference)
        problem = look(sweep, time_alone(sweep, pair, &timed, 1, &rounds));
    if (problem) {
        row->status = SWEEP_FAULT;
        row->reason = arena_printf(pair->gpu.arena, "on the GPU: %s", problem);
    } else if (difference) {
        row->status = SWEEP_DIFFERENT;
        row->reason = difference;
    } else {
        row->values[SWEEP_MEASURED] = gpu_median(timed.cold, rounds.done);
        row->values[SWEEP_MEASURED_WARM] = gpu_median(timed.warm, rounds.done);
    }
}

double sweep_pair_ratio(Sweep *sweep, SweepPair *pair, const Launch *launch, const LaunchChange *change)
{
    const char *difference = NULL;
    GpuRounds rounds;
    if (sweep->gpu->is_lost || look(sweep, compare(pair, launch, change, &difference)) || difference)
        return NAN;
    const GpuForm form = pair->form.module ? pair->form : pair->original;
    GpuTimed timed[2] = {{.form = &pair->original}, {.form = &form}};
    if (look(sweep, reshape(pair, pair->gpu.launch, NULL, &pair->original)))
        return NAN;
    if (look(sweep, time_alone(sweep, pair, timed, COUNT_OF(timed), &rounds)))
        return NAN;
    for (unsigned i = 0; i < rounds.done; i++)
        timed[1].cold[i] /= timed[0].cold[i];
    return gpu_median(timed[1].cold, rounds.done);
}
