// Bitonic sort of 2 * BLOCK keys a block in shared memory: a barrier two loops deep, which all threads reach equally
// often.

#define BLOCK 128

extern "C" __global__ void __launch_bounds__(BLOCK) bitonic(const int *in, int *out)
{
    __shared__ int keys[2 * BLOCK];

    const int *from = in + blockIdx.x * 2 * BLOCK;
    int *to = out + blockIdx.x * 2 * BLOCK;
    keys[threadIdx.x] = from[threadIdx.x];
    keys[threadIdx.x + BLOCK] = from[threadIdx.x + BLOCK];

    for (int size = 2; size <= 2 * BLOCK; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            int a = keys[low];
            int b = keys[low + stride];
            bool descending = (low & size) != 0;
            if ((a > b) != descending) {
                keys[low] = b;
                keys[low + stride] = a;
            }
        }
    __syncthreads();
    to[threadIdx.x] = keys[threadIdx.x];
    to[threadIdx.x + BLOCK] = keys[threadIdx.x + BLOCK];
}
