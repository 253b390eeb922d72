/* The search for a form of a kernel that needs fewer registers.
 *
 * Requires a body, in SSA form or not; works on copies in SSA form and returns a body that is not in SSA form. Blocks,
 * edges and the launch stay. Passes only propose candidates; one that the judge finds worse is dropped. The moves are
 * those of Nugteren, Mesman and Corporaal, "Analyzing CUDA's Compiler through the Visualization of Decoded GPU
 * Binaries" (SCOPES 2010, section 5.4): reordering, rematerialization, and a target at a virtual register boundary. */
#include "opt/registers/search/needed.h"
#include "opt/registers/search/search.h"

static bool adds_spills(const Search *search, const Figures *figures)
{
    return figures_spills(figures) > figures_spills(&search->result->before);
}

static Body *input_clone(const Body *body)
{
    Body *input = body_clone(body);
    if (input->ssa)
        body_from_ssa(input);
    return input;
}

/* Why the target costs spills, or is missed. */
static void obstacles_find(Search *search)
{
    RegistersExplanation *explanation = &search->result->explanation;
    Body *body = body_clone(search->input);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    const RegistersNeeded needed = registers_needed(body, analyses);
    if (needed.registers > search->target.registers)
        explanation->needed = needed;
    explanation->obstacle = spilling_obstacle(search);
    analyses_free(analyses);
    body_free(body);
}

static void target_explain(Search *search)
{
    RegistersResult *result = search->result;
    const Figures *after = &result->after, *dropped = &search->target.dropped;
    result->reached = after->known && after->registers <= search->target.registers;
    result->explanation.outcome = result->reached ? REGISTERS_REACHED
                                  : dropped->known ? REGISTERS_DROPPED
                                                   : REGISTERS_MISSED;
    result->explanation.found = *after;
    result->explanation.other = *dropped;
    result->explanation.most_instructions = search->target.most_instructions;
    result->explanation.assemblies = search->spent.used;
    if (!result->reached || figures_spills(after))
        obstacles_find(search);
}

/* Why the target was not reached, although 'spilling' does. */
static void spills_explain(Search *search, const Figures *spilling)
{
    RegistersResult *result = search->result;
    result->reached = false;
    result->explanation.outcome = result->changed ? REGISTERS_UNSPILLED : REGISTERS_NO_LOWER;
    result->explanation.found = result->after;
    result->explanation.other = *spilling;
    obstacles_find(search);
}

/* If the best form is not worth its price, takes the input under the cap, if that is better than without. */
static void take_capped(Search *search, PassContext *context)
{
    RegistersResult *result = search->result;
    const Figures *capped = &result->capped;
    if (search_compare(search, capped, &result->before) >= 0 ||
        figures_spills(capped) > figures_spills(&result->before)) {
        nothing_changed(search, context, REGISTERS_OBJECTED);
        return;
    }
    Prediction before = search_predict(search, search->input, &result->before), alone = search_predict_capped(search);
    const Objection objection = price_objection(search, &before, &alone, capped);
    if (objects(&objection)) {
        nothing_changed(search, context, REGISTERS_OBJECTED);
        return;
    }
    search_set_best(search, input_capped(search), capped);
    best_take(search, context);
    result->explanation.outcome = REGISTERS_CAP_ALONE;
    result->explanation.found = result->after;
}

/* Takes the input under the cap for the best form where it is predicted to be so much faster that its spills pay. The
 * explanation, or none. */
static RegistersExplanation prefer_capped(Search *search)
{
    const RegistersExplanation none = {.outcome = REGISTERS_NOTHING};
    const Figures *capped = &search->result->capped, best = search->best.figures;
    if (!search->target.cap || search_excess(search, capped) || figures_spills(capped) <= figures_spills(&best) ||
        (!search->request->spill && adds_spills(search, capped)))
        return none;
    Prediction ours = search_predict(search, search->best.body, &best), alone = search_predict_capped(search);
    const Policy policy = {.needs_time = true, .gain = threshold(THRESHOLD_SPILLING_GAIN)};
    if (!policy_accepts(&policy, &alone, &ours))
        return none;
    search_set_best(search, input_capped(search), capped);
    return (RegistersExplanation){.outcome = REGISTERS_CAP_IS_FASTER,
                                  .found = *capped,
                                  .other = best,
                                  .speedup = alone.cycles / ours.cycles};
}

