// Matrix product with a 128x128 tile a block and an 8x8 tile of accumulators in the registers of each thread.
// m and n must be multiples of 128, depth a multiple of 8.

#define TILE 128
#define DEPTH 8
#define MICRO 8

extern "C" __global__ void __launch_bounds__(256)
matmul_regtile(const float *a, const float *b, float *c, int n, int depth)
{
    __shared__ float tileA[DEPTH][TILE];
    __shared__ float tileB[DEPTH][TILE];

    int t = threadIdx.x;
    int tx = t % (TILE / MICRO);
    int ty = t / (TILE / MICRO);
    int row0 = blockIdx.y * TILE;
    int column0 = blockIdx.x * TILE;

    // Each thread moves four consecutive elements of either tile.
    int loadRowA = t / 2;
    int loadColumnA = t % 2 * 4;
    int loadRowB = t / 32;
    int loadColumnB = t % 32 * 4;

    float sum[MICRO][MICRO] = {};

    for (int k0 = 0; k0 < depth; k0 += DEPTH) {
        float4 stripA = *(const float4 *)&a[(row0 + loadRowA) * depth + k0 + loadColumnA];
        float4 stripB = *(const float4 *)&b[(k0 + loadRowB) * n + column0 + loadColumnB];
        tileA[loadColumnA + 0][loadRowA] = stripA.x;
        tileA[loadColumnA + 1][loadRowA] = stripA.y;
        tileA[loadColumnA + 2][loadRowA] = stripA.z;
        tileA[loadColumnA + 3][loadRowA] = stripA.w;
        *(float4 *)&tileB[loadRowB][loadColumnB] = stripB;
        __syncthreads();

#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float left[MICRO], right[MICRO];
#pragma unroll
            for (int i = 0; i < MICRO; i++) {
                left[i] = tileA[k][ty * MICRO + i];
                right[i] = tileB[k][tx * MICRO + i];
            }
#pragma unroll
            for (int i = 0; i < MICRO; i++)
#pragma unroll
                for (int j = 0; j < MICRO; j++)
                    sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < MICRO; i++)
#pragma unroll
        for (int j = 0; j < MICRO; j++)
            c[(row0 + ty * MICRO + i) * n + column0 + tx * MICRO + j] = sum[i][j];
}
