#include <cub/cub.cuh>
#define A void *t, size_t &n
cudaError_t a(A, const float *s, int *h, int l, float x, float y, int c)
{
    return cub::DeviceHistogram::HistogramEven(t, n, s, h, l, x, y, c);
}
cudaError_t b(A, const unsigned char *s, int *h, int l, int x, int y, int c)
{
    return cub::DeviceHistogram::HistogramEven(t, n, s, h, l, x, y, c);
}
cudaError_t d(A, const int *s, unsigned *h, int l, const int *x, int c)
{
    return cub::DeviceHistogram::HistogramRange(t, n, s, h, l, x, c);
}
