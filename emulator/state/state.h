/* The machine's own structures.
 *
 * A function is decoded once into a flat array of Ops over a frame layout: every register has a row (see lanes.h) at a
 * fixed offset.  A warp's control state is a tree of splits.  A split is a set of lanes at one pc; when it diverges it
 * waits, at the pc where its lanes meet again, for the children that take its lanes there.  Only leaves run. */
#ifndef PTXOPT_EMULATOR_SIMT_H
#define PTXOPT_EMULATOR_SIMT_H

#include "emulator/emulator.h"
#include "emulator/semantics/semantics.h"

typedef struct Machine Machine;
typedef struct BlockState BlockState;
typedef struct Cluster Cluster;
typedef struct Warp Warp;
typedef struct Split Split;
typedef struct Frame Frame;
typedef struct Code Code;
typedef struct Op Op;
typedef struct Exec Exec;
typedef struct Decoder Decoder;

/* ---- Maps from pointers ------------------------------------------------------------------------------------------ */

typedef struct AddressMap {
    struct AddressMapEntry {
        const void *key;
        uint64_t value;
    } * entries;
    size_t capacity, count;
} AddressMap;

void address_map_set(Arena *arena, AddressMap *map, const void *key, uint64_t value);
bool address_map_get(const AddressMap *map, const void *key, uint64_t *value);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

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

/* ---- Decoded code ------------------------------------------------------------------------------------------------ */

/* Where a source row is: a bank and a byte offset in it. */
enum { BANK_FRAME, BANK_CONSTANTS, BANK_SPECIAL, BANK_COUNT };
#define SOURCE_SHIFT 30
#define SOURCE(bank, offset) ((uint32_t)(bank) << SOURCE_SHIFT | (uint32_t)(offset))
#define NO_ROW UINT32_MAX
#define PC_EXIT UINT32_MAX

/* Rows of the special bank. */
enum {
    SPECIAL_TID_X,
    SPECIAL_TID_Y,
    SPECIAL_TID_Z,
    SPECIAL_LANEID,
    SPECIAL_WARPID,
    SPECIAL_CTAID_X,
    SPECIAL_CTAID_Y,
    SPECIAL_CTAID_Z,
    SPECIAL_MASK_EQ,
    SPECIAL_MASK_LE,
    SPECIAL_MASK_LT,
    SPECIAL_MASK_GE,
    SPECIAL_MASK_GT,
    SPECIAL_CLUSTERID_X,
    SPECIAL_CLUSTERID_Y,
    SPECIAL_CLUSTERID_Z,
    SPECIAL_CLUSTER_CTAID_X,
    SPECIAL_CLUSTER_CTAID_Y,
    SPECIAL_CLUSTER_CTAID_Z,
    SPECIAL_CLUSTER_CTARANK,
    SPECIAL_COUNT
};
#define SPECIAL_ROW_BYTES (LANES * 4)

typedef enum Step {
    STEP_NEXT,   /* go on with the next op */
    STEP_JUMP,   /* the split's pc was set */
    STEP_SWITCH, /* the split ended, waits or changed its frame or lanes */
    STEP_FAULT,
} Step;

typedef Step OpFunction(Exec *x, const Op *op, uint32_t mask);

typedef enum AtomicKind {
    ATOMIC_NONE,
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS,
} AtomicKind;

#define MAX_ELEMENTS 8
typedef struct MemoryOp {
    Space space;   /* SPACE_NONE: generic */
    bool in_frame; /* a variable of the frame: the address is relative to its local base */
    bool strong;   /* does not race with other strong accesses */
    uint8_t releases; /* of a strong write: the FenceScope that it brings along */
    bool sign;     /* loads extend by sign */
    bool simple; /* words from or to word registers, not in a frame */
    uint8_t element_bytes, count;
    AtomicKind atomic;
    Type type;
    uint32_t address; /* source row */
    uint8_t address_bytes;
    int64_t offset;
    uint32_t elements[MAX_ELEMENTS]; /* destination offsets of a load or atomic (NO_ROW: sink), sources of a store */
    uint8_t row_bytes[MAX_ELEMENTS];
    uint32_t operands[MAX_ELEMENTS]; /* atomics: the first operand of each element */
    uint32_t compare;                /* cas: the value stored, a source */
} MemoryOp;

