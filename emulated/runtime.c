/* A CUDA runtime on the driver libcuda.so.1 that the loader finds, for tests of complete programs where that driver is
 * the emulator: what the host code of nvcc 11 to 13 and of simple programs calls. Streams are in order, so everything
 * is done when a function returns.
 *
 * NVIDIA's own runtime does not work on another driver than NVIDIA's: it asks for private tables of functions, and
 * checks that they are genuine. So programs are linked with `-cudart shared` to run on this one. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated/runtime.h"

enum { TO_DEVICE = 1, TO_HOST = 2, WITHIN = 3, BY_ADDRESS = 4 };

typedef struct Symbol {
    void **binary;
    const char *host, *name;
    size_t size;
    struct Symbol *next;
} Symbol;

typedef struct Binary {
    const void *image;
    void *module;
} Binary;

static bool is_loaded;
Driver driver;
Kernel *kernels;
static Symbol *symbols;
static int last_error;
static struct {
    Dim3 grid, block;
    size_t shared;
    void *stream;
} pushed;

static bool load_driver(void)
{
    static const char *const names[] = {
        "cuInit",
        "cuModuleLoadData",
        "cuModuleGetFunction",
        "cuModuleGetGlobal_v2",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemcpyHtoD_v2",
        "cuMemcpyDtoH_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemsetD8Async",
        "cuLaunchKernel",
        "cuLaunchCooperativeKernel",
        "cuLaunchKernelEx",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "cuOccupancyAvailableDynamicSMemPerBlock",
        "cuOccupancyMaxActiveClusters",
        "cuOccupancyMaxPotentialClusterSize",
        "cuDeviceGetAttribute",
        "cuLibraryLoadData",
        "cuLibraryUnload",
        "cuLibraryGetKernel",
        "cuLibraryGetKernelCount",
        "cuLibraryEnumerateKernels",
        "cuStreamCreate",
        "cuStreamDestroy_v2",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuGraphCreate",
        "cuGraphAddKernelNode_v2",
        "cuGraphAddNode_v2",
        "cuGraphKernelNodeGetParams_v2",
        "cuGraphKernelNodeSetParams_v2",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecKernelNodeSetParams_v2",
        "cuGraphExecUpdate_v2",
        "cuGraphLaunch",
        "cuEventCreate",
        "cuEventDestroy_v2",
        "cuEventRecord",
        "cuEventElapsedTime",
    };
    void **functions = (void **)&driver;
    _Static_assert(sizeof driver == sizeof names, "one name for each function");
    void *library = is_loaded ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    if (is_loaded || !library)
        return is_loaded;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(functions[i] = dlsym(library, names[i])))
            return false;
    is_loaded = driver.init(0) == 0;
    return is_loaded;
}

int fail(int error)
{
    if (error)
        last_error = error;
    return error;
}

int ready(void)
{
    return load_driver() ? DONE : NO_DEVICE;
}

/* Registration. */

void **__cudaRegisterFatBinary(void *image)
{
    Binary *binary = calloc(1, sizeof *binary);
    binary->image = image;
    return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **binary)
{
    (void)binary;
}

void __cudaUnregisterFatBinary(void **binary)
{
    (void)binary;
}

char __cudaInitModule(void **binary)
{
    (void)binary;
    return 1;
}

void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid, int *warp)
{
    (void)device, (void)limit, (void)thread, (void)block, (void)block_size, (void)grid, (void)warp;
    Kernel *kernel = calloc(1, sizeof *kernel);
    *kernel = (Kernel){binary, host, name, NULL, kernels};
    kernels = kernel;
}

void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    Symbol *symbol = calloc(1, sizeof *symbol);
    *symbol = (Symbol){binary, host, name, size, symbols};
    symbols = symbol;
}

static int load_binary(void **handle, void **module)
{
    Binary *binary = (Binary *)handle;
    int error = ready();
    if (!error && !binary->module)
        error = driver.load(&binary->module, binary->image);
    *module = binary->module;
    return error;
}

