// Motion estimation by block matching: each block of 16x16 threads tries 256 displacements of one 8x8 block of pixels
// and keeps the one with the least sum of absolute differences, the first of equal ones.

#define SIDE 8
#define RANGE 16

extern "C" __global__ void blockmatch(const unsigned char *current, const unsigned char *previous, int *best, int width,
                                      int height)
{
    __shared__ int pixels[SIDE][SIDE];
    __shared__ int window[SIDE + RANGE][SIDE + RANGE];
    __shared__ int costs[RANGE * RANGE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x0 = blockIdx.x * SIDE;
    int y0 = blockIdx.y * SIDE;

    if (tx < SIDE && ty < SIDE)
        pixels[ty][tx] = current[(y0 + ty) * width + x0 + tx];
    for (int y = ty; y < SIDE + RANGE; y += RANGE)
        for (int x = tx; x < SIDE + RANGE; x += RANGE) {
            int px = min(max(x0 + x - RANGE / 2, 0), width - 1);
            int py = min(max(y0 + y - RANGE / 2, 0), height - 1);
            window[y][x] = previous[py * width + px];
        }
    __syncthreads();

    int sum = 0;
#pragma unroll
    for (int j = 0; j < SIDE; j++)
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            sum += abs(pixels[j][i] - window[ty + j][tx + i]);

    // Cost and displacement in one number: the least is the best, and the first of equal ones.
    int t = ty * RANGE + tx;
    costs[t] = sum << 8 | t;
    __syncthreads();
    for (int half = RANGE * RANGE / 2; half > 0; half /= 2) {
        if (t < half)
            costs[t] = min(costs[t], costs[t + half]);
        __syncthreads();
    }
    if (t == 0)
        best[blockIdx.y * gridDim.x + blockIdx.x] = costs[0];
}
