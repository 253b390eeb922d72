/* A CUDA runtime on the driver libcuda.so.1 that the loader finds, where that driver is the emulator: for programs of
 * nvcc 11 to 13. Streams are in order, so everything is done when a function returns.
 *
 * This file has the driver, the registrations of host code, launches, and errors. */
#include "emulated/runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Symbol {
    void **binary;
    char *host;
    const char *name;
    size_t size;
    bool is_managed; /* 'host' is the address of a pointer to it */
    struct Symbol *next;
} Symbol;

typedef struct Binary {
    const void *image;
    void *module;
} Binary;

typedef struct Configuration {
    Dim3 grid, block;
    size_t shared;
    void *stream;
} Configuration;

Kernel *kernels;
static Symbol *symbols;
static void *library;
static int status; /* of the driver, once it has been opened */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t loading = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Thread_local int last_error;
static _Thread_local Configuration pushed;

/* The driver. */

static int missing(void)
{
    fprintf(stderr, "libcuda.so.1 does not have a function that the emulated runtime needs\n");
    return NOT_SUPPORTED;
}

static void driver_open(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW);
    status = library ? DRIVER(cuInit)(0) : NO_DEVICE;
}

void *driver_function(const char *name)
{
    void *function = library ? dlsym(library, name) : NULL;
    return function ? function : (void *)(uintptr_t)missing;
}

int ready(void)
{
    void *context = NULL;
    pthread_once(&once, driver_open);
    if (status)
        return NO_DEVICE;
    DRIVER(cuCtxGetCurrent)(&context);
    if (context)
        return DONE;
    int error = DRIVER(cuDevicePrimaryCtxRetain)(&context, 0);
    return error ? error : DRIVER(cuCtxSetCurrent)(context);
}

/* Errors. */

typedef struct ErrorRow {
    int number;
    const char *name, *text;
} ErrorRow;

#define ERROR(number, runtime_name, driver_name, text) {number, runtime_name, text},
static const ErrorRow errors[] = {
#include "emulated/errors.def"
};
#undef ERROR

static const ErrorRow *error_find(int number)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == number && errors[i].name)
            return &errors[i];
    return NULL;
}

const char *cudaGetErrorName(int error)
{
    const ErrorRow *row = error_find(error);
    return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
    const ErrorRow *row = error_find(error);
    return row ? row->text : "unrecognized error code";
}

int fail(int error)
{
    if (error && error != NOT_READY)
        last_error = error;
    return error;
}

int cudaPeekAtLastError(void)
{
    return last_error;
}

/* Returns and clears the last error; an error of the device stays. */
int cudaGetLastError(void)
{
    int error = last_error;
    last_error = library ? DRIVER(cuCtxSynchronize)() : DONE;
    return error;
}

int cudaDeviceSynchronize(void)
{
    CALL(cuCtxSynchronize);
}

int cudaThreadSynchronize(void)
{
    CALL(cuCtxSynchronize);
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

void __cudaRegisterUnifiedTable(void **binary, void *table)
{
    (void)binary, (void)table;
}

void __cudaRegisterHostVar(void **binary, const char *name, char *host, size_t size)
{
    (void)binary, (void)name, (void)host, (void)size;
}

void __cudaRegisterTexture(void **binary, const void *host, const void **device, const char *name, int dimensions,
                           int normalized, int external)
{
    (void)binary, (void)host, (void)device, (void)name, (void)dimensions, (void)normalized, (void)external;
}

void __cudaRegisterSurface(void **binary, const void *host, const void **device, const char *name, int dimensions,
                           int external)
{
    (void)binary, (void)host, (void)device, (void)name, (void)dimensions, (void)external;
}

void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_size, void *grid, int *warp)
{
    (void)device, (void)limit, (void)thread, (void)block, (void)block_size, (void)grid, (void)warp;
    Kernel *kernel = calloc(1, sizeof *kernel);
    *kernel = (Kernel){binary, host, name, NULL, kernels};
    kernels = kernel;
}

static void symbol_add(void **binary, char *host, const char *name, size_t size, bool is_managed)
{
    Symbol *symbol = calloc(1, sizeof *symbol);
    *symbol = (Symbol){binary, host, name, size, is_managed, symbols};
    symbols = symbol;
}

void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    symbol_add(binary, host, name, size, false);
}

void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    symbol_add(binary, (char *)host, name, size, true);
}

/* Sets the program's pointers to managed variables when the module is loaded. */
static void managed_set(void **handle, void *module)
{
    for (const Symbol *symbol = symbols; symbol; symbol = symbol->next) {
        uint64_t address = 0;
        if (symbol->is_managed && symbol->binary == handle &&
            !DRIVER(cuModuleGetGlobal_v2)(&address, NULL, module, symbol->name))
            *(void **)symbol->host = (void *)(uintptr_t)address;
    }
}

