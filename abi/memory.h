/* Structures of CUDA's interfaces for copies, arrays, textures, and what is asked about memory. */
#ifndef PTXOPT_ABI_MEMORY_H
#define PTXOPT_ABI_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* CUmemorytype */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 };

/* One half of CUDA_MEMCPY3D and of CUDA_MEMCPY3D_PEER, whose reserved member is a context */
typedef struct CopyPlace {
    size_t x, y, z, level; /* x in bytes */
    int memory;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} CopyPlace;

/* CUDA_MEMCPY3D */
typedef struct Copy3D {
    CopyPlace from, to;
    size_t width, height, depth; /* width in bytes */
} Copy3D;

/* One half of CUDA_MEMCPY2D */
typedef struct CopyPlace2D {
    size_t x, y;
    int memory;
    void *host;
    uint64_t device;
    void *array;
    size_t pitch;
} CopyPlace2D;

/* CUDA_MEMCPY2D */
typedef struct Copy2D {
    CopyPlace2D from, to;
    size_t width, height;
} Copy2D;

/* CUDA_ARRAY_DESCRIPTOR */
typedef struct ArrayShape2D {
    size_t width, height;
    int format;
    unsigned channels;
} ArrayShape2D;

/* CUDA_ARRAY3D_DESCRIPTOR */
typedef struct ArrayShape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} ArrayShape;

enum { ARRAY_LAYERED = 1, ARRAY_CUBEMAP = 4 };

/* CUresourcetype, cudaResourceType */
enum { RESOURCE_ARRAY = 0, RESOURCE_MIPMAPPED = 1, RESOURCE_LINEAR = 2, RESOURCE_PITCHED = 3 };

/* CUDA_RESOURCE_DESC */
typedef struct Resource {
    int kind;
    union {
        void *array;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    };
    unsigned flags;
} Resource;

/* CUDA_TEXTURE_DESC */
typedef struct Sampling {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most, border[4];
    int reserved[12];
} Sampling;

enum { SAMPLE_INTEGERS = 1, SAMPLE_NORMALIZED = 2 };

/* cudaChannelFormatDesc, with the bits of each channel */
typedef struct ChannelFormat {
    int bits[4], kind;
} ChannelFormat;

enum { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT };

/* cudaResourceDesc */
typedef struct RuntimeResource {
    int kind;
    union {
        void *array;
        struct {
            void *address;
            ChannelFormat format;
            size_t bytes;
        } linear;
        struct {
            void *address;
            ChannelFormat format;
            size_t width, height, pitch;
        } pitched;
    };
} RuntimeResource;

/* cudaTextureDesc */
typedef struct RuntimeSampling {
    int address[3], filter, read_mode, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most;
} RuntimeSampling;

/* cudaPitchedPtr, cudaExtent, cudaPos */
typedef struct PitchedPointer {
    void *address;
    size_t pitch, width, height;
} PitchedPointer;

typedef struct Extent {
    size_t width, height, depth;
} Extent;

typedef struct Position3 {
    size_t x, y, z;
} Position3;

/* cudaMemcpy3DParms */
typedef struct RuntimeCopy3D {
    void *from_array;
    Position3 from_position;
    PitchedPointer from;
    void *to_array;
    Position3 to_position;
    PitchedPointer to;
    Extent extent;
    int direction;
} RuntimeCopy3D;

/* cudaMemcpy3DPeerParms */
typedef struct RuntimeCopy3DPeer {
    void *from_array;
    Position3 from_position;
    PitchedPointer from;
    int from_device;
    void *to_array;
    Position3 to_position;
    PitchedPointer to;
    int to_device;
    Extent extent;
} RuntimeCopy3DPeer;

/* CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams */
typedef struct Fill {
    uint64_t address;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height;
} Fill;

/* CUDA_HOST_NODE_PARAMS, cudaHostNodeParams */
typedef struct HostCall {
    void (*function)(void *data);
    void *data;
} HostCall;

/* CUmemLocation, cudaMemLocation */
typedef struct MemoryLocation {
    int kind, id;
} MemoryLocation;

/* cudaPointerAttributes; that of CUDA 13 goes on with eight reserved words */
typedef struct PointerAttributes {
    int kind, device;
    void *device_address, *host_address;
} PointerAttributes;

/* cudaFuncAttributes up to what CUDA 11.0 has, and CUDA 13's */
typedef struct FunctionAttributes {
    size_t shared, constant, local;
    int most_threads, registers, ptx_version, binary_version, cache_mode, most_dynamic_shared, shared_carveout;
    int needs_cluster, cluster[3], cluster_policy, allows_large_clusters, reserved[16];
} FunctionAttributes;

#endif
