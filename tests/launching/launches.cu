// Every other way in which programs launch kernels: cooperative, with attributes, by graphs that are built, changed,
// updated and captured, and by the driver's functions for libraries. Its argument is the block size, which only the
// running program knows. Prints what is wrong.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

// Every thread of the block takes part: a block of another size gives another result.
__global__ void reverse(const float *in, float *out)
{
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

__global__ void scale(float *a, float factor)
{
    a[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

#define CHECK(call)                                                                                                    \
    if (cudaError_t error = call) {                                                                                    \
        printf("%s: %s\n", #call, cudaGetErrorString(error));                                                          \
        exit(1);                                                                                                       \
    }

static const int blocks = 4;
static int block;
static std::vector<float> in, out;
static float *a, *b;

static void begin()
{
    CHECK(cudaMemcpy(a, in.data(), in.size() * sizeof *a, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(b, 0, in.size() * sizeof *b));
}

// b must be a, reversed in each block, times a number.
static void end(const char *what, float times)
{
    int wrong = 0;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out.data(), b, out.size() * sizeof *b, cudaMemcpyDeviceToHost));
    for (int i = 0; i < blocks * block; i++)
        wrong += out[i] != times * in[i / block * block + block - 1 - i % block];
    printf("%s: %d wrong\n", what, wrong);
}

static cudaKernelNodeParams node_of(void *kernel, void **arguments)
{
    cudaKernelNodeParams node = {};
    node.func = kernel;
    node.gridDim = dim3(blocks);
    node.blockDim = dim3(block);
    node.kernelParams = arguments;
    return node;
}

static void run(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t instance;
#if CUDART_VERSION >= 12000
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
#else
    CHECK(cudaGraphInstantiate(&instance, graph, nullptr, nullptr, 0));
#endif
    CHECK(cudaGraphLaunch(instance, stream));
    CHECK(cudaGraphExecDestroy(instance));
}

int main(int argc, char **argv)
{
    block = argc > 1 ? atoi(argv[1]) : 128;
    for (int i = 0; i < blocks * block; i++)
        in.push_back(i + 1);
    out.resize(in.size());
    CHECK(cudaMalloc(&a, in.size() * sizeof *a));
    CHECK(cudaMalloc(&b, in.size() * sizeof *b));
    float factor = 3;
    void *of_reverse[] = {&a, &b}, *of_scale[] = {&b, &factor};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    // A cooperative grid, as large as fits.
    int fitting = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, reverse, block, 0));
    printf("%d blocks of %d threads fit\n", fitting, block);
    begin();
    CHECK(cudaLaunchCooperativeKernel((const void *)reverse, dim3(blocks), dim3(block), of_reverse, 0, stream));
    end("cooperative", 1);
    begin();
    cudaError_t error = cudaLaunchCooperativeKernel((const void *)reverse, dim3(100000), dim3(block), of_reverse, 0, 0);
    printf("too large: %s\n", cudaGetErrorString(error));
    cudaGetLastError();

#if CUDART_VERSION >= 11080
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(block);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    begin();
    CHECK(cudaLaunchKernelExC(&config, (const void *)reverse, of_reverse));
    end("with attributes", 1);
    begin();
    CHECK(cudaLaunchKernelEx(&config, reverse, (const float *)a, b));
    end("with attributes, by the template", 1);
#endif

    // A graph of two nodes, which is then changed, before and after it is instantiated.
    cudaGraph_t graph;
    cudaGraphNode_t first, second;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams node = node_of((void *)reverse, of_reverse), other = node_of((void *)scale, of_scale);
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &node));
    CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &other));
    begin();
    run(graph, stream);
    end("graph", 3);
    factor = 5;
    CHECK(cudaGraphKernelNodeGetParams(second, &other));
    printf("a node has blocks of %u threads of %s\n", other.blockDim.x,
           other.func == (void *)scale ? "this kernel" : "another");
    other.kernelParams = of_scale;
    CHECK(cudaGraphKernelNodeSetParams(second, &other));
    begin();
    run(graph, stream);
    end("graph with another node", 5);
    cudaGraphExec_t instance;
#if CUDART_VERSION >= 12000
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
#else
    CHECK(cudaGraphInstantiate(&instance, graph, nullptr, nullptr, 0));
#endif
    factor = 7;
    CHECK(cudaGraphExecKernelNodeSetParams(instance, second, &other));
    begin();
    CHECK(cudaGraphLaunch(instance, stream));
    end("instance with another node", 7);

    // Captured launches.
    cudaGraph_t captured;
    factor = 9;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    reverse<<<blocks, block, 0, stream>>>(a, b);
    scale<<<blocks, block, 0, stream>>>(b, factor);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &captured));
    begin();
    run(captured, stream);
    end("captured", 9);
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(instance, captured, &result));
    begin();
    CHECK(cudaGraphLaunch(instance, stream));
    end("instance updated", 9);
#endif
#if CUDART_VERSION >= 13000
    cudaGraph_t modern;
    cudaGraphNodeParams any = {cudaGraphNodeTypeKernel};
    any.kernel.func = (void *)reverse;
    any.kernel.gridDim = dim3(blocks);
    any.kernel.blockDim = dim3(block);
    any.kernel.kernelParams = of_reverse;
    CHECK(cudaGraphCreate(&modern, 0));
    CHECK(cudaGraphAddNode(&first, modern, nullptr, nullptr, 0, &any));
    CHECK(cudaGraphNodeSetParams(first, &any));
    begin();
    run(modern, stream);
    end("any node", 1);
#endif
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    int grid, best;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &best, reverse));
    printf("at most %d threads, best %d\n", attributes.maxThreadsPerBlock, best);
    CHECK(cudaGetLastError());
    return 0;
}
