#include "../reference.h"

#include <math.h>

void modulate_reference(const RefLaunch *launch, void **args);

void modulate_reference(const RefLaunch *launch, void **args)
{
    float *data = args[0];
    const float *filter = args[1];
    int n = *(const int *)args[2];
    float scale = *(const float *)args[3];

    (void)launch;
    for (int i = 0; i < n; i++) {
        float ax = data[2 * i], ay = data[2 * i + 1], bx = filter[2 * i], by = filter[2 * i + 1];
        data[2 * i] = scale * (ax * bx - ay * by);
        data[2 * i + 1] = scale * fmaf(ay, bx, ax * by);
    }
}
