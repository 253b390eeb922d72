// Many small Mersenne twisters side by side, each with parameters and a state of 19 words of its own in local memory,
// and the transform of Box and Muller that makes normal numbers of their uniform ones.

#define WORDS 19
#define MIDDLE 9
#define UPPER_MASK 0xfffffffeu
#define LOWER_MASK 0x1u

struct Parameters {
    unsigned matrix, mask_b, mask_c, seed;
};

extern "C" __global__ void mersenne_twister(float *random, const Parameters *parameters, int count)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    unsigned state[WORDS];

    Parameters p = parameters[thread];
    state[0] = p.seed;
    for (int i = 1; i < WORDS; i++)
        state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;

    int here = 0;
    unsigned next = state[0];
    for (int out = 0; out < count; out++) {
        int after = here + 1;
        if (after >= WORDS)
            after -= WORDS;
        int middle = here + MIDDLE;
        if (middle >= WORDS)
            middle -= WORDS;
        unsigned word = next;
        next = state[after];
        unsigned x = (word & UPPER_MASK) | (next & LOWER_MASK);
        x = state[middle] ^ x >> 1 ^ (x & 1 ? p.matrix : 0);
        state[here] = x;
        here = after;

        x ^= x >> 12;
        x ^= x << 7 & p.mask_b;
        x ^= x << 15 & p.mask_c;
        x ^= x >> 18;
        random[thread + out * threads] = ((float)x + 1.0f) / 4294967296.0f;
    }
}

// Pairs that lie a row of the threads apart, in place.
extern "C" __global__ void box_muller(float *random, int count)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    for (int out = 0; out < count; out += 2) {
        float *first = random + thread + out * threads;
        float *second = first + threads;
        float radius = sqrtf(-2.0f * __logf(*first));
        float angle = 6.283185307179586f * *second;
        *first = radius * __cosf(angle);
        *second = radius * __sinf(angle);
    }
}
