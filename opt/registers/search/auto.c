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
    bool is_raise; /* as many blocks as the input has, with more registers */
    Body *form; /* owned; NULL: none was found */
    Figures capped; /* of the input under this cap */
    Prediction prediction;
    double potential; /* the speedup with the input's code and this boundary's warps; 0: unknown */
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
    const char *cut; /* why lower boundaries are not looked at; NULL: all are */
} Boundaries;

/* The options with fewer registers than the input: all but the first, where that is to raise them. */
static unsigned boundaries_below(const Boundaries *boundaries)
{
    return boundaries->count - (boundaries->count && boundaries->options[0].is_raise);
}

/* Why a form cannot have so few registers. */
static const char *cut_text(const Search *search, unsigned registers)
{
    const Figures *before = &search->result->before, lower = {.known = true, .registers = registers};
    const Residency residency = {.sm = search->passes.sm, .block = search->passes.block};
    return demands_objection(search->passes.arena, &search->demands, &residency, before, &lower);
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
            boundaries->cut = cut_text(search, at->registers);
            break;
        }
        bool is_raise = at->blocks == boundaries->now.blocks && at->registers > result->before.registers &&
                        raise_is_possible(search, boundaries->input);
        bool is_lower = at->blocks > boundaries->now.blocks && at->registers < result->before.registers &&
                        (at->registers >= LOWEST_CAP || !boundaries_below(boundaries));
        if (!is_raise && !is_lower)
            continue;
        RegistersBoundary *boundary = &result->boundaries[boundaries->count];
        *boundary = (RegistersBoundary){
            .registers = at->registers, .blocks = at->blocks, .warps = at->warps, .verdict = "not tried"};
        boundaries->options[boundaries->count++] = (Option){.boundary = boundary, .is_raise = is_raise};
    }
    result->boundary_count = boundaries->count;
}

/* The input's code for the option; the caller frees it. */
static Body *option_input(const Boundaries *boundaries, const Option *option)
{
    if (option->is_raise)
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
        option->potential = best.known && best.cycles > 0 ? boundaries->before.cycles / best.cycles : 0;
    }
}

/* "6 more instructions", "8 bytes of spills and 6 fewer instructions"; NULL: no price. */
static const char *price_text(const Boundaries *boundaries, const Option *option)
{
    const Figures *before = &boundaries->search->result->before, *after = &option->boundary->figures;
    Arena *arena = boundaries->search->passes.arena;
    uint64_t were = figures_spills(before), are = figures_spills(after), spills = are > were ? are - were : 0;
    const char *instructions = NULL, *bytes = NULL;
    if (after->instructions > before->instructions)
        instructions = arena_printf(arena, "%llu more instructions",
                                    (unsigned long long)(after->instructions - before->instructions));
    else if (after->instructions < before->instructions)
        instructions = arena_printf(arena, "%llu fewer instructions",
                                    (unsigned long long)(before->instructions - after->instructions));
    if (spills)
        bytes = arena_printf(arena, "%llu byte%s of spills", (unsigned long long)spills, plural(spills));
    return bytes && instructions ? arena_printf(arena, "%s and %s", bytes, instructions)
           : bytes               ? bytes
                                 : instructions;
}

/* Whether the best form so far is under the boundary and costs no more spills than the input has. */
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

/* Why the input is not used with a directive. */
static const char *not_used(const Search *search, const char *directive, const Figures *figures)
{
    return arena_printf(search->passes.arena, "the input cannot be used %s: %s", directive,
                        figures->message ? figures->message : "it does not assemble");
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
        boundary->verdict = not_used(search, "with .minnctapersm", &boundary->figures);
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
    if (option->is_raise) {
        raise_try(boundaries, option);
        return;
    }
    capped_start(search, boundaries->input, boundary->registers);
    if (search->result->capped.known && may_search && !is_free(search))
        target_search(search, budget);
    boundary->figures = search->best.figures;
    option->capped = search->result->capped;
    if (!boundary->figures.known || search_excess(search, &boundary->figures)) {
        boundary->verdict = boundary->figures.known
                                ? arena_printf(search->passes.arena, "not reached: %u registers at best",
                                               boundary->figures.registers)
                                : not_used(search, "under the cap", &boundary->figures);
        return;
    }
    option->form = body_clone(search->best.body);
    if (option->form->ssa)
        body_from_ssa(option->form);
    bool spills = figures_spills(&boundary->figures) > figures_spills(&search->result->before);
    if (spills && option->potential < threshold(THRESHOLD_SPILLING_GAIN))
        return; /* no prediction could make it worth that */
    option_predict(boundaries, option);
}

