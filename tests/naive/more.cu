/* Naive kernels, and what an expert makes of each: stencils of 25 and 49 taps without a loop, a product of bytes by
 * columns, a filter with zeros around the image, scores of attention, nearest centres, and half precision.
 * docs/memory.md and docs/results/naive.md compare them with forms. */
#define KERNEL extern "C" __global__ void

__host__ __device__ constexpr float weight(int reach, int row, int column)
{
    return 1.0f / (1 + (row - reach) * (row - reach) + 0.5f * (column - reach) * (column - reach));
}

template <int R>
__device__ void stencil(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < R || y < R || x >= width - R || y >= height - R)
        return;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 2 * R + 1; j++)
#pragma unroll
        for (int i = 0; i < 2 * R + 1; i++)
            sum += weight(R, j, i) * in[(y + j - R) * width + x + i - R];
    out[y * width + x] = sum;
}

KERNEL stencil25(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    stencil<2>(in, out, width, height);
}

KERNEL stencil49(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    stencil<3>(in, out, width, height);
}

/* 32 x 8 threads make 128 x 32 results, 4 x 4 each, from a tile with a halo. The width is a multiple of 4, and rows of
 * the tile begin at one, so all are read and written in vectors. */
template <int R>
__device__ void stencil_tiled(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    constexpr int OWN = 4, ROWS = 8 * OWN + 2 * R, COLUMNS = 128 + 8, UNITS = COLUMNS / 4;
    __shared__ __align__(16) float tile[ROWS][COLUMNS];
    int left = blockIdx.x * 128 - 4, top = blockIdx.y * 8 * OWN - R, thread = threadIdx.y * 32 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < (ROWS * UNITS + 255) / 256; k++) {
        int unit = thread + k * 256, row = unit / UNITS, column = unit % UNITS * 4;
        if (unit < ROWS * UNITS) {
            int y = min(max(top + row, 0), height - 1), x = min(max(left + column, 0), width - 4);
            *(float4 *)&tile[row][column] = *(const float4 *)&in[y * width + x];
        }
    }
    __syncthreads();
    float sums[OWN][4] = {};
#pragma unroll
    for (int j = 0; j < 2 * R + OWN; j++) {
        float row[12];
#pragma unroll
        for (int c = 0; c < 12; c += 4)
            *(float4 *)&row[c] = *(const float4 *)&tile[threadIdx.y * OWN + j][threadIdx.x * 4 + c];
#pragma unroll
        for (int o = 0; o < OWN; o++)
            if (j - o >= 0 && j - o < 2 * R + 1)
#pragma unroll
                for (int i = 0; i < 2 * R + 1; i++)
#pragma unroll
                    for (int u = 0; u < 4; u++)
                        sums[o][u] += weight(R, j - o, i) * row[4 + u + i - R];
    }
    int x = left + 4 + threadIdx.x * 4;
#pragma unroll
    for (int o = 0; o < OWN; o++) {
        int y = top + R + threadIdx.y * OWN + o;
        if (y < R || y >= height - R)
            continue;
#pragma unroll
        for (int u = 0; u < 4; u++)
            if (x + u >= R && x + u < width - R)
                out[y * width + x + u] = sums[o][u];
    }
}

KERNEL stencil25_expert(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    stencil_tiled<2>(in, out, width, height);
}

KERNEL stencil49_expert(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    stencil_tiled<3>(in, out, width, height);
}

KERNEL product_columns(const signed char *a, const signed char *b, int *c, int m, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m)
        return;
    int sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;
}

