// The kernels of naive.cu as an expert would write them: the same buffers, other blocks and grids (table has the
// launches). Sizes are multiples of the tiles, except where that is said. Sums of rows are added in another order.
#include <stdint.h>
#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)

enum { TILE = 64, DEPTH = 16 };

// A tile of 64 x 64 results by 256 threads, 4 x 4 each. ROWS_A: a[row][k], else a[k][row]; ROWS_B: b[col][k].
template <bool ROWS_A, bool ROWS_B, typename Combine>
__device__ void product(const float *a, const float *b, float *c, int m, int n, int k, Combine combine)
{
    __shared__ __align__(16) float A[DEPTH][TILE + 4], B[DEPTH][TILE + 4];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float s[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        int r = t / 4, q = t % 4 * 4, d = t / 16, e = t % 16 * 4;
        float4 va = ROWS_A ? *(const float4 *)&a[(row + r) * k + k0 + q] : *(const float4 *)&a[(k0 + d) * m + row + e];
        float4 vb = ROWS_B ? *(const float4 *)&b[(col + r) * k + k0 + q] : *(const float4 *)&b[(k0 + d) * n + col + e];
        __syncthreads();
        if (ROWS_A)
            A[q][r] = va.x, A[q + 1][r] = va.y, A[q + 2][r] = va.z, A[q + 3][r] = va.w;
        else
            *(float4 *)&A[d][e] = va;
        if (ROWS_B)
            B[q][r] = vb.x, B[q + 1][r] = vb.y, B[q + 2][r] = vb.z, B[q + 3][r] = vb.w;
        else
            *(float4 *)&B[d][e] = vb;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float4 x = *(float4 *)&A[i][ty * 4], y = *(float4 *)&B[i][tx * 4];
            float p[4] = {x.x, x.y, x.z, x.w}, w[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int u = 0; u < 4; u++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    combine(s[u][v], p[u], w[v]);
        }
    }
    for (int u = 0; u < 4; u++)
        *(float4 *)&c[(row + ty * 4 + u) * n + col + tx * 4] = make_float4(s[u][0], s[u][1], s[u][2], s[u][3]);
}

struct Multiply {
    __device__ void operator()(float &s, float x, float y) { s += x * y; }
};
struct Distance {
    __device__ void operator()(float &s, float x, float y) { float t = x - y; s += t * t; }
};

KERNEL(256) product_nt(const float *a, const float *b, float *c, int m, int n, int k)
{
    product<true, true>(a, b, c, m, n, k, Multiply());
}

KERNEL(256) product_tn(const float *a, const float *b, float *c, int m, int n, int k)
{
    product<false, false>(a, b, c, m, n, k, Multiply());
}

KERNEL(256) product_batched(const float *a, const float *b, float *c, int m, int n, int k)
{
    size_t z = blockIdx.z;
    product<true, false>(a + z * m * k, b + z * k * n, c + z * m * n, m, n, k, Multiply());
}

KERNEL(256) distances(const float *p, const float *q, float *d, int n, int m, int dim)
{
    product<true, true>(p, q, d, n, m, dim, Distance());
}

KERNEL(256) scores(const float *q, const float *k, float *s, int length, int dim, float scale)
{
    size_t z = blockIdx.z;
    size_t rows = z * length;
    product<true, true>(q + rows * dim, k + rows * dim, s + rows * length, length, length, dim, Multiply());
    int t = threadIdx.x, i = blockIdx.y * TILE + t / 16 * 4, j = blockIdx.x * TILE + t % 16 * 4;
    for (int u = 0; u < 16; u++) {
        float *at = &s[(z * length + i + u / 4) * length + j + u % 4];
        *at = j + u % 4 <= i + u / 4 ? *at * scale : -1e30f;
    }
}

