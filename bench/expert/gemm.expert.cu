// Two by four sums for each thread, in registers.
#include "contract.h"
LAUNCH(gemm, 2, 4, 1);
extern "C" __global__ void gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                                float alpha, float beta, int n)
{
    int j = 2 * (blockIdx.x * blockDim.x + threadIdx.x), i = 4 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (i + 3 < n && j + 1 < n && n % 2 == 0) {
        float sum[4][2];
        const float *row[4];
        for (int r = 0; r < 4; r++) {
            row[r] = a + (size_t)(i + r) * n;
            for (int s = 0; s < 2; s++)
                sum[r][s] = c[(size_t)(i + r) * n + j + s] * beta;
        }
        const float *column = b + j;
        for (int k = 0; k < n; k++, column += n) {
            float2 right = *(const float2 *)column;
            for (int r = 0; r < 4; r++) {
                float left = alpha * row[r][k];
                sum[r][0] += left * right.x;
                sum[r][1] += left * right.y;
            }
        }
        for (int r = 0; r < 4; r++)
            *(float2 *)(c + (size_t)(i + r) * n + j) = make_float2(sum[r][0], sum[r][1]);
        return;
    }
    for (int r = i; r < i + 4 && r < n; r++)
        for (int s = j; s < j + 2 && s < n; s++) {
            float sum = c[(size_t)r * n + s] * beta;
            for (int k = 0; k < n; k++)
                sum += alpha * a[(size_t)r * n + k] * b[(size_t)k * n + s];
            c[(size_t)r * n + s] = sum;
        }
}
