/* gpu: kernels on a GPU. The part of the CUDA driver API that launching and timing them needs, opened at run time:
 * building needs no part of CUDA, and running needs only a driver. The declarations, here and in abi/driver.def, follow
 * the CUDA driver API manual. */
#ifndef PTXOPT_GPU_H
#define PTXOPT_GPU_H

#include "support/support.h"

enum { CUDA_DONE = 0 };

typedef uint64_t DevicePointer;

#define DRIVER_OF_GPU
typedef struct GpuDriver {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) int (*name) parameters;
#include "abi/driver.def"
    /* error_name is NULL in old drivers; texture_create is NULL if the driver lacks any function for arrays,
     * textures or surfaces (timing/images.h). */

    const char *path;      /* of the library */
    unsigned version;      /* 13000 is 13.0 */
    char name[256];        /* of the device */
    unsigned architecture; /* 90 is sm_90 */
    unsigned multiprocessors;
    uint64_t cache_bytes; /* of the L2 cache */
    unsigned clock_khz;
} GpuDriver;

/* CUfunction_attribute */
enum { FUNCTION_SHARED = 1, FUNCTION_LOCAL_BYTES = 3, FUNCTION_REGISTERS = 4, FUNCTION_MOST_DYNAMIC_SHARED = 8 };
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };                                        /* CUjit_option */

/* Opens $PTXOPT_CUDA_DRIVER or libcuda.so.1 and makes device 'ordinal' current.  False, with a message that says what
 * is missing, if there is no driver or no such device. */
bool gpu_driver_open(GpuDriver *driver, int ordinal, Buf *message);
/* "CUDA_ERROR_INVALID_PTX (218)". */
void gpu_error_print(const GpuDriver *driver, int error, Buf *text);

/* Fills the L2 cache with data that no kernel uses, and that memory has as well: a kernel would pay for what is still
 * to be written back. */
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
