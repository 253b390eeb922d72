#include "../reference.h"

#include <math.h>

void matmul_tiled_reference(const RefLaunch *launch, void **args);

void matmul_tiled_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    unsigned width = *(const unsigned *)args[3];
    unsigned columns = launch->grid[0] * launch->block[0];
    unsigned rows = launch->grid[1] * launch->block[1];

    for (unsigned row = 0; row < rows; row++)
        for (unsigned column = 0; column < columns; column++) {
            float sum = 0.0f;
            for (unsigned k = 0; k < width; k++)
                sum = fmaf(a[row * width + k], b[k * width + column], sum);
            c[row * width + column] = sum;
        }
}
