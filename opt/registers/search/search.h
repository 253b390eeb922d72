/* The register search, as the passes see it that propose candidates to it. */
#ifndef PTXOPT_OPT_REGISTERS_SEARCH_SEARCH_H
#define PTXOPT_OPT_REGISTERS_SEARCH_SEARCH_H

#include "opt/demands.h"
#include "opt/passes.h"
#include "opt/policy.h"
#include "opt/registers/registers.h"
#include "support/support.h"

/* How far the search has come; what a pass proposes depends on it. */
typedef enum SearchStage {
    STAGE_COARSE, /* changes to all blocks alike */
    STAGE_FINE,   /* and to single blocks */
    STAGE_WALK,   /* random changes */
} SearchStage;

/* Sees each form that is measured and accepted: "-target-regs fewest" keeps the best one for each count. */
typedef struct SearchObserver {
    void (*measured)(struct SearchObserver *observer, const Body *body, const Figures *figures);
    /* True if the form is not worth its price; if it is, the observer may take it. */
    bool (*objects)(struct SearchObserver *observer, const Body *body, const Figures *figures);
} SearchObserver;

/* Assemblies that may be spent, in those of the input. It is a value: a part of it is handed on, and nothing has to be
 * given back. */
typedef struct Budget {
    unsigned effort;   /* all that may be spent since the beginning */
    unsigned reserved; /* of these, what is kept for what comes later */
} Budget;

/* A form and its figures; the holder owns the body. */
typedef struct SearchForm {
    Body *body; /* SSA or not; NULL: none */
    Figures figures;
    bool is_objected; /* it reaches the target, but is not worth its price by predicted time */
} SearchForm;

/* One target, until the search turns to another. */
typedef struct SearchTarget {
    unsigned registers;
    bool is_guided;    /* a form to which the observer objects becomes neither the best nor the current one */
    unsigned cap;      /* the last .maxnreg tried for the input; 0: none */
    Prediction capped; /* for the input under it; not known if not asked for yet */
    uint64_t most_instructions; /* the most that a candidate may have */
    bool needs_no_spills; /* else no more than the input has */
    Figures dropped; /* the best form that was as low as the target, but had too many instructions; or not known */
} SearchTarget;

/* The spending, from the start to the end: it only grows. */
typedef struct SearchSpending {
    uint64_t work; /* what has been assembled, in parts of the input: search.c */
    unsigned used; /* the same, in assemblies of the input; a longer form counts for more than one */
    bool is_last;  /* what comes after the passes has begun, for which time is kept, too */
} SearchSpending;

/* One run of a pass, set by search_run. */
typedef struct SearchTurn {
    SearchStage stage;
    unsigned assemblies; /* what it may use, roughly */
    Budget budget;       /* it ends when this is spent */
    bool is_over; /* it has found a form that is not worth its price: the next pass goes on without it */
    Figures last; /* of the candidate that was considered last */
} SearchTurn;

/* The attempts, from the start to the end, for the report. */
typedef struct SearchRecord {
    VEC(RegistersStep) steps;
    unsigned tried[PASSES_MOST], kept[PASSES_MOST]; /* candidates */
} SearchRecord;

/* From the call of registers_reduce to its end. */
typedef struct Search {
    const RegistersRequest *request;
    RegistersResult *result;
    const Body *input;        /* not in SSA form */
    Demands demands;          /* of the kernel: forms that do not meet them do not count as assembled */
    Figures launched;         /* of the form whose demands are meant; not known: the input */
    SearchObserver *observer; /* NULL: none */
    Random random;
    PassContext passes; /* body: the current form, in SSA form, which passes start from; NULL at first */
    Figures current;    /* of passes.body */
    SearchForm best;    /* owned */
    SearchTarget target;
    SearchTurn turn;
    SearchSpending spent;
    SearchRecord record;
} Search;

/* The budget without this many assemblies. */
Budget budget_keep(Budget budget, unsigned assemblies);
/* At most this many of the assemblies that are left. */
Budget budget_limit(const Search *search, Budget budget, unsigned assemblies);
/* The assemblies that are left. */
unsigned budget_left(const Search *search, Budget budget);
/* True if no more may be assembled: the budget or the time is used up, or the user wants the end. */
bool budget_is_spent(const Search *search, Budget budget);

/* The current form, to return to: a copy. */
SearchForm search_mark(const Search *search);
/* Makes it the current form again, and takes it over. The best form found in between stays. */
void search_rollback(Search *search, SearchForm mark);
void search_form_free(SearchForm *form);
/* Takes the best form out of the search, which then has none. */
SearchForm search_take_best(Search *search);
/* Makes the form, which is taken over, the best one. */
void search_put_best(Search *search, SearchForm form);

/* Bodies that are about to be considered, which the judge assembles in the meantime. */
typedef struct Proposals {
    unsigned count, capacity;
} Proposals;
/* Room for as many as the judge assembles at once, at most 'most', and none if that is one: then preparing gains
 * nothing. */
Proposals proposals_new(const Search *search, Budget budget, unsigned most);
/* Lets the judge begin with the body, if there is room. The forms that are considered later, and how they are judged,
 * do not depend on this. */
void proposals_add(const Search *search, Proposals *proposals, const Body *body);

/* A copy of the current form, to be changed and considered. */
typedef struct Candidate {
    Body *body; /* owned */
    Analyses *analyses;
} Candidate;
Candidate candidate_new(const Search *search);
void candidate_free(Candidate *candidate);
/* Runs a pass that is not of the search on the candidate; whether it changed anything. */
bool candidate_run(const Search *search, Candidate *candidate, PassId pass);
/* Frees the candidate, after search_consider without slack if the move counts something. */
bool candidate_propose(Search *search, PassId pass, Candidate *candidate, Move move);

