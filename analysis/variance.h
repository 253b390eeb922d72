/* Replica variance: the values that differ between the threads that coarsening merges into one. */
#ifndef PTXOPT_ANALYSIS_VARIANCE_H
#define PTXOPT_ANALYSIS_VARIANCE_H

#include "analysis/loops.h"
#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* The threads that are compared: those of one block that differ in one component of %tid only, or (VARIANCE_ANY) in
 * any; or, with VarianceOptions.blocks, the threads of equal %tid in blocks that differ in one component of %ctaid
 * only, or in any. */
enum { VARIANCE_X, VARIANCE_Y, VARIANCE_Z, VARIANCE_ANY };

typedef struct VarianceOptions {
    /* Replica k of a thread runs in the lane of the thread itself, and with it the whole warp: %laneid, %lanemask_* and
     * the results of warp collectives (shfl, vote, match, mma ...) with uniform operands are the same in all
     * replicas. */
    bool lane_uniform;
    /* Plain loads from equal global, shared and generic addresses give equal values. The caller decides: this holds for
     * programs without data races, if all replicas load in one barrier interval. */
    bool merge_loads;
    const PointerMap *unmerged; /* the loads that are not merged, by Inst, in spite of merge_loads; NULL: none */
    /* The shared variables that the compared blocks have in common, in spite of 'blocks', and the plain loads and
     * stores of them, by Variable and Inst; NULL: none. */
    const PointerMap *common;
    /* By Inst, or NULL: instructions whose results differ, whatever they are computed from. */
    const PointerMap *differing;
    const BitSet *uniform_branches; /* by Block.id, or NULL: all compared threads take them alike, whatever they test */
    bool blocks; /* compare blocks, not threads: .shared variables and their addresses differ, %tid and lanes do not */
    /* By RegId, or NULL: values that are the same in all replicas, whatever they are computed from, because the caller
     * will compute them from all replicas' operands. */
    const BitSet *agreed;
} VarianceOptions;

typedef enum VarianceCause {
    VARIANCE_UNIFORM,
    /* inherent */
    VARIANCE_INDEX,      /* reads the thread (block) index */
    VARIANCE_LANE,       /* depends on the lane or on the other threads of the warp */
    VARIANCE_UNSTABLE,   /* clocks, %warpid, %smid, anything volatile, asynchronous or synchronising with a result */
    VARIANCE_OPAQUE,     /* an instruction that the table does not know */
    VARIANCE_ATOMIC,     /* result of an atomic */
    VARIANCE_STRONG,     /* a load that is volatile, relaxed or acquire */
    VARIANCE_MEMORY,     /* a load from memory that others may write */
    VARIANCE_PRIVATE,    /* a load from, or an address in, memory that each replica has to itself */
    VARIANCE_CALL,       /* a call's result */
    /* derived */
    VARIANCE_OPERAND,    /* reads a variant value */
    VARIANCE_CONTROL,    /* made in a block that is under variant control */
    VARIANCE_ARGUMENT,   /* a phi with a variant argument */
    VARIANCE_JOIN,       /* a phi where paths meet that a variant branch, or a block under variant control, separated */
} VarianceCause;

/* The reason why a value varies. Following 'reg' and 'branch' (from a block to the branch that put it under variant
 * control, from that branch to its condition) leads to an inherent cause; the chain has no cycles. */
typedef struct VarianceReason {
    VarianceCause cause;
    const Inst *inst;    /* the one that makes the value; NULL: a phi */
    const Block *block;  /* the block in which it is made */
    RegId reg;           /* OPERAND, ARGUMENT: the variant value it is made from; else REG_NONE */
    const Block *branch; /* JOIN: the predecessor with the branch, or under variant control; else NULL */
} VarianceReason;

typedef struct Variance {
    const Body *body;
    unsigned dimension;
    VarianceOptions options;
    BitSet regs;     /* by RegId: replica-variant values */
    BitSet branches; /* by Block.id: the terminator's condition is variant */
    BitSet blocks;   /* by Block.id: executed under variant control */
    BitSet sources;  /* by Block.id: those of 'branches' that were found before their block was found under variant
                      * control */
    VarianceReason *reasons; /* by RegId */
    RegId *conditions;       /* by Block.id: for a block in 'branches', the variant register that its terminator
                              * reads */
    const Block **deciders;  /* by Block.id: for a block in 'blocks', the one whose branch it depends on */
} Variance;

/* The divergence analysis of SC'13 section 4 (Magni, Dubach, O'Boyle), which follows data dependences and regions,
 * made stricter: memory, calls, collectives and local addresses vary, and control dependence is followed through
 * joins and out of loops.
 *
 * - Inherently variant: see the causes above. Loads of constants, entry parameters, .nc and textures are as uniform
 *   as their operands; loads from .local always vary. Reductions over the block (bar.red) are as uniform as their
 *   operands: a pass that changes the number of threads must take care of them itself.
 * - An instruction is variant if it reads a variant value: an operand, its guard, a tied old value.
 * - A block is under variant control if it is control dependent on a variant branch or on a branch of such a block.
 *   Values computed there are variant; so are values that are used after a loop with a variant trip count.
 * - A phi is variant if an argument is, or if it joins paths that separate at a variant branch.
 *
 * The body must be in SSA form. 'postdominance' may be NULL (it is computed then); options NULL: all false.
 * O(I + R + the control dependences of variant branches). */
Variance *variance_compute(Arena *arena, const Body *body, const Dominance *postdominance, unsigned dimension,
                           const VarianceOptions *options);
/* The variance of what values are computed from, whichever paths lead there: as if all branches were uniform. Between
 * threads, or with 'blocks' between blocks. */
Variance *variance_on_any_path(Arena *arena, const Body *body, const Dominance *postdominance, bool blocks);

static inline bool variance_reg(const Variance *variance, RegId reg) { return bitset_has(&variance->regs, reg); }
static inline bool variance_branch(const Variance *variance, const Block *block)
{
    return bitset_has(&variance->branches, block->id);
}
static inline bool variance_block(const Variance *variance, const Block *block)
{
    return bitset_has(&variance->blocks, block->id);
}
/* True if the instruction does something different in different replicas: it reads or makes a variant value, or its
 * block is under variant control. */
bool variance_inst(const Variance *variance, const Inst *inst);

/* The cause is VARIANCE_UNIFORM for a uniform value. */
VarianceReason variance_reason(const Variance *variance, RegId reg);
/* The end of the chain of reasons of a block under variant control. */
typedef struct VarianceRoot {
    const Inst *branch; /* the first branch on a condition; may be NULL */
    RegId condition;    /* its condition */
    RegId reg;          /* the value of the inherent cause */
} VarianceRoot;

/* The inherent cause at the end of that chain. */
VarianceReason variance_block_reason(const Variance *variance, const Block *block, VarianceRoot *root);
const char *variance_cause_text(VarianceCause cause); /* "reads the thread index" */
/* Appends the chain from the register to an inherent cause, one step a line:
 *     %r5: mad.lo.s32 (line 12) reads %r4
 *     %r4: mov.u32 (line 11) reads the index
 * At most 'limit' steps (0: no limit). Lines are those of the module's source. */
void variance_explain(const Variance *variance, RegId reg, unsigned limit, Buf *out);
/* The same for a block under variant control. */
void variance_explain_block(const Variance *variance, const Block *block, unsigned limit, Buf *out);

#endif
