// Naive kernels whose threads read two rows of their own in several loops, for tests/suites/rows.sh.
//
//     nvcc -arch=sm_90 -ptx -o tests/rows/beside.sm_90.ptx tests/rows/beside.cu
//
// The first parameter is the buffer that the others point into; rows are 'pitch' elements apart.
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
#define ROW (blockIdx.x * blockDim.x + threadIdx.x)
#define FOR _Pragma("unroll 1") for

// A norm of the sum of two rows.
KERNEL added_norm(void *, const __half *x, const __half *r, __half *y, int rows, int columns, int pitch)
{
    if (ROW >= rows)
        return;
    x += (size_t)ROW * pitch, r += (size_t)ROW * pitch, y += (size_t)ROW * pitch;
    float mean = 0, square = 0;
    FOR (int i = 0; i < columns; i++)
        mean += __half2float(x[i]) + __half2float(r[i]);
    mean /= columns;
    FOR (int i = 0; i < columns; i++) {
        const float d = __half2float(x[i]) + __half2float(r[i]) - mean;
        square += d * d;
    }
    FOR (int i = 0; i < columns; i++)
        y[i] = __float2half((__half2float(x[i]) + __half2float(r[i]) - mean) * rsqrtf(square + 1));
}

// The sum is stored in the place of one of them; the result takes that of the other, which is read once.
KERNEL added_in_place(void *, const float *x, float *r, float *y, int rows, int columns, int pitch)
{
    if (ROW >= rows)
        return;
    x += (size_t)ROW * pitch, r += (size_t)ROW * pitch, y += (size_t)ROW * pitch;
    float square = 0;
    FOR (int i = 0; i < columns; i++) {
        const float sum = r[i] + x[i];
        r[i] = sum;
        square += sum * sum;
    }
    FOR (int i = 0; i < columns; i++)
        y[i] = r[i] * rsqrtf(square + 1);
}

// Here both are still read afterwards, so the result takes no place, and is stored by each thread.
KERNEL added_kept(void *, const float *x, float *r, float *y, int rows, int columns, int pitch)
{
    if (ROW >= rows)
        return;
    x += (size_t)ROW * pitch, r += (size_t)ROW * pitch, y += (size_t)ROW * pitch;
    float square = 0;
    FOR (int i = 0; i < columns; i++) {
        const float sum = r[i] + x[i];
        r[i] = sum;
        square += sum * sum;
    }
    FOR (int i = 0; i < columns; i++)
        y[i] = x[i] * rsqrtf(square + 1);
    FOR (int i = 0; i < columns; i++)
        r[i] -= x[i];
}

// The gradient of a softmax.
KERNEL softmax_gradient(void *, const float *x, const float *r, float *y, int rows, int columns, int pitch)
{
    if (ROW >= rows)
        return;
    x += (size_t)ROW * pitch, r += (size_t)ROW * pitch, y += (size_t)ROW * pitch;
    float sum = 0;
    FOR (int i = 0; i < columns; i++)
        sum += x[i] * r[i];
    FOR (int i = 0; i < columns; i++)
        y[i] = x[i] * (r[i] - sum);
}

// A softmax under a causal mask: rows differ in length, but not what is stored. With 'more', the last loop loads beyond
// what the others have loaded.
KERNEL causal(const float *__restrict__ x, float *__restrict__ y, int rows, int columns, int more)
{
    if (ROW >= rows)
        return;
    const int last = ROW % columns;
    x += (size_t)ROW * columns, y += (size_t)ROW * columns;
    float most = -INFINITY, sum = 0;
    for (int i = 0; i <= last; i++)
        most = fmaxf(most, x[i]);
    FOR (int i = 0; i <= last; i++)
        sum += __expf(x[i] - most);
    for (int i = 0; i < columns; i++)
        y[i] = i <= last + more ? __expf(x[i] - most) / sum : 0.f;
}

// Here elements are loaded after others have taken their place.
KERNEL causal_late(const float *__restrict__ x, float *__restrict__ y, int rows, int columns, int more)
{
    if (ROW >= rows)
        return;
    const int last = ROW % columns;
    float *const z = y + (size_t)rows * columns + ROW;
    x += (size_t)ROW * columns, y += (size_t)ROW * columns;
    float most = -INFINITY, sum = 0;
    FOR (int i = 0; i <= last; i++)
        most = fmaxf(most, x[i]);
    FOR (int i = 0; i <= last; i++)
        sum += __expf(x[i] - most);
    most = 0;
    FOR (int i = 0; i < columns; i++) {
        y[i] = sum + i;
        if (i <= last + more)
            most += x[i] / sum;
    }
    *z = most;
}
