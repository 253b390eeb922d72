#include <cub/cub.cuh>
#define A void *t, size_t &n
cudaError_t a(A, const double *k, double *o, int c)
{
    return cub::DeviceReduce::Sum(t, n, k, o, c);
}
cudaError_t b(A, const int *k, int *o, int c)
{
    return cub::DeviceReduce::Min(t, n, k, o, c);
}
cudaError_t d(A, const float *k, cub::KeyValuePair<int, float> *o, int c)
{
    return cub::DeviceReduce::ArgMax(t, n, k, o, c);
}
struct P {
    template <class T> __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
cudaError_t e(A, const int *k, int *u, const float *v, float *o, int *r, int c)
{
    return cub::DeviceReduce::ReduceByKey(t, n, k, u, v, o, r, P(), c);
}
cudaError_t f(A, const float *k, float *o, int s, const int *b, const int *e)
{
    return cub::DeviceSegmentedReduce::Sum(t, n, k, o, s, b, e);
}
cudaError_t g(A, const long long *k, long long *o, int s, const int *b, const int *e)
{
    return cub::DeviceSegmentedReduce::Max(t, n, k, o, s, b, e);
}
cudaError_t h(A, const float *k, double *o, int c)
{
    struct S {
        __device__ double operator()(float x) const
        {
            return (double)x * x;
        }
    };
    return cub::DeviceReduce::TransformReduce(t, n, k, o, c, P(), S(), 0.0);
}
