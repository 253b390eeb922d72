// Instances of CUB's device-wide algorithms.
#include <cub/cub.cuh>

cudaError_t sort_pairs(void *space, size_t &bytes, const unsigned *keys, unsigned *sorted, const float *values,
                       float *moved, int count)
{
    return cub::DeviceRadixSort::SortPairs(space, bytes, keys, sorted, values, moved, count);
}

cudaError_t scan(void *space, size_t &bytes, const unsigned *in, unsigned *out, int count)
{
    return cub::DeviceScan::ExclusiveSum(space, bytes, in, out, count);
}

cudaError_t reduce(void *space, size_t &bytes, const float *in, float *out, int count)
{
    return cub::DeviceReduce::Sum(space, bytes, in, out, count);
}
