#include "../reference.h"

void clock_block_reference(const RefLaunch *launch, void **args);
void clock_sum_reference(const RefLaunch *launch, void **args);

// The contents of elapsed depend on the device, and the launch does not check them.
void clock_block_reference(const RefLaunch *launch, void **args)
{
    unsigned *elapsed = args[0];
    int *reached = args[1];
    unsigned count = *(const unsigned *)args[2];

    for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; i++) {
        elapsed[i] = count;
        reached[i] = (int)(2 * i + 1);
    }
}

void clock_sum_reference(const RefLaunch *launch, void **args)
{
    const int *values = args[0];
    int *sum = args[1];
    int n = *(const int *)args[2];
    unsigned total = 0;

    (void)launch;
    for (int i = 0; i < n; i++)
        total += (unsigned)values[i];
    sum[0] = (int)total;
}
