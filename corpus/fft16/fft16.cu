// One radix-16 stage of a Stockham FFT: each thread transforms 16 complex numbers in registers.

static __device__ float2 multiply(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static __device__ float2 add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ float2 subtract(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

// Forward transform of four numbers in place, in natural order.
static __device__ void transform4(float2 &a, float2 &b, float2 &c, float2 &d)
{
    float2 evenSum = add(a, c);
    float2 evenDifference = subtract(a, c);
    float2 oddSum = add(b, d);
    float2 oddDifference = subtract(b, d);
    float2 turned = make_float2(oddDifference.y, -oddDifference.x);
    a = add(evenSum, oddSum);
    b = add(evenDifference, turned);
    c = subtract(evenSum, oddSum);
    d = subtract(evenDifference, turned);
}

// Forward transform of sixteen numbers in place as four by four, in natural order.
static __device__ void transform16(float2 v[16])
{
    const float cosine[10] = {1.0f, 0.92387953f, 0.70710678f, 0.38268343f, 0.0f,
                              -0.38268343f, -0.70710678f, -0.92387953f, -1.0f, -0.92387953f};
    const float sine[10] = {0.0f, -0.38268343f, -0.70710678f, -0.92387953f, -1.0f,
                            -0.92387953f, -0.70710678f, -0.38268343f, 0.0f, 0.38268343f};

#pragma unroll
    for (int column = 0; column < 4; column++)
        transform4(v[column], v[column + 4], v[column + 8], v[column + 12]);

#pragma unroll
    for (int row = 1; row < 4; row++)
#pragma unroll
        for (int column = 1; column < 4; column++)
            v[4 * row + column] =
                multiply(v[4 * row + column], make_float2(cosine[row * column], sine[row * column]));

#pragma unroll
    for (int row = 0; row < 4; row++)
        transform4(v[4 * row], v[4 * row + 1], v[4 * row + 2], v[4 * row + 3]);

    // Row r, column c now holds element r + 4c: transpose.
#pragma unroll
    for (int row = 0; row < 4; row++)
#pragma unroll
        for (int column = row + 1; column < 4; column++) {
            float2 other = v[4 * row + column];
            v[4 * row + column] = v[4 * column + row];
            v[4 * column + row] = other;
        }
}

// span is the length of the transforms already done; twiddle holds exp(-2 pi i j k / (16 span)) at [j * 16 + k].
extern "C" __global__ void __launch_bounds__(64)
fft16(const float2 *in, float2 *out, const float2 *twiddle, int n, int span)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = n / 16;
    if (i >= stride)
        return;
    int j = i % span;

    float2 v[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        v[k] = multiply(in[i + k * stride], twiddle[j * 16 + k]);

    transform16(v);

    int base = (i / span) * span * 16 + j;
#pragma unroll
    for (int k = 0; k < 16; k++)
        out[base + k * span] = v[k];
}
