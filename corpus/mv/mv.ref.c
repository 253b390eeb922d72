#include "../reference.h"

#include <math.h>

void mv_reference(const RefLaunch *launch, void **args);

// One row for each thread of the grid.
void mv_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    unsigned width = *(const unsigned *)args[3];

    for (unsigned row = 0; row < launch->grid[0] * launch->block[0]; row++) {
        float sum = 0.0f;
        for (unsigned i = 0; i < width; i++)
            sum = fmaf(a[row * width + i], b[i], sum);
        c[row] = sum;
    }
}
