/* The rules by which instructions may be exchanged. */
#ifndef PTXOPT_ANALYSIS_DEPENDENCE_H
#define PTXOPT_ANALYSIS_DEPENDENCE_H

#include "analysis/affine/affine.h"
#include "ir/ir.h"
#include "support/support.h"

/* The knowledge about the memory of a body. Two accesses are apart if
 * - their state spaces are (a generic address may lie in global, shared or local memory, unless its sum tells which);
 * - one of them reads what nothing in the kernel writes: constants, entry parameters, .nc, textures;
 * - their addresses are sums that have no byte in common (affine_compare);
 * - they are sums on the addresses of two variables that the assembler places apart. This assumes that a
 *   program does not reach one variable by an offset from another: PTX does not define where variables are placed.
 *   Unsized shared arrays all start at the same address.
 * Without affine addresses (no SSA form) only constant offsets from one register are told apart. */
typedef struct MemoryModel {
    const Body *body;
    const Affine *affine; /* or NULL */
    /* Some instruction writes its registers late, so that they are valid only after a wait (wgmma, tcgen05.ld). Nothing
     * at all then moves across an instruction that synchronises. */
    bool late_results;
} MemoryModel;
MemoryModel *memory_model_new(Arena *arena, const Body *body, const Affine *affine);

/* True if 'first' and 'second', which follows it in the same block, may be exchanged as far as these two are concerned;
 * the instructions between them are ignored. False if
 * - one writes a register that the other reads or writes;
 * - both access memory, one of them writes, and they may touch the same byte;
 * - one synchronises (EFFECT_SYNC), is a call or a trap, or waits or allocates (volatile without a special register),
 *   and the other accesses memory that may be written, synchronises or is volatile;
 * - one may not return (a call, a trap) and the other may fault;
 * - both are volatile;
 * - the carry flag passes between them, or both set it;
 * - one ends the block, or is opaque. */
bool insts_may_swap(const MemoryModel *model, const Inst *first, const Inst *second);

/* True if the two memory accesses provably have no byte in common, under the conditions of affine_compare. */
bool accesses_apart(const MemoryModel *model, const Inst *a, const Inst *b);
/* The same, however often, in whichever order and by whichever threads the two are executed: they are in other state
 * spaces, on other variables, or at places of their own. */
bool accesses_apart_always(const MemoryModel *model, const Inst *a, const Inst *b);
/* True if the addresses are comparable: not one generic and one within a space, except for global, where both are the
 * same. */
bool accesses_have_same_terms(const Access *a, const Access *b);

typedef enum DependenceKind {
    DEPENDENCE_TRUE,   /* a register written, then read */
    DEPENDENCE_ANTI,   /* read, then written: never in SSA form */
    DEPENDENCE_OUTPUT, /* written twice: never in SSA form */
    DEPENDENCE_MEMORY, /* accesses that may touch the same byte */
    DEPENDENCE_ORDER,  /* everything else */
} DependenceKind;

typedef struct Dependence {
    uint32_t node;
    uint8_t kind; /* DependenceKind; the first in the order above, if several apply */
} Dependence;

/* The dependences between the instructions of one block, a graph without cycles whose edges lead from an instruction to
 * later ones. Any order of the nodes that respects the edges is equivalent to the block's own. Most, but not all, edges
 * that others imply are left out. Accesses that are not compared, because the block has too many, are kept in order. */
typedef struct DependenceGraph {
    const Block *block;
    uint32_t count;
    Inst **insts; /* by node: the block's order when the graph was built */
    uint32_t *succ_start; /* by node, one more at the end */
    Dependence *succs;
    uint32_t *pred_start;
    Dependence *preds;
} DependenceGraph;

/* Writes each instruction's node into Inst.id. O(n * c) for n instructions and their references: a load or store is
 * compared with at most c = 256 open ones of each kind. */
DependenceGraph *block_dependences(Arena *arena, const MemoryModel *model, const Block *block);

#endif
