// Matrix of 8-bit integers times vector of 8-bit integers, with a scale for each row: quantized networks spend most of
// their time on this. Four products go into one instruction.

// One row a thread, four columns a step. The width is a multiple of 4.
extern "C" __global__ void matvec_int8_naive(const int *matrix, const int *vector, const float *scales, float *result,
                                             int rows, int words)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (int i = 0; i < words; i++)
        sum = __dp4a(matrix[row * words + i], vector[i], sum);
    result[row] = scales[row] * (float)sum;
}

// One row a warp, sixteen columns a lane and step. The width is a multiple of 16, the rows of the number of warps.
extern "C" __global__ void matvec_int8(const int4 *matrix, const int4 *vector, const float *scales, float *result,
                                       int words)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    const int4 *from = matrix + row * words;

    int sum = 0;
    for (int i = lane; i < words; i += 32) {
        int4 a = from[i];
        int4 b = vector[i];
        sum = __dp4a(a.x, b.x, sum);
        sum = __dp4a(a.y, b.y, sum);
        sum = __dp4a(a.z, b.z, sum);
        sum = __dp4a(a.w, b.w, sum);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        result[row] = scales[row] * (float)sum;
}
