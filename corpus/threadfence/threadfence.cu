// Sum in a single pass: each block leaves a partial sum and draws a ticket; the one that draws the last adds them up.
// The fence orders a block's partial sum before its ticket.

#define THREADS 128

__device__ unsigned tickets;

static __device__ float block_sum(float value, float *shared)
{
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    return shared[0];
}

extern "C" __global__ void threadfence_sum(const float *in, volatile float *partial, float *out, int n)
{
    __shared__ float shared[THREADS];
    __shared__ bool last;

    float value = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        value += in[i];
    float sum = block_sum(value, shared);

    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;

    value = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS)
        value += partial[i];
    sum = block_sum(value, shared);
    if (threadIdx.x == 0)
        *out = sum;
}