/* Registers above the target. */
unsigned search_excess(const Search *search, const Figures *figures);
/* Negative: a is better; 0: equal; positive: worse. Compares excess, spilled bytes, instructions and registers, in
 * this order. */
int search_compare(const Search *search, const Figures *a, const Figures *b);
/* True if the turn's budget is spent. */
bool search_is_over(const Search *search);
/* True if the target is met without more spills than the uncapped input has, without growing too far, and at a price
 * that is worth it, or the pass has nothing better to propose. */
bool search_is_reached(const Search *search);
/* True if the turn is to end: its budget is spent, or the target reached. */
bool search_should_stop(const Search *search);
/* Assembles a form, and counts that; for the input, assembles the user's own code. A form that does not meet the
 * kernel's demands is not known, and the message says why. */
Figures search_measure(Search *search, const Body *body);
/* The judge's prediction for a form, SSA or not, that was measured; not known if times are not predicted. It counts,
 * too. */
Prediction search_predict(Search *search, const Body *body, const Figures *figures);
/* A copy of the input under the cap. */
Body *input_capped(const Search *search);
/* The prediction for it. */
Prediction search_predict_capped(Search *search);
/* Lets the judge begin with what it needs to predict the time of the input. */
void search_prepare_prediction(const Search *search, const Body *input);
/* The effort of 'count' assemblies of forms like the best one, in assemblies of the input. */
unsigned search_effort_of(const Search *search, unsigned count);
/* The instructions that may be added to the current form, if half of its spills go. */
uint64_t search_growth_allowed(const Search *search);
/* True if the last candidate spills less than the current form, but is too long. */
bool search_is_too_long(const Search *search);
/* True if it assembled, has not grown too far, and is not serialized where the input is not. */
bool search_accepts(const Search *search, const Figures *figures);
/* Adds a line to the report, and dumps a form that was kept. */
void search_record(Search *search, PassId pass, Move move, const Body *body, const Figures *figures, bool kept);
/* Makes the body, which is taken over, the best form; it is worth its price as far as is known. */
void search_set_best(Search *search, Body *body, const Figures *figures);

/* Verifies and measures 'body' (in SSA form, not taken over), which the pass proposes. If it is better than the current
 * form it becomes that, and the best if it is better than the best. A form that reaches the target but costs too much
 * becomes the best form only; the search goes on without it. A guided search drops it. With 'slack' a form that spills
 * fewer than 'slack' bytes more becomes the current one too (1: one that is as good). 'silent': only success is
 * recorded. True if it became the current one. */
bool search_consider(Search *search, PassId pass, const Body *body, Move move, uint64_t slack, bool silent);
/* Runs a pass on the current form; false if it is switched off, the search is at its end, or nothing became current. */
bool search_run(Search *search, PassId pass, SearchStage stage, unsigned assemblies, Budget budget);
/* Makes the best form the current one again: a walk may end at a worse one. */
void search_restore(Search *search);

/* Judges by predicted time, against the input without a cap, whether a form is worth its price; it is if no times are
 * predicted. */
Objection time_objection(Search *search, const Body *form, const Figures *figures);
/* The same with predictions at hand. */
Objection price_objection(const Search *search, const Prediction *before, const Prediction *after,
                          const Figures *figures);

/* target.c */

/* The .maxnreg for this many registers. */
unsigned cap_of(unsigned target);
/* Begins with a target: the input under the cap that it needs becomes the best form. */
void capped_start(Search *search, const Body *input, unsigned target);
/* Runs the passes, which propose until the target is reached or nothing is left to try. */
void search_propose(Search *search, Budget budget);
/* Looks for a form that reaches the target, starting from the best form. */
void target_search(Search *search, Budget budget);
/* The best form becomes the context's. */
void best_take(Search *search, PassContext *context);
/* The context's body stays as it is. */
void nothing_changed(Search *search, PassContext *context, RegistersOutcome outcome);
/* Proposes the block's size as .maxntid, for the best form; true if it is better. */
bool search_bounds(Search *search);

/* raise.c: whether the input can be told how many blocks are on an SM, because the block size or a launch is known,
 * and the user has not said it. */
bool raise_is_possible(const Search *search, const Body *input);
/* True if the boundary has more registers than the input, and no block less in the launches that are known. */
bool raise_is_at(const Search *search, const Boundary *at, const Occupancy *now);
/* A copy of the input that says so; the caller frees it. */
Body *raise_make(const Search *search, const Body *input, unsigned blocks);
/* Judges that form, the boundary's; sets its objection if that is the verdict. */
BoundaryVerdict raise_judge(const Search *search, RegistersBoundary *boundary, const Prediction *before,
                            const Prediction *after);
/* auto.c: looks for the best boundary: below the input's registers, or, without losing a block, above. */
void target_auto(Search *search, const Body *input, PassContext *context, Budget budget);
/* shares.c: looks for other immediates of setmaxnreg with which a kernel spills less; false if nothing changed. */
bool shares_choose(Search *search, const Body *input, PassContext *context, Budget budget);
/* fewest.c: looks for the fewest registers at the price that is allowed. */
void target_fewest(Search *search, const Body *input, PassContext *context, Budget budget);

/* spilling.c: what its pass may assemble for the best form, in assemblies of the input; 0: it cannot propose
 * anything. */
unsigned spilling_effort(const Search *search, Budget budget);
/* Why its pass can keep no value of the input in shared memory. */
SharedObstacle spilling_obstacle(const Search *search);
/* knobs.c: the same. */
unsigned knobs_effort(const Search *search);
/* nounroll.c: the least that its pass needs for the current form, in assemblies of the input; 0: it has nothing to
 * propose. */
unsigned nounroll_effort(const Search *search);

#endif
