#include <cub/cub.cuh>
#define A void *t, size_t &n
cudaError_t a(A, const int *k, int *o, int c, int s, const int *b, const int *e)
{
    return cub::DeviceSegmentedRadixSort::SortKeys(t, n, k, o, c, s, b, e);
}
cudaError_t b(A, const float *k, float *o, int c, int s, const int *b, const int *e)
{
    return cub::DeviceSegmentedSort::SortKeys(t, n, k, o, c, s, b, e);
}
cudaError_t d(A, const int *k, int *o, const double *v, double *w, int c, int s, const int *b, const int *e)
{
    return cub::DeviceSegmentedSort::StableSortPairs(t, n, k, o, v, w, c, s, b, e);
}
