/* Thread coarsening: each thread does the work of several. */
#ifndef PTXOPT_OPT_COARSEN_COARSEN_H
#define PTXOPT_OPT_COARSEN_COARSEN_H

#include "ir/ir.h"
#include "opt/block_size.h"
#include "opt/common/refusal.h"
#include "opt/common/reuse_list.h"
#include "opt/shape.h"

/* Which original threads a coarsened thread replaces, along one dimension with ntid' = ntid / factor:
 * block: tid' + k * ntid'; unit: factor * tid' + k; number s: (tid' / s) * factor * s + tid' % s + k * s. */
typedef enum StrideKind { STRIDE_BLOCK, STRIDE_UNIT, STRIDE_NUMBER } StrideKind;
typedef struct Stride {
    StrideKind kind;
    unsigned number; /* STRIDE_NUMBER */
} Stride;

/* The form of a region under a condition that differs between replicas. */
typedef enum GuardForm {
    GUARDS_AUTO,       /* by the region's size and contents */
    GUARDS_SEQUENTIAL, /* one copy for each replica, one after the other */
    GUARDS_PREDICATED, /* guarded instructions where that is possible, else a fast path */
    GUARDS_FAST,       /* beside those, a merged one for where all replicas agree on the condition */
    GUARDS_INTERIOR,   /* as GUARDS_AUTO, after loops have got a version without guards (opt/edges/interior.c) */
    GUARD_FORM_COUNT
} GuardForm;

/* "auto", "sequential" ... */
const char *guard_form_name(GuardForm form);
/* False if there is none of that name. */
bool guard_form_read(const char *name, GuardForm *form);

typedef struct CoarsenRequest {
    Shape shape;
    bool shrinks_grid;  /* where blocks are merged, fewer are launched; else those left over exit */
    Stride stride;
    GuardForm guards;
    bool beyond_joins; /* merged blocks that are beyond the grid execute the code, too: it is made for that (opt/memory/
                        * edges.h); else they exit */
    unsigned growth; /* fast paths make a kernel at most this many times as long; 0: GROWTH_DEFAULT */
    /* The pass sets these itself. */
    BlockSize block;   /* of the original kernel */
    ReuseList *shared; /* out, in 'arena': loads that are done once for several threads; NULL: not wanted */
    Arena *arena;
} CoarsenRequest;
enum { GROWTH_DEFAULT = 4 };
/* A coarsened kernel has at most COARSEN_SIZE PTX instructions, or COARSEN_GROWTH times those of the original, if more.
 * ptxas 13.0 needs 15 seconds for a block of 5,000, and longer than its time limit, two minutes, for 20,000. */
enum { COARSEN_SIZE = 16384, COARSEN_GROWTH = 4 };

/* How to launch a coarsened kernel, given the original launch. */
typedef struct LaunchContract {
    Name kernel;
    Shape shape;          /* block' = block * shape.grown / shape.threads, rounded up, in each dimension; or, instead,
                             block * shape.refined / shape.spread */
    bool shrinks_grid;    /* grid' = grid / shape.grown / shape.blocks in each dimension, which these must divide; else
                             grid / shape.grown, or grid * shape.spread */
    unsigned dynamic_factor; /* the dynamic shared memory, rounded up to a multiple of CONTRACT_SHARED_UNIT, times this;
                                1: it stays */
    Stride stride;
    unsigned block[3];    /* of the original kernel; 0: not known, and shape.threads must divide it */
    bool whole_warps; /* the kernel has warp-level instructions, or barriers under a condition: block'.x is a multiple
                         of 32 where x is coarsened; where only y or z is, the product of block' up to and including
                         that dimension is */
    unsigned stride_unit; /* block' is a multiple of it in each coarsened dimension, and where the grid is multiplied:
                             for STRIDE_NUMBER, and for groups of threads in one block; else 1 */
} LaunchContract;

enum { CONTRACT_SHARED_UNIT = 128 }; /* bytes */

