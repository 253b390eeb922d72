// Kernels for clang, whose names, orders and idioms are not nvcc's. No CUDA header: clang's know only older toolkits.

#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))

static inline DEVICE unsigned global_x(void)
{
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

DEVICE SHARED float tile[128];
DEVICE CONSTANT int primes[5] = {2, 3, 5, 7, 11};
DEVICE int visits = 3;

struct Point {
    double x, y;
    int tag;
};

DEVICE __attribute__((noinline)) static float mix(float a, float b)
{
    return a * 0.75f + b * 0.25f;
}

DEVICE __attribute__((noinline)) struct Point move(struct Point point, double by)
{
    point.x += by;
    point.tag++;
    return point;
}

DEVICE __attribute__((noinline)) int collatz(int n, int depth)
{
    if (n <= 1 || depth > 50)
        return depth;
    return collatz(n % 2 ? 3 * n + 1 : n / 2, depth + 1);
}

KERNEL void clang_add(float *a, const float *b, int n)
{
    int i = (int)global_x();
    if (i < n)
        a[i] += b[i];
}

KERNEL void clang_smooth(float *data)
{
    unsigned t = __nvvm_read_ptx_sreg_tid_x();
    tile[t] = data[global_x()];
    __syncthreads();
    data[global_x()] = mix(tile[t], tile[127 - t]) + (float)primes[t % 5];
}

KERNEL void clang_points(struct Point *points, double by)
{
    points[global_x()] = move(points[global_x()], by);
}

KERNEL void clang_switch(int *data)
{
    int i = (int)global_x();
    switch (data[i]) {
    case 0: data[i] = collatz(i, 0); break;
    case 1: data[i] = visits++; break;
    case 2: data[i] *= 9; break;
    case 3: data[i] = __builtin_popcount((unsigned)data[i]); break;
    case 4: data[i] = __builtin_clz((unsigned)i | 1u); break;
    case 5: data[i + 1] = 6; break;
    }
}

KERNEL void clang_local(int *data, int n)
{
    int buffer[20];
    for (int k = 0; k < 20; k++)
        buffer[k] = data[k] * k;
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += buffer[data[k] % 20];
    data[global_x()] = sum;
}

KERNEL void clang_wide(long long *data, const unsigned long long *other)
{
    unsigned i = global_x();
    unsigned __int128 product = (unsigned __int128)other[i] * other[i + 1];
    data[i] = (long long)(product >> 64) / (data[i] | 1) + (long long)(other[i] % 1000);
}

KERNEL void clang_float(float *out, const double *in)
{
    unsigned i = global_x();
    double x = in[i];
    out[i] = (float)(__nvvm_sqrt_rn_d(x) + __builtin_fabs(x) + __nvvm_fma_rn_d(x, x, 1.5)) +
             __nvvm_fmin_f((float)x, 2.0f) + (float)(int)x + (float)(unsigned char)(int)x;
}

template <typename T> static DEVICE T largest(const T *values, int n)
{
    T best = values[0];
    for (int i = 1; i < n; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

template <typename T> __attribute__((global)) void clang_largest(T *out, const T *in, int pitch, int n)
{
    out[global_x()] = largest(in + global_x() * (unsigned)pitch, n);
}

template __attribute__((global)) void clang_largest<float>(float *, const float *, int, int);
template __attribute__((global)) void clang_largest<short>(short *, const short *, int, int);

KERNEL __attribute__((launch_bounds(128, 2))) void clang_atomics(int *data, float *sums)
{
    unsigned i = global_x();
    __nvvm_atom_add_gen_i(&data[0], data[i]);
    __nvvm_atom_max_gen_i(&data[1], data[i]);
    __nvvm_atom_add_gen_f(&sums[0], sums[i]);
    __atomic_fetch_xor(&data[2], data[i], __ATOMIC_RELAXED);
    data[3] = __nvvm_atom_cas_gen_i(&data[4], 0, (int)i);
    __nvvm_membar_gl();
}

KERNEL void clang_assembly(int *data)
{
    int lane, picked;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .pred odd; and.b32 %0, %1, 1; setp.ne.s32 odd, %0, 0; @odd add.s32 %0, %0, %1; }"
                 : "=r"(picked)
                 : "r"(lane));
    data[global_x()] = picked;
}
