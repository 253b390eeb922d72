#include "../reference.h"

void floydwarshall_reference(const RefLaunch *launch, void **args);

// The grid is the matrix.
void floydwarshall_reference(const RefLaunch *launch, void **args)
{
    unsigned *distance = args[0];
    unsigned *via = args[1];
    unsigned nodes = *(const unsigned *)args[2];
    unsigned k = *(const unsigned *)args[3];

    (void)launch;
    for (unsigned y = 0; y < nodes; y++)
        for (unsigned x = 0; x < nodes; x++) {
            unsigned through = distance[y * nodes + k] + distance[k * nodes + x];
            if (through < distance[y * nodes + x]) {
                distance[y * nodes + x] = through;
                via[y * nodes + x] = k;
            }
        }
}
