/* The front of a loop's iterations side by side, up to an inner loop that goes round differently often in each. */
#ifndef PTXOPT_OPT_JAM_FRONT_H
#define PTXOPT_OPT_JAM_FRONT_H

#include "opt/jam/internal.h"

/* The bytes [low, high) from a register, which accesses touch that count from it. */
typedef struct FrontSpan {
    RegId base;
    int64_t low, high;
} FrontSpan;

typedef VEC(FrontSpan) FrontSpanVec;

/* A 32-bit sum that the inner loop extends to 64 bits, for an address. It must not wrap in the rounds. */
typedef struct FrontIndex {
    RegId reg;
    bool is_signed;
} FrontIndex;

/* A store, and reads of the inner loop, that must not meet: the one in any iteration, the other in a later one. The
 * reads' addresses grow by the same number of bytes in each round. They are compared at run time. */
typedef struct FrontConflict {
    uint32_t store, read; /* in stores and reads */
} FrontConflict;

typedef struct Front {
    const Loop *inner;       /* of one block */
    Block *round;            /* that block */
    Block *exit;             /* where it leads */
    VEC(Block *) lead;       /* the header, and on to the inner loop's preheader */
    TripCount trips;         /* of the inner loop */
    BitSet computed;         /* by RegId: the values that rounds compute of early ones alone */
    FrontSpanVec stores, reads;
    VEC(FrontIndex) indices;
    VEC(FrontConflict) conflicts;
} Front;

/* Brings inner loops into the form that a front needs. True if the body has changed; the analyses are then outdated. */
bool jam_prepare_inner(Jam *jam);
/* False if the loop is not of that kind, or, with the refusal set, if memory does not let fronts be executed together;
 * else the jam's conflicts are those of reads before the inner loop. */
bool jam_find_front(Jam *jam, Front *front);
/* Makes the loop, and gives its header. Cannot fail. */
Block *jam_copy_front(Jam *jam, const Front *front);

#endif
