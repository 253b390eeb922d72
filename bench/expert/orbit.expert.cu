// Two points for each thread, both loaded at once. Their loops stay apart: in one loop a warp would wait for its
// longest lane twice.
#include "contract.h"
LAUNCH(orbit, 2, 1, 0);
static __device__ int run(float u, float v, int most)
{
    int step = 0;
    while (step < most && u * u + v * v < 4.0f) {
        float next = u * u - v * v + 0.3f;
        v = 2.0f * u * v + 0.5f;
        u = next;
        step++;
    }
    return step;
}
extern "C" __global__ void orbit(const float *x, const float *y, int *steps, int most, int n)
{
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x, k = i + blockDim.x;
    if (i >= n)
        return;
    float u = x[i], v = y[i], s = 0, t = 0;
    if (k < n)
        s = x[k], t = y[k];
    steps[i] = run(u, v, most);
    if (k < n)
        steps[k] = run(s, t, most);
}
