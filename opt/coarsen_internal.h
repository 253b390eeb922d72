/* What the files of coarsening share: the state of coarsening one body along one dimension. */
#ifndef PTXOPT_OPT_COARSEN_INTERNAL_H
#define PTXOPT_OPT_COARSEN_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/coarsen.h"

/* Blocks that are executed under variant control, closed to one way in and one way out: cloned whole, one replica after
 * the other. */
typedef struct Region {
    Block *head;          /* outside; every edge into the region comes from here */
    Block *join;          /* outside; every edge out of the region leads here */
    VEC(Block *) blocks;  /* in layout order */
} Region;

typedef struct Coarsening {
    Body *body;
    Arena *scratch;
    unsigned dimension, factor;
    Stride stride;
    Refusal *refusal;
    bool needs_whole_warps; /* out */

    Inst *index_read;  /* "mov.u32 T, %tid.d" in the entry block: what every read of the index goes through */
    Analyses *analyses; /* of the body before cloning */
    const Dominance *dominance, *postdominance;
    const LoopForest *loops;
    const Variance *variance;

    size_t block_count;   /* blocks before cloning; bit sets by Block.id are of this size */
    BitSet in_region;
    VEC(Region) regions;

    size_t reg_count;     /* registers before cloning */
    RegId **maps;         /* maps[k][reg]: what replica k has in the place of reg; maps[0] is the identity */
} Coarsening;

/* Runs the statement for every successor, some perhaps twice. */
#define FOR_EACH_SUCC(block, succ)                                                                                     \
    for (unsigned succ##_i = 0, succ##_n = (block)->last ? (block)->last->target_count : 0; succ##_i <= succ##_n;      \
         succ##_i++)                                                                                                   \
        for (Block *succ = succ##_i < succ##_n ? (block)->last->targets[succ##_i] : (block)->fall; succ; succ = NULL)

/* Sets the refusal and returns false.  'inst' may be NULL. */
bool coarsening_refuse(Coarsening *c, const Inst *inst, const char *format, ...) PRINTF_LIKE(3, 4);

/* coarsen_check.c.  What can be said before variance is known; also sets needs_whole_warps. */
bool coarsening_check_instructions(Coarsening *c);
/* Whether equal loads of different replicas give equal values: no operation in the kernel lets one thread wait for
 * another within a barrier interval. */
bool coarsening_loads_merge(const Coarsening *c);
/* What depends on variance and regions. */
bool coarsening_check_regions(Coarsening *c);

/* coarsen_regions.c.  Fills in_region and regions. */
bool coarsening_find_regions(Coarsening *c);

/* coarsen_clone.c.  Changes the body; cannot fail. */
void coarsening_clone(Coarsening *c);

/* Whether each replica executes the instruction for itself. */
bool coarsening_clones(const Coarsening *c, const Inst *inst);
/* A barrier, fence or warp-level operation: what stands before it in one replica stays before it in all. */
bool instruction_orders(const Inst *inst);
/* A memory access or symbol of a .local or .param variable of the body: each replica has its own. */
bool variable_is_private(const Variable *variable);

#endif
