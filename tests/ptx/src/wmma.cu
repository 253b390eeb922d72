// Matrix fragments: the wmma interface, and mma.sync and ldmatrix by hand.

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void fragments(const half *a, const half *b, float *c, int depth)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;

    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(left, a + k, depth);
        wmma::load_matrix_sync(right, b + k, depth);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = fmaxf(sum.x[i], 0.0f);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void fragmentsInteger(const signed char *a, const signed char *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 8, 32, 16, int> sum;
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 32);
    wmma::load_matrix_sync(sum, c, 32, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 32, wmma::mem_col_major);
}

extern "C" __global__ void byHand(const half *a, const unsigned *b, float *c)
{
    __shared__ half tile[16 * 16];
    int lane = threadIdx.x % 32;
    for (int i = lane; i < 256; i += 32)
        tile[i] = a[i];
    __syncwarp();

    unsigned fragment[2];
    unsigned address = (unsigned)__cvta_generic_to_shared(tile + lane % 16 * 16);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(fragment[0]), "=r"(fragment[1])
                 : "r"(address));
    float sum[4] = {c[0], c[1], c[2], c[3]};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(fragment[0]), "r"(fragment[1]), "r"(b[lane]));
    for (int i = 0; i < 4; i++)
        c[lane * 4 + i] = sum[i];
}
