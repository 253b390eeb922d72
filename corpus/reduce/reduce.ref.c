#include "../reference.h"

void reduce_sum_reference(const RefLaunch *launch, void **args);
void reduce_minmaxsum_reference(const RefLaunch *launch, void **args);

// Adds in the order of the kernel's tree, so that the sums agree to the bit. block is a power of two, at most 1024.
void reduce_sum_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *out = args[1];
    unsigned n = *(const unsigned *)args[2];
    unsigned block = launch->block[0];
    float partial[1024];

    for (unsigned b = 0; b < launch->grid[0]; b++) {
        for (unsigned t = 0; t < block; t++)
            partial[t] = b * block + t < n ? in[b * block + t] : 0.0f;
        for (unsigned half = block / 2; half > 0; half /= 2)
            for (unsigned t = 0; t < half; t++)
                partial[t] += partial[t + half];
        out[b] = partial[0];
    }
}

void reduce_minmaxsum_reference(const RefLaunch *launch, void **args)
{
    const int *in = args[0];
    int *minimum = args[1];
    int *maximum = args[2];
    int *sum = args[3];

    for (unsigned b = 0; b < launch->grid[0]; b++) {
        const int *part = in + b * 128;
        int low = part[0];
        int high = part[0];
        unsigned total = 0;
        for (unsigned t = 0; t < 128; t++) {
            low = part[t] < low ? part[t] : low;
            high = part[t] > high ? part[t] : high;
            total += (unsigned)part[t];
        }
        minimum[b] = low;
        maximum[b] = high;
        sum[b] = (int)total;
    }
}
