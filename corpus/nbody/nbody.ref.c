#include "../reference.h"

#include <math.h>

void nbody_reference(const RefLaunch *launch, void **args);

// In double precision: the kernel's reciprocal square root is approximate.
void nbody_reference(const RefLaunch *launch, void **args)
{
    const float *position = args[0];
    float *acceleration = args[1];
    int bodies = *(const int *)args[2];
    double softening = *(const float *)args[3];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < threads; i++) {
        double sum[3] = {0.0, 0.0, 0.0};
        for (int j = 0; j < bodies; j++) {
            double d[3];
            double squared = softening;
            for (int axis = 0; axis < 3; axis++) {
                d[axis] = (double)position[4 * j + axis] - (double)position[4 * i + axis];
                squared += d[axis] * d[axis];
            }
            double scale = position[4 * j + 3] / (squared * sqrt(squared));
            for (int axis = 0; axis < 3; axis++)
                sum[axis] += d[axis] * scale;
        }
        for (int axis = 0; axis < 3; axis++)
            acceleration[4 * i + axis] = (float)sum[axis];
        acceleration[4 * i + 3] = 0.0f;
    }
}
