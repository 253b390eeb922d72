/* Thread coarsening: each thread does the work of several. */
#ifndef PTXOPT_OPT_COARSEN_H
#define PTXOPT_OPT_COARSEN_H

#include "ir/ir.h"
#include "opt/block_size.h"

/* Which of the original threads a coarser thread stands for, along one dimension with ntid' = ntid / factor:
 * block: tid' + k * ntid'; unit: factor * tid' + k; number s: (tid' / s) * factor * s + tid' % s + k * s. */
typedef enum StrideKind { STRIDE_BLOCK, STRIDE_UNIT, STRIDE_NUMBER } StrideKind;
typedef struct Stride {
    StrideKind kind;
    unsigned number; /* STRIDE_NUMBER */
} Stride;

typedef struct CoarsenRequest {
    unsigned factor[3]; /* along x, y, z; 1: not coarsened */
    Stride stride;
    BlockSize block; /* of the original kernel */
} CoarsenRequest;

/* How a coarsened kernel has to be launched, seen from the original launch. */
typedef struct LaunchContract {
    Name kernel;
    unsigned factor[3];   /* block' = block / factor, in each dimension; the grid stays */
    Stride stride;
    unsigned block[3];    /* of the original kernel, where known; else 0 */
    bool whole_warps; /* the kernel has warp-level instructions, or barriers under a condition: block'.x is a multiple
                         of 32 where x is coarsened; where only y or z is, the product of block' up to and including
                         that dimension is */
    unsigned stride_unit; /* STRIDE_NUMBER: block' is a multiple of it in each coarsened dimension; else 1 */
} LaunchContract;

/* Why a kernel was left as it was. */
typedef struct Refusal {
    const char *reason; /* a sentence without its full stop */
    Span span;          /* of the instruction that stands in the way; 0,0 if there is none */
    bool has_span;
} Refusal;

/* Coarsens 'body', in SSA form, in place.
 *
 * After Magni, Dubach and O'Boyle (SC'13, section 4) and Unkule, Shaltz and Qasem (CC'12): only replica-variant
 * instructions are cloned; uniform branches, loops and barriers are kept once; a region under a variant branch is
 * cloned whole, one replica after the other.  Legality rests on the absence of data races between barriers (CUDA's own
 * rule). False, with *refusal set (text in the module's arena) and the body in an unspecified state, if it cannot be
 * shown sound: the caller works on a clone.  On success *contract is set and the body's tuning (.maxntid, .reqntid)
 * follows. */
bool coarsen_body(Body *body, const CoarsenRequest *request, LaunchContract *contract, Refusal *refusal);

/* The constant symbol __ptxopt_launch_<kernel>, in the module's arena but not yet one of its items: it carries the
 * contract into the cubin.  An array of 16 .u32: magic 0x50584f50, format 1, level (0 thread), factor x y z, stride
 * kind, stride number, whole_warps, stride_unit, block x y z (0: unknown), 0, 0, 0.  Where the module leaves no room in
 * constant memory, it lies in global memory. */
Variable *contract_symbol(Module *module, const LaunchContract *contract);
void contract_add_symbol(Module *module, Variable *symbol);
Name contract_symbol_name(Module *module, Name kernel);
/* The contract that the module holds for the kernel, read from its symbol.  False if it holds none; *error then says
 * why, in the arena, if there is a symbol that makes no sense, and is NULL if there is none. */
bool contract_find(Arena *arena, const Module *module, const char *kernel, LaunchContract *contract,
                   const char **error);
/* Why a launch with this original block does not meet the contract: a condition, in the arena; NULL if it does. */
const char *contract_unmet(Arena *arena, const LaunchContract *contract, const unsigned block[3]);
/* The conditions in words, one each; returns how many (at most 8), text in 'arena'. */
unsigned contract_conditions(Arena *arena, const LaunchContract *contract, const char **out);

#endif