typedef struct CallOp {
    const Function *callee; /* NULL: through 'target' */
    uint32_t target;        /* source row of the address */
    const Prototype *prototype;
    struct CallCopy {
        uint32_t source, bytes; /* row of a register or constant, or NO_ROW: from 'local' of the caller's frame */
        uint64_t local, size;
        uint64_t formal; /* in the callee's frame; the n-th parameter's place is found there when NULL callee */
    } * arguments, *results;
    unsigned argument_count, result_count;
} CallOp;

struct Op {
    RowFunction *row; /* a whole-row operation; else 'run' */
    OpFunction *run;
    uint32_t dest; /* frame offset */
    uint32_t sources[MAX_SOURCES];
    uint32_t guard; /* frame offset of the predicate; NO_ROW: none */
    bool guard_inverted;
    bool first; /* of its instruction */
    bool skips; /* a branch of the lanes that do not execute the instruction: its guard is inverted */
    uint8_t dest_bytes;
    uint8_t source_bytes[MAX_SOURCES];
    uint8_t source_count;
    uint8_t category;
    union {
        struct {
            ScalarFunction *function;
            uint32_t control;
            RowFunction *compare; /* setp */
            uint32_t dest_false;  /* setp p|q: the second predicate */
            uint8_t combine;
        } scalar;
        struct {
            uint32_t target, fall, reconvergence;
        } branch;
        struct {
            uint32_t *targets, count, reconvergence;
        } table;
        struct {
            uint32_t kind, members, dest_predicate, mode, control;
            bool is_float;
            const struct MatrixOp *matrix;
        } warp; /* collectives */
        struct {
            uint32_t kind, id, count, predicate;
            bool has_count, aligned;
            bool cluster, cluster_wait; /* barrier.cluster.arrive and .wait */
            bool relaxed;               /* publishes nothing */
        } barrier;
        struct {
            uint32_t dest_offset, source_offset, bytes;
        } copy;
        struct {
            uint32_t kind;
            const MemoryOp *memory; /* of the object; NULL: pending_count */
        } mbarrier;
        const MemoryOp *memory;
        const CallOp *call;
        const struct CopyAsync *copy_async;
        const struct CopyBulk *copy_bulk;
        const struct ImageOp *image;
        uint64_t value;
    };
    const Inst *inst; /* NULL: made by the decoder */
};

typedef struct OpCosts {
    uint64_t sectors, lines, bank_conflicts, divergent_branches;
} OpCosts;

#define LOCAL_GAP 64 /* bytes between two arrays of a frame */
typedef struct LocalPlace {
    uint64_t offset, bytes;
} LocalPlace;

struct Code {
    const Function *function;
    Body *body;
    bool own_body;
    bool is_entry;
    VEC(Op) ops;
    uint64_t *executed, *threads; /* per op */
    OpCosts *costs;               /* per op; NULL: not counted */
    uint32_t *registers;          /* RegId to frame offset */
    uint32_t frame_bytes, temps_begin;
    uint32_t stack_row; /* frame offset of the lanes' stack pointers, 8 bytes each; NO_ROW: none */
    uint8_t *constants; /* BANK_CONSTANTS */
    AddressMap locals;  /* Variable to offset in the frame's local memory */
    uint64_t local_bytes;
    VEC(LocalPlace) local_places;
    uint8_t *local_owner; /* for each byte of it the number of its variable, modulo 255, plus one; 0: a gap */
    uint64_t *formals, *formal_bytes, *returns, *return_bytes; /* offsets in local memory */
    unsigned formal_count, return_count;
    Frame *free_frames;
};

