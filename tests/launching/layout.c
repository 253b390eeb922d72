/* Compiles where the structures in abi/ are those of the CUDA headers. Only kernel nodes of the newest driver have
 * 'kern' and 'ctx'. */
#include <cuda.h>
#include <driver_types.h>

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