/* Whether the option could gain enough, with the input's own code, for a search. */
static bool is_promising(const Option *option)
{
    return option->potential >= threshold(THRESHOLD_SEARCH_POTENTIAL);
}

/* Why the option cannot be chosen; NULL if it can. */
static const char *option_objection(const Boundaries *boundaries, const Option *option)
{
    Search *search = boundaries->search;
    const Figures *before = &search->result->before, *after = &option->boundary->figures;
    if (!option->form)
        return option->boundary->verdict;
    if (option->is_raise)
        return raise_objection(search, option->boundary, &boundaries->before, &option->prediction);
    const char *objection = price_objection(search, &boundaries->before, &option->prediction, after);
    bool spills = figures_spills(after) > figures_spills(before);
    bool grows = after->instructions > search->target.most_instructions;
    bool worth_it = option->boundary->speedup >= threshold(THRESHOLD_SPILLING_GAIN);
    if (objection)
        return objection;
    /* A target that the user did not ask for may not even be slower by less than the model can tell. */
    if (option->boundary->speedup > 0 && option->boundary->speedup < threshold(THRESHOLD_NOT_SLOWER))
        return arena_printf(search->passes.arena, "nothing is gained: it is predicted %.3fx",
                            option->boundary->speedup);
    if (spills && option->potential > 0 && !is_promising(option))
        return arena_printf(search->passes.arena,
                            "the cap alone costs %llu byte%s of spills, and even at no cost the "
                            "warps are predicted to give only %.3fx",
                            (unsigned long long)figures_spills(after), plural(figures_spills(after)),
                            option->potential);
    if (spills && !worth_it)
        return arena_printf(search->passes.arena, "it costs %llu byte%s of spills at best",
                            (unsigned long long)figures_spills(after), plural(figures_spills(after)));
    return grows && !option->boundary->speedup ? "the code grows too much" : NULL;
}

/* Sets the verdicts; the option to be taken, or NULL. */
static Option *option_choose(Boundaries *boundaries)
{
    Arena *arena = boundaries->search->passes.arena;
    Option *best = NULL;
    for (unsigned i = 0; i < boundaries->count; i++) {
        Option *option = &boundaries->options[i];
        const char *objection = option_objection(boundaries, option), *price = price_text(boundaries, option);
        const char *gain = option->boundary->speedup > 0
                               ? arena_printf(arena, ", predicted %.3fx", option->boundary->speedup)
                               : "";
        option->boundary->verdict =
            objection ? objection : arena_printf(arena, "%s%s", price ? price : "no more instructions", gain);
        if (objection)
            continue;
        bool faster = best && option->boundary->speedup * threshold(THRESHOLD_NOT_SLOWER) > best->boundary->speedup;
        if (!best || faster)
            best = option;
    }
    return best;
}

static int compare_potential(const void *a, const void *b)
{
    const Option *x = *(Option *const *)a, *y = *(Option *const *)b;
    if (x->potential != y->potential)
        return x->potential > y->potential ? -1 : 1;
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
        bool is_known = option->potential > 0;
        /* Lower boundaries of unknown worth are only taken where they are free. */
        bool may_search = is_known ? is_promising(option) && option->potential > best : i == 0;
        may_search &= searched < SEARCHED_MOST && !budget_is_spent(search, budget);
        bool is_next_known = i + 1 < boundaries->count && is_promising(ranked[i + 1]);
        bool is_shared = may_search && is_next_known && !searched;
        searched += may_search;
        option_try(boundaries, option, may_search,
                   is_shared ? budget_keep(budget, budget_left(search, budget) / 2) : budget);
        if (option->form && !option_objection(boundaries, option) && option->boundary->speedup > best)
            best = option->boundary->speedup;
    }
}