/* ---- Run state --------------------------------------------------------------------------------------------------- */

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
    uint64_t address; /* 0: a free place in the table */
    uint32_t tick;    /* of the latest device-wide fence that was published here; 0: none */
    uint32_t block;
    uint32_t *clock; /* over the warps of that block; NULL: nothing of a block is published */
} SyncObject;

typedef struct SyncTable {
    SyncObject *objects;
    size_t capacity, count;
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
    AddressMap variables;  /* Variable to address in its space (global: generic) */
    AddressMap parameters; /* Variable of the entry to offset in params */
    AddressMap codes;      /* Function to Code* */
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

/* Memory of the run's own that outgrows an arena's habit of never giving back; zeroed. */
void *machine_alloc(Machine *machine, size_t count, size_t size);

/* ---- run.c, parallel.c ------------------------------------------------------------------------------------------- */

/* A machine as ready as 'primary' that shares its global memory. */
Machine *machine_new_worker(const Machine *primary);
void machine_end(Machine *machine); /* frees all that it has */
uint64_t machine_step_limit(const Machine *machine);
bool parallel_possible(const Machine *machine);
/* False if all has to be run again on one core; nothing is reported then. */
bool parallel_run(Machine *machine);
void counters_collect(Machine *machine); /* counters.c: what was counted by op */
void lines_collect(Arena *arena, Machine *machine); /* counters.c: EmulatorResult.lines */

/* ---- fault.c ----------------------------------------------------------------------------------------------------- */

/* Reports the first fault of a run; later ones are dropped.  Always STEP_FAULT. */
Step fault_at(Exec *x, const Op *op, unsigned lane, FaultKind kind, const char *format, ...) PRINTF_LIKE(5, 6);
/* Without a thread; 'inst' and 'function' may be NULL.  Always false. */
bool fault_static(Machine *machine, FaultKind kind, const Function *function, const Inst *inst, const char *format, ...)
    PRINTF_LIKE(5, 6);
void thread_position(const Warp *warp, unsigned lane, unsigned thread[3]);
/* The instruction that an op belongs to: ops of the decoder's own stand before or behind one. */
const Inst *op_instruction(const Code *code, const Op *op);

/* ---- memory.c ---------------------------------------------------------------------------------------------------- */

bool memory_prepare(Machine *machine);                          /* buffers, module variables, parameters */
/* Not for local space; NULL: outside.  The address of another block's shared memory becomes that in the region. */
Region *memory_find(Exec *x, uint64_t *address, uint64_t bytes);
uint64_t variable_address(const Machine *machine, const Variable *variable, bool *found);
uint64_t window_of(Space space); /* 0 for global */
Space address_space(uint64_t generic, Exec *x);
uint64_t function_address(Machine *machine, const Function *function);
const Function *function_at(const Machine *machine, uint64_t address);
void memory_collect(Machine *machine);
Region *region_global(Machine *machine, const char *name, uint64_t size, bool written);

/* ---- access.c ---------------------------------------------------------------------------------------------------- */

typedef struct Translation {
    uint64_t address[LANES]; /* generic */
    uint8_t *host[LANES];
    Region *region[LANES]; /* NULL: local memory */
    uint8_t *written[LANES];
} Translation;
typedef enum AccessMode { MODE_LOAD, MODE_STORE, MODE_ATOMIC } AccessMode;

OpFunction run_load, run_store, run_atomic, run_copy_async, run_local_address, run_parameter_read, run_result_write;
/* A store or atomic of another op's. */
Step access_store(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask);
Step access_atomic(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask);
/* What an atomic makes of the old value, an operand and, for cas, the value to store. */
uint64_t atomic_value(const MemoryOp *memory, uint64_t old, uint64_t operand, uint64_t second, bool flushes);
bool access_addresses(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask, Translation *at);
bool access_translate(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, bool strong,
                      Translation *at);
/* One lane's memory as the debugger would read it: NULL where there is none. */
uint8_t *access_peek(Exec *x, unsigned lane, uint64_t address, uint64_t bytes);

typedef struct CopyAsync {
    MemoryOp from, to;
    uint32_t size;   /* source row of the bytes to copy; NO_ROW: all */
    uint32_t ignore; /* predicate source; NO_ROW: none */
    bool ignore_inverted;
} CopyAsync;

/* ---- bulk.c ------------------------------------------------------------------------------------------------------ */

OpFunction run_copy_bulk, run_store_async, run_store_bulk;

/* Bulk copies of one dimension, st.bulk, st.async and red.async. */
typedef struct CopyBulk {
    MemoryOp from, to; /* st.async and red.async: 'to' with its elements, and no 'from' */
    bool signals;
    uint32_t size;      /* source row of the bytes */
    MemoryOp mbarrier;  /* where it signals */
    AtomicKind atomic;  /* cp.reduce: on elements of 'type' */
    Type type;
    uint32_t multicast; /* source row of the mask of ranks; NO_ROW: none */
    uint32_t byte_mask; /* source row of the mask over 16 bytes; NO_ROW: none */
} CopyBulk;

/* ---- track.c: races, never-written memory, coalescing ------------------------------------------------------------ */

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

/* ---- order.c: what orders accesses besides barriers ------------------------------------------------------------- */

typedef enum FenceScope { FENCE_NONE, FENCE_BLOCK, FENCE_DEVICE } FenceScope;
void order_fence(Exec *x, FenceScope scope);
/* A strong write of the address publishes what the warp knew at its last fence. */
void order_release(Exec *x, const MemoryOp *memory, uint64_t address);
/* A strong read of the address learns what was published there. */
void order_acquire(Exec *x, uint64_t address);
/* Learns all that other blocks have published, as behind a cluster's barrier. */
void order_learn(Exec *x);
void order_clear(SyncTable *table);

/* ---- warp.c ------------------------------------------------------------------------------------------------------ */

bool warp_run(Exec *x, Warp *warp); /* a turn of one warp; false on a fault */
void exec_enter(Exec *x, Split *split);
OpFunction run_branch, run_jump, run_table_branch, run_reconverge, run_exit, run_return, run_trap, run_scalar, run_setp;
OpFunction run_divide, run_carry, run_copy_bytes, run_clock, run_lop3_predicate, run_copy_row, run_yield;
Split *split_new(Machine *machine, Split *parent, Frame *frame, uint32_t pc, uint32_t mask, uint32_t reconvergence);
void warp_push(Warp *warp, Split *split);
void warp_drop(Warp *warp, Split *split);
void split_block(Exec *x, WaitKind wait);
void split_wake(Warp *warp, Split *split);
Step split_diverge(Exec *x, const uint32_t *pcs, const uint32_t *masks, unsigned count, uint32_t reconvergence);
Frame *frame_new(Machine *machine, Code *code, Frame *parent);
void frame_free(Frame *frame);
void lanes_exit(Exec *x, uint32_t mask);
void split_finish(Warp *warp, Split *split);

/* ---- blocks.c ---------------------------------------------------------------------------------------------------- */

bool machine_run(Machine *machine);

/* ---- cluster.c --------------------------------------------------------------------------------------------------- */

/* An address in the window of shared memory: the offset in its low bits, above it a block's rank in the cluster plus
 * one; 0: the block's own. */
#define SHARED_RANK_SHIFT 24
bool cluster_prepare(Machine *machine, const Function *entry); /* the shape; false with a fault */
Step cluster_arrive(Exec *x, const Op *op, uint32_t mask);
Step cluster_wait(Exec *x, uint32_t mask);
void cluster_recheck(BlockState *block); /* after threads exited */
/* A warp that touched another block's shared memory through an mbarrier has published what it wrote. */
void cluster_publish(Exec *x, const Translation *at, uint32_t mask);
bool decode_mapa(Decoder *d);
bool decode_rank(Decoder *d);
bool decode_isspacep(Decoder *d);

/* ---- barrier.c --------------------------------------------------------------------------------------------------- */

enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_RED_POPC, BARRIER_RED_AND, BARRIER_RED_OR };
OpFunction run_barrier, run_fence, run_mbarrier;
/* complete_tx of so many bytes on each lane's mbarrier object, whose address 'at' has. */
Step mbarrier_complete(Exec *x, const Op *op, uint32_t mask, Translation *at, const uint64_t bytes[LANES]);
void barrier_recheck(BlockState *block); /* after threads exited */
/* Splits of the warp that stand at the same aligned barrier arrive with this one. */
void partners_arrive(Exec *x, const Op *op, unsigned barrier);
/* Race check: 'clock' learns what the warp knows, or the warp what 'clock' does. */
void clock_join(Exec *x, uint32_t *clock);
void clock_take(Warp *warp, const uint32_t *clock);
/* Lets splits at aligned barriers proceed whose siblings have exited; false if some can never. */
bool warp_resolve(Exec *x);
enum {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_EXPECT_TX,
    MBARRIER_COMPLETE_TX,
    MBARRIER_ARRIVE,
    MBARRIER_ARRIVE_EXPECT_TX,
    MBARRIER_ARRIVE_DROP,
    MBARRIER_ARRIVE_DROP_EXPECT_TX,
    MBARRIER_PENDING,
    MBARRIER_TEST,
    MBARRIER_TEST_PARITY,
};

