/* The interface between the files of the emulated driver. */
#ifndef PTXOPT_EMULATED_DRIVER_H
#define PTXOPT_EMULATED_DRIVER_H

#include "abi/abi.h"
#include "emulated/device.h"
#include "emulated/errors.h"
#include "emulator/emulator.h"
#include "target/target.h"

/* Calls are served one at a time: LOCKED; at the beginning of a function holds the lock until it returns. */
int emulated_lock(void);
void emulated_unlock(const int *locked);
#define LOCKED __attribute__((cleanup(emulated_unlock), unused)) const int locked = emulated_lock()

/* True if $PTXOPT_EMULATED_FAILURE is 'name'. */
bool failure_is(const char *name);

/* context.c: the error after which nothing works any more, because a kernel had a fault. */
int device_error(void);
int device_fail(int error); /* remembers it, and returns it */

/* memory.c */

typedef enum MemoryKind {
    KIND_DEVICE,
    KIND_MANAGED,    /* the last three are at the same address for the host */
    KIND_PINNED,     /* by cuMemHostAlloc */
    KIND_REGISTERED, /* by cuMemHostRegister; the program owns the bytes */
} MemoryKind;

typedef struct Memory {
    MemoryKind kind;
    bool is_variable; /* of a module */
    uint64_t address, size;
    uint8_t *bytes;
    uint8_t *written; /* for each byte, 1 once written; NULL: all count as written */
    unsigned flags;
    const char *name;
    const Variable *variable;
    void *pool; /* NULL: none */
    uint64_t id;
} Memory;

/* Makes zeroed memory; NULL if the device does not have enough. The name is not copied. */
Memory *memory_make(MemoryKind kind, uint64_t size, const char *name);
Memory *memory_at(uint64_t address); /* the memory that contains it, or begins there with no bytes; NULL: none */
void memory_release(Memory *memory);
/* The bytes at an address that the device can access; NULL if there are fewer than 'size' there. */
uint8_t *device_bytes(uint64_t address, size_t size);
/* The bytes at a host's address; NULL if the host cannot access them, because they are the device's. */
uint8_t *host_bytes(const void *address, size_t size);
uint8_t *either_bytes(uint64_t address, size_t size); /* of the device, or of the host */
/* Narrows *begin and *end, the bounds of a page around an address that is in no memory, to those of the gap between
 * memories that it is in. False if no device memory is in the page. */
bool memory_gap(uint64_t address, uint64_t *begin, uint64_t *end);
/* All memory, in the form that a launch needs, in the arena. */
const EmulatorMemory *memory_list(Arena *arena, size_t *count);

/* pages.c: accesses outside of allocations, as $PTXOPT_EMULATED_BOUNDS allows them */

/* Reads it, before the device is first used. False, after printing the error, if it is wrong. */
bool pages_open(void);
/* How far from the begin of a page the first device memory is. */
uint64_t pages_first_offset(void);
/* EmulatorDevice.outside; NULL: no access outside of allocations is allowed. */
bool (*pages_outside(void))(uint64_t address, uint64_t size, EmulatorMemory *memory);

/* array.c */

typedef struct Array {
    ArrayShape shape;
    uint8_t *bytes; /* dense: layer or z, y, x, channel */
    bool is_level;  /* of a mipmapped array, which owns it */
} Array;

size_t array_texel_bytes(const Array *array);
size_t array_bytes(const Array *array);

/* texture.c: the textures and surfaces of the device; *count of them */
const EmulatorImage *image_list(unsigned *count);
/* Makes images over these bytes, which are freed, lose their memory. */
void images_forget(const uint8_t *bytes, size_t size);

/* copy.c */

int copy_run(const Copy3D *copy);
int fill_run(const Fill *fill);

/* module.c */

typedef struct EmulatedModule {
    Arena *arena;
    Module *module;
    const char *text;  /* its PTX */
    const void *cubin; /* of the device's architecture, beside the PTX; NULL: none */
    size_t cubin_size;
    struct Figures *figures; /* of all kernels; NULL: not requested yet */
    Memory **variables;
    size_t variable_count;
} EmulatedModule;

