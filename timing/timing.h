/* timing: the launch of a launch file on a GPU: its buffers there, modules whose kernel is launched, what they leave in
 * the buffers, and their times in turns. */
#ifndef PTXOPT_TIMING_H
#define PTXOPT_TIMING_H

#include "emulator/emulator.h"
#include "gpu/gpu.h"

/* Driver, arena and launch are the caller's; the rest is gpu_launch_open()'s, by argument. */
typedef struct GpuLaunch {
    const GpuDriver *driver;
    Arena *arena; /* of messages and results, too */
    Launch *launch;
    DevicePointer *buffers; /* 0: it has none */
    DevicePointer *kept;    /* contents to restore before a timed launch; 0: none needed (gpu_launch_keep()) */
    struct GpuImage *images;
    void **contents; /* as the launch file fills them; NULL: nothing is filled */
} GpuLaunch;

/* A module with the launch's kernel. */
typedef struct GpuForm {
    void *module, *function;
    Launch *launch; /* with the form's grid, block and dynamic shared memory */
    int registers, local_bytes;
} GpuForm;

/* Functions that return text return NULL if all is well, else what is wrong. After an error of the driver, the process
 * may be unable to use the GPU any more. */

/* NULL if 'error' is success, else a message in the arena with the action and the error. */
const char *gpu_failure(const GpuDriver *driver, Arena *arena, int error, const char *doing);

/* True if the argument has its own memory, where a kernel may store results: a buffer, or an image that does not use
 * another's memory. */
bool gpu_owns_memory(const LaunchArgument *argument);

/* Opens the first GPU in a process of its own, and takes what its driver says about it: a process that starts others
 * must not have opened it. False, with a message that says what is missing. The functions of *driver are not set. */
bool gpu_device_ask(GpuDriver *driver, Buf *message);

/* Allocates what the launch needs on the device. gpu_launch_close() frees it, also after an error. */
const char *gpu_launch_open(GpuLaunch *gpu);
void gpu_launch_close(GpuLaunch *gpu);
/* The buffers as the launch file fills them, in host memory; what the kernel leaves in them is compared with another's
 * (emulator_difference()). */
EmulatorResult *gpu_launch_filled(const GpuLaunch *gpu);

/* Loads PTX, which ends with a 0, or a cubin. The form is launched as the launch file says, with a change if that is
 * not NULL. gpu_form_close() unloads it, also after an error. */
const char *gpu_form_load(const GpuLaunch *gpu, const char *image, const LaunchChange *change, GpuForm *form);
/* Lets the form have its launch's dynamic shared memory, where that must be asked for. */
const char *gpu_form_allow_shared(const GpuLaunch *gpu, const GpuForm *form);
void gpu_form_close(const GpuLaunch *gpu, GpuForm *form);
/* Queues one launch on the default stream; the result is the driver's. */
int gpu_form_queue(const GpuLaunch *gpu, const GpuForm *form);
/* Fills the buffers, runs the form once, and reads the buffers. *result is set in any case. */
const char *gpu_form_run(const GpuLaunch *gpu, const GpuForm *form, EmulatorResult **result);

/* rounds.c */
/* Keeps copies of the buffers that a form changes, which it may read before: 'after' is what it leaves in them. They
 * are restored before each timed launch. Arrays are left out: in one launch only the thread that wrote to a surface can
 * read the value back. */
const char *gpu_launch_keep(GpuLaunch *gpu, const EmulatorResult *after);

/* A form that is timed, and its times in microseconds, by round. Cold: the L2 cache is full of other data. Warm: right
 * after a launch of the same form, or, if the kernel changes its inputs, after its buffers were restored. */
typedef struct GpuTimed {
    const GpuForm *form; /* NULL: it is left out */
    double *cold, *warm; /* gpu_time()'s, in the launch's arena */
    void *events[4];     /* cold from, to; warm from, to */
} GpuTimed;

/* Rounds end after this many, or after these seconds, but not before the third. */
typedef struct GpuRounds {
    unsigned most;
    double seconds;
    unsigned done; /* gpu_time()'s */
} GpuRounds;

/* Times the forms in turns. A round before the first does not count: clocks rise, and code is loaded. */
const char *gpu_time(const GpuLaunch *gpu, const GpuFlush *flush, GpuTimed *forms, unsigned count, GpuRounds *rounds);
/* Sorts times in place and returns their median. */
double gpu_median(double *times, unsigned count);

#endif
