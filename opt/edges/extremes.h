/* Tests before a region, such as a loop, of whether conditions in it hold, in all rounds.
 *
 * Values of 32 bits are sums of *terms*, modulo 2^32. A term is a register, taken as a signed integer: one that is
 * known before the loop, or a counter of a loop, which lies between sums of others. So a comparison in all rounds is a
 * few sums of what is known before the loop that must not be negative; they are computed in 64 bits, where nothing
 * wraps. */
#ifndef PTXOPT_OPT_EDGES_EXTREMES_H
#define PTXOPT_OPT_EDGES_EXTREMES_H

#include "analysis/analysis.h"
#include "opt/common/sums.h"

enum { LINEAR_TERMS = 8 };

typedef struct LinearTerm {
    RegId reg;
    int64_t factor;
} LinearTerm;

/* constant + sum of factor * register. */
typedef struct Linear {
    int64_t constant;
    unsigned count;
    LinearTerm terms[LINEAR_TERMS];
} Linear;

typedef VEC(Linear) LinearVec;

/* The values of a phi in any round: at least one of 'low', at most one of 'high'. Empty: unknown. */
typedef struct Counter {
    LinearVec low, high;
    bool is_known; /* false while it is looked for */
} Counter;

/* A predicate that is made before the loop. */
typedef struct EarlyCondition {
    RegId predicate;
    bool value;
} EarlyCondition;

/* The lesser or greater of two values, which a thread takes the place of by one of them. */
typedef struct Clamp {
    Inst *inst;
    RegId result, value; /* of 32 bits */
} Clamp;

typedef struct Extremes {
    Arena *scratch;
    Body *body;
    const Values *values;
    const LoopForest *loops;
    const Dominance *dominance;
    const BitSet *own;  /* by RegId: values that differ between threads */
    const BitSet *inside; /* by Block.id: the blocks of the region */
    Counter **counters; /* by RegId; NULL: not asked for yet */
    BitSet unknown;     /* by RegId: counters of which it is known that nothing is */
    RegId *clamped;     /* by RegId: the value that it is, as is required; REG_NONE: nothing is */
    LinearVec sums;     /* none of which may be negative */
    VEC(EarlyCondition) conditions;
} Extremes;

/* All of this is of the body as it is: 'own' and 'inside' must stay. */
Extremes extremes_new(Arena *scratch, Body *body, Analyses *analyses, const BitSet *own, const BitSet *inside);
/* Adds what makes the predicate, which the loop computes, have this value in each round. False if that is not known; it
 * may have added something then. */
bool extremes_require(Extremes *e, RegId predicate, bool value);
/* The same for what makes a clamp be its value; from then on, it counts as that. */
bool extremes_require_clamp(Extremes *e, const Clamp *clamp);
/* A predicate that tells, at the place before the region, whether all of it holds, with the code that this takes;
 * REG_NONE: nothing was required. */
RegId extremes_build(Extremes *e, const SumPlace *place);

#endif
