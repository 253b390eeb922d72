// One-dimensional Haar wavelet transform: each block decomposes its 2 * blockDim.x samples as far as they go. A loop of
// barriers in which half of the threads drop out at every level.

#define BLOCK 64

extern "C" __global__ void dwthaar(const float *in, float *details, float *averages)
{
    __shared__ float level[2 * BLOCK];

    const float scale = 0.70710678f;
    int t = threadIdx.x;
    const float *samples = in + blockIdx.x * 2 * BLOCK;
    float *detail = details + blockIdx.x * 2 * BLOCK;

    level[t] = samples[t];
    level[t + BLOCK] = samples[t + BLOCK];
    __syncthreads();

    for (int pairs = BLOCK; pairs > 0; pairs >>= 1) {
        float first = 0.0f, second = 0.0f;
        if (t < pairs) {
            first = level[2 * t];
            second = level[2 * t + 1];
        }
        __syncthreads();
        if (t < pairs) {
            level[t] = (first + second) * scale;
            detail[pairs + t] = (first - second) * scale;
        }
        __syncthreads();
    }
    if (t == 0)
        averages[blockIdx.x] = level[0];
}