/* How the original's launch is changed. */
LaunchChange contract_change(const LaunchContract *contract);
/* True if the kernel is launched differently from the original. */
bool contract_changes_launch(const LaunchContract *contract);
/* True if its block has another size. */
bool contract_changes_block(const LaunchContract *contract);
/* True if its grid or its dynamic shared memory is different. */
bool contract_changes_grid(const LaunchContract *contract);

/* The conditions under which coarsening is correct, in the order in which they are checked. */
typedef enum LegalityCondition {
    LEGAL_INSTRUCTIONS,
    LEGAL_FLOW,
    LEGAL_MEMORY,
    LEGAL_BARRIERS,
    LEGAL_PARTICIPANTS,
    LEGAL_WAITING,
    LEGAL_LAUNCH, /* also checked first, as far as it is known */
    LEGALITY_COUNT
} LegalityCondition;

typedef enum LegalityState { LEGALITY_UNCHECKED, LEGALITY_HELD, LEGALITY_FAILED } LegalityState;

/* The findings about each condition. */
typedef struct Legality {
    LegalityState state[LEGALITY_COUNT];
    unsigned count[LEGALITY_COUNT]; /* of instructions (LEGAL_FLOW: branches) that it is about, before any change */
    Span first[LEGALITY_COUNT];     /* the first of them; end 0: none */
    bool waits;   /* a loop may wait for another block, as the input's does ... */
    Span waiting; /* ... for what is read here; end 0: unknown */
} Legality;

/* The effect of the form on launches that are not adapted to its contract. */
typedef struct Unadapted {
    enum {
        UNADAPTED_UNNOTICED,
        UNADAPTED_REFUSED,        /* by the driver, because of .reqntid */
        UNADAPTED_LARGER_REFUSED, /* by the driver, because of .maxntid: those of blocks of more than 'most' threads */
        UNADAPTED_STOPPED,        /* by the kernel, with a message */
        UNADAPTED_LARGER_STOPPED, /* the same for blocks of more than 'most' threads */
    } effect;
    unsigned most;
} Unadapted;

/* Coarsens 'body', in SSA form, in place.
 *
 * After Magni, Dubach and O'Boyle (SC'13, section 4) and Unkule, Shaltz and Qasem (CC'12): only replica-variant
 * instructions are cloned; uniform branches, loops and barriers are kept once; a region under a variant branch is
 * cloned as a whole, one replica after the other, perhaps with a fast path beside that (fast.c).
 * Merged blocks keep their size. The grid keeps its own, and the blocks that are left over exit at once; or it
 * shrinks, and the dynamic shared memory grows.
 * Legality assumes that there are no data races between barriers (CUDA's own rule). On success *contract is set, and
 * the body's tuning (.maxntid, .reqntid) is adapted. Returns false if the result cannot be shown to be correct:
 * *refusal is then set (text in the module's arena), and the body is in an unspecified state, so the caller works
 * on a clone. *legality is set in any case, if it is not NULL. */
bool coarsen_body(Body *body, const CoarsenRequest *request, LaunchContract *contract, Refusal *refusal,
                  Legality *legality);

/* Replaces all calls of functions that mind which thread they run in, or in which block, if blocks are to be merged or
 * to change places, by the functions' bodies. False, with the body in an unspecified state, if one of them has to stay;
 * also if there are none. */
bool inline_calls(Body *body, bool merges_blocks);

/* True if each block of a grid may do the work of another one, with another index along x and y, however large the grid
 * is. The body is in SSA form; calls that read the index have been inlined where that is possible. Otherwise *refusal
 * is set, with texts in the module's arena. */
bool coarsening_may_renumber(const Body *body, Refusal *refusal);

