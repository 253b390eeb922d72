/* The choice among virtual register boundaries (Nugteren et al., SCOPES 2010, section 5.4).
 *
 * A block fits on an SM or it does not, so registers count only where one more block fits. The boundaries below the
 * input's registers that the assembler or a search reaches are looked at, and the one at which the kernel is predicted
 * to be the fastest is taken. Without predictions, the highest one that costs nothing is taken. The first option is to
 * go up instead, to the registers that are free (raise.c). */
#include "opt/registers/search/search.h"

#include <stdlib.h>

enum {
    LOWER_MOST = 6,      /* boundaries that are looked at, from the highest down */
    OPTIONS_MOST = LOWER_MOST + 1,
    SEARCHED_MOST = 2,   /* for which a form is searched, if the cap alone costs spills */
};

typedef struct Option {
    RegistersBoundary *boundary;
    Body *form; /* owned; NULL: none was found */
    Figures capped; /* of the input under this cap */
    Prediction prediction;
} Option;

typedef struct Boundaries {
    Search *search;
    const Body *input;
    unsigned threads;
    uint64_t shared;
    Occupancy now;
    Prediction before;
    Option options[OPTIONS_MOST];
    unsigned count;
    DemandObjection cut; /* why lower boundaries are not looked at; DEMAND_MET: all are */
} Boundaries;

/* The options with fewer registers than the input: all but the first, where that is to raise them. */
static unsigned boundaries_below(const Boundaries *boundaries)
{
    return boundaries->count - (boundaries->count && boundaries->options[0].boundary->is_raise);
}

/* Why a form cannot have so few registers. */
static DemandObjection cut_find(const Search *search, unsigned registers)
{
    const Figures *before = &search->result->before, lower = {.known = true, .registers = registers};
    const Residency residency = {.sm = search->passes.sm, .block = search->passes.block};
    return demands_objection(&search->demands, &residency, before, &lower);
}

static void boundaries_list(Boundaries *boundaries)
{
    Search *search = boundaries->search;
    RegistersResult *result = search->result;
    BoundaryList list = sm_boundaries(search->passes.sm, boundaries->threads, boundaries->shared);
    result->boundaries = ARENA_ARRAY(search->passes.arena, RegistersBoundary, OPTIONS_MOST);
    for (unsigned i = 0; i < list.count && boundaries_below(boundaries) < LOWER_MOST; i++) {
        const Boundary *at = &list.items[i];
        if (at->registers < demands_fewest_registers(&search->demands, &result->before)) {
            boundaries->cut = cut_find(search, at->registers);
            break;
        }
        bool is_raise = !boundaries->count && raise_is_at(search, at, &boundaries->now) &&
                        raise_is_possible(search, boundaries->input);
        bool is_lower = at->blocks > boundaries->now.blocks && at->registers < result->before.registers &&
                        (at->registers >= LOWEST_CAP || !boundaries_below(boundaries));
        if (!is_raise && !is_lower)
            continue;
        RegistersBoundary *boundary = &result->boundaries[boundaries->count];
        *boundary = (RegistersBoundary){
            .registers = at->registers, .blocks = at->blocks, .warps = at->warps, .is_raise = is_raise};
        boundaries->options[boundaries->count++] = (Option){.boundary = boundary};
    }
    result->boundary_count = boundaries->count;
}

/* The input's code for the option; the caller frees it. */
static Body *option_input(const Boundaries *boundaries, const Option *option)
{
    if (option->boundary->is_raise)
        return raise_make(boundaries->search, boundaries->input, option->boundary->blocks);
    Body *body = body_clone(boundaries->input);
    unsigned cap = option->boundary->registers;
    body->tuning.maxnreg = cap < LOWEST_CAP ? LOWEST_CAP : cap;
    return body;
}

/* Assembles the input for all options together. */
static void inputs_prepare(const Boundaries *boundaries, Budget budget)
{
    Search *search = boundaries->search;
    Proposals proposals = proposals_new(search, budget, boundaries->count);
    for (unsigned i = 0; i < boundaries->count; i++) {
        Body *body = option_input(boundaries, &boundaries->options[i]);
        proposals_add(search, &proposals, body);
        body_free(body);
    }
}

