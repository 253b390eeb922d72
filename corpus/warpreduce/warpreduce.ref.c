#include "../reference.h"

void warpreduce_sum_reference(const RefLaunch *launch, void **args);
void warpscan_reference(const RefLaunch *launch, void **args);
void warpcompact_reference(const RefLaunch *launch, void **args);

void warpreduce_sum_reference(const RefLaunch *launch, void **args)
{
    const int *in = args[0];
    int *sum = args[1];
    int n = *(const int *)args[2];
    unsigned total = (unsigned)*sum;

    (void)launch;
    for (int i = 0; i < n; i++)
        total += (unsigned)in[i];
    *sum = (int)total;
}

void warpscan_reference(const RefLaunch *launch, void **args)
{
    const int *in = args[0];
    int *out = args[1];
    unsigned total = 0;

    for (unsigned i = 0; i < launch->grid[0] * launch->block[0]; i++) {
        total = (i % 32 ? total : 0) + (unsigned)in[i];
        out[i] = (int)total;
    }
}

void warpcompact_reference(const RefLaunch *launch, void **args)
{
    const int *in = args[0];
    int *out = args[1];
    int *counts = args[2];

    for (unsigned first = 0; first < launch->grid[0] * launch->block[0]; first += 32) {
        int count = 0;
        for (unsigned i = first; i < first + 32; i++)
            if (in[i] > 0)
                out[first + (unsigned)count++] = in[i];
        counts[first / 32] = count;
    }
}
