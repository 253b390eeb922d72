// Hashes, a cipher, and what else is integers from end to end.
#include <cstdint>

constexpr int THREADS = 128;

__device__ __forceinline__ uint32_t rotate(uint32_t x, int n)
{
    return __funnelshift_r(x, x, n);
}

__constant__ uint32_t sha256_constants[64];

// SHA-256 of one block of 64 bytes for each thread; word k of message i is at in[k * count + i].
extern "C" __global__ void __launch_bounds__(THREADS) sha256(const uint32_t *in, uint32_t *out, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint32_t w[16], h[8];
    for (int k = 0; k < 16; k++)
        w[k] = in[k * count + i];
    for (int k = 0; k < 8; k++)
        h[k] = start[k];
#pragma unroll
    for (int r = 0; r < 64; r++) {
        if (r >= 16) {
            uint32_t a = w[(r + 1) & 15], b = w[(r + 14) & 15];
            w[r & 15] += (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[(r + 9) & 15] +
                         (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
        }
        uint32_t one = h[7] + (rotate(h[4], 6) ^ rotate(h[4], 11) ^ rotate(h[4], 25)) +
                       ((h[4] & h[5]) ^ (~h[4] & h[6])) + sha256_constants[r] + w[r & 15];
        uint32_t two =
            (rotate(h[0], 2) ^ rotate(h[0], 13) ^ rotate(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        for (int k = 7; k > 0; k--)
            h[k] = h[k - 1];
        h[4] += one;
        h[0] = one + two;
    }
    for (int k = 0; k < 8; k++)
        out[k * count + i] = start[k] + h[k];
}

__device__ __forceinline__ uint64_t rotate(uint64_t x, int n)
{
    return n ? x << n | x >> (64 - n) : x;
}

__constant__ uint64_t keccak_constants[24];

// Keccak-f[1600], one state for each thread.
extern "C" __global__ void __launch_bounds__(THREADS) keccak(uint64_t *states, int count)
{
    constexpr int turns[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                               25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    uint64_t s[25];
    for (int k = 0; k < 25; k++)
        s[k] = states[size_t(k) * count + i];
#pragma unroll 1
    for (int round = 0; round < 24; round++) {
        uint64_t sums[5], moved[25];
#pragma unroll
        for (int x = 0; x < 5; x++)
            sums[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
        for (int k = 0; k < 25; k++)
            s[k] ^= sums[(k + 4) % 5] ^ rotate(sums[(k + 1) % 5], 1);
#pragma unroll
        for (int x = 0; x < 5; x++)
#pragma unroll
            for (int y = 0; y < 5; y++)
                moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotate(s[x + 5 * y], turns[x + 5 * y]);
#pragma unroll
        for (int k = 0; k < 25; k++)
            s[k] = moved[k] ^ (~moved[k / 5 * 5 + (k + 1) % 5] & moved[k / 5 * 5 + (k + 2) % 5]);
        s[0] ^= keccak_constants[round];
    }
    for (int k = 0; k < 25; k++)
        states[size_t(k) * count + i] = s[k];
}

__device__ __forceinline__ uint4 aes_round(const uint32_t *table, const uint32_t *key, uint4 s)
{
    const uint32_t in[4] = {s.x, s.y, s.z, s.w};
    uint32_t out[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        out[k] = table[in[k] >> 24] ^ __byte_perm(table[in[(k + 1) & 3] >> 16 & 255], 0, 0x0321) ^
                 __byte_perm(table[in[(k + 2) & 3] >> 8 & 255], 0, 0x1032) ^
                 __byte_perm(table[in[(k + 3) & 3] & 255], 0, 0x2103) ^ key[k];
    return make_uint4(out[0], out[1], out[2], out[3]);
}

// Ten rounds of AES with one table, two blocks of 16 bytes for each thread.
extern "C" __global__ void __launch_bounds__(256)
    aes(const uint4 *in, uint4 *out, const uint32_t *keys, const uint32_t *lookup)
{
    __shared__ uint32_t table[256], key[44];
    table[threadIdx.x] = lookup[threadIdx.x];
    if (threadIdx.x < 44)
        key[threadIdx.x] = keys[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * 256 + threadIdx.x, other = i + gridDim.x * 256;
    uint4 a = in[i], b = in[other];
#pragma unroll
    for (int round = 1; round < 11; round++) {
        a = aes_round(table, key + 4 * round, a);
        b = aes_round(table, key + 4 * round, b);
    }
    out[i] = a;
    out[other] = b;
}

// Smith-Waterman with affine gaps: each thread aligns the query with 16 letters of its own.
extern "C" __global__ void __launch_bounds__(THREADS)
    align16(const uint8_t *__restrict__ query, const uint8_t *__restrict__ letters, int *scores, int length, int count)
{
    constexpr int WIDTH = 16, MATCH = 5, MISMATCH = -4, OPEN = 10, EXTEND = 1, NEVER = -1000;
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count)
        return;
    int above[WIDTH], gap[WIDTH], letter[WIDTH], best = 0;
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        above[k] = 0;
        gap[k] = NEVER;
        letter[k] = letters[i * WIDTH + k];
    }
    for (int row = 0; row < length; row++) {
        int now = query[row], diagonal = 0, left = NEVER;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            int score = diagonal + (now == letter[k] ? MATCH : MISMATCH);
            diagonal = above[k];
            gap[k] = max(gap[k] - EXTEND, above[k] - OPEN);
            score = max(max(score, gap[k]), max(left, 0));
            left = max(left - EXTEND, score - OPEN);
            above[k] = score;
            best = max(best, score);
        }
    }
    scores[i] = best;
}
