// Two vectors multiplied element by element.

extern "C" __global__ void vv(const float *a, const float *b, float *c)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    c[idx] = a[idx] * b[idx];
}
