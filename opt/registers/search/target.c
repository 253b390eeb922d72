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
    const Tuning *tuning = &search->best->tuning;
    if (!block_size_total(block) || tuning->maxntid_count || tuning->reqntid_count || search->demands.pool)
        return false;
    Body *body = body_clone(search->best);
    block_size_declare(block, &body->tuning);
    search->tried[PASS_BOUNDS]++;
    Figures figures = search_measure(search, body);
    bool better = search_accepts(search, &figures) && search_compare(search, &figures, &search->best_figures) < 0;
    search_record(search, PASS_BOUNDS, arena_printf(search->passes.arena, ".maxntid %u", block_size_total(block)), body,
                  &figures, better);
    if (better)
        search_set_best(search, body, &figures);
    else
        body_free(body);
    return better;
}

/* Passes start from the best form, brought into SSA form. */
static void ssa_start(Search *search)
{
    Body *body = body_clone(search->best);
    pass_set_body(&search->passes, body);
    body_to_ssa(body);
    pass_verify(PASS_SSA, body);
    /* Out of SSA form again the code is nearly the same; forms that passes make of it must be better than the best
     * form. */
    search->current = search->best_figures;
}

/* A part of the assemblies that are left, but at least 'least'. */
static unsigned share_of(const Search *search, unsigned divisor, unsigned least)
{
    unsigned taken = search->used + search->reserved, effort = search->request->effort;
    unsigned share = effort > taken ? (effort - taken) / divisor : 0;
    return share > least ? share : least;
}

static unsigned at_most(unsigned most, unsigned count)
{
    return count < most ? count : most;
}

/* Runs a pass that may use at most 'assemblies' assemblies. */
static void run_within(Search *search, PassId pass, unsigned assemblies)
{
    unsigned reserved = search->reserved, taken = search->used + reserved, effort = search->request->effort;
    if (effort > taken && effort - taken > assemblies)
        search->reserved = effort - search->used - assemblies;
    search_run(search, pass, STAGE_COARSE, assemblies);
    search->reserved = reserved;
}

/* Packing and recomputation both add instructions, whose number is limited. So values are recomputed with and without
 * packing, and the better form becomes the current one. */
static void values_thin(Search *search)
{
    Body *unpacked = body_clone(search->passes.body);
    const Figures figures = search->current;
    unsigned replaced = search->replaced;
    run_within(search, PASS_PACK, at_most(2, share_of(search, 6, 2)));
    bool is_packed = search->replaced > replaced;
    run_within(search, PASS_RECOMPUTE, share_of(search, 3, 2));
    if (!is_packed || search_should_stop(search)) {
        body_free(unpacked);
        return;
    }
    pass_set_body(&search->passes, unpacked);
    search->current = figures;
    run_within(search, PASS_RECOMPUTE, 1);
    search_restore(search);
}

void search_propose(Search *search)
{
    unsigned effort = search->request->effort;
    pass_set_body(&search->passes, body_clone(search->best));
    if (search_should_stop(search))
        return;
    unsigned kept = at_most(2 * share_of(search, 3, 0), search_effort_of(search, knobs_effort(search)));
    search->reserved += kept;
    ssa_start(search);
    /* With few assemblies the passes before it would leave none. */
    unsigned unrolled = nounroll_effort(search);
    search->reserved += unrolled;
    /* With shifted offsets there are five forms. */
    unsigned forms = search->request->goal == GOAL_FEWEST ? 5 : 2;
    run_within(search, PASS_OFFSETS, at_most(forms, share_of(search, 8, 0)));
    values_thin(search);
    run_within(search, PASS_SCHEDULE, share_of(search, 3, 3));
    run_within(search, PASS_SINK, share_of(search, 4, 1));
    run_within(search, PASS_REMATERIALIZE, share_of(search, 2, 2));
    search->reserved -= unrolled;
    run_within(search, PASS_NOUNROLL, at_most(3, share_of(search, 2, 1)));
    run_within(search, PASS_HOIST, at_most(1, share_of(search, 2, 0)));
    search_run(search, PASS_SCHEDULE, STAGE_COARSE, effort);
    search_run(search, PASS_BOUNDS, STAGE_FINE, 1);
    search_run(search, PASS_SCHEDULE, STAGE_FINE, effort);
    while (!search_should_stop(search)) {
        unsigned used = search->used, left = effort - used;
        search_run(search, PASS_SCHEDULE, STAGE_WALK, left < 60 ? left : left / 3 > 40 ? left / 3 : 40);
        search_restore(search);
        search_run(search, PASS_REMATERIALIZE, STAGE_WALK, left / 40 < 2 ? 2 : left / 40);
        if (search->used == used)
            break;
    }
    search->reserved -= kept;
    search_run(search, PASS_KNOBS, STAGE_FINE, kept);
}

