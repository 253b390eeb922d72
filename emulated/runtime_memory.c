/* The runtime's memory: allocations, pools, arrays, and queries about pointers. */
#include <string.h>

#include "emulated/runtime.h"

/* Allocates nothing for no bytes, as in CUDA. */
int cudaMalloc(void **result, size_t size)
{
    uint64_t address = 0;
    int error = ready();
    if (!error && !result)
        error = INVALID_VALUE;
    if (!error && size)
        error = DRIVER(cuMemAlloc_v2)(&address, size);
    if (result)
        *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaFree(void *memory)
{
    CALL(cuMemFree_v2, (uintptr_t)memory);
}

int cudaHostAlloc(void **result, size_t size, unsigned flags)
{
    if (!size) {
        *result = NULL;
        return fail(ready());
    }
    CALL(cuMemHostAlloc, result, size, flags);
}

int cudaMallocHost(void **result, size_t size)
{
    return cudaHostAlloc(result, size, 0);
}

int cudaFreeHost(void *memory)
{
    if (!memory)
        return fail(ready());
    CALL(cuMemFreeHost, memory);
}

int cudaHostRegister(void *memory, size_t size, unsigned flags)
{
    CALL(cuMemHostRegister_v2, memory, size, flags);
}

int cudaHostUnregister(void *memory)
{
    CALL(cuMemHostUnregister, memory);
}

int cudaHostGetDevicePointer(void **result, void *host, unsigned flags)
{
    uint64_t address = 0;
    int error = ready();
    if (!error)
        error = DRIVER(cuMemHostGetDevicePointer_v2)(&address, host, flags);
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaHostGetFlags(unsigned *flags, void *host)
{
    CALL(cuMemHostGetFlags, flags, host);
}

int cudaMallocManaged(void **result, size_t size, unsigned flags)
{
    uint64_t address = 0;
    int error = ready();
    if (!error)
        error = size ? DRIVER(cuMemAllocManaged)(&address, size, flags) : INVALID_VALUE;
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaMallocPitch(void **result, size_t *pitch, size_t width, size_t height)
{
    enum { ELEMENT = 4 };
    uint64_t address = 0;
    int error = ready();
    *pitch = 0;
    if (!error && width && height)
        error = DRIVER(cuMemAllocPitch_v2)(&address, pitch, width, height, ELEMENT);
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaMalloc3D(PitchedPointer *result, Extent extent)
{
    result->width = extent.width;
    result->height = extent.height;
    return cudaMallocPitch(&result->address, &result->pitch, extent.width, extent.height * extent.depth);
}

int cudaMemGetInfo(size_t *available, size_t *total)
{
    CALL(cuMemGetInfo_v2, available, total);
}

/* CUDA 13 passes a location, earlier versions pass a device. */

int cudaMemAdvise_v2(const void *address, size_t size, int advice, MemoryLocation location)
{
    CALL(cuMemAdvise_v2, (uintptr_t)address, size, advice, location);
}

int cudaMemPrefetchAsync_v2(const void *address, size_t size, MemoryLocation location, unsigned flags, void *stream)
{
    CALL(cuMemPrefetchAsync_v2, (uintptr_t)address, size, location, flags, stream);
}

#if RUNTIME_VERSION >= 13000
int cudaMemAdvise(const void *address, size_t size, int advice, MemoryLocation location)
{
    return cudaMemAdvise_v2(address, size, advice, location);
}

int cudaMemPrefetchAsync(const void *address, size_t size, MemoryLocation location, unsigned flags, void *stream)
{
    return cudaMemPrefetchAsync_v2(address, size, location, flags, stream);
}
#else
int cudaMemAdvise(const void *address, size_t size, int advice, int device)
{
    return cudaMemAdvise_v2(address, size, advice, (MemoryLocation){1, device});
}

int cudaMemPrefetchAsync(const void *address, size_t size, int device, void *stream)
{
    return cudaMemPrefetchAsync_v2(address, size, (MemoryLocation){1, device}, 0, stream);
}
#endif

int cudaMemRangeGetAttribute(void *data, size_t data_size, int attribute, const void *address, size_t size)
{
    CALL(cuMemRangeGetAttribute, data, data_size, attribute, (uintptr_t)address, size);
}

int cudaMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, const void *address,
                              size_t size)
{
    CALL(cuMemRangeGetAttributes, data, sizes, attributes, count, (uintptr_t)address, size);
}

/* Memory that was not allocated here is the host's. */
int cudaPointerGetAttributes(PointerAttributes *attributes, const void *address)
{
    enum { UNREGISTERED, HOST, DEVICE, MANAGED };
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8 };
    int kind = 0, error = ready();
    char is_managed = 0;
    if (error)
        return fail(error);
    *attributes = (PointerAttributes){.kind = UNREGISTERED, .device = -2, .host_address = (void *)address};
    if (DRIVER(cuPointerGetAttribute)(&kind, MEMORY_TYPE, (uintptr_t)address))
        return DONE;
    DRIVER(cuPointerGetAttribute)(&is_managed, IS_MANAGED, (uintptr_t)address);
    attributes->kind = is_managed ? MANAGED : kind == MEMORY_HOST ? HOST : DEVICE;
    attributes->device = 0;
    attributes->device_address = (void *)address;
    if (attributes->kind == DEVICE)
        attributes->host_address = NULL;
    return DONE;
}

/* Pools. */

int cudaMallocAsync(void **result, size_t size, void *stream)
{
    uint64_t address = 0;
    int error = ready();
    if (!error && size)
        error = DRIVER(cuMemAllocAsync)(&address, size, stream);
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaMallocFromPoolAsync(void **result, size_t size, void *pool, void *stream)
{
    uint64_t address = 0;
    int error = ready();
    if (!error && size)
        error = DRIVER(cuMemAllocFromPoolAsync)(&address, size, pool, stream);
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaFreeAsync(void *memory, void *stream)
{
    CALL(cuMemFreeAsync, (uintptr_t)memory, stream);
}

int cudaMemPoolCreate(void **pool, const void *properties)
{
    CALL(cuMemPoolCreate, pool, properties);
}

int cudaMemPoolDestroy(void *pool)
{
    CALL(cuMemPoolDestroy, pool);
}

int cudaMemPoolTrimTo(void *pool, size_t size)
{
    CALL(cuMemPoolTrimTo, pool, size);
}

int cudaMemPoolSetAttribute(void *pool, int attribute, void *value)
{
    CALL(cuMemPoolSetAttribute, pool, attribute, value);
}

int cudaMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    CALL(cuMemPoolGetAttribute, pool, attribute, value);
}

int cudaMemPoolSetAccess(void *pool, const void *access, size_t count)
{
    CALL(cuMemPoolSetAccess, pool, access, count);
}

int cudaMemPoolGetAccess(int *access, void *pool, const MemoryLocation *location)
{
    CALL(cuMemPoolGetAccess, access, pool, location);
}

int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    CALL(cuDeviceGetDefaultMemPool, pool, device);
}

int cudaDeviceGetMemPool(void **pool, int device)
{
    CALL(cuDeviceGetMemPool, pool, device);
}

int cudaDeviceSetMemPool(int device, void *pool)
{
    CALL(cuDeviceSetMemPool, device, pool);
}

int cudaMemGetDefaultMemPool(void **pool, const MemoryLocation *location, int kind)
{
    CALL(cuMemGetDefaultMemPool, pool, location, kind);
}

/* Arrays. */

/* CUarray_format of a channel, and the number of channels; 0: none. */
static int format_of(const ChannelFormat *format, unsigned *channels)
{
    static const int formats[3][3] = {{0x08, 0x09, 0x0a}, {0x01, 0x02, 0x03}, {0, 0x10, 0x20}};
    int bits = format->bits[0], size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : -1;
    *channels = 0;
    for (unsigned i = 0; i < 4; i++)
        *channels += format->bits[i] == bits;
    return size >= 0 && format->kind >= CHANNEL_SIGNED && format->kind <= CHANNEL_FLOAT ? formats[format->kind][size]
                                                                                        : 0;
}

static ChannelFormat channels_of(int format, unsigned channels)
{
    ChannelFormat result = {.kind = format >= 0x10   ? CHANNEL_FLOAT
                                    : format >= 0x08 ? CHANNEL_SIGNED
                                                     : CHANNEL_UNSIGNED};
    int size = format & 7, bits = format == 0x20                  ? 32
                                  : format == 0x10                ? 16
                                  : result.kind == CHANNEL_SIGNED ? 8 << size
                                                                  : 4 << size;
    for (unsigned i = 0; i < channels && i < 4; i++)
        result.bits[i] = bits;
    return result;
}

ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (ChannelFormat){{x, y, z, w}, kind};
}

int cudaMalloc3DArray(void **array, const ChannelFormat *format, Extent extent, unsigned flags)
{
    ArrayShape shape = {.width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    shape.format = format_of(format, &shape.channels);
    CALL(cuArray3DCreate_v2, array, &shape);
}

int cudaMallocArray(void **array, const ChannelFormat *format, size_t width, size_t height, unsigned flags)
{
    return cudaMalloc3DArray(array, format, (Extent){width, height, 0}, flags);
}

int cudaFreeArray(void *array)
{
    if (!array)
        return fail(ready());
    CALL(cuArrayDestroy, array);
}

int cudaMallocMipmappedArray(void **mipmaps, const ChannelFormat *format, Extent extent, unsigned levels,
                             unsigned flags)
{
    ArrayShape shape = {.width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    shape.format = format_of(format, &shape.channels);
    CALL(cuMipmappedArrayCreate, mipmaps, &shape, levels);
}

int cudaGetMipmappedArrayLevel(void **array, const void *mipmaps, unsigned level)
{
    CALL(cuMipmappedArrayGetLevel, array, (void *)mipmaps, level);
}

int cudaFreeMipmappedArray(void *mipmaps)
{
    CALL(cuMipmappedArrayDestroy, mipmaps);
}

int cudaArrayGetInfo(ChannelFormat *format, Extent *extent, unsigned *flags, void *array)
{
    ArrayShape shape = {0};
    int error = ready();
    if (!error)
        error = DRIVER(cuArray3DGetDescriptor_v2)(&shape, array);
    if (error)
        return fail(error);
    if (format)
        *format = channels_of(shape.format, shape.channels);
    if (extent)
        *extent = (Extent){shape.width, shape.height, shape.depth};
    if (flags)
        *flags = shape.flags;
    return DONE;
}

int cudaGetChannelDesc(ChannelFormat *format, const void *array)
{
    return cudaArrayGetInfo(format, NULL, NULL, (void *)array);
}

/* Textures and surfaces. */

static Resource resource_of(const RuntimeResource *given)
{
    Resource resource = {.kind = given->kind};
    unsigned channels;
    if (given->kind == RESOURCE_LINEAR) {
        resource.linear.format = format_of(&given->linear.format, &channels);
        resource.linear.channels = channels;
        resource.linear.address = (uintptr_t)given->linear.address;
        resource.linear.bytes = given->linear.bytes;
    } else if (given->kind == RESOURCE_PITCHED) {
        resource.pitched.format = format_of(&given->pitched.format, &channels);
        resource.pitched.channels = channels;
        resource.pitched.address = (uintptr_t)given->pitched.address;
        resource.pitched.width = given->pitched.width;
        resource.pitched.height = given->pitched.height;
        resource.pitched.pitch = given->pitched.pitch;
    } else {
        resource.array = given->array;
    }
    return resource;
}

static Sampling sampling_of(const RuntimeSampling *given)
{
    Sampling sampling = {.filter = given->filter, .anisotropy = given->anisotropy};
    memcpy(sampling.address, given->address, sizeof sampling.address);
    memcpy(sampling.border, given->border, sizeof sampling.border);
    sampling.flags = (given->read_mode ? 0 : SAMPLE_INTEGERS) | (given->normalized ? SAMPLE_NORMALIZED : 0);
    sampling.mipmap_filter = given->mipmap_filter;
    sampling.mipmap_bias = given->mipmap_bias;
    sampling.mipmap_least = given->mipmap_least;
    sampling.mipmap_most = given->mipmap_most;
    return sampling;
}

int cudaCreateTextureObject(uint64_t *handle, const RuntimeResource *given, const RuntimeSampling *sampling,
                            const void *view)
{
    const Resource resource = resource_of(given);
    const Sampling converted = sampling_of(sampling);
    CALL(cuTexObjectCreate, handle, &resource, &converted, view);
}

int cudaCreateTextureObject_v2(uint64_t *handle, const RuntimeResource *given, const RuntimeSampling *sampling,
                               const void *view)
{
    return cudaCreateTextureObject(handle, given, sampling, view);
}

int cudaDestroyTextureObject(uint64_t handle)
{
    CALL(cuTexObjectDestroy, handle);
}

int cudaCreateSurfaceObject(uint64_t *handle, const RuntimeResource *given)
{
    const Resource resource = resource_of(given);
    CALL(cuSurfObjectCreate, handle, &resource);
}

int cudaDestroySurfaceObject(uint64_t handle)
{
    CALL(cuSurfObjectDestroy, handle);
}

static int give_resource(RuntimeResource *result, const Resource *resource)
{
    result->kind = resource->kind;
    if (resource->kind == RESOURCE_LINEAR) {
        result->linear.address = (void *)(uintptr_t)resource->linear.address;
        result->linear.format = channels_of(resource->linear.format, resource->linear.channels);
        result->linear.bytes = resource->linear.bytes;
    } else if (resource->kind == RESOURCE_PITCHED) {
        result->pitched.address = (void *)(uintptr_t)resource->pitched.address;
        result->pitched.format = channels_of(resource->pitched.format, resource->pitched.channels);
        result->pitched.width = resource->pitched.width;
        result->pitched.height = resource->pitched.height;
        result->pitched.pitch = resource->pitched.pitch;
    } else {
        result->array = resource->array;
    }
    return DONE;
}

int cudaGetTextureObjectResourceDesc(RuntimeResource *result, uint64_t handle)
{
    Resource resource;
    int error = ready();
    if (!error)
        error = DRIVER(cuTexObjectGetResourceDesc)(&resource, handle);
    return error ? fail(error) : give_resource(result, &resource);
}

int cudaGetSurfaceObjectResourceDesc(RuntimeResource *result, uint64_t handle)
{
    Resource resource;
    int error = ready();
    if (!error)
        error = DRIVER(cuSurfObjectGetResourceDesc)(&resource, handle);
    return error ? fail(error) : give_resource(result, &resource);
}

/* The names for programs whose threads have default streams of their own. */
SAME(cudaFreeAsync_ptsz, cudaFreeAsync);
SAME(cudaMallocAsync_ptsz, cudaMallocAsync);
SAME(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync);
SAME(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);
SAME(cudaMemPrefetchAsync_v2_ptsz, cudaMemPrefetchAsync_v2);
