/* Names of CUDA 11 and before, for sources that a newer nvcc compiles: nvcc -include cuda11.h. NVIDIA describes them in
 * the CUDA Runtime API and the CUDA C++ Programming Guide of release 11.8.
 *
 * - cudaThreadSynchronize and the other cudaThread functions are those of the device.
 * - cudaDeviceProp has the members that CUDA 13 removed; their values are attributes of the device.
 * - cudaMemPrefetchAsync and cudaMemAdvise also take the number of a device.
 * - __shfl, __ballot, __any, __all and the other warp operations without a mask are those with one, over the lanes that
 *   execute them together.
 * - With CUDA11_TEXTURES defined, `texture<T, kind, mode> name;` at file scope is a variable of the device that holds a
 *   texture object. cudaBindTexture and its like make the object with the attributes that the variable has on the host,
 *   and copy it to the device; the tex functions read it there. So a binding is for launches after it, in all streams
 *   that wait for the default one, and a linear texture must begin at an address that a texture object may have. The
 *   word `texture` is then a macro.
 *
 * Not here: surface references, references by name (strings), in other compilation units (extern) or through the
 * driver (cuTexRef...), and mipmaps. */
#ifndef PTXOPT_CUDA11_H
#define PTXOPT_CUDA11_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#define cudaThreadExit cudaDeviceReset
#define cudaThreadGetCacheConfig cudaDeviceGetCacheConfig
#define cudaThreadGetLimit cudaDeviceGetLimit
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig
#define cudaThreadSetLimit cudaDeviceSetLimit
#define cudaThreadSynchronize cudaDeviceSynchronize

#if defined(__CUDACC__) && defined(__cplusplus)

#if CUDART_VERSION >= 13000
struct cuda11_device_properties : cudaDeviceProp {
    int clockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode, memoryClockRate, maxTexture1DLinear,
        singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};

static inline cudaError_t cudaGetDeviceProperties(cuda11_device_properties *properties, int device)
{
    int *const members[] = {&properties->clockRate,       &properties->deviceOverlap,
                            &properties->kernelExecTimeoutEnabled, &properties->computeMode,
                            &properties->memoryClockRate, &properties->maxTexture1DLinear,
                            &properties->singleToDoublePrecisionPerfRatio};
    const cudaDeviceAttr attributes[] = {cudaDevAttrClockRate,       cudaDevAttrGpuOverlap,
                                         cudaDevAttrKernelExecTimeout, cudaDevAttrComputeMode,
                                         cudaDevAttrMemoryClockRate, cudaDevAttrMaxTexture1DLinearWidth,
                                         cudaDevAttrSingleToDoublePrecisionPerfRatio};
    cudaError_t error = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(properties), device);
    properties->cooperativeMultiDeviceLaunch = 0;
    for (unsigned i = 0; i < sizeof members / sizeof *members && error == cudaSuccess; i++)
        error = cudaDeviceGetAttribute(members[i], attributes[i], device);
    return error;
}
#define cudaDeviceProp cuda11_device_properties

