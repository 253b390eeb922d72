/* The launch of a launch file on a GPU: its buffers on the device, and modules whose kernel is launched by their
 * contracts. */
#ifndef PTXOPT_TOOLS_GPU_LAUNCH_H
#define PTXOPT_TOOLS_GPU_LAUNCH_H

#include "emulator/emulator.h"
#include "gpu/gpu.h"
#include "tools/gpu-images.h"

/* Driver, arena and launch are the caller's; the rest is gpu_launch_open()'s, by argument. */
typedef struct GpuLaunch {
    const GpuDriver *driver;
    Arena *arena; /* of messages and results, too */
    Launch *launch;
    DevicePointer *buffers; /* 0: it has none */
    GpuImage *images;
    void **contents; /* as the launch file fills them; NULL: nothing is filled */
} GpuLaunch;

/* A module with the launch's kernel. */
typedef struct GpuForm {
    void *module, *function;
    Launch *launch; /* by its contract */
    bool has_contract;
    int registers, local_bytes;
} GpuForm;

/* Functions that return text return NULL if all is well, else what is wrong. */

/* NULL if 'error' is success, else a message with the action and the error. */
const char *gpu_failure(const GpuLaunch *gpu, int error, const char *doing);

/* True if the argument has its own memory, where a kernel may store results: a buffer, or an image that does not use
 * another's memory. */
bool gpu_owns_memory(const LaunchArgument *argument);
uint64_t gpu_argument_bytes(const LaunchArgument *argument);

/* Allocates what the launch needs on the device. gpu_launch_close() frees it, also after an error. */
const char *gpu_launch_open(GpuLaunch *gpu);
void gpu_launch_close(GpuLaunch *gpu);
/* The buffers as the launch file fills them, in host memory; what the kernel leaves in them is compared with another's
 * (emulator_difference()). */
EmulatorResult *gpu_launch_filled(const GpuLaunch *gpu);

/* Loads PTX or a cubin, which ends with a 0, and applies its contract to the launch. gpu_form_close() unloads it, also
 * after an error. */
const char *gpu_form_load(const GpuLaunch *gpu, const char *text, GpuForm *form);
void gpu_form_close(const GpuLaunch *gpu, GpuForm *form);
/* Queues one launch on the default stream; the result is the driver's. */
int gpu_form_queue(const GpuLaunch *gpu, const GpuForm *form);
/* Fills the buffers, runs the form once, and reads the buffers. *result is set in any case. */
const char *gpu_form_run(const GpuLaunch *gpu, const GpuForm *form, EmulatorResult **result);

#endif
