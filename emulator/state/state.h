/* The state of a run: memory, machines, blocks, warps and the code they execute; and what is watched as it changes.
 *
 * A warp's control state is a tree of splits.  A split is a set of lanes at one pc; when it diverges it waits, at the
 * pc where its lanes meet again, for the children that take its lanes there.  Only leaves run. */
#ifndef PTXOPT_EMULATOR_STATE_H
#define PTXOPT_EMULATOR_STATE_H

#include "emulator/state/op.h"

typedef struct BlockState BlockState;
typedef struct Cluster Cluster;
typedef struct Warp Warp;
typedef struct Split Split;

/* Generic addresses.  Global variables and buffers have slots of 4 GiB each from GLOBAL_BASE, so that an address names
 * its region; the other spaces are windows, in which addresses within the space are offsets. */
#define WINDOW_SHARED UINT64_C(0x100000000000)
#define WINDOW_LOCAL UINT64_C(0x200000000000)
#define WINDOW_CONST UINT64_C(0x300000000000)
#define WINDOW_PARAM UINT64_C(0x400000000000)
#define WINDOW_FUNCTION UINT64_C(0x500000000000)
#define WINDOW_IMAGE UINT64_C(0x600000000000) /* handles of textures, surfaces and samplers */
#define GLOBAL_BASE UINT64_C(0x700000000000)
#define WINDOW_SIZE UINT64_C(0x100000000)
#define SLOT_SHIFT 32
#define SLOT_GUARD (UINT64_C(1) << 30) /* before a region, so that a negative offset names it, too */
#define MAX_REGION (UINT64_C(2) << 30)
#define MAX_SLOTS 4096
#define HEAP_BYTES (UINT64_C(8) << 20) /* of the device's malloc, CUDA's default */

typedef struct RaceCell RaceCell;

typedef struct Region {
    const char *name;
    Space space;
    bool read_only;
    uint64_t base; /* generic address of the first byte */
    uint64_t size;
    uint8_t *bytes;
    uint8_t *written; /* one byte a byte: 1 once written; NULL: not followed */
    RaceCell *race;   /* one for each 1 << race_shift bytes; NULL: not followed */
    unsigned race_shift; /* 2, until a smaller access comes; then 0 */
    uint8_t *race_seen;  /* the kinds of accesses that each cell has seen */
    bool watched;     /* EmulatorOptions.watch */
} Region;

/* An address in the window of shared memory: the offset in its low bits, above it a block's rank in the cluster plus
 * one; 0: the block's own. */
#define SHARED_RANK_SHIFT 24

typedef struct Image {
    const char *name;
    const LaunchImage *shape; /* NULL: nothing is bound to the module's variable */
    Type type;                /* of a channel */
    unsigned channel_bytes, texel_bytes;
    Region *region; /* dense: layer, z, y, x, channel; NULL: a sampler alone */
} Image;

struct Frame {
    Code *code;
    Frame *parent, *next_free;
    uint8_t *registers;
    uint8_t *local, *local_written; /* [lane][local_bytes] */
    uint64_t local_base;            /* address in local space */
    uint32_t carry;
    uint32_t *defined; /* lanes of each register that were written; NULL: not followed */
    unsigned depth;
};

typedef enum WaitKind { WAIT_NONE, WAIT_CHILDREN, WAIT_BARRIER, WAIT_ALIGNED, WAIT_WARP } WaitKind;

struct Split {
    Split *parent, *next_free;
    Frame *frame;
    Frame *callee; /* of a finished call, until its results are taken */
    uint32_t pc, mask, reconvergence;
    unsigned children;
    WaitKind wait;
    unsigned barrier; /* WAIT_BARRIER */
    uint32_t members; /* WAIT_WARP */
    uint32_t warp_kind;
};

#define BARRIER_COUNT 16
#define BARRIER_CLUSTER 16 /* in Split.barrier: the cluster's */

