#include "../reference.h"

#include <math.h>

void softmax_reference(const RefLaunch *launch, void **args);

// In double precision: the kernel's exponential is approximate.
void softmax_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *out = args[1];
    int columns = *(const int *)args[2];

    for (unsigned block = 0; block < launch->grid[0]; block++) {
        const float *row = in + block * (unsigned)columns;
        double maximum = -INFINITY, sum = 0.0;
        for (int i = 0; i < columns; i++)
            maximum = row[i] > maximum ? row[i] : maximum;
        for (int i = 0; i < columns; i++)
            sum += exp(row[i] - maximum);
        for (int i = 0; i < columns; i++)
            out[block * (unsigned)columns + (unsigned)i] = (float)(exp(row[i] - maximum) / sum);
    }
}
