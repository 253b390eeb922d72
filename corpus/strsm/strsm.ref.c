#include "../reference.h"

void strsm_reference(const RefLaunch *launch, void **args);

// A thread of the grid for each of the n columns. The PTX leaves it to the assembler to contract product and difference
// or not: hence the tolerance.
void strsm_reference(const RefLaunch *launch, void **args)
{
    const float *a = args[0];
    float *b = args[1];
    unsigned n = *(const unsigned *)args[2];
    unsigned columns = launch->grid[0] * launch->block[0];

    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < i; k++)
            for (unsigned column = 0; column < columns; column++)
                b[i * n + column] -= a[i * n + k] * b[k * n + column];
        for (unsigned column = 0; column < columns; column++)
            b[i * n + column] /= a[i * n + i];
    }
}
