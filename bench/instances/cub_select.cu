#include <cub/cub.cuh>
#define A void *t, size_t &n
struct P {
    __device__ bool operator()(int a) const
    {
        return a > 3;
    }
};
struct Q {
    __device__ bool operator()(int a) const
    {
        return a > 9;
    }
};
cudaError_t a(A, const int *k, int *o, int *r, int c)
{
    return cub::DeviceSelect::If(t, n, k, o, r, c, P());
}
cudaError_t b(A, const double *k, const char *f, double *o, int *r, int c)
{
    return cub::DeviceSelect::Flagged(t, n, k, f, o, r, c);
}
cudaError_t d(A, const float *k, float *o, int *r, int c)
{
    return cub::DeviceSelect::Unique(t, n, k, o, r, c);
}
cudaError_t e(A, const int *k, const float *v, int *o, float *w, int *r, int c)
{
    return cub::DeviceSelect::UniqueByKey(t, n, k, v, o, w, r, c);
}
cudaError_t f(A, const int *k, const char *f, int *o, int *r, int c)
{
    return cub::DevicePartition::Flagged(t, n, k, f, o, r, c);
}
cudaError_t g(A, const int *k, int *o, int *u, int *w, int *r, int c)
{
    return cub::DevicePartition::If(t, n, k, o, u, w, r, c, P(), Q());
}
cudaError_t h(A, const int *k, int *u, int *l, int *r, int c)
{
    return cub::DeviceRunLengthEncode::Encode(t, n, k, u, l, r, c);
}
cudaError_t i(A, const int *k, int *u, int *l, int *r, int c)
{
    return cub::DeviceRunLengthEncode::NonTrivialRuns(t, n, k, u, l, r, c);
}
