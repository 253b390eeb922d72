// Barriers in loops and under conditions that only CUDA's rule for barriers makes the same for all threads,
// warp-level instructions after threads have left, and loops that count. hand/loops.ptx is made of it by build.sh;
// all kernels run under hand/loops.launch.json: grid 4, block 128, n 1280 (blocks do 3, 3, 2 and 2 rounds), m 3, f 1.
typedef unsigned int u32;

#define KERNEL(name) extern "C" __global__ void name(u32 *out, const u32 *in, u32 *sums, u32 *bound, int n, int m, \
    int f)
#define TILE __shared__ u32 s[128]; const int t = threadIdx.x, g = blockIdx.x * 128 + t; u32 y = in[g]
#define ROUNDS for (int i = g; i < n; i += gridDim.x * 128)
#define TURN(x) do { s[t] = (x); __syncthreads(); y = y * 5 + s[127 - t]; __syncthreads(); } while (0)
#define ALL 0xffffffffu

// The sum is stored after the loop, in it, in both, and used by another barrier.
KERNEL(stored_after) { TILE; ROUNDS TURN(in[i]); out[g] = y; }
KERNEL(stored_inside) { TILE; ROUNDS { TURN(in[i]); out[g] = y; } }
KERNEL(stored_twice) { TILE; ROUNDS { TURN(in[i]); out[g] = y; } out[512 + g] = y; }
KERNEL(used_by_barrier) { TILE; ROUNDS TURN(in[i]); s[t] = y; __syncthreads(); out[g] = s[t ^ 1]; }
KERNEL(used_by_loop) { TILE; ROUNDS TURN(in[i]); for (int k = 0; k < m; k++) TURN(y + k); out[g] = y; }
KERNEL(index_after) { TILE; int i = g; for (; i < n; i += gridDim.x * 128) TURN(in[i]); out[g] = i + y; }
KERNEL(at_least_once) { TILE; int i = g; do { TURN(in[i]); i += gridDim.x * 128; } while (i < n); out[g] = y; }
KERNEL(downwards) { TILE; for (int i = n - 1 - g; i >= 0; i -= gridDim.x * 128) TURN(in[i]); out[g] = y; }
KERNEL(left_by_vote) { TILE; ROUNDS { TURN(in[i]); if (__syncthreads_or(y == 7)) break; } out[g] = y; }
KERNEL(bound_in_memory) { TILE; for (int i = g; i < (int)bound[1]; i += gridDim.x * 128) TURN(in[i]); out[g] = y; }

// Equally many iterations for all threads: compilers unroll these.
#define UNROLLED(type, step) for (type i = (type)blockIdx.x * n + t; i < ((type)blockIdx.x + 1) * n + t; i += step)
KERNEL(unrolled) { TILE; UNROLLED(int, 128) TURN(in[i]); out[g] = y; }
KERNEL(unrolled_unsigned) { TILE; UNROLLED(u32, 128) TURN(in[i]); out[g] = y; }
KERNEL(unrolled_long) { TILE; UNROLLED(long long, 96) TURN(in[i]); out[g] = y; }
KERNEL(unrolled_twice) { TILE; UNROLLED(int, 128) TURN(in[i]); UNROLLED(int, 512) TURN(y ^ in[i]); out[g] = y; }
KERNEL(never_entered) { TILE; n = f - 1; UNROLLED(int, 128) TURN(in[i]); out[g] = y; }

// The barrier is also under a condition that is the same for all threads.
KERNEL(nested) { TILE; ROUNDS { for (int k = 0; k < m; k++) TURN(in[i] + k); out[i] = y; } out[1280 + g] = y; }
KERNEL(nested_empty) { TILE; m -= 3; for (int i = g; i < n - 77; i += gridDim.x * 128) { y ^= in[i]; for (int k =
    0; k < m; k++) TURN(y + k); out[i] = y; } out[1280 + g] = y; }
KERNEL(flag_set) { TILE; if (g < 256) { y++; if (f) TURN(y); } out[g] = y; }
KERNEL(flag_clear) { TILE; if (g < 300) { y++; if (f - 1) TURN(y); } out[g] = y; }
KERNEL(two_flags) { TILE; ROUNDS { y += in[i]; if (f) TURN(y); if (m) TURN(y + 1); } out[g] = y; }
KERNEL(two_flags_clear) { TILE; for (int i = g; i < n - 33; i += gridDim.x * 128) { atomicAdd(&sums[t & 7],
    in[i]); y += i; if (f - 1) TURN(y); if (m - 3) TURN(y + 1); } out[g] = y; }