/* 256 threads make 64 x 64 results, 4 x 4 each; blocks of 4 x 4 bytes of b are transposed on the way to the tile. */
KERNEL product_columns_expert(const signed char *a, const signed char *b, int *c, int m, int n, int k)
{
    __shared__ int rows[16][68], columns[16][68];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, top = blockIdx.y * 64, left = blockIdx.x * 64, sums[4][4] = {};
    for (int first = 0; first < k; first += 64) {
        int row = t / 4, unit = t % 4 * 4, depth = t / 16, column = t % 16 * 4, words[4];
        int4 own = *(const int4 *)&a[(top + row) * k + first + 4 * unit];
        for (int i = 0; i < 4; i++)
            words[i] = *(const int *)&b[(first + 4 * depth + i) * n + left + column];
        __syncthreads();
        rows[unit][row] = own.x, rows[unit + 1][row] = own.y, rows[unit + 2][row] = own.z, rows[unit + 3][row] = own.w;
        int low0 = __byte_perm(words[0], words[1], 0x5140), low1 = __byte_perm(words[2], words[3], 0x5140);
        int high0 = __byte_perm(words[0], words[1], 0x7362), high1 = __byte_perm(words[2], words[3], 0x7362);
        columns[depth][column] = __byte_perm(low0, low1, 0x5410);
        columns[depth][column + 1] = __byte_perm(low0, low1, 0x7632);
        columns[depth][column + 2] = __byte_perm(high0, high1, 0x5410);
        columns[depth][column + 3] = __byte_perm(high0, high1, 0x7632);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            int p[4], q[4];
            for (int u = 0; u < 4; u++)
                p[u] = rows[i][ty * 4 + u], q[u] = columns[i][tx * 4 + u];
#pragma unroll
            for (int u = 0; u < 4; u++)
                for (int v = 0; v < 4; v++)
                    sums[u][v] = __dp4a(p[u], q[v], sums[u][v]);
        }
    }
    for (int u = 0; u < 4; u++)
        for (int v = 0; v < 4; v++)
            c[(top + ty * 4 + u) * n + left + tx * 4 + v] = sums[u][v];
}

/* The radius is a parameter, so there are loops, and pixels beyond the edge count as 0. */
KERNEL filter_guarded(const float *in, float *out, int width, int height, const float *filter, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                sum += in[(y + dy) * width + x + dx] * filter[(dy + radius) * (2 * radius + 1) + dx + radius];
    out[y * width + x] = sum;
}

/* For a radius of 2: 16 x 16 threads make 64 x 16 results, 4 each, from a tile with a halo. */
KERNEL filter_guarded_expert(const float *in, float *out, int width, int height, const float *filter, int radius)
{
    __shared__ float tile[20][69], taps[25];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx, x0 = blockIdx.x * 64, y0 = blockIdx.y * 16;
    if (thread < 25)
        taps[thread] = filter[thread];
    for (int i = thread; i < 20 * 68; i += 256) {
        int y = y0 + i / 68 - 2, x = x0 + i % 68 - 2;
        tile[i / 68][i % 68] = y >= 0 && y < height && x >= 0 && x < width ? in[y * width + x] : 0;
    }
    __syncthreads();
    float sums[4] = {};
#pragma unroll
    for (int j = 0; j < 5; j++) {
        float row[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            row[i] = tile[ty + j][tx * 4 + i];
#pragma unroll
        for (int i = 0; i < 5; i++)
#pragma unroll
            for (int o = 0; o < 4; o++)
                sums[o] += row[o + i] * taps[j * 5 + i];
    }
    *(float4 *)&out[(y0 + ty) * width + x0 + tx * 4] = make_float4(sums[0], sums[1], sums[2], sums[3]);
}

/* Sums of columns, of 32 rows in each block. */
KERNEL columns_added(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 32;
    if (x >= width)
        return;
    for (int y = first; y < first + 32 && y < height; y++)
        atomicAdd(&out[x], in[y * width + x]);
}

/* The sum of all, in a grid-stride loop. */
KERNEL all_added(const float *in, float *out, int width, int height)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += blockDim.x * gridDim.x)
        atomicAdd(out, in[i]);
}

/* Four columns for each thread, in registers. */
KERNEL columns_added_expert(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8
    for (int y = blockIdx.y * 32; y < blockIdx.y * 32 + 32; y++) {
        float4 v = *(const float4 *)&in[y * width + x];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    atomicAdd(&out[x], sum.x), atomicAdd(&out[x + 1], sum.y);
    atomicAdd(&out[x + 2], sum.z), atomicAdd(&out[x + 3], sum.w);
}

/* Sums in registers, of warps by shuffles, and of blocks in shared memory. */
KERNEL all_added_expert(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    __shared__ float sums[8];
    const float4 *from = (const float4 *)in;
    float sum = 0;
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height / 4; i += blockDim.x * gridDim.x) {
        float4 v = from[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int lanes = 16; lanes; lanes /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, lanes);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            sum += sums[w];
        atomicAdd(out, sum);
    }
}

