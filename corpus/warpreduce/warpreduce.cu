// Shuffles and votes within warps.

// Sum over a grid-stride loop, then over the warp, then by one atomic addition a warp. In integers: any order will do.
extern "C" __global__ void warpreduce_sum(const int *in, int *sum, int n)
{
    int own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += in[i];
    for (int offset = 16; offset > 0; offset /= 2)
        own += __shfl_down_sync(0xffffffffu, own, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

// Inclusive prefix sums of 32 elements each.
extern "C" __global__ void warpscan(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    int value = in[i];
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset)
            value += other;
    }
    out[i] = value;
}

// Moves the positive ones of each 32 elements to the front, in order, and gives their number.
extern "C" __global__ void warpcompact(const int *in, int *out, int *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    int value = in[i];
    unsigned positive = __ballot_sync(0xffffffffu, value > 0);
    if (value > 0)
        out[i - lane + __popc(positive & ((1u << lane) - 1u))] = value;
    if (lane == 0)
        counts[i / 32] = __popc(positive);
}
