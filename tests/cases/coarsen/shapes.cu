// Shapes of control flow, memory and synchronisation that thread coarsening must handle, free of data races.
// The PTX beside this file is made by build.sh; all kernels run under shapes.launch.json.
#include <cstdio>

typedef unsigned int u32;

struct Thread {
    u32 lin, gid, threads;
};

static __device__ __forceinline__ Thread self()
{
    Thread t;
    t.threads = blockDim.x * blockDim.y * blockDim.z;
    t.lin = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    t.gid = (blockIdx.y * gridDim.x + blockIdx.x) * t.threads + t.lin;
    return t;
}

#define KERNEL(name) extern "C" __global__ void name(const u32 *in, u32 *out, u32 *sums, int n)

static __device__ __noinline__ u32 collatz(u32 v)
{
    u32 steps = 0;
    while (v > 1 && steps < 20) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    return steps;
}

static __device__ __noinline__ void swap_pair(u32 *a, u32 *b)
{
    u32 t = *a;
    *a = *b * 3;
    *b = t + 1;
}

KERNEL(variant_if_in_uniform_loop)
{
    Thread t = self();
    u32 v = t.lin;
    for (int i = 0; i < n; i++) {
        if ((v + i) & 4)
            v = v * 3 + in[i & 255];
        else if (v % 5 == 1)
            v ^= in[v & 255];
        v += i;
    }
    out[t.gid] = v;
}

KERNEL(variant_trip_count)
{
    Thread t = self();
    u32 v = 1, w = 0;
    for (u32 i = 0; i < (t.lin & 7); i++) {
        v += in[(v + i) & 255];
        w = i * n;
    }
    out[t.gid] = v + w;
}

KERNEL(break_and_continue)
{
    Thread t = self();
    u32 v = t.lin, w = 0;
    for (int i = 0; i < 2 * n; i++) {
        if ((in[(v + i) & 255] & 7) == 0)
            break;
        if ((v & 3) == 1) {
            v += 7;
            continue;
        }
        v = v * 5 + i;
        w++;
    }
    out[t.gid] = v + w * 1000;
}

KERNEL(early_return)
{
    Thread t = self();
    if (t.gid % 7 == 3)
        return;
    u32 v = t.gid;
    for (int i = 0; i < n; i++) {
        v += in[(v + i) & 255];
        if (v % 31 == 0) {
            out[t.gid] = i;
            return;
        }
    }
    out[t.gid] = v;
}

KERNEL(switch_on_index)
{
    Thread t = self();
    u32 v = t.lin;
    switch (threadIdx.x % 6) {
    case 0: v = v * 3 + in[1]; break;
    case 1: v = v ^ in[v & 255]; // falls through
    case 2: v += n; break;
    case 3: for (int i = 0; i < n; i++) v += in[i & 255]; break;
    case 4: v = __popc(v) + 17; // falls through
    default: v -= 5;
    }
    out[t.gid] = v;
}

KERNEL(switch_on_uniform)
{
    Thread t = self();
    u32 v = t.lin;
    switch (in[blockIdx.x & 3] % 5) {
    case 0: if (v & 1) v += 3; break;
    case 1: v = v * 7; // falls through
    case 2: if (v % 3 == 0) { v ^= 0x55; break; } v += 2; // falls through
    case 3: v += in[v & 255]; break;
    default: v--;
    }
    out[t.gid] = v;
}

KERNEL(short_circuit)
{
    Thread t = self();
    u32 v = in[t.lin & 255], w = 0;
    if ((v & 1 && in[(v + 1) & 255] & 2) || (n > 3 && v % 3 == 0))
        w = in[(v * 3) & 255] + 1;
    else if (v % 5 || (w = v, t.lin & 1))
        w += 2;
    out[t.gid] = v + w;
}

KERNEL(two_exits)
{
    Thread t = self();
    u32 v = t.lin, turns = 0;
    do {
        v = in[(v + turns) & 255] ^ t.lin;
        if (turns > 12)
            break;
        turns++;
    } while (v & 3);
    out[t.gid] = v + turns;
}

KERNEL(local_array)
{
    Thread t = self();
    u32 box[8];
    for (int i = 0; i < 8; i++)
        box[i] = i * n;
    for (int i = 0; i < n; i++)
        box[(in[(t.lin + i) & 255]) & 7] += t.lin + i;
    u32 v = 0;
    for (int i = 0; i < 8; i++)
        v = v * 3 + box[(i + t.lin) & 7];
    out[t.gid] = v;
}

KERNEL(call_in_branch)
{
    Thread t = self();
    u32 v = t.lin + 3, a = v, b = n;
    if (v % 3)
        v = collatz(v);
    for (int i = 0; i < n; i++)
        if ((v + i) & 1)
            swap_pair(&a, &b);
    out[t.gid] = v + collatz(n) + a * 5 + b;
}

KERNEL(print_some)
{
    Thread t = self();
    if (t.gid == 77)
        printf("%u of %d\n", t.gid, n);
    out[t.gid] = t.gid;
}

KERNEL(wide_arithmetic)
{
    Thread t = self();
    unsigned long long a = 0xffffffffull * (t.lin + 1), b = 0;
    asm("{ add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0; }"
        : "=r"(((u32 *)&b)[0]), "=r"(((u32 *)&b)[1]) : "r"((u32)a), "r"((u32)(a << 3)), "r"((u32)n));
    __int128 c = (__int128)a * b + n;
    out[t.gid] = (u32)(c >> 64) ^ (u32)(c >> 20) ^ (u32)(b >> 32);
}

