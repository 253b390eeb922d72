/* Memory of every kind, as programs use it: each part prints the number of wrong elements. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        cudaError_t error_ = call;                                                                                     \
        if (error_ != cudaSuccess)                                                                                     \
            printf("%s: %s: 1 wrong\n", #call, cudaGetErrorString(error_));                                            \
    } while (0)

enum { COUNT = 1000, BLOCK = 128, BLOCKS = (COUNT + BLOCK - 1) / BLOCK };

struct Vectors {
    const float *a, *b;
    float *sum;
    int count;
};

struct Item {
    int value;
    Item *next;
};

__managed__ int managed_total;
__managed__ int managed_values[COUNT] = {5, 6, 7};
__device__ int device_values[4] = {1, 2, 3, 4};
__device__ int *device_pointer = device_values + 2;
__constant__ float weights[8];
__constant__ int constants[2] = {11, 12};

__global__ void add(Vectors vectors)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors.count)
        vectors.sum[i] = vectors.a[i] + vectors.b[i];
}

__global__ void rows(float **lines, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 0; y < height && x < width; y++)
        lines[y][x] += 1;
}

__global__ void walk(const Item *item)
{
    for (; item; item = item->next)
        managed_total += item->value;
}

__global__ void twice(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= 2;
}

__global__ void pitched(char *base, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height)
        ((float *)(base + y * pitch))[x] *= 3;
}

__global__ void variables(int *result)
{
    *device_pointer += 10;
    result[0] = device_values[2];
    result[1] = constants[1];
    result[2] = (int)weights[3];
    device_values[0]++;
}

__global__ void allocate(int **kept)
{
    int *made = (int *)malloc(4 * sizeof *made);
    for (int i = 0; i < 4; i++)
        made[i] = 10 * threadIdx.x + i;
    kept[threadIdx.x] = made;
}

__global__ void use(int **kept, int *sums)
{
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += kept[threadIdx.x][i];
    sums[threadIdx.x] = sum;
}

static void report(const char *name, int wrong)
{
    printf("%s: %d wrong\n", name, wrong);
}

/* Pointers within a structure that is passed by value. */
static void structures(void)
{
    float *host = (float *)malloc(3 * COUNT * sizeof *host), *device;
    int wrong = 0;
    for (int i = 0; i < 2 * COUNT; i++)
        host[i] = (float)i;
    TRY(cudaMalloc((void **)&device, 3 * COUNT * sizeof *device));
    TRY(cudaMemcpy(device, host, 2 * COUNT * sizeof *host, cudaMemcpyHostToDevice));
    add<<<BLOCKS, BLOCK>>>({device, device + COUNT, device + 2 * COUNT, COUNT});
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(host + 2 * COUNT, device + 2 * COUNT, COUNT * sizeof *host, cudaMemcpyDefault));
    for (int i = 0; i < COUNT; i++)
        wrong += host[2 * COUNT + i] != host[i] + host[COUNT + i];
    report("a structure of pointers", wrong);
    TRY(cudaFree(device));
    free(host);
}

/* Pointers in memory. */
static void pointers(void)
{
    enum { WIDTH = 70, HEIGHT = 5 };
    float *lines[HEIGHT], **device, row[WIDTH];
    int wrong = 0;
    for (int y = 0; y < HEIGHT; y++) {
        TRY(cudaMalloc((void **)&lines[y], sizeof row));
        TRY(cudaMemset(lines[y], 0, sizeof row));
    }
    TRY(cudaMalloc((void **)&device, sizeof lines));
    TRY(cudaMemcpy(device, lines, sizeof lines, cudaMemcpyHostToDevice));
    rows<<<1, BLOCK>>>(device, WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        TRY(cudaMemcpy(row, lines[y], sizeof row, cudaMemcpyDeviceToHost));
        for (int x = 0; x < WIDTH; x++)
            wrong += row[x] != 1;
        TRY(cudaFree(lines[y]));
    }
    report("pointers in memory", wrong);
    TRY(cudaFree(device));
}

/* A list that the host builds and both sides change. */
static void managed(void)
{
    Item *items;
    int wrong = managed_values[2] != 7;
    TRY(cudaMallocManaged((void **)&items, COUNT * sizeof *items));
    for (int i = 0; i < COUNT; i++)
        items[i] = {i, i + 1 < COUNT ? &items[i + 1] : NULL};
    managed_total = 1;
    walk<<<1, 1>>>(items);
    TRY(cudaDeviceSynchronize());
    wrong += managed_total != 1 + COUNT * (COUNT - 1) / 2;
    for (int i = 0; i < COUNT; i++)
        managed_values[i] = i;
    twice<<<BLOCKS, BLOCK>>>(managed_values, COUNT);
    TRY(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        wrong += managed_values[i] != 2 * i;
    int device;
    TRY(cudaGetDevice(&device));
#if CUDART_VERSION >= 13000
    TRY(cudaMemPrefetchAsync(items, COUNT * sizeof *items, {cudaMemLocationTypeDevice, device}, 0));
    TRY(cudaMemAdvise(items, COUNT * sizeof *items, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, device}));
#else
    TRY(cudaMemPrefetchAsync(items, COUNT * sizeof *items, device));
    TRY(cudaMemAdvise(items, COUNT * sizeof *items, cudaMemAdviseSetReadMostly, device));
#endif
    report("managed memory", wrong);
    TRY(cudaFree(items));
}

