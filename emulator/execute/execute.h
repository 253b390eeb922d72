/* Execution of instructions, and of the warps that run them.
 *
 * warp_run calls the row function or OpFunction of each op. An OpFunction may change the control state of its warp: it
 * drops, pushes, blocks and wakes splits (split.c).
 *
 * Warps, barriers and clusters depend on each other. A warp runs until its splits wait at a barrier; the last thread to
 * arrive, or a thread that exits while all others wait, completes the barrier and wakes the splits of other warps in
 * the block (barrier.c) or in the cluster (cluster.c). This cycle is in the data, not in the calls, which go one way:
 * warp and branch call barrier, barrier calls cluster, and both call split. The cycle is closed by warp_run's call
 * through Op.run. blocks.c, a layer above, gives every warp with a runnable split its turn. */
#ifndef PTXOPT_EMULATOR_EXECUTE_H
#define PTXOPT_EMULATOR_EXECUTE_H

#include "emulator/state/state.h"
#include "emulator/execute/image.h"
#include "emulator/execute/matrix.h"

/* warp.c */

bool warp_run(Exec *x, Warp *warp); /* a turn of one warp; false on a fault */
void exec_enter(Exec *x, Split *split);

/* split.c */

Split *split_new(Emulator *emulator, Split *parent, Frame *frame, uint32_t pc, uint32_t mask, uint32_t reconvergence);
void warp_push(Warp *warp, Split *split);
void warp_drop(Warp *warp, Split *split);
void split_block(Exec *x, WaitKind wait);
void split_wake(Warp *warp, Split *split);
Step split_diverge(Exec *x, const uint32_t *pcs, const uint32_t *masks, unsigned count, uint32_t reconvergence);
void split_finish(Warp *warp, Split *split);
/* The lanes of the split and of the splits that wait at the same aligned barrier. */
uint32_t split_lanes_beside(const Warp *warp, const Split *split);
/* Makes the splits of the warp that wait at the same aligned barrier arrive with this one. */
void partners_arrive(Exec *x, const Op *op, unsigned barrier);

/* idle.c: for warps that have done nothing visible for some time */

/* Lets lanes that wait to reconverge with the split continue without it: it may be waiting for them, as at a lock.
 * Returns these lanes; *leaving: those of them that will only exit. */
uint32_t release_arrived(Emulator *emulator, Warp *warp, const Split *split, uint32_t *leaving);
/* The same, only for the lanes that will do nothing but exit. True if there are any. */
bool release_leaving(Emulator *emulator, Warp *warp, const Split *split);
/* loop_look, after a jump of the running split, returns true if the split loops without a change; Split.repeats then
 * says so. loop_forget begins the turn of another. */
void loop_forget(Emulator *emulator);
bool loop_look(Exec *x);
void warp_look(Exec *x); /* sets Warp.repeats if the warp does so */
/* True if the warp cannot run, or only repeats itself until another warp changes memory. */
bool warp_repeats(const Emulator *emulator, const Warp *warp);

/* frame.c, stack.c */

#define STACK_BYTES UINT64_C(16384) /* available to alloca in each function */
Frame *frame_new(Emulator *emulator, Code *code, Frame *parent);
void frame_free(Frame *frame);
OpFunction run_alloca, run_stack_save, run_stack_restore;

/* branch.c, arithmetic.c */

OpFunction run_branch, run_jump, run_table_branch, run_reconverge, run_exit, run_return, run_trap, run_yield;
OpFunction run_scalar, run_setp, run_divide, run_carry, run_copy_bytes, run_clock, run_lop3_predicate;
/* The kind of run_carry: a sum, and its use of the carry flag. */
enum { CARRY_ADD, CARRY_SUB, CARRY_MAD_LO, CARRY_MAD_HI, CARRY_READS = 8, CARRY_WRITES = 16 };

/* heap.c: malloc and free */

