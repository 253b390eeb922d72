#include "../reference.h"

#include <math.h>

void mvcoal_reference(const RefLaunch *launch, void **args);
void mvuncoal_reference(const RefLaunch *launch, void **args);

// Adds in the order of the kernel: a strided sum for each of the 128 threads, then a tree.
void mvcoal_reference(const RefLaunch *launch, void **args)
{
    const float *matrix = args[0];
    const float *vector = args[1];
    float *result = args[2];
    int width = *(const int *)args[3];
    int height = *(const int *)args[4];

    (void)launch;
    for (int y = 0; y < height; y++) {
        float partial[128];
        for (int t = 0; t < 128; t++) {
            partial[t] = 0.0f;
            for (int x = t; x < width; x += 128)
                partial[t] = fmaf(matrix[y * width + x], vector[x], partial[t]);
        }
        for (int stride = 64; stride > 0; stride /= 2)
            for (int t = 0; t < stride; t++)
                partial[t] += partial[t + stride];
        result[y] = partial[0];
    }
}

void mvuncoal_reference(const RefLaunch *launch, void **args)
{
    const float *matrix = args[0];
    const float *vector = args[1];
    float *result = args[2];
    int width = *(const int *)args[3];
    int height = *(const int *)args[4];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int y = 0; y < height && y < threads; y++) {
        float sum = 0.0f;
        for (int x = 0; x < width; x++)
            sum = fmaf(matrix[y * width + x], vector[x], sum);
        result[y] = sum;
    }
}
