/* The state of a run: memory, emulators, blocks, warps, the code they execute, and the checks made as they change.
 *
 * A warp's control state is a tree of splits. A split is a set of lanes at one pc. A split that diverges
 * waits where its lanes will reconverge while its children carry them there. Only leaves run. */
#ifndef PTXOPT_EMULATOR_STATE_H
#define PTXOPT_EMULATOR_STATE_H

#include "emulator/state/op.h"

typedef struct BlockState BlockState;
typedef struct Cluster Cluster;
typedef struct Warp Warp;
typedef struct Split Split;
typedef struct IdleProbe IdleProbe;

/* Generic addresses. Every global variable and buffer has a slot of 4 GiB above GLOBAL_BASE, so an address identifies
 * its region. Each of the other spaces has a window; an address in the space is an offset into its window. */
#define WINDOW_SHARED UINT64_C(0x100000000000)
#define WINDOW_LOCAL UINT64_C(0x200000000000)
#define WINDOW_CONST UINT64_C(0x300000000000)
#define WINDOW_PARAM UINT64_C(0x400000000000)
#define WINDOW_FUNCTION UINT64_C(0x500000000000)
#define WINDOW_IMAGE UINT64_C(0x600000000000) /* handles of textures, surfaces and samplers */
#define GLOBAL_BASE UINT64_C(0x700000000000)
#define SLOT_SHIFT 32
#define SLOT_GUARD (UINT64_C(1) << 30) /* before a region, so that a negative offset still identifies it */
#define MAX_REGION (UINT64_C(2) << 30)
#define MAX_SLOTS 4096
#define HEAP_BYTES (UINT64_C(8) << 20) /* of the device's malloc: CUDA's default */

typedef struct RaceCells RaceCells;
typedef struct PendingCopies PendingCopies;
typedef struct EpochTable EpochTable;

typedef struct Footprint Footprint;

/* An access to a sector. */
typedef struct SectorTouch {
    uint32_t block; /* counted from 1; 0: there was none */
    uint32_t time;  /* the warp and its time */
} SectorTouch;

/* Whether a byte of the heap is in a piece that malloc has given. */
typedef enum PieceState { PIECE_NONE, PIECE_BEGIN, PIECE_LIVE, PIECE_FREED } PieceState;

typedef struct Region {
    const char *name;
    Space space;
    bool read_only;
    uint64_t base; /* generic address of the first byte */
    uint64_t size;
    uint8_t *bytes;
    uint8_t *written; /* for each byte, 1 once written; NULL: not tracked, or all are from the start */
    RaceCells *race;  /* NULL: not tracked */
    bool watched;     /* EmulatorOptions.watch */
    uint8_t *pieces;  /* of the heap: for each byte its PieceState; NULL: all may be accessed */
    SectorTouch *touches[2]; /* reuse.c: for each sector its last load [0] and store [1]; NULL: not tracked */
    uint32_t *loaders;    /* reuse.c: for each sector, the blocks that load it */
    uint32_t *updates;    /* reuse.c: for each sector, how often an atomic operation updates it */
    Footprint *footprint; /* footprint.c; NULL: not tracked */
} Region;

/* A sector that a block of the present box has touched. */
typedef struct TouchedSector {
    Footprint *footprint;
    uint64_t sector;
    bool is_store;
} TouchedSector;

#define SECTOR_BYTES 32
#define LINE_BYTES 128

/* An address in the shared-memory window holds an offset in its low bits. The bits from SHARED_RANK_SHIFT up hold the
 * rank of a block in the cluster plus 1, or 0 for the block that uses the address. */
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
    uint32_t *defined; /* for each register, the lanes that were written, or all if it is not watched; NULL: none is */
    unsigned depth;
};

typedef enum WaitKind { WAIT_NONE, WAIT_CHILDREN, WAIT_BARRIER, WAIT_ALIGNED, WAIT_WARP, WAIT_POOL } WaitKind;

