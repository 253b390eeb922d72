/* The runtime's kernels: attributes and occupancy, and the libraries they come from. */
#include <string.h>

#include "emulated/runtime.h"

/* Calls the driver's function for a kernel of the runtime. */
#define CALL_OF(host, function_name, ...)                                                                              \
    do {                                                                                                               \
        void *function = NULL;                                                                                         \
        int error_ = function_of(&function, host);                                                                     \
        return fail(error_ ? error_ : DRIVER(function_name)(__VA_ARGS__));                                             \
    } while (0)

/* CUfunction_attribute: those that are sizes in cudaFuncAttributes, then the others in its order. */
static int attributes_read(FunctionAttributes *attributes, void *function)
{
    enum { MOST_THREADS, SHARED, CONSTANT, LOCAL, REGISTERS, CLUSTER_POLICY = 15, LARGE_CLUSTERS = 14 };
    static const int numbers[] = {MOST_THREADS,   REGISTERS,     5, 6, 7, 8, 9, 10, 11, 12, 13,
                                  CLUSTER_POLICY, LARGE_CLUSTERS};
    static const int sizes[] = {SHARED, CONSTANT, LOCAL};
    size_t *size = &attributes->shared;
    int *number = &attributes->most_threads, value = 0, error = DONE;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !error; i++) {
        error = DRIVER(cuFuncGetAttribute)(&value, sizes[i], function);
        size[i] = (size_t)value;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !error; i++)
        error = DRIVER(cuFuncGetAttribute)(&number[i], numbers[i], function);
    return error;
}

/* The structure of CUDA 11.0 ends before clusters. */
int cudaFuncGetAttributes(FunctionAttributes *result, const void *host)
{
    FunctionAttributes attributes = {0};
    void *function = NULL;
    int error = function_of(&function, host);
    if (!error)
        error = attributes_read(&attributes, function);
    if (!error)
        memcpy(result, &attributes,
               RUNTIME_VERSION < 12000 ? offsetof(FunctionAttributes, needs_cluster) : sizeof attributes);
    return fail(error);
}

int cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    CALL_OF(host, cuFuncSetAttribute, function, attribute, value);
}

int cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)
{
    CALL(cuKernelSetAttribute, attribute, value, kernel, device);
}

int cudaFuncSetCacheConfig(const void *host, int config)
{
    CALL_OF(host, cuFuncSetCacheConfig, function, config);
}

int cudaFuncSetSharedMemConfig(const void *host, int config)
{
    CALL_OF(host, cuFuncSetSharedMemConfig, function, config);
}

int cudaFuncGetName(const char **name, const void *host)
{
    CALL_OF(host, cuFuncGetName, name, function);
}

int cudaFuncGetParamInfo(const void *host, size_t number, size_t *offset, size_t *size)
{
    CALL_OF(host, cuFuncGetParamInfo, function, number, offset, size);
}

/* Occupancy. */

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads, size_t shared,
                                                           unsigned flags)
{
    CALL_OF(host, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, function, threads, shared, flags);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *host, int blocks, int threads)
{
    CALL_OF(host, cuOccupancyAvailableDynamicSMemPerBlock, shared, function, blocks, threads);
}

int cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const LaunchConfig *config)
{
    const DriverConfig given = driver_config(config, config->stream);
    CALL_OF(host, cuOccupancyMaxActiveClusters, clusters, function, &given);
}

int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const LaunchConfig *config)
{
    const DriverConfig given = driver_config(config, config->stream);
    CALL_OF(host, cuOccupancyMaxPotentialClusterSize, size, function, &given);
}

/* Libraries. */

int cudaLibraryLoadData(void **library, const void *image, int *options, void **values, unsigned count,
                        void *library_options, void *library_values, unsigned library_count)
{
    CALL(cuLibraryLoadData, library, image, options, values, count, library_options, library_values, library_count);
}

int cudaLibraryLoadFromFile(void **library, const char *path, int *options, void **values, unsigned count,
                            void *library_options, void *library_values, unsigned library_count)
{
    CALL(cuLibraryLoadFromFile, library, path, options, values, count, library_options, library_values, library_count);
}

int cudaLibraryUnload(void *library)
{
    CALL(cuLibraryUnload, library);
}

int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    CALL(cuLibraryGetKernel, kernel, library, name);
}

int cudaLibraryGetKernelCount(unsigned *count, void *library)
{
    CALL(cuLibraryGetKernelCount, count, library);
}

int cudaLibraryEnumerateKernels(void **found, unsigned count, void *library)
{
    CALL(cuLibraryEnumerateKernels, found, count, library);
}

int cudaLibraryGetGlobal(uint64_t *address, size_t *size, void *library, const char *name)
{
    CALL(cuLibraryGetGlobal, address, size, library, name);
}

int cudaLibraryGetManaged(uint64_t *address, size_t *size, void *library, const char *name)
{
    CALL(cuLibraryGetManaged, address, size, library, name);
}
