// Transpose of a matrix as the SDK's benchmark times it: the copy is repeated inside the kernel, and a thread moves
// several rows of its tile. Width and height are multiples of TILE; a block has TILE x ROWS threads.

#define TILE 16
#define ROWS 8

// Straight from row to column: reads are coalesced, writes are not.
extern "C" __global__ void transpose_repeat(float *out, const float *in, int width, int height, int repeats)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int indexIn = x + width * y;
    int indexOut = y + height * x;

    for (int r = 0; r < repeats; r++)
        for (int i = 0; i < TILE; i += ROWS)
            out[indexOut + i] = in[indexIn + i * width];
}

// Through a padded tile in shared memory; a repetition must not fill the tile before all have read it.
extern "C" __global__ void transpose_repeat_tiled(float *out, const float *in, int width, int height, int repeats)
{
    __shared__ float tile[TILE][TILE + 1];

    int indexIn = blockIdx.x * TILE + threadIdx.x + (blockIdx.y * TILE + threadIdx.y) * width;
    int indexOut = blockIdx.y * TILE + threadIdx.x + (blockIdx.x * TILE + threadIdx.y) * height;

    for (int r = 0; r < repeats; r++) {
        for (int i = 0; i < TILE; i += ROWS)
            tile[threadIdx.y + i][threadIdx.x] = in[indexIn + i * width];
        __syncthreads();
        for (int i = 0; i < TILE; i += ROWS)
            out[indexOut + i * height] = tile[threadIdx.x][threadIdx.y + i];
        __syncthreads();
    }
}
