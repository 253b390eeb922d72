// Naive kernels in today's style: a thread makes one element, guarded, with plain loads from global memory. In
// experts.cu is what an expert makes of each.
#include <stdint.h>
#define KERNEL extern "C" __global__ void

// c = a * transposed b
KERNEL product_nt(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[col * k + i];
    c[row * n + col] = sum;
}

// c = transposed a * b
KERNEL product_tn(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0;
        for (int i = 0; i < k; i++)
            sum += a[i * m + row] * b[i * n + col];
        c[row * n + col] = sum;
    }
}

// A product for each index of z.
KERNEL product_batched(const float *a, const float *b, float *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    size_t batch = blockIdx.z;
    if (row >= m || col >= n)
        return;
    a += batch * m * k;
    b += batch * k * n;
    c += batch * m * n;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

// Elements of 8 bits, summed in 32.
KERNEL product_int8(const int8_t *a, const int8_t *b, int *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    int sum = 0;
    for (int i = 0; i < k; i++)
        sum += (int)a[row * k + i] * (int)b[col * k + i];
    c[row * n + col] = sum;
}

// A filter of size x size for each channel, the image padded.
KERNEL depthwise(const float *image, const float *filter, float *out, int width, int height, int size)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    if (x >= width || y >= height)
        return;
    int pitch = width + size - 1;
    image += (size_t)c * pitch * (height + size - 1);
    filter += c * size * size;
    float sum = 0;
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            sum += image[(y + j) * pitch + x + i] * filter[j * size + i];
    out[((size_t)c * height + y) * width + x] = sum;
}

// A filter along columns, the image padded.
KERNEL separable_columns(const float *image, const float *filter, float *out, int width, int height, int size)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int i = 0; i < size; i++)
        sum += image[(y + i) * width + x] * filter[i];
    out[y * width + x] = sum;
}

// The same along rows.
KERNEL separable_rows(const float *image, const float *filter, float *out, int width, int height, int size)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    for (int i = 0; i < size; i++)
        sum += image[y * (width + size - 1) + x + i] * filter[i];
    out[y * width + x] = sum;
}

// Seven points of a grid; borders are left alone.
KERNEL stencil3d(const float *in, float *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    for (int z = 1; z < nz - 1; z++) {
        int i = (z * ny + y) * nx + x;
        out[i] = 0.5f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] +
                                        in[i + nx * ny]);
    }
}

// Squared distances of all pairs of points.
KERNEL distances(const float *p, const float *q, float *d, int n, int m, int dim)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m)
        return;
    float sum = 0;
    for (int k = 0; k < dim; k++) {
        float t = p[i * dim + k] - q[j * dim + k];
        sum += t * t;
    }
    d[i * m + j] = sum;
}

// A row for each thread.
KERNEL softmax_rows(const float *in, float *out, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float most = -1e30f, sum = 0;
    for (int i = 0; i < cols; i++)
        most = fmaxf(most, in[row * cols + i]);
    for (int i = 0; i < cols; i++)
        sum += __expf(in[row * cols + i] - most);
    for (int i = 0; i < cols; i++)
        out[row * cols + i] = __expf(in[row * cols + i] - most) / sum;
}

KERNEL norm_rows(const float *in, float *out, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float mean = 0, var = 0;
    for (int i = 0; i < cols; i++)
        mean += in[row * cols + i];
    mean /= cols;
    for (int i = 0; i < cols; i++) {
        float t = in[row * cols + i] - mean;
        var += t * t;
    }
    float scale = rsqrtf(var / cols + 1e-5f);
    for (int i = 0; i < cols; i++)
        out[row * cols + i] = (in[row * cols + i] - mean) * scale;
}

// Scores of attention, for each head; later positions are masked.
KERNEL scores(const float *q, const float *k, float *s, int length, int dim, float scale)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    size_t head = blockIdx.z;
    if (i >= length || j >= length)
        return;
    const float *qi = q + (head * length + i) * dim, *kj = k + (head * length + j) * dim;
    float sum = 0;
    for (int d = 0; d < dim; d++)
        sum += qi[d] * kj[d];
    s[(head * length + i) * length + j] = j <= i ? sum * scale : -1e30f;
}

// Channels last from channels first.
KERNEL permute(const float *in, float *out, int channels, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y, y = blockIdx.z;
    if (x >= width || c >= channels)
        return;
    out[((size_t)y * width + x) * channels + c] = in[((size_t)c * height + y) * width + x];
}

KERNEL histogram(const uint8_t *in, unsigned *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[in[i]], 1u);
}
