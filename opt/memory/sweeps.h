/* Loops that store a row, and the ends of what several of them store, one after the other, as code before the first. */
#ifndef PTXOPT_OPT_MEMORY_SWEEPS_H
#define PTXOPT_OPT_MEMORY_SWEEPS_H

#include "opt/common/trips.h"

/* A plain access of global memory in a loop, at an address that grows by a constant each round. */
typedef struct RowAccess {
    Inst *inst;
    RegId base;       /* the register that its address counts from, and */
    int64_t constant; /* how far */
    AffineForm start; /* the address in the first round, in scratch memory */
    int64_t step;     /* bytes */
    unsigned bytes;
    int64_t offset;   /* of the address from that of the sweep's first store, if is_near */
    bool is_near;
    bool is_fixed;    /* a load of what the kernel does not write */
    bool is_partial;  /* not executed in every round: only loads that are fixed */
} RowAccess;

/* A loop whose stores fill a range of bytes, without a gap, and touch none twice: of one block, or of several. */
typedef struct Sweep {
    const Loop *loop;
    TripCount trips;
    VEC(RowAccess) stores, loads;
    int64_t first, step;          /* the least of the stores' offsets */
    /* after sweep_rounds_build(): */
    bool is_built;
    RegId executed;               /* a predicate; REG_NONE: it always is */
    RegId last;                   /* the number of its last round, if it is executed */
} Sweep;

typedef struct Sweeps {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const LoopForest *loops;
    const Values *values;
    const Affine *affine;
    const Dominance *dominance, *postdominance;
    bool takes_all; /* loops that store nothing, or a range with gaps, are found as well */
    bool takes_branches; /* and those of several blocks */
    bool never_waits;    /* the kernel does not wait for other grids */
    VEC(Sweep) all; /* in layout order; with takes_branches, in that of their execution */
    SumPlace place; /* where the code goes */
    RegId *early;   /* by RegId: the same value there; REG_NONE: not known yet */
    BitSet failed;  /* by RegId: cannot be told there, by what has been built yet */
    RegId holds;    /* a predicate: what the code assumes is so; REG_NONE: always */
} Sweeps;

/* Finds the sweeps of a body whose innermost loops have preheaders. */
void sweeps_find(Sweeps *s);
/* Prepares for code at the end of the block. */
void sweeps_begin(Sweeps *s, Block *at);
/* Adds that the predicate, which only counts if 'executed' (REG_NONE: always) does, must hold. */
void sweeps_require(Sweeps *s, RegId executed, RegId predicate);
/* The value at the place; REG_NONE: it cannot be told there. */
RegId sweeps_early(Sweeps *s, RegId reg);
/* The address of the access in the first round, at the place; REG_NONE: it cannot be told there. */
RegId row_access_early(Sweeps *s, const Sweep *sweep, const RowAccess *access);
/* A predicate that compares two 64-bit registers. */
RegId sweeps_compare(const Sweeps *s, const char *spelling, RegId a, RegId b);
/* Either of the two holds. */
RegId sweeps_either(const Sweeps *s, RegId a, RegId b);
/* Whether what these accesses of one loop touch in a round, from 'first' bytes after the first of them on, fills a step
 * without a gap, each byte once. */
bool row_accesses_fill(const Sweeps *s, const RowAccess *const *accesses, size_t count, int64_t *first, int64_t *step);
/* Computes whether the sweep is executed, and its rounds. False if that is not known at the place. */
bool sweep_rounds_build(Sweeps *s, Sweep *sweep);
/* Computes the end of what a built sweep touches, 'step' bytes a round from 'first' bytes after the access on, which
 * follows what the sweeps before it have touched: *end (REG_NONE: it is the first, and *begin is set). */
bool sweep_range_build(Sweeps *s, const Sweep *sweep, const RowAccess *access, int64_t first, int64_t step,
                       RegId *begin, RegId *end);
/* Both, of what the sweep stores. */
bool sweep_build(Sweeps *s, Sweep *sweep, RegId *begin, RegId *end);
/* The ends of what a built sweep passes, in all of its rounds, from 'first' bytes after the address of the access to
 * 'past' bytes after it. */
bool sweep_hull_build(Sweeps *s, const Sweep *sweep, const RowAccess *access, int64_t first, int64_t past, RegId *low,
                      RegId *high);

#endif