/* A row of 256 floats for each thread, the exponentials in memory meanwhile: in place, and beside the input. */
KERNEL softmax_in_place(float *x, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float *p = x + (size_t)row * columns, most = p[0], sum = 0;
    for (int i = 1; i < columns; i++)
        if (p[i] > most)
            most = p[i];
    for (int i = 0; i < columns; i++) {
        p[i] = __expf(p[i] - most);
        sum += p[i];
    }
    for (int i = 0; i < columns; i++)
        p[i] /= sum;
}

KERNEL softmax_stored(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float most = -1e30f, sum = 0;
    for (int i = 0; i < columns; i++)
        most = fmaxf(most, in[row * columns + i]);
    for (int i = 0; i < columns; i++) {
        out[row * columns + i] = expf(in[row * columns + i] - most);
        sum += out[row * columns + i];
    }
    for (int i = 0; i < columns; i++)
        out[row * columns + i] /= sum;
}

/* The differences from the mean are in memory meanwhile. */
KERNEL norm_stored(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float mean = 0, squares = 0;
    for (int i = 0; i < columns; i++)
        mean += in[row * columns + i];
    mean /= columns;
    for (int i = 0; i < columns; i++) {
        float t = in[row * columns + i] - mean;
        out[row * columns + i] = t;
        squares += t * t;
    }
    float scale = rsqrtf(squares / columns + 1e-5f);
    for (int i = 0; i < columns; i++)
        out[row * columns + i] *= scale;
}

/* A row for each block, whose threads stride over the columns. */
KERNEL product_strided(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.x;
    for (int column = threadIdx.x; column < n; column += blockDim.x) {
        float sum = 0;
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}

/* Scores of attention with a causal mask: keys after the query do not count. */
KERNEL scores_causal(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ s, int length,
                     int dim, float scale)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y, head = blockIdx.z;
    if (i >= length || j >= length)
        return;
    float sum = -1e30f;
    if (j <= i) {
        sum = 0;
        for (int e = 0; e < dim; e++)
            sum += q[(head * length + i) * dim + e] * k[(head * length + j) * dim + e];
        sum *= scale;
    }
    s[(head * length + i) * length + j] = sum;
}

/* The same without a mask, with one index for heads, queries and keys. */
KERNEL scores_flat(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ s, int length, int dim,
                   float scale, int heads)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= heads * length * length)
        return;
    int j = id % length, i = id / length % length, head = id / length / length;
    float sum = 0;
    for (int e = 0; e < dim; e++)
        sum += q[(head * length + i) * dim + e] * k[(head * length + j) * dim + e];
    s[id] = sum * scale;
}

/* Tiles of 64 x 64 scores, 4 x 4 a thread; the length is a multiple of 64, and dim of 16. */
template <bool CAUSAL>
__device__ void scores_tiled(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ s,
                             int length, int dim, float scale)
{
    __shared__ float qs[16][68], ks[16][68];
    int head = blockIdx.z, i0 = blockIdx.y * 64, j0 = blockIdx.x * 64, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sums[4][4] = {};
    for (int e0 = 0; e0 < dim && (!CAUSAL || j0 <= i0); e0 += 16) {
        for (int t = threadIdx.x; t < 1024; t += 256) {
            qs[t % 16][t / 16] = q[(head * length + i0 + t / 16) * dim + e0 + t % 16];
            ks[t % 16][t / 16] = k[(head * length + j0 + t / 16) * dim + e0 + t % 16];
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 16; e++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sums[y][x] += qs[e][ty * 4 + y] * ks[e][tx * 4 + x];
        __syncthreads();
    }
    for (int y = 0; y < 4; y++) {
        int i = i0 + ty * 4 + y, j = j0 + tx * 4;
        float4 row = make_float4(sums[y][0] * scale, sums[y][1] * scale, sums[y][2] * scale, sums[y][3] * scale);
        if (CAUSAL)
            row = make_float4(j <= i ? row.x : -1e30f, j + 1 <= i ? row.y : -1e30f, j + 2 <= i ? row.z : -1e30f,
                              j + 3 <= i ? row.w : -1e30f);
        *(float4 *)&s[(head * length + i) * length + j] = row;
    }
}

KERNEL scores_causal_expert(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ s, int length,
                            int dim, float scale)
{
    scores_tiled<true>(q, k, s, length, dim, scale);
}

KERNEL scores_flat_expert(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ s, int length,
                          int dim, float scale, int heads)
{
    scores_tiled<false>(q, k, s, length, dim, scale);
}

/* The nearest centre of each point, as in k-means. */
KERNEL nearest(const float *__restrict__ points, const float *__restrict__ centres, int *__restrict__ which, int count,
               int centre_count, int dim)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float least = 1e30f;
    int found = 0;
    for (int c = 0; c < centre_count; c++) {
        float sum = 0;
        for (int e = 0; e < dim; e++) {
            float way = points[i * dim + e] - centres[c * dim + e];
            sum += way * way;
        }
        if (sum < least)
            least = sum, found = c;
    }
    which[i] = found;
}

