#include "../reference.h"

void fastwalsh_reference(const RefLaunch *launch, void **args);

void fastwalsh_reference(const RefLaunch *launch, void **args)
{
    float *data = args[0];
    unsigned step = *(const unsigned *)args[1];
    unsigned elements = 2 * launch->grid[0] * launch->block[0];

    for (unsigned base = 0; base < elements; base += 2 * step)
        for (unsigned i = base; i < base + step; i++) {
            float first = data[i];
            float second = data[i + step];
            data[i] = first + second;
            data[i + step] = first - second;
        }
}
