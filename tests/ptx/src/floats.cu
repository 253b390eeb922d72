// Floating point: rounding modes, saturation, comparisons with NaN, conversions, the mathematical library.

extern "C" __global__ void single(float *out, const float *a, const float *b)
{
    int i = threadIdx.x;
    float x = a[i], y = b[i];
    float sum = __fadd_rd(x, y) + __fmul_ru(x, y) + __fmaf_rz(x, y, 2.0f) + __fdiv_rn(x, y) + __fsqrt_ru(x);
    sum += __saturatef(x) + __frcp_rz(y) + __frsqrt_rn(x) + copysignf(x, y) + truncf(x) + rintf(y) + ceilf(x);
    sum += fminf(x, y) + fmaxf(sum, -0.0f) + fabsf(y) + fmodf(x, y) + ldexpf(x, 3) + remainderf(x, 3.0f);
    sum += expf(x) + logf(y) + powf(x, y) + tanhf(x) + erff(y) + cbrtf(x) + __sinf(x) + __tanf(y) + exp2f(x);
    if (x != x || isinf(y) || !(x >= y))
        sum = -sum;
    if (signbit(x) && isfinite(y) && x <= 1e-38f)
        sum += 1.0f;
    out[i] = sum;
}

extern "C" __global__ void twofold(double *out, const double *a, const float *b)
{
    int i = threadIdx.x;
    double x = a[i], y = b[i];
    double sum = __dadd_rz(x, y) + __fma_rd(x, y, 0.1) + x / y + sqrt(x) + rsqrt(y) + floor(x) + fmin(x, y);
    sum += exp(x) + log(y) + sin(x) + atan2(x, y) + fabs(x) + __ddiv_ru(y, x) + 1.0 / x;
    out[i] = x < y ? sum : -sum;
}

extern "C" __global__ void conversions(double *doubles, float *singles, int *words, long long *longs,
                                       unsigned char *bytes)
{
    int i = threadIdx.x;
    float x = singles[i];
    double y = doubles[i];
    words[i] = (int)x + __float2int_rn(x) + __float2int_ru(y) + (int)(unsigned)x + __double2int_rd(y) +
               __float_as_int(x) + __double2hiint(y);
    longs[i] = (long long)x + __double2ll_rn(y) + (long long)(unsigned long long)y + __double_as_longlong(y);
    bytes[i] = (unsigned char)x + (unsigned char)(signed char)y;
    singles[i] = (float)y + (float)words[i] + __ll2float_rz(longs[i]) + (float)bytes[i] + __uint_as_float(words[i]);
    doubles[i] = (double)x + (double)longs[i] + (double)(unsigned)words[i] + __hiloint2double(words[i], 7);
}
