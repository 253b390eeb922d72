#include <cub/cub.cuh>
#define A void *t, size_t &n
cudaError_t a(A, const double *k, double *o, int c)
{
    return cub::DeviceScan::InclusiveSum(t, n, k, o, c);
}
cudaError_t b(A, const unsigned char *k, int *o, int c)
{
    return cub::DeviceScan::ExclusiveSum(t, n, k, o, c);
}
cudaError_t d(A, const int *k, const float *v, float *o, int c)
{
    return cub::DeviceScan::InclusiveSumByKey(t, n, k, v, o, c);
}
struct M {
    template <class T> __device__ T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};
cudaError_t e(A, const float *k, float *o, int c)
{
    return cub::DeviceScan::ExclusiveScan(t, n, k, o, M(), -1.0f, c);
}
cudaError_t f(A, const int *k, const int *v, int *o, int c)
{
    return cub::DeviceScan::ExclusiveScanByKey(t, n, k, v, o, M(), 0, c);
}
