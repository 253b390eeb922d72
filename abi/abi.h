/* Structures of CUDA's interfaces as they are in memory, where NVIDIA's headers may not be there: for the adapters and
 * for the emulated driver and runtime. tests/launching/layout.c compares them with the headers. */
#ifndef PTXOPT_ABI_H
#define PTXOPT_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "abi/memory.h"

/* dim3 */
typedef struct Dim3 {
    unsigned x, y, z;
} Dim3;

/* cudaLaunchConfig_t */
typedef struct LaunchConfig {
    Dim3 grid, block;
    size_t shared;
    void *stream, *attributes;
    unsigned attribute_count;
} LaunchConfig;

/* CUlaunchConfig */
typedef struct DriverConfig {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned attribute_count;
} DriverConfig;

static inline DriverConfig driver_config(const LaunchConfig *config, void *stream)
{
    return (DriverConfig){.grid = {config->grid.x, config->grid.y, config->grid.z},
                          .block = {config->block.x, config->block.y, config->block.z},
                          .shared = (unsigned)config->shared,
                          .stream = stream,
                          .attributes = config->attributes,
                          .attribute_count = config->attribute_count};
}

/* cudaKernelNodeParams and CUDA_KERNEL_NODE_PARAMS: only newer versions of the driver's have 'kernel' and 'context' */
typedef struct KernelNode {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
} KernelNode;

/* CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams */
typedef struct AllocationNode {
    size_t properties[13]; /* of the pool, and who has access */
    size_t size;
    uint64_t address;
} AllocationNode;

/* cudaGraphNodeParams and CUgraphNodeParams: the driver's has all of a kernel's node */
enum { KERNEL_NODE = 0, ALLOCATION_NODE = 10 };
typedef struct AnyNode {
    int type, reserved[3];
    union {
        long long padding[29];
        KernelNode kernel;
        struct {
            int flags, reserved[3];
            Copy3D copy; /* the driver's; where the runtime's has its own */
        } copy;
        Fill fill;
        HostCall host;
        AllocationNode memory;
        void *handle; /* a child graph or an event */
        uint64_t address; /* to free */
    };
    long long more_padding;
} AnyNode;

/* CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams */
typedef struct InstanceParameters {
    unsigned long long flags;
    void *stream, *node_at_fault;
    int result;
} InstanceParameters;

/* CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo */
typedef struct UpdateResult {
    int result;
    void *node, *from_node;
} UpdateResult;

#endif
