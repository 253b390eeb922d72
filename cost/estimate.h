/* The interface between the files that estimate a profile from the code alone. */
#ifndef PTXOPT_COST_ESTIMATE_H
#define PTXOPT_COST_ESTIMATE_H

#include "cost/internal.h"

/* The edges that leave a loop. */
typedef struct LoopExits {
    unsigned count;
    bool uneven; /* threads take some of them for reasons other than a counted number of trips */
    bool counted; /* at one of them, threads leave after equally many trips, or count to the same bound */
} LoopExits;

/* The values that differ between lanes: differing.c. */
typedef struct Differing {
    bool is_known;
    BitSet values;       /* by RegId */
    BitSet uneven_loops; /* by Loop.index: lanes leave them at different times */
} Differing;

enum { ALONG_BLOCKS = 3 };

/* Executions by each thread of the launch, and by each warp: at least one of its threads executes. */
typedef struct Flow {
    double threads, warps;
} Flow;
typedef Flow Share; /* of those that come to a branch */

/* A loop that continues another one: some value that decides when it ends starts with what ended the other. */
typedef struct Continuation {
    const Loop *first;     /* NULL: the loop begins anew */
    RegId phi, first_phi;  /* the values, in the headers of both loops; REG_NONE: the first one is not known */
    RegId value;           /* where the first one ends */
    double step;           /* iterations of this loop in one of the first one */
    bool is_counted;       /* it begins where the number of iterations of the first one, computed before it, leads */
} Continuation;

/* The iterations that are left for a loop, or for those that continue it, over all that enter the first of them. */
typedef struct Budget {
    Flow iterations, entries;
} Budget;

/* For each thread of a block, the rounds of a loop in which a condition holds. */
typedef struct ThreadRounds {
    bool is_known;
    const Loop *loop; /* NULL: none matters, and all bits are alike */
    unsigned count;
    const uint64_t *threads; /* a bit for each round; NULL: it does not follow from the thread's index */
} ThreadRounds;

/* The same for what comes to a block. */
typedef struct Coming {
    ThreadRounds rounds;  /* without 'threads': all */
    const double *shares; /* by thread: of these, as the rounds of other loops say; NULL: all */
} Coming;

/* A loop whose rounds the threads of a group share. */
typedef struct Divided {
    unsigned threads;  /* of a group; 0: the loop is not such a one */
    const Loop *whole; /* the loop that each executes alone where there are too few rounds; NULL: none was found */
    const Block *test; /* whose branch leads to one or the other */
} Divided;

enum { MOST_SCALED = 64 };

/* A loop whose variable is divided or multiplied by a constant in each round. */
typedef struct Scaled {
    RegId phi;        /* the variable, in the loop's header; REG_NONE: there is none */
    double most;      /* the most rounds it can make; INFINITY: there is no such variable */
    uint64_t *values; /* of the variable, round by round, if the rounds are known */
    unsigned rounds;  /* 0: they are not */
} Scaled;

