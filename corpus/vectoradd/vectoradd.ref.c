#include "../reference.h"

void vectoradd_reference(const RefLaunch *launch, void **args);
void vectoradd_exact_reference(const RefLaunch *launch, void **args);

void vectoradd_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    int n = *(const int *)args[3];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < n && i < threads; i++)
        c[i] = a[i] + b[i];
}

void vectoradd_exact_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    const float *b = args[1];
    float *c = args[2];
    unsigned threads = launch->grid[0] * launch->block[0];

    for (unsigned i = 0; i < threads; i++)
        c[i] = a[i] + b[i];
}
