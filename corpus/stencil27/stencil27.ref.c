#include "../reference.h"

#include <math.h>

void stencil27_reference(const RefLaunch *launch, void **args);

// The grid covers the inner points. Sums run in the kernel's order.
void stencil27_reference(const RefLaunch *launch, void **args)
{
    static const int faces[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
    static const int edges[12][3] = {{-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 1, 0}, {-1, 0, -1}, {1, 0, -1},
                                     {0, -1, -1}, {0, 1, -1}, {-1, 0, 1}, {1, 0, 1}, {0, -1, 1}, {0, 1, 1}};
    static const int corners[8][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                      {-1, -1, 1}, {1, -1, 1}, {-1, 1, 1}, {1, 1, 1}};
    const float *in = args[0];
    float *out = args[1];
    int nx = *(const int *)args[2];
    int ny = *(const int *)args[3];
    int nz = *(const int *)args[4];
    const float weight[4] = {*(const float *)args[5], *(const float *)args[6], *(const float *)args[7],
                             *(const float *)args[8]};

    (void)launch;
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < ny - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                const float *here = in + (z * ny + y) * nx + x;
                float sum[3] = {0.0f, 0.0f, 0.0f};
                for (int k = 0; k < 6; k++)
                    sum[0] += here[(faces[k][2] * ny + faces[k][1]) * nx + faces[k][0]];
                for (int k = 0; k < 12; k++)
                    sum[1] += here[(edges[k][2] * ny + edges[k][1]) * nx + edges[k][0]];
                for (int k = 0; k < 8; k++)
                    sum[2] += here[(corners[k][2] * ny + corners[k][1]) * nx + corners[k][0]];
                float total = fmaf(weight[0], here[0], weight[1] * sum[0]);
                total = fmaf(weight[2], sum[1], total);
                out[(z * ny + y) * nx + x] = fmaf(weight[3], sum[2], total);
            }
}