/* A form being estimated: its body in SSA form, and the known facts about the launch. */
typedef struct Estimate {
    Arena *arena;
    const Body *body;
    Analyses *analyses;
    const Affine *values; /* with the scalar arguments that are known: they decide branches and trip counts, while
                           * addresses are judged by their form, in which a pitch is a pitch */
    double block[3]; /* threads, after coarsening */
    double blocks;
    bool at_edge, splits_warps; /* as in AssumedLaunch */
    double assumed_trips; /* of loops whose trip counts are not known; some are if ... */
    bool assumes_trips;
    double original_threads; /* of a block, before coarsening */
    Flow *flow;        /* by Block.id */
    Flow *edges;       /* by the index of the edge in the flow graph */
    double *present;   /* by Block.id: the share of the thread blocks that reach it; others may be surplus */
    BitSet slow;       /* by Block.id: few threads come there, and others touch the same data elsewhere */
    double *trips;     /* by Loop.index: executions of the header by a warp that enters the loop */
    Flow *entries;     /* by Loop.index */
    Budget *left;      /* by Loop.index: what it leaves for the loops that continue it */
    LoopExits *exits;  /* by Loop.index */
    Continuation *continuations; /* by Loop.index; NULL: not computed yet */
    Divided *divided;  /* by Loop.index */
    Scaled *scaled;    /* by Loop.index */
    double *known_iterations; /* by Loop.index: those that follow from constants, else 0; below 0: not computed yet */
    double *thread_iterations; /* by Loop.index: those that the threads of a block make in the mean, else 0 */
    double *learned;   /* by RegId: the share of the threads for which a predicate holds that guards an if-then, as its
                        * form tells; below 0: it guards none */
    VEC(RegId) guards; /* these predicates */
    double *holding;   /* by RegId: the share of the threads for which it holds; below 0: not computed yet */
    double *branching; /* by Block.id: the same for the condition of the block's branch, where that is */
    ThreadRounds *counted;  /* by RegId: of a condition that follows from the thread's index */
    Coming *coming;         /* by Block.id */
    Map seen;          /* keys of the accesses that have been estimated: coalescing.c */
    bool touches_images[2]; /* a load, a store of a texture or surface has been estimated */
    Map objects;       /* from pointers to numbers of the objects in these keys */
    Differing differing[4]; /* along x, y, z, and from block to block */
} Estimate;

/* The instruction that makes the register; NULL: a phi, or there is no register. */
static inline const Inst *estimate_maker(const Estimate *estimate, RegId reg)
{
    return reg == REG_NONE ? NULL : value_inst(analyses_values(estimate->analyses), reg);
}

/* The scalar parameter of 32 bits that the sum is, or a multiple of; NULL: it is another sum. */
static inline const AffineTerm *estimate_parameter(const AffineForm *form)
{
    const AffineTerm *term = form->terms;
    const bool is_one = form->term_count == 1 && !form->constant && term->base == AFFINE_PARAM && !term->offset &&
                        term->reg == 32;
    return is_one ? term : NULL;
}

static inline double estimate_warps(const Estimate *estimate)
{
    return (double)divide_up((uint64_t)(estimate->block[0] * estimate->block[1] * estimate->block[2]), WARP_THREADS);
}

/* ends.c: the instruction that computes the condition of the block's branch; NULL if it has none. */
const Inst *estimate_condition(const Estimate *estimate, const Block *block);
/* True if the bounds of its operands decide the comparison; *holds: in this way. */
bool estimate_decides(const Estimate *estimate, const Computation *c, bool *holds);
/* The same for the comparison of the block's branch; false if it has none. */
bool estimate_branch_is_decided(const Estimate *estimate, const Block *block, bool *holds);
/* True if some threads leave the kernel at the end of the block, and the others go on. */
bool estimate_may_exit(const Block *block);
/* True if nothing but the exit follows from this block on. */
bool estimate_only_leaves(const Block *block);
/* True if all that come to the block stop in a trap, as only wrong launches do. */
bool estimate_traps(const Block *block);
/* Whether the block's branch guards an if-then, and on which outcome its part is executed. */
bool estimate_guards(const Estimate *estimate, const Block *block, bool *if_true);
/* The flow along an edge that leaves a block whose flow is known; none if there is no such edge. */
Flow estimate_edge(const Estimate *estimate, const Block *from, const Block *to);

/* frequency.c: fills in the flow, and what it depends on. */
void estimate_frequencies(Estimate *estimate);

/* thread_trips.c: the iterations of a loop that counts from the thread's index to a bound, in the mean of a block's
 * threads that enter it; 0: they are not known. */
double estimate_thread_iterations(const Estimate *estimate, const Loop *loop);
/* rounds.c: the share of a loop's rounds in which a condition on its variable holds; below 0: it depends on more. */
double estimate_count_rounds(const Estimate *estimate, RegId condition);

/* threads.c: the share in which a condition has the value, of those that come to the block, if it is about the thread's
 * index alone; else below 0. */
