/* Opening the CUDA driver library and a device. */
#include "gpu/gpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* CUdevice_attribute. */
enum {
    DEVICE_CLOCK_RATE = 13,
    DEVICE_MULTIPROCESSORS = 16,
    DEVICE_CACHE_BYTES = 38,
    DEVICE_MAJOR = 75,
    DEVICE_MINOR = 76,
};

static bool find_functions(GpuDriver *driver, void *library, Buf *message)
{
    const struct {
        const char *name;
        void *place;
        bool optional;
    } wanted[] = {
#define DRIVER_FUNCTION(name, symbol, parameters, is_optional) {symbol, &driver->name, is_optional},
#include "abi/driver.def"
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        void *function = dlsym(library, wanted[i].name);
        if (!function && !wanted[i].optional) {
            buf_printf(message, "%s has no %s: not a CUDA driver, or one that is too old", driver->path,
                       wanted[i].name);
            return false;
        }
        memcpy(wanted[i].place, &function, sizeof function);
    }
    if (!driver->array_create || !driver->array_destroy || !driver->copy_3d || !driver->texture_destroy ||
        !driver->surface_create || !driver->surface_destroy)
        driver->texture_create = NULL;
    return true;
}

void gpu_error_print(const GpuDriver *driver, int error, Buf *text)
{
    const char *name = NULL;
    if (driver->error_name && driver->error_name(error, &name) == CUDA_DONE && name)
        buf_printf(text, "%s (%d)", name, error);
    else
        buf_printf(text, "CUDA error %d", error);
}

static unsigned attribute(const GpuDriver *driver, int which, int device)
{
    int value = 0;
    return driver->device_attribute(&value, which, device) == CUDA_DONE && value > 0 ? (unsigned)value : 0;
}

static bool take_device(GpuDriver *driver, int ordinal, Buf *message)
{
    int count = 0, device = 0;
    void *context = NULL;
    int error = driver->device_count(&count);
    if (error == CUDA_DONE && ordinal >= count) {
        if (count == 0)
            buf_puts(message, "the CUDA driver is here, but no GPU");
        else
            buf_printf(message, "no GPU number %d: there %s %d, counted from 0", ordinal, count == 1 ? "is" : "are",
                       count);
        return false;
    }
    if (error == CUDA_DONE)
        error = driver->device_get(&device, ordinal);
    if (error == CUDA_DONE)
        error = driver->device_name(driver->name, sizeof driver->name, device);
    if (error == CUDA_DONE)
        error = driver->context_retain(&context, device);
    if (error == CUDA_DONE)
        error = driver->context_set(context);
    if (error != CUDA_DONE) {
        buf_printf(message, "cannot use GPU number %d: ", ordinal);
        gpu_error_print(driver, error, message);
        return false;
    }
    driver->name[sizeof driver->name - 1] = 0;
    driver->architecture = 10 * attribute(driver, DEVICE_MAJOR, device) + attribute(driver, DEVICE_MINOR, device);
    driver->multiprocessors = attribute(driver, DEVICE_MULTIPROCESSORS, device);
    driver->cache_bytes = attribute(driver, DEVICE_CACHE_BYTES, device);
    driver->clock_khz = attribute(driver, DEVICE_CLOCK_RATE, device);
    return true;
}

bool gpu_driver_open(GpuDriver *driver, int ordinal, Buf *message)
{
    const char *named = getenv("PTXOPT_CUDA_DRIVER");
    *driver = (GpuDriver){.path = named && *named ? named : "libcuda.so.1"};
    /* Never closed: a driver that has been initialized runs threads. */
    void *library = dlopen(driver->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        buf_printf(message, "no CUDA driver here: %s", reason ? reason : driver->path);
        return false;
    }
    if (!find_functions(driver, library, message))
        return false;
    int number = 0, error = driver->init(0);
    if (error != CUDA_DONE) {
        buf_puts(message, "the CUDA driver does not start: ");
        gpu_error_print(driver, error, message);
        return false;
    }
    driver->driver_version(&number);
    driver->version = (unsigned)number;
    return take_device(driver, ordinal, message);
}
