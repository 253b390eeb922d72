// Product of two square matrices, one element of the result a thread, everything read from global memory.

extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int width)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    float sum = 0.0f;
    for (int k = 0; k < width; k++)
        sum += a[row * width + k] * b[k * width + column];
    c[row * width + column] = sum;
}