struct Split {
    Split *parent, *next_free;
    Frame *frame;
    Frame *callee; /* the frame of a finished call, until its results are copied */
    uint32_t pc, mask, reconvergence;
    unsigned children;
    WaitKind wait;
    unsigned barrier; /* WAIT_BARRIER */
    uint32_t members; /* WAIT_WARP */
    uint32_t called;  /* WAIT_WARP: members that were released from waiting to reconverge, so that they come; they must
                       * not exit */
    uint32_t warp_kind;
    uint64_t repeats; /* idle.c: Emulator.effects, plus 1, when the split was found to loop without a change ... */
    uint32_t loop;    /* ... from this pc */
};

#define BARRIER_COUNT 16
#define BARRIER_CLUSTER 16 /* value of Split.barrier for the cluster's barrier */

typedef struct Barrier {
    uint64_t arrived;  /* threads */
    uint64_t expected; /* 0: all live threads */
    bool in_use;
    uint32_t count, any, all; /* bar.red over the participants */
    uint32_t *clock;          /* race check: the clock that the participants knew */
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
    unsigned registers; /* of each thread, as setmaxnreg leaves them; 0: they are not counted */
    uint32_t cluster_arrived; /* lanes that have arrived in the current phase of the cluster's barrier */
    uint64_t idle_steps;
    uint64_t steps; /* ops executed since the block started */
    uint32_t moved[2]; /* with count_reuse: lines loaded [0] and stored [1] since the block started */
    IdleProbe *idle;  /* idle.c; NULL: none yet */
    uint64_t repeats; /* as Split.repeats, for all runnable splits together */
    /* Race check: a vector clock over the block's warps; its last entry is the latest tick known of other blocks. */
    uint32_t *clocks;
    uint32_t *fence_clocks; /* the clock at the warp's last fence; all 0: none yet */
    uint32_t fence_tick;    /* Emulator.tick at its last device-wide fence; 0: none yet */
    /* Race check: the number of its epoch (0: none), and the state in which it was taken (stamps.c). */
    uint32_t epoch, epoch_clock, epoch_tick, epoch_generation;
    uint8_t *special;
    uint32_t *decided; /* executions, by lane, of each branch on which the block must agree; NULL: none */
};

/* The decisions of a block, one for each time, at a branch on which its threads must agree. */
typedef struct Agreement {
    VEC(uint8_t) taken;
} Agreement;

/* The knowledge that the strong writes of an address published: everything their warps knew at their last fences. */
typedef struct SyncObject {
    uint32_t tick;    /* of the latest device-wide fence published here; 0: none */
    uint32_t block;
    uint32_t *clock; /* over the warps of that block; NULL: nothing was published within a block */
} SyncObject;

typedef struct SyncTable {
    VEC(SyncObject) objects;
    Map places; /* address to index in 'objects' */
} SyncTable;

struct BlockState {
    Emulator *emulator;
    unsigned id[3];
    uint64_t index;
    Warp *warps;
    unsigned warp_count;
    unsigned clock_size; /* entries of a clock: one for each warp, one for all other blocks */
    unsigned live_threads;
    unsigned free_registers; /* those that its warps have released, for each thread of a warp */
    Region shared;
    Barrier barriers[BARRIER_COUNT];
    Agreement *agreements; /* by number of the branch, from 0; NULL: there are none */
    PendingCopies *copies;    /* race check: asynchronous ones; NULL: none yet */
    uint32_t *mbarrier_clock; /* race check: one clock for all mbarrier objects */
    SyncTable syncs;          /* race check: in shared memory */
    uint32_t *cluster_clock;  /* race check: the clock of the warps that arrived at the cluster's barrier ... */
    uint32_t *cluster_done;   /* ... and the same for the last complete phase */
    Cluster *cluster;
    unsigned rank; /* in the cluster */
    bool active;
};

