#include "../reference.h"

#include <math.h>

void rd_reference(const RefLaunch *launch, void **args);
void rd_step_reference(const RefLaunch *launch, void **args);
void rd_complex_reference(const RefLaunch *launch, void **args);
void rd_complex_vector_reference(const RefLaunch *launch, void **args);

// Sums by halving, in place; length is a power of two.
static float halve(float *part, unsigned length)
{
    while (length > 1) {
        length /= 2;
        for (unsigned i = 0; i < length; i++)
            part[i] += part[length + i];
    }
    return part[0];
}

void rd_reference(const RefLaunch *launch, void **args)
{
    float *a = args[0];
    float *sum = args[1];
    unsigned length = *(const unsigned *)args[2];

    for (unsigned block = 0; block < launch->grid[0]; block++)
        sum[block] = halve(a + block * length, length);
}

void rd_step_reference(const RefLaunch *launch, void **args)
{
    float *a = args[0];
    unsigned half = *(const unsigned *)args[1];

    (void)launch;
    for (unsigned i = 0; i < half; i++)
        a[i] += a[half + i];
}

void rd_complex_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    float *absolute = args[1];
    float *sum = args[2];
    unsigned block = launch->block[0];

    for (unsigned i = 0; i < launch->grid[0] * block; i++)
        absolute[i] = fabsf(a[2 * i]) + fabsf(a[2 * i + 1]);
    for (unsigned b = 0; b < launch->grid[0]; b++)
        sum[b] = halve(absolute + b * block, block);
}

// A block has at most 1024 threads.
void rd_complex_vector_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    float *sum = args[1];
    unsigned block = launch->block[0];
    float absolute[1024];

    for (unsigned b = 0; b < launch->grid[0]; b++, a += 2 * block) {
        for (unsigned t = 0; t < block; t++)
            absolute[t] = fabsf(a[2 * t]) + fabsf(a[2 * t + 1]);
        sum[b] = halve(absolute, block);
    }
}