static const char *nothing_to_gain(const Boundaries *boundaries, const char *note)
{
    const Search *search = boundaries->search;
    const Occupancy *now = &boundaries->now;
    Arena *arena = search->passes.arena;
    const unsigned below = boundaries_below(boundaries);
    const char *above = "";
    if (boundaries->count > below)
        above = arena_printf(arena, "; the %u that are free are not used: %s",
                             boundaries->options[0].boundary->registers, boundaries->options[0].boundary->verdict);
    if (!below && boundaries->cut)
        return boundaries->cut;
    if (!below)
        return arena_printf(arena,
                            "with %u thread%s per block%s an SM holds %u block%s, limited by %s; using fewer "
                            "than %u register%s would not add one%s",
                            boundaries->threads, plural(boundaries->threads), note, now->blocks, plural(now->blocks),
                            occupancy_limits_name(now->limits), search->result->before.registers,
                            plural(search->result->before.registers), above);
    const RegistersBoundary *next = boundaries->options[boundaries->count - below].boundary;
    return arena_printf(arena, "the next boundary, %u register%s with %u thread%s per block%s, is not used: %s%s%s",
                        next->registers, plural(next->registers), boundaries->threads, plural(boundaries->threads),
                        note, next->verdict, below > 1 ? "; lower ones are not, either" : "", above);
}

/* "5 blocks instead of 4", or "16 blocks, as it does with 40 registers". */
static const char *blocks_text(const Boundaries *boundaries, const Option *option)
{
    Arena *arena = boundaries->search->passes.arena;
    if (option->is_raise)
        return arena_printf(arena, "%u block%s, as it does with %u register%s", boundaries->now.blocks,
                            plural(boundaries->now.blocks), boundaries->search->result->before.registers,
                            plural(boundaries->search->result->before.registers));
    return arena_printf(arena, "%u block%s instead of %u", option->boundary->blocks, plural(option->boundary->blocks),
                        boundaries->now.blocks);
}

static void option_take(Boundaries *boundaries, const Option *option, PassContext *context, const char *note)
{
    Search *search = boundaries->search;
    RegistersResult *result = search->result;
    const RegistersBoundary *boundary = option->boundary;
    const char *price = price_text(boundaries, option);
    option->boundary->is_chosen = true;
    result->target = boundary->registers;
    result->capped = option->capped;
    search_set_best(search, body_clone(option->form), &boundary->figures);
    best_take(search, context);
    result->reached = true;
    result->explanation = arena_printf(
        search->passes.arena, "%u register%s: with %u thread%s per block%s an SM holds %s%s%s%s",
        result->after.registers, plural(result->after.registers), boundaries->threads, plural(boundaries->threads),
        note, blocks_text(boundaries, option), price ? ", for " : "", price ? price : "",
        boundary->speedup > 0 ? arena_printf(search->passes.arena, "; predicted %.3fx", boundary->speedup) : "");
}

void target_auto(Search *search, const Body *input, PassContext *context, Budget budget)
{
    RegistersResult *result = search->result;
    const char *note;
    Boundaries boundaries = {.search = search, .input = input};
    boundaries.threads =
        block_size_total_assumed(&search->passes.block, search->request->launch_threads, &note);
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
    Option *best = option_choose(&boundaries);
    if (best)
        option_take(&boundaries, best, context, note);
    else
        nothing_changed(search, context, nothing_to_gain(&boundaries, note));
    for (unsigned i = 0; i < boundaries.count; i++)
        body_free(boundaries.options[i].form);
}