int cudaGetFuncBySymbol(void **function, const void *host)
{
    Kernel *kernel = kernels;
    void *module = NULL;
    while (kernel && kernel->host != host)
        kernel = kernel->next;
    int error = !kernel ? NO_FUNCTION : kernel->function ? DONE : load_binary(kernel->binary, &module);
    if (!error && !kernel->function)
        error = driver.function(&kernel->function, module, kernel->name);
    *function = error ? NULL : kernel->function;
    return fail(error);
}

int cudaGetSymbolAddress(void **address, const void *host)
{
    Symbol *symbol = symbols;
    void *module = NULL;
    uint64_t place = 0;
    size_t size;
    while (symbol && symbol->host != host)
        symbol = symbol->next;
    int error = symbol ? load_binary(symbol->binary, &module) : INVALID_VALUE;
    if (!error)
        error = driver.global(&place, &size, module, symbol->name);
    *address = (void *)(uintptr_t)place;
    return fail(error);
}

/* Handles of kernels, which __cudaGetKernel and libraries give, are used in place of host functions. */
int function_of(void **function, const void *host)
{
    *function = NULL;
    for (const Kernel *kernel = kernels; kernel; kernel = kernel->next)
        if (kernel->host == host)
            return cudaGetFuncBySymbol(function, host);
    *function = (void *)host;
    return host ? DONE : fail(NO_FUNCTION);
}

/* Launches. */

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(Dim3 *grid, Dim3 *block, size_t *shared, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *(void **)stream = pushed.stream;
    return DONE;
}

int __cudaGetKernel(void **handle, const void *host)
{
    return cudaGetFuncBySymbol(handle, host);
}

int cudaGetKernel(void **handle, const void *host)
{
    return cudaGetFuncBySymbol(handle, host);
}

int __cudaLaunchKernel(void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    int error = ready();
    if (!error && !grid.x)
        error = INVALID_CONFIGURATION;
    if (!error)
        error = driver.launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream,
                              arguments, NULL);
    return fail(error);
}

int cudaLaunchKernel(const void *host, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return error ? error : __cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void *host, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error
                      : driver.launch_cooperative(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                  (unsigned)shared, stream, arguments));
}

int cudaLaunchKernelExC(const LaunchConfig *config, const void *host, void **arguments)
{
    const DriverConfig given = driver_config(config, config->stream);
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.launch_ex(&given, function, arguments, NULL));
}

/* Queries. */

int cudaFuncGetAttributes(void *attributes, const void *host)
{
    enum { MOST_THREADS = 0, REGISTERS = 4 };
    struct {
        size_t shared, constant, local;
        int most_threads, registers;
    } known = {0, 0, 0, 0, 0};
    void *function = NULL;
    int error = function_of(&function, host);
    if (!error)
        error = driver.attribute(&known.most_threads, MOST_THREADS, function);
    if (!error)
        error = driver.attribute(&known.registers, REGISTERS, function);
    if (!error)
        memcpy(attributes, &known, sizeof known);
    return fail(error);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads, size_t shared,
                                                           unsigned flags)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.occupancy(blocks, function, threads, shared, flags));
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *host, int blocks, int threads)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.available_shared(shared, function, blocks, threads));
}

int cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const LaunchConfig *config)
{
    const DriverConfig given = driver_config(config, config->stream);
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.clusters(clusters, function, &given));
}

int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const LaunchConfig *config)
{
    const DriverConfig given = driver_config(config, config->stream);
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.cluster_size(size, function, &given));
}

int cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return fail(error ? error : driver.set_attribute(function, attribute, value));
}

int cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)
{
    return device ? fail(INVALID_VALUE) : cudaFuncSetAttribute(kernel, attribute, value);
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    int error = ready();
    return fail(error ? error : driver.device_attribute(value, attribute, device));
}

int cudaRuntimeGetVersion(int *version)
{
    *version = RUNTIME_VERSION;
    return DONE;
}

/* Memory. */

int cudaMalloc(void **result, size_t size)
{
    uint64_t address = 0;
    int error = ready();
    if (!error && driver.alloc(&address, size))
        error = NO_MEMORY;
    *result = (void *)(uintptr_t)address;
    return fail(error);
}

