// A lock in global memory: one thread at a time reads and writes the data that it guards.

// One lane of each warp takes the lock for all of them, so that no lane of a warp waits for another of the same warp.
// Counts the warps, and keeps the largest of their values.
extern "C" __global__ void spinlock(int *lock, int *count, int *largest, const int *values)
{
    int own = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
        own = max(own, __shfl_xor_sync(0xffffffffu, own, offset));

    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
        *(volatile int *)count = *(volatile int *)count + 1;
        if (own > *(volatile int *)largest)
            *(volatile int *)largest = own;
        __threadfence();
        atomicExch(lock, 0);
    }
}
