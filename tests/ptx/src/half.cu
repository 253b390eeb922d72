// Half and bfloat16 arithmetic.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(__half *out, const __half *a, const __half2 *pairs, float *wide, int n)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    __half x = a[i];
    __half2 p = pairs[i];
    __half2 q = __hfma2(p, p, __float2half2_rn(0.5f));
    __half sum = __hadd(x, __low2half(q));
    sum = __hfma(sum, x, __float2half(1.25f));
    if (__hgt(x, sum) || __hbeq2(p, q))
        sum = __hneg(hsqrt(__habs(sum)));
    out[i] = __hmax(__hmul_sat(sum, __high2half(q)), __int2half_rn(i)) / hexp(x);
    wide[i] = __half2float(sum) + __half2int_rz(x) + __half2float(__hmin(x, sum));
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bfloats(__nv_bfloat16 *out, const __nv_bfloat16 *a, const __nv_bfloat162 *pairs, int n)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    __nv_bfloat16 x = a[i];
    __nv_bfloat162 p = pairs[i];
    __nv_bfloat162 q = __hfma2(p, p, __float2bfloat162_rn(0.5f));
    __nv_bfloat16 sum = __hadd(x, __low2bfloat16(q));
    sum = __hfma(sum, x, __float2bfloat16(1.25f));
    out[i] = __hlt(sum, x) ? __hmul(sum, __high2bfloat16(q)) : __hmax(sum, x);
}
#endif