/* True if the form under a cap of 'count' registers keeps it without more spills than the input has; the form is then
 * the best one. */
static bool fits_without_spills(Search *search, const Body *form, unsigned count)
{
    Body *body = body_clone(form);
    body->tuning.maxnreg = count;
    Figures figures = search_measure(search, body);
    bool fits = search_accepts(search, &figures) && figures.registers <= count && !adds_spills(search, &figures);
    search_record(search, PASS_BOUNDS, move_of(MOVE_CAP_UNSPILLED, count), body, &figures, fits);
    if (fits)
        search_set_best(search, body, &figures);
    else
        body_free(body);
    return fits;
}

/* Assembles both forms under the cap together. */
static void cap_prepare(Search *search, const Body *form, const Body *input, unsigned count, Budget budget)
{
    Proposals proposals = proposals_new(search, budget, 2);
    const Body *const bodies[] = {form, input};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        Body *body = body_clone(bodies[i]);
        body->tuning.maxnreg = count;
        proposals_add(search, &proposals, body);
        body_free(body);
    }
}

/* Looks for the lowest count of registers that adds no spills, between the target, which does not, and the input's own;
 * the candidates are the best form for the target and the input. The search's best form is none if there is no such
 * count. */
static void lowest_without_spills(Search *search, const Body *input, Budget budget)
{
    unsigned low = cap_of(search->target.registers), high = search->result->before.registers;
    SearchForm form = search_take_best(search);
    search->spent.is_last = true;
    while (high > low + 1 && !budget_is_spent(search, budget)) {
        unsigned middle = low + (high - low) / 2;
        cap_prepare(search, form.body, input, middle, budget);
        if (fits_without_spills(search, form.body, middle) ||
            (!budget_is_spent(search, budget) && fits_without_spills(search, input, middle)))
            high = search->best.figures.registers < middle ? search->best.figures.registers : middle;
        else
            low = middle;
    }
    search_form_free(&form);
}

static void target_fixed(Search *search, const Body *input, PassContext *context, Budget budget)
{
    RegistersResult *result = search->result;
    const unsigned target = result->target = search->request->target;
    if (result->before.registers <= target && !figures_spills(&result->before)) {
        result->reached = true;
        result->capped = result->before;
        nothing_changed(search, context, REGISTERS_FITS);
        return;
    }
    capped_start(search, input, target);
    if (!result->capped.known) {
        nothing_changed(search, context, REGISTERS_CAP_REJECTED);
        return;
    }
    target_search(search, search->request->spill ? budget : budget_keep(budget, budget.effort / 4));
    RegistersExplanation preferred = {.outcome = REGISTERS_NOTHING};
    const Figures spilling = search->best.figures;
    const bool may_spill = search->request->spill, refrains = !may_spill && adds_spills(search, &spilling);
    if (refrains)
        lowest_without_spills(search, input, budget);
    const bool is_better =
        search->best.body && search_compare(search, &search->best.figures, &result->before) < 0;
    if (is_better)
        result->explanation.objection = time_objection(search, search->best.body, &search->best.figures);
    const bool is_objected = objects(&result->explanation.objection);
    if (!is_better) {
        nothing_changed(search, context, REGISTERS_NOTHING);
    } else if (is_objected && !may_spill) {
        take_capped(search, context);
    } else {
        preferred = prefer_capped(search);
        best_take(search, context);
    }
    if (refrains)
        spills_explain(search, &spilling);
    else if (!is_objected || may_spill)
        target_explain(search);
    if (preferred.outcome != REGISTERS_NOTHING)
        result->explanation = preferred;
}

