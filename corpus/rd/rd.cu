// Reductions in their simplest form: the upper half is added to the lower half until one element is left, all of it
// in global memory, which is overwritten. The paper's source needs a barrier over the whole grid: here, a block reduces
// its own part, or a launch makes one step.

// A part has length elements; a block has at least half as many threads.
extern "C" __global__ void rd(float *a, float *sum, int length)
{
    float *part = a + blockIdx.x * length;
    for (int s = length / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sum[blockIdx.x] = part[0];
}

// One step over the whole grid: the barrier is the end of the kernel.
extern "C" __global__ void rd_step(float *a, int half)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < half)
        a[idx] += a[idx + half];
}

// Sum of the absolute values of real and imaginary parts, which are read one by one. A thread for each complex number.
extern "C" __global__ void rd_complex(const float *a, float *absolute, float *sum)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float real = a[2 * idx];
    float imaginary = a[2 * idx + 1];
    absolute[idx] = fabsf(real) + fabsf(imaginary);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            absolute[idx] += absolute[idx + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sum[blockIdx.x] = absolute[idx];
}

// The same with both parts read at once and the tree in shared memory.
extern "C" __global__ void rd_complex_vector(const float2 *a, float *sum)
{
    __shared__ float absolute[1024];

    float2 own = a[blockIdx.x * blockDim.x + threadIdx.x];
    absolute[threadIdx.x] = fabsf(own.x) + fabsf(own.y);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            absolute[threadIdx.x] += absolute[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sum[blockIdx.x] = absolute[0];
}
