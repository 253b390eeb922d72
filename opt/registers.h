/* Fewer registers: what is tried, and what the assembler makes of it. */
#ifndef PTXOPT_OPT_REGISTERS_H
#define PTXOPT_OPT_REGISTERS_H

#include "machine/machine.h"
#include "opt/judge.h"

typedef struct RegistersRequest {
    bool is_auto;           /* the highest boundary below what the input takes that can be reached without spilling */
    unsigned target;        /* registers for each thread; not with is_auto */
    const Machine *machine; /* never NULL */
    unsigned block_threads; /* threads of a block as the kernel now stands; 0: not known */
    unsigned shared_bytes;  /* dynamic shared memory for each block at launch, where known */
    unsigned effort;        /* how many candidates may be assembled; the input itself and its cap always are */
    bool use_schedule, use_rematerialize, use_sink, use_launch_bounds; /* which passes may be tried */
} RegistersRequest;

typedef struct RegistersStep { /* one candidate, for the report */
    const char *what;          /* "schedule for pressure", "rematerialize 12 values", ".maxnreg 32" */
    Figures figures;
    bool kept;
} RegistersStep;

typedef struct RegistersResult {
    Figures before;  /* the kernel as it came, without a cap but its own .maxnreg */
    Figures capped;  /* the kernel as it came, under the cap that the target asks for; 'before' where that needs none */
    Figures after;
    unsigned target; /* what was aimed at: the request's, or the boundary chosen; 0: auto found nothing to gain */
    bool reached;
    bool changed;
    RegistersStep *steps;
    unsigned step_count;
    const char *explanation; /* one or two sentences: what was reached, or what stands in the way */
} RegistersResult;

/* Searches for a form of *body (SSA or not; replaced by the best form found, never in SSA form) that takes at most the
 * target. A candidate is kept only where the judge's figures are better: first registers above the target, then spilled
 * bytes, then (auto: blocks on an SM, then) instructions.  The result is never worse than the input under the same cap.
 * Deterministic. CUDAVis (SCOPES'10) sections on rematerialization, reordering and virtual register boundaries. 'arena'
 * holds the result's text. */
void registers_reduce(Arena *arena, Function *kernel, Body **body, const RegistersRequest *request, const Judge *judge,
                      RegistersResult *result);

#endif