typedef struct Barrier {
    uint64_t arrived;  /* threads */
    uint64_t expected; /* 0: all that live */
    bool in_use;
    uint32_t count, any, all; /* bar.red over the participants */
    uint32_t *clock;          /* race check: what the participants knew */
} Barrier;

struct Warp {
    BlockState *block;
    unsigned index;
    uint32_t live;
    Split *runnable[LANES];
    unsigned runnable_count;
    Split *blocked[LANES];
    unsigned blocked_count;
    Frame *root;
    uint32_t cluster_arrived; /* lanes, in the phase of the cluster's barrier that is not complete */
    uint64_t idle_steps;
    /* Race check: a vector clock over the block's warps, and the tick up to which other blocks are known. */
    uint32_t *clocks;
    uint32_t *fence_clocks; /* the same when the warp executed its last fence; all 0: never */
    uint32_t fence_tick;    /* Machine.tick at its last device-wide fence; 0: never */
    uint8_t *special;
};

/* An address that was written by a strong access behind a fence: what its writers knew. */
typedef struct SyncObject {
    uint32_t tick;    /* of the latest device-wide fence that was published here; 0: none */
    uint32_t block;
    uint32_t *clock; /* over the warps of that block; NULL: nothing of a block is published */
} SyncObject;

typedef struct SyncTable {
    VEC(SyncObject) objects;
    Map places; /* address to index in 'objects' */
} SyncTable;

struct BlockState {
    Machine *machine;
    unsigned id[3];
    uint64_t index;
    Warp *warps;
    unsigned warp_count;
    unsigned clock_size; /* entries of a clock: the warps, and the other blocks together */
    unsigned live_threads;
    Region shared;
    Barrier barriers[BARRIER_COUNT];
    uint32_t *mbarrier_clock; /* race check: all mbarrier objects count as one */
    SyncTable syncs;          /* race check: in shared memory */
    uint32_t *cluster_clock;  /* race check: what the block's warps knew that arrived at the cluster's barrier ... */
    uint32_t *cluster_done;   /* ... and in the last phase that is complete */
    Cluster *cluster;
    unsigned rank; /* in the cluster */
    bool active;
};

/* Blocks that run together and see each other's shared memory. */
struct Cluster {
    BlockState **blocks; /* by rank */
    unsigned count;
    bool active;
};

struct Machine {
    Arena *arena;
    const Module *module;
    const Launch *launch;
    EmulatorOptions options;
    EmulatorResult *result;
    unsigned grid[3], block[3]; /* in blocks and threads */
    unsigned cluster[3];        /* in blocks */
    bool explicit_cluster;
    unsigned block_threads;

    Region *slots[MAX_SLOTS];
    unsigned slot_count;
    Region constants, params, heap;
    uint64_t heap_used;
    uint64_t shared_static, shared_bytes;
    Map variables;    /* Variable to address in its space (global: generic) */
    Map parameters;   /* Variable of the entry to offset in params */
    PointerMap codes; /* Function to Code* */
    VEC(Code *) code_list;
    VEC(const Function *) functions; /* those whose address is taken */
    VEC(struct Image) images;        /* image.h */
    Code *entry;

    Split *free_splits;
    struct ProductCells *product; /* matrix.c's, at the first use */
    uint64_t steps;
    const Machine *primary; /* whose global memory this one shares; NULL: it has its own */
    uint64_t *next_block;   /* the next that no core has taken; NULL: one core */
    bool ran;               /* parallel_run has done it all */
    void *atomics;          /* a pthread_mutex_t that atomics take; NULL: one core */
    bool tracks_memory;     /* written or race bytes exist */
    uint32_t tick;          /* race check: counts device-wide fences, from 1 */
    uint32_t *block_fences; /* the tick of each block's last one */
    SyncTable syncs;        /* in global memory */
    VEC(void *) owned;      /* from malloc, freed when the run ends */
};

