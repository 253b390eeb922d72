/* How many registers an assembler will use, estimated from the body: for reports, for candidates that are not worth
 * assembling, and where there is no assembler. */
#ifndef PTXOPT_OPT_REGISTERS_SEARCH_ESTIMATE_H
#define PTXOPT_OPT_REGISTERS_SEARCH_ESTIMATE_H

#include "analysis/analysis.h"
#include "opt/registers/search/needed.h"
#include "target/target.h"

/* A value that is live where pressure peaks. */
typedef struct LiveValue {
    Name name;      /* of the register that the input has it in */
    Span span;      /* of the instruction that makes it; empty for one that several paths make */
    unsigned width; /* registers */
} LiveValue;

typedef struct RegisterEstimate {
    bool known;
    unsigned registers; /* without a cap */
    unsigned least;     /* the lowest cap without spills, as far as it is below 'registers' */
    /* The peaks from which the two are computed (analysis/orders.h), the highest of any block. */
    unsigned peak, least_peak, plenty_peak, spread_peak, across_peak;
    unsigned aim; /* the boundary of occupancy that the assembler aims at */
    bool fills;   /* as many warps fit on an SM with 'aim' registers as with fewer */
    unsigned called; /* registers of a function that is called, and what is live around the call */
    Span span; /* of the instruction where the body's own order has its peak */
    LiveValue *live; /* there: the widest first, then in the order of the code */
    unsigned live_count;
    RegistersNeeded needed; /* however code is ordered or recomputed: no estimate, but a lower bound */
} RegisterEstimate;

/* In 'arena'. The body must be in SSA form. */
RegisterEstimate register_estimate(Arena *arena, const Body *body, Analyses *analyses, const SmLimits *sm);

/* The registers that may be live at once under a cap of 'target' registers, without spills. */
int32_t register_room(const SmLimits *sm, unsigned target);

/* How far the body's own order exceeds 'target' registers: their number, summed over its instructions, which count more
 * in loops. Cheaper than the estimate. */
uint64_t register_excess(const Body *body, Analyses *analyses, const SmLimits *sm, unsigned target);

#endif
