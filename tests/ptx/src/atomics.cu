// Atomic operations of every width and scope, and the memory model's additions to plain accesses.

#include <cuda/atomic>

extern "C" __global__ void atomics(int *words, unsigned *bits, unsigned long long *longs, float *floats,
                                   double *doubles, unsigned short *halves)
{
    __shared__ int local[32];
    __shared__ float sums[4];
    int i = threadIdx.x;
    local[i % 32] = 0;
    __syncthreads();
    int old = atomicAdd(&local[i % 32], words[i]);
    old += atomicMax(&words[1], old) + atomicMin(&words[2], old) + atomicExch(&words[3], old);
    old += atomicCAS(&words[4], old, i) + atomicSub(&words[5], 3) + atomicAdd_block(&words[6], 1);
    atomicOr(&bits[0], 1u << i);
    atomicAnd(&bits[1], ~(1u << i));
    atomicXor(&bits[2], (unsigned)old);
    bits[3] = atomicInc(&bits[4], 100u) + atomicDec(&bits[5], 100u);
    atomicAdd(&longs[0], (unsigned long long)i);
    longs[1] = atomicCAS(&longs[2], 5ull, 7ull) + atomicMax(&longs[3], 9ull) + atomicExch_system(&longs[4], 1ull);
    atomicAdd(&floats[0], 1.5f);
    atomicAdd(&sums[i % 4], floats[i]);
    atomicAdd(&doubles[0], 2.5);
    atomicAdd_system(&words[7], 1);
    halves[0] = atomicCAS(&halves[1], (unsigned short)1, (unsigned short)i);
    __syncthreads();
    words[i] = local[i % 32] + (int)sums[i % 4];
}

extern "C" __global__ void ordered(int *flag, int *data, unsigned long long *wide)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> device(*flag);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> system(*wide);
    data[threadIdx.x] = device.load(cuda::memory_order_acquire);
    device.store(3, cuda::memory_order_release);
    device.fetch_add(1, cuda::memory_order_relaxed);
    system.fetch_or(4, cuda::memory_order_acq_rel);
    int expected = 3;
    if (device.compare_exchange_strong(expected, 5, cuda::memory_order_seq_cst))
        data[threadIdx.x] += expected;
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
    while (system.load(cuda::memory_order_relaxed) < 10)
        ;
}

extern "C" __global__ void fences(volatile int *shared_flag, int *data)
{
    __shared__ volatile int tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    __threadfence_block();
    data[threadIdx.x] = tile[63 - threadIdx.x] + tile[threadIdx.x];
    __threadfence();
    *shared_flag = 1;
    __threadfence_system();
    while (*shared_flag != 2)
        ;
}
