/* The search for a form with at most a given number of registers: how it starts, and the order of the passes.
 *
 * It starts from the input under a cap. Passes then propose candidates, with shares of the assemblies, until the target
 * is reached or nothing is left to try; spills go to shared memory last. */
#include "opt/registers/search/search.h"

enum {
    CAPS_MOST = 3,       /* caps tried, each higher than the last, where the assembler rejects one */
    CAP_STEP = 4,        /* registers */
    PREDICTION = 2,      /* assemblies for the input's, at the end */
};

unsigned cap_of(unsigned target)
{
    return target < LOWEST_CAP ? LOWEST_CAP : target;
}

bool search_bounds(Search *search)
{
    const BlockSize *block = &search->passes.block;
    const Tuning *tuning = &search->best.body->tuning;
    if (!block_size_total(block) || tuning->maxntid_count || tuning->reqntid_count || search->demands.pool)
        return false;
    Body *body = body_clone(search->best.body);
    block_size_declare(block, &body->tuning);
    search->record.tried[PASS_BOUNDS]++;
    Figures figures = search_measure(search, body);
    bool better = search_accepts(search, &figures) && search_compare(search, &figures, &search->best.figures) < 0;
    search_record(search, PASS_BOUNDS, move_of(MOVE_BLOCK, block_size_total(block)), body, &figures, better);
    if (better)
        search_set_best(search, body, &figures);
    else
        body_free(body);
    return better;
}

/* Passes start from the best form, brought into SSA form. */
static void ssa_start(Search *search)
{
    Body *body = body_clone(search->best.body);
    pass_set_body(&search->passes, body);
    body_to_ssa(body);
    pass_verify(PASS_SSA, body);
    /* Out of SSA form again the code is nearly the same; forms that passes make of it must be better than the best
     * form. */
    search->current = search->best.figures;
}

/* A part of the assemblies that are left, but at least 'least'. */
static unsigned share_of(const Search *search, Budget budget, unsigned divisor, unsigned least)
{
    unsigned share = budget_left(search, budget) / divisor;
    return share > least ? share : least;
}

static unsigned at_most(unsigned most, unsigned count)
{
    return count < most ? count : most;
}

/* Runs a pass that may use at most 'assemblies' assemblies. */
static bool run_within(Search *search, PassId pass, Budget budget, unsigned assemblies)
{
    return search_run(search, pass, STAGE_COARSE, assemblies, budget_limit(search, budget, assemblies));
}

/* Packing and recomputation both add instructions, whose number is limited. So values are recomputed with and without
 * packing, and the better form becomes the current one. */
static void values_thin(Search *search, Budget budget)
{
    SearchForm unpacked = search_mark(search);
    bool is_packed = run_within(search, PASS_PACK, budget, at_most(2, share_of(search, budget, 6, 2)));
    run_within(search, PASS_RECOMPUTE, budget, share_of(search, budget, 3, 2));
    if (!is_packed || budget_is_spent(search, budget) || search_is_reached(search)) {
        search_form_free(&unpacked);
        return;
    }
    search_rollback(search, unpacked);
    run_within(search, PASS_RECOMPUTE, budget, 1);
    search_restore(search);
}

/* Walks at random until nothing is left of the budget, or of what can be changed. */
static void search_walk(Search *search, Budget budget)
{
    while (!budget_is_spent(search, budget) && !search_is_reached(search)) {
        unsigned used = search->spent.used, left = budget.effort - used;
        search_run(search, PASS_SCHEDULE, STAGE_WALK, left < 60 ? left : left / 3 > 40 ? left / 3 : 40, budget);
        search_restore(search);
        search_run(search, PASS_REMATERIALIZE, STAGE_WALK, left / 40 < 2 ? 2 : left / 40, budget);
        if (search->spent.used == used)
            break;
    }
}

