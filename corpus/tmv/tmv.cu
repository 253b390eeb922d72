// Transposed matrix times vector in its simplest form: a thread makes one element, and neighbours read neighbouring
// columns.

extern "C" __global__ void tmv(const float *a, const float *b, float *c, int width)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < width; i++)
        sum += a[i * width + idx] * b[i];
    c[idx] = sum;
}
