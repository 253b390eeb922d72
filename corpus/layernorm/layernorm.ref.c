#include "../reference.h"

#include <math.h>

void layernorm_naive_reference(const RefLaunch *launch, void **args);
void layernorm_reference(const RefLaunch *launch, void **args);

// In double precision: the kernels add in orders of their own and take an approximate root.
static void normalize(void **args, unsigned rows, unsigned columns, double epsilon)
{
    const float *scale = args[1];
    const float *shift = args[2];

    for (unsigned row = 0; row < rows; row++) {
        const float *from = (const float *)args[0] + row * columns;
        float *to = (float *)args[3] + row * columns;
        double mean = 0.0, variance = 0.0;
        for (unsigned i = 0; i < columns; i++)
            mean += from[i] / (double)columns;
        for (unsigned i = 0; i < columns; i++)
            variance += (from[i] - mean) * (from[i] - mean) / columns;
        for (unsigned i = 0; i < columns; i++)
            to[i] = (float)((from[i] - mean) / sqrt(variance + epsilon) * scale[i] + shift[i]);
    }
}

void layernorm_naive_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    normalize(args, *(const unsigned *)args[4], *(const unsigned *)args[5], *(const float *)args[6]);
}

void layernorm_reference(const RefLaunch *launch, void **args)
{
    normalize(args, launch->grid[0], *(const unsigned *)args[4], *(const float *)args[5]);
}
