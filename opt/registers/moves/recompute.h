/* Recomputing values after a place where too many are live, by minimum cuts. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_RECOMPUTE_H
#define PTXOPT_OPT_REGISTERS_MOVES_RECOMPUTE_H

#include "analysis/analysis.h"
#include "target/target.h"

typedef struct RecomputeRequest {
    int32_t limit;  /* places with at most this many live registers are left alone */
    unsigned worth; /* instructions that may be executed to keep one register free at a place */
    uint64_t most;  /* instructions; once more than this have been added, no further place is looked at */
} RecomputeRequest;

/* Recomputes values after the places with the most live registers, until none is above the limit or nothing is gained.
 * At each place, which values stay in registers and which are computed again from them is a minimum cut, so that
 * registers and instructions together cost the least. Requires and preserves SSA form; blocks and edges stay. Returns
 * how many instructions are added, as machine code would count them. */
unsigned recompute_values(Body *body, Analyses *analyses, const SmLimits *sm, const RecomputeRequest *request);

#endif
