// Block-wise reductions with sequential addressing in shared memory; the host adds up the partial results.

extern "C" __global__ void reduce_sum(const float *in, float *out, int n)
{
    extern __shared__ float partial[];

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();

    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

// Minimum, maximum and sum at once; the halving loop is unrolled because the block size is known.
extern "C" __global__ void reduce_minmaxsum(const int *in, int *minimum, int *maximum, int *sum)
{
    __shared__ int low[128];
    __shared__ int high[128];
    __shared__ int total[128];

    int t = threadIdx.x;
    int value = in[blockIdx.x * 128 + t];
    low[t] = value;
    high[t] = value;
    total[t] = value;
    __syncthreads();

#pragma unroll
    for (int half = 64; half > 0; half >>= 1) {
        if (t < half) {
            low[t] = min(low[t], low[t + half]);
            high[t] = max(high[t], high[t + half]);
            total[t] += total[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        minimum[blockIdx.x] = low[0];
        maximum[blockIdx.x] = high[0];
        sum[blockIdx.x] = total[0];
    }
}
