/* The declarations that the files of threads which change places share. */
#ifndef PTXOPT_OPT_ORDER_EXCHANGING_H
#define PTXOPT_OPT_ORDER_EXCHANGING_H

#include "opt/order/flat_index.h"
#include "opt/pass.h"

enum {
    SECTOR = 32,
    MOST_DIVISORS = 4,
    MOST_DEPTH = 6, /* of computations that are followed */
};

/* The divisors of the thread's index. */
typedef struct Divisor {
    double constant;
    RegId regs[MOST_DIVISORS];
    unsigned count;
} Divisor;

typedef struct Exchanger {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Values *values;
    const Affine *affine;
    const KnownParameters *known; /* of the launches; NULL: none */
    FlatIndex flat;
    unsigned bytes; /* of the elements that are rows apart */
    Divisor divisor;
    Span span;      /* of the access to them */
} Exchanger;

/* exchange_guess.c */
/* Finds an access outside of loops whose elements are neighbours for threads that are the product of the divisors
 * apart, and sets it with the divisors. A guess: what it says is not proven. */
bool exchange_guess(Exchanger *e);

#endif
