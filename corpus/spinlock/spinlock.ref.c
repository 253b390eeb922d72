#include "../reference.h"

void spinlock_reference(const RefLaunch *launch, void **args);

// A block has whole warps.
void spinlock_reference(const RefLaunch *launch, void **args)
{
    int *lock = args[0];
    int *count = args[1];
    int *largest = args[2];
    const int *values = args[3];
    unsigned threads = launch->grid[0] * launch->block[0];

    for (unsigned i = 0; i < threads; i++)
        if (values[i] > *largest)
            *largest = values[i];
    *count += (int)(threads / 32);
    *lock = 0;
}
