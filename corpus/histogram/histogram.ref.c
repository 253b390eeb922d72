#include "../reference.h"

void histogram_reference(const RefLaunch *launch, void **args);

void histogram_reference(const RefLaunch *launch, void **args)
{
    const unsigned char *data = args[0];
    unsigned *bins = args[1];
    int n = *(const int *)args[2];

    (void)launch;
    for (int i = 0; i < n; i++)
        bins[data[i]]++;
}
