// Every other way in which programs launch kernels: cooperative, with attributes, by graphs that are built, changed,
// updated and captured, and by kernels of libraries. Its arguments are the block size, which only the running program
// knows, and a file of PTX with a kernel 'reverse'. Prints the errors.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
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

// The same in memory whose size the launch gives.
__global__ void reverse_large(const float *in, float *out)
{
    extern __shared__ float large[];
    large[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = large[blockDim.x - 1 - threadIdx.x];
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

#if CUDART_VERSION >= 12020
static cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needs, int count,
                            cudaGraphNodeParams *any)
{
#if CUDART_VERSION >= 12030
    cudaGraphEdgeData edge = {};
#endif
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, needs, count ? &edge : nullptr, count, any);
#elif CUDART_VERSION >= 12030
    return count ? cudaGraphAddNode_v2(node, graph, needs, &edge, count, any)
                 : cudaGraphAddNode(node, graph, needs, count, any);
#else
    return cudaGraphAddNode(node, graph, needs, count, any);
#endif
}

#ifdef WITH_NODE_GET // newer than the toolkit
extern "C" cudaError_t cudaGraphNodeGetParams(cudaGraphNode_t node, cudaGraphNodeParams *any);
#endif

// Nodes of any kind.
static void any_nodes(cudaStream_t stream, void **of_reverse, void **of_scale)
{
    cudaGraph_t graph;
    cudaGraphNode_t first, second, memory;
    cudaGraphNodeParams any = {cudaGraphNodeTypeKernel}, other = {cudaGraphNodeTypeKernel};
    any.kernel.func = (void *)reverse;
    other.kernel.func = (void *)scale;
    any.kernel.gridDim = other.kernel.gridDim = dim3(blocks);
    any.kernel.blockDim = other.kernel.blockDim = dim3(block);
    any.kernel.kernelParams = of_reverse;
    other.kernel.kernelParams = of_scale;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(add_node(&first, graph, nullptr, 0, &any));
    CHECK(add_node(&second, graph, &first, 1, &other));
    CHECK(cudaGraphNodeSetParams(first, &any));
#ifdef WITH_NODE_GET
    CHECK(cudaGraphNodeGetParams(second, &other));
    if (other.kernel.blockDim.x != block || other.kernel.func != (void *)scale)
        printf("a node: 1 wrong\n");
    other.kernel.kernelParams = of_scale;
#endif
    cudaGraphExec_t instance;
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    CHECK(cudaGraphExecNodeSetParams(instance, second, &other));
    begin();
    CHECK(cudaGraphLaunch(instance, stream));
    end("any nodes", *(float *)of_scale[1]);
    cudaGraphNodeParams more = {cudaGraphNodeTypeMemAlloc};
    more.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    more.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    more.alloc.bytesize = 1 << 10;
    CHECK(add_node(&memory, graph, &second, 1, &more));
    printf("a node's memory: %d wrong\n", !more.alloc.dptr);
}
#endif

// Kernels of a library, by name and as it lists them.
static void libraries(const char *file, cudaStream_t stream, void **of_reverse)
{
#if CUDART_VERSION >= 12080
    std::ifstream stored(file);
    std::string text((std::istreambuf_iterator<char>(stored)), std::istreambuf_iterator<char>());
    for (int again = 0; again < 2; again++) {
        cudaLibrary_t library;
        cudaKernel_t kernel, all[3] = {};
        CHECK(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
        for (int i = 0; i < 3; i++) {
            CHECK(cudaLibraryGetKernel(&kernel, library, "reverse"));
            begin();
            CHECK(cudaLaunchKernel((const void *)kernel, dim3(blocks), dim3(block), of_reverse, 0, stream));
            end("library", 1);
        }
        CHECK(cudaLibraryUnload(library));
        CHECK(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
        CHECK(cudaLibraryEnumerateKernels(all, 3, library));
        CHECK(cudaKernelSetAttributeForDevice(all[0], cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10, 0));
        begin();
        CHECK(cudaLaunchKernel((const void *)all[0], dim3(blocks), dim3(block), of_reverse, 100 << 10, stream));
        end("library, as it lists them", 1);
        CHECK(cudaLibraryUnload(library));
    }
#endif
}

// Queries about a block that coarsening by 2 does not allow are answered as without it.
static void questions()
{
    const int odd = 1023;
    int fitting = 0, flagged = 0, clusters = 0, size = 0;
    size_t shared = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fitting, reverse, odd, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&flagged, reverse, odd, 0, 0));
    CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, reverse, 2, odd));
#if CUDART_VERSION >= 11080
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(odd);
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, reverse, &config));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, reverse, &config));
#endif
    printf("of %d threads, %d blocks, %d blocks fit, with %zu bytes, %d clusters of %d\n", odd, fitting, flagged,
           shared, clusters, size);
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
#if CUDART_VERSION >= 12020
    any_nodes(stream, of_reverse, of_scale);
#endif
    CHECK(cudaFuncSetAttribute(reverse_large, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    begin();
    reverse_large<<<blocks, block, 100 << 10, stream>>>(a, b);
    CHECK(cudaGetLastError());
    end("much shared memory", 1);
#if CUDART_VERSION >= 12040
    cudaKernel_t handle;
    CHECK(cudaGetKernel(&handle, (const void *)reverse));
    begin();
    CHECK(cudaLaunchKernel((const void *)handle, dim3(blocks), dim3(block), of_reverse, 0, stream));
    end("by its handle", 1);
#endif
    if (argc > 2)
        libraries(argv[2], stream, of_reverse);
    questions();
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    int grid, best;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &best, reverse));
    printf("at most %d threads, best %d\n", attributes.maxThreadsPerBlock, best);
    CHECK(cudaGetLastError());
    return 0;
}
