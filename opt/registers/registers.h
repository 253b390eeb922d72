/* The register search: its targets and its results. */
#ifndef PTXOPT_OPT_REGISTERS_REGISTERS_H
#define PTXOPT_OPT_REGISTERS_REGISTERS_H

#include "opt/pass.h"
#include "opt/demands.h"
#include "opt/policy.h"
#include "opt/registers/move.h"
#include "opt/registers/search/needed.h"

enum { LOWEST_CAP = 24 }; /* assemblers raise a lower .maxnreg to this, with a warning */

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
    const char *const *controls; /* files of compiler controls that may be tried; NULL ends them, and is none */
    /* The pipeline sets these itself. */
    LaunchChange change; /* of the original's launch, by coarsening */
    uint64_t dynamic_shared; /* bytes of each block at launch */
    unsigned launch_threads; /* of a block of the launch that is counted; 0: none is. Others may have other blocks */
    unsigned launch_blocks;  /* that an SM gets in any launch that is given, at most; 0: none is */
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

/* The search's answer for a boundary. */
typedef enum BoundaryVerdict {
    BOUNDARY_NOT_TRIED,
    BOUNDARY_REJECTED, /* the input does not assemble for it: figures.message */
    BOUNDARY_MISSED,   /* the best form found has more registers: figures */
    BOUNDARY_EXCEEDED, /* the same for more registers than the input has, */
    BOUNDARY_UNUSED,   /* for which the assembler has no use, */
    BOUNDARY_SPILLS_MORE, /* or spills more than for the input */
    BOUNDARY_OBJECTED, /* by the policy: objection */
    BOUNDARY_NO_GAIN,  /* it is predicted to be slower, though by no more than the model can tell */
    BOUNDARY_HOPELESS, /* it costs spills, and even without them the warps gain too little: potential */
    BOUNDARY_SPILLS,   /* it costs spills */
    BOUNDARY_TOO_LONG, /* the code grows too much */
    BOUNDARY_FITS,     /* it can be taken */
} BoundaryVerdict;

/* A register count at which more blocks fit than with the input's, or as many with more registers; and its price. */
typedef struct RegistersBoundary {
    unsigned registers, blocks, warps; /* the last two of an SM */
    Figures figures;                   /* of the best form found; not known: none was looked for */
    double speedup;                    /* predicted, over the input; 0: unknown */
    double potential; /* the speedup with the input's code and this boundary's warps; 0: unknown */
    bool is_raise;    /* more registers, and no block less than the input has in known launches; the first, if any */
    bool is_chosen;
    BoundaryVerdict verdict;
    Objection objection;
} RegistersBoundary;

/* Why no value can go to shared memory. */
typedef enum SharedObstacle {
    SHARED_FREE,          /* one can, or the pass is switched off */
    SHARED_BLOCK_UNKNOWN, /* how many threads a block has */
    SHARED_OPAQUE,        /* an instruction is unknown */
    SHARED_CALLS,         /* it calls functions */
    SHARED_ASYNCHRONOUS,  /* registers are written asynchronously */
    SHARED_ASKED_FOR,     /* it asks how much shared memory it has */
    SHARED_AT_LAUNCH,     /* how much is left is only known at launch */
} SharedObstacle;

/* The result of the search, or the obstacle; of the explanation, the members that it names are set. */
typedef enum RegistersOutcome {
    REGISTERS_NOTHING,
    REGISTERS_NOT_ASSEMBLED, /* the input: result.before */
    REGISTERS_FIXED,         /* demand: no form may have other registers */
    REGISTERS_SHARES,        /* the same, but with other immediates of setmaxnreg it spills less: shares, 'found' */
    REGISTERS_FITS,          /* the input fits: result.before */
    REGISTERS_CAP_REJECTED,  /* the input under the cap: result.capped */
    /* A fixed target. */
    REGISTERS_REACHED,       /* by 'found' */
    REGISTERS_DROPPED,       /* only by 'other', which has more than most_instructions */
    REGISTERS_MISSED,        /* by every form, of which 'found' is the best */
    REGISTERS_CAP_IS_FASTER, /* 'found' is the input under the cap, which is faster than 'other', with 'speedup' */
    REGISTERS_OBJECTED,      /* the form found is not worth its price: objection */
    REGISTERS_CAP_ALONE,     /* the same; 'found' is the input under the cap, which is */
    REGISTERS_UNSPILLED,     /* 'other' would spill, 'found' is the lowest that does not */
    REGISTERS_NO_LOWER,      /* the same, and there is no lower one */
    /* GOAL_AUTO, with 'threads' in a block. */
    REGISTERS_CUT,           /* demand: no boundary is low enough */
    REGISTERS_NO_BOUNDARY,   /* fewer registers fit no other block */
    REGISTERS_NO_GAIN,       /* no boundary is worth taking */
    REGISTERS_BOUNDARY,      /* the chosen one is taken */
    /* GOAL_FEWEST. */
    REGISTERS_FEWEST,        /* 'found', predicted with 'speedup' (0: unknown) and 'growth' */
    REGISTERS_TOO_DEAR,      /* none is worth its price: objection */
    REGISTERS_NONE_FEWER,    /* no form has fewer */
} RegistersOutcome;

typedef struct RegistersExplanation {
    RegistersOutcome outcome;
    Figures found, other;
    Objection objection; /* to the form that is taken although, or not taken because */
    double speedup, growth;
    unsigned assemblies; /* that were used */
    uint64_t most_instructions;
    RegistersNeeded needed;  /* by every form, if more than the target */
    SharedObstacle obstacle; /* why spills cannot go to shared memory */
    unsigned threads;        /* of a block */
    ThreadsOrigin origin;    /* how far to trust that */
    Occupancy now;           /* with the input */
    unsigned launched;       /* blocks that an SM gets in any launch that is given; 0: none is */
    DemandObjection demand;
    unsigned shares[4]; /* registers after .dec and .inc: the input's, then the form's */
    bool moves_spills; /* nothing else is changed, but spills of the kernel's own are in shared memory: result.after */
} RegistersExplanation;


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
    RegistersExplanation explanation;
} RegistersResult;

/* Searches for a form of context->body (SSA or not) that takes at most the target, and replaces the body by the best
 * form found, which is not in SSA form. Needs the context's judge and machine. A candidate is kept only where the
 * judge's figures are better: first registers above the target, then spilled bytes, then instructions, then registers.
 * The result is never worse than the input under the same cap. Deterministic. After CUDAVis (SCOPES'10), the sections
 * on rematerialization, reordering and virtual register boundaries. */
void registers_reduce(PassContext *context, const RegistersRequest *request, RegistersResult *result);

#endif
