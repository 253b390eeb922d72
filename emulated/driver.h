/* What the files of the emulated driver share. */
#ifndef PTXOPT_EMULATED_DRIVER_H
#define PTXOPT_EMULATED_DRIVER_H

#include "emulator/emulator.h"
#include "abi/abi.h"

/* CUresult */
enum {
    DONE = 0,
    INVALID_VALUE = 1,
    NO_DEVICE = 100,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ASSERTED = 710,
    LAUNCH_FAILED = 719,
    TOO_LARGE = 720, /* a cooperative launch */
    CAPTURE_INVALID = 901
};

struct Global;

typedef struct EmulatedModule {
    Arena *arena;
    Module *module;
    struct Global *globals;
} EmulatedModule;

/* Dynamic shared memory that a launch may have unless the program asks for more. */
enum { USUAL_SHARED = 48 * 1024, MOST_SHARED = 227 * 1024 };

typedef struct EmulatedFunction {
    EmulatedModule *module;
    const Function *function;
    unsigned most_shared;
} EmulatedFunction;

/* A launch of a function, without its stream. */
typedef struct EmulatedLaunch {
    EmulatedFunction *function;
    unsigned grid[3], block[3], shared;
    bool is_cooperative;
    void **arguments;
} EmulatedLaunch;

/* How many blocks of so many threads are on one of the two multiprocessors at once. */
unsigned emulated_blocks_on_sm(unsigned threads, size_t shared);

/* Runs it in the emulator. */
int emulated_run(const EmulatedLaunch *launch);
/* Runs it, or makes it a node of the graph that is captured from the stream. */
int emulated_launch(const EmulatedLaunch *launch, void *stream);

/* Of the driver's own functions, those that others are made of. */
int cuModuleLoadDataEx(void **result, const void *image, unsigned count, int *options, void **values);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **result, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *module, const char *name);

#endif
