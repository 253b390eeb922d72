/* The declarations that the files of refinement share. */
#ifndef PTXOPT_OPT_REFINE_INTERNAL_H
#define PTXOPT_OPT_REFINE_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/common/trips.h"
#include "opt/refine/refine.h"

enum { WARP = 32, SHARED_PHIS = 64, APARTS_MOST = 24 };

/* The way in which the parts of a group's threads become one value. */
typedef enum Merge {
    MERGE_NONE,
    MERGE_SUM,        /* of integers */
    MERGE_FLOAT_SUM,
    MERGE_IDEMPOTENT, /* minimum, maximum, and, or: an element may count twice */
    MERGE_XOR,
    MERGE_CHOICE,       /* a comparison with the element, which replaces the value or not: m = e > m ? e : m */
    MERGE_FLOAT_CHOICE, /* the same, where the order of rounds decides between 0 and -0 */
} Merge;

/* The instruction with which a merge combines two parts, of the register's width. */
typedef struct MergeWith {
    const char *spelling; /* of a choice: of the comparison */
    bool first, keeps;    /* of a choice: the value is the first that is compared; it stays where that holds */
} MergeWith;

/* A phi of the header of a loop that is shared. */
typedef struct SharedPhi {
    RegId reg, start, next;
    Merge merge;      /* MERGE_NONE: it grows by 'step' in each round */
    MergeWith with;
    AffineForm step;
} SharedPhi;

/* An access of a loop that stores: where it is in the first round, and how far it moves in each. */
typedef struct LoopAccess {
    Inst *inst;
    AffineForm first; /* 64 bits */
    int64_t slope;
    unsigned bytes;
    bool is_store;
} LoopAccess;

/* Two accesses that must not meet in different rounds, which the addresses at run time tell. */
typedef struct Apart {
    unsigned a, b;
} Apart;

/* A loop whose rounds are shared: it is left at its end alone, after a number of rounds that is known before. */
typedef struct SharedLoop {
    const Loop *loop;
    Block *latch, *after;
    TripCount trips;
    SharedPhi phis[SHARED_PHIS];
    unsigned phi_count;
    bool stores;
    LoopAccess *accesses;
    unsigned access_count;
    Apart aparts[APARTS_MOST];
    unsigned apart_count;
} SharedLoop;

typedef struct Refine {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const RefineRequest *request;
    RefineResult *result;
    Refusal *refusal;
    unsigned spacing;  /* of a group's threads: 1 if they are neighbours */
    unsigned spread;   /* what multiplies the grid, and ... */
    unsigned grown;    /* ... the block; their product is the number of threads in the place of one */
    unsigned unit;     /* blocks must have a multiple of these threads along x, so that no group is in two */
    RegId lane;        /* the thread's number in its group */
    RegId is_first;    /* whether that is 0 */
    RegId members;     /* the lanes of the warp that are the group */
    PointerMap shared; /* by Block: of a loop whose rounds are shared */
} Refine;

/* A new register, named after 'base'. */
static inline RegId refine_reg(const Refine *r, Type type, const char *base)
{
    return body_add_reg(r->body, type, intern(r->body->module->names, base));
}

/* check.c: whether the term's base is the same in all rounds of the loop. */
bool term_is_fixed(const Refine *r, const Loop *loop, const AffineTerm *term);
/* Sets the refusal, with the place of the instruction (NULL: none), and returns false. */
bool refine_refuse(Refine *r, const Inst *inst, RefusalReason reason);
/* False, and refused, unless all threads of a group can execute the kernel as one of the original does. */
bool refine_check(Refine *r);

/* sizes.c */
/* Decides whether blocks become larger or more, and declares their size, as far as it is known. False, and refused, if
 * no launch could have them. */
bool refine_set_sizes(Refine *r);

/* merge.c */
/* How the header's phi sums up what the rounds add, if that is all that it is used for; sets what combines parts. */
Merge merge_find(const Refine *r, const Loop *loop, const Phi *phi, RegId next, MergeWith *with);
/* True if the result depends on the order of rounds, as far as floating-point numbers are rounded or have two zeros. */
static inline bool merge_is_ordered(Merge merge)
{
    return merge == MERGE_FLOAT_SUM || merge == MERGE_FLOAT_CHOICE;
}
/* True if all threads of a group may start with the value before the loop, which counts once. */
static inline bool merge_starts_alike(Merge merge)
{
    return merge == MERGE_IDEMPOTENT || merge == MERGE_CHOICE || merge == MERGE_FLOAT_CHOICE;
}

/* loops.c */
/* False if the loop's rounds cannot be shared; the refusal then says why. */
bool shared_loop_find(Refine *r, const Loop *loop, SharedLoop *out);
/* accesses.c: the same for what it loads and stores. */
bool shared_loop_check_memory(Refine *r, SharedLoop *shared);
/* Adds code: the predicate 'holds', and that no two rounds meet in memory. 'last' is the number of the last round. */
RegId shared_loop_build_aparts(const SharedLoop *shared, const SumPlace *place, RegId last, RegId holds);

/* rewrite.c */
/* False, with some dead code, if a step or an address cannot be computed before the loop. */
bool shared_loop_rewrite(Refine *r, const SharedLoop *shared);

/* effects.c */
/* Lets the first thread of each group alone store what is stored outside of shared loops, and the others wait. */
void refine_effects(Refine *r);
/* An instruction by which a group's threads wait for one another, and see what all of them have stored. */
Inst *refine_build_wait(const Refine *r);

#endif
