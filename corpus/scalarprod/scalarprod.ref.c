#include "../reference.h"

#include <math.h>

void scalarprod_reference(const RefLaunch *launch, void **args);

// In the order of the kernel: 1024 strided sums, then a tree.
void scalarprod_reference(const RefLaunch *launch, void **args)
{
    float *result = args[0];
    int pairs = *(const int *)args[3];
    int n = *(const int *)args[4];

    (void)launch;
    for (int pair = 0; pair < pairs; pair++) {
        const float *a = (const float *)args[1] + pair * n;
        const float *b = (const float *)args[2] + pair * n;
        float sums[1024] = {0};
        for (int i = 0; i < n; i++)
            sums[i % 1024] = fmaf(a[i], b[i], sums[i % 1024]);
        for (int stride = 512; stride > 0; stride /= 2)
            for (int i = 0; i < stride; i++)
                sums[i] += sums[stride + i];
        result[pair] = sums[0];
    }
}