/* 32 dimensions, in registers; at most 64 centres, in shared memory. */
KERNEL nearest_expert(const float *__restrict__ points, const float *__restrict__ centres, int *__restrict__ which,
                      int count, int centre_count, int dim)
{
    __shared__ float of_centres[64][32], of_points[64][33];
    int t = threadIdx.x, first = blockIdx.x * 64;
    for (int i = t; i < centre_count * 32; i += 64)
        of_centres[i / 32][i % 32] = centres[i];
    for (int i = t; i < 64 * 32; i += 64)
        of_points[i / 32][i % 32] = points[first * 32 + i];
    __syncthreads();
    float own[32], least = 1e30f;
    int found = 0;
#pragma unroll
    for (int e = 0; e < 32; e++)
        own[e] = of_points[t][e];
    for (int c = 0; c < centre_count; c++) {
        float sum = 0;
#pragma unroll
        for (int e = 0; e < 32; e++) {
            float way = own[e] - of_centres[c][e];
            sum += way * way;
        }
        if (sum < least)
            least = sum, found = c;
    }
    which[first + t] = found;
}

#include <cuda_fp16.h>

/* A softmax of half precision, with sums of floats. */
KERNEL softmax_half(const half *in, half *out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float most = -1e30f, sum = 0;
    for (int i = 0; i < length; i++)
        most = fmaxf(most, __half2float(in[row * length + i]));
    for (int i = 0; i < length; i++)
        sum += expf(__half2float(in[row * length + i]) - most);
    for (int i = 0; i < length; i++)
        out[row * length + i] = __float2half(expf(__half2float(in[row * length + i]) - most) / sum);
}

__device__ void half_unpack(uint4 bits, float values[8])
{
    const half2 *pairs = (const half2 *)&bits;
    for (int i = 0; i < 4; i++) {
        float2 pair = __half22float2(pairs[i]);
        values[2 * i] = pair.x, values[2 * i + 1] = pair.y;
    }
}

/* Rows of 256 elements: a warp for each, eight elements a lane. */
KERNEL softmax_half_expert(const half *in, half *out, int rows, int length)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float values[8], most = -1e30f, sum = 0;
    half2 results[4];
    half_unpack(((const uint4 *)(in + row * 256))[lane], values);
    for (int i = 0; i < 8; i++)
        most = fmaxf(most, values[i]);
    for (int way = 16; way; way /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, way));
    for (int i = 0; i < 8; i++)
        sum += values[i] = expf(values[i] - most);
    for (int way = 16; way; way /= 2)
        sum += __shfl_xor_sync(~0u, sum, way);
    for (int i = 0; i < 4; i++)
        results[i] = __floats2half2_rn(values[2 * i] / sum, values[2 * i + 1] / sum);
    ((uint4 *)(out + row * 256))[lane] = *(uint4 *)results;
}

/* A product of half precision, with sums of floats. */
KERNEL product_half(const half *a, const half *b, half *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
    c[row * n + col] = __float2half(sum);
}