/* Blocks that run together and can access each other's shared memory. */
struct Cluster {
    BlockState **blocks; /* by rank */
    unsigned count;
    bool active;
};

typedef struct MappedBytes {
    void *bytes;
    size_t size;
} MappedBytes;

struct Emulator {
    Arena *arena;
    const Module *module;
    const Launch *launch;
    EmulatorOptions options;
    EmulatorResult *result;
    unsigned grid[3], block[3]; /* in blocks and threads */
    unsigned cluster[3];        /* in blocks */
    bool explicit_cluster;
    unsigned block_threads;
    unsigned launch_registers; /* of each thread, if setmaxnreg has an effect; else 0 */

    Region *slots[MAX_SLOTS];
    unsigned slot_count;
    Region *device_regions; /* of launch->device, by ascending address */
    VEC(Region *) outside;  /* those that launch->device->outside has described */
    PointerMap placed;      /* Variable to its EmulatorMemory */
    bool is_loading;        /* variables in the device's memories get their initial values */
    Region constants, params, heap_region;
    EmulatorHeap own_heap; /* of a launch that has none of a device */
    uint64_t shared_static, shared_bytes;
    Map variables;    /* Variable to address in its space (global: generic) */
    Map parameters;   /* Variable of the entry to offset in params */
    PointerMap codes; /* Function to Code* */
    VEC(Code *) code_list;
    VEC(Image) images;
    Code *entry;

    Split *free_splits;
    struct ProductCells *product; /* matrix.c's scratch memory, made at its first use */
    uint64_t steps;
    uint64_t effects; /* counts events, other than in a thread's own registers, that may change its course */
    IdleProbe *loop;  /* idle.c: of the split that runs */
    const Emulator *primary; /* the Emulator whose global memory this one shares; NULL: it owns its memory */
    uint64_t *next_block;   /* the next block to run, shared by all cores; NULL: one core */
    uint64_t begun, blocks; /* the blocks that have begun when this one took its last, of all */
    uint64_t next_poll;     /* the count of steps at which the caller is asked again */
    bool is_stopped;        /* the caller has ended the run: atomic, read by other cores in their 'primary' */
    void *atomics;          /* the pthread_mutex_t that atomics lock; NULL: one core */
    struct Sample *sample;  /* sample.c: the blocks to run; NULL: all */
    uint8_t octant;         /* footprint.c: the set with the block's octant of its box; 0: it is in no box */
    VEC(TouchedSector) touched; /* footprint.c */
    const LaneLoops *loops;
    bool tracks_memory;     /* written or race bytes exist */
    EpochTable *epochs;     /* race check */
    VEC(Region *) raced;    /* the regions with race cells */
    bool forgot_accesses;   /* race check: there were too many epochs */
    bool can_skip_reads;    /* race check: the launch could run again */
    bool skips_reads;       /* race check: it could, and a block has ended (race_skip) */
    bool misses_reads;      /* race check: that was wrong, so the launch must run again */
    uint32_t tick;          /* race check: counts device-wide fences, from 1 */
    uint32_t *block_fences; /* the tick of each block's last device-wide fence */
    SyncTable syncs;        /* in global memory */
    VEC(void *) owned;       /* from calloc; freed by emulator_end */
    VEC(MappedBytes) mapped; /* large pieces (machine.c), and contents (contents.c) */
};