static void potentials_predict(Boundaries *boundaries)
{
    const RegistersResult *result = boundaries->search->result;
    boundaries->before = search_predict(boundaries->search, boundaries->input, &result->before);
    for (unsigned i = 0; i < boundaries->count && boundaries->before.known; i++) {
        Option *option = &boundaries->options[i];
        Figures figures = result->before;
        figures.registers = option->boundary->registers;
        Prediction best = search_predict(boundaries->search, boundaries->input, &figures);
        option->boundary->potential = best.known && best.cycles > 0 ? boundaries->before.cycles / best.cycles : 0;
    }
}

/* True if the best form so far is under the boundary and costs no more spills than the input has. */
static bool is_free(const Search *search)
{
    const Figures *best = &search->best.figures;
    return search_is_reached(search) && best->instructions <= search->result->before.instructions;
}

static void option_predict(const Boundaries *boundaries, Option *option)
{
    const Prediction *before = &boundaries->before;
    RegistersBoundary *boundary = option->boundary;
    Prediction after = search_predict(boundaries->search, option->form, &boundary->figures);
    bool comparable =
        before->known && after.known && after.cycles > 0 && after.is_machine == before->is_machine;
    option->prediction = after;
    boundary->speedup = comparable ? before->cycles / after.cycles : 0;
}

static void raise_try(const Boundaries *boundaries, Option *option)
{
    Search *search = boundaries->search;
    RegistersBoundary *boundary = option->boundary;
    Body *form = option_input(boundaries, option);
    search->record.tried[PASS_BOUNDS]++;
    boundary->figures = search_measure(search, form);
    option->capped = search->result->before;
    if (!boundary->figures.known) {
        boundary->verdict = BOUNDARY_REJECTED;
        body_free(form);
        return;
    }
    option->form = form;
    option_predict(boundaries, option);
}

/* The best form for the boundary: the input under its cap and, where that costs something, what a search finds. */
static void option_try(Boundaries *boundaries, Option *option, bool may_search, Budget budget)
{
    Search *search = boundaries->search;
    RegistersBoundary *boundary = option->boundary;
    if (option->boundary->is_raise) {
        raise_try(boundaries, option);
        return;
    }
    capped_start(search, boundaries->input, boundary->registers);
    if (search->result->capped.known && may_search && !is_free(search))
        target_search(search, budget);
    boundary->figures = search->best.figures;
    option->capped = search->result->capped;
    if (!boundary->figures.known || search_excess(search, &boundary->figures)) {
        boundary->verdict = boundary->figures.known ? BOUNDARY_MISSED : BOUNDARY_REJECTED;
        return;
    }
    option->form = body_clone(search->best.body);
    if (option->form->ssa)
        body_from_ssa(option->form);
    bool spills = figures_spills(&boundary->figures) > figures_spills(&search->result->before);
    if (spills && boundary->potential < threshold(THRESHOLD_SPILLING_GAIN))
        return; /* no prediction could make it worth that */
    option_predict(boundaries, option);
}

/* True if the option could gain enough, with the input's own code, for a search. */
static bool is_promising(const Option *option)
{
    return option->boundary->potential >= threshold(THRESHOLD_SEARCH_POTENTIAL);
}

/* Judges whether the option can be chosen. */
static BoundaryVerdict option_judge(const Boundaries *boundaries, const Option *option)
{
    const Search *search = boundaries->search;
    RegistersBoundary *boundary = option->boundary;
    const Figures *before = &search->result->before, *after = &boundary->figures;
    if (!option->form)
        return boundary->verdict;
    if (boundary->is_raise)
        return raise_judge(search, boundary, &boundaries->before, &option->prediction);
    bool spills = figures_spills(after) > figures_spills(before);
    bool grows = after->instructions > search->target.most_instructions;
    boundary->objection = price_objection(search, &boundaries->before, &option->prediction, after);
    if (objects(&boundary->objection))
        return BOUNDARY_OBJECTED;
    /* A target that the user did not ask for may not even be slower by less than the model can tell. */
    if (boundary->speedup > 0 && boundary->speedup < threshold(THRESHOLD_NOT_SLOWER))
        return BOUNDARY_NO_GAIN;
    if (spills && boundary->potential > 0 && !is_promising(option))
        return BOUNDARY_HOPELESS;
    if (spills && boundary->speedup < threshold(THRESHOLD_SPILLING_GAIN))
        return BOUNDARY_SPILLS;
    return grows && !boundary->speedup ? BOUNDARY_TOO_LONG : BOUNDARY_FITS;
}

