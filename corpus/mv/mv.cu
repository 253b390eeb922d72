// Matrix times vector in its simplest form: a thread makes one element, and neighbours read whole rows apart.

extern "C" __global__ void mv(const float *a, const float *b, float *c, int width)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < width; i++)
        sum += a[idx * width + i] * b[i];
    c[idx] = sum;
}