/* The address of a new piece of the heap; 0: there is no room. */
uint64_t heap_take(Emulator *emulator, uint64_t bytes);
/* Takes back the piece at the address (0: none); false with the fault if malloc has not given it. */
bool heap_give_back(Exec *x, const Op *op, unsigned lane, uint64_t address);

/* call.c, builtin.c */

OpFunction run_call, run_call_results, run_builtin, run_parameter_read, run_result_write;
/* Copies one lane's result of a call from 'from' to the caller's destination. */
void call_copy_out(Exec *x, const struct CallCopy *copy, const uint8_t *from, unsigned lane, uint64_t capacity);
bool is_builtin(const Function *function);

/* access.c */

OpFunction run_load, run_store, run_atomic, run_local_address;
/* The store or atomic of an op that does more than that. */
Step access_store(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask);
Step access_atomic(Exec *x, const Op *op, const MemoryOp *memory, uint32_t mask);
/* The new value of an atomic, from the old value, an operand and, for cas, the value to store. */
uint64_t atomic_value(const MemoryOp *memory, uint64_t old, uint64_t operand, uint64_t second, bool flushes);

/* bulk.c */

typedef struct CopyAsync {
    MemoryOp from, to;
    uint32_t size;   /* source row of the bytes to copy; NO_ROW: all */
    uint32_t ignore; /* predicate source; NO_ROW: none */
    bool ignore_inverted;
} CopyAsync;

#define COPY_WAIT_ALL UINT64_MAX /* Op.value of run_copy_wait: for all copies; else groups that are left */

/* Bulk copies of one dimension, st.bulk, st.async and red.async. */
typedef struct CopyBulk {
    MemoryOp from, to; /* st.async and red.async: 'to' with its elements, and no 'from' */
    bool signals;
    uint32_t size;      /* source row of the bytes */
    MemoryOp mbarrier;  /* the object that it signals */
    AtomicKind atomic;  /* of cp.reduce, on elements of 'type' */
    Type type;
    uint32_t multicast; /* source row of the mask of ranks; NO_ROW: none */
    uint32_t byte_mask; /* source row of the mask over 16 bytes; NO_ROW: none */
} CopyBulk;

OpFunction run_copy_async, run_copy_commit, run_copy_wait, run_copy_bulk, run_store_async, run_store_bulk;

/* barrier.c, mbarrier.c */

enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_RED_POPC, BARRIER_RED_AND, BARRIER_RED_OR };
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
OpFunction run_barrier, run_fence, run_mbarrier;
/* complete_tx of bytes[lane] bytes on each lane's mbarrier object, whose address is in 'at'. */
Step mbarrier_complete(Exec *x, const Op *op, uint32_t mask, Translation *at, const uint64_t bytes[LANES]);
void barrier_recheck(BlockState *block); /* after threads exited */
/* Wakes a split that waits only for lanes that have exited, or calls lanes that wait to reconverge; false, with the
 * fault, if the warp can never continue. */
bool warp_resolve(Exec *x);

/* pool.c */

OpFunction run_setmaxnreg;
/* Reports a warp of the block that waits for registers; false if there is none. */
bool pool_stuck(Exec *x);

/* cluster.c */

Step cluster_arrive(Exec *x, const Op *op, uint32_t mask);
Step cluster_wait(Exec *x, uint32_t mask);
void cluster_recheck(BlockState *block); /* after threads exited */
/* An mbarrier operation on another block's shared memory publishes the warp's writes. */
void cluster_publish(Exec *x, const Translation *at, uint32_t mask);

/* collective.c, matrix.c */

/* The lanes of all splits that wait in the same warp-level operation as the split. *missing: the members that have yet
 * to come. */
uint32_t split_lanes_together(const Warp *warp, const Split *split, uint32_t *missing);

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
Step matrix_execute(Exec *x, const Op *op, uint32_t mask);

/* texture.c, surface.c, query.c */

OpFunction run_texture, run_surface, run_image_query;

#endif