KERNEL(flag_in_do_while) { TILE; int i = g; do { y += in[i]; if (f) TURN(y); i += gridDim.x * 128; } while (i <
    n); out[g] = y + i; }
KERNEL(flag_clear_in_do_while) { TILE; int i = g; do { y += in[i]; if (f - 1) TURN(y); i += gridDim.x * 128; }
    while (i < n - 40); out[g] = y + i; }
KERNEL(flag_in_nest) { TILE; for (int k = 0; k < m; k++) ROUNDS { y += in[i] + k; if (f) TURN(y); } out[g] = y; }
KERNEL(other_side_stores) { TILE; if (g < 256) { if (f) TURN(y); out[g] = y; } else out[g] = ~y; out[512 + g] = y; }

// Both sides have a barrier, a barrier is left out in one round, and threads may part before a last round
// without one: refused, the rule says nothing.
//
KERNEL(both_sides) { TILE; if (g < 256) TURN(y); else { s[t] = 2 * y; __syncthreads(); y += s[t ^ 1];
    __syncthreads(); } out[g] = y; }
KERNEL(left_early) { TILE; int k = 0; ROUNDS { if (k++ == m - 1) break; TURN(in[i]); } out[g] = y + k; }
KERNEL(left_out_once) { TILE; int k = 0; ROUNDS { if (++k == m) continue; TURN(in[i]); } out[g] = y; }

// Warp-level instructions beside the barrier, where threads leave the kernel.
KERNEL(ballot) { TILE; ROUNDS { TURN(in[i]); out[i] = __popc(__ballot_sync(ALL, y & 1)) + y; __syncthreads(); } }
KERNEL(ballot_same) { TILE; if (g >= n / 4 - 20) return; TURN(in[g] + (s[t & ~3] & 0)); out[g] =
    __popc(__ballot_sync(ALL, n > 3)); }
KERNEL(any_all) { TILE; ROUNDS { TURN(in[i]); out[i] = __any_sync(ALL, y % 7 == 1) * 2 + __all_sync(ALL, y % 5) +
    y; } }
KERNEL(shuffle) { TILE; ROUNDS { TURN(in[i]); for (int k = 16; k; k >>= 1) y += __shfl_xor_sync(ALL, y, k); out[i]
    = y; } }
KERNEL(shuffle_half) { TILE; ROUNDS { TURN(in[i]); u32 mask = t & 16 ? 0xffff0000u : 0xffffu; out[i] = y +
    __shfl_xor_sync(mask, y, 1); } }
KERNEL(shuffle_some) { TILE; ROUNDS { TURN(in[i]); u32 mask = __ballot_sync(ALL, y & 1); if (y & 1) y +=
    __shfl_sync(mask, y, __ffs(mask) - 1); out[i] = y; } }
KERNEL(shuffle_first_half) { TILE; ROUNDS { TURN(in[i]); if ((t & 31) < 16) y += __shfl_xor_sync(0xffffu, y, 1);
    out[i] = y; } }
KERNEL(sync_warp) { TILE; ROUNDS { s[t] = in[i]; __syncwarp(); u32 v = s[t ^ 1]; __syncthreads(); out[i] = v + y; } }
KERNEL(match) { TILE; ROUNDS { TURN(in[i]); int all; u32 same = __match_any_sync(ALL, y & 3) +
    __match_all_sync(ALL, 5, &all); out[i] = same + all; } }
KERNEL(vote_decides) { TILE; ROUNDS { TURN(in[i]); int k = 0; do { y = y * 3 + 1; k++; } while (__any_sync(ALL, y
    & 8) && k < 9); out[i] = y + k; } }
KERNEL(vote_after_flag) { TILE; ROUNDS { TURN(in[i]); if (f) y += __popc(__ballot_sync(ALL, y & 2)); out[i] = y; } }
KERNEL(vote_carried) { TILE; ROUNDS { TURN(in[i]); y ^= __ballot_sync(ALL, y & 4); } out[g] = y; }
KERNEL(left_before) { TILE; if (g >= n / 4 - 20) return; for (int k = 0; k < m; k++) { s[t] = y + k;
    __syncthreads(); y += s[t & ~31]; u32 mask = __ballot_sync(ALL, y & 1); if (y & 1) y ^= __shfl_sync(mask, y,
    __ffs(mask) - 1); __syncthreads(); } out[g] = y; }
