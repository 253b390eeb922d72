// Inline assembly with scopes, registers, labels, predicates and special registers of its own.

static __device__ __forceinline__ unsigned lane()
{
    unsigned value;
    asm("mov.u32 %0, %%laneid;" : "=r"(value));
    return value;
}

static __device__ __forceinline__ int selectPositive(int a, int b)
{
    int result;
    asm("{\n\t"
        ".reg .pred p;\n\t"
        "setp.gt.s32 p, %1, 0;\n\t"
        "@p mov.s32 %0, %1;\n\t"
        "@!p mov.s32 %0, %2;\n\t"
        "}"
        : "=r"(result)
        : "r"(a), "r"(b));
    return result;
}

static __device__ __forceinline__ unsigned long long addWithCarry(unsigned long long a, unsigned long long b)
{
    unsigned low, high;
    asm("{ .reg .u32 la, ha, lb, hb;\n"
        "  mov.b64 {la, ha}, %2;\n"
        "  mov.b64 {lb, hb}, %3;\n"
        "  add.cc.u32 %0, la, lb;\n"
        "  addc.u32 %1, ha, hb;\n"
        "}"
        : "=r"(low), "=r"(high)
        : "l"(a), "l"(b));
    return (unsigned long long)high << 32 | low;
}

static __device__ __forceinline__ int countDown(int n)
{
    int steps;
    asm volatile("{\n"
                 "  .reg .pred p, q;\n"
                 "  .reg .s32 t<3>;\n"
                 "  mov.s32 t0, %1;\n"
                 "  mov.s32 t1, 0;\n"
                 "again:\n"
                 "  setp.le.s32 p|q, t0, 0;\n"
                 "  @p bra done;\n"
                 "  { .reg .s32 t0; mov.s32 t0, 1; add.s32 t1, t1, t0; }\n"
                 "  add.s32 t0, t0, -1;\n"
                 "  bra.uni again;\n"
                 "done:\n"
                 "  mov.s32 %0, t1;\n"
                 "}"
                 : "=r"(steps)
                 : "r"(n));
    return steps;
}

extern "C" __global__ void assembly(int *out, unsigned long long *wide, const float *in)
{
    int i = threadIdx.x;
    unsigned clock, mask;
    unsigned long long timer;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    out[i] = selectPositive(out[i], (int)lane()) + countDown(i) + countDown(i * 2) + (int)(clock & mask);
    wide[i] = addWithCarry(wide[i], timer) + addWithCarry(wide[i], 0xffffffffffffffffull);

    float cached, rounded;
    asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(cached) : "l"(in + i));
    asm("fma.rp.ftz.f32 %0, %1, %1, 0f3F800000;" : "=f"(rounded) : "f"(cached));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i + 64));
    asm volatile("st.global.wt.f32 [%0+-4], %1;" ::"l"(out + i + 1), "f"(rounded));
    unsigned picked;
    asm("prmt.b32.f4e %0, %1, %2, 1;" : "=r"(picked) : "r"(clock), "r"(mask));
    asm("lop3.b32 %0, %0, %1, 0x0f0f0f0f, 0x6a;" : "+r"(picked) : "r"(mask));
    asm volatile("bar.sync 1, 64; // a comment in here; with a semicolon\n\t/* and } another */");
    out[i] ^= (int)picked;
}
