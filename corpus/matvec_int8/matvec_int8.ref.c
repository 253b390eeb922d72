#include "../reference.h"

void matvec_int8_naive_reference(const RefLaunch *launch, void **args);
void matvec_int8_reference(const RefLaunch *launch, void **args);

static void multiply(void **args, unsigned rows, unsigned width)
{
    const signed char *matrix = args[0];
    const signed char *vector = args[1];
    const float *scales = args[2];
    float *result = args[3];

    for (unsigned row = 0; row < rows; row++) {
        int sum = 0;
        for (unsigned i = 0; i < width; i++)
            sum += matrix[row * width + i] * vector[i];
        result[row] = scales[row] * (float)sum;
    }
}

// words counts four elements.
void matvec_int8_naive_reference(const RefLaunch *launch, void **args)
{
    (void)launch;
    multiply(args, *(const unsigned *)args[4], *(const unsigned *)args[5] * 4);
}

// words counts sixteen elements.
void matvec_int8_reference(const RefLaunch *launch, void **args)
{
    multiply(args, launch->grid[0] * launch->block[0] / 32, *(const unsigned *)args[4] * 16);
}
