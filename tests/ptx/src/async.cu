// Asynchronous copies to shared memory, by hand, through a pipeline and with a barrier in shared memory.

#include <cuda/barrier>
#include <cuda/pipeline>

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void byHand(const float4 *in, float4 *out, int n)
{
    __shared__ float4 stages[2][64];
    int i = threadIdx.x;
    unsigned first = (unsigned)__cvta_generic_to_shared(&stages[0][i]);
    unsigned second = (unsigned)__cvta_generic_to_shared(&stages[1][i]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(first), "l"(in + i));
    asm volatile("cp.async.commit_group;");
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 1; k <= n; k++) {
        if (k < n)
            asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(k & 1 ? second : first),
                         "l"(in + k * 64 + i), "r"(k == n - 1 ? 8 : 16));
        asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        float4 x = stages[(k - 1) & 1][63 - i];
        sum.x += x.x;
        sum.w += x.w;
        __syncthreads();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[i] = sum;
}
#endif

extern "C" __global__ void pipelined(const int *in, int *out, int n)
{
    __shared__ int stages[2][128];
    cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
    for (int k = 0; k < n; k++) {
        pipeline.producer_acquire();
        cuda::memcpy_async(&stages[k & 1][threadIdx.x], &in[k * 128 + threadIdx.x], sizeof(int), pipeline);
        pipeline.producer_commit();
        if (k > 0) {
            cuda::pipeline_consumer_wait_prior<1>(pipeline);
            out[threadIdx.x] += stages[(k - 1) & 1][threadIdx.x];
            pipeline.consumer_release();
        }
    }
}

extern "C" __global__ void arriving(int *data)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int tile[64];
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = data[threadIdx.x];
    auto token = barrier.arrive();
    data[threadIdx.x] *= 2;
    barrier.wait(cuda::std::move(token));
    data[threadIdx.x] += tile[63 - threadIdx.x];
}
