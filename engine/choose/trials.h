/* The forms that -coarsen auto, -uj auto and -memory auto tried, and their decisions, as facts:
 * engine/report/trial_words.h words them. */
#ifndef PTXOPT_ENGINE_CHOOSE_TRIALS_H
#define PTXOPT_ENGINE_CHOOSE_TRIALS_H

#include "engine/judge/form_cost.h"
#include "opt/opt.h"

/* The numbers of trips of a loop that is short, and of one that is long, where they are not known. */
enum { SHORT_LOOP = 2, LONG_LOOP = 256 };

/* Launches that a build cannot rule out, although most are larger, and most loops longer or shorter. */
typedef enum Elsewhere {
    ELSEWHERE_NONE,        /* the launch in which a form must gain */
    ELSEWHERE_SMALL_GRID,  /* one block for each SM */
    ELSEWHERE_ONE_WAVE,    /* all blocks run at once */
    ELSEWHERE_SHORT_LOOPS, /* loops make SHORT_LOOP trips */
    ELSEWHERE_LONG_LOOPS,  /* loops make LONG_LOOP trips */
    ELSEWHERE_REMAINDERS,  /* unrolled loops make none: only their remainders go round */
} Elsewhere;

/* The fate of a form. */
typedef enum TrialState {
    TRIAL_MADE,         /* it is sound, and was not looked at further because the user ended the search */
    TRIAL_REFUSED,      /* by a pass: 'refusal' */
    TRIAL_UNCHANGED,    /* the passes had nothing to do */
    TRIAL_UNMET,        /* the launch does not meet its contract: 'unmet' */
    TRIAL_UNKNOWN,      /* its time is unknown: 'message' */
    TRIAL_OUTRANKED,    /* not assembled: by estimates, others are better */
    TRIAL_PART_SPILLS,  /* not assembled: 'part', which it includes, spills more than the input */
    TRIAL_NOT_REACHED,  /* not assembled: the user ended the search */
    TRIAL_BROKEN,       /* it does not assemble: 'message' */
    TRIAL_NOT_COMPARED, /* assembled, but the user ended the search */
    TRIAL_FORBIDDEN,    /* it loses 'elsewhere' */
    TRIAL_DEMANDING,    /* it may wait for ever: 'demand' */
    TRIAL_SPILLS,       /* more than the input */
    TRIAL_COMPARED,     /* with the input: 'cost' */
} TrialState;

typedef struct TrialVerdict {
    TrialState state;
    CostVerdict cost; /* the comparison with the input, from TRIAL_OUTRANKED on: the best there is */
    Refusal refusal;
    LaunchUnmet unmet;
    const char *message; /* the assembler's or the emulator's */
    Shape part;
    Elsewhere elsewhere;
    double elsewhere_speedup;
    DemandObjection demand;
    uint64_t spills, spills_before; /* TRIAL_SPILLS: bytes */
    unsigned registers;             /* TRIAL_COMPARED: those at which it is the fastest; 0: not searched */
} TrialVerdict;

/* A form that -coarsen auto tried. */
typedef struct CoarsenTrial {
    Shape shape;
    Stride stride;
    GuardForm guards;
    bool shrinks_grid; /* where blocks are merged: fewer are launched */
    bool fits_seldom;  /* launches whose grids that does not fit run the original, and grids are not known */
    bool sound;        /* false: refused, or not tried at all */
    bool is_compared;  /* assembled, and its time is that of the machine code's registers, ... */
    bool is_confirmed; /* ... and of its instructions as well, or these are unknown */
    double speedup;    /* predicted; 0: unknown */
    bool chosen;
    TrialVerdict verdict;
} CoarsenTrial;

/* Makes the request one for the trial's coarsening. */
static inline void trial_ask(const CoarsenTrial *trial, KernelRequest *request)
{
    request->coarsen = true;
    request->coarsening.shape = trial->shape;
    request->coarsening.stride = trial->stride;
    request->coarsening.guards = trial->guards;
    request->coarsening.shrinks_grid = trial->shrinks_grid;
}

typedef enum FactorOutcome {
    FACTOR_NOT_ASKED,
    FACTOR_INTERRUPTED, /* before a form was compared */
    FACTOR_IMPOSSIBLE,  /* nothing can be compared: the request's refusal says why */
    FACTOR_NONE_FITS,   /* no factor divides the block, and there are no blocks to merge */
    FACTOR_NONE_SOUND,  /* or all spill more than the input */
    FACTOR_FORBIDDEN,   /* 'best' gains, but loses in a launch that a build cannot rule out */
    FACTOR_LOSES,       /* the same, and 'best' does not gain enough either */
    FACTOR_NO_GAIN,     /* 'best' does not gain enough */
    FACTOR_CHOSEN,      /* 'best' */
    FACTOR_LOOPS_ALONE, /* not 'best', because iterations of loops side by side are faster without it */
    FACTOR_BY_MEMORY,   /* not 'best', because another form is faster with what -memory does */
} FactorOutcome;

/* One of the forms that are predicted to be the fastest. */
typedef struct RankedForm {
    KernelRequest request;
    double speedup; /* predicted */
} RankedForm;

/* From how many threads of the original launch for each SM on a form pays, by the value of a kernel's parameter: linear
 * between the points, constant outside. */
