#include <cub/cub.cuh>
#define A void *t, size_t &n
struct L {
    __device__ bool operator()(int a, int b) const
    {
        return a < b;
    }
    __device__ bool operator()(float a, float b) const
    {
        return a < b;
    }
};
cudaError_t a(A, int *k, int c)
{
    return cub::DeviceMergeSort::SortKeys(t, n, k, c, L());
}
cudaError_t b(A, float *k, double *v, int c)
{
    return cub::DeviceMergeSort::StableSortPairs(t, n, k, v, c, L());
}
cudaError_t m(A, int *k, int ka, int *l, int kb, int *o)
{
    return cub::DeviceMerge::MergeKeys(t, n, k, ka, l, kb, o, L());
}
