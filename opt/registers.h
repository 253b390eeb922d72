/* Fewer registers: what is tried, and what the assembler makes of it. */
#ifndef PTXOPT_OPT_REGISTERS_H
#define PTXOPT_OPT_REGISTERS_H

#include "opt/pass.h"

typedef struct RegistersRequest {
    bool is_auto;    /* the highest boundary below the input's registers that can be reached without spilling */
    unsigned target; /* registers of each thread; unused with is_auto */
    unsigned effort; /* how many candidates may be assembled; the input itself and its cap always are */
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

/* Searches for a form of context->body (SSA or not) that takes at most the target, and replaces the body by the best
 * form found, which is not in SSA form.  Needs the context's judge and machine.  A candidate is kept only where the
 * judge's figures are better: first registers above the target, then spilled bytes, then instructions, then registers.
 * The result is never worse than the input under the same cap.  Deterministic.  After CUDAVis (SCOPES'10), the sections
 * on rematerialization, reordering and virtual register boundaries. */
void registers_reduce(PassContext *context, const RegistersRequest *request, RegistersResult *result);

#endif