/* ---- collective.c ------------------------------------------------------------------------------------------------ */

enum {
    WARP_SHFL,
    WARP_VOTE,
    WARP_MATCH_ANY,
    WARP_MATCH_ALL,
    WARP_REDUX,
    WARP_ACTIVEMASK,
    WARP_ELECT,
    WARP_SYNC,
    WARP_MATRIX,
};
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
OpFunction run_collective;

/* ---- matrix.c ---------------------------------------------------------------------------------------------------- */

Step matrix_execute(Exec *x, const Op *op, uint32_t mask);

/* ---- image.c, texture.c, surface.c ------------------------------------------------------------------------------- */

uint64_t image_bytes(const LaunchArgument *argument);
/* An image over the region (a sampler without one); gives its handle. */
uint64_t image_make(Machine *machine, const LaunchArgument *argument, Region *region);
uint64_t image_variable(Machine *machine, const Variable *variable); /* handle of a .texref, .surfref, .samplerref */
OpFunction run_texture, run_surface, run_image_query;

/* ---- stack.c ----------------------------------------------------------------------------------------------------- */

#define STACK_BYTES UINT64_C(16384) /* that alloca can take in a function */
void stack_reset(Frame *frame);
OpFunction run_alloca, run_stack_save, run_stack_restore;

