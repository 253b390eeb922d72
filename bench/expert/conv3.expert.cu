// Four rows for each thread: 18 loads from one pointer that walks down, instead of 36.
#include "contract.h"
LAUNCH(conv3, 1, 4, 1);
struct Row {
    float left, middle, right;
};
static __device__ Row row_at(const float *at)
{
    return Row{at[-1], at[0], at[1]};
}
static __device__ float weigh(Row a, Row b, Row c)
{
    return 0.2f * a.left + 0.5f * a.middle - 0.8f * a.right - 0.3f * b.left + 0.6f * b.middle - 0.9f * b.right +
           0.4f * c.left + 0.7f * c.middle + 0.1f * c.right;
}
extern "C" __global__ void conv3(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = 4 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x <= 0 || x >= width - 1 || y >= height - 1)
        return;
    size_t row = width;
    size_t first = y * row + x;
    if (y > 0 && y + 3 < height - 1) {
        const float *at = in + first - row;
        Row rows[6];
        for (int i = 0; i < 6; i++, at += row)
            rows[i] = row_at(at);
        float *to = out + first;
        for (int i = 0; i < 4; i++, to += row)
            *to = weigh(rows[i], rows[i + 1], rows[i + 2]);
        return;
    }
    for (int i = 0; i < 4; i++)
        if (y + i > 0 && y + i < height - 1) {
            const float *at = in + first + i * row;
            out[first + i * row] = weigh(row_at(at - row), row_at(at), row_at(at + row));
        }
}
