#include "../reference.h"

void vv_reference(const RefLaunch *launch, void **args);

void vv_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];

    for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; i++)
        c[i] = a[i] * b[i];
}
