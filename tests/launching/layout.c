/* Compiles only if the structures in abi/ match those of the CUDA headers. Only kernel nodes of the newest driver have
 * 'kern' and 'ctx'. */
#include <cuda.h>
#include <driver_types.h>
#include <texture_types.h>

#include "runtime/runtime.h"

#define SAME(TYPE, MEMBER, OWN, OWN_MEMBER)                                                                            \
    _Static_assert(offsetof(TYPE, MEMBER) == offsetof(OWN, OWN_MEMBER), #TYPE "." #MEMBER)

SAME(CUDA_KERNEL_NODE_PARAMS, func, KernelNode, function);
SAME(CUDA_KERNEL_NODE_PARAMS, gridDimX, KernelNode, grid);
SAME(CUDA_KERNEL_NODE_PARAMS, blockDimX, KernelNode, block);
SAME(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes, KernelNode, shared);
SAME(CUDA_KERNEL_NODE_PARAMS, kernelParams, KernelNode, arguments);
SAME(CUDA_KERNEL_NODE_PARAMS, extra, KernelNode, extra);
SAME(struct cudaKernelNodeParams, func, KernelNode, function);
SAME(struct cudaKernelNodeParams, gridDim, KernelNode, grid);
SAME(struct cudaKernelNodeParams, blockDim, KernelNode, block);
SAME(struct cudaKernelNodeParams, sharedMemBytes, KernelNode, shared);
SAME(struct cudaKernelNodeParams, kernelParams, KernelNode, arguments);
SAME(struct cudaKernelNodeParams, extra, KernelNode, extra);
_Static_assert(sizeof(struct cudaKernelNodeParams) == offsetof(KernelNode, kernel), "cudaKernelNodeParams");
#if CUDA_VERSION >= 12000
SAME(CUDA_KERNEL_NODE_PARAMS, kern, KernelNode, kernel);
SAME(CUDA_KERNEL_NODE_PARAMS, ctx, KernelNode, context);
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(KernelNode), "CUDA_KERNEL_NODE_PARAMS");
#endif
#if CUDA_VERSION >= 12020
SAME(CUgraphNodeParams, kernel, AnyNode, kernel);
SAME(CUgraphNodeParams, reserved2, AnyNode, more_padding);
SAME(struct cudaGraphNodeParams, kernel, AnyNode, kernel);
SAME(CUgraphNodeParams, alloc.bytesize, AnyNode, memory.size);
SAME(CUgraphNodeParams, alloc.dptr, AnyNode, memory.address);
_Static_assert((int)CU_GRAPH_NODE_TYPE_MEM_ALLOC == (int)ALLOCATION_NODE, "the driver's type of allocations");
_Static_assert(sizeof(CUgraphNodeParams) == sizeof(AnyNode), "CUgraphNodeParams");
_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(AnyNode), "cudaGraphNodeParams");
_Static_assert((int)cudaGraphNodeTypeKernel == (int)KERNEL_NODE, "the runtime's type of kernels' nodes");
_Static_assert((int)CU_GRAPH_NODE_TYPE_KERNEL == (int)KERNEL_NODE, "the driver's type of kernels' nodes");
#endif
#if CUDA_VERSION >= 11080
SAME(cudaLaunchConfig_t, gridDim, LaunchConfig, grid);
SAME(cudaLaunchConfig_t, blockDim, LaunchConfig, block);
SAME(cudaLaunchConfig_t, dynamicSmemBytes, LaunchConfig, shared);
SAME(cudaLaunchConfig_t, stream, LaunchConfig, stream);
SAME(cudaLaunchConfig_t, attrs, LaunchConfig, attributes);
SAME(cudaLaunchConfig_t, numAttrs, LaunchConfig, attribute_count);
_Static_assert(sizeof(cudaLaunchConfig_t) == sizeof(LaunchConfig), "cudaLaunchConfig_t");
SAME(CUlaunchConfig, gridDimX, DriverConfig, grid);
SAME(CUlaunchConfig, blockDimX, DriverConfig, block);
SAME(CUlaunchConfig, sharedMemBytes, DriverConfig, shared);
SAME(CUlaunchConfig, hStream, DriverConfig, stream);
SAME(CUlaunchConfig, attrs, DriverConfig, attributes);
SAME(CUlaunchConfig, numAttrs, DriverConfig, attribute_count);
_Static_assert(sizeof(CUlaunchConfig) == sizeof(DriverConfig), "CUlaunchConfig");
#endif

