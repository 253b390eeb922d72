#include "../reference.h"

#include <math.h>

void calls_reference(const RefLaunch *launch, void **args);
void calls_loop_reference(const RefLaunch *launch, void **args);

void calls_reference(const RefLaunch *launch, void **args)
{
    const float *cubics = args[0];
    float *roots = args[1];
    int n = *(const int *)args[2];

    (void)launch;
    for (int i = 0; i < n; i++) {
        const float *c = cubics + 4 * i;
        float x = 1.0f;
        for (int k = 0; k < 8; k++) {
            float value = fmaf(fmaf(fmaf(c[0], x, c[1]), x, c[2]), x, c[3]);
            float slope = fmaf(fmaf(3.0f * c[0], x, 2.0f * c[1]), x, c[2]);
            x -= value / slope;
        }
        roots[i] = x;
    }
}

void calls_loop_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    const int *lengths = args[1];
    float *out = args[2];
    int n = *(const int *)args[3];

    (void)launch;
    for (int i = 0; i < n; i++) {
        float value = 0.0f;
        for (int k = 0; k < lengths[i]; k++)
            value = fmaf(value, 0.75f, in[k] * 0.25f);
        out[i] = value;
    }
}
