#include "../reference.h"

void threadfence_sum_reference(const RefLaunch *launch, void **args);

static float tree(float *values)
{
    for (int half = 64; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            values[i] += values[i + half];
    return values[0];
}

// In the order of the kernel: strided sums of 128 threads a block, a tree, and the same over the partial sums.
void threadfence_sum_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *partial = args[1];
    int n = *(const int *)args[3];
    int blocks = (int)launch->grid[0];

    for (int block = 0; block < blocks; block++) {
        float values[128] = {0};
        for (int t = 0; t < 128; t++)
            for (int i = block * 128 + t; i < n; i += blocks * 128)
                values[t] += in[i];
        partial[block] = tree(values);
    }
    float values[128] = {0};
    for (int i = 0; i < blocks; i++)
        values[i % 128] += partial[i];
    *(float *)args[2] = tree(values);
}
