#include <cub/cub.cuh>
template <class T, int B, cub::BlockReduceAlgorithm G> __global__ void br(const T *x, T *y)
{
    using R = cub::BlockReduce<T, B, G>;
    __shared__ typename R::TempStorage s;
    T v = R(s).Sum(x[blockIdx.x * B + threadIdx.x]);
    if (threadIdx.x == 0)
        y[blockIdx.x] = v;
}
template __global__ void br<float, 128, cub::BLOCK_REDUCE_RAKING>(const float *, float *);
template __global__ void br<float, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const float *, float *);
template __global__ void br<double, 512, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const double *, double *);
template __global__ void br<int, 128, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const int *, int *);
template <class T, int B, cub::BlockScanAlgorithm G> __global__ void bs(const T *x, T *y)
{
    using R = cub::BlockScan<T, B, G>;
    __shared__ typename R::TempStorage s;
    T v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * B + threadIdx.x) * 4 + i];
    R(s).ExclusiveSum(v, v);
    for (int i = 0; i < 4; i++)
        y[(blockIdx.x * B + threadIdx.x) * 4 + i] = v[i];
}
template __global__ void bs<int, 128, cub::BLOCK_SCAN_RAKING>(const int *, int *);
template __global__ void bs<int, 128, cub::BLOCK_SCAN_WARP_SCANS>(const int *, int *);
template __global__ void bs<float, 256, cub::BLOCK_SCAN_RAKING_MEMOIZE>(const float *, float *);
template <class T, int B, int I> __global__ void bsort(T *x)
{
    using R = cub::BlockRadixSort<T, B, I>;
    __shared__ typename R::TempStorage s;
    T v[I];
    for (int i = 0; i < I; i++)
        v[i] = x[(blockIdx.x * B + threadIdx.x) * I + i];
    R(s).Sort(v);
    for (int i = 0; i < I; i++)
        x[(blockIdx.x * B + threadIdx.x) * I + i] = v[i];
}
template __global__ void bsort<int, 128, 4>(int *);
template __global__ void bsort<float, 256, 2>(float *);
template <class T, int B, int I, cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void bl(const T *x, T *y, int n)
{
    using R = cub::BlockLoad<T, B, I, L>;
    using W = cub::BlockStore<T, B, I, S>;
    __shared__ union {
        typename R::TempStorage r;
        typename W::TempStorage w;
    } s;
    T v[I];
    R(s.r).Load(x + blockIdx.x * B * I, v, n, T(0));
    __syncthreads();
    for (int i = 0; i < I; i++)
        v[i] = v[i] * v[i];
    W(s.w).Store(y + blockIdx.x * B * I, v, n);
}
template __global__ void bl<float, 128, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(const float *, float *,
                                                                                            int);
template __global__ void bl<float, 128, 4, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(const float *,
                                                                                                  float *, int);
template __global__ void bl<int, 256, 8, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(const int *,
                                                                                                          int *, int);
template __global__ void bl<double, 64, 3, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(const double *, double *,
                                                                                              int);
template <class T, int W> __global__ void wr(const T *x, T *y)
{
    using R = cub::WarpReduce<T, W>;
    __shared__ typename R::TempStorage s[128 / W];
    int i = blockIdx.x * 128 + threadIdx.x;
    T v = R(s[threadIdx.x / W]).Sum(x[i]);
    if (threadIdx.x % W == 0)
        y[i / W] = v;
}
template __global__ void wr<float, 32>(const float *, float *);
template __global__ void wr<int, 32>(const int *, int *);
template __global__ void wr<int, 8>(const int *, int *);
template __global__ void wr<double, 16>(const double *, double *);
template <class T, int W> __global__ void ws(const T *x, T *y)
{
    using R = cub::WarpScan<T, W>;
    __shared__ typename R::TempStorage s[128 / W];
    int i = blockIdx.x * 128 + threadIdx.x;
    T v;
    R(s[threadIdx.x / W]).InclusiveSum(x[i], v);
    y[i] = v;
}
template __global__ void ws<float, 32>(const float *, float *);
template __global__ void ws<int, 16>(const int *, int *);
template <int B, int I> __global__ void wms(int *x)
{
    using R = cub::WarpMergeSort<int, I>;
    __shared__ typename R::TempStorage s[B / 32];
    int v[I];
    for (int i = 0; i < I; i++)
        v[i] = x[(blockIdx.x * B + threadIdx.x) * I + i];
    R(s[threadIdx.x / 32]).Sort(v, [] __device__(int a, int b) { return a < b; });
    for (int i = 0; i < I; i++)
        x[(blockIdx.x * B + threadIdx.x) * I + i] = v[i];
}
template __global__ void wms<128, 4>(int *);
__global__ void bh(const unsigned char *x, int *h)
{
    using H = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename H::TempStorage s;
    __shared__ int b[256];
    unsigned char v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    H(s).Histogram(v, b);
    __syncthreads();
    atomicAdd(h + threadIdx.x, b[threadIdx.x]);
}
__global__ void bhs(const unsigned char *x, int *h)
{
    using H = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
    __shared__ typename H::TempStorage s;
    __shared__ int b[256];
    unsigned char v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    H(s).Histogram(v, b);
    __syncthreads();
    atomicAdd(h + threadIdx.x, b[threadIdx.x]);
}
__global__ void bd(const int *x, int *y)
{
    using R = cub::BlockDiscontinuity<int, 128>;
    __shared__ typename R::TempStorage s;
    int v[4], f[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    R(s).FlagHeads(f, v, [] __device__(int a, int b) { return a != b; });
    for (int i = 0; i < 4; i++)
        y[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = f[i];
}
__global__ void be(const int *x, int *y)
{
    using R = cub::BlockExchange<int, 128, 4>;
    __shared__ typename R::TempStorage s;
    int v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[blockIdx.x * 512 + i * 128 + threadIdx.x];
    R(s).StripedToBlocked(v, v);
    for (int i = 0; i < 4; i++)
        y[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = v[i];
}
__global__ void bms(int *x)
{
    using R = cub::BlockMergeSort<int, 128, 4>;
    __shared__ typename R::TempStorage s;
    int v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    R(s).Sort(v, [] __device__(int a, int b) { return a < b; });
    for (int i = 0; i < 4; i++)
        x[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = v[i];
}
__global__ void bad(const int *x, int *y)
{
    using R = cub::BlockAdjacentDifference<int, 128>;
    __shared__ typename R::TempStorage s;
    int v[4];
    for (int i = 0; i < 4; i++)
        v[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    R(s).SubtractLeft(v, v, [] __device__(int a, int b) { return a - b; });
    for (int i = 0; i < 4; i++)
        y[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = v[i];
}
