// Kernels that are there to take time, for several to run at once.

// Waits until so many cycles of the multiprocessor's clock have passed. How many there were depends on the machine and
// goes to elapsed; who waited does not and goes to reached.
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
