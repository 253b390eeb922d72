#include <cub/cub.cuh>
#define A void *t, size_t &n
cudaError_t a(A, const unsigned long long *k, unsigned long long *o, int c)
{
    return cub::DeviceRadixSort::SortKeys(t, n, k, o, c);
}
cudaError_t b(A, const double *k, double *o, const int *v, int *w, int c)
{
    return cub::DeviceRadixSort::SortPairsDescending(t, n, k, o, v, w, c);
}
cudaError_t d(A, const unsigned char *k, unsigned char *o, int c)
{
    return cub::DeviceRadixSort::SortKeysDescending(t, n, k, o, c);
}
