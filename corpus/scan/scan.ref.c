#include "../reference.h"

#include <string.h>

void scan_naive_reference(const RefLaunch *launch, void **args);

// The sums in the order of the kernel: each element becomes the sum of a window that doubles.
void scan_naive_reference(const RefLaunch *launch, void **args)
{
    float *out = args[0];
    const float *in = args[1];
    int n = *(const int *)args[2];

    (void)launch;
    out[0] = 0.0f;
    memcpy(out + 1, in, (size_t)(n - 1) * sizeof *in);
    for (int offset = 1; offset < n; offset *= 2)
        for (int i = n - 1; i >= offset; i--)
            out[i] += out[i - offset];
}