// Four products of 8 bits at once.
KERNEL(256) product_int8(const int8_t *a, const int8_t *b, int *c, int m, int n, int k)
{
    __shared__ __align__(16) int A[DEPTH][TILE + 4], B[DEPTH][TILE + 4];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * TILE, col = blockIdx.x * TILE, s[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 4 * DEPTH) {
        int r = t / 4, q = t % 4 * 4;
        int4 va = *(const int4 *)&a[(row + r) * k + k0 + 4 * q], vb = *(const int4 *)&b[(col + r) * k + k0 + 4 * q];
        __syncthreads();
        A[q][r] = va.x, A[q + 1][r] = va.y, A[q + 2][r] = va.z, A[q + 3][r] = va.w;
        B[q][r] = vb.x, B[q + 1][r] = vb.y, B[q + 2][r] = vb.z, B[q + 3][r] = vb.w;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            int4 x = *(int4 *)&A[i][ty * 4], y = *(int4 *)&B[i][tx * 4];
            int p[4] = {x.x, x.y, x.z, x.w}, w[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int u = 0; u < 4; u++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    s[u][v] = __dp4a(p[u], w[v], s[u][v]);
        }
    }
    for (int u = 0; u < 4; u++)
        *(int4 *)&c[(row + ty * 4 + u) * n + col + tx * 4] = make_int4(s[u][0], s[u][1], s[u][2], s[u][3]);
}

// 64 x 16 results by 16 x 16 threads, from a tile with its halo; the filter has 7 x 7 elements.
KERNEL(256) depthwise(const float *image, const float *filter, float *out, int width, int height, int size)
{
    __shared__ float T[22][71], F[49];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx, x0 = blockIdx.x * 64, y0 = blockIdx.y * 16;
    int c = blockIdx.z, pitch = width + 6;
    image += (size_t)c * pitch * (height + 6);
    if (t < 49)
        F[t] = filter[c * 49 + t];
    for (int i = t; i < 22 * 70; i += 256)
        T[i / 70][i % 70] = image[(y0 + i / 70) * pitch + x0 + i % 70];
    __syncthreads();
    float s[4] = {};
#pragma unroll
    for (int j = 0; j < 7; j++) {
        float v[10];
#pragma unroll
        for (int i = 0; i < 10; i++)
            v[i] = T[ty + j][tx * 4 + i];
#pragma unroll
        for (int i = 0; i < 7; i++)
#pragma unroll
            for (int o = 0; o < 4; o++)
                s[o] += v[o + i] * F[j * 7 + i];
    }
    *(float4 *)&out[((size_t)c * height + y0 + ty) * width + x0 + tx * 4] = make_float4(s[0], s[1], s[2], s[3]);
}

// Eight results of a column for each thread; the filter has 17 elements.
KERNEL(256) separable_columns(const float *image, const float *filter, float *out, int width, int height, int size)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * 8 + threadIdx.y) * 8;
    float s[8] = {}, f[17];
    for (int i = 0; i < 17; i++)
        f[i] = filter[i];
#pragma unroll
    for (int i = 0; i < 24; i++) {
        float v = image[(y + i) * width + x];
#pragma unroll
        for (int o = 0; o < 8; o++)
            if (i - o >= 0 && i - o < 17)
                s[o] += v * f[i - o];
    }
    for (int o = 0; o < 8; o++)
        out[(y + o) * width + x] = s[o];
}

// Eight results of a row for each thread, from a line in shared memory.
KERNEL(256) separable_rows(const float *image, const float *filter, float *out, int width, int height, int size)
{
    __shared__ __align__(16) float T[4][512 + 16 + 4];
    int tx = threadIdx.x, ty = threadIdx.y, y = blockIdx.y * 4 + ty;
    for (int i = tx; i < 528; i += 64)
        T[ty][i] = image[y * (width + 16) + i];
    __syncthreads();
    float s[8] = {}, v[24];
    for (int i = 0; i < 6; i++)
        *(float4 *)&v[4 * i] = *(float4 *)&T[ty][tx * 8 + 4 * i];
#pragma unroll
    for (int i = 0; i < 17; i++) {
        float f = filter[i];
#pragma unroll
        for (int o = 0; o < 8; o++)
            s[o] += v[o + i] * f;
    }
    float4 *w = (float4 *)&out[y * width + tx * 8];
    w[0] = make_float4(s[0], s[1], s[2], s[3]);
    w[1] = make_float4(s[4], s[5], s[6], s[7]);
}