/* If the best form is not worth its price, the values that the current one still spills may go to shared memory
 * instead. */
static void spills_move(Search *search, unsigned assemblies)
{
    if (!search->is_best_objected) {
        search_run(search, PASS_SPILLING, STAGE_FINE, assemblies);
        return;
    }
    Body *objected = search->best;
    const Figures figures = search->best_figures;
    search->best = NULL;
    search_set_best(search, body_clone(search->passes.body), &search->current);
    search_run(search, PASS_SPILLING, STAGE_FINE, assemblies);
    if (search_is_reached(search) && !time_objection(search, search->best, &search->best_figures)) {
        body_free(objected);
        return;
    }
    search_set_best(search, objected, &figures);
    search->is_best_objected = true;
}

void target_search(Search *search)
{
    /* The spills are known last. */
    unsigned kept = search_effort_of(search, spilling_effort(search));
    unsigned prediction = search->passes.judge->predict ? PREDICTION : 0;
    search->reserved += kept + prediction;
    search_propose(search);
    search->reserved -= kept;
    spills_move(search, kept);
    search->reserved -= prediction;
}

void capped_start(Search *search, const Body *input)
{
    RegistersResult *result = search->result;
    search_set_best(search, body_clone(input), &result->before);
    result->capped = result->before;
    unsigned cap = cap_of(search->target);
    bool caps = pass_is_enabled(search->passes.options, PASS_BOUNDS);
    search_prepare_prediction(search, input);
    /* Some instructions (matrix fragments) need more registers at once than a low cap leaves.  Assemblers then reject
     * the cap, and a slightly higher one comes closest. */
    for (unsigned tries = 0; caps && tries < CAPS_MOST && result->before.registers > cap; tries++, cap += CAP_STEP) {
        search->best->tuning.maxnreg = search->cap = cap;
        search->capped = (Prediction){0};
        search->tried[PASS_BOUNDS]++;
        result->capped = search_measure(search, search->best);
        search_record(search, PASS_BOUNDS, arena_printf(search->passes.arena, ".maxnreg %u", cap), search->best,
                      &result->capped, result->capped.known);
        if (result->capped.known || search->request->goal != GOAL_COUNT)
            break;
    }
    search->best_figures = result->capped;
    /* A candidate may be a few percent longer than the longer of the two forms that need no search; longer than the
     * uncapped one only, where neither the user chose the target nor a predicted time decides. */
    uint64_t longest = result->before.instructions > result->capped.instructions ? result->before.instructions
                                                                                 : result->capped.instructions;
    if (search->request->goal == GOAL_AUTO && !search->passes.judge->predict)
        longest = result->before.instructions;
    search->most_instructions = longest + longest / 16 + 4;
}

void best_take(Search *search, PassContext *context)
{
    RegistersResult *result = search->result;
    if (search->best->ssa)
        body_from_ssa(search->best);
    body_verify(search->best, "registers");
    pass_set_body(context, search->best);
    search->best = NULL;
    result->after = search->best_figures;
    result->changed = true;
}

void nothing_changed(Search *search, PassContext *context, const char *explanation)
{
    if (context->body->ssa)
        body_from_ssa(context->body);
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    search->result->after = search->result->before;
    search->result->explanation = explanation;
}
