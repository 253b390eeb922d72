// Integer arithmetic: 64 and 128 bits, division, bit fields, byte permutation, SIMD within a word, 8- and 16-bit types.

extern "C" __global__ void wide(long long *out, const long long *a, const unsigned long long *b)
{
    int i = threadIdx.x;
    long long x = a[i];
    unsigned long long y = b[i];
    long long sum = x / (long long)(y | 1) + x % 1000003;
    sum += (long long)(y / 10) + (long long)(y % 7);
    sum ^= __mul64hi(x, sum) + (long long)__umul64hi(y, y);
    sum += (x << (i & 63)) + (x >> (y & 63)) + (long long)(y >> (i & 63));
    sum += __clzll(x) + __popcll(x) + __ffsll(x) + (long long)__brevll(y);
    sum += x < 0 ? -x : x;
    sum = x > sum ? x : sum;
    __int128 product = (__int128)x * sum;
    unsigned __int128 shifted = (unsigned __int128)product >> 37;
    out[i] = (long long)(product >> 64) + (long long)shifted + (long long)(product / (x | 1));
}

extern "C" __global__ void narrow(unsigned char *bytes, short *shorts, int *words, int n)
{
    int i = threadIdx.x;
    unsigned char byte = bytes[i];
    signed char low = (signed char)(byte << 3);
    short half = shorts[i];
    unsigned short other = (unsigned short)(half * byte + low);
    half = (short)(half / (short)(n | 1));
    bytes[i + 1] = (unsigned char)(other >> 4);
    shorts[i + 1] = (short)min((int)half, (int)(short)other);
    words[i] = low < half ? byte : other;
}

extern "C" __global__ void bits(unsigned *out, const unsigned *a, const unsigned *b)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    unsigned sum = __byte_perm(x, y, 0x6521) + __funnelshift_l(x, y, 9) + __funnelshift_rc(x, y, (unsigned)i);
    sum += __brev(x) + __clz((int)y) + __popc(x & y) + __ffs((int)x);
    sum += __umulhi(x, y) + (unsigned)__mulhi((int)x, (int)y) + __umul24(x, y) + (unsigned)__mul24((int)x, (int)y);
    sum += __sad((int)x, (int)y, sum) + __usad(x, y, 3u) + (unsigned)__hadd((int)x, (int)y) + __urhadd(x, y);
    sum += (x & 0xff0) >> 4 | (y & 0x3ff) << 11;
    sum += (unsigned)((int)(x << 5) >> 20);
    sum ^= (x & y) | (~x & sum);
    sum += x / 3 + y % 10 + (unsigned)((int)x / 7) + x / (y | 1);
    out[i] = sum;
}

extern "C" __global__ void packed(unsigned *out, const unsigned *a, const unsigned *b)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    unsigned sum = __vadd4(x, y) ^ __vsub2(x, y) ^ __vabsdiffu4(x, y) ^ __vmaxs2(x, y) ^ __vminu4(x, y);
    sum ^= __vcmpgts4(x, y) ^ __vavgu4(x, y) ^ __vaddss4(x, y) ^ __vsads4(x, y);
    sum += (unsigned)__dp4a((int)x, (int)y, (int)sum) + __dp2a_lo(x, y, sum);
    out[i] = sum;
}
