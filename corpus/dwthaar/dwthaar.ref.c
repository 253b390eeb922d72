#include "../reference.h"

void dwthaar_reference(const RefLaunch *launch, void **args);

void dwthaar_reference(const RefLaunch *launch, void **args)
{
    const float *in = args[0];
    float *details = args[1];
    float *averages = args[2];
    const float scale = 0.70710678f;

    for (unsigned b = 0; b < launch->grid[0]; b++) {
        float level[128];
        for (unsigned i = 0; i < 128; i++)
            level[i] = in[b * 128 + i];
        for (unsigned pairs = 64; pairs > 0; pairs /= 2)
            for (unsigned i = 0; i < pairs; i++) {
                float first = level[2 * i];
                float second = level[2 * i + 1];
                level[i] = (first + second) * scale;
                details[b * 128 + pairs + i] = (first - second) * scale;
            }
        averages[b] = level[0];
    }
}
