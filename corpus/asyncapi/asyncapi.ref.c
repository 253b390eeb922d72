#include "../reference.h"

void increment_reference(const RefLaunch *launch, void **args);

void increment_reference(const RefLaunch *launch, void **args)
{
    int *data = args[0];
    int value = *(const int *)args[1];

    for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; i++)
        data[i] = (int)((unsigned)data[i] + (unsigned)value);
}
