// Naive kernels in which each thread walks along a row, for tests/suites/rows.sh.
//
//     nvcc -arch=sm_90 -lineinfo -ptx -o tests/rows/unrolled.sm_90.ptx tests/rows/rows.cu
//     nvcc -arch=sm_90 -lineinfo -ptx -DROLLED -o tests/rows/rolled.sm_90.ptx tests/rows/rows.cu
//
// nvcc unrolls each loop by four; with ROLLED it leaves them as they are.
// The first two parameters are the buffers that the others point into.
#define BUFFERS void *, void *
#ifdef ROLLED
#define FOR _Pragma("unroll 1") for
#else
#define FOR for
#endif

extern "C" __global__ void row_softmax(BUFFERS, const float *x, float *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float most = -INFINITY, sum = 0;
    FOR (int i = 0; i < columns; i++)
        most = fmaxf(most, x[row * columns + i]);
    FOR (int i = 0; i < columns; i++)
        sum += expf(x[row * columns + i] - most);
    FOR (int i = 0; i < columns; i++)
        y[row * columns + i] = expf(x[row * columns + i] - most) / sum;
}

extern "C" __global__ void row_norm(BUFFERS, const float *__restrict__ x, const float *__restrict__ gain,
                                    float *__restrict__ y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *from = x + row * columns;
    float mean = 0, variance = 0;
    FOR (int i = 0; i < columns; i++)
        mean += from[i];
    mean /= columns;
    FOR (int i = 0; i < columns; i++) {
        float d = from[i] - mean;
        variance += d * d;
    }
    float scale = rsqrtf(variance / columns + 1e-5f);
    FOR (int i = 0; i < columns; i++)
        y[row * columns + i] = (from[i] - mean) * scale * gain[i];
}

// Whether 'gain' may be written meanwhile differs from row to row.
extern "C" __global__ void row_gain(BUFFERS, const float *x, const float *gain, float *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    FOR (int i = 0; i < columns; i++)
        y[row * columns + i] = x[row * columns + i] * gain[i];
}

extern "C" __global__ void row_dot(BUFFERS, const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    FOR (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[row * n + k];
    c[row] = sum;
}

extern "C" __global__ void row_mv(BUFFERS, const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    FOR (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k];
    c[row] = sum;
}

extern "C" __global__ void row_int8(BUFFERS, const signed char *a, const signed char *b, int *c, int m, int n, int k)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    int sum = 0;
    FOR (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[column * k + i];
    c[row * n + column] = sum;
}

extern "C" __global__ void row_distance(BUFFERS, const float *a, const float *b, float *c, int n, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= n)
        return;
    float sum = 0;
    FOR (int k = 0; k < d; k++) {
        float t = a[j * d + k] - b[i * d + k];
        sum += t * t;
    }
    c[j * n + i] = sqrtf(sum);
}

extern "C" __global__ void row_double(BUFFERS, const double *a, double *c, long long n)
{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double sum = 0;
    FOR (long long k = 0; k < n; k++)
        sum += a[row * n + k];
    c[row] = sum;
}

// Elements of two bytes, in place.
extern "C" __global__ void row_scale(BUFFERS, short *a, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    FOR (int k = 0; k < n; k++)
        a[row * n + k] = (short)(a[row * n + k] * 3 + k);
}

// Two accesses of one thread, and a barrier after them.
extern "C" __global__ void pairs(BUFFERS, const float *a, float *b, float *sum)
{
    __shared__ float parts[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float real = a[2 * i], imaginary = a[2 * i + 1];
    b[2 * i] = real + imaginary;
    b[2 * i + 1] = real - imaginary;
    parts[threadIdx.x] = fabsf(real) + fabsf(imaginary);
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0;
        for (int k = 0; k < blockDim.x; k++)
            all += parts[k];
        sum[blockIdx.x] = all;
    }
}
