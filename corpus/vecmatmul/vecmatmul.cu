// Vector times matrix: a thread makes one element of the result, which is the vector times a column.

#define BLOCK 64

// Every thread reads the whole vector from global memory.
extern "C" __global__ void vecmatmul(const float *vector, const float *matrix, float *result, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width)
        return;

    float sum = 0.0f;
    for (int y = 0; y < height; y++)
        sum += vector[y] * matrix[y * width + x];
    result[x] = sum;
}

// The vector goes through shared memory, BLOCK elements at a time. Width and height are multiples of BLOCK.
extern "C" __global__ void __launch_bounds__(BLOCK)
vecmatmul_shared(const float *vector, const float *matrix, float *result, int width, int height)
{
    __shared__ float part[BLOCK];

    int x = blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0.0f;
    for (int y = 0; y < height; y += BLOCK) {
        part[threadIdx.x] = vector[y + threadIdx.x];
        __syncthreads();
#pragma unroll 16
        for (int k = 0; k < BLOCK; k++)
            sum += part[k] * matrix[(y + k) * width + x];
        __syncthreads();
    }
    result[x] = sum;
}
