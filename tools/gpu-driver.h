/* The part of the CUDA driver API that launching and timing kernels needs, opened at run time: building needs no part
 * of CUDA, and running needs only a driver.  The few declarations follow the CUDA driver API manual. */
#ifndef PTXOPT_TOOLS_GPU_DRIVER_H
#define PTXOPT_TOOLS_GPU_DRIVER_H

#include "support/support.h"

enum { CUDA_DONE = 0 };

typedef uint64_t DevicePointer;

typedef struct GpuDriver {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int length, int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*context_synchronize)(void);
    int (*module_load)(void **module, const void *image, unsigned count, int *options, void **values);
    int (*module_unload)(void *module);
    int (*module_function)(void **function, void *module, const char *name);
    int (*module_global)(DevicePointer *address, size_t *size, void *module, const char *name);
    int (*function_attribute)(int *value, int attribute, void *function);
    int (*function_set)(void *function, int attribute, int value);
    int (*memory_alloc)(DevicePointer *address, size_t size);
    int (*memory_free)(DevicePointer address);
    int (*copy_in)(DevicePointer to, const void *from, size_t size);
    int (*copy_out)(void *to, DevicePointer from, size_t size);
    int (*copy_within)(DevicePointer to, DevicePointer from, size_t size, void *stream);
    int (*fill)(DevicePointer to, unsigned char value, size_t count, void *stream);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                  unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
    int (*event_create)(void **event, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_synchronize)(void *event);
    int (*event_elapsed)(float *milliseconds, void *start, void *end);
    int (*error_name)(int error, const char **name); /* NULL in old drivers */
    /* Arrays, texture and surface objects (gpu-images.h); texture_create is NULL if the driver lacks any of them. */
    int (*array_create)(void **array, const void *shape);
    int (*array_destroy)(void *array);
    int (*copy_3d)(const void *copy);
    int (*texture_create)(uint64_t *handle, const void *resource, const void *sampling, const void *view);
    int (*texture_destroy)(uint64_t handle);
    int (*surface_create)(uint64_t *handle, const void *resource);
    int (*surface_destroy)(uint64_t handle);

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
