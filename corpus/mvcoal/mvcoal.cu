// Matrix times vector, one block a row at a time: coalesced partial products, then a tree in shared memory.

#define BLOCK 128

extern "C" __global__ void mvcoal(const float *matrix, const float *vector, float *result, int width, int height)
{
    __shared__ float partial[BLOCK];

    for (int y = blockIdx.x; y < height; y += gridDim.x) {
        const float *row = matrix + y * width;
        float sum = 0.0f;
        for (int x = threadIdx.x; x < width; x += BLOCK)
            sum += row[x] * vector[x];
        partial[threadIdx.x] = sum;

        for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
            __syncthreads();
            if (threadIdx.x < stride)
                partial[threadIdx.x] += partial[threadIdx.x + stride];
        }
        if (threadIdx.x == 0)
            result[y] = partial[0];
        __syncthreads();
    }
}

// One row a thread: neighbouring threads read addresses a whole row apart.
extern "C" __global__ void mvuncoal(const float *matrix, const float *vector, float *result, int width, int height)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height) {
        const float *row = matrix + y * width;
        float sum = 0.0f;
        for (int x = 0; x < width; x++)
            sum += row[x] * vector[x];
        result[y] = sum;
    }
}