enum { PAYS_POINTS = 5, PAYS_NEVER = UINT32_MAX };
typedef struct PaysTable {
    unsigned parameter; /* from 0 */
    unsigned count;     /* 0: there is none */
    struct {
        uint32_t value, threads;
    } points[PAYS_POINTS];
} PaysTable;

/* The launches in which a form pays, as they are decided when they are made. */
typedef struct FormPays {
    unsigned from;        /* threads of the original launch for each SM; not in launches of fewer */
    PaysTable by_trips;   /* the same, where the launch's parameters are known */
    uint32_t factors;     /* nor where the blocks would fill their warps less well by this */
    unsigned least_block, most_block; /* threads of the original's block; 0: any number */
    unsigned most;        /* threads of the original launch for each SM; not in launches of more; 0: any number */
    AlignedParameter aligned; /* only where it is a multiple; 0: of any number */
} FormPays;

/* One of several forms that stay beside the original. */
typedef struct PreferredForm {
    KernelRequest request;
    double speedup; /* predicted for large launches in which it pays */
    FormPays pays;
} PreferredForm;

enum { MOST_PREFERRED = 7 };

/* The decision of -coarsen auto. Trials end here: only the request is used to make the form that is installed. */
typedef struct FactorChoice {
    KernelRequest request; /* the kernel's, with the chosen coarsening, or with none, or refused with the reason */
    FactorOutcome outcome;
    const CoarsenTrial *best; /* NULL: none is in the running */
    CountedPart counted;      /* what times rest on */
    Promise promise;          /* of 'best' */
    double plain_speedup;     /* of another number of registers alone; 1: none */
    double loops_alone;       /* FACTOR_LOOPS_ALONE: how many times as fast these are */
    Risk risk;                /* that was taken */
    double speedup;           /* predicted; 0: nothing was chosen */
    Interval interval;        /* of the speedup */
    FormPays pays;            /* other launches run the original */
    PreferredForm preferred[MOST_PREFERRED]; /* instead of 'request': launches take the first that pays */
    unsigned preferred_count;                /* 0: there is only 'request' */
    CoarsenTrial *trials;
    unsigned trial_count;
    RankedForm *ranked;       /* the best first, whether or not it was chosen; as many as the context asks for */
    unsigned ranked_count;
} FactorChoice;

/* A form that -uj auto tried. */
typedef struct JamTrial {
    UnrollJam jam;
    double speedup; /* predicted; 0: unknown, or it spills more */
    bool chosen;
    TrialVerdict verdict;
} JamTrial;

typedef enum LoopsOutcome {
    LOOPS_NOT_ASKED,
    LOOPS_NO_ASSEMBLER,
    LOOPS_NO_BLOCK, /* the block size is unknown, so times are */
    LOOPS_UNKNOWN,  /* the time without is unknown: 'without' */
    LOOPS_NONE,     /* the kernel has no loop */
    LOOPS_NO_GAIN,
    LOOPS_CHOSEN,
} LoopsOutcome;

/* The decision of -uj auto. */
typedef struct LoopsChoice {
    const UnrollJam *jams; /* those of the request, and those that were chosen */
    unsigned jam_count;
    unsigned given; /* those of the request */
    LoopsOutcome outcome;
    bool is_unsure;   /* LOOPS_NO_GAIN: a form is predicted to gain, but too likely to lose */
    TrialVerdict without;
    CostVerdict gain; /* LOOPS_CHOSEN */
    CountedPart counted; /* what times rest on */
    double cycles;    /* predicted, with these; 0: unknown */
    JamTrial *trials;
    unsigned trial_count;
} LoopsChoice;

/* A form that -memory auto or -refine auto tried. */
typedef struct MemoryTrial {
    RefineRequest refining; /* threads: 0 if none are divided, and then */
    bool coarsens; /* with this coarsening: */
    CoarsenRequest coarsening;
    bool edges, stages, counts, vectors;
    unsigned depth, buffers; /* staged: as in StageRequest, */
    bool unrolls, prefetches, before_vectors, holds_rows; /* as well */
    bool vectors_first; /* staged, vectors: as in KernelRequest */
    bool only_exchanges; /* staged: no loop has a tile, but threads of the launch change places */
    double speedup; /* predicted, over the form without; 0: unknown */
    bool chosen;
    TrialVerdict verdict;
} MemoryTrial;

typedef enum MemoryOutcome {
    MEMORY_NOT_ASKED,
    MEMORY_NO_ASSEMBLER,
    MEMORY_NO_BLOCK,  /* the block size is unknown, so times are */
    MEMORY_UNKNOWN,   /* the time without is unknown: 'without' */
    MEMORY_NONE,      /* there is nothing to stage or to join */
    MEMORY_NO_GAIN,
    MEMORY_CHOSEN,
    MEMORY_LOOPS_ALONE, /* not 'best', because iterations of loops side by side, with vectors, are faster without it */
} MemoryOutcome;

/* The decision of -memory auto and -refine auto. */
typedef struct MemoryChoice {
    KernelRequest request; /* the kernel's, with what was chosen, which may include another coarsening */
    MemoryOutcome outcome;
    TrialVerdict without;
    const MemoryTrial *best; /* NULL: none was compared */
    CountedPart counted;     /* what times rest on */
    bool coarsens_otherwise; /* chosen: with another coarsening than was chosen without */
    StageResult refused;     /* MEMORY_NONE: why nothing can be staged */
    MemoryTrial *trials;
    unsigned trial_count;
    unsigned left_out;       /* trials that were not compared because the time was over */
} MemoryChoice;

#endif