static inline cudaMemLocation cuda11_location(int device)
{
    cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

static inline cudaError_t cudaMemPrefetchAsync(const void *memory, size_t size, int device, cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(memory, size, cuda11_location(device), 0, stream);
}

static inline cudaError_t cudaMemAdvise(const void *memory, size_t size, cudaMemoryAdvise advice, int device)
{
    return cudaMemAdvise(memory, size, advice, cuda11_location(device));
}
#endif

/* For the host's pass and before sm_70, the toolkit has them, with warnings. */
#pragma nv_diag_suppress 1444
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
/* Templates, because the compiler takes functions of these names for instructions without a mask. */
#define CUDA11_VOTE(name) \
    template <typename T> static __device__ __forceinline__ int name(T predicate) \
    { \
        return name##_sync(__activemask(), predicate ? 1 : 0); \
    }
CUDA11_VOTE(__all)
CUDA11_VOTE(__any)
#define __ballot(predicate) __ballot_sync(__activemask(), predicate) /* this one is declared */

#define CUDA11_SHUFFLE(name, Lane) \
    template <typename T> static __device__ __forceinline__ T name(T value, Lane lane, int width = warpSize) \
    { \
        return name##_sync(__activemask(), value, lane, width); \
    }
CUDA11_SHUFFLE(__shfl, int)
CUDA11_SHUFFLE(__shfl_down, unsigned)
CUDA11_SHUFFLE(__shfl_up, unsigned)
CUDA11_SHUFFLE(__shfl_xor, int)
#endif

#if defined(CUDA11_TEXTURES) && CUDART_VERSION >= 12000
/* The host reads and writes its copy of a variable of the device. */
#pragma nv_diag_suppress 20091, 20092

struct textureReference {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    cudaChannelFormatDesc channelDesc;
    int sRGB;
    cudaTextureReadMode cuda11_mode;
    bool cuda11_initialized;            /* the host's copy has what the definition says */
    cudaTextureObject_t cuda11_object;  /* 0: not bound */
};

template <typename T, int kind = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct cuda11_texture : textureReference {
    __host__ __device__ constexpr cuda11_texture(int is_normalized = 0,
                                                 cudaTextureFilterMode filter = cudaFilterModePoint,
                                                 cudaTextureAddressMode address = cudaAddressModeClamp)
        : textureReference{is_normalized, filter, {address, address, address}, {}, 0, mode, false, 0}
    {
    }
};

/* Takes what the definition of a texture says: nvcc gives its arguments to the device's variable only. Members that the
 * program has set already stay. */
static inline cudaError_t cuda11_initialize(textureReference *texture)
{
    const cuda11_texture<int> usual;
    textureReference device;
    cudaError_t error = cudaMemcpyFromSymbol(&device, static_cast<const void *>(texture), sizeof device);
    if (error != cudaSuccess || texture->cuda11_initialized)
        return error;
    if (texture->normalized == usual.normalized)
        texture->normalized = device.normalized;
    if (texture->filterMode == usual.filterMode)
        texture->filterMode = device.filterMode;
    for (int i = 0; i < 3; i++)
        if (texture->addressMode[i] == usual.addressMode[i])
            texture->addressMode[i] = device.addressMode[i];
    texture->cuda11_initialized = true;
    return cudaSuccess;
}

static inline cudaError_t cudaUnbindTexture(const textureReference *reference)
{
    textureReference *texture = const_cast<textureReference *>(reference);
    cudaError_t error = texture->cuda11_object ? cudaDestroyTextureObject(texture->cuda11_object) : cudaSuccess;
    texture->cuda11_object = 0;
    return error;
}

static inline cudaError_t cuda11_bind(const textureReference *reference, const cudaResourceDesc *resource)
{
    textureReference *texture = const_cast<textureReference *>(reference);
    cudaTextureDesc sampling = {};
    cudaError_t error = cudaUnbindTexture(texture);
    if (error == cudaSuccess)
        error = cuda11_initialize(texture);
    for (int i = 0; i < 3; i++)
        sampling.addressMode[i] = texture->addressMode[i];
    sampling.filterMode = texture->filterMode;
    sampling.readMode = texture->cuda11_mode;
    sampling.sRGB = texture->sRGB;
    sampling.normalizedCoords = texture->normalized;
    if (error == cudaSuccess)
        error = cudaCreateTextureObject(&texture->cuda11_object, resource, &sampling, NULL);
    return error != cudaSuccess ? error
                                : cudaMemcpyToSymbol(static_cast<const void *>(texture), texture, sizeof *texture);
}

/* The bytes from the address to the end of its allocation. */
static inline size_t cuda11_bytes_after(const void *memory)
{
    typedef int Range(unsigned long long *, size_t *, unsigned long long);
    void *range = NULL;
    unsigned long long begin = 0, address = reinterpret_cast<unsigned long long>(memory);
    size_t size = 0;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 13000
    cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &range, 12000, cudaEnableDefault, &result);
#else
    cudaGetDriverEntryPoint("cuMemGetAddressRange", &range, cudaEnableDefault, &result);
#endif
    return range && !reinterpret_cast<Range *>(range)(&begin, &size, address) ? size_t(begin + size - address) : 0;
}

static inline cudaError_t cudaBindTexture(size_t *offset, const textureReference *texture, const void *memory,
                                          const cudaChannelFormatDesc *format, size_t size = 0xffffffff)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<void *>(memory);
    resource.res.linear.desc = *format;
    resource.res.linear.sizeInBytes = size == 0xffffffff ? cuda11_bytes_after(memory) : size;
    if (offset)
        *offset = 0;
    return cuda11_bind(texture, &resource);
}

static inline cudaError_t cudaBindTexture2D(size_t *offset, const textureReference *texture, const void *memory,
                                            const cudaChannelFormatDesc *format, size_t width, size_t height,
                                            size_t pitch)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = const_cast<void *>(memory);
    resource.res.pitch2D.desc = *format;
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    if (offset)
        *offset = 0;
    return cuda11_bind(texture, &resource);
}

static inline cudaError_t cudaBindTextureToArray(const textureReference *texture, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc *)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    return cuda11_bind(texture, &resource);
}

static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const textureReference *)
{
    *offset = 0;
    return cudaSuccess;
}

