// Four rows of the tile for each thread.
#include "contract.h"
LAUNCH(tiles, 1, 4, 0);
extern "C" __global__ void tiles(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n)
{
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x;
    float sum[4] = {0, 0, 0, 0};
    const float *from[4], *below[4];
    for (int r = 0; r < 4; r++) {
        from[r] = a + (size_t)(blockIdx.y * 16 + y + 4 * r) * n + x;
        below[r] = b + (size_t)(y + 4 * r) * n + column;
    }
    size_t down = 16 * (size_t)n;
    for (int k = 0; k < n; k += 16) {
        for (int r = 0; r < 4; r++) {
            left[y + 4 * r][x] = from[r][k];
            right[y + 4 * r][x] = *below[r];
            below[r] += down;
        }
        __syncthreads();
        for (int i = 0; i < 16; i++)
            for (int r = 0; r < 4; r++)
                sum[r] += left[y + 4 * r][i] * right[i][x];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        c[(size_t)(blockIdx.y * 16 + y + 4 * r) * n + column] = sum[r];
}
