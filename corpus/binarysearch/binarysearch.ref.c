#include "../reference.h"

void binarysearch_reference(const RefLaunch *launch, void **args);

void binarysearch_reference(const RefLaunch *launch, void **args)
{
    const int *sorted = args[0];
    int n = *(const int *)args[1];
    const int *keys = args[2];
    int *found = args[3];
    int count = *(const int *)args[4];
    int threads = (int)(launch->grid[0] * launch->block[0]);

    for (int i = 0; i < count && i < threads; i++) {
        int k = 0;
        while (k < n && sorted[k] < keys[i])
            k++;
        found[i] = k;
    }
}