static inline cudaError_t cudaGetTextureReference(const textureReference **texture, const void *symbol)
{
    *texture = static_cast<const textureReference *>(symbol);
    return cudaSuccess;
}

/* The format, or, if it is that of a variable that the program has not set, the one of T. */
template <typename T> static inline cudaChannelFormatDesc cuda11_format(const cudaChannelFormatDesc &format)
{
    return format.x ? format : cudaCreateChannelDesc<T>();
}

/* The forms that take variables, with a format or without one. */
template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture(size_t *offset, const cuda11_texture<T, kind, mode> &texture,
                                          const void *memory, const cudaChannelFormatDesc &format,
                                          size_t size = 0xffffffff)
{
    const cudaChannelFormatDesc texel = cuda11_format<T>(format);
    return cudaBindTexture(offset, &texture, memory, &texel, size);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture(size_t *offset, const cuda11_texture<T, kind, mode> &texture,
                                          const void *memory, size_t size = 0xffffffff)
{
    return cudaBindTexture(offset, texture, memory, cudaCreateChannelDesc<T>(), size);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture2D(size_t *offset, const cuda11_texture<T, kind, mode> &texture,
                                            const void *memory, const cudaChannelFormatDesc &format, size_t width,
                                            size_t height, size_t pitch)
{
    const cudaChannelFormatDesc texel = cuda11_format<T>(format);
    return cudaBindTexture2D(offset, &texture, memory, &texel, width, height, pitch);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTexture2D(size_t *offset, const cuda11_texture<T, kind, mode> &texture,
                                            const void *memory, size_t width, size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, texture, memory, cudaCreateChannelDesc<T>(), width, height, pitch);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTextureToArray(const cuda11_texture<T, kind, mode> &texture, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc &format)
{
    return cudaBindTextureToArray(&texture, array, &format);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaBindTextureToArray(const cuda11_texture<T, kind, mode> &texture, cudaArray_const_t array)
{
    return cudaBindTextureToArray(&texture, array, NULL);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaUnbindTexture(const cuda11_texture<T, kind, mode> &texture)
{
    return cudaUnbindTexture(&texture);
}

template <typename T, int kind, cudaTextureReadMode mode>
static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const cuda11_texture<T, kind, mode> &texture)
{
    return cudaGetTextureAlignmentOffset(offset, &texture);
}

/* The type of what the tex functions read: T, or floats from 0 or -1 to 1. */
template <typename T, cudaTextureReadMode mode> struct cuda11_texel {
    typedef T type;
};
#define CUDA11_NORMALIZED(T, into) \
    template <> struct cuda11_texel<T, cudaReadModeNormalizedFloat> { \
        typedef into type; \
    }
#define CUDA11_NORMALIZED_VECTORS(T) \
    CUDA11_NORMALIZED(T##1, float1); \
    CUDA11_NORMALIZED(T##2, float2); \
    CUDA11_NORMALIZED(T##4, float4)
CUDA11_NORMALIZED(char, float);
CUDA11_NORMALIZED(signed char, float);
CUDA11_NORMALIZED(unsigned char, float);
CUDA11_NORMALIZED(short, float);
CUDA11_NORMALIZED(unsigned short, float);
CUDA11_NORMALIZED_VECTORS(char);
CUDA11_NORMALIZED_VECTORS(uchar);
CUDA11_NORMALIZED_VECTORS(short);
CUDA11_NORMALIZED_VECTORS(ushort);

#define CUDA11_PASS(...) __VA_ARGS__
#define CUDA11_READ(name, kind, parameters, arguments) \
    template <typename T, cudaTextureReadMode mode> \
    static __device__ __forceinline__ typename cuda11_texel<T, mode>::type name( \
        const cuda11_texture<T, kind, mode> &texture, CUDA11_PASS parameters) \
    { \
        return name<typename cuda11_texel<T, mode>::type>(texture.cuda11_object, CUDA11_PASS arguments); \
    }
CUDA11_READ(tex1Dfetch, cudaTextureType1D, (int x), (x))
CUDA11_READ(tex1D, cudaTextureType1D, (float x), (x))
CUDA11_READ(tex2D, cudaTextureType2D, (float x, float y), (x, y))
CUDA11_READ(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
CUDA11_READ(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
CUDA11_READ(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer))
CUDA11_READ(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
CUDA11_READ(tex1DLod, cudaTextureType1D, (float x, float level), (x, level))
CUDA11_READ(tex2DLod, cudaTextureType2D, (float x, float y, float level), (x, y, level))
CUDA11_READ(tex3DLod, cudaTextureType3D, (float x, float y, float z, float level), (x, y, z, level))

#define texture __device__ cuda11_texture
#endif

#endif

#endif
