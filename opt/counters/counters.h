/* Private counters: what the threads of a block update atomically in global memory is added up in shared memory; and
 * partial sums: what a thread updates at one address is added up in a register first. */
#ifndef PTXOPT_OPT_COUNTERS_COUNTERS_H
#define PTXOPT_OPT_COUNTERS_COUNTERS_H

#include "opt/common/refusal.h"

enum { COUNTERS_BYTES_MOST = 16384 }; /* a block that has more leaves little of an SM to others */

/* An atomic operation in global memory. */
typedef struct CountedUpdate {
    Span span;
    const Loc *loc; /* NULL: unknown */
    bool done;
    uint64_t counters; /* done: of the block, for all updates of the same array */
    unsigned copies;   /* done: of each counter */
    uint64_t bytes;    /* done: of all of them */
    bool reassociates; /* done: floating-point numbers are added in another order */
    bool is_tested;    /* done: others than these counters are updated in global memory */
    Refusal refusal;   /* not done */
} CountedUpdate;

/* An update that a partial sum has taken the place of. */
typedef struct PartialSum {
    Span span;
    const Loc *loc; /* NULL: unknown */
    bool in_loop;     /* of all rounds; the update comes after the loop */
    unsigned updates; /* not in_loop: how many are one now */
    bool reassociates; /* floating-point numbers are added in another order */
} PartialSum;

typedef struct PartialSums {
    VEC(PartialSum) sums;
} PartialSums;

typedef struct CountersResult {
    Refusal refusal; /* of the kernel as a whole */
    VEC(CountedUpdate) updates;
} CountersResult;

/* Whether any of them adds floating-point numbers in another order. */
bool counters_reassociate(const CountersResult *result);
bool partial_sums_reassociate(const PartialSums *result);
/* The updates that count in shared memory. */
unsigned counters_count(const CountersResult *result);

#endif
