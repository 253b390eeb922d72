/* Streams, events, textures, graphs, cooperative grids, and what is asked about the device and kernels: each part
 * prints what is wrong with it. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_profiler_api.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        cudaError_t error_ = call;                                                                                     \
        if (error_ != cudaSuccess)                                                                                     \
            printf("%s: %s: 1 wrong\n", #call, cudaGetErrorString(error_));                                            \
    } while (0)

enum { COUNT = 512, BLOCK = 128, WIDTH = 8, HEIGHT = 4, DEPTH = 2 };

__global__ void increment(int *values, int by)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

__global__ void sum_shared(const float *values, float *sum)
{
    __shared__ float part[1024];
    part[threadIdx.x] = values[threadIdx.x];
    for (int step = blockDim.x / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (!threadIdx.x)
        *sum = part[0];
}

__global__ void __launch_bounds__(256) bounded(int *values)
{
    values[threadIdx.x] = 1;
}

__global__ void neighbours(int *values, int *sums)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    unsigned rank = grid.thread_rank();
    values[rank] = (int)rank;
    grid.sync();
    sums[rank] = values[rank] + values[(rank + 1) % grid.size()];
}

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[2] = {plus, times};

__global__ void apply(Operation operation, int *result)
{
    *result = operation(6, 7);
}

struct Images {
    cudaTextureObject_t line, plane, box, rows;
    cudaSurfaceObject_t surface;
};

__global__ void read_images(Images images, float *values)
{
    int x = threadIdx.x;
    values[x] = tex1Dfetch<float>(images.line, x);
    values[WIDTH + x] = tex2D<float>(images.plane, (x + 0.5f) / WIDTH, 1.5f / HEIGHT);
    values[2 * WIDTH + x] = tex3D<float>(images.box, x + 0.5f, 1.5f, 1.5f);
    values[3 * WIDTH + x] = tex2D<float>(images.rows, x + 1.0f, 2.5f);
    float old;
    surf2Dread(&old, images.surface, x * 4, 3);
    surf2Dwrite(old + 100, images.surface, x * 4, 0);
}

__global__ void outside(int *values)
{
    values[1 << 20] = 1;
}

static void report(const char *name, int wrong)
{
    printf("%s: %d wrong\n", name, wrong);
}

static void device(void)
{
    cudaDeviceProp properties;
    int count, value, version, runtime, wrong = 0, least, greatest, can = 1;
    char bus[32];
    memset(&properties, 0x55, sizeof properties);
    TRY(cudaGetDeviceCount(&count));
    TRY(cudaGetDeviceProperties(&properties, 0));
    wrong += count != 1 || strcmp(properties.name, "Emulated GPU") || properties.major != 9 || properties.minor != 0;
    wrong += properties.warpSize != 32 || properties.maxThreadsPerBlock != 1024 || properties.maxThreadsDim[2] != 64;
    wrong += properties.maxGridSize[0] != 2147483647 || properties.maxGridSize[1] != 65535;
    wrong += properties.sharedMemPerBlock != 49152 || properties.sharedMemPerBlockOptin != 232448;
    wrong += properties.sharedMemPerMultiprocessor != 233472 || properties.regsPerBlock != 65536;
    wrong += properties.maxThreadsPerMultiProcessor != 2048 || !properties.managedMemory || properties.integrated;
    wrong += !properties.concurrentKernels || !properties.cooperativeLaunch || !properties.canMapHostMemory;
    wrong += properties.totalConstMem != 65536 || !properties.unifiedAddressing || properties.l2CacheSize <= 0;
    wrong += properties.maxTexture2D[0] != 131072 || properties.maxSurface2D[1] != 65536;
    wrong += !properties.memoryPoolsSupported || !properties.clusterLaunch || properties.unifiedFunctionPointers;
    wrong += properties.maxBlocksPerMultiProcessor != 32 || properties.reservedSharedMemPerBlock != 1024;
    TRY(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    wrong += value != properties.multiProcessorCount;
    wrong += cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0) != cudaErrorInvalidValue;
    wrong += cudaSetDevice(1) != cudaErrorInvalidDevice || cudaGetLastError() != cudaErrorInvalidDevice;
    TRY(cudaDriverGetVersion(&version));
    TRY(cudaRuntimeGetVersion(&runtime));
    wrong += version < runtime || runtime / 1000 != CUDART_VERSION / 1000;
    TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    TRY(cudaDeviceGetByPCIBusId(&value, bus));
    TRY(cudaDeviceCanAccessPeer(&can, 0, 0));
    TRY(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    size_t limit;
    TRY(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    TRY(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    wrong += limit != 4096 || can || least <= greatest || value;
    TRY(cudaProfilerStart());
    TRY(cudaProfilerStop());
    report("the device", wrong);
}

static void CUDART_CB on_stream(cudaStream_t stream, cudaError_t status, void *data)
{
    (void)stream;
    ((int *)data)[0] += status == cudaSuccess;
}

static void CUDART_CB on_host(void *data)
{
    ((int *)data)[1]++;
}

static void streams(void)
{
    cudaStream_t first, second;
    cudaEvent_t start, stop, plain;
    int *values, calls[2] = {0, 0}, last = 0, wrong = 0, priority;
    unsigned flags;
    float milliseconds = -1;
    TRY(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithPriority(&second, cudaStreamDefault, -1));
    TRY(cudaStreamGetPriority(second, &priority));
    TRY(cudaStreamGetFlags(first, &flags));
    wrong += priority != -1 || flags != cudaStreamNonBlocking;
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&stop));
    TRY(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    TRY(cudaMalloc((void **)&values, COUNT * sizeof *values));
    TRY(cudaEventRecord(start, first));
    TRY(cudaMemsetAsync(values, 0, COUNT * sizeof *values, first));
    for (int i = 1; i <= 3; i++)
        increment<<<COUNT / BLOCK, BLOCK, 0, first>>>(values, i);
    TRY(cudaEventRecord(stop, first));
    TRY(cudaStreamWaitEvent(second, stop, 0));
    TRY(cudaMemcpyAsync(&last, values + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost, second));
    TRY(cudaStreamAddCallback(second, on_stream, calls, 0));
    TRY(cudaLaunchHostFunc(second, on_host, calls));
    TRY(cudaEventSynchronize(stop));
    TRY(cudaStreamQuery(first));
    TRY(cudaEventQuery(stop));
    TRY(cudaStreamSynchronize(second));
    TRY(cudaEventElapsedTime(&milliseconds, start, stop));
    wrong += last != 6 || calls[0] != 1 || calls[1] != 1 || milliseconds <= 0;
    wrong += cudaEventElapsedTime(&milliseconds, start, plain) != cudaErrorInvalidResourceHandle;
    cudaGetLastError();
    TRY(cudaEventDestroy(start));
    TRY(cudaStreamDestroy(first));
    TRY(cudaStreamDestroy(second));
    TRY(cudaFree(values));
    report("streams", wrong);
}

static cudaTextureObject_t texture(const cudaResourceDesc &resource, bool normalized, bool linear)
{
    cudaTextureDesc sampling = {};
    cudaTextureObject_t object = 0;
    for (int i = 0; i < 3; i++)
        sampling.addressMode[i] = cudaAddressModeClamp;
    sampling.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    sampling.normalizedCoords = normalized;
    TRY(cudaCreateTextureObject(&object, &resource, &sampling, NULL));
    return object;
}

/* Handles within a structure: over linear memory, arrays of two and three dimensions, and rows with a pitch. */
static void images(void)
{
    float host[DEPTH][HEIGHT][WIDTH], back[4 * WIDTH], *line, *values, *rows;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t plane, box, surface;
    cudaResourceDesc resource = {};
    Images objects;
    size_t pitch;
    int wrong = 0;
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
        host[0][0][i] = (float)(i * i % 97);
    TRY(cudaMalloc((void **)&line, sizeof host));
    TRY(cudaMalloc((void **)&values, sizeof back));
    TRY(cudaMemcpy(line, host, sizeof host, cudaMemcpyHostToDevice));
    TRY(cudaMallocArray(&plane, &format, WIDTH, HEIGHT));
    TRY(cudaMemcpy2DToArray(plane, 0, 0, host, sizeof host[0][0], sizeof host[0][0], HEIGHT, cudaMemcpyHostToDevice));
    TRY(cudaMallocArray(&surface, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    TRY(cudaMemcpy2DArrayToArray(surface, 0, 0, plane, 0, 0, sizeof host[0][0], HEIGHT));
    TRY(cudaMalloc3DArray(&box, &format, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], WIDTH, HEIGHT);
    copy.dstArray = box;
    copy.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    copy.kind = cudaMemcpyHostToDevice;
    TRY(cudaMemcpy3D(&copy));
    TRY(cudaMallocPitch((void **)&rows, &pitch, sizeof host[0][0], HEIGHT));
    TRY(cudaMemcpy2D(rows, pitch, host, sizeof host[0][0], sizeof host[0][0], HEIGHT, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = line;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = sizeof host;
    objects.line = texture(resource, false, false);
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = format;
    resource.res.pitch2D.width = WIDTH;
    resource.res.pitch2D.height = HEIGHT;
    resource.res.pitch2D.pitchInBytes = pitch;
    objects.rows = texture(resource, false, true);
    resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = plane;
    objects.plane = texture(resource, true, false);
    resource.res.array.array = box;
    objects.box = texture(resource, false, false);
    resource.res.array.array = surface;
    TRY(cudaCreateSurfaceObject(&objects.surface, &resource));
    read_images<<<1, WIDTH>>>(objects, values);
    TRY(cudaMemcpy(back, values, sizeof back, cudaMemcpyDeviceToHost));
    for (int x = 0; x < WIDTH; x++) {
        float next = host[0][2][x + 1 < WIDTH ? x + 1 : x];
        wrong += back[x] != host[0][0][x];
        wrong += back[WIDTH + x] != host[0][1][x];
        wrong += back[2 * WIDTH + x] != host[1][1][x];
        wrong += back[3 * WIDTH + x] != (host[0][2][x] + next) / 2;
    }
    TRY(cudaMemcpy2DFromArray(back, sizeof host[0][0], surface, 0, 0, sizeof host[0][0], 1, cudaMemcpyDeviceToHost));
    for (int x = 0; x < WIDTH; x++)
        wrong += back[x] != host[0][3][x] + 100;
    cudaExtent extent;
    unsigned flags;
    TRY(cudaArrayGetInfo(&format, &extent, &flags, box));
    wrong += extent.width != WIDTH || extent.depth != DEPTH || format.x != 32 || format.f != cudaChannelFormatKindFloat;
    TRY(cudaDestroyTextureObject(objects.box));
    TRY(cudaDestroySurfaceObject(objects.surface));
    wrong += cudaDestroyTextureObject(objects.box) != cudaErrorInvalidValue;
    cudaGetLastError();
    TRY(cudaFreeArray(box));
    TRY(cudaFreeArray(plane));
    report("textures and surfaces", wrong);
}

/* A graph of copies, fills, kernels and host functions, made by capture of two streams and by hand. */
static void graphs(void)
{
    cudaStream_t origin, other;
    cudaEvent_t fork, join;
    cudaGraph_t graph, clone;
    cudaGraphExec_t instance;
    int *values, host[2] = {1, 0}, calls[2] = {0, 0}, wrong = 0;
    size_t nodes = 0, edges = 0;
    TRY(cudaStreamCreate(&origin));
    TRY(cudaStreamCreate(&other));
    TRY(cudaEventCreate(&fork));
    TRY(cudaEventCreate(&join));
    TRY(cudaMalloc((void **)&values, 2 * BLOCK * sizeof *values));
    TRY(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
    TRY(cudaMemsetAsync(values, 0, 2 * BLOCK * sizeof *values, origin));
    TRY(cudaEventRecord(fork, origin));
    TRY(cudaStreamWaitEvent(other, fork, 0));
    increment<<<1, BLOCK, 0, origin>>>(values, 1);
    increment<<<1, BLOCK, 0, other>>>(values + BLOCK, 2);
    TRY(cudaEventRecord(join, other));
    TRY(cudaStreamWaitEvent(origin, join, 0));
    increment<<<2, BLOCK, 0, origin>>>(values, 4);
    TRY(cudaMemcpyAsync(host, values + BLOCK - 1, sizeof host, cudaMemcpyDeviceToHost, origin));
    TRY(cudaLaunchHostFunc(origin, on_host, calls));
    cudaStreamCaptureStatus status;
    TRY(cudaStreamIsCapturing(other, &status));
    wrong += status != cudaStreamCaptureStatusActive;
    TRY(cudaStreamEndCapture(origin, &graph));
    TRY(cudaStreamIsCapturing(other, &status));
    wrong += status != cudaStreamCaptureStatusNone || host[0] != 1 || calls[1];
    TRY(cudaGraphGetNodes(graph, NULL, &nodes));
#if CUDART_VERSION >= 13000
    TRY(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    TRY(cudaGraphInstantiate(&instance, graph, 0));
#else
    TRY(cudaGraphGetEdges(graph, NULL, NULL, &edges));
    TRY(cudaGraphInstantiateWithFlags(&instance, graph, 0));
#endif
    wrong += nodes != 6 || edges != 6;
    for (int i = 0; i < 2; i++)
        TRY(cudaGraphLaunch(instance, origin));
    wrong += host[0] != 5 || host[1] != 6 || calls[1] != 2;
    TRY(cudaGraphExecDestroy(instance));

    /* The second node is added before the first, and depends on it. */
    cudaGraphNode_t first, second, last;
    cudaMemsetParams fill = {};
    cudaKernelNodeParams kernel = {};
    int by = 5, result = 0;
    void *arguments[] = {&values, &by};
    kernel.func = (void *)increment;
    kernel.gridDim = 1;
    kernel.blockDim = BLOCK;
    kernel.kernelParams = arguments;
    fill.dst = values;
    fill.value = 7;
    fill.elementSize = 4;
    fill.width = BLOCK;
    fill.height = 1;
    TRY(cudaGraphCreate(&clone, 0));
    TRY(cudaGraphAddKernelNode(&second, clone, NULL, 0, &kernel));
    TRY(cudaGraphAddMemsetNode(&first, clone, NULL, 0, &fill));
#if CUDART_VERSION >= 13000
    TRY(cudaGraphAddDependencies(clone, &first, &second, NULL, 1));
#else
    TRY(cudaGraphAddDependencies(clone, &first, &second, 1));
#endif
    TRY(cudaGraphAddMemcpyNode1D(&last, clone, &second, 1, &result, values + 3, sizeof result, cudaMemcpyDeviceToHost));
    TRY(cudaGraphInstantiateWithFlags(&instance, clone, 0));
    TRY(cudaGraphLaunch(instance, 0));
    wrong += result != 12;
    fill.value = 20;
    TRY(cudaGraphExecMemsetNodeSetParams(instance, first, &fill));
    by = 1;
    TRY(cudaGraphExecKernelNodeSetParams(instance, second, &kernel));
    TRY(cudaGraphLaunch(instance, 0));
    wrong += result != 21;
    TRY(cudaGraphDestroy(clone));
    TRY(cudaGraphDestroy(graph));
    report("graphs", wrong);
}

static void cooperative(void)
{
    int *values, *sums, blocks, wrong = 0;
    void *arguments[] = {&values, &sums};
    cudaDeviceProp properties;
    TRY(cudaGetDeviceProperties(&properties, 0));
    TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, neighbours, BLOCK, 0));
    blocks *= properties.multiProcessorCount;
    int count = blocks * BLOCK;
    TRY(cudaMalloc((void **)&values, count * sizeof *values));
    TRY(cudaMallocManaged((void **)&sums, count * sizeof *sums));
    TRY(cudaLaunchCooperativeKernel((void *)neighbours, dim3(blocks), dim3(BLOCK), arguments, 0, 0));
    TRY(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++)
        wrong += sums[i] != i + (i + 1) % count;
    wrong += cudaLaunchCooperativeKernel((void *)neighbours, dim3(blocks + 1), dim3(BLOCK), arguments, 0, 0) !=
             cudaErrorCooperativeLaunchTooLarge;
    cudaGetLastError();
    report("a cooperative grid", wrong);
}

static void functions(void)
{
    Operation pointers[2];
    int *result, wrong = 0, wanted[] = {13, 42};
    TRY(cudaMallocManaged((void **)&result, sizeof *result));
    TRY(cudaMemcpyFromSymbol(pointers, operations, sizeof pointers));
    for (int i = 0; i < 2; i++) {
        apply<<<1, 1>>>(pointers[i], result);
        TRY(cudaDeviceSynchronize());
        wrong += *result != wanted[i];
    }
    report("pointers to functions", wrong);
}

static size_t shared_of(int threads)
{
    return threads * sizeof(double);
}

/* The first line is compared with what ptxas says. */
static void attributes(void)
{
    cudaFuncAttributes found;
    int grid, block, blocks, wrong = 0;
    TRY(cudaFuncGetAttributes(&found, sum_shared));
    printf("sum_shared: %d registers, %d bytes shared, %d local, %d constant\n", found.numRegs,
           (int)found.sharedSizeBytes, (int)found.localSizeBytes, (int)found.constSizeBytes);
    wrong += found.sharedSizeBytes != 4096 || found.maxThreadsPerBlock != 1024 || found.binaryVersion != 90;
    TRY(cudaFuncSetAttribute(sum_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    TRY(cudaFuncGetAttributes(&found, sum_shared));
    wrong += found.maxDynamicSharedSizeBytes != 65536;
    TRY(cudaFuncSetCacheConfig(sum_shared, cudaFuncCachePreferShared));
    TRY(cudaFuncGetAttributes(&found, bounded));
    wrong += found.maxThreadsPerBlock != 256;
    /* 227 KiB, and each block has 4 KiB of its own, 1 KiB of the system's and 40 KiB. */
    TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_shared, 64, 40960));
    wrong += blocks != 5;
    TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_shared, 512, 0));
    wrong += blocks != 4;
    TRY(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
    wrong += block != 256 || grid != 16;
    TRY(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, sum_shared, shared_of));
    wrong += block < 32 || block > 1024;
    size_t available;
    TRY(cudaOccupancyAvailableDynamicSMemPerBlock(&available, sum_shared, 2, 128));
    wrong += available < 100000 || available > 116736 - 4096;
    report("attributes and occupancy", wrong);
}

static void errors(void)
{
    int *values, wrong = 0;
    void *entry = NULL;
    cudaDriverEntryPointQueryResult found;
    TRY(cudaMalloc((void **)&values, 16));
    increment<<<1, 2048>>>(values, 1);
    wrong += cudaPeekAtLastError() != cudaErrorInvalidConfiguration;
    wrong += cudaGetLastError() != cudaErrorInvalidConfiguration || cudaGetLastError() != cudaSuccess;
    wrong += strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    wrong += strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    TRY(cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 13000, cudaEnableDefault, &found));
    CUdeviceptr address = 0;
    wrong += !entry || ((CUresult(*)(CUdeviceptr *, size_t))entry)(&address, 64) != CUDA_SUCCESS || !address;
    wrong += cudaMemset((void *)address, 0, 64) != cudaSuccess;
    /* It says so, and nothing else happens. */
    cudaIpcMemHandle_t handle;
    wrong += cudaIpcGetMemHandle(&handle, values) != cudaErrorNotSupported;
    cudaGetLastError();
    /* Nothing works after an access outside memory, until the device is reset. */
    outside<<<1, 1>>>(values);
    wrong += cudaDeviceSynchronize() != cudaErrorIllegalAddress;
    wrong += cudaMemset(values, 0, 16) != cudaErrorIllegalAddress;
    cudaGetLastError();
    wrong += cudaGetLastError() != cudaErrorIllegalAddress;
    TRY(cudaDeviceReset());
    cudaGetLastError();
    wrong += cudaGetLastError() != cudaSuccess;
    report("errors", wrong);
}

int main()
{
    device();
    streams();
    images();
    graphs();
    cooperative();
    functions();
    attributes();
    errors();
    return 0;
}
