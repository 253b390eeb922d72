// Layer normalization of the rows of a matrix.

#define BLOCK 128
#define WARPS (BLOCK / 32)

// One thread a row: three passes over it.
extern "C" __global__ void layernorm_naive(const float *in, const float *scale, const float *shift, float *out,
                                           int rows, int columns, float epsilon)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = in + row * columns;

    float sum = 0.0f;
    for (int i = 0; i < columns; i++)
        sum += from[i];
    float mean = sum / columns;
    float squares = 0.0f;
    for (int i = 0; i < columns; i++) {
        float difference = from[i] - mean;
        squares += difference * difference;
    }
    float factor = rsqrtf(squares / columns + epsilon);
    for (int i = 0; i < columns; i++)
        out[row * columns + i] = (from[i] - mean) * factor * scale[i] + shift[i];
}

// The sum of a value over the block, by shuffles and then across the warps; every thread gets it.
static __device__ float blockSum(float value, float *partial)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int warp = 0; warp < WARPS; warp++)
        value += partial[warp];
    return value;
}

// One block a row.
extern "C" __global__ void __launch_bounds__(BLOCK)
layernorm(const float *in, const float *scale, const float *shift, float *out, int columns, float epsilon)
{
    __shared__ float sums[WARPS];
    __shared__ float squares[WARPS];
    const float *from = in + blockIdx.x * columns;
    float *to = out + blockIdx.x * columns;

    float own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += BLOCK)
        own += from[i];
    float mean = blockSum(own, sums) / columns;

    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += BLOCK) {
        float difference = from[i] - mean;
        own += difference * difference;
    }
    float factor = rsqrtf(blockSum(own, squares) / columns + epsilon);

    for (int i = threadIdx.x; i < columns; i += BLOCK)
        to[i] = (from[i] - mean) * factor * scale[i] + shift[i];
}
