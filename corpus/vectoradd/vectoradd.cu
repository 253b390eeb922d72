// Sum of two vectors, one element a thread.

extern "C" __global__ void vectoradd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    c[i] = a[i] + b[i];
}

// The same for callers whose grid covers the vectors exactly.
extern "C" __global__ void vectoradd_exact(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
