/* Loops of a few rounds. */
#ifndef PTXOPT_OPT_LOOPS_ROUNDS_H
#define PTXOPT_OPT_LOOPS_ROUNDS_H

#include "analysis/analysis.h"

enum { ASSUMED_MOST = 4 };

/* Parameters that are assumed to have known values, and those of them that something depends on. */
typedef struct AssumedParameters {
    const KnownParameters *known;
    ParameterPart parts[ASSUMED_MOST];
    uint64_t values[ASSUMED_MOST];
    unsigned count;
} AssumedParameters;

/* The value of one of them as a signed integer. */
int64_t assumed_number(const AssumedParameters *assumed, unsigned index);

/* The same as known parameters, in the arena. */
KnownParameters known_assumed(Arena *arena, const AssumedParameters *assumed);

/* The bounds of a value in the first round of a loop with a preheader. */
Bounds first_round_bounds(const Body *body, const Values *values, const Loop *loop, RegId reg);

/* The number of rounds of a loop that is left at its end alone, if it is known and all of them may be put one after the
 * other; else 0. 'assumed' (NULL: nothing is) gets the parameters that this depends on. O(rounds * instructions). */
unsigned short_loop_rounds(Arena *scratch, const Loop *loop, Analyses *analyses, const Body *body,
                           AssumedParameters *assumed);

/* Whether a loop is passed by, because parameters are as assumed. 'assumed' gets those that this depends on, if they
 * are as small as the number of a short loop's rounds. */
bool skipped_loop_find(const Loop *loop, Analyses *analyses, const Body *body, AssumedParameters *assumed);

#endif
