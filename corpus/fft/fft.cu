// One step of a Cooley-Tukey FFT that sorts as it goes (Stockham). A thread transforms 2 or 8 complex numbers that lie
// n / 2 or n / 8 apart; span is the length of the transforms already done. The grid has n / 2 or n / 8 threads.

static __device__ float2 add(float2 a, float2 b)
{
    return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ float2 subtract(float2 a, float2 b)
{
    return make_float2(a.x - b.x, a.y - b.y);
}

static __device__ float2 multiply(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// exp(-i pi turn)
static __device__ float2 rotation(float turn)
{
    float sine, cosine;
    sincospif(turn, &sine, &cosine);
    return make_float2(cosine, -sine);
}

extern "C" __global__ void fft2(const float2 *in, float2 *out, int n, int span)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int j = idx % span;

    float2 a = in[idx];
    float2 b = multiply(in[idx + n / 2], rotation((float)j / span));
    int to = (idx - j) * 2 + j;
    out[to] = add(a, b);
    out[to + span] = subtract(a, b);
}

static __device__ void butterfly(float2 &a, float2 &b)
{
    float2 difference = subtract(a, b);
    a = add(a, b);
    b = difference;
}

extern "C" __global__ void fft8(const float2 *in, float2 *out, int n, int span)
{
    const float half = 0.70710678f;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int j = idx % span;

    float2 v[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        v[k] = in[idx + k * (n / 8)];
    float2 step = rotation((float)j / (4 * span));
    float2 twiddle = step;
#pragma unroll
    for (int k = 1; k < 8; k++) {
        v[k] = multiply(v[k], twiddle);
        twiddle = multiply(twiddle, step);
    }

    // Three levels of 2-point transforms; the result comes out in bit-reversed order.
#pragma unroll
    for (int k = 0; k < 4; k++)
        butterfly(v[k], v[k + 4]);
    v[5] = multiply(v[5], make_float2(half, -half));
    v[6] = make_float2(v[6].y, -v[6].x);
    v[7] = multiply(v[7], make_float2(-half, -half));
#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        butterfly(v[k], v[k + 2]);
        butterfly(v[k + 1], v[k + 3]);
        v[k + 3] = make_float2(v[k + 3].y, -v[k + 3].x);
    }
#pragma unroll
    for (int k = 0; k < 8; k += 2)
        butterfly(v[k], v[k + 1]);

    int to = (idx - j) * 8 + j;
    out[to] = v[0];
    out[to + span] = v[4];
    out[to + 2 * span] = v[2];
    out[to + 3 * span] = v[6];
    out[to + 4 * span] = v[1];
    out[to + 5 * span] = v[5];
    out[to + 6 * span] = v[3];
    out[to + 7 * span] = v[7];
}
