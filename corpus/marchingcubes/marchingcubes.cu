// Marching cubes, the generator of triangles: one thread a cube that the surface cuts. It interpolates the crossing of
// the surface with all twelve edges into shared memory, and then writes the triangles that the table names, each corner
// with the normal of its triangle.

#define THREADS 32
#define ROW 16

static __device__ float3 cross_edge(float level, float3 p, float3 q, float a, float b)
{
    float t = (level - a) / (b - a);
    return make_float3(p.x + t * (q.x - p.x), p.y + t * (q.y - p.y), p.z + t * (q.z - p.z));
}

static __device__ float3 normal(float3 a, float3 b, float3 c)
{
    float3 u = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
    float3 v = make_float3(c.x - a.x, c.y - a.y, c.z - a.z);
    return make_float3(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x);
}

extern "C" __global__ void generate_triangles(float4 *positions, float4 *normals, const float *volume,
                                              const unsigned *active, const unsigned *offsets, const int *triangles,
                                              int size, float cell, float level, unsigned cubes)
{
    __shared__ float3 crossing[12 * THREADS];

    unsigned i = blockIdx.x * THREADS + threadIdx.x;
    // The threads past the end repeat the last cube, so that all reach the barrier; they write nothing.
    unsigned cube = active[i < cubes ? i : cubes - 1];
    int x = cube % size;
    int y = cube / size % size;
    int z = cube / (size * size);
    int row = size;
    int plane = size * size;
    const float *here = volume + cube;
    float value[8] = {here[0],     here[1],         here[row + 1],         here[row],
                      here[plane], here[plane + 1], here[plane + row + 1], here[plane + row]};
    float3 p = make_float3(x * cell - 1.0f, y * cell - 1.0f, z * cell - 1.0f);
    float3 corner[8] = {p,
                        make_float3(p.x + cell, p.y, p.z),
                        make_float3(p.x + cell, p.y + cell, p.z),
                        make_float3(p.x, p.y + cell, p.z),
                        make_float3(p.x, p.y, p.z + cell),
                        make_float3(p.x + cell, p.y, p.z + cell),
                        make_float3(p.x + cell, p.y + cell, p.z + cell),
                        make_float3(p.x, p.y + cell, p.z + cell)};
    int inside = 0;
#pragma unroll
    for (int c = 0; c < 8; c++)
        inside |= (value[c] < level) << c;

    float3 *mine = crossing + threadIdx.x;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int next = (e + 1) % 4;
        mine[e * THREADS] = cross_edge(level, corner[e], corner[next], value[e], value[next]);
        mine[(e + 4) * THREADS] = cross_edge(level, corner[e + 4], corner[next + 4], value[e + 4], value[next + 4]);
        mine[(e + 8) * THREADS] = cross_edge(level, corner[e], corner[e + 4], value[e], value[e + 4]);
    }
    __syncthreads();
    if (i >= cubes)
        return;

    unsigned out = offsets[i];
    const int *edge = triangles + inside * ROW;
    for (; *edge >= 0; edge += 3, out += 3) {
        float3 a = mine[edge[0] * THREADS];
        float3 b = mine[edge[1] * THREADS];
        float3 c = mine[edge[2] * THREADS];
        float3 n = normal(a, b, c);
        positions[out] = make_float4(a.x, a.y, a.z, 1.0f);
        positions[out + 1] = make_float4(b.x, b.y, b.z, 1.0f);
        positions[out + 2] = make_float4(c.x, c.y, c.z, 1.0f);
        normals[out] = normals[out + 1] = normals[out + 2] = make_float4(n.x, n.y, n.z, 0.0f);
    }
}
