// Product of two square matrices through 16x16 tiles in shared memory: two barriers in the loop over the tiles.

#define TILE 16

extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int width)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int column = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;

    float sum = 0.0f;
    for (int k0 = 0; k0 < width; k0 += TILE) {
        tileA[ty][tx] = a[row * width + k0 + tx];
        tileB[ty][tx] = b[(k0 + ty) * width + column];
        __syncthreads();

#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += tileA[ty][k] * tileB[k][tx];
        __syncthreads();
    }
    c[row * width + column] = sum;
}