/* Copies, arrays, textures. */
SAME(CUDA_MEMCPY3D, srcXInBytes, Copy3D, from.x);
SAME(CUDA_MEMCPY3D, srcMemoryType, Copy3D, from.memory);
SAME(CUDA_MEMCPY3D, srcHost, Copy3D, from.host);
SAME(CUDA_MEMCPY3D, srcDevice, Copy3D, from.device);
SAME(CUDA_MEMCPY3D, srcArray, Copy3D, from.array);
SAME(CUDA_MEMCPY3D, srcPitch, Copy3D, from.pitch);
SAME(CUDA_MEMCPY3D, srcHeight, Copy3D, from.height);
SAME(CUDA_MEMCPY3D, dstXInBytes, Copy3D, to.x);
SAME(CUDA_MEMCPY3D, dstHeight, Copy3D, to.height);
SAME(CUDA_MEMCPY3D, WidthInBytes, Copy3D, width);
_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(Copy3D), "CUDA_MEMCPY3D");
_Static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(Copy3D), "CUDA_MEMCPY3D_PEER");
SAME(CUDA_MEMCPY2D, srcMemoryType, Copy2D, from.memory);
SAME(CUDA_MEMCPY2D, srcPitch, Copy2D, from.pitch);
SAME(CUDA_MEMCPY2D, dstXInBytes, Copy2D, to.x);
SAME(CUDA_MEMCPY2D, dstPitch, Copy2D, to.pitch);
SAME(CUDA_MEMCPY2D, WidthInBytes, Copy2D, width);
_Static_assert(sizeof(CUDA_MEMCPY2D) == sizeof(Copy2D), "CUDA_MEMCPY2D");
SAME(CUDA_ARRAY_DESCRIPTOR, NumChannels, ArrayShape2D, channels);
SAME(CUDA_ARRAY3D_DESCRIPTOR, Depth, ArrayShape, depth);
SAME(CUDA_ARRAY3D_DESCRIPTOR, Format, ArrayShape, format);
SAME(CUDA_ARRAY3D_DESCRIPTOR, Flags, ArrayShape, flags);
SAME(CUDA_RESOURCE_DESC, res.array.hArray, Resource, array);
SAME(CUDA_RESOURCE_DESC, res.linear.numChannels, Resource, linear.channels);
SAME(CUDA_RESOURCE_DESC, res.linear.sizeInBytes, Resource, linear.bytes);
SAME(CUDA_RESOURCE_DESC, res.pitch2D.width, Resource, pitched.width);
SAME(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes, Resource, pitched.pitch);
SAME(CUDA_RESOURCE_DESC, flags, Resource, flags);
SAME(CUDA_TEXTURE_DESC, filterMode, Sampling, filter);
SAME(CUDA_TEXTURE_DESC, flags, Sampling, flags);
SAME(CUDA_TEXTURE_DESC, borderColor, Sampling, border);
_Static_assert(sizeof(CUDA_TEXTURE_DESC) == sizeof(Sampling), "CUDA_TEXTURE_DESC");
SAME(struct cudaResourceDesc, res.linear.sizeInBytes, RuntimeResource, linear.bytes);
SAME(struct cudaResourceDesc, res.pitch2D.desc, RuntimeResource, pitched.format);
SAME(struct cudaResourceDesc, res.pitch2D.pitchInBytes, RuntimeResource, pitched.pitch);
SAME(struct cudaTextureDesc, readMode, RuntimeSampling, read_mode);
SAME(struct cudaTextureDesc, borderColor, RuntimeSampling, border);
SAME(struct cudaTextureDesc, normalizedCoords, RuntimeSampling, normalized);
SAME(struct cudaTextureDesc, maxMipmapLevelClamp, RuntimeSampling, mipmap_most);
SAME(struct cudaMemcpy3DParms, srcPos, RuntimeCopy3D, from_position);
SAME(struct cudaMemcpy3DParms, srcPtr, RuntimeCopy3D, from);
SAME(struct cudaMemcpy3DParms, dstArray, RuntimeCopy3D, to_array);
SAME(struct cudaMemcpy3DParms, extent, RuntimeCopy3D, extent);
SAME(struct cudaMemcpy3DParms, kind, RuntimeCopy3D, direction);
SAME(struct cudaMemcpy3DPeerParms, dstDevice, RuntimeCopy3DPeer, to_device);
SAME(struct cudaMemcpy3DPeerParms, extent, RuntimeCopy3DPeer, extent);
SAME(CUDA_MEMSET_NODE_PARAMS, elementSize, Fill, element_size);
SAME(CUDA_MEMSET_NODE_PARAMS, height, Fill, height);
SAME(struct cudaMemsetParams, dst, Fill, address);
SAME(struct cudaMemsetParams, height, Fill, height);
SAME(CUDA_HOST_NODE_PARAMS, userData, HostCall, data);
SAME(struct cudaHostNodeParams, userData, HostCall, data);
_Static_assert(sizeof(struct cudaChannelFormatDesc) == sizeof(ChannelFormat), "cudaChannelFormatDesc");
SAME(struct cudaPitchedPtr, ysize, PitchedPointer, height);
SAME(struct cudaPointerAttributes, hostPointer, PointerAttributes, host_address);
SAME(struct cudaFuncAttributes, numRegs, FunctionAttributes, registers);
SAME(struct cudaFuncAttributes, preferredShmemCarveout, FunctionAttributes, shared_carveout);
#if CUDA_VERSION >= 12000
SAME(struct cudaFuncAttributes, clusterDimMustBeSet, FunctionAttributes, needs_cluster);
_Static_assert(sizeof(struct cudaFuncAttributes) == sizeof(FunctionAttributes), "cudaFuncAttributes");
SAME(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out, InstanceParameters, result);
SAME(CUgraphExecUpdateResultInfo, errorFromNode, UpdateResult, from_node);
#endif
#if CUDA_VERSION >= 12020
SAME(CUgraphNodeParams, memcpy.copyParams, AnyNode, copy.copy);
SAME(struct cudaGraphNodeParams, memcpy.copyParams, AnyNode, copy.copy);
SAME(CUgraphNodeParams, memset, AnyNode, fill);
SAME(CUgraphNodeParams, eventRecord.event, AnyNode, handle);
SAME(CUgraphNodeParams, free.dptr, AnyNode, address);
_Static_assert(sizeof(CUmemLocation) == sizeof(MemoryLocation), "CUmemLocation");
#endif
