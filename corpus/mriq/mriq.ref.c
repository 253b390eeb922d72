#include "../reference.h"

#include <math.h>

void mriq_reference(const RefLaunch *launch, void **args);
void mriq_fast_reference(const RefLaunch *launch, void **args);

// The angle is rounded as in the kernel, because a large one's sine depends on its last bit; sine and cosine are the
// library's in double precision.
static void phase_sums(const RefLaunch *launch, void **args)
{
    const float *samples = args[0];
    int count = *(const int *)args[1];
    const float *x = args[2];
    const float *y = args[3];
    const float *z = args[4];
    float *real = args[5];
    float *imaginary = args[6];
    int voxels = *(const int *)args[7];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < voxels && i < threads; i++) {
        double sumReal = 0.0, sumImaginary = 0.0;
        for (int k = 0; k < count; k++) {
            const float *sample = samples + 4 * k;
            float turns = fmaf(sample[2], z[i], fmaf(sample[0], x[i], sample[1] * y[i]));
            float angle = 6.2831853f * turns;
            sumReal += sample[3] * cos(angle);
            sumImaginary += sample[3] * sin(angle);
        }
        real[i] = (float)sumReal;
        imaginary[i] = (float)sumImaginary;
    }
}

void mriq_reference(const RefLaunch *launch, void **args)
{
    phase_sums(launch, args);
}

void mriq_fast_reference(const RefLaunch *launch, void **args)
{
    phase_sums(launch, args);
}