void search_propose(Search *search, Budget all)
{
    pass_set_body(&search->passes, body_clone(search->best.body));
    if (budget_is_spent(search, all) || search_is_reached(search))
        return;
    unsigned kept = at_most(2 * share_of(search, all, 3, 0), search_effort_of(search, knobs_effort(search)));
    const Budget budget = budget_keep(all, kept);
    ssa_start(search);
    /* With few assemblies the passes before it would leave none. */
    const Budget first = budget_keep(budget, nounroll_effort(search));
    /* With shifted offsets there are five forms. */
    unsigned forms = search->request->goal == GOAL_FEWEST ? 5 : 2;
    run_within(search, PASS_OFFSETS, first, at_most(forms, share_of(search, first, 8, 0)));
    values_thin(search, first);
    run_within(search, PASS_SCHEDULE, first, share_of(search, first, 3, 3));
    run_within(search, PASS_SINK, first, share_of(search, first, 4, 1));
    run_within(search, PASS_REMATERIALIZE, first, share_of(search, first, 2, 2));
    run_within(search, PASS_NOUNROLL, budget, at_most(3, share_of(search, budget, 2, 1)));
    run_within(search, PASS_HOIST, budget, at_most(1, share_of(search, budget, 2, 0)));
    search_run(search, PASS_SCHEDULE, STAGE_COARSE, budget.effort, budget);
    search_run(search, PASS_BOUNDS, STAGE_FINE, 1, budget);
    search_run(search, PASS_SCHEDULE, STAGE_FINE, budget.effort, budget);
    search_walk(search, budget);
    search_run(search, PASS_KNOBS, STAGE_FINE, kept, all);
}

/* If the best form is not worth its price, the values that the current one still spills may go to shared memory
 * instead. */
static void spills_move(Search *search, unsigned assemblies, Budget budget)
{
    if (!search->best.is_objected) {
        search_run(search, PASS_SPILLING, STAGE_FINE, assemblies, budget);
        return;
    }
    SearchForm objected = search_take_best(search);
    search_put_best(search, search_mark(search));
    search_run(search, PASS_SPILLING, STAGE_FINE, assemblies, budget);
    const bool is_reached = search_is_reached(search);
    const Objection objection =
        is_reached ? time_objection(search, search->best.body, &search->best.figures) : (Objection){0};
    if (is_reached && !objects(&objection))
        search_form_free(&objected);
    else
        search_put_best(search, objected);
}

void target_search(Search *search, Budget budget)
{
    const Budget before_prediction = budget_keep(budget, search->passes.judge->predict ? PREDICTION : 0);
    /* The spills are known last. */
    unsigned kept = search_effort_of(search, spilling_effort(search, budget));
    search_propose(search, budget_keep(before_prediction, kept));
    spills_move(search, kept, before_prediction);
}

void capped_start(Search *search, const Body *input, unsigned target)
{
    RegistersResult *result = search->result;
    search->target = (SearchTarget){.registers = target, .most_instructions = UINT64_MAX};
    search_set_best(search, body_clone(input), &result->before);
    result->capped = result->before;
    unsigned cap = cap_of(target);
    bool caps = pass_is_enabled(search->passes.options, PASS_BOUNDS);
    search_prepare_prediction(search, input);
    /* Some instructions (matrix fragments) need more registers at once than a low cap leaves. Assemblers then reject
     * the cap, and a slightly higher one comes closest. */
    for (unsigned tries = 0; caps && tries < CAPS_MOST && result->before.registers > cap; tries++, cap += CAP_STEP) {
        search->best.body->tuning.maxnreg = search->target.cap = cap;
        search->target.capped = (Prediction){0};
        search->record.tried[PASS_BOUNDS]++;
        result->capped = search_measure(search, search->best.body);
        search_record(search, PASS_BOUNDS, move_of(MOVE_CAP, cap), search->best.body, &result->capped,
                      result->capped.known);
        if (result->capped.known || search->request->goal != GOAL_COUNT)
            break;
    }
    search->best.figures = result->capped;
    /* A candidate may be a few percent longer than the longer of the two forms that need no search; longer than the
     * uncapped one only, where neither the user chose the target nor a predicted time decides. */
    uint64_t longest = result->before.instructions > result->capped.instructions ? result->before.instructions
                                                                                 : result->capped.instructions;
    if (search->request->goal == GOAL_AUTO && !search->passes.judge->predict)
        longest = result->before.instructions;
    search->target.most_instructions = longest + longest / 16 + 4;
}

void best_take(Search *search, PassContext *context)
{
    RegistersResult *result = search->result;
    if (search->best.body->ssa)
        body_from_ssa(search->best.body);
    body_verify(search->best.body, "registers");
    const SearchForm best = search_take_best(search);
    pass_set_body(context, best.body);
    result->after = best.figures;
    result->changed = true;
}

void nothing_changed(Search *search, PassContext *context, RegistersOutcome outcome)
{
    if (context->body->ssa)
        body_from_ssa(context->body);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    search->result->after = search->result->before;
    search->result->explanation.outcome = outcome;
}
