// Softmax of the rows of a matrix, one block of 128 threads a row: reductions by shuffles, then across the four warps.

#define WARPS 4

static __device__ float warpMaximum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

static __device__ float warpSum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void softmax(const float *in, float *out, int columns)
{
    __shared__ float maxima[WARPS];
    __shared__ float sums[WARPS];

    const float *row = in + blockIdx.x * columns;
    float *result = out + blockIdx.x * columns;
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;

    float maximum = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        maximum = fmaxf(maximum, row[i]);
    maximum = warpMaximum(maximum);
    if (lane == 0)
        maxima[warp] = maximum;
    __syncthreads();
    maximum = fmaxf(fmaxf(maxima[0], maxima[1]), fmaxf(maxima[2], maxima[3]));

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += __expf(row[i] - maximum);
    sum = warpSum(sum);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3];

    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        result[i] = __expf(row[i] - maximum) / sum;
}
