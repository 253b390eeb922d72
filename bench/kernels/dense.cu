// Small dense problems, each in the registers of one thread, and sparse ones with small blocks.
#include <cuda_fp16.h>

constexpr int THREADS = 128;

// The place of an element in the lower triangle of a symmetric matrix.
__device__ constexpr int below(int row, int column)
{
    return row * (row + 1) / 2 + column;
}

// Cholesky decompositions of matrices of 6 by 6, in place.
extern "C" __global__ void __launch_bounds__(THREADS) cholesky6(double *matrices, int count)
{
    constexpr int SIDE = 6, SIZE = SIDE * (SIDE + 1) / 2;
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    double a[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; k++)
        a[k] = matrices[k * count + i];
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
        for (int k = 0; k < j; k++)
            a[below(j, j)] -= a[below(j, k)] * a[below(j, k)];
        a[below(j, j)] = sqrt(a[below(j, j)]);
        double inverse = 1 / a[below(j, j)];
#pragma unroll
        for (int row = j + 1; row < SIDE; row++) {
#pragma unroll
            for (int k = 0; k < j; k++)
                a[below(row, j)] -= a[below(row, k)] * a[below(j, k)];
            a[below(row, j)] *= inverse;
        }
    }
#pragma unroll
    for (int k = 0; k < SIZE; k++)
        matrices[k * count + i] = a[k];
}

__device__ __forceinline__ void winograd_line(float &a, float &b, float &c, float &d, float &e, float &f)
{
    float t[6] = {4 * a - 5 * c + e,      -4 * b - 4 * c + d + e, 4 * b - 4 * c - d + e,
                  -2 * b - c + 2 * d + e, 2 * b - c - 2 * d + e,  4 * b - 5 * d + f};
    a = t[0], b = t[1], c = t[2], d = t[3], e = t[4], f = t[5];
}

// The input transform of Winograd's F(4x4, 3x3).
extern "C" __global__ void __launch_bounds__(THREADS)
    winograd(const float *__restrict__ image, float *__restrict__ out, int width, int height, int channels)
{
    int across = width / 4, tiles = across * (height / 4), i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= tiles * channels)
        return;
    int channel = i / tiles, y = i % tiles / across * 4, x = i % tiles % across * 4;
    float d[6][6];
#pragma unroll
    for (int row = 0; row < 6; row++)
#pragma unroll
        for (int column = 0; column < 6; column++) {
            int v = y + row - 1, u = x + column - 1;
            bool is_inside = v >= 0 && v < height && u >= 0 && u < width;
            d[row][column] = is_inside ? image[(channel * height + v) * width + u] : 0;
        }
#pragma unroll
    for (int k = 0; k < 6; k++)
        winograd_line(d[k][0], d[k][1], d[k][2], d[k][3], d[k][4], d[k][5]);
#pragma unroll
    for (int k = 0; k < 6; k++)
        winograd_line(d[0][k], d[1][k], d[2][k], d[3][k], d[4][k], d[5][k]);
#pragma unroll
    for (int k = 0; k < 36; k++)
        out[size_t(k) * tiles * channels + i] = d[k / 6][k % 6];
}

__device__ __forceinline__ double2 times(double2 a, double2 b)
{
    return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// One pass of radix 8 of a Fourier transform, in double precision.
extern "C" __global__ void __launch_bounds__(THREADS)
    fourier8(const double2 *__restrict__ in, double2 *__restrict__ out, int count)
{
    constexpr double half = .7071067811865476;
    const double2 turns[4] = {{1, 0}, {half, -half}, {0, -1}, {-half, -half}};
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    double2 a[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        a[k] = in[k * count + i];
#pragma unroll
    for (int s = 4; s > 0; s /= 2)
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k & s)
                continue;
            double2 sum = make_double2(a[k].x + a[k + s].x, a[k].y + a[k + s].y);
            double2 difference = make_double2(a[k].x - a[k + s].x, a[k].y - a[k + s].y);
            a[k] = sum;
            a[k + s] = times(difference, turns[k % s * (4 / s)]);
        }
    double angle = -6.283185307179586 * i / (8.0 * count);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        double2 turn;
        sincos(angle * k, &turn.y, &turn.x);
        out[k * count + i] = times(a[(k & 1) << 2 | (k & 2) | k >> 2], turn);
    }
}