/* ---- call.c ------------------------------------------------------------------------------------------------------ */

OpFunction run_call, run_call_results, run_builtin;
bool is_builtin(const Function *function);
#define MAX_CALL_DEPTH 512

/* ---- decode.c, decode_memory.c, decode_control.c ----------------------------------------------------------------- */

/* The code of a function that machine_collect has found; NULL if it has none. */
Code *code_get(Machine *machine, const Function *function);
const Function *function_resolve(const Machine *machine, const Function *function); /* declarations and aliases */
/* Builds the bodies of the entry and of all functions it may call, and places their variables. */
bool machine_collect(Machine *machine, const Function *entry);
bool code_decode(Machine *machine, Code *code);
/* Post-dominators of a body's blocks: index of each block's immediate post-dominator, or UINT32_MAX for the exit. */
uint32_t *body_postdominators(Arena *arena, const Body *body);

/* A branch whose target's pc is not known yet. */
typedef struct Fixup {
    uint32_t op, block;
    uint32_t field; /* FIXUP_TARGET, FIXUP_RECONVERGENCE, or FIXUP_TABLE + index */
} Fixup;

struct Decoder {
    Machine *machine;
    Code *code;
    Arena *arena;
    const Inst *inst;
    const Signature *signature; /* of inst */
    uint32_t temp; /* next free byte of the frame, for this instruction */
    VEC(uint8_t) constants;
    AddressMap constant_index;
    uint32_t guard;
    bool guard_inverted;
    bool first;
    uint32_t *block_pcs;
    VEC(Fixup) fixups;
    uint32_t *postdominators;
    bool failed;
};

