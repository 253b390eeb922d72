#include "../reference.h"

#include <math.h>

void saxpy_reference(const RefLaunch *launch, void **args);

void saxpy_reference(const RefLaunch *launch, void **args)
{
    int n = *(const int *)args[0];
    float a = *(const float *)args[1];
    const float *x = args[2];
    float *y = args[3];

    (void)launch;
    for (int i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}
