// Four neighbours for each thread, as vectors. The pointers come from cudaMalloc.
#include "contract.h"
LAUNCH(axpby, 4, 1, 1);
extern "C" __global__ void axpby(const float *x, float *y, float a, float b, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 u = *(const float4 *)(x + i), v = *(float4 *)(y + i);
        v.x = a * u.x + b * v.x;
        v.y = a * u.y + b * v.y;
        v.z = a * u.z + b * v.z;
        v.w = a * u.w + b * v.w;
        *(float4 *)(y + i) = v;
        return;
    }
    for (; i < n; i++)
        y[i] = a * x[i] + b * y[i];
}