/* One split executing. */
struct Exec {
    Machine *machine;
    BlockState *block;
    Warp *warp;
    Split *split;
    Frame *frame;
    const uint8_t *banks[BANK_COUNT];
    bool yield; /* let others run: a poll failed */
    uint64_t steps; /* that the split has made in this turn, on top of Machine.steps */
};

static inline const void *source_row(const Exec *x, uint32_t source)
{
    return x->banks[source >> SOURCE_SHIFT] + (source & ((1u << SOURCE_SHIFT) - 1));
}

static inline uint32_t source_mask(const Exec *x, uint32_t source)
{
    return *(const uint32_t *)source_row(x, source);
}

static inline uint64_t row_get(const void *row, unsigned bytes, unsigned lane)
{
    switch (bytes) {
    case 0: return *(const uint32_t *)row >> lane & 1;
    case 2: return ((const uint16_t *)row)[lane];
    case 4: return ((const uint32_t *)row)[lane];
    default: return ((const uint64_t *)row)[lane];
    }
}

static inline void row_set(void *row, unsigned bytes, unsigned lane, uint64_t value)
{
    switch (bytes) {
    case 0: *(uint32_t *)row = (*(uint32_t *)row & ~(1u << lane)) | (uint32_t)(value & 1) << lane; break;
    case 2: ((uint16_t *)row)[lane] = (uint16_t)value; break;
    case 4: ((uint32_t *)row)[lane] = (uint32_t)value; break;
    default: ((uint64_t *)row)[lane] = value;
    }
}

