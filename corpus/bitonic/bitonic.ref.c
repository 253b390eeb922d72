#include "../reference.h"

void bitonic_reference(const RefLaunch *launch, void **args);

// By insertion: 256 keys a block.
void bitonic_reference(const RefLaunch *launch, void **args)
{
    for (unsigned block = 0; block < launch->grid[0]; block++) {
        const int *in = (const int *)args[0] + block * 256;
        int *out = (int *)args[1] + block * 256;
        for (int i = 0; i < 256; i++) {
            int at = i;
            for (; at > 0 && out[at - 1] > in[i]; at--)
                out[at] = out[at - 1];
            out[at] = in[i];
        }
    }
}
