/* Textures and surfaces of a launch file as texture and surface objects of the CUDA driver. */
#ifndef PTXOPT_TIMING_IMAGES_H
#define PTXOPT_TIMING_IMAGES_H

#include "emulator/emulator.h"
#include "gpu/gpu.h"

/* One argument's objects on the device. */
typedef struct GpuImage {
    void *array;   /* its own or an earlier argument's; NULL: none */
    bool is_owner; /* of the array */
    uint64_t handle;
} GpuImage;

/* True if the image's memory is a plain device buffer, which the caller must supply: a texture over linear memory or
 * over an earlier buffer. */
bool gpu_image_wants_buffer(const Launch *launch, unsigned argument);
/* Makes the image of an argument: an array, unless an earlier argument has it, and the object. 'images' holds those of
 * the earlier arguments, 'buffer' is the memory where gpu_image_wants_buffer(). Returns a CUDA error, or -1 with
 * *problem set if the driver has no such object. */
int gpu_image_open(const GpuDriver *driver, const Launch *launch, unsigned argument, GpuImage *images,
                   DevicePointer buffer, const char **problem);
/* Copies all texels of an array to or from host memory. */
int gpu_image_write(const GpuDriver *driver, const LaunchArgument *argument, const GpuImage *image, const void *bytes);
int gpu_image_read(const GpuDriver *driver, const LaunchArgument *argument, const GpuImage *image, void *bytes);
void gpu_image_close(const GpuDriver *driver, const LaunchArgument *argument, GpuImage *image);

#endif
