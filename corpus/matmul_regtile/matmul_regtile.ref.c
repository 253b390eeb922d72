#include "../reference.h"

#include <math.h>

void matmul_regtile_reference(const RefLaunch *launch, void **args);

void matmul_regtile_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    unsigned n = *(const unsigned *)args[3];
    unsigned depth = *(const unsigned *)args[4];

    for (unsigned row = 0; row < launch->grid[1] * 128; row++)
        for (unsigned column = 0; column < launch->grid[0] * 128; column++) {
            float sum = 0.0f;
            for (unsigned k = 0; k < depth; k++)
                sum = fmaf(a[row * depth + k], b[k * n + column], sum);
            c[row * n + column] = sum;
        }
}
