#include "../reference.h"

#include <math.h>

void mersenne_twister_reference(const RefLaunch *launch, void **args);
void box_muller_reference(const RefLaunch *launch, void **args);

void mersenne_twister_reference(const RefLaunch *launch, void **args)
{
    float *random = args[0];
    const unsigned *parameters = args[1];
    int count = *(const int *)args[2];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int thread = 0; thread < threads; thread++) {
        unsigned matrix = parameters[4 * thread], mask_b = parameters[4 * thread + 1];
        unsigned mask_c = parameters[4 * thread + 2];
        unsigned state[19] = {parameters[4 * thread + 3]};
        for (unsigned i = 1; i < 19; i++)
            state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
        for (int out = 0; out < count; out++) {
            int here = out % 19;
            unsigned x = (state[here] & ~1u) | (state[(here + 1) % 19] & 1u);
            x = state[(here + 9) % 19] ^ x >> 1 ^ (x % 2 ? matrix : 0);
            state[here] = x;
            x ^= x >> 12;
            x ^= x << 7 & mask_b;
            x ^= x << 15 & mask_c;
            x ^= x >> 18;
            random[thread + out * threads] = ((float)x + 1.0f) / 4294967296.0f;
        }
    }
}

void box_muller_reference(const RefLaunch *launch, void **args)
{
    float *random = args[0];
    int count = *(const int *)args[1];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int out = 0; out < count; out += 2)
        for (int thread = 0; thread < threads; thread++) {
            float *first = random + thread + out * threads;
            double radius = sqrt(-2.0 * log(*first));
            double angle = 6.283185307179586 * first[threads];
            *first = (float)(radius * cos(angle));
            first[threads] = (float)(radius * sin(angle));
        }
}
