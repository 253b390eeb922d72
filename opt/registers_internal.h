/* What the register passes share and nobody else sees: each changes a body in SSA form, registers.c decides what
 * stays. */
#ifndef PTXOPT_OPT_REGISTERS_INTERNAL_H
#define PTXOPT_OPT_REGISTERS_INTERNAL_H

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "opt/registers.h"
#include "support/support.h"

/* An instruction with one of these is neither moved to another block nor computed again. */
#define EFFECTS_IN_PLACE                                                                                               \
    (EFFECT_WRITE | EFFECT_SYNC | EFFECT_CONTROL | EFFECT_VOLATILE | EFFECT_ASYNC | EFFECT_HINT | EFFECT_CC_READ |     \
     EFFECT_CC_WRITE)

/* ---- Order within blocks (schedule.c) ---------------------------------------------------------------------------- */

/* A list scheduler's choice among the instructions that may come next: the highest sum wins, the source's order breaks
 * ties. */
typedef struct ScheduleRule {
    const char *name;
    bool top_down;
    int32_t pressure; /* for each register that the choice frees; less for each that it takes */
    int32_t source;   /* for each place that it stands nearer to the end at which the order is built, at most 256 */
    int32_t recent;   /* for continuing the last choice's expression tree */
    int32_t
        need; /* for each register that its operand tree needs (Sethi and Ullman, 1970); bottom up: for needing few */
    int32_t load;     /* for being a load */
    int32_t store;    /* for being a store */
    int32_t chain;    /* for each instruction on the longest way to the block's other end */
    int32_t noise;    /* up to so much at random */
    int32_t limit;    /* 'pressure' counts only where so many registers are taken; 0: always */
    uint64_t seed;
} ScheduleRule;

extern const ScheduleRule schedule_rules[];
extern const unsigned schedule_rule_count;
/* Weights at random, for a search. */
ScheduleRule schedule_rule_random(Random *random);
/* The same with one weight and the noise drawn again. */
ScheduleRule schedule_rule_near(Random *random, const ScheduleRule *rule);

/* The orders of a body's blocks.  The body must stay as it is, but for the order of its instructions. */
typedef struct BlockOrder {
    Block *block;
    DependenceGraph *graph;
    uint32_t *order; /* nodes, as the block stands now */
    uint32_t *need;  /* by node: Sethi-Ullman numbers */
    uint32_t *height, *depth; /* by node: longest ways to the block's end, from its top */
    int32_t peak;    /* of the block as it stands, in 32-bit registers */
    bool fixed;      /* too small or too large to be worth it */
} BlockOrder;

typedef struct Scheduler {
    Arena *arena;
    Body *body;
    const Liveness *liveness;
    PressureTracker tracker;
    BlockOrder *blocks; /* by Block.id */
    size_t block_count;
} Scheduler;

/* O(I log I) and what the dependences cost.  Belongs to 'arena'. */
Scheduler *scheduler_new(Arena *arena, Body *body, Analyses *analyses);
/* An order of the block by the rule, into out[graph->count]. */
void scheduler_choose(Scheduler *scheduler, const BlockOrder *block, const ScheduleRule *rule, uint32_t *out);
/* A neighbour of 'from': some instructions, some with what only they need, moved within what the dependences allow. */
void scheduler_mutate(Scheduler *scheduler, const BlockOrder *block, const uint32_t *from, Random *random,
                      uint32_t *out);
/* How an order fares: the peak, and the sum over all places of what is above 'limit'. */
typedef struct OrderCost {
    int32_t peak;
    int64_t above;
} OrderCost;
OrderCost scheduler_cost(Scheduler *scheduler, const BlockOrder *block, const uint32_t *order, int32_t limit);
/* Puts the block's instructions into that order; true if it was another one. */
bool scheduler_apply(Scheduler *scheduler, BlockOrder *block, const uint32_t *order);
/* All blocks by one rule; how many changed. */
unsigned schedule_body(Body *body, Analyses *analyses, const ScheduleRule *rule);

/* ---- Order between blocks (sink.c) ------------------------------------------------------------------------------- */

typedef enum SinkMode {
    SINK_SAVING,  /* moves only where no more registers stay live than before */
    SINK_ALL,     /* everything that may move */
    SINK_COPIES,  /* as SINK_ALL; what is used in several places and cheap is made anew in each */
} SinkMode;

/* Moves definitions down to their uses, never into a deeper loop.  Requires and keeps SSA; edges stay.  Returns how
 * many moved. */
unsigned sink_values(Body *body, Analyses *analyses, SinkMode mode, bool loads);