/* The context in which an op executes. */
struct Exec {
    Emulator *emulator;
    BlockState *block;
    Warp *warp;
    Split *split;
    Frame *frame;
    const uint8_t *banks[BANK_COUNT];
    bool yield; /* a poll failed: let others run */
    uint64_t steps; /* ops executed in this turn, not yet added to Emulator.steps */
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

/* Notes that the warp has done something that others can observe. */
static inline void effect_note(Exec *x)
{
    x->warp->idle_steps = 0;
    x->emulator->effects++;
}

#define EACH_ACTIVE(lane, mask)                                                                                        \
    for (uint32_t left_##lane = (mask), lane; left_##lane && (lane = (unsigned)__builtin_ctz(left_##lane), true);      \
         left_##lane &= left_##lane - 1)

/* machine.c */

Emulator *emulator_new(const Module *module, const Launch *launch, EmulatorResult *result,
                     const EmulatorOptions *options);
void emulator_end(Emulator *emulator); /* frees the Emulator and everything it owns */
/* Zeroed memory that lives until emulator_end, for data too large for an arena. */
void *emulator_alloc(Emulator *emulator, size_t count, size_t size);
/* Changes the size of memory from emulator_alloc (NULL: none yet), without zeroing the part that is added. */
void *emulator_realloc(Emulator *emulator, void *memory, size_t size);
void emulator_release(Emulator *emulator, void *memory); /* frees memory from emulator_alloc early */
uint64_t emulator_step_limit(const Emulator *emulator);
const Function *function_resolve(const Emulator *emulator, const Function *function); /* declarations and aliases */
/* The code of a function that emulator_collect has found; NULL if it has none. */
Code *code_get(Emulator *emulator, const Function *function);

/* fault.c */

/* Reports a fault; only the first of a run is kept. Returns STEP_FAULT. */
Step fault_at(Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *format, ...) PRINTF_LIKE(5, 6);
/* Describes a fault of the lane. */
void fault_of_lane(EmulatorFault *fault, Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *message);
/* Reports FAULT_LAUNCH, for this place of the launch file. Returns false. */
bool fault_launch(Emulator *emulator, Position place, const Function *function, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Reports a fault without a thread; 'inst' and 'function' may be NULL. Returns false. */
bool fault_static(Emulator *emulator, FaultKind kind, const Function *function, const Inst *inst, const char *format,
                  ...) PRINTF_LIKE(5, 6);
void thread_position(const Warp *warp, unsigned lane, unsigned thread[3]);
/* The instruction that an op belongs to, also for ops that the decoder inserted. */
const Inst *op_instruction(const Code *code, const Op *op);

/* address.c */

uint64_t window_of(Space space); /* 0 for global */
Space address_space(uint64_t generic);
/* The region outside of the device's memories that holds the bytes; NULL if none does. */
Region *memory_outside(Emulator *emulator, uint64_t address, uint64_t bytes);
/* The region that holds the bytes; NULL if none does. Not for local memory. If the address is in another block's
 * shared memory, *address becomes the address in the region. */
Region *memory_find(Exec *x, uint64_t *address, uint64_t bytes);
/* The buffer, variable or device memory that an address is in or near; NULL if there is none. */
const Region *region_near(const Emulator *emulator, uint64_t address);
/* Finds the place of a variable in a map of places; false if it has none. */
bool place_find(const Map *places, const Variable *variable, uint64_t *place);
uint64_t variable_address(const Emulator *emulator, const Variable *variable, bool *found);
uint64_t function_address(const Emulator *emulator, const Function *function);
const Function *function_at(const Emulator *emulator, uint64_t address);
ScalarFunction scalar_mapa, scalar_rank, scalar_in_window;

/* regions.c, variables.c, buffers.c */

void region_init(Emulator *emulator, Region *region, const char *name, Space space, uint64_t base, uint64_t size,
                 bool written);
/* 'bytes': its memory, which outlives the Emulator; NULL: it is made, and zero. */
Region *region_global(Emulator *emulator, const char *name, uint64_t size, bool written, uint8_t *bytes);
uint64_t variable_align(const Variable *variable);
void device_prepare(Emulator *emulator); /* the regions and images of the launch's device */
bool variables_prepare(Emulator *emulator); /* places and fills the variables in global and constant memory */
void shared_layout(Emulator *emulator);
bool memory_prepare(Emulator *emulator); /* buffers, module variables, parameters */

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
/* The host's memory at one lane's address, without checks or counts; NULL outside all memory. */
uint8_t *access_peek(Exec *x, unsigned lane, uint64_t address, uint64_t bytes);

/* track.c: memory and registers that were never written, and races */

/* Called after translation and before the access; false with the fault reported. If 'stored' is not NULL, it holds the
 * values that the lanes store, and they are in memory afterwards. 'memory' says whether the access is strong; NULL: it
 * is weak, or atomic without ordering anything. */
bool track_access(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, const MemoryOp *memory,
                  Translation *at, const void *stored, unsigned stored_stride);
bool track_registers(Exec *x, const Op *op, uint32_t mask);

/* coalesce.c */

void count_access(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at);

/* shape.c, rows.c: the checks and counters of all lanes at once */

AccessShape *shape_new(Emulator *emulator);
/* Checks and counts a weak load or store of 'bytes' bytes by each active lane, in one region, in bounds and aligned.
 * Inactive lanes have the offset of an active one. If it returns false, nothing has been done, and the access must be
 * checked lane by lane. */
bool row_track(Exec *x, AccessShape *shape, Region *region, uint32_t mask, const uint32_t *offsets, unsigned bytes,
               bool writes);

/* stamps.c, race.c: data races */

void epochs_prepare(Emulator *emulator);
void race_prepare(Emulator *emulator, Region *region);
/* Checks and remembers the access of one lane, in the state before it; false with the fault reported. If 'stored' is
 * not NULL, it holds the value that the lane stores. */
bool race_check(Exec *x, const Op *op, unsigned lane, unsigned bytes, AccessMode mode, bool strong, Region *region,
                uint64_t offset, const uint8_t *stored);
/* Merges into 'region', of 'emulator', the accesses that another Emulator made to the same memory; false if an access
 * of one may race with an access of the other. */
bool race_merge(Emulator *emulator, Region *region, const Region *other);
void race_clear(Region *region); /* forgets all accesses */

/* pending.c: the race check of cp.async */

/* The lane has begun to copy to this place. */
void pending_add(Exec *x, unsigned lane, Region *region, uint64_t offset, unsigned bytes);
void pending_commit(Exec *x, uint32_t mask); /* each lane's copies since the last time are a group */
/* Each lane has waited for all of its groups but the latest 'left'; false with the fault reported. */
bool pending_wait(Exec *x, const Op *op, uint32_t mask, uint32_t left);
void pending_clear(BlockState *block);

/* reuse.c: EmulatorOptions.count_reuse */

void reuse_prepare(Emulator *emulator, Region *region);
void reuse_count(Exec *x, uint32_t mask, unsigned bytes, unsigned lines, AccessMode mode, const Translation *at);
void updates_count(uint32_t mask, Type type, const Translation *at); /* of an atomic operation */
void reuse_merge(Region *region, const Region *other); /* adds the sectors that another Emulator touched in the same
                                                        * memory */
void reuse_collect(Emulator *emulator);                  /* fills in the footprints */
/* The loads of sectors that more than half of the 'blocks' blocks load, once for each block. */
uint64_t reuse_hot_loads(const Region *region, uint64_t blocks);

/* contents.c: a buffer's initial contents in memory of the Emulator's own; NULL: to be filled */
uint8_t *contents_map(Emulator *emulator, const LaunchArgument *argument, uint64_t size);
void contents_unmap(Emulator *emulator);

/* footprint.c: EmulatorOptions.sample_box */

/* Boxes of neighbouring blocks. */
typedef struct BoxShape {
    unsigned size[3]; /* in blocks: powers of two */
    unsigned count;   /* of boxes */
} BoxShape;

void footprint_prepare(Emulator *emulator, Region *region, size_t sectors);
void footprint_touch(Emulator *emulator, const Region *region, bool is_store, uint64_t sector); /* a block's first */
void footprint_end_box(Emulator *emulator);
void footprint_update(const Region *region); /* notes an atomic operation */
/* How often the most updated sector is, where those that several boxes update are updated 'scale' times as often. */
double footprint_updates(const Region *region, double scale);
/* The sectors that all blocks touch, at least those of one box and at most those of the region. */
typedef enum FootprintKind {
    FOOTPRINT_LOADS,
    FOOTPRINT_STORES,
    FOOTPRINT_UNREAD, /* stores to what the box does not load */
    FOOTPRINT_KINDS
} FootprintKind;
double footprint_of_grid(const Region *region, FootprintKind kind, const unsigned grid[3], const BoxShape *box);

/* order.c: the ordering of accesses, besides barriers */

typedef enum FenceScope { FENCE_NONE, FENCE_BLOCK, FENCE_DEVICE } FenceScope;
void order_fence(Exec *x, FenceScope scope);
/* Makes a strong write of the address publish what the warp knew at its last fence. */
void order_release(Exec *x, const MemoryOp *memory, uint64_t address);
/* Makes a strong read of the address acquire what was published there. */
void order_acquire(Exec *x, uint64_t address);
/* Acquires everything that other blocks have published, as after the cluster's barrier. */
void order_learn(Exec *x);
void order_clear(SyncTable *table);
/* Race check: merges the warp's clock into 'clock', or 'clock' into the warp's. */
void clock_join(Exec *x, uint32_t *clock);
void clock_take(Warp *warp, const uint32_t *clock);

/* counters.c */

void counters_collect(Emulator *emulator); /* adds the counts of all ops to the result's counters */
void lines_collect(Arena *arena, Emulator *emulator); /* EmulatorResult.lines */
void instructions_collect(Arena *arena, Emulator *emulator); /* EmulatorResult.instructions */

/* image.c */

void images_prepare(Emulator *emulator); /* those of the launch's device */
uint64_t image_bytes(const LaunchArgument *argument);
/* Makes an image over the region, or a sampler if it is NULL; returns its handle. */
uint64_t image_make(Emulator *emulator, const LaunchArgument *argument, Region *region);
uint64_t image_variable(Emulator *emulator,
                        const Variable *variable); /* handle of a .texref, .surfref or .samplerref */
/* The image of a handle; it has memory unless 'sampler' is true. NULL with the fault reported. */
const Image *image_find(Exec *x, const Op *op, unsigned lane, uint64_t handle, bool sampler);
/* The offset of a byte in a row of the image. The coordinates must be inside the image. */
uint64_t image_offset(const Image *image, uint64_t layer, uint64_t z, uint64_t y, uint64_t byte);
/* The texels of which a lane's access may combine several: those around a point in space. */
enum { IMAGE_CORNERS = 8 };
/* The accesses of a warp's lanes to images, to be counted; starts as zeros. */
typedef struct ImageTouches {
    unsigned bytes;                /* of a texel, the most of all */
    uint32_t lanes[IMAGE_CORNERS]; /* those that access this corner */
    Translation at[IMAGE_CORNERS]; /* addresses and regions */
} ImageTouches;

/* Notes one lane's access to 'bytes' bytes of the image. NULL touches: nothing is counted. */
void image_touch(ImageTouches *touches, unsigned corner, unsigned lane, const Image *image, uint64_t offset,
                 unsigned bytes);
/* coalesce.c: counts them. */
void count_image(Exec *x, const ImageTouches *touches, AccessMode mode);
/* Tracks one lane's access to 'bytes' bytes of the image and returns their place in the host's memory; NULL with the
 * fault reported. */
uint8_t *image_access(Exec *x, const Op *op, unsigned lane, const Image *image, uint64_t offset, unsigned bytes,
                      AccessMode mode);
/* An integer channel as a number in [0, 1] or [-1, 1]. */
double channel_unit(Type type, int64_t value);
/* A channel's bits; signed integers are sign-extended. */
int64_t channel_bits(const Image *image, const uint8_t *from);

#endif
