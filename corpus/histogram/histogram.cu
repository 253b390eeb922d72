// Histogram of bytes: counts per block by atomics in shared memory, added to the result by atomics in global memory.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned counts[BINS];

    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[data[i]], 1u);
    __syncthreads();

    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (counts[i] != 0)
            atomicAdd(&bins[i], counts[i]);
}