/* ---- Computing again (rematerialize.c) --------------------------------------------------------------------------- */

typedef struct RematerializeRequest {
    int32_t limit;      /* registers: where more are live, pressure is high */
    unsigned cost;      /* instructions that one recomputation may take, opaque copies not counted */
    bool opaque; /* from an opaque copy of the operands, so that the assembler does not merge it with the first again */
    uint32_t distance;  /* instructions of one block from one use to the next that are worth a recomputation */
    bool extend;        /* operands may have to stay live for longer than they did: one often serves many values */
    bool ignore_pressure; /* wherever the distance is long, not only across high pressure */
} RematerializeRequest;

typedef struct RematerializeCandidate {
    RegId value;
    int64_t gain; /* register places of high pressure freed, less what recomputing costs; comparable within one list */
} RematerializeCandidate;

/* What could be recomputed, best first; in 'arena'.  Requires SSA. */
uint32_t rematerialize_candidates(Arena *arena, Body *body, Analyses *analyses, const RematerializeRequest *request,
                                  RematerializeCandidate **out);
/* Recomputes these values before their distant uses.  Requires and keeps SSA; edges stay.  Returns the number of
 * recomputations. */
unsigned rematerialize_values(Body *body, Analyses *analyses, const RematerializeRequest *request,
                              const RematerializeCandidate *values, uint32_t count);

/* ---- The search (registers.c, registers_search.c) ---------------------------------------------------------------- */

/* How far the search has come: what a pass proposes depends on it. */
typedef enum SearchStage {
    STAGE_COARSE, /* whole kernels */
    STAGE_FINE,   /* and single blocks */
    STAGE_WALK,   /* changes at random */
} SearchStage;

typedef struct Search {
    PassContext passes;  /* body: the current form, in SSA form, which passes start from; NULL at first */
    Figures current;     /* of passes.body */
    const RegistersRequest *request;
    RegistersResult *result;
    VEC(RegistersStep) steps;
    unsigned target;
    unsigned used;              /* assemblies so far */
    uint64_t most_instructions; /* what a candidate may grow to */
    Body *best;                 /* owned; SSA or not */
    Figures best_figures;
    SearchStage stage;
    unsigned assemblies; /* what the next pass may use, roughly */
    unsigned replaced;   /* how often a candidate became the current form */
    unsigned tried[PASS_COUNT], kept[PASS_COUNT]; /* candidates */
    Random random;
} Search;

/* A copy of the current form, to be changed and considered. */
typedef struct Candidate {
    Body *body; /* owned */
    Analyses *analyses;
} Candidate;
Candidate candidate_new(const Search *search);
void candidate_free(Candidate *candidate);

/* Registers above the target. */
unsigned search_excess(const Search *search, const Figures *figures);
/* Below 0: a is better; 0: as good; above: worse.  Excess, spilled bytes, instructions, registers, in this order. */
int search_compare(const Search *search, const Figures *a, const Figures *b);
/* Whether nothing more may be assembled. */
bool search_is_over(const Search *search);
/* The target is met, with no more spilled than the input spills uncapped, and the code has not grown too far. */
bool search_is_reached(const Search *search);
bool search_should_stop(const Search *search);
/* Assembles, and counts it. */
Figures search_measure(Search *search, const Body *body);
/* Whether it assembled and has not grown too far. */
bool search_accepts(const Search *search, const Figures *figures);
/* Adds a line to the report ('what' must live as long), and dumps a form that was kept. */
void search_record(Search *search, PassId pass, const char *what, const Body *body, const Figures *figures, bool kept);
/* Makes the body, which is taken over, the best form. */
void search_set_best(Search *search, Body *body, const Figures *figures);

/* Verifies and measures 'body' (in SSA form, not taken over), which the pass proposes.  Where it is better than the
 * current form it becomes that, and the best if it is better than the best.  With 'slack' a form that spills fewer than
 * so many bytes more becomes the current one too (1: one that is as good).  'silent': only success is recorded.  True
 * if it became the current one. */
bool search_consider(Search *search, PassId pass, const Body *body, const char *what, uint64_t slack, bool silent);
/* Runs a pass on the current form; false if it is switched off, the search is at its end, or nothing became current. */
bool search_run(Search *search, PassId pass, SearchStage stage, unsigned assemblies);
/* Makes the best form the current one again: a walk may end at a worse one. */
void search_restore(Search *search);

/* Proposes the block's size as .maxntid, for the best form; true if it is better. */
bool search_bounds(Search *search);

#endif
