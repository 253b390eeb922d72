/* How often a loop goes round, as code. */
#ifndef PTXOPT_OPT_COMMON_TRIPS_H
#define PTXOPT_OPT_COMMON_TRIPS_H

#include "opt/common/sums.h"

/* A value of 32 or 64 bits that grows by 'step' in each round: a phi of the header plus 'offset', plus or minus the
 * addend. Compilers that unroll a loop and keep one counter for all of it make such an addend. */
typedef struct LoopCounter {
    RegId start;            /* the phi's in the first round */
    int64_t step, offset;
    unsigned bits;          /* of the value, the phi and the addend */
    RegId addend;           /* made before the loop; REG_NONE: nothing is added */
    bool subtracts;         /* the addend */
    bool is_strided;        /* not by 'step', which is 0, but by a register: */
    RegId stride;           /* made before the loop, of 'bits' bits */
    RegId phi;              /* strided: the header's */
} LoopCounter;

/* False if the register, which the loop makes, is not such a value. */
bool loop_counter_find(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId reg, LoopCounter *out);
/* The register, as wide and made before the loop, that the header's phi grows by in each round; REG_NONE: it does
 * something else. *next: the sum. */
RegId loop_stride(const Loop *loop, const LoopForest *loops, const Values *values, const Phi *phi, RegId *next);
/* The same for a phi that grows by a register, as the index of a grid-stride loop. */
bool loop_counter_find_strided(const Loop *loop, const LoopForest *loops, Analyses *analyses, RegId reg,
                               LoopCounter *out);
/* A register with what the value is in the first round, without the offset, with the code that it takes.
 * The sum may wrap, as it does in the loop. */
RegId loop_counter_build_start(const SumPlace *place, const LoopCounter *counter);

/* A loop with one exit, decided by a counter, which is compared with the bound in each round; the loop is left after
 * the first one in which the two are equal (or, with is_ordered, the counter has reached the bound). */
typedef struct TripCount {
    Block *exiting;
    LoopCounter counter;
    bool is_ordered, is_signed;
    RegId bound;            /* REG_NONE: 'constant' */
    int64_t constant;
} TripCount;

/* False if the loop is not of that kind. */
bool trip_count_find(const Loop *loop, const LoopForest *loops, Analyses *analyses, TripCount *out);
/* The same for loops that may end earlier, because they have other exits as well or go on while several conditions
 * hold, and for those that go on while a strided counter is less than the bound; 'offset' is then 0 if it is
 * compared, and 1 if its next value is. The number of rounds is an upper bound then. */
bool trip_count_find_most(const Loop *loop, const LoopForest *loops, Analyses *analyses, TripCount *out);

/* The most rounds that the loop can go, as far as bounds of the values tell; INT64_MAX: unknown. */
int64_t trip_count_bound(const TripCount *trips, const Affine *affine);

/* The rounds, if start and bound are constants; 0: they are not, or the loop does not end before the counter wraps. */
uint64_t trip_count_constant(const TripCount *trips, const Affine *affine);
/* Whether the number of rounds that trip_count_build() gives is right if the loop ends at all, whatever the predicate
 * says: counters whose step is a power of two do not meet a bound that is between two steps, even if they wrap. */
bool trip_count_is_exact(const TripCount *trips);

/* Adds code to the loop's preheader. *rounds: a 64-bit register with the number of the last round, or more. Gives a
 * predicate that says that this is right, and that the number is below 'limit'. */
RegId trip_count_build(const SumPlace *place, const TripCount *trips, uint32_t limit, RegId *rounds);

/* The same for a strided loop that compares the counter's next value. *way: a 64-bit register with the most that the
 * counter is beyond its start in any round; no value wraps, and the way is below 'limit', if the predicate holds. */
RegId strided_way_build(const SumPlace *place, const TripCount *trips, int64_t limit, RegId *way);

/* A counter that falls to zero, and says in each round whether another one follows. */
typedef struct FallingCounter {
    Inst *step, *test; /* one after the other, where the caller puts them: in each round, at its end */
    RegId more;        /* the predicate that 'test' sets */
} FallingCounter;

/* Adds the counter to the loop's header: 'rounds', at least one, where control comes from 'enter', and one less where
 * it comes from a latch. */
FallingCounter falling_counter_add(Body *body, Block *header, Block *enter, RegId rounds, Block *const *latches,
                                   size_t latch_count);

/* A loop whose rounds another one takes 'size' at a time, a power of two; the loop itself does those that are left:
 *
 *     gate -> top -> .. tail -> rest -> after
 *              ^---------'       '----> header */
typedef struct RoundGroups {
    Body *body;
    unsigned size;
    RegId last;          /* the number of the loop's last round, 64 bits */
    RegId least;         /* that of the last round that groups may have, which is not greater; REG_NONE: the same */
    RegId groups, left;  /* their number, and of rounds after them: 32 bits */
} RoundGroups;

/* Adds code to the preheader. Gives a predicate: the number of rounds is known, and there is a group. The numbers are
 * then set by round_groups_count(), at the end of a block, for names derived from 'base'. */
RegId round_groups_test(const SumPlace *place, const TripCount *trips, unsigned size, RoundGroups *groups);
void round_groups_count(RoundGroups *groups, Block *block, const char *base);
/* Ends the tail, which has no terminator, and the rest: back to the top while there are groups, then to the header, or
 * to 'after' if no round is left. */
void round_groups_end(const RoundGroups *groups, Block *gate, Block *top, Block *tail, Block *rest, Block *header,
                      Block *after);

/* The only edge out of the loop: its source; NULL if there are several. */
Block *loop_only_exit(const Loop *loop, const LoopForest *loops);
/* The argument of a phi of the header for the preheader. */
RegId loop_start(const Loop *loop, const Phi *phi);
/* The sum that the phi grows by each time round: of the one value that all latches give it, less the phi. False if
 * it is not such a sum. Terms are in 'terms'; coefficients are modulo 2^bits. */
bool loop_step(const Loop *loop, const Phi *phi, const Affine *affine, AffineTerm terms[AFFINE_TERMS],
               AffineForm *step);
/* True if the term is the same in all rounds. */
bool loop_term_is_fixed(Arena *scratch, const Loop *loop, Analyses *analyses, const AffineTerm *term);
/* The constant that each round adds to the sum, whatever wraps. False if it adds something else. */
bool loop_sum_step(Arena *scratch, const Loop *loop, Analyses *analyses, const AffineForm *form, int64_t *step);

#endif
