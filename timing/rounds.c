/* Forms that are timed in turns. */
#include "timing/internal.h"

#include <stdlib.h>
#include <string.h>

const char *gpu_launch_keep(GpuLaunch *gpu, const EmulatorResult *after)
{
    unsigned place = 0;
    for (unsigned i = 0; i < gpu->launch->argument_count; i++) {
        const LaunchArgument *argument = &gpu->launch->arguments[i];
        if (!gpu_owns_memory(argument))
            continue;
        const EmulatorBuffer *buffer = &after->buffers[place++];
        if (gpu->kept[i] || !gpu->buffers[i] || argument->fill == FILL_POISON ||
            memcmp(buffer->bytes, gpu->contents[i], buffer->size) == 0)
            continue;
        int error = gpu->driver->memory_alloc(&gpu->kept[i], buffer->size);
        error = error ? error : gpu->driver->copy_in(gpu->kept[i], gpu->contents[i], buffer->size);
        if (error)
            return gpu_failure(gpu->driver, gpu->arena, error, "making a copy");
    }
    return NULL;
}

static int restore(const GpuLaunch *gpu)
{
    int error = CUDA_DONE;
    for (unsigned i = 0; i < gpu->launch->argument_count && error == CUDA_DONE; i++)
        if (gpu->kept[i])
            error = gpu->driver->copy_within(gpu->buffers[i], gpu->kept[i],
                                             gpu_argument_bytes(&gpu->launch->arguments[i]), NULL);
    return error;
}

static int queue_form(const GpuLaunch *gpu, const GpuFlush *flush, const GpuTimed *timed)
{
    const GpuDriver *driver = gpu->driver;
    bool restores = false;
    for (unsigned i = 0; i < gpu->launch->argument_count; i++)
        restores |= gpu->kept[i] != 0;
    int error = restore(gpu);
    error = error ? error : gpu_flush_run(driver, flush);
    error = error ? error : driver->event_record(timed->events[0], NULL);
    error = error ? error : gpu_form_queue(gpu, timed->form);
    error = error ? error : driver->event_record(timed->events[1], NULL);
    error = error ? error : restores ? restore(gpu) : gpu_form_queue(gpu, timed->form);
    error = error ? error : driver->event_record(timed->events[2], NULL);
    error = error ? error : gpu_form_queue(gpu, timed->form);
    return error ? error : driver->event_record(timed->events[3], NULL);
}

static int round_run(const GpuLaunch *gpu, const GpuFlush *flush, const GpuTimed *forms, unsigned count, unsigned round)
{
    const GpuDriver *driver = gpu->driver;
    int error = CUDA_DONE;
    for (unsigned i = 0; i < count && !error; i++)
        if (forms[i].form)
            error = queue_form(gpu, flush, &forms[i]);
    if (!error)
        error = driver->context_synchronize();
    for (unsigned i = 0; i < count && !error; i++) {
        const GpuTimed *timed = &forms[i];
        float cold = 0, warm = 0;
        if (!timed->form)
            continue;
        error = driver->event_elapsed(&cold, timed->events[0], timed->events[1]);
        error = error ? error : driver->event_elapsed(&warm, timed->events[2], timed->events[3]);
        timed->cold[round] = 1000.0 * (double)cold;
        timed->warm[round] = 1000.0 * (double)warm;
    }
    return error;
}

static int run_rounds(const GpuLaunch *gpu, const GpuFlush *flush, const GpuTimed *forms, unsigned count,
                      GpuRounds *rounds)
{
    enum { LEAST_ROUNDS = 3 };
    int error = round_run(gpu, flush, forms, count, 0);
    const double begin = seconds_now();
    rounds->done = 0;
    while (!error && rounds->done < rounds->most &&
           (rounds->done < LEAST_ROUNDS || seconds_now() - begin < rounds->seconds)) {
        error = round_run(gpu, flush, forms, count, rounds->done);
        rounds->done += !error;
    }
    return error;
}

static void end_events(const GpuDriver *driver, GpuTimed *timed)
{
    for (unsigned i = 0; i < COUNT_OF(timed->events); i++) {
        if (timed->events[i])
            driver->event_destroy(timed->events[i]);
        timed->events[i] = NULL;
    }
}

const char *gpu_time(const GpuLaunch *gpu, const GpuFlush *flush, GpuTimed *forms, unsigned count, GpuRounds *rounds)
{
    int error = CUDA_DONE;
    for (unsigned i = 0; i < count; i++) {
        forms[i].cold = ARENA_ARRAY(gpu->arena, double, rounds->most);
        forms[i].warm = ARENA_ARRAY(gpu->arena, double, rounds->most);
        for (unsigned k = 0; k < COUNT_OF(forms[i].events) && !error; k++)
            error = gpu->driver->event_create(&forms[i].events[k], 0);
    }
    error = error ? error : run_rounds(gpu, flush, forms, count, rounds);
    for (unsigned i = 0; i < count; i++)
        end_events(gpu->driver, &forms[i]);
    return gpu_failure(gpu->driver, gpu->arena, error, "timing");
}

static int compare_times(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double gpu_median(double *times, unsigned count)
{
    qsort(times, count, sizeof *times, compare_times);
    return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}