/* Tiles of 64 x 64, 4 x 4 results a thread, without tensor cores; sizes are multiples of the tiles. */
KERNEL product_half_expert(const half *a, const half *b, half *c, int m, int n, int k)
{
    __shared__ __align__(16) float as[16][68], bs[16][68];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    float sums[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        int q = t % 4 * 4, e = t % 16 * 4;
        uint2 of_a = *(const uint2 *)&a[(row + t / 4) * k + k0 + q];
        uint2 of_b = *(const uint2 *)&b[(k0 + t / 16) * n + col + e];
        float2 a0 = __half22float2(((half2 *)&of_a)[0]), a1 = __half22float2(((half2 *)&of_a)[1]);
        float2 b0 = __half22float2(((half2 *)&of_b)[0]), b1 = __half22float2(((half2 *)&of_b)[1]);
        __syncthreads();
        as[q][t / 4] = a0.x, as[q + 1][t / 4] = a0.y, as[q + 2][t / 4] = a1.x, as[q + 3][t / 4] = a1.y;
        *(float4 *)&bs[t / 16][e] = make_float4(b0.x, b0.y, b1.x, b1.y);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float4 of_rows = *(float4 *)&as[i][ty * 4], of_columns = *(float4 *)&bs[i][tx * 4];
            float x[4] = {of_rows.x, of_rows.y, of_rows.z, of_rows.w};
            float y[4] = {of_columns.x, of_columns.y, of_columns.z, of_columns.w};
            for (int u = 0; u < 4; u++)
                for (int v = 0; v < 4; v++)
                    sums[u][v] += x[u] * y[v];
        }
    }
    for (int u = 0; u < 4; u++) {
        half2 results[2] = {__floats2half2_rn(sums[u][0], sums[u][1]), __floats2half2_rn(sums[u][2], sums[u][3])};
        *(uint2 *)&c[(row + ty * 4 + u) * n + col + tx * 4] = *(uint2 *)results;
    }
}

/* Weights of attention times values, up to the row's own place; heads share values in groups. */
KERNEL weighted_causal(const float *weights, const float *values, float *out, int n, int heads, int groups, int width)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int head = blockIdx.z, group = head / (heads / groups);
    if (column >= width || row >= n)
        return;
    float sum = 0;
    for (int i = 0; i <= row; i++)
        sum += weights[(head * n + row) * n + i] * values[(i * groups + group) * width + column];
    out[(row * heads + head) * width + column] = sum;
}

/* 32 rows and 64 columns a block, 4 x 4 results a thread; sizes are multiples of these. */
KERNEL weighted_causal_expert(const float *weights, const float *values, float *out, int n, int heads, int groups,
                              int width)
{
    __shared__ __align__(16) float ws[16][36], vs[16][64];
    int t = threadIdx.x, tx = t % 16, ty = t / 16, first = blockIdx.x * 32, head = blockIdx.y;
    int group = head / (heads / groups);
    float sums[4][4] = {};
    for (int i0 = 0; i0 < first + 32; i0 += 16) {
        for (int i = t; i < 512; i += 128) {
            int place = i0 + i % 16, row = first + i / 16;
            ws[i % 16][i / 16] = place <= row ? weights[(head * n + row) * n + place] : 0;
        }
        for (int i = t; i < 1024; i += 128)
            vs[i / 64][i % 64] = values[((i0 + i / 64) * groups + group) * width + i % 64];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float4 of_rows = *(float4 *)&ws[i][ty * 4], of_columns = *(float4 *)&vs[i][tx * 4];
            float x[4] = {of_rows.x, of_rows.y, of_rows.z, of_rows.w};
            float y[4] = {of_columns.x, of_columns.y, of_columns.z, of_columns.w};
            for (int u = 0; u < 4; u++)
                for (int v = 0; v < 4; v++)
                    sums[u][v] += x[u] * y[v];
        }
        __syncthreads();
    }
    for (int u = 0; u < 4; u++)
        for (int v = 0; v < 4; v++)
            out[((first + ty * 4 + u) * heads + head) * width + tx * 4 + v] = sums[u][v];
}

/* How often two images have each pair of shades, in bins of a power of two. */
KERNEL joint_histogram(const unsigned char *a, const unsigned char *b, unsigned *bins, int width, int height, int shift)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        atomicAdd(&bins[(a[y * width + x] >> shift) * (256 >> shift) + (b[y * width + x] >> shift)], 1u);
}

