#include "../reference.h"

#include <math.h>

void vecmatmul_reference(const RefLaunch *launch, void **args);
void vecmatmul_shared_reference(const RefLaunch *launch, void **args);

// The grid covers the columns.
static void multiply(void **args)
{
    const float *vector = args[0];
    const float *matrix = args[1];
    float *result = args[2];
    int width = *(const int *)args[3];
    int height = *(const int *)args[4];

    for (int x = 0; x < width; x++)
        result[x] = 0.0f;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            result[x] = fmaf(vector[y], matrix[y * width + x], result[x]);
}

void vecmatmul_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    multiply(args);
}

void vecmatmul_shared_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    multiply(args);
}
