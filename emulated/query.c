/* Libraries of the emulated driver, and what can be asked of kernels. Each kernel has 32 registers. */
#include "machine/machine.h"
#include "emulated/driver.h"

/* A library is a module, and a kernel a function. */

int cuLibraryLoadData(void **library, const void *image, void *options, void *values, unsigned count,
                      void *library_options, void *library_values, unsigned library_count)
{
    (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
    return cuModuleLoadDataEx(library, image, 0, NULL, NULL);
}

int cuLibraryUnload(void *library)
{
    return cuModuleUnload(library);
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    return cuModuleGetFunction(kernel, library, name);
}

int cuLibraryGetModule(void **module, void *library)
{
    *module = library;
    return DONE;
}

int cuKernelGetFunction(void **function, void *kernel)
{
    *function = kernel;
    return kernel ? DONE : INVALID_VALUE;
}

int cuKernelGetLibrary(void **library, void *kernel)
{
    *library = ((EmulatedFunction *)kernel)->module;
    return DONE;
}

int cuFuncGetName(const char **name, void *function)
{
    *name = ((EmulatedFunction *)function)->function->name;
    return DONE;
}

int cuKernelGetName(const char **name, void *kernel)
{
    return cuFuncGetName(name, kernel);
}

int cuModuleGetFunctionCount(unsigned *count, void *module)
{
    const Module *parsed = ((EmulatedModule *)module)->module;
    *count = 0;
    for (size_t i = 0; i < parsed->items.count; i++)
        *count += parsed->items.data[i].kind == ITEM_FUNCTION && parsed->items.data[i].function->is_entry;
    return DONE;
}

int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
    const Module *parsed = ((EmulatedModule *)module)->module;
    for (size_t i = 0; i < parsed->items.count && count; i++)
        if (parsed->items.data[i].kind == ITEM_FUNCTION && parsed->items.data[i].function->is_entry) {
            cuModuleGetFunction(functions++, module, parsed->items.data[i].function->name);
            count--;
        }
    return DONE;
}

int cuLibraryGetKernelCount(unsigned *count, void *library)
{
    return cuModuleGetFunctionCount(count, library);
}

int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    return cuModuleEnumerateFunctions(kernels, count, library);
}

int cuLibraryGetGlobal(uint64_t *address, size_t *size, void *library, const char *name)
{
    return cuModuleGetGlobal_v2(address, size, library, name);
}

enum { REGISTERS = 32 };

/* Threads of a block that a launch may have. */
static unsigned most_threads(const Function *function)
{
    const Tuning *tuning = &function->tuning;
    unsigned most = 1;
    for (unsigned d = 0; d < tuning->reqntid_count; d++)
        most *= tuning->reqntid[d];
    for (unsigned d = 0; d < tuning->maxntid_count && !tuning->reqntid_count; d++)
        most *= tuning->maxntid[d];
    return tuning->reqntid_count || tuning->maxntid_count ? most : 1024;
}

int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    enum { MOST_THREADS = 0, REGISTER_COUNT = 4 };
    *value = attribute == REGISTER_COUNT ? REGISTERS : 0;
    if (attribute == MOST_THREADS)
        *value = (int)most_threads(((EmulatedFunction *)function)->function);
    return function ? DONE : INVALID_VALUE;
}

int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device)
{
    return device ? INVALID_VALUE : cuFuncGetAttribute(value, attribute, kernel);
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    enum { DYNAMIC_SHARED = 8 };
    if (!function || attribute != DYNAMIC_SHARED || value < 0 || value > MOST_SHARED)
        return INVALID_VALUE;
    ((EmulatedFunction *)function)->most_shared = (unsigned)value;
    return DONE;
}

int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    return device ? INVALID_VALUE : cuFuncSetAttribute(kernel, attribute, value);
}

unsigned emulated_blocks_on_sm(unsigned threads, size_t shared)
{
    return threads ? machine_occupancy(machine_for("sm_90"), threads, REGISTERS, (unsigned)shared).blocks : 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared,
                                                         unsigned flags)
{
    (void)flags;
    bool fits = threads > 0 && (unsigned)threads <= most_threads(((EmulatedFunction *)function)->function);
    *blocks = fits ? (int)emulated_blocks_on_sm((unsigned)threads, shared) : 0;
    return DONE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

/* The largest block, which is as good as any here. */
int cuOccupancyMaxPotentialBlockSize(int *grid, int *threads, void *function, size_t (*shared_of)(int), size_t shared,
                                     int limit)
{
    int most = (int)most_threads(((EmulatedFunction *)function)->function);
    *threads = limit && limit < most ? limit : most;
    *grid = 2 * (int)emulated_blocks_on_sm((unsigned)*threads, shared_of ? shared_of(*threads) : shared);
    return DONE;
}

int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *threads, void *function, size_t (*shared_of)(int),
                                              size_t shared, int limit, unsigned flags)
{
    (void)flags;
    return cuOccupancyMaxPotentialBlockSize(grid, threads, function, shared_of, shared, limit);
}

/* That so many blocks leave to each. */
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, void *function, int blocks, int threads)
{
    int fit = 0;
    int error = cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, function, threads, 0);
    *shared = !error && fit >= blocks ? MOST_SHARED / (size_t)blocks : 0;
    return error;
}

/* A cluster is as large as the device: one block of each multiprocessor. */
int cuOccupancyMaxActiveClusters(int *clusters, void *function, const DriverConfig *config)
{
    const unsigned *block = config->block;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(clusters, function, (int)(block[0] * block[1] * block[2]),
                                                       config->shared);
}

int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const DriverConfig *config)
{
    int error = cuOccupancyMaxActiveClusters(size, function, config);
    *size = *size > 0 ? 2 : 0;
    return error;
}
