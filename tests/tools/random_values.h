/* Recomputation without measuring its benefit, for tools that change kernels at random. */
#ifndef PTXOPT_TESTS_RANDOM_VALUES_H
#define PTXOPT_TESTS_RANDOM_VALUES_H

#include "tests/tools/one_pass.h"

/* Rematerializes some values of a body in SSA form, as a random request asks. */
static inline void random_values_recompute(Body *body, Random *random)
{
    Arena *arena = arena_new();
    RematerializeRequest request = {
        .limit = (int32_t)random_below(random, 12),
        .cost = 1 + random_below(random, 8),
        .opaque = random_below(random, 2),
        .distance = random_below(random, 20),
        .extend = random_below(random, 2),
        .ignore_pressure = random_below(random, 2),
    };
    RematerializeCandidate *values;
    uint32_t count = one_candidates(arena, body, &request, &values);
    one_rematerialize(body, &request, values, count ? 1 + random_below(random, count) : 0);
    arena_free(arena);
}

#endif
