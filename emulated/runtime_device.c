/* The runtime's device: queries, limits, and settings that have no effect here. */
#include <stdio.h>
#include <string.h>

#include "emulated/runtime.h"

int cudaDriverGetVersion(int *version)
{
    if (!version)
        return fail(INVALID_VALUE);
    *version = 0;
    return ready() ? DONE : fail(DRIVER(cuDriverGetVersion)(version));
}

int cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return fail(INVALID_VALUE);
    *version = RUNTIME_VERSION;
    return DONE;
}

int cudaGetDeviceCount(int *count)
{
    int error = ready();
    *count = 0;
    if (!error)
        error = DRIVER(cuDeviceGetCount)(count);
    return fail(error ? error : *count ? DONE : NO_DEVICE);
}

int cudaGetDevice(int *device)
{
    *device = 0;
    return fail(ready());
}

int cudaSetDevice(int device)
{
    int error = ready();
    return fail(error ? error : device ? INVALID_DEVICE : DONE);
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

int cudaSetValidDevices(int *devices, int count)
{
    for (int i = 0; i < count; i++)
        if (devices[i])
            return fail(INVALID_DEVICE);
    return DONE;
}

int cudaChooseDevice(int *device, const void *properties)
{
    (void)properties;
    *device = 0;
    return fail(ready());
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    CALL(cuDeviceGetAttribute, value, attribute, device);
}

/* cudaDeviceProp: members in order, each an int or, aligned, a size. CUDA 12 added some, and 13 leaves some out. */

typedef enum Member { INTEGER, SIZE, TEXT } Member;

typedef struct Property {
    Member member;
    int attribute;   /* of the device; 0: TOTAL or none */
    int first, last; /* runtime versions that have it, in thousands; 0: any */
} Property;

enum { OLD = 11, MEDIUM = 12, NEW = 13, TEXT_BYTES = 256 + 16 + 8 };

static const Property properties[] = {
#define INTEGER(attribute) {INTEGER, attribute, 0, 0},
#define SIZE(attribute) {SIZE, attribute, 0, 0},
#define UNTIL_12(attribute) {INTEGER, attribute, 0, MEDIUM},
#define SINCE_12(attribute) {INTEGER, attribute, MEDIUM, 0},
#define SINCE_13(attribute) {INTEGER, attribute, NEW, 0},
#define ONLY_12 {INTEGER, 0, MEDIUM, MEDIUM},
#include "emulated/properties.def"
};

enum { SINCE_12_RESERVED = 60, SINCE_13_RESERVED = 56 };

static void put_property(char *to, size_t *at, const Property *property, int device)
{
    size_t size = property->member == SIZE ? sizeof(size_t) : sizeof(int), total = 0;
    int value = 0;
    *at = (*at + size - 1) / size * size;
    if (property->attribute)
        DRIVER(cuDeviceGetAttribute)(&value, property->attribute, device);
    else if (property->member == SIZE)
        DRIVER(cuDeviceTotalMem_v2)(&total, device);
    if (property->attribute)
        total = (size_t)value;
    if (property->member == SIZE)
        memcpy(to + *at, &total, size);
    else
        memcpy(to + *at, &value, size);
    *at += size;
}

static int get_properties(char *to, int device, int version)
{
    int error = ready();
    if (error || device)
        return fail(error ? error : INVALID_DEVICE);
    size_t at = TEXT_BYTES;
    memset(to, 0, TEXT_BYTES);
    DRIVER(cuDeviceGetName)(to, 256, device);
    DRIVER(cuDeviceGetUuid_v2)(to + 256, device);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if ((!properties[i].first || version >= properties[i].first) &&
            (!properties[i].last || version <= properties[i].last))
            put_property(to, &at, &properties[i], device);
    size_t reserved = version == MEDIUM ? SINCE_12_RESERVED : version >= NEW ? SINCE_13_RESERVED : 0;
    memset(to + at, 0, reserved * sizeof(int));
    return DONE;
}

/* Programs of CUDA 12 call the first function for the structure of CUDA 11. */
int cudaGetDeviceProperties(void *to, int device)
{
    return get_properties(to, device, RUNTIME_VERSION < 13000 ? OLD : NEW);
}

int cudaGetDeviceProperties_v2(void *to, int device)
{
    return get_properties(to, device, RUNTIME_VERSION < 13000 ? MEDIUM : NEW);
}

int cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    CALL(cuDeviceGetPCIBusId, text, length, device);
}

int cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    CALL(cuDeviceGetByPCIBusId, device, text);
}

int cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const ChannelFormat *format, int device)
{
    (void)format;
    CALL(cuDeviceGetTexture1DLinearMaxWidth, width, 0, 1, device);
}

/* Peers: there are none. */

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    CALL(cuDeviceCanAccessPeer, can, device, peer);
}

int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    return fail(INVALID_DEVICE);
}

int cudaDeviceDisablePeerAccess(int peer)
{
    enum { NOT_ENABLED = 705 };
    (void)peer;
    return fail(NOT_ENABLED);
}

int cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    CALL(cuDeviceGetP2PAttribute, value, attribute, device, peer);
}

/* Reset and settings. */

int cudaDeviceReset(void)
{
    int error = ready();
    if (!error)
        error = DRIVER(cuDevicePrimaryCtxReset_v2)(0);
    return fail(error);
}

int cudaThreadExit(void)
{
    return cudaDeviceReset();
}

int cudaSetDeviceFlags(unsigned flags)
{
    CALL(cuCtxSetFlags, flags);
}

int cudaGetDeviceFlags(unsigned *flags)
{
    CALL(cuCtxGetFlags, flags);
}

int cudaDeviceGetLimit(size_t *value, int limit)
{
    CALL(cuCtxGetLimit, value, limit);
}

int cudaDeviceSetLimit(int limit, size_t value)
{
    CALL(cuCtxSetLimit, limit, value);
}

int cudaThreadGetLimit(size_t *value, int limit)
{
    return cudaDeviceGetLimit(value, limit);
}

int cudaThreadSetLimit(int limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

int cudaDeviceGetCacheConfig(int *config)
{
    CALL(cuCtxGetCacheConfig, config);
}

int cudaDeviceSetCacheConfig(int config)
{
    CALL(cuCtxSetCacheConfig, config);
}

int cudaThreadGetCacheConfig(int *config)
{
    return cudaDeviceGetCacheConfig(config);
}

int cudaThreadSetCacheConfig(int config)
{
    return cudaDeviceSetCacheConfig(config);
}

int cudaDeviceGetSharedMemConfig(int *config)
{
    CALL(cuCtxGetSharedMemConfig, config);
}

int cudaDeviceSetSharedMemConfig(int config)
{
    CALL(cuCtxSetSharedMemConfig, config);
}

int cudaCtxResetPersistingL2Cache(void)
{
    CALL(cuCtxResetPersistingL2Cache);
}

int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
    CALL(cuFlushGPUDirectRDMAWrites, target, scope);
}

int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    CALL(cuDeviceGetGraphMemAttribute, device, attribute, value);
}

int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    CALL(cuDeviceSetGraphMemAttribute, device, attribute, value);
}

int cudaDeviceGraphMemTrim(int device)
{
    CALL(cuDeviceGraphMemTrim, device);
}

int cudaProfilerStart(void)
{
    CALL(cuProfilerStart);
}

int cudaProfilerStop(void)
{
    CALL(cuProfilerStop);
}

/* Today's devices have doubles. */

int cudaSetDoubleForDevice(double *value)
{
    (void)value;
    return DONE;
}

int cudaSetDoubleForHost(double *value)
{
    (void)value;
    return DONE;
}