/* Blocks of 512 threads count in 64 x 64 bins of their own, four pixels at a time. */
KERNEL joint_histogram_expert(const unsigned char *a, const unsigned char *b, unsigned *bins, int width, int height,
                              int shift)
{
    __shared__ unsigned own[4096];
    for (int i = threadIdx.x; i < 4096; i += 512)
        own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 512 + threadIdx.x; i < width * height / 4; i += 512 * gridDim.x) {
        uchar4 p = ((const uchar4 *)a)[i], q = ((const uchar4 *)b)[i];
        atomicAdd(&own[(p.x >> shift) * 64 + (q.x >> shift)], 1u);
        atomicAdd(&own[(p.y >> shift) * 64 + (q.y >> shift)], 1u);
        atomicAdd(&own[(p.z >> shift) * 64 + (q.z >> shift)], 1u);
        atomicAdd(&own[(p.w >> shift) * 64 + (q.w >> shift)], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += 512)
        if (own[i])
            atomicAdd(&bins[i], own[i]);
}

/* Rows of which a thread reads several: a norm of a sum of halves, the same where the sum is stored, a softmax with a
 * bias for each element, gradients of a softmax and of a norm; and a softmax under a causal mask. All have the same
 * parameters. */
KERNEL rows_norm_sum_half(const half *__restrict__ in, const half *__restrict__ residual,
                          const half *__restrict__ weights, half *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const half *x = in + row * length, *r = residual + row * length;
    float mean = 0, squares = 0;
    for (int i = 0; i < length; i++)
        mean += __half2float(x[i]) + __half2float(r[i]);
    mean /= length;
    for (int i = 0; i < length; i++) {
        float d = __half2float(x[i]) + __half2float(r[i]) - mean;
        squares += d * d;
    }
    float scale = rsqrtf(squares / length + 1e-5f);
    for (int i = 0; i < length; i++)
        out[row * length + i] = __float2half((__half2float(x[i]) + __half2float(r[i]) - mean) * scale *
                                             __half2float(weights[i]));
}

KERNEL rows_norm_stored_half(const half *__restrict__ in, half *__restrict__ residual, const half *__restrict__ weights,
                             half *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float squares = 0;
    for (int i = 0; i < length; i++) {
        float v = __half2float(residual[row * length + i]) + __half2float(in[row * length + i]);
        residual[row * length + i] = __float2half(v);
        squares += v * v;
    }
    float scale = rsqrtf(squares / length + 1e-6f);
    for (int i = 0; i < length; i++)
        out[row * length + i] = __float2half(__half2float(residual[row * length + i]) * scale *
                                             __half2float(weights[i]));
}

KERNEL rows_softmax_biased(const float *__restrict__ in, const float *__restrict__ bias,
                           const float *__restrict__ weights, float *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = in + row * length, *b = bias + row * length;
    float most = -1e30f, sum = 0;
    for (int i = 0; i < length; i++)
        most = fmaxf(most, x[i] + b[i]);
    for (int i = 0; i < length; i++)
        sum += __expf(x[i] + b[i] - most);
    for (int i = 0; i < length; i++)
        out[row * length + i] = __expf(x[i] + b[i] - most) / sum;
}

KERNEL rows_softmax_gradient(const float *__restrict__ in, const float *__restrict__ gradient,
                             const float *__restrict__ weights, float *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < length; i++)
        sum += in[row * length + i] * gradient[row * length + i];
    for (int i = 0; i < length; i++)
        out[row * length + i] = in[row * length + i] * (gradient[row * length + i] - sum);
}

KERNEL rows_norm_gradient(const float *__restrict__ in, const float *__restrict__ gradient,
                          const float *__restrict__ weights, float *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float squares = 0, sum = 0;
    for (int i = 0; i < length; i++)
        squares += in[row * length + i] * in[row * length + i];
    float scale = rsqrtf(squares / length + 1e-6f);
    for (int i = 0; i < length; i++)
        sum += gradient[row * length + i] * weights[i] * in[row * length + i];
    sum *= scale * scale * scale / length;
    for (int i = 0; i < length; i++)
        out[row * length + i] = gradient[row * length + i] * weights[i] * scale - in[row * length + i] * sum;
}

KERNEL rows_softmax_causal(const float *__restrict__ in, const float *__restrict__ unused,
                           const float *__restrict__ weights, float *__restrict__ out, int rows, int length)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int last = row % length;
    const float *x = in + (long long)row * length;
    float most = -1e30f, sum = 0;
    for (int i = 0; i <= last; i++)
        most = fmaxf(most, x[i]);
    for (int i = 0; i <= last; i++)
        sum += __expf(x[i] - most);
    for (int i = 0; i < length; i++)
        out[(long long)row * length + i] = i <= last ? __expf(x[i] - most) / sum : 0;
}
