/* Random programs and their forms on a GPU, or on whatever driver $PTXOPT_CUDA_DRIVER names. */
#ifndef PTXOPT_TESTS_GENERATE_ON_GPU_H
#define PTXOPT_TESTS_GENERATE_ON_GPU_H

#include "tools/gpu-contract.h"

typedef struct OnGpu {
    GpuDriver driver;
    GpuLaunch launch;
    EmulatorResult *original; /* its results there */
} OnGpu;

/* Replaces what need not give the emulator's result: sums and products that ptxas may fuse, and approximations. Keeps
 * positions above 255 from fields of 64 bits, and NaNs of f64 from where their bits show. */
void on_gpu_make_exact(Buf *ptx);

/* Opens the GPU, once for a process; false, and says why, if there is none. */
bool on_gpu_open(OnGpu *gpu);
/* Runs the program, and compares it with what the emulator makes of it. These two return NULL if all is well, else what
 * is wrong. After an error of the driver, the process cannot use the GPU any more. All memory is the arena's. */
const char *on_gpu_run_original(OnGpu *gpu, Arena *arena, Launch *launch, const char *text,
                                const EmulatorResult *emulated);
/* Runs a form by its contract, and compares it with the original there. */
const char *on_gpu_run_form(OnGpu *gpu, const char *text);
/* Frees the original's buffers. */
void on_gpu_end(OnGpu *gpu);

#endif