KERNEL(tile_exchange)
{
    __shared__ u32 tile[512];
    Thread t = self();
    u32 v = t.lin;
    for (int i = 0; i < n; i++) {
        tile[t.lin] = v + i;
        __syncthreads();
        if (t.lin & 1)
            v += tile[(t.lin + i + 1) % t.threads];
        v ^= tile[i & 255];
        __syncthreads();
    }
    out[t.gid] = v;
}

KERNEL(broadcast)
{
    __shared__ u32 word, count;
    Thread t = self();
    u32 v = 0;
    if (t.lin == 0)
        count = in[5] & 7;
    __syncthreads();
    for (u32 i = 0; i < count; i++) {
        if (t.lin == i)
            word = in[(t.lin * 3) & 255];
        __syncthreads();
        v = v * 3 + word;
        __syncthreads();
    }
    out[t.gid] = v + count;
}

KERNEL(tree_reduction)
{
    __shared__ u32 part[512];
    Thread t = self();
    part[t.lin] = in[t.gid & 255];
    __syncthreads();
    for (u32 s = t.threads / 2; s > 0; s >>= 1) {
        if (t.lin < s)
            part[t.lin] += part[t.lin + s];
        __syncthreads();
    }
    if (t.lin == 0)
        atomicAdd(&sums[0], part[0]);
    out[t.gid] = part[0];
}

KERNEL(warp_shuffles)
{
    Thread t = self();
    u32 v = in[t.gid & 255];
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_xor_sync(~0u, v, s);
    u32 votes = __ballot_sync(~0u, (v + t.lin) & 1);
    out[t.gid] = v ^ votes ^ (threadIdx.x & 31 ? 0 : n);
}

KERNEL(uniform_atomics)
{
    Thread t = self();
    atomicAdd(&sums[1], 1);
    for (int i = 0; i < n; i++)
        atomicAdd(&sums[2 + (i & 3)], (u32)i);
    if (t.lin & 1)
        atomicMax(&sums[6], t.gid);
    out[t.gid] = sums ? 1 : 2;
}

KERNEL(uniform_stores)
{
    Thread t = self();
    out[t.gid] = 3;
    sums[8 + (blockIdx.x & 1)] = n + blockIdx.x;
    for (int i = 0; i < n; i++)
        if (in[i & 255] & 1)
            sums[10 + (blockIdx.x & 1)] = in[i & 255];
}

KERNEL(inner_variant_outer_uniform)
{
    Thread t = self();
    u32 v = t.lin;
    for (int i = 0; i < n; i++) {
        for (u32 j = v & 3; j < 6; j++)
            if (in[(i * 6 + j) & 255] & 1)
                v += j;
        for (int j = 0; j < 3; j++)
            v = v * 3 + in[(i + j) & 255];
    }
    out[t.gid] = v;
}

KERNEL(inner_uniform_outer_variant)
{
    Thread t = self();
    u32 v = 0;
    for (u32 i = 0; i < (t.lin & 3); i++)
        for (int j = 0; j < n; j++)
            v = v * 5 + in[(i + j) & 255];
    out[t.gid] = v;
}

KERNEL(shared_join)
{
    Thread t = self();
    u32 v = t.lin;
    for (int i = 0; i < n; i++) {
        if (v & 1) {
            if (v & 2)
                continue;
            v += 9;
        }
        if (v & 8)
            continue;
        v += 3 * i;
    }
    if (v & 1) {
        if (v & 2)
            goto end;
        v++;
    }
    if (v & 4)
        goto end;
    v *= 3;
end:
    out[t.gid] = v;
}

KERNEL(three_dimensions)
{
    Thread t = self();
    u32 v = threadIdx.z * 100 + threadIdx.y * 10;
    if (threadIdx.z & 1)
        v += in[threadIdx.y];
    if (threadIdx.y & 1)
        for (u32 i = 0; i <= threadIdx.z; i++)
            v = v * 3 + threadIdx.x;
    out[t.gid] = v + blockDim.z * blockDim.y;
}

KERNEL(half_precision_and_doubles)
{
    Thread t = self();
    double d = in[t.lin & 255] * 0.5;
    float f = (float)n;
    for (int i = 0; i < n; i++) {
        d = d * 1.25 - (double)f;
        if (d > 100.0)
            d = sqrt(d);
        f = f * 0.5f + 1.0f;
    }
    out[t.gid] = (u32)__double2ll_rn(d) ^ __float_as_uint(f);
}

KERNEL(ticket_without_waiting)
{
    Thread t = self();
    u32 mine = 0;
    for (int i = 0; i < n; i++)
        if ((in[(t.lin + i) & 255] & 3) == 0) {
            u32 ticket = atomicAdd(&sums[12], 1);
            mine += ticket != 0xffffffffu;
        }
    out[t.gid] = mine;
}

KERNEL(infinite_for_some)
{
    Thread t = self();
    u32 v = t.lin;
    for (;;) {
        v = v * 3 + 1;
        if (in[v & 255] & 1)
            break;
        if (v > 100000u) {
            v = 1;
            break;
        }
    }
    for (;;) {
        if (n-- < 0)
            break;
        v += in[n & 255];
    }
    out[t.gid] = v;
}

KERNEL(barrier_behind_return)
{
    Thread t = self();
    if (t.lin > 1000)
        return;
    __syncthreads();
    out[t.gid] = 1;
}

// Kernels that must be refused.

KERNEL(refused_spin)
{
    Thread t = self();
    if (t.lin == 0)
        atomicExch(&sums[14], 1);
    else if (t.lin == 32)
        while (((volatile u32 *)sums)[14] == 0)
            ;
    out[t.gid] = 1;
}

KERNEL(refused_count)
{
    Thread t = self();
    out[t.gid] = __syncthreads_count(t.lin & 1);
}