// A convolution of 3 by 3 with eight output channels for each thread, two pixels at once in half precision.
extern "C" __global__ void __launch_bounds__(THREADS)
    convolve8(const half2 *__restrict__ image, const half2 *__restrict__ weights, half2 *__restrict__ out, int width,
              int height, int channels)
{
    int x = blockIdx.x * THREADS + threadIdx.x, y = blockIdx.y;
    if (x >= width - 2)
        return;
    half2 sum[8] = {};
    for (int c = 0; c < channels; c++) {
        half2 window[9];
#pragma unroll
        for (int t = 0; t < 9; t++)
            window[t] = image[(c * height + y + t / 3) * width + x + t % 3];
#pragma unroll
        for (int k = 0; k < 8; k++)
#pragma unroll
            for (int t = 0; t < 9; t++)
                sum[k] = __hfma2(window[t], weights[(k * channels + c) * 9 + t], sum[k]);
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        out[(k * height + y) * width + x] = sum[k];
}

// Batcher's odd-even merge sort of 32 numbers for each thread.
extern "C" __global__ void __launch_bounds__(THREADS) sort32(float *numbers, int count)
{
    constexpr int SIZE = 32;
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    float a[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; k++)
        a[k] = numbers[k * count + i];
#pragma unroll
    for (int p = 1; p < SIZE; p *= 2)
#pragma unroll
        for (int k = p; k >= 1; k /= 2)
#pragma unroll
            for (int j = k % p; j < SIZE - k; j += 2 * k)
#pragma unroll
                for (int m = j; m < j + k; m++)
                    if (m + k < SIZE && m / (p * 2) == (m + k) / (p * 2)) {
                        float low = fminf(a[m], a[m + k]), high = fmaxf(a[m], a[m + k]);
                        a[m] = low;
                        a[m + k] = high;
                    }
#pragma unroll
    for (int k = 0; k < SIZE; k++)
        numbers[k * count + i] = a[k];
}

// The median of 5 by 5 pixels, by selection.
extern "C" __global__ void __launch_bounds__(256)
    median25(const float *__restrict__ image, float *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width - 4 || y >= height - 4)
        return;
    float a[25];
#pragma unroll
    for (int k = 0; k < 25; k++)
        a[k] = image[(y + k / 5) * width + x + k % 5];
#pragma unroll
    for (int i = 0; i < 13; i++)
#pragma unroll
        for (int j = 24; j > i; j--) {
            float low = fminf(a[j - 1], a[j]), high = fmaxf(a[j - 1], a[j]);
            a[j - 1] = low;
            a[j] = high;
        }
    out[y * width + x] = a[12];
}

// Derivatives within elements of 8 by 8 by 8 points, one thread for each line.
extern "C" __global__ void __launch_bounds__(64)
    derive(const double *__restrict__ values, const double *__restrict__ matrix, double *__restrict__ out)
{
    __shared__ double layer[64], d[64];
    int t = threadIdx.x, x = t % 8, y = t / 8, element = blockIdx.x;
    double v[8], sum[8] = {};
    d[t] = matrix[t];
#pragma unroll
    for (int k = 0; k < 8; k++)
        v[k] = values[(element * 8 + k) * 64 + t];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        layer[t] = v[k];
        __syncthreads();
#pragma unroll
        for (int m = 0; m < 8; m++) {
            sum[k] += d[x * 8 + m] * layer[y * 8 + m] + d[y * 8 + m] * layer[m * 8 + x];
            sum[m] += d[m * 8 + k] * v[k];
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < 8; k++)
        out[(element * 8 + k) * 64 + t] = sum[k];
}

// A sparse matrix of blocks of 3 by 3, times a vector.
extern "C" __global__ void __launch_bounds__(THREADS)
    sparse3(const int *__restrict__ starts, const int *__restrict__ columns, const float *__restrict__ blocks,
            const float *__restrict__ x, float *__restrict__ y, int rows)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows)
        return;
    float sum[3] = {};
#pragma unroll 4
    for (int k = starts[i]; k < starts[i + 1]; k++)
#pragma unroll
        for (int row = 0; row < 3; row++)
#pragma unroll
            for (int column = 0; column < 3; column++)
                sum[row] += blocks[9 * k + 3 * row + column] * x[3 * columns[k] + column];
    for (int row = 0; row < 3; row++)
        y[3 * i + row] = sum[row];
}