int cudaFree(void *memory)
{
    return memory ? fail(driver.release((uintptr_t)memory)) : ready();
}

int cudaMallocHost(void **result, size_t size)
{
    *result = malloc(size);
    return *result ? DONE : fail(NO_MEMORY);
}

int cudaFreeHost(void *memory)
{
    free(memory);
    return DONE;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    uint64_t target = (uintptr_t)to, source = (uintptr_t)from;
    int error = ready();
    if (error)
        return fail(error);
    switch (kind) {
    case TO_DEVICE: return fail(driver.copy_in(target, from, size));
    case TO_HOST: return fail(driver.copy_out(to, source, size));
    case WITHIN: return fail(driver.copy_within(target, source, size, stream));
    case BY_ADDRESS: /* the first that fits */
        if (driver.copy_within(target, source, size, stream) == 0 || driver.copy_in(target, from, size) == 0)
            return DONE;
        return fail(driver.copy_out(to, source, size));
    default: memcpy(to, from, size); return DONE;
    }
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    return cudaMemcpyAsync(to, from, size, kind, NULL);
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, int kind)
{
    void *address;
    int error = cudaGetSymbolAddress(&address, symbol);
    return error ? error : cudaMemcpy((char *)address + offset, from, size, kind);
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind)
{
    void *address;
    int error = cudaGetSymbolAddress(&address, symbol);
    return error ? error : cudaMemcpy(to, (char *)address + offset, size, kind);
}

int cudaMemsetAsync(void *to, int value, size_t size, void *stream)
{
    int error = ready();
    return fail(error ? error : driver.fill((uintptr_t)to, (unsigned char)value, size, stream));
}

int cudaMemset(void *to, int value, size_t size)
{
    return cudaMemsetAsync(to, value, size, NULL);
}

/* Streams and events. */

int cudaStreamCreate(void **stream)
{
    int error = ready();
    return fail(error ? error : driver.stream_create(stream, 0));
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    (void)flags;
    return cudaStreamCreate(stream);
}

int cudaStreamDestroy(void *stream)
{
    return fail(driver.stream_destroy(stream));
}

int cudaStreamSynchronize(void *stream)
{
    (void)stream;
    return last_error == LAUNCH_FAILED || last_error == ASSERTED ? last_error : DONE;
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    return DONE;
}

int cudaDeviceSynchronize(void)
{
    return cudaStreamSynchronize(NULL);
}

int cudaEventCreate(void **event)
{
    int error = ready();
    return fail(error ? error : driver.event_create(event, 0));
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

int cudaEventRecord(void *event, void *stream)
{
    return fail(driver.event_record(event, stream));
}

int cudaEventSynchronize(void *event)
{
    (void)event;
    return DONE;
}

int cudaEventElapsedTime(float *milliseconds, void *start, void *end)
{
    return fail(driver.event_elapsed(milliseconds, start, end));
}

int cudaEventDestroy(void *event)
{
    return fail(driver.event_destroy(event));
}

/* The device, and errors. */

int cudaGetDeviceCount(int *count)
{
    *count = load_driver();
    return *count ? DONE : fail(NO_DEVICE);
}

int cudaGetDevice(int *device)
{
    *device = 0;
    return ready();
}

int cudaSetDevice(int device)
{
    return device ? fail(INVALID_VALUE) : fail(ready());
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

int cudaGetLastError(void)
{
    int error = last_error;
    last_error = DONE;
    return error;
}

const char *cudaGetErrorString(int error)
{
    switch (error) {
    case DONE: return "no error";
    case NO_DEVICE: return "no CUDA-capable device is detected";
    case NO_FUNCTION: return "invalid device function";
    case INVALID_VALUE: return "invalid argument";
    case INVALID_CONFIGURATION: return "invalid configuration argument";
    case ASSERTED: return "device-side assert triggered";
    case LAUNCH_FAILED: return "unspecified launch failure";
    case TOO_LARGE: return "too many blocks in cooperative launch";
    default: return "an error of the emulated runtime";
    }
}

const char *cudaGetErrorName(int error)
{
    return cudaGetErrorString(error);
}