Share estimate_count_threads(Estimate *estimate, RegId condition, bool value, const Block *at);
/* The value that a register has in all threads of a block, if it follows from the block's size alone. */
bool estimate_value_of_block(const Estimate *estimate, RegId reg, uint64_t *value);
/* Notes which threads come to a block, after the blocks that dominate it. */
void estimate_note_threads(Estimate *estimate, const Block *block);
/* The instructions of the longest warp of a block over those of the mean warp, as far as conditions on the thread's
 * index alone tell. After estimate_frequencies(). */
double estimate_longest_warp(const Estimate *estimate);

/* alike.c: whether the values are computed in the same way, perhaps for different replicas. */
bool estimate_alike(const Estimate *estimate, RegId a, RegId b);

/* multiples.c: true if the operands, of which one is 0, are equal: the other one is the low bits of a multiple. */
bool estimate_leaves_no_rest(const Estimate *estimate, const Computation *equality);
/* True if the comparison asks whether sums are multiples, and a known one is not: alignment.c. */
bool estimate_is_misaligned(const Estimate *estimate, const Computation *equality);

/* magnitudes.c: true if the predicate compares a floating-point number with a constant so large or small that nearly
 * all numbers are on one side of it; *holds: the outcome for these. */
bool estimate_is_extreme(const Estimate *estimate, RegId predicate, bool *holds);

/* branches.c: fills in 'learned' and 'guards', and makes room for what is computed later. */
void estimate_learn_guards(Estimate *estimate);
/* The share in which a predicate has the value where control is at the end of the block. */
Share estimate_share(Estimate *estimate, RegId predicate, bool value, const Block *at);
/* The share that goes to one of the block's two successors; the other may be NULL, for the end of the kernel. */
Share estimate_side(Estimate *estimate, const Block *block, const Block *to, const Block *other);
/* True if the condition of the block's branch depends on a vote of all threads about the bounds of the data. */
bool estimate_is_vote(const Estimate *estimate, const Block *block);
/* The share of the thread blocks that go on after a conditional exit. If k blocks of the grid are merged into one, one
 * of each k blocks goes on (opt/coarsen/index.c): the one whose index modulo k equals the chosen number. */
double estimate_staying(const Estimate *estimate, const Block *block);

/* divided.c: the threads of the group whose number is subtracted in the start of a counter, and the rest of the sum,
 * with its terms in 'terms'; 0: there is none. */
unsigned estimate_group(const Estimate *estimate, const AffineForm *start, AffineForm *rest, AffineTerm *terms);
/* Whether threads of a group share the rounds of the loop. */
Divided estimate_divided(const Estimate *estimate, const Loop *loop);

/* trips.c: the constant that a register holds, with the scalar arguments that are known. */
bool estimate_constant(const Estimate *estimate, RegId reg, int64_t *value);
/* The block whose branch decides whether the loop goes on to this latch: the latch itself, or one other than the header
 * that leads straight to it. */
const Block *estimate_decider(const Loop *loop, const Block *latch);
/* The iterations of the loop, and of the loops that it continues in its own steps, if they follow from
 * constants; else 0. */
double estimate_known_iterations(const Estimate *estimate, const Loop *loop);
/* True if one side of the branch at the end of the loop's block leaves the loop, and the other does not. */
bool estimate_may_leave(const Estimate *estimate, const Loop *loop, const Block *block);
/* The constant by which a phi grows if 'next' is its next value; 0 if that is not the phi and a constant. */
int64_t estimate_advance(const Affine *affine, RegId phi, RegId next);
/* True if the loop goes on where the condition of the block's branch holds. */
bool estimate_stays_if_true(const Estimate *estimate, const Loop *loop, const Block *block);
/* True if the loop can be left at its header before it has done the work of an iteration: then the header is executed
 * once more than the rest. */
bool estimate_tests_first(const Estimate *estimate, const Loop *loop);
/* The iterations, known or assumed, of the loop and those that continue it, in its steps. */
double estimate_chain_iterations(const Estimate *estimate, const Loop *loop);
/* True if the loop has few iterations in constant steps, as one over merged threads has. */
bool estimate_has_few_rounds(const Estimate *estimate, const Loop *loop);
LoopExits estimate_exits(const Estimate *estimate, const Loop *loop);

/* scaled.c. */
Scaled estimate_scaled(const Estimate *estimate, const Loop *loop);

