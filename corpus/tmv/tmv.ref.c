#include "../reference.h"

#include <math.h>

void tmv_reference(const RefLaunch *launch, void **args);

// The matrix is square, and the grid has as many threads as it has columns.
void tmv_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    unsigned width = *(const unsigned *)args[3];

    (void)launch;
    for (unsigned column = 0; column < width; column++)
        c[column] = 0.0f;
    for (unsigned row = 0; row < width; row++)
        for (unsigned column = 0; column < width; column++)
            c[column] = fmaf(a[row * width + column], b[row], c[column]);
}
