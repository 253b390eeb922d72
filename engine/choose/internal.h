/* The state of a choice, which forms.c, weigh.c, boundary.c and choose.c share. */
#ifndef PTXOPT_ENGINE_CHOOSE_INTERNAL_H
#define PTXOPT_ENGINE_CHOOSE_INTERNAL_H

#include "engine/choose/bases.h"
#include "engine/choose/choose.h"
#include "engine/choose/pays.h"
#include "engine/progress.h"
#include "engine/report/trial_words.h"

/* Forms that merge threads, and forms that merge only blocks. */
enum { KINDS = 2 };

/* A form that coarsening makes. */
typedef struct Candidate {
    CoarsenTrial *trial;
    KernelResult result; /* has a body while the candidate is in the running */
    Figures figures;     /* once it is assembled */
    bool is_narrow;      /* its blocks have less than a warp, while the input's have one */
    bool is_estimated, is_allowed; /* it was compared by estimates, and no launch forbids it */
    bool is_searched;    /* its speedup is at the boundary that is best for it */
} Candidate;

typedef struct Choice {
    Arena *arena;
    Function *kernel;
    const KernelRequest *request; /* the kernel's, which does not coarsen yet */
    const PipelineOptions *options;
    PipelineOptions quiet; /* without an assembler or dumps */
    AssemblerJudge *judge;
    struct Progress *progress; /* NULL: not shown */
    /* The bases, three times, from the cheapest figures to the best: */
    Bases rough; /* estimated, to decide which forms are counted */
    Bases bases; /* counted if there is a launch, to rank forms */
    Bases exact; /* by machine instructions, to confirm the best; set up on first use */
    Risk risk;
    bool launch_decides; /* the original stays beside the form */
    bool keeps_several;  /* or beside several */
    ForLaunches launches;
    bool has_trips;      /* and a parameter sets the lengths of loops: */
    TripParameter trips;
    bool is_block_known; /* otherwise, several sizes are assumed */
    bool reads_block_index[3]; /* along x, y, z; if not, merged blocks would repeat the same work */
    CoarsenTrial *trials;
    unsigned trial_count;
    Refusal refusal;       /* of the first trial that was refused */
    Candidate *candidates; /* for the sound forms */
    unsigned candidate_count;
    unsigned weighed_count; /* how many of them, the first ones, are assembled and counted */
    Candidate *reserve; /* forms to be weighed if others spill, from the best to the worst by estimates */
    unsigned reserve_count;
    const CoarsenTrial **spilling; /* forms that spill more than the input */
    unsigned spilling_count;
    const CoarsenTrial **hopeless; /* forms that estimates reject so clearly that none is made that merges more */
    unsigned hopeless_count;
    bool has_no_interior; /* no loop can have a version without guards */
    bool was_over;        /* a stage before this one ended early */
    double plain_speedup; /* of the input without coarsening: the gain from registers alone */
} Choice;

/* True if the user wants the search to end; the best form so far is then taken. */
static inline bool is_over(const Choice *choice)
{
    const Judge *judge = choice->options->judge;
    return judge->is_over && judge->is_over(judge->context);
}

/* The same, or that of a stage before ended early. */
static inline bool is_cut(const Choice *choice)
{
    return choice->was_over || is_over(choice);
}

/* Begins a stage of the choice, which has to leave these percent of the time. */
static inline void stage_begin(Choice *choice, unsigned percent)
{
    choice->was_over = is_cut(choice);
    if (choice->judge)
        assembler_judge_stage(choice->judge, percent / 100.0);
}

/* Shows that the trial's form is next; NULL: none. */
static inline void trial_show(const Choice *choice, const CoarsenTrial *trial)
{
    progress_form(choice->progress, trial ? coarsen_trial_text(choice->arena, trial) : NULL);
}

/* The launch that is counted; NULL: launches are assumed. */
static inline const Launch *launch_of(const Choice *choice)
{
    return choice->bases.of[0].basis.launch;
}

/* Both threads and blocks are merged. */
static inline bool is_product(const Shape *shape)
{
    return merges_any(shape->threads) && merges_any(shape->blocks);
}

/* forms.c: making forms, which are then candidates. */
/* Makes room for all trials. */
void forms_allocate(Choice *choice);
/* Makes every form that merges only threads, or only blocks. */
void forms_make(Choice *choice, const ChoiceContext *context);
/* Makes forms that merge both, of those weighed that are the fastest with threads merged alone. */
void forms_make_products(Choice *choice);
/* True if a block of the form has less than a warp, while the original's has one. */
bool shape_is_narrow(const CostBasis *basis, const Shape *shape);
/* The request for the trial's coarsening. */
KernelRequest trial_request(const Choice *choice, const CoarsenTrial *trial);

/* boundary.c: if registers are chosen, too, searches the best of the confirmed forms at other boundaries. The form to
 * take, which is 'best' (NULL: none) unless another one becomes faster. */
Candidate *candidate_with_boundary(Choice *choice, Candidate *best);

/* beside.c: if launches decide, lists the forms to keep beside the original, where one is not the best for all
 * launches. 'best': the choice of one, NULL if nothing suffices. */
void forms_prefer(const Choice *choice, const Candidate *best, FactorChoice *made);
/* How launches are asked about, at a block size of the choice's. */
PaysBasis pays_basis(const Choice *choice, const FunctionForm *input);

/* aligned.c: the form for launches in which a parameter is odd that the form 'usual' needs to be a multiple, if one
 * gains clearly over it there: the first such *parameter, and its *speedup. NULL: none. */
const Candidate *form_for_odd(const Choice *choice, const Candidate *usual, unsigned *parameter, double *speedup);
/* The multiple that the form needs the parameter to be. */
AlignedParameter form_needs(const Candidate *candidate, unsigned parameter);

/* weigh.c: assembling forms, and comparing them with the input. */
/* Drops the forms not weighed yet that estimates do not rank first, weighs the others, and ranks all that remain. */
void forms_weigh(Choice *choice);
/* Compares a form that is made with the input by estimates, once; false, with the verdict, if a launch forbids it. */
bool candidate_estimate(const Choice *choice, Candidate *candidate);
/* Compares a weighed form with the input again, now by the machine instructions that both execute. */
void candidate_confirm(Choice *choice, Candidate *candidate);
Promise candidate_promise(const Choice *choice, const Candidate *candidate);
/* True if it is worth taking. */
bool candidate_suffices(const Choice *choice, const Candidate *candidate);
/* True if the first is the better choice: it is worth taking, and faster. */
bool candidate_is_better(const Choice *choice, const Candidate *a, const Candidate *b);
/* True if the first is better, or compared by machine code while the second is not, but not the other way round. */
bool candidate_is_first(const Candidate *a, const Candidate *b, bool is_better);
/* The speedup to rank candidates by. */
double candidate_worth(const Candidate *candidate);
/* The same in launches whose grids the form fits. */
double candidate_full_worth(const Candidate *candidate);
MeasuredForm candidate_form(const Candidate *candidate, const Figures *figures);

#endif