static bool has_own_spills(const Search *search)
{
    return search->result->before.known && figures_spills(&search->result->before) > 0 &&
           block_size_total(&search->passes.block) && pass_is_enabled(search->passes.options, PASS_SPILLING);
}

/* The part of the budget of assemblies that is kept for moving them. */
static unsigned own_spills_effort(const Search *search)
{
    return has_own_spills(search) ? search->request->effort / 4 : 0;
}

/* A kernel that is not changed otherwise may spill under its own bounds: these spills may go to shared memory, too, in
 * as many blocks and no more registers. */
static void own_spills_move(Search *search, const Body *input, PassContext *context, Budget budget)
{
    RegistersResult *result = search->result;
    if (result->changed || !has_own_spills(search))
        return;
    search->target = (SearchTarget){
        .registers = result->before.registers,
        .most_instructions = result->before.instructions + result->before.instructions / 16 + 4,
    };
    search_rollback(search, (SearchForm){.body = body_clone(input), .figures = result->before});
    /* The input reaches this target, but it is to spill less. */
    search_put_best(search, (SearchForm){body_clone(input), result->before, .is_objected = true});
    if (!search_run(search, PASS_SPILLING, STAGE_FINE, budget.effort, budget))
        return;
    best_take(search, context);
    result->explanation.moves_spills = true;
}

/* The registers at launch stay as they are, and what the target was is only said. */
static void target_keep(Search *search, const Body *input, PassContext *context, Budget budget)
{
    const RegistersRequest *request = search->request;
    RegistersResult *result = search->result;
    result->capped = result->before;
    if (request->goal == GOAL_COUNT) {
        result->target = request->target;
        result->reached = result->before.registers <= request->target;
    }
    if (!shares_choose(search, input, context, budget))
        nothing_changed(search, context, REGISTERS_FIXED);
}

/* Says so of passes that have no form for -d to print. */
static void dumps_complete(const Search *search)
{
    const PassOptions *options = search->passes.options;
    for (PassId pass = 0; pass < PASS_COUNT; pass++)
        if (pass_table[pass].is_of_search && options->dumped[pass] && !search->record.kept[pass])
            fprintf(options->dump_out, "// %s: after %s: no candidate was kept (%u tried)\n",
                    search->passes.kernel->name, pass_table[pass].name, search->record.tried[pass]);
}

void registers_reduce(PassContext *context, const RegistersRequest *request, RegistersResult *result)
{
    require(context->sm && context->judge && context->judge->measure);
    *result = (RegistersResult){0};
    Search search = {
        .passes = *context,
        .request = request,
        .result = result,
        .demands = demands_find(context->kernel),
        .target = {.most_instructions = UINT64_MAX},
        .random = {0x7074786f7074u},
    };
    search.passes.body = NULL;
    search.passes.analyses = NULL;
    search.passes.search = &search;
    Body *input = input_clone(context->body);
    search.input = input;
    result->before = search_measure(&search, input);
    const Budget all = {.effort = request->effort}, budget = {.effort = all.effort - own_spills_effort(&search)};
    if (result->before.known)
        result->explanation.demand = demands_fix_registers(&search.demands, &result->before);
    if (!result->before.known)
        nothing_changed(&search, context, REGISTERS_NOT_ASSEMBLED);
    else if (result->explanation.demand.kind != DEMAND_MET)
        target_keep(&search, input, context, budget);
    else if (request->goal == GOAL_AUTO)
        target_auto(&search, input, context, budget);
    else if (request->goal == GOAL_FEWEST)
        target_fewest(&search, input, context, budget);
    else
        target_fixed(&search, input, context, budget);
    own_spills_move(&search, input, context, all);
    dumps_complete(&search);
    body_free(input);
    body_free(search.best.body);
    pass_context_free(&search.passes);
    result->steps = search.record.steps.data;
    result->step_count = (unsigned)search.record.steps.count;
}