typedef struct EmulatedFunction {
    EmulatedModule *module;
    const Function *function;
    unsigned most_shared; /* the most dynamic shared memory that a launch may have */
    int carveout, cache;  /* as set; without effect */
    unsigned cluster_policy;
    bool allows_large_clusters;
    bool has_warned; /* of an access outside of allocations */
} EmulatedFunction;

/* figures.c: ptxas's figures of kernels */

typedef struct KernelFigures {
    unsigned registers;
    uint64_t local, shared, constant; /* bytes */
    bool is_estimate;                 /* no machine code and no assembler was found */
} KernelFigures;

KernelFigures kernel_figures(const EmulatedFunction *function);
unsigned kernel_most_threads(const EmulatedFunction *function); /* of a block */
/* The number of blocks of 'threads' threads and 'shared' bytes of dynamic shared memory that are on a multiprocessor at
 * once. */
unsigned kernel_blocks(const EmulatedFunction *function, unsigned threads, size_t shared);
/* False if the kernel's registers are known and a block has too many of them. */
bool kernel_fits(const EmulatedFunction *function, unsigned threads);

/* check.c: the checks that $PTXOPT_EMULATED_CHECK names, for kernels */

/* Reads it, before the device is first used. False, after printing the error, if it is wrong. */
bool checks_open(void);
extern EmulatorOptions checks; /* only the checks are set */

/* launch.c: a launch of a function, without its stream */

typedef struct EmulatedLaunch {
    EmulatedFunction *function;
    unsigned grid[3], block[3], cluster[3], shared; /* cluster 0: as the kernel requires */
    bool is_cooperative;
    void **arguments; /* one for each parameter; NULL: all are in 'packed' */
    void *packed;
    size_t packed_size;
} EmulatedLaunch;

uint64_t parameter_offset(const Function *function, unsigned number); /* bytes in packed arguments */
/* The value of parameter i. */
const void *launch_argument(const EmulatedLaunch *launch, unsigned i);
/* Takes the arguments from the list of cuLaunchKernel's last parameter, if there is one. False if it is invalid. */
bool launch_unpack(EmulatedLaunch *launch, void **extra);
/* Changes the size of the heap of the device's malloc. False once a kernel has used it, or if that is too much. */
bool heap_resize(size_t size);
/* Runs the launch in the emulator. */
int emulated_run(const EmulatedLaunch *launch);
extern double device_clock; /* milliseconds */

/* graph.c: the work that streams and graphs do */

typedef enum WorkKind {
    WORK_KERNEL = 0, /* CUgraphNodeType */
    WORK_COPY = 1,
    WORK_FILL = 2,
    WORK_HOST = 3,
    WORK_GRAPH = 4,
    WORK_EMPTY = 5,
    WORK_WAIT = 6,
    WORK_RECORD = 7,
    WORK_ALLOCATE = 10,
    WORK_FREE = 11,
} WorkKind;

typedef struct Work {
    WorkKind kind;
    union {
        EmulatedLaunch launch;
        Copy3D copy;
        Fill fill;
        HostCall host;
        struct Graph *graph;
        void *event;
        struct {
            uint64_t address;
            size_t size;
        } memory;
    };
} Work;

typedef struct Node Node;
typedef struct Graph Graph;

/* Does the work now. */
int work_run(const Work *work);
/* Adds the work to the graph, after the nodes that it needs. NULL: out of memory. */
Node *graph_add(Graph *graph, const Work *work, Node *const *needs, size_t need_count);
Graph *graph_new(void);

/* stream.c */

/* Does the work, or makes it a node of the graph that is captured from the stream. */
int stream_submit(void *stream, const Work *work);
bool stream_is_captured(void *stream);
int emulated_launch(const EmulatedLaunch *launch, void *stream);
void event_set(void *event); /* records it now */

/* Another name of a function of this file. */
#define SAME(name, function) extern __typeof__(function) name __attribute__((alias(#function)))

#endif