bool decoder_refuse(Decoder *d, const char *format, ...) PRINTF_LIKE(2, 3); /* always false */
Space decoder_space(const Decoder *d); /* that the modifiers name; SPACE_NONE */
Op *decoder_emit(Decoder *d, OpFunction *run);
void decoder_emit_row(Decoder *d, RowFunction *row, uint32_t dest, unsigned dest_bytes, const uint32_t *sources,
                      unsigned count);
void decoder_emit_copy_bytes(Decoder *d, uint32_t dest, unsigned dest_bytes, unsigned dest_offset, uint32_t source,
                             unsigned source_bytes, unsigned source_offset, unsigned bytes);
void decoder_emit_lanes(Decoder *d, OpFunction *run, ScalarFunction *function, uint32_t control, uint32_t dest,
                        unsigned dest_bytes, const uint32_t *sources, const uint8_t *source_bytes, unsigned count);
void decoder_emit_scalar(Decoder *d, ScalarFunction *function, uint32_t control, uint32_t dest, unsigned dest_bytes,
                         const uint32_t *sources, const uint8_t *source_bytes, unsigned count); /* by run_scalar */
RowFunction *decoder_copy_row(unsigned bytes);
uint32_t decoder_temp(Decoder *d, unsigned row_bytes);
uint32_t decoder_constant(Decoder *d, uint64_t bits, unsigned row_bytes);
/* The row of a source operand, in the width of the type; NO_ROW with the refusal reported. */
uint32_t decoder_source(Decoder *d, const Operand *operand, Type type);
uint32_t decoder_register(const Decoder *d, const Operand *operand, unsigned *row_bytes);
/* Where to put a result of the type; decoder_dest_done then widens it into the register if that is wider. */
typedef struct Dest {
    uint32_t row;  /* NO_ROW: sink */
    uint32_t real; /* the register's row */
    unsigned bytes, real_bytes;
    Type type;
    bool sign;
} Dest;
bool decoder_dest(Decoder *d, const Operand *operand, Type type, bool sign, Dest *dest);
void decoder_dest_done(Decoder *d, const Dest *dest);
void decoder_resize(Decoder *d, uint32_t dest, unsigned dest_bytes, uint32_t source, unsigned source_bytes, bool sign,
                    unsigned bits);
bool decode_memory(Decoder *d);
bool decode_control(Decoder *d);
bool decode_warp(Decoder *d);
bool decode_matrix(Decoder *d);
bool decode_image(Decoder *d);
bool decode_stack(Decoder *d);
bool decode_video(Decoder *d);
AtomicKind decoder_atomic(const Decoder *d); /* that the modifiers name */
uint32_t decoder_guard_open(Decoder *d);
void decoder_guard_close(Decoder *d, uint32_t at);
bool decoder_address(Decoder *d, const Operand *operand, Space space, MemoryOp *memory);
bool decoder_symbol(Decoder *d, const Symbol *symbol, uint64_t *address, bool *in_frame, Space *space);
enum { FIXUP_TARGET, FIXUP_RECONVERGENCE, FIXUP_TABLE };
void decoder_fixup(Decoder *d, uint32_t op, uint32_t block, uint32_t field);

#endif