#define EACH_ACTIVE(lane, mask)                                                                                        \
    for (uint32_t left_##lane = (mask), lane; left_##lane && (lane = (unsigned)__builtin_ctz(left_##lane), true);      \
         left_##lane &= left_##lane - 1)

/* machine.c */

Machine *machine_new(const Module *module, const Launch *launch, EmulatorResult *result,
                     const EmulatorOptions *options);
void machine_end(Machine *machine); /* frees all that it has */
/* Memory of the run's own that outgrows an arena's habit of never giving back; zeroed. */
void *machine_alloc(Machine *machine, size_t count, size_t size);
uint64_t machine_step_limit(const Machine *machine);
const Function *function_resolve(const Machine *machine, const Function *function); /* declarations and aliases */
/* The code of a function that machine_collect has found; NULL if it has none. */
Code *code_get(Machine *machine, const Function *function);

/* fault.c */

/* Reports the first fault of a run; later ones are dropped.  Always STEP_FAULT. */
Step fault_at(Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *format, ...) PRINTF_LIKE(5, 6);
/* Without a thread; 'inst' and 'function' may be NULL.  Always false. */
bool fault_static(Machine *machine, FaultKind kind, const Function *function, const Inst *inst, const char *format, ...)
    PRINTF_LIKE(5, 6);
void thread_position(const Warp *warp, unsigned lane, unsigned thread[3]);
/* The instruction that an op belongs to: ops of the decoder's own stand before or behind one. */
const Inst *op_instruction(const Code *code, const Op *op);

/* address.c */

uint64_t window_of(Space space); /* 0 for global */
Space address_space(uint64_t generic);
/* Not for local space; NULL: outside.  The address of another block's shared memory becomes that in the region. */
Region *memory_find(Exec *x, uint64_t *address, uint64_t bytes);
/* The place of a variable in a map of places. */
bool place_find(const Map *places, const Variable *variable, uint64_t *place);
uint64_t variable_address(const Machine *machine, const Variable *variable, bool *found);
uint64_t function_address(Machine *machine, const Function *function);
const Function *function_at(const Machine *machine, uint64_t address);
ScalarFunction scalar_mapa, scalar_rank, scalar_in_window;

/* regions.c, variables.c, buffers.c */

void region_init(Machine *machine, Region *region, const char *name, Space space, uint64_t base, uint64_t size,
                 bool written);
Region *region_global(Machine *machine, const char *name, uint64_t size, bool written);
uint64_t variable_align(const Variable *variable);
bool variables_prepare(Machine *machine); /* those in global and constant memory */
void shared_layout(Machine *machine);
bool memory_prepare(Machine *machine); /* buffers, module variables, parameters */

/* translate.c */

typedef struct Translation {
    uint64_t address[LANES]; /* generic */
    uint8_t *host[LANES];
    Region *region[LANES]; /* NULL: local memory */
    uint8_t *written[LANES];
} Translation;
typedef enum AccessMode { MODE_LOAD, MODE_STORE, MODE_ATOMIC } AccessMode;

bool access_addresses(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask, Translation *at);
bool access_translate(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, bool strong,
                      Translation *at);
/* One lane's memory as the debugger would read it: NULL where there is none. */
uint8_t *access_peek(Exec *x, unsigned lane, uint64_t address, uint64_t bytes);

/* track.c: races, never-written memory and registers; coalesce.c: count_access */

void race_prepare(Machine *machine, Region *region);
/* The accesses that two machines have made to one region, neither knowing of the other's, as one set in 'region'; false
 * if any two of them may race. */
bool race_merge(Region *region, Region *other);
/* After translation, before the access; false with the fault reported.  'stored': what the lanes store, which is then
 * in memory.  'memory' says whether the access is strong; NULL: it is not, or it is atomic and orders nothing. */
bool track_access(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, const MemoryOp *memory,
                  Translation *at, const void *stored, unsigned stored_stride);
void race_clear(Region *region); /* forgets all accesses */
void count_access(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at);
bool track_registers(Exec *x, const Op *op, uint32_t mask);

/* order.c: what orders accesses besides barriers */

typedef enum FenceScope { FENCE_NONE, FENCE_BLOCK, FENCE_DEVICE } FenceScope;
void order_fence(Exec *x, FenceScope scope);
/* A strong write of the address publishes what the warp knew at its last fence. */
void order_release(Exec *x, const MemoryOp *memory, uint64_t address);
/* A strong read of the address learns what was published there. */
void order_acquire(Exec *x, uint64_t address);
/* Learns all that other blocks have published, as behind a cluster's barrier. */
void order_learn(Exec *x);
void order_clear(SyncTable *table);
/* Race check: 'clock' learns what the warp knows, or the warp what 'clock' does. */
void clock_join(Exec *x, uint32_t *clock);
void clock_take(Warp *warp, const uint32_t *clock);

/* counters.c */

void counters_collect(Machine *machine); /* what was counted by op */
void lines_collect(Arena *arena, Machine *machine); /* EmulatorResult.lines */

/* image.c */

uint64_t image_bytes(const LaunchArgument *argument);
/* An image over the region (a sampler without one); gives its handle. */
uint64_t image_make(Machine *machine, const LaunchArgument *argument, Region *region);
uint64_t image_variable(Machine *machine, const Variable *variable); /* handle of a .texref, .surfref, .samplerref */
/* The image behind a handle, with memory unless 'sampler'; NULL with the fault reported. */
const Image *image_find(Exec *x, const Op *op, unsigned lane, uint64_t handle, bool sampler);
/* Where a texel (or, within it, a part) is: its place is inside the image. */
uint64_t image_offset(const Image *image, uint64_t layer, uint64_t z, uint64_t y, uint64_t byte);
/* Counts and tracks one lane's access to 'bytes' of the image, and gives its memory; NULL with the fault reported. */
uint8_t *image_access(Exec *x, const Op *op, unsigned lane, const Image *image, uint64_t offset, unsigned bytes,
                      AccessMode mode);
/* An integer channel as a number in [0, 1] or [-1, 1]. */
double channel_unit(Type type, int64_t value);
/* A channel's bits: integers extended by their sign. */
int64_t channel_bits(const Image *image, const uint8_t *from);

#endif
