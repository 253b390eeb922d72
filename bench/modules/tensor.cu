// Matrix multiplications on tensor cores, unrolled as libraries of templates unroll them. A block is one warp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename In, typename Out, int M, int N, int K, int Rows, int Columns>
__global__ void __launch_bounds__(32) multiply(const In *a, const In *b, Out *c, int side)
{
    wmma::fragment<wmma::accumulator, M, N, K, Out> sums[Rows][Columns];
    wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> left[Rows];
    wmma::fragment<wmma::matrix_b, M, N, K, In, wmma::col_major> right[Columns];
    int row = blockIdx.y * Rows * M, column = blockIdx.x * Columns * N;
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
        for (int j = 0; j < Columns; j++)
            wmma::fill_fragment(sums[i][j], Out(0));
#pragma unroll 4
    for (int k = 0; k < side; k += K) {
#pragma unroll
        for (int i = 0; i < Rows; i++)
            wmma::load_matrix_sync(left[i], a + (row + i * M) * side + k, side);
#pragma unroll
        for (int j = 0; j < Columns; j++)
            wmma::load_matrix_sync(right[j], b + (column + j * N) * side + k, side);
#pragma unroll
        for (int i = 0; i < Rows; i++)
#pragma unroll
            for (int j = 0; j < Columns; j++)
                wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
    }
#pragma unroll
    for (int i = 0; i < Rows; i++)
#pragma unroll
        for (int j = 0; j < Columns; j++)
            wmma::store_matrix_sync(c + (row + i * M) * side + column + j * N, sums[i][j], side, wmma::mem_row_major);
}

template __global__ void multiply<half, float, 16, 16, 16, 4, 4>(const half *, const half *, float *, int);
template __global__ void multiply<half, half, 32, 8, 16, 2, 8>(const half *, const half *, half *, int);
template __global__ void multiply<__nv_bfloat16, float, 16, 16, 16, 4, 4>(const __nv_bfloat16 *, const __nv_bfloat16 *,
                                                                          float *, int);
template __global__ void multiply<signed char, int, 16, 16, 16, 4, 4>(const signed char *, const signed char *, int *,
                                                                      int);
template __global__ void multiply<double, double, 8, 8, 4, 4, 4>(const double *, const double *, double *, int);
