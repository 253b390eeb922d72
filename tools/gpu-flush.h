/* Fills the L2 cache with data that no kernel uses, and that memory has as well: a kernel would pay for what is still
 * to be written back. */
#ifndef PTXOPT_TOOLS_GPU_FLUSH_H
#define PTXOPT_TOOLS_GPU_FLUSH_H

#include "tools/gpu-driver.h"

typedef struct GpuFlush {
    DevicePointer data;
    size_t bytes; /* twice the cache */
    void *module, *sweep;
} GpuFlush;

/* CUDA_DONE or the driver's error; then gpu_flush_close() releases what there is. */
int gpu_flush_open(const GpuDriver *driver, GpuFlush *flush);
/* Queues it on the default stream; the result is the driver's. */
int gpu_flush_run(const GpuDriver *driver, const GpuFlush *flush);
void gpu_flush_close(const GpuDriver *driver, GpuFlush *flush);

#endif