// Along z, the three values of a column stay in registers.
KERNEL(256) stencil3d(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    int i = y * nx + x, step = nx * ny;
    float below = in[i], here = in[i + step];
#pragma unroll 4
    for (int z = 1; z < nz - 1; z++) {
        i += step;
        float above = in[i + step];
        out[i] = 0.5f * here + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + below + above);
        below = here;
        here = above;
    }
}

__device__ float warp_sum(float v)
{
    for (int i = 16; i; i /= 2)
        v += __shfl_xor_sync(~0u, v, i);
    return v;
}

// A warp for each row of 256 elements, which stay in registers.
KERNEL(128) softmax_rows(const float *in, float *out, int rows, int cols)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *from = (const float4 *)&in[row * 256];
    float4 v[2] = {from[lane], from[lane + 32]};
    float *e = (float *)v, most = -1e30f, sum = 0;
    for (int i = 0; i < 8; i++)
        most = fmaxf(most, e[i]);
    for (int i = 16; i; i /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, i));
    for (int i = 0; i < 8; i++)
        sum += e[i] = __expf(e[i] - most);
    sum = 1 / warp_sum(sum);
    for (int i = 0; i < 8; i++)
        e[i] *= sum;
    float4 *to = (float4 *)&out[row * 256];
    to[lane] = v[0];
    to[lane + 32] = v[1];
}

KERNEL(128) norm_rows(const float *in, float *out, int rows, int cols)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *from = (const float4 *)&in[row * 256];
    float4 v[2] = {from[lane], from[lane + 32]};
    float *e = (float *)v, mean = 0, var = 0;
    for (int i = 0; i < 8; i++)
        mean += e[i];
    mean = warp_sum(mean) / 256;
    for (int i = 0; i < 8; i++)
        var += (e[i] - mean) * (e[i] - mean);
    float scale = rsqrtf(warp_sum(var) / 256 + 1e-5f);
    for (int i = 0; i < 8; i++)
        e[i] = (e[i] - mean) * scale;
    float4 *to = (float4 *)&out[row * 256];
    to[lane] = v[0];
    to[lane + 32] = v[1];
}

// A tile of 32 x 32, guarded.
KERNEL(256) permute(const float *in, float *out, int channels, int height, int width)
{
    __shared__ float T[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, c = blockIdx.y * 32 + threadIdx.y, y = blockIdx.z;
    for (int r = 0; r < 32; r += 8)
        if (x < width && c + r < channels)
            T[threadIdx.y + r][threadIdx.x] = in[((size_t)(c + r) * height + y) * width + x];
    __syncthreads();
    x = blockIdx.x * 32 + threadIdx.y, c = blockIdx.y * 32 + threadIdx.x;
    for (int r = 0; r < 32; r += 8)
        if (x + r < width && c < channels)
            out[((size_t)y * width + x + r) * channels + c] = T[threadIdx.x][threadIdx.y + r];
}

// Counters of the block in shared memory; four elements of each thread.
KERNEL(256) histogram(const uint8_t *in, unsigned *bins, int n)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        uchar4 v = *(const uchar4 *)&in[i];
        atomicAdd(&own[v.x], 1u), atomicAdd(&own[v.y], 1u), atomicAdd(&own[v.z], 1u), atomicAdd(&own[v.w], 1u);
    } else {
        for (; i < n; i++)
            atomicAdd(&own[in[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