/* continued.c. */
Continuation estimate_continuation(const Estimate *estimate, const Loop *loop);
/* The loop that this one continues; NULL: it begins anew. */
const Loop *estimate_continued(const Estimate *estimate, const Loop *loop);
/* The phi of the loop's header that is a term of the value, once; *form: the whole sum. REG_NONE: none. */
RegId estimate_header_phi(const Estimate *estimate, const Loop *loop, RegId value, AffineForm *form);
/* The loop that continues this one; NULL: none does. */
const Loop *estimate_continuer(const Estimate *estimate, const Loop *loop);
/* The last one of the chain of loops that this one begins or continues; *ratio: its steps in one of this one. */
const Loop *estimate_last_of_chain(const Estimate *estimate, const Loop *loop, double *ratio);

/* True if threads leave some loop for reasons other than a counted number of trips: warps then differ in length, by an
 * amount that the estimate does not know. After estimate_frequencies(). */
bool estimate_is_uneven(const Estimate *estimate);

/* differing.c: true if a value differs between the lanes that use it together in the block. 'along' is 0 to 2 for lanes
 * whose indices differ in x, y or z, or ALONG_BLOCKS for the threads of different blocks. */
bool estimate_differs(Estimate *estimate, unsigned along, RegId reg, const Block *block);

/* coalescing.c: the traffic of one access by a whole warp. */
typedef struct AccessShape {
    double sectors, lines; /* global */
    double wavefronts;     /* passes of the data banks */
    double bank_conflicts; /* of these, those beyond one for each group of lanes that is served together */
    double distinct;       /* sectors that the access touches in a block, over all its executions there; 0: those of an
                            * earlier access whose address differs by a constant */
    double far;            /* the same if that one is in another loop, else 0 */
    double new_share;      /* of 'distinct': what no neighbouring block touches */
    double near_share;     /* of the executions: they touch what a thread beside has touched a round of a loop before */
    bool differs_by_block; /* else all blocks touch the same sectors */
    const Loop *returns;   /* in which each warp comes back to sectors of its own in the next round; NULL: in none */
    uint64_t rows;         /* the same for accesses to the same sectors in these rounds */
} AccessShape;

AccessShape estimate_access(Estimate *estimate, const Inst *inst, const Access *access);

/* Loads of a loop whose warps come back to the same sectors of their own in the next round. */
typedef struct Returning {
    const Loop *loop;
    double executions; /* by warps */
    double again;      /* the sectors that they load again */
} Returning;

typedef struct Returns {
    VEC(Returning) loads;
    Map places;    /* from loops and rows to places in 'loads' */
    double *lines; /* by Loop.index: those that are loaded in the loop and in none within */
} Returns;

/* returns.c: notes what a load, whose shape says that it returns, loads again. */
void returns_add(Arena *arena, Returns *returns, const AccessShape *shape, double executions, double again);
/* Sets the profile's distances of what warps load again, once all loads are noted. */
void returns_set(const Estimate *estimate, Returns *returns, Profile *profile);
/* The sectors that warps load again, over all distances. */
double returns_total(const Profile *profile);

/* copies.c: makes the reads of copies that are hidden from the assembler read the originals. The body is in SSA
 * form. */
void estimate_see_through_copies(Body *body);

/* values.c: the sources that a value is computed from. */
typedef enum ValueSource {
    SOURCE_THREAD = 1 << 0, /* %tid */
    SOURCE_MEMORY = 1 << 1, /* a load, other than of a parameter */
    SOURCE_LOOP = 1 << 2,   /* a phi of a loop's header */
} ValueSource;

/* The set of sources of a register, as far as a bounded walk sees them. */
unsigned value_sources(const Estimate *estimate, RegId reg);
/* True if it is computed from the thread's index and from what all threads have, perhaps in rounds of loops: in each
 * round, a thread of the grid is at one place of the data. */
bool value_is_place(const Estimate *estimate, RegId reg);
/* True if it is computed only from the index of the thread block, the sizes of the grid and of a block, and
 * constants. */
bool value_is_of_grid(const Estimate *estimate, RegId reg);

#endif
