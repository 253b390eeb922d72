#include "../reference.h"

void generate_triangles_reference(const RefLaunch *launch, void **args);

// The places of the corners, and the two that each edge joins.
static const int corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                 {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
static const int ends[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6},
                                {3, 7}};

// In double precision: the kernel's coordinates differ by its rounding.
void generate_triangles_reference(const RefLaunch *launch, void **args)
{
    float *positions = args[0], *normals = args[1];
    const float *volume = args[2];
    const unsigned *active = args[3], *offsets = args[4];
    const int *triangles = args[5];
    int size = *(const int *)args[6];
    double cell = *(const float *)args[7], level = *(const float *)args[8];
    unsigned cubes = *(const unsigned *)args[9];

    (void)launch;
    for (unsigned i = 0; i < cubes; i++) {
        int at[3] = {(int)active[i] % size, (int)active[i] / size % size, (int)active[i] / size / size};
        double value[8], crossing[12][3];
        int inside = 0;
        for (int c = 0; c < 8; c++) {
            value[c] = volume[((at[2] + corner[c][2]) * size + at[1] + corner[c][1]) * size + at[0] + corner[c][0]];
            inside |= (value[c] < level) << c;
        }
        for (int e = 0; e < 12; e++) {
            const int *from = corner[ends[e][0]], *to = corner[ends[e][1]];
            double t = (level - value[ends[e][0]]) / (value[ends[e][1]] - value[ends[e][0]]);
            for (int axis = 0; axis < 3; axis++)
                crossing[e][axis] = (at[axis] + from[axis] + t * (to[axis] - from[axis])) * cell - 1;
        }
        const int *edge = triangles + 16 * inside;
        for (unsigned out = offsets[i]; *edge >= 0; edge += 3, out += 3) {
            const double *a = crossing[edge[0]], *b = crossing[edge[1]], *c = crossing[edge[2]];
            for (int axis = 0; axis < 3; axis++) {
                int second = (axis + 1) % 3, third = (axis + 2) % 3;
                double n = (b[second] - a[second]) * (c[third] - a[third]) -
                           (b[third] - a[third]) * (c[second] - a[second]);
                for (unsigned k = 0; k < 3; k++) {
                    positions[4 * (out + k) + (unsigned)axis] = (float)crossing[edge[k]][axis];
                    normals[4 * (out + k) + (unsigned)axis] = (float)n;
                }
            }
            for (unsigned k = 0; k < 3; k++) {
                positions[4 * (out + k) + 3] = 1;
                normals[4 * (out + k) + 3] = 0;
            }
        }
    }
}