/* The device works on the host's memory. */
static void mapped(void)
{
    int *host, *device, wrong = 0, *own = (int *)malloc(COUNT * sizeof *own);
    cudaPointerAttributes attributes;
    unsigned flags;
    TRY(cudaHostAlloc((void **)&host, COUNT * sizeof *host, cudaHostAllocMapped | cudaHostAllocPortable));
    for (int i = 0; i < COUNT; i++)
        own[i] = host[i] = i;
    TRY(cudaHostGetDevicePointer((void **)&device, host, 0));
    TRY(cudaHostGetFlags(&flags, host));
    wrong += !(flags & cudaHostAllocMapped);
    twice<<<BLOCKS, BLOCK>>>(device, COUNT);
    TRY(cudaHostRegister(own, COUNT * sizeof *own, cudaHostRegisterMapped));
    TRY(cudaHostGetDevicePointer((void **)&device, own, 0));
    twice<<<BLOCKS, BLOCK>>>(device, COUNT);
    TRY(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        wrong += (host[i] != 2 * i) + (own[i] != 2 * i);
    TRY(cudaPointerGetAttributes(&attributes, host + 1));
    wrong += attributes.type != cudaMemoryTypeHost || attributes.hostPointer != host + 1;
    TRY(cudaHostUnregister(own));
    TRY(cudaPointerGetAttributes(&attributes, own));
    wrong += attributes.type != cudaMemoryTypeUnregistered;
    wrong += cudaHostUnregister(own) != cudaErrorHostMemoryNotRegistered;
    wrong += cudaGetLastError() != cudaErrorHostMemoryNotRegistered || cudaGetLastError() != cudaSuccess;
    report("mapped memory", wrong);
    TRY(cudaFreeHost(host));
    free(own);
}

/* Rows with a pitch, boxes, and fills. */
static void boxes(void)
{
    enum { WIDTH = 50, HEIGHT = 6, DEPTH = 3 };
    float host[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];
    int wrong = 0;
    char *base;
    size_t pitch;
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
        host[0][0][i] = (float)i;
    TRY(cudaMallocPitch((void **)&base, &pitch, sizeof host[0][0], HEIGHT));
    wrong += pitch < sizeof host[0][0] || pitch % 32;
    TRY(cudaMemcpy2D(base, pitch, host, sizeof host[0][0], sizeof host[0][0], HEIGHT, cudaMemcpyHostToDevice));
    pitched<<<dim3(1, HEIGHT), BLOCK>>>(base, pitch, WIDTH, HEIGHT);
    TRY(cudaMemcpy2DAsync(back, sizeof back[0][0], base, pitch, sizeof back[0][0], HEIGHT, cudaMemcpyDeviceToHost, 0));
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        wrong += back[0][0][i] != 3 * host[0][0][i];
    TRY(cudaMemset2D(base, pitch, 0, 4 * sizeof(float), HEIGHT));
    TRY(cudaMemcpy2D(back, sizeof back[0][0], base, pitch, sizeof back[0][0], HEIGHT, cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            wrong += back[0][y][x] != (x < 4 ? 0 : 3 * host[0][y][x]);
    wrong += cudaMemcpy2D(base, 8, host, 16, 16, 2, cudaMemcpyHostToDevice) != cudaErrorInvalidPitchValue;
    cudaGetLastError();
    TRY(cudaFree(base));

    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(sizeof host[0][0], HEIGHT, DEPTH);
    cudaMemcpy3DParms copy = {};
    TRY(cudaMalloc3D(&box, extent));
    TRY(cudaMemset3D(box, 0, extent));
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], WIDTH, HEIGHT);
    copy.dstPtr = box;
    copy.dstPos = make_cudaPos(0, 1, 0); /* all rows of each plane except the last, one row further */
    copy.extent = make_cudaExtent(sizeof host[0][0], HEIGHT - 1, DEPTH);
    copy.kind = cudaMemcpyHostToDevice;
    TRY(cudaMemcpy3D(&copy));
    copy = {};
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(back, sizeof back[0][0], WIDTH, HEIGHT);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    TRY(cudaMemcpy3D(&copy));
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                wrong += back[z][y][x] != (y ? host[z][y - 1][x] : 0);
    report("boxes", wrong);
    TRY(cudaFree(box.ptr));
}

static void symbols(void)
{
    int *result, values[4], wrong = 0;
    float given[8] = {0, 1, 2, 33};
    void *address;
    size_t size;
    TRY(cudaMalloc((void **)&result, sizeof values));
    TRY(cudaMemcpyToSymbol(weights, given, sizeof given));
    for (int i = 0; i < 2; i++)
        variables<<<1, 1>>>(result);
    TRY(cudaMemcpy(values, result, sizeof values, cudaMemcpyDeviceToHost));
    wrong += values[0] != 23 || values[1] != 12 || values[2] != 33;
    TRY(cudaMemcpyFromSymbol(values, device_values, sizeof values));
    wrong += values[0] != 3 || values[2] != 23;
    TRY(cudaMemcpyFromSymbol(values, device_values, sizeof(int), 3 * sizeof(int)));
    wrong += values[0] != 4;
    TRY(cudaGetSymbolAddress(&address, device_values));
    TRY(cudaGetSymbolSize(&size, device_values));
    wrong += size != sizeof device_values;
    twice<<<1, 4>>>((int *)address, 4);
    TRY(cudaMemcpyFromSymbol(values, device_values, sizeof values));
    wrong += values[2] != 46;
    TRY(cudaGetSymbolAddress(&address, constants));
    TRY(cudaMemcpy(values, address, sizeof constants, cudaMemcpyDeviceToHost));
    wrong += values[0] != 11;
    wrong += cudaMemcpyToSymbol(weights, given, sizeof given, 4) != cudaErrorInvalidValue;
    wrong += cudaGetSymbolAddress(&address, given) != cudaErrorInvalidSymbol;
    cudaGetLastError();
    report("variables", wrong);
    TRY(cudaFree(result));
}

/* One kernel allocates memory, and the next one uses it. */
static void heaps(void)
{
    int **kept, *sums, wrong = 0;
    TRY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    TRY(cudaMallocManaged((void **)&kept, 32 * sizeof *kept));
    TRY(cudaMallocManaged((void **)&sums, 32 * sizeof *sums));
    allocate<<<1, 32>>>(kept);
    use<<<1, 32>>>(kept, sums);
    TRY(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        wrong += sums[i] != 40 * i + 6;
    report("the device's heap", wrong);
    TRY(cudaFree(kept));
    TRY(cudaFree(sums));
}

static void pools(void)
{
    cudaMemPool_t pool;
    cudaStream_t stream;
    unsigned long long threshold = 1 << 20, used = 1;
    int *memory, wrong = 0;
    TRY(cudaStreamCreate(&stream));
    TRY(cudaDeviceGetDefaultMemPool(&pool, 0));
    TRY(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    TRY(cudaMallocAsync((void **)&memory, COUNT * sizeof *memory, stream));
    TRY(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    wrong += used != COUNT * sizeof *memory;
    TRY(cudaMemsetAsync(memory, 1, COUNT * sizeof *memory, stream));
    twice<<<BLOCKS, BLOCK, 0, stream>>>(memory, COUNT);
    int last;
    TRY(cudaMemcpyAsync(&last, memory + COUNT - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
    TRY(cudaFreeAsync(memory, stream));
    TRY(cudaStreamSynchronize(stream));
    TRY(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    wrong += used != 0 || last != 0x02020202;
    report("pools", wrong);
    TRY(cudaStreamDestroy(stream));
}

/* The remaining memory, and allocations that fail. */
static void limits(void)
{
    size_t before, after, total;
    void *memory;
    int wrong = 0, host;
    TRY(cudaMemGetInfo(&before, &total));
    TRY(cudaMalloc(&memory, 1 << 20));
    TRY(cudaMemGetInfo(&after, &total));
    wrong += before - after != 1 << 20 || total < before;
    wrong += cudaMemcpy(memory, &host, (1 << 20) + 4, cudaMemcpyHostToDevice) != cudaErrorInvalidValue;
    wrong += cudaMemcpy(&host, &host, sizeof host, cudaMemcpyDeviceToHost) != cudaErrorInvalidValue;
    wrong += cudaMemset(&host, 0, sizeof host) != cudaErrorInvalidValue;
    TRY(cudaFree(memory));
    TRY(cudaFree(NULL));
    wrong += cudaFree(memory) != cudaErrorInvalidValue;
    wrong += cudaMalloc(&memory, total + 1) != cudaErrorMemoryAllocation;
    wrong += cudaGetLastError() != cudaErrorMemoryAllocation;
    TRY(cudaMemGetInfo(&after, &total));
    wrong += before != after;
    report("limits", wrong);
}

int main()
{
    structures();
    pointers();
    managed();
    mapped();
    boxes();
    symbols();
    heaps();
    pools();
    limits();
    return 0;
}
