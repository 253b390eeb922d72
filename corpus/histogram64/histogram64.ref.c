#include "../reference.h"

#include <string.h>

void histogram64_reference(const RefLaunch *launch, void **args);
void histogram64_merge_reference(const RefLaunch *launch, void **args);

// Block b counts the bytes of words b * 64 * 63 and on, by their upper six bits.
void histogram64_reference(const RefLaunch *launch, void **args)
{
    const unsigned char *data = args[0];
    unsigned *partial = args[1];
    int words = *(const int *)args[2];
    int share = 64 * 63 * 4;

    memset(partial, 0, launch->grid[0] * 64 * sizeof *partial);
    for (int i = 0; i < 4 * words && i < share * (int)launch->grid[0]; i++)
        partial[i / share * 64 + (data[i] >> 2)]++;
}

void histogram64_merge_reference(const RefLaunch *launch, void **args)
{
    const unsigned *partial = args[0];
    unsigned *bins = args[1];
    int blocks = *(const int *)args[2];

    for (unsigned bin = 0; bin < launch->grid[0]; bin++) {
        bins[bin] = 0;
        for (int i = 0; i < blocks; i++)
            bins[bin] += partial[i * 64 + (int)bin];
    }
}
