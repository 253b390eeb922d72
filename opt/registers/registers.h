/* The register search: its targets and its results. */
#ifndef PTXOPT_OPT_REGISTERS_REGISTERS_H
#define PTXOPT_OPT_REGISTERS_REGISTERS_H

#include "opt/pass.h"
#include "opt/registers/move.h"

/* The goal to which registers are lowered. */
typedef enum RegistersGoal {
    GOAL_COUNT,  /* a number */
    GOAL_AUTO,   /* the boundary, below the input's registers or the next one above, at which the kernel is predicted to
                  * be the fastest */
    GOAL_FEWEST, /* the fewest at a limited price */
} RegistersGoal;

typedef struct RegistersRequest {
    RegistersGoal goal;
    unsigned target; /* GOAL_COUNT: registers of each thread */
    double price;    /* GOAL_FEWEST: how much longer the form may take, in percent of the predicted time */
    bool spill;      /* whether reaching a fixed target may add spills; if not, the lowest count that adds none is
                      * used */
    unsigned knobs;  /* options of the assembler that may be tried: opt/registers/moves/knobs.h */
    /* The pipeline sets these itself. */
    LaunchChange change; /* of the original's launch, by coarsening */
    uint64_t dynamic_shared; /* bytes of each block at launch */
    unsigned launch_threads; /* of a block of the launch that is counted; 0: none is.  Others may have other blocks */
    unsigned effort; /* what may be assembled, for figures and for predicted times, in assemblies of the input: a form
                      * that is longer counts for more; the input itself and its cap are always assembled */
    bool is_original; /* the body says what the kernel's own statements say, which then are what is assembled for it */
} RegistersRequest;

/* One candidate, for the report. */
typedef struct RegistersStep {
    Move move;
    Figures figures;
    bool kept;
} RegistersStep;

/* A register count at which more blocks fit than with the input's, or as many with more registers; and its price. */
typedef struct RegistersBoundary {
    unsigned registers, blocks, warps; /* the last two of an SM */
    Figures figures;                   /* of the best form found; not known: none was looked for */
    double speedup;                    /* predicted, over the input; 0: unknown */
    bool is_chosen;
    const char *verdict;
} RegistersBoundary;

typedef struct RegistersResult {
    Figures before;  /* the input, without a cap other than its own .maxnreg */
    Figures capped;  /* the input under the cap that the target needs; 'before' where it needs none */
    Figures after;
    unsigned target; /* the request's, or the boundary that auto chose, or the fewest; 0: none is worth reaching */
    bool reached;
    bool changed;
    RegistersBoundary *boundaries; /* auto: from the highest down */
    unsigned boundary_count;
    RegistersStep *steps;
    unsigned step_count;
    const char *explanation; /* a sentence or two on what was reached, or on the obstacle */
} RegistersResult;

/* Searches for a form of context->body (SSA or not) that takes at most the target, and replaces the body by the best
 * form found, which is not in SSA form.  Needs the context's judge and machine.  A candidate is kept only where the
 * judge's figures are better: first registers above the target, then spilled bytes, then instructions, then registers.
 * The result is never worse than the input under the same cap.  Deterministic.  After CUDAVis (SCOPES'10), the sections
 * on rematerialization, reordering and virtual register boundaries. */
void registers_reduce(PassContext *context, const RegistersRequest *request, RegistersResult *result);

#endif