/* Sets the verdicts; the option to be taken, or NULL. */
static Option *option_choose(Boundaries *boundaries)
{
    Option *best = NULL;
    for (unsigned i = 0; i < boundaries->count; i++) {
        Option *option = &boundaries->options[i];
        RegistersBoundary *boundary = option->boundary;
        boundary->verdict = option_judge(boundaries, option);
        if (boundary->verdict != BOUNDARY_FITS)
            continue;
        if (!best || boundary->speedup * threshold(THRESHOLD_NOT_SLOWER) > best->boundary->speedup)
            best = option;
    }
    return best;
}

static int compare_potential(const void *a, const void *b)
{
    const Option *x = *(Option *const *)a, *y = *(Option *const *)b;
    if (x->boundary->potential != y->boundary->potential)
        return x->boundary->potential > y->boundary->potential ? -1 : 1;
    return x->boundary->registers > y->boundary->registers ? -1 : x->boundary->registers < y->boundary->registers;
}

/* Tries the boundaries, those that could gain the most first; a search for one leaves half of the assemblies to the
 * next. */
static void options_try(Boundaries *boundaries, Budget budget)
{
    Search *search = boundaries->search;
    Option *ranked[OPTIONS_MOST];
    unsigned searched = 0;
    double best = 0;
    for (unsigned i = 0; i < boundaries->count; i++)
        ranked[i] = &boundaries->options[i];
    qsort(ranked, boundaries->count, sizeof *ranked, compare_potential);
    for (unsigned i = 0; i < boundaries->count; i++) {
        Option *option = ranked[i];
        const double potential = option->boundary->potential;
        /* Lower boundaries of unknown worth are only taken where they are free. */
        bool may_search = potential > 0 ? is_promising(option) && potential > best : i == 0;
        may_search &= searched < SEARCHED_MOST && !budget_is_spent(search, budget);
        bool is_next_known = i + 1 < boundaries->count && is_promising(ranked[i + 1]);
        bool is_shared = may_search && is_next_known && !searched;
        searched += may_search;
        option_try(boundaries, option, may_search,
                   is_shared ? budget_keep(budget, budget_left(search, budget) / 2) : budget);
        if (option_judge(boundaries, option) == BOUNDARY_FITS && option->boundary->speedup > best)
            best = option->boundary->speedup;
    }
}

static void option_take(const Boundaries *boundaries, const Option *option, PassContext *context)
{
    Search *search = boundaries->search;
    RegistersResult *result = search->result;
    option->boundary->is_chosen = true;
    result->target = option->boundary->registers;
    result->capped = option->capped;
    search_set_best(search, body_clone(option->form), &option->boundary->figures);
    best_take(search, context);
    result->reached = true;
    result->explanation.outcome = REGISTERS_BOUNDARY;
}

/* Nothing is taken; why not. */
static RegistersOutcome nothing_to_gain(const Boundaries *boundaries)
{
    if (boundaries_below(boundaries))
        return REGISTERS_NO_GAIN;
    return boundaries->cut.kind != DEMAND_MET ? REGISTERS_CUT : REGISTERS_NO_BOUNDARY;
}

void target_auto(Search *search, const Body *input, PassContext *context, Budget budget)
{
    RegistersResult *result = search->result;
    Boundaries boundaries = {.search = search, .input = input};
    boundaries.threads =
        block_size_total_assumed(&search->passes.block, search->request->launch_threads, &result->explanation.origin);
    boundaries.shared = result->before.shared + search->request->dynamic_shared;
    boundaries.now = sm_occupancy(search->passes.sm, boundaries.threads, result->before.registers,
                                       boundaries.shared);
    result->capped = result->before;
    boundaries_list(&boundaries);
    if (boundaries.count) {
        search_prepare_prediction(search, input);
        if (pass_is_enabled(search->passes.options, PASS_BOUNDS))
            inputs_prepare(&boundaries, budget);
        potentials_predict(&boundaries);
        options_try(&boundaries, budget);
    }
    result->explanation.threads = boundaries.threads;
    result->explanation.now = boundaries.now;
    result->explanation.launched = search->request->launch_blocks;
    result->explanation.demand = boundaries.cut;
    const Option *best = option_choose(&boundaries);
    if (best)
        option_take(&boundaries, best, context);
    else
        nothing_changed(search, context, nothing_to_gain(&boundaries));
    for (unsigned i = 0; i < boundaries.count; i++)
        body_free(boundaries.options[i].form);
}
