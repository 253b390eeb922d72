#include "../reference.h"

void stencil1d_reference(const RefLaunch *launch, void **args);
void stencil1d_pair_reference(const RefLaunch *launch, void **args);

void stencil1d_reference(const RefLaunch *launch, void **args)
{
    const int *in = args[0];
    int *out = args[1];
    int n = *(const int *)args[2];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < n && i < threads; i++) {
        unsigned sum = 0;
        for (int k = i - 3; k <= i + 3; k++)
            if (k >= 0 && k < n)
                sum += (unsigned)in[k];
        out[i] = (int)sum;
    }
}

void stencil1d_pair_reference(const RefLaunch *launch, void **args)
{
    float *a = args[0];
    const float *b = args[1];

    for (unsigned block = 0; block < launch->grid[0]; block++)
        for (unsigned i = 1; i < launch->block[0]; i++) {
            unsigned k = block * 128 + i;
            a[k] = b[k] + b[k - 1] + b[k] * 0.5f + b[k - 1] * 0.5f;
        }
}
