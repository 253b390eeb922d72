// Kernels that only take time, so that several can run at once.

// Waits until count cycles of the multiprocessor's clock have passed. Their actual number depends on the device and
// goes to elapsed; the threads that waited do not, and go to reached.
extern "C" __global__ void clock_block(unsigned *elapsed, int *reached, unsigned count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned start = (unsigned)clock();
    unsigned offset = 0;
    while (offset < count)
        offset = (unsigned)clock() - start;
    elapsed[i] = offset;
    reached[i] = 2 * i + 1;
}

// One block of 32 threads adds up n numbers: each thread its share, then a tree over shared memory.
extern "C" __global__ void clock_sum(const int *values, int *sum, int n)
{
    __shared__ int partial[32];

    int own = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        own += values[i];
    partial[threadIdx.x] = own;
    __syncthreads();

    for (int half = 16; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sum[0] = partial[0];
}