KERNEL(asked_before) { TILE; u32 mask = __ballot_sync(ALL, g < 301); if (g < 301) out[g] = y + __shfl_sync(mask,
    y, t & 16); }

// The same without a barrier.
KERNEL(vote_alone) { TILE; ROUNDS { y += in[i]; out[i] = y + __popc(__ballot_sync(ALL, y & 1)); } }
KERNEL(shuffles_alone) { TILE; ROUNDS { y += in[i]; for (int k = 16; k; k >>= 1) y += __shfl_xor_sync(ALL, y, k);
    if ((t & 31) == 0) out[i] = y; } }
KERNEL(sync_warp_alone) { TILE; ROUNDS { s[t] = in[i]; __syncwarp(); y += s[t ^ 1]; __syncwarp(); } out[g] = y; }
KERNEL(some_vote_alone) { TILE; ROUNDS { y += in[i]; if (y & 2) y ^= __activemask() != 0;
    u32 mask = __ballot_sync(ALL, y & 1); if (y & 1) y ^= __shfl_sync(mask, y, __ffs(mask) - 1); out[i] = y; } }

// Loops that end after 2^32 iterations at the latest, whatever is in memory: each reads the bound, and a store
// that depends on an atomic may change it.
#define HIT do { y = y * 1664525u + 1013904223u; if (y >> 30 == 1 && atomicAdd(&sums[y >> 28 & 7], 1u) > 1000000u) \
    out[y & 255] = t; } while (0)
KERNEL(counts) { TILE; for (u32 i = 0; i < bound[0]; i++) HIT; out[g] = y; }
KERNEL(counts_signed) { TILE; for (int i = 0; i < ((int *)bound)[0]; i++) HIT; out[g] = y; }
KERNEL(counts_long) { TILE; for (unsigned long long i = 0; i < bound[0]; i++) HIT; out[g] = y; }
KERNEL(counts_short) { TILE; for (unsigned short i = 0; i < ((unsigned short *)bound)[0]; i++) HIT; out[g] = y; }
KERNEL(counts_down) { TILE; for (int i = 30; i > ((int *)bound)[0]; i--) HIT; out[g] = y; }
KERNEL(counts_by_four) { TILE; for (u32 i = 0; i < ((unsigned short *)bound)[0]; i += 4) HIT; out[g] = y; }
KERNEL(counts_up_to) { TILE; for (u32 i = 0; i <= ((unsigned char *)bound)[0]; i++) HIT; out[g] = y; }
KERNEL(counts_from) { TILE; for (u32 i = y & 3; i < bound[0]; i++) HIT; out[g] = y; }
KERNEL(counts_unless) { TILE; for (u32 i = 0; i < bound[0] && y != 12345u; i++) HIT; out[g] = y; }
KERNEL(counts_nested) { TILE; for (u32 j = 0; j < bound[2]; j++) for (u32 i = 0; i < bound[0]; i++) HIT; out[g] = y; }

// These may not end: refused.
KERNEL(waits_by_four) { TILE; for (u32 i = 0; i < bound[0]; i += 4) HIT; out[g] = y; }
KERNEL(waits_up_to) { TILE; for (u32 i = 0; i <= bound[0]; i++) HIT; out[g] = y; }
KERNEL(waits_for_equal) { TILE; for (u32 i = 0; i != bound[0]; i++) HIT; out[g] = y; }
KERNEL(waits_wrapped) { TILE; for (u32 i = 0; i < bound[0]; i = (i + 1) & 63) { HIT; if (i == 11) break; } out[g]
    = y; }
KERNEL(waits_for_restart) { TILE; for (u32 i = 0; i < bound[0]; i++) { HIT; if (atomicAdd(&sums[8], 0u) >
    1000000u) i = 0; } out[g] = y; }
KERNEL(waits_on_volatile) { TILE; for (u32 i = 0; i < *(volatile u32 *)bound; i++) HIT; out[g] = y; }
KERNEL(waits_on_atomic) { TILE; for (u32 i = 0; i < atomicAdd(bound, 0u); i++) HIT; out[g] = y; }
KERNEL(waits_with_timeout) { TILE; for (u32 i = 0; i < 20u; i++) { HIT; if (atomicAdd(&sums[8], 0u) > 1000000u)
    break; } out[g] = y; }
