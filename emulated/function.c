/* Attributes of kernels, and the number of their blocks that the device holds. */
#include <string.h>

#include "emulated/driver.h"
#include "emulated/driver_api.h"

/* CUfunction_attribute */
enum {
    MOST_THREADS,
    STATIC_SHARED,
    CONSTANT,
    LOCAL,
    REGISTERS,
    PTX_VERSION,
    BINARY_VERSION,
    CACHE_MODE,
    DYNAMIC_SHARED,
    CARVEOUT,
    NEEDS_CLUSTER,
    CLUSTER_X,
    CLUSTER_Y,
    CLUSTER_Z,
    LARGE_CLUSTERS,
    CLUSTER_POLICY,
    ATTRIBUTE_COUNT
};

static int ptx_version(const Module *module)
{
    Arch arch = {0};
    return module->target_count && arch_parse(module->targets[0], &arch) ? (int)arch.number : 0;
}

static int cluster_size(const EmulatedFunction *function, int axis)
{
    const Tuning *tuning = &function->function->tuning;
    return !tuning->reqnctapercluster_count                   ? 0
           : (unsigned)axis < tuning->reqnctapercluster_count ? (int)tuning->reqnctapercluster[axis]
                                                              : 1;
}

static int figure(const EmulatedFunction *function, int attribute)
{
    const KernelFigures figures = kernel_figures(function);
    return attribute == STATIC_SHARED ? (int)figures.shared
           : attribute == CONSTANT    ? (int)figures.constant
           : attribute == LOCAL       ? (int)figures.local
                                      : (int)figures.registers;
}

static int attribute_of(const EmulatedFunction *function, int attribute)
{
    enum { BINARY = 90 };
    switch (attribute) {
    case MOST_THREADS: return (int)kernel_most_threads(function);
    case PTX_VERSION: return ptx_version(function->module->module);
    case BINARY_VERSION: return BINARY;
    case CACHE_MODE: return 0;
    case DYNAMIC_SHARED: return (int)function->most_shared;
    case CARVEOUT: return function->carveout;
    case NEEDS_CLUSTER: return cluster_size(function, 0) != 0;
    case CLUSTER_X:
    case CLUSTER_Y:
    case CLUSTER_Z: return cluster_size(function, attribute - CLUSTER_X);
    case LARGE_CLUSTERS: return function->allows_large_clusters;
    case CLUSTER_POLICY: return (int)function->cluster_policy;
    default: return figure(function, attribute);
    }
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    LOCKED;
    if (!function || !value)
        return function ? INVALID_VALUE : INVALID_HANDLE;
    if (attribute < 0 || attribute >= ATTRIBUTE_COUNT)
        return INVALID_VALUE;
    *value = attribute_of(function, attribute);
    return DONE;
}

int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    return device ? INVALID_DEVICE : cuFuncGetAttribute(value, attribute, kernel);
}

int cuFuncSetAttribute(void *handle, int attribute, int value)
{
    LOCKED;
    EmulatedFunction *function = handle;
    if (!function)
        return INVALID_HANDLE;
    switch (attribute) {
    case DYNAMIC_SHARED:
        if (value < 0 || value > MOST_SHARED)
            return INVALID_VALUE;
        function->most_shared = (unsigned)value;
        return DONE;
    case CARVEOUT: function->carveout = value; return value < -1 || value > 100 ? INVALID_VALUE : DONE;
    case LARGE_CLUSTERS: function->allows_large_clusters = value; return DONE;
    case CLUSTER_POLICY: function->cluster_policy = (unsigned)value; return DONE;
    case CLUSTER_X:
    case CLUSTER_Y:
    case CLUSTER_Z: return NOT_SUPPORTED;
    default: return INVALID_VALUE;
    }
}

int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    return device ? INVALID_DEVICE : cuFuncSetAttribute(kernel, attribute, value);
}

int cuFuncSetCacheConfig(void *function, int config)
{
    if (function)
        ((EmulatedFunction *)function)->cache = config;
    return function ? config < 0 || config > 3 ? INVALID_VALUE : DONE : INVALID_HANDLE;
}

int cuKernelSetCacheConfig(void *kernel, int config, int device)
{
    return device ? INVALID_DEVICE : cuFuncSetCacheConfig(kernel, config);
}

int cuFuncSetSharedMemConfig(void *function, int config)
{
    return !function ? INVALID_HANDLE : config < 0 || config > 2 ? INVALID_VALUE : DONE;
}

int cuFuncGetParamInfo(void *handle, size_t number, size_t *offset, size_t *size)
{
    const EmulatedFunction *function = handle;
    if (!function)
        return INVALID_HANDLE;
    if (number >= function->function->prototype.param_count)
        return INVALID_VALUE;
    *offset = (size_t)parameter_offset(function->function, (unsigned)number);
    if (size)
        *size = (size_t)variable_bytes(function->function->prototype.params[number]);
    return DONE;
}

int cuKernelGetParamInfo(void *kernel, size_t number, size_t *offset, size_t *size)
{
    return cuFuncGetParamInfo(kernel, number, offset, size);
}

/* Occupancy. */

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared,
                                                         unsigned flags)
{
    LOCKED;
    if (!function)
        return INVALID_HANDLE;
    if (!blocks || threads <= 0 || flags > 1)
        return INVALID_VALUE;
    *blocks = (int)kernel_blocks(function, (unsigned)threads, shared);
    return DONE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

/* Chooses the largest of the blocks with which the most threads are on a multiprocessor, as the driver does. */
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                              size_t shared, int limit, unsigned flags)
{
    LOCKED;
    enum { WARP = 32 };
    if (!function)
        return INVALID_HANDLE;
    if (!grid || !block || flags > 1)
        return INVALID_VALUE;
    int most = (int)kernel_most_threads(function), best_blocks = 0;
    if (limit && limit < most)
        most = limit;
    *block = 0;
    for (int tried = (most + WARP - 1) / WARP * WARP; tried > 0; tried -= WARP) {
        int threads = tried < most ? tried : most;
        int blocks = (int)kernel_blocks(function, (unsigned)threads, shared_of ? shared_of(threads) : shared);
        if (blocks * threads > best_blocks * *block) {
            best_blocks = blocks;
            *block = threads;
        }
    }
    *grid = MULTIPROCESSORS * best_blocks;
    return DONE;
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int), size_t shared,
                                     int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}

/* The most shared memory with which 'blocks' blocks still fit. */
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, void *function, int blocks, int threads)
{
    LOCKED;
    if (!function || !shared || blocks <= 0 || threads <= 0)
        return function ? INVALID_VALUE : INVALID_HANDLE;
    size_t low = 0, high = MOST_SHARED;
    *shared = 0;
    if (kernel_blocks(function, (unsigned)threads, 0) < (unsigned)blocks)
        return DONE;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (kernel_blocks(function, (unsigned)threads, middle) >= (unsigned)blocks)
            low = middle;
        else
            high = middle - 1;
    }
    *shared = low;
    return DONE;
}

/* A cluster is as large as the device: one block of each multiprocessor. */
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const DriverConfig *config)
{
    const unsigned *block = config->block;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(clusters, function, (int)(block[0] * block[1] * block[2]),
                                                       config->shared);
}

int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const DriverConfig *config)
{
    int error = cuOccupancyMaxActiveClusters(size, function, config);
    *size = *size > 0 ? MULTIPROCESSORS : 0;
    return error;
}
