/* The declarations that the files of unroll-and-jam share. */
#ifndef PTXOPT_OPT_JAM_INTERNAL_H
#define PTXOPT_OPT_JAM_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/common/trips.h"
#include "opt/jam/unroll_jam.h"

/* A value that one iteration gives the next, in instructions of one block, from the first reader of the old value to
 * the one that makes the new one. Iterations execute these in turn. */
typedef struct Chain {
    Inst *first, *last;
} Chain;

/* Two accesses that must not meet: 'later' in an iteration after that of 'earlier'. The addresses are compared at run
 * time, before the iterations begin. */
typedef struct Conflict {
    const Inst *earlier, *later;
    bool is_even;  /* both addresses grow by 'step' in each iteration */
    int64_t step;
} Conflict;

/* A comparison of a counter, which grows by 'step' in each iteration, with a bound that is the same in all: it decides
 * whether another iteration follows. */
typedef struct Countdown {
    bool found;
    RegId counter;     /* what an iteration compares */
    RegId bound;       /* REG_NONE: 'constant' */
    int64_t constant;
    int64_t step;
    unsigned bits;
    bool is_ordered;   /* goes on below the bound (a negative step: above it); else until both are equal */
    bool with_bound;   /* is_ordered: also at the bound */
} Countdown;

/* 32-bit sums that the loop extends to 64 bits and that differ by constants: 'reg', the least of them, must be at most
 * 'most', so that none wraps in any of the iterations. */
typedef struct IndexBound {
    RegId reg;
    bool is_signed;
    int64_t span; /* from the least to the greatest, in one iteration */
    int64_t step; /* for each iteration */
} IndexBound;

typedef struct Jam {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const LoopForest *loops;
    const Loop *loop;
    const Values *values;
    unsigned factor;
    Block *latch;     /* the end of the loop, the only block that leads out of it */
    Block *after;     /* where it leads then */
    RegId predicate;  /* that decides this; 'stays_if': what it is where another iteration follows */
    bool stays_if;
    bool is_whole;    /* the number of iterations is a multiple of the factor */
    bool is_brief;    /* one comparison tells, where it can, whether all iterations follow, and one for each conflict */
    Countdown countdown; /* is_brief */
    VEC(IndexBound) bounds; /* is_brief */
    bool is_counted;  /* is_brief: 'trips' tells before the loop how many iterations there are, and nothing else is
                       * tested, so that the new loop has one exit and a number of rounds that is known, too */
    TripCount trips;
    bool writes;      /* the loop stores something */
    BitSet variant;   /* by RegId: differs between iterations */
    BitSet early;     /* by RegId: can be computed before the iteration, from the header's phis */
    VEC(Chain) chains;
    VEC(Conflict) conflicts;
    Refusal *refusal;
} Jam;

/* refuse.c */
/* Sets the refusal, with the place of the instruction (NULL: none), and returns false. */
bool jam_refuse(Jam *jam, const Inst *inst, RefusalReason reason);
bool jam_refuse_with(Jam *jam, const Inst *inst, RefusalReason reason, const RefusalOperand *operands);

/* values.c */
/* True if the value is made in the loop. */
bool jam_is_inside(const Jam *jam, RegId reg);
/* The argument of a header's phi for the next iteration. */
RegId jam_next(const Jam *jam, const Phi *phi);
/* The phi of the loop's header with this result, or NULL. */
const Phi *jam_phi(const Jam *jam, RegId reg);
/* True if each iteration has a copy of the instruction: it reads or makes what differs between them, or
 * updates memory. */
bool jam_is_copied(const Jam *jam, const Inst *inst);
/* True if the instruction can be executed anywhere and any number of times. */
bool jam_is_computation(const Inst *inst);
/* True if the instruction reads a value of the loop that is not in the set. */
bool jam_reads_late(const Jam *jam, const BitSet *early, const Inst *inst);

/* order.c */
/* True if memory lets the iterations be executed together; sets the conflicts. Else it refuses. */
bool jam_check_memory(Jam *jam);
/* The same of two accesses of which the second, in a later iteration, moves before the first; adds a conflict. */
bool jam_check_pair(Jam *jam, const Inst *earlier, const Inst *later);
bool jam_refuse_pair(Jam *jam, const Inst *earlier, const Inst *later);
/* The register that the access's address counts from; REG_NONE if there is none, or it is not a plain one. */
RegId jam_address(const Inst *inst, int64_t *offset);

/* rounds.c */
/* How many iterations the loop has, if its start, step and bound are constants; else 0. */
uint64_t jam_rounds(const Jam *jam);

/* follow.c */
/* Sets the countdown, if the loop's end is one. */
void jam_find_countdown(Jam *jam);
/* Sets the bounds of the indices that the loop extends. */
void jam_find_bounds(Jam *jam);

/* test.c */

/* The block before a loop of iterations side by side, which decides whether the next ones can be executed together. It
 * computes what has to be known of them, for one iteration after the other. */
typedef struct JamTest {
    Jam *jam;
    Block *block;
    RegId *known; /* by RegId: what the current iteration's early values are; REG_NONE: not computed yet */
    RegId *phis;  /* by place in the header: its phi in the current iteration; REG_NONE: not known in advance */
    RegId ready;  /* a predicate: the iterations can be executed together; REG_NONE: in any case */
} JamTest;

/* A test whose phis are still to be set. */
JamTest jam_test_new(Jam *jam, Block *block);
/* An early value in the current iteration, with the code that it takes. */
RegId jam_test_value(const JamTest *test, RegId wanted);
/* Goes on to the next iteration's values of the header's phis. */
void jam_test_step(JamTest *test);
/* The iterations can be executed together only where the predicate holds, or, if it is inverted, does not. */
void jam_test_require(JamTest *test, RegId holds, bool inverted);
/* ... if all of them follow: there is room for their steps between what the first compares and the bound; */
void jam_test_countdown(JamTest *test);
/* ... if the indices stay within their bounds; */
void jam_test_bounds(JamTest *test);
/* ... if two accesses at addresses that count from x and y have no byte in common; */
void jam_test_apart(JamTest *test, const Inst *earlier, RegId x, const Inst *later, RegId y);
/* ... if those of a conflict that is even, x and y in the first iteration, have none in any two iterations. */
void jam_test_apart_evenly(JamTest *test, const Conflict *conflict, RegId x, RegId y);

/* copy.c */
/* Makes the loop of iterations side by side, and gives its header. Cannot fail. */
Block *jam_copy(Jam *jam);

#endif
