// 27-point stencil in three dimensions with one weight each for centre, faces, edges and corners.

extern "C" __global__ void stencil27(const float *in, float *out, int nx, int ny, int nz, float centre, float face,
                                     float edge, float corner)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int z = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (x >= nx - 1 || y >= ny - 1 || z >= nz - 1)
        return;

    int row = nx;
    int plane = nx * ny;
    const float *below = in + (z - 1) * plane + y * row + x;
    const float *here = below + plane;
    const float *above = here + plane;

    float faces = here[-1] + here[1] + here[-row] + here[row] + below[0] + above[0];
    float edges = here[-row - 1] + here[-row + 1] + here[row - 1] + here[row + 1] +
                  below[-1] + below[1] + below[-row] + below[row] +
                  above[-1] + above[1] + above[-row] + above[row];
    float corners = below[-row - 1] + below[-row + 1] + below[row - 1] + below[row + 1] +
                    above[-row - 1] + above[-row + 1] + above[row - 1] + above[row + 1];

    out[z * plane + y * row + x] = centre * here[0] + face * faces + edge * edges + corner * corners;
}
