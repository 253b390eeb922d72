/* The device, and queries about it. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/clock.h"
#include "emulated/driver.h"
#include "emulated/driver_api.h"
#include "emulated/log.h"

bool failure_is(const char *name)
{
    const char *mode = getenv("PTXOPT_EMULATED_FAILURE");
    return mode && strcmp(mode, name) == 0;
}

/* Keeps the memory that a launch has freed for the next one: glibc would return it to the system each time, which took
 * more than half of the time of small launches. */
static void memory_keep(void)
{
#ifdef __GLIBC__
    enum { KEPT = 256 << 20, STEP = 16 << 20 };
    if (!getenv("MALLOC_TRIM_THRESHOLD_") && !getenv("GLIBC_TUNABLES")) {
        mallopt(M_TRIM_THRESHOLD, KEPT);
        mallopt(M_TOP_PAD, STEP);
    }
#endif
}

int cuInit(unsigned flags)
{
    if (flags)
        return INVALID_VALUE;
    memory_keep();
    return failure_is("no-init") || !clock_open() || !checks_open() || !pages_open() || !log_open() ? NO_DEVICE : DONE;
}

int cuDriverGetVersion(int *version)
{
    if (!version)
        return INVALID_VALUE;
    *version = 13000;
    return DONE;
}

int cuDeviceGetCount(int *count)
{
    *count = failure_is("no-device") ? 0 : 1;
    return DONE;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? INVALID_DEVICE : DONE;
}

int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Emulated GPU");
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int numbers[] = {
#define ATTRIBUTE(number, value) number,
#include "emulated/device_attributes.def"
#undef ATTRIBUTE
    };
    const SmLimits *sm = sm_limits_for(DEVICE_ARCHITECTURE);
    const Device *modelled = clock_device();
    const int64_t values[] = {
#define ATTRIBUTE(number, value) (value),
#include "emulated/device_attributes.def"
#undef ATTRIBUTE
    };
    enum { LAST = 147 };
    if (device)
        return INVALID_DEVICE;
    if (!value || attribute < 1 || attribute > LAST)
        return INVALID_VALUE;
    *value = 0;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (numbers[i] == attribute)
            *value = (int)values[i];
    return DONE;
}

int cuDeviceTotalMem_v2(size_t *size, int device)
{
    *size = (size_t)DEVICE_MEMORY;
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    *major = 9;
    *minor = 0;
    return device ? INVALID_DEVICE : DONE;
}

/* CUdevprop */
int cuDeviceGetProperties(void *properties, int device)
{
    static const int attributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    int *values = properties;
    for (size_t i = 0; i < COUNT_OF(attributes); i++)
        cuDeviceGetAttribute(&values[i], attributes[i], 0);
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceGetUuid_v2(char *uuid, int device)
{
    memcpy(uuid, "ptxopt emulated.", 16);
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceGetUuid(char *uuid, int device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

int cuDeviceGetPCIBusId(char *text, int length, int device)
{
    snprintf(text, (size_t)length, "0000:00:00.0");
    return device ? INVALID_DEVICE : DONE;
}

int cuDeviceGetByPCIBusId(int *device, const char *text)
{
    *device = 0;
    return strcmp(text, "0000:00:00.0") == 0 || strcmp(text, "00:00.0") == 0 ? DONE : INVALID_VALUE;
}

/* There is only one device. */

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = 0;
    return device || peer ? INVALID_DEVICE : DONE;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    (void)attribute, (void)device, (void)peer;
    *value = 0;
    return INVALID_DEVICE;
}

int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    (void)context, (void)flags;
    return PEERS_UNSUPPORTED;
}

int cuCtxDisablePeerAccess(void *context)
{
    enum { NOT_ENABLED = 705 };
    (void)context;
    return NOT_ENABLED;
}

int cuDeviceGetExecAffinitySupport(int *is_supported, int kind, int device)
{
    (void)kind;
    *is_supported = 0;
    return device ? INVALID_DEVICE : DONE;
}

int cuProfilerStart(void)
{
    return DONE;
}

int cuProfilerStop(void)
{
    return DONE;
}

int cuFlushGPUDirectRDMAWrites(int target, int scope)
{
    (void)target, (void)scope;
    return DONE;
}