/* How coarsening treats an instruction. */
typedef enum CoarsenRule {
    COARSEN_IF_VARIANT,  /* cloned if its operands or its control differ between replicas, else kept once */
    COARSEN_CLONED,      /* cloned for every replica, because each execution counts */
    COARSEN_ONCE,        /* kept once; the kernel is refused if replicas differ in it */
    COARSEN_COMBINED,    /* as COARSEN_ONCE, but takes the predicates of all replicas */
    COARSEN_WHOLE_WARPS, /* as COARSEN_IF_VARIANT, and the launch must keep warps whole */
    COARSEN_REWRITTEN,   /* a thread's index or a block's size: computed for each replica */
    COARSEN_BY_REGISTER, /* by the special register it reads: coarsen_sreg_treatment() */
    COARSEN_BY_CALLEE,   /* cloned; the kernel is refused if the function called cannot be run by one replica after the
                            other */
    COARSEN_REFUSED,     /* the kernel is refused */
} CoarsenRule;

typedef struct CoarsenTreatment {
    CoarsenRule rule;
    RefusalReason reason; /* COARSEN_REFUSED: its operand is the instruction; else REFUSAL_NONE */
} CoarsenTreatment;

/* The treatment by the instruction table alone; the kernel around an instruction can add reasons to refuse it. */
CoarsenTreatment coarsen_treatment(const Form *form);
CoarsenTreatment coarsen_sreg_treatment(const Sreg *sreg);

/* The constant symbol __ptxopt_launch_<kernel>, in the module's arena but not yet one of its items: it carries the
 * contract into the cubin. An array of 16 .u32: magic 0x50584f50, format 1, 0, shape.threads x y z, stride
 * kind, stride number, whole_warps, stride_unit, block x y z (0: unknown), 0, 0, 0. If the contract changes the grid or
 * the dynamic shared memory, the format is 2, word 2 is dynamic_factor, and the last three divide the grid. If blocks
 * grow or the grid does, the format is 3: as 2, with what multiplies the block in the upper halves of the words of
 * shape.threads, and what multiplies the grid in those of the last three. If the module leaves no room in constant
 * memory, it is in global memory. */
Variable *contract_symbol(Module *module, const LaunchContract *contract);
void contract_add_symbol(Module *module, Variable *symbol);
void contract_remove_symbol(Module *module, const Variable *symbol);
Name contract_symbol_name(Module *module, Name kernel);
typedef enum ContractState {
    CONTRACT_NONE,         /* the module has no symbol of its name */
    CONTRACT_FOUND,
    CONTRACT_OTHER_SYMBOL, /* the symbol is not a contract */
    CONTRACT_FORMAT,       /* its format is one that this program does not know */
    CONTRACT_ZERO,         /* it has the factor 0 */
} ContractState;

/* Reads the kernel's contract from its symbol in the module. */
ContractState contract_find(const Module *module, const char *kernel, LaunchContract *contract);

/* A figure of a launch of the original. */
typedef enum LaunchFigure {
    LAUNCH_BLOCK,       /* threads of a block, along all axes */
    LAUNCH_BLOCK_ALONG, /* along 'axis' */
    LAUNCH_BLOCK_UP_TO, /* the product along the axes up to 'axis' */
    LAUNCH_GRID_ALONG,  /* blocks along 'axis' */
} LaunchFigure;

/* A condition of a contract: the figure is the number, at most the number, or a multiple of it. */
typedef struct LaunchCondition {
    LaunchFigure figure;
    unsigned axis;
    bool is_exact, is_limit;
    uint64_t number;
    unsigned block[3]; /* LAUNCH_BLOCK: the block is this one */
} LaunchCondition;

/* A condition that a launch does not meet, and its figure there. */
typedef struct LaunchUnmet {
    LaunchCondition condition;
    uint64_t found;
} LaunchUnmet;

enum { CONTRACT_CONDITIONS = 10 };
/* Sets the conditions and returns their number. */
unsigned contract_conditions(const LaunchContract *contract, LaunchCondition out[CONTRACT_CONDITIONS]);
/* True if a launch with this original block and grid (NULL: unknown) meets all; else *unmet is one that it does not
 * meet. */
bool contract_is_met(const LaunchContract *contract, const unsigned block[3], const unsigned grid[3],
                     LaunchUnmet *unmet);

#endif
