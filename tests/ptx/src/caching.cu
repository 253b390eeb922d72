// Cache operators, vector accesses, read-only loads, restricted and volatile pointers.

struct alignas(32) Eight {
    float values[8];
};

extern "C" __global__ void vectors(float4 *fours, const double2 *doubles, short4 *shorts, uchar4 *bytes, Eight *eights,
                                   long long *longs)
{
    int i = threadIdx.x;
    float4 four = fours[i];
    double2 two = doubles[i];
    short4 halves = shorts[i];
    uchar4 byte = bytes[i];
    Eight eight = eights[i];
    four.x += (float)two.y + halves.z + byte.w + eight.values[5];
    eight.values[3] = four.w;
    halves.x += byte.x;
    fours[i + 1] = four;
    shorts[i] = halves;
    bytes[i] = make_uchar4(byte.w, byte.z, byte.y, byte.x);
    eights[i + 2] = eight;
    longs[2 * i] = i;
    longs[2 * i + 1] = -i;
}

extern "C" __global__ void readOnly(float *__restrict__ out, const float *__restrict__ a, const int4 *__restrict__ b,
                                    const unsigned char *c)
{
    int i = threadIdx.x;
    out[i] = a[i] * 2.0f + __ldg(&c[i]) + b[i].z;
}

extern "C" __global__ void operators(int *out, const int *in, volatile int *watched)
{
    int i = threadIdx.x;
    int sum = __ldcg(&in[i]) + __ldca(&in[i + 1]) + __ldcs(&in[i + 2]) + __ldlu(&in[i + 3]) + __ldcv(&in[i + 4]);
    __stwb(&out[i], sum);
    __stcg(&out[i + 1], sum);
    __stcs(&out[i + 2], sum);
    __stwt(&out[i + 3], sum);
    watched[i] = watched[i] + watched[i];
    if (__isGlobal(out) && !__isShared(in))
        out[i] += (int)__cvta_generic_to_global(out);
}
