#include <cub/cub.cuh>
#define A void *t, size_t &n
struct F {
    int *p;
    __device__ void operator()(int i)
    {
        p[i] = i * 3;
    }
};
struct D {
    __device__ int operator()(int a, int b) const
    {
        return a - b;
    }
};
cudaError_t a(int *p, int c)
{
    return cub::DeviceFor::Bulk(c, F{p});
}
cudaError_t b(A, const int *k, int *o, int c)
{
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(t, n, k, o, c, D());
}
cudaError_t d(A, int *k, int c)
{
    return cub::DeviceAdjacentDifference::SubtractRight(t, n, k, c, D());
}
cudaError_t e(A, void **s, void **d, size_t *z, unsigned c)
{
    return cub::DeviceMemcpy::Batched(t, n, s, d, z, c);
}
cudaError_t f(A, float **s, float **d, int *z, unsigned c)
{
    return cub::DeviceCopy::Batched(t, n, s, d, z, c);
}
