// One pass of Floyd and Warshall's shortest paths: is the path through node k shorter? Lengths are positive.

extern "C" __global__ void floydwarshall(unsigned *distance, unsigned *via, int nodes, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    unsigned direct = distance[y * nodes + x];
    unsigned through = distance[y * nodes + k] + distance[k * nodes + x];
    if (through < direct) {
        distance[y * nodes + x] = through;
        via[y * nodes + x] = k;
    }
}
