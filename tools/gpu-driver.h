/* The part of the CUDA driver API that launching and timing kernels needs, opened at run time: building needs no part
 * of CUDA, and running needs only a driver. The declarations, here and in abi/driver.def, follow the CUDA driver API
 * manual. */
#ifndef PTXOPT_TOOLS_GPU_DRIVER_H
#define PTXOPT_TOOLS_GPU_DRIVER_H

#include "support/support.h"

enum { CUDA_DONE = 0 };

typedef uint64_t DevicePointer;

#define DRIVER_OF_TOOLS
typedef struct GpuDriver {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) int (*name) parameters;
#include "abi/driver.def"
    /* error_name is NULL in old drivers; texture_create is NULL if the driver lacks any function for arrays,
     * textures or surfaces (gpu-images.h). */

    const char *path;      /* of the library */
    unsigned version;      /* 13000 is 13.0 */
    char name[256];        /* of the device */
    unsigned architecture; /* 90 is sm_90 */
    unsigned multiprocessors;
    uint64_t cache_bytes; /* of the L2 cache */
    unsigned clock_khz;
} GpuDriver;

enum { FUNCTION_LOCAL_BYTES = 3, FUNCTION_REGISTERS = 4, FUNCTION_MOST_DYNAMIC_SHARED = 8 }; /* CUfunction_attribute */
enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_SIZE = 6 };                                        /* CUjit_option */

/* Opens $PTXOPT_CUDA_DRIVER or libcuda.so.1 and makes device 'ordinal' current.  False, with a message that says what
 * is missing, if there is no driver or no such device. */
bool gpu_driver_open(GpuDriver *driver, int ordinal, Buf *message);
/* "CUDA_ERROR_INVALID_PTX (218)". */
void gpu_error_print(const GpuDriver *driver, int error, Buf *text);

#endif
