// Points of a normal distribution from a quasirandom sequence: the inverse of the cumulative normal distribution, by
// Moro's approximation (a rational function in the middle, a polynomial in the logarithm of the logarithm in the
// tails).

static __device__ float inverse_normal(unsigned x)
{
    const float a1 = 2.50662823884f, a2 = -18.61500062529f, a3 = 41.39119773534f, a4 = -25.44106049637f;
    const float b1 = -8.4735109309f, b2 = 23.08336743743f, b3 = -21.06224101826f, b4 = 3.13082909833f;
    const float c1 = 0.337475482272615f, c2 = 0.976169019091719f, c3 = 0.160797971491821f;
    const float c4 = 2.76438810333863e-02f, c5 = 3.8405729373609e-03f, c6 = 3.951896511919e-04f;
    const float c7 = 3.21767881768e-05f, c8 = 2.888167364e-07f, c9 = 3.960315187e-07f;

    bool negate = false;
    if (x >= 0x80000000u) {
        x = 0xffffffffu - x;
        negate = true;
    }
    // x is now in the lower half; the point lies between 0 and 1/2.
    float point = (float)x * (1.0f / 4294967808.0f) + 0.5f / 4294967808.0f;
    float y = point - 0.5f;
    float z;
    if (y > -0.42f) {
        z = y * y;
        z = y * (((a4 * z + a3) * z + a2) * z + a1) / ((((b4 * z + b3) * z + b2) * z + b1) * z + 1.0f);
    } else {
        z = __logf(-__logf(point));
        z = -(c1 + z * (c2 + z * (c3 + z * (c4 + z * (c5 + z * (c6 + z * (c7 + z * (c8 + z * c9))))))));
    }
    return negate ? -z : z;
}

extern "C" __global__ void inverse_cnd(float *out, const unsigned *in, unsigned n)
{
    unsigned threads = gridDim.x * blockDim.x;
    unsigned distance = 0xffffffffu / (n + 1);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        out[i] = inverse_normal(in ? in[i] : (i + 1) * distance);
}

// Niederreiter's sequence: point i of a dimension is the exclusive or of the table's entries at the bits of i.
extern "C" __global__ void quasirandom(float *out, const unsigned *table, unsigned seed, unsigned n)
{
    unsigned dimension = threadIdx.y;
    unsigned threads = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        unsigned result = 0;
        unsigned data = seed + i;
        for (int bit = 0; bit < 31; bit++, data >>= 1)
            if (data & 1)
                result ^= table[dimension * 31 + bit];
        out[dimension * n + i] = (float)(result + 1) * (1.0f / 2147483648.0f);
    }
}