static int load_binary(void **handle, void **module)
{
    Binary *binary = (Binary *)handle;
    int error = ready();
    pthread_mutex_lock(&loading);
    if (!error && !binary->module) {
        error = DRIVER(cuModuleLoadData)(&binary->module, binary->image);
        if (!error)
            managed_set(handle, binary->module);
    }
    pthread_mutex_unlock(&loading);
    *module = binary->module;
    return error;
}

char __cudaInitModule(void **binary)
{
    void *module;
    return load_binary(binary, &module) == DONE;
}

int cudaGetFuncBySymbol(void **function, const void *host)
{
    Kernel *kernel = kernels;
    void *module = NULL;
    while (kernel && kernel->host != host)
        kernel = kernel->next;
    int error = !kernel ? NO_FUNCTION : kernel->function ? DONE : load_binary(kernel->binary, &module);
    if (!error && !kernel->function)
        error = DRIVER(cuModuleGetFunction)(&kernel->function, module, kernel->name);
    *function = error ? NULL : kernel->function;
    return fail(error);
}

/* True if 'host' names the symbol; a program may name a managed variable by the pointer to it. */
static bool is_symbol(const Symbol *symbol, const void *host)
{
    return symbol->host == host || (symbol->is_managed && *(void **)symbol->host == host);
}

int symbol_find(const void *host, uint64_t *address, size_t *size)
{
    const Symbol *symbol = symbols;
    void *module = NULL;
    while (symbol && !is_symbol(symbol, host))
        symbol = symbol->next;
    int error = symbol ? load_binary(symbol->binary, &module) : INVALID_SYMBOL;
    return error ? error : DRIVER(cuModuleGetGlobal_v2)(address, size, module, symbol->name);
}

int cudaGetSymbolAddress(void **address, const void *host)
{
    uint64_t place = 0;
    int error = symbol_find(host, &place, NULL);
    *address = (void *)(uintptr_t)place;
    return fail(error);
}

int cudaGetSymbolSize(size_t *size, const void *host)
{
    uint64_t place;
    return fail(symbol_find(host, &place, size));
}

/* Handles of kernels, which __cudaGetKernel and libraries give, are used in place of host functions. */
int function_of(void **function, const void *host)
{
    *function = NULL;
    for (const Kernel *kernel = kernels; kernel; kernel = kernel->next)
        if (kernel->host == host)
            return cudaGetFuncBySymbol(function, host);
    *function = (void *)host;
    return host ? ready() : fail(NO_FUNCTION);
}

/* Launches. */

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream)
{
    pushed = (Configuration){grid, block, shared, stream};
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

static int configuration_check(Dim3 grid, Dim3 block)
{
    enum { MOST_THREADS = 1024, MOST_DEEP = 64 };
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool is_valid = grid.x && grid.y && grid.z && threads && threads <= MOST_THREADS && block.z <= MOST_DEEP;
    return is_valid ? ready() : INVALID_CONFIGURATION;
}

int __cudaLaunchKernel(void *function, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    int error = configuration_check(grid, block);
    return fail(error ? error
                      : DRIVER(cuLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                               (unsigned)shared, stream, arguments, NULL));
}

int cudaLaunchKernel(const void *host, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    void *function = NULL;
    int error = function_of(&function, host);
    return error ? fail(error) : __cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

int cudaLaunchCooperativeKernel(const void *host, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream)
{
    void *function = NULL;
    int error = configuration_check(grid, block);
    if (!error)
        error = function_of(&function, host);
    return fail(error ? error
                      : DRIVER(cuLaunchCooperativeKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                          (unsigned)shared, stream, arguments));
}

int cudaLaunchKernelExC(const LaunchConfig *config, const void *host, void **arguments)
{
    const DriverConfig given = driver_config(config, config->stream);
    void *function = NULL;
    int error = configuration_check(config->grid, config->block);
    if (!error)
        error = function_of(&function, host);
    return fail(error ? error : DRIVER(cuLaunchKernelEx)(&given, function, arguments, NULL));
}

int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags,
                                     int *found)
{
    int error = ready();
    if (!error && DRIVER(cuGetProcAddress_v2)(name, function, (int)version, flags, found))
        *function = NULL;
    return fail(error);
}

/* In CUDA 11, the last parameter is missing. */
int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *found)
{
    return cudaGetDriverEntryPointByVersion(name, function, RUNTIME_VERSION, flags,
                                            RUNTIME_VERSION < 12000 ? NULL : found);
}

/* NVIDIA's libraries ask for tables of private functions. */
int cudaGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}

/* The names for programs whose threads have default streams of their own. */
SAME(__cudaLaunchKernel_ptsz, __cudaLaunchKernel);
SAME(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
SAME(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);
SAME(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);
SAME(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);
SAME(cudaLaunchKernel_ptsz, cudaLaunchKernel);
