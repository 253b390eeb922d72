/* The search for a form of a kernel that takes fewer registers.
 *
 * Takes a body in any form, works on SSA clones of it, gives one back that is not in SSA form.  Each pass only
 * proposes; what the judge finds worse is dropped and the form before it stays ("save the order, measure again, put it
 * back").  The moves are those of Nugteren, Mesman and Corporaal, "Analyzing CUDA's Compiler through the Visualization
 * of Decoded GPU Binaries" (SCOPES 2010, section 5.4): reordering, rematerialization, and a target at a virtual
 * register boundary. */
#include "opt/registers.h"

#include <string.h>

#include "opt/registers_internal.h"

enum {
    LOWEST_CAP = 24,     /* assemblers raise a lower .maxnreg to this, with a warning */
    ASSUMED_BLOCK = 256, /* threads, where nobody says how many there are */
    CAPS_MOST = 3,       /* caps tried where the assembler refuses the one that was asked for */
    CAP_STEP = 4,        /* registers */
    BATCHES_MOST = 16,   /* assemblies for one way of rematerializing, at first */
};

/* ---- One target -------------------------------------------------------------------------------------------------- */

static unsigned cap_of(unsigned target)
{
    return target < LOWEST_CAP ? LOWEST_CAP : target;
}

static unsigned tuning_threads(const unsigned size[3], unsigned count)
{
    uint64_t product = count ? 1 : 0;
    for (unsigned i = 0; i < count && i < 3 && product <= UINT32_MAX; i++)
        product *= size[i] ? size[i] : 1;
    return product <= UINT32_MAX ? (unsigned)product : 0;
}

/* Whether a word on the block's size, which the caller knows, is worth saying: it lets the assembler take more
 * registers than for 1,024 threads, which it may do or not, so it is measured. */
static void bounds_try(Search *search)
{
    const RegistersRequest *request = search->request;
    const Tuning *tuning = &search->best->tuning;
    if (!request->use_launch_bounds || !(request->block_threads || search->declared.maxntid_count) ||
        tuning->maxntid_count || tuning->reqntid_count || search_is_over(search))
        return;
    Body *body = body_clone(search->best);
    if (search->declared.maxntid_count) {
        memcpy(body->tuning.maxntid, search->declared.maxntid, sizeof body->tuning.maxntid);
        body->tuning.maxntid_count = search->declared.maxntid_count;
    } else {
        body->tuning.maxntid[0] = request->block_threads;
        body->tuning.maxntid[1] = body->tuning.maxntid[2] = 1;
        body->tuning.maxntid_count = 1;
    }
    Figures figures = search_measure(search, body);
    bool better = search_accepts(search, &figures) && search_compare(search, &figures, &search->best_figures) < 0;
    search_record(
        search,
        arena_printf(search->arena, ".maxntid %u", tuning_threads(body->tuning.maxntid, body->tuning.maxntid_count)),
        &figures, better);
    if (better) {
        body_free(search->best);
        search->best = body;
        search->best_figures = figures;
    } else {
        body_free(body);
    }
}

static void ssa_start(Search *search)
{
    Body *body = body_clone(search->best);
    body_to_ssa(body);
    body_verify(body, "ssa");
    search->current = NULL;
    search->current_figures = (Figures){0};
    search_consider(search, body, "leave SSA form again", 0, false);
    if (!search->current)
        search->current = body_clone(body);
    body_free(body);
}

/* Looks for a form with at most search->target registers.  best: the input under its cap. */
static void target_search(Search *search)
{
    unsigned effort = search->request->effort;
    bounds_try(search);
    if (search_should_stop(search))
        return;
    ssa_start(search);
    search_orders(search, false);
    search_sinks(search);
    search_rematerialization(search, effort / 24 < 3 ? 3 : effort / 24 < BATCHES_MOST ? effort / 24 : BATCHES_MOST);
    search_orders(search, true);
    while (!search_should_stop(search)) {
        unsigned used = search->used, left = effort - used;
        search_wander(search, left < 60 ? left : left / 3 > 40 ? left / 3 : 40);
        search_restore(search);
        search_rematerialization(search, left / 40 < 2 ? 2 : left / 40);
        if (search->used == used)
            break;
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* The threads of a block for boundaries, and how they are known. */
static unsigned block_threads_find(const Search *search, const Tuning *tuning, const char **known)
{
    unsigned threads = tuning_threads(tuning->reqntid, tuning->reqntid_count);
    *known = "";
    if (search->request->block_threads)
        return search->request->block_threads;
    if (threads)
        return threads;
    threads = tuning_threads(tuning->maxntid, tuning->maxntid_count);
    *known = threads ? " (the most that .maxntid allows)" : " (assumed: say -block)";
    return threads ? threads : ASSUMED_BLOCK;
}

static Body *input_clone(const Body *body)
{
    Body *input = body_clone(body);
    if (input->ssa)
        body_from_ssa(input);
    return input;
}

/* The input with the cap that the target asks for becomes the best form so far. */
static void capped_start(Search *search, const Body *input)
{
    RegistersResult *result = search->result;
    search->best = body_clone(input);
    result->capped = result->before;
    unsigned cap = cap_of(search->target);
    bool caps = search->request->use_launch_bounds;
    /* Some instructions (matrix fragments) need more registers at once than the cap leaves: assemblers refuse, and a
     * cap a little higher gets as near as can be. */
    for (unsigned tries = 0; caps && tries < CAPS_MOST && result->before.registers > cap; tries++, cap += CAP_STEP) {
        search->best->tuning.maxnreg = cap;
        result->capped = search_measure(search, search->best);
        search_record(search, arena_printf(search->arena, ".maxnreg %u", cap), &result->capped, result->capped.known);
        if (result->capped.known || search->request->is_auto)
            break;
    }
    search->best_figures = result->capped;
    /* No growth beyond a few percent over the longer of the two forms that cost nothing to make; where nobody asked for
     * this target, over the uncapped one. */
    uint64_t longest = result->before.instructions > result->capped.instructions ? result->before.instructions
                                                                                 : result->capped.instructions;
    if (search->request->is_auto)
        longest = result->before.instructions;
    search->most_instructions = longest + longest / 16 + 4;
}

/* Gives the best form to the caller. */
static void best_install(Search *search, Body **body)
{
    RegistersResult *result = search->result;
    if (search->best->ssa)
        body_from_ssa(search->best);
    body_verify(search->best, "registers");
    if (search->kernel->body == *body)
        search->kernel->body = search->best;
    body_free(*body);
    *body = search->best;
    search->best = NULL;
    result->after = search->best_figures;
    result->changed = true;
}

static void nothing_changed(Search *search, Body **body, const char *explanation)
{
    if ((*body)->ssa)
        body_from_ssa(*body);
    if (search->declared.maxntid_count) {
        memset((*body)->tuning.maxntid, 0, sizeof (*body)->tuning.maxntid);
        (*body)->tuning.maxntid_count = 0;
    }
    search->result->after = search->result->before;
    search->result->explanation = explanation;
}

static void target_explain(Search *search)
{
    RegistersResult *result = search->result;
    const Figures *after = &result->after, *capped = &result->capped;
    unsigned target = search->target;
    result->reached = after->known && after->registers <= target;
    const char *low = target < LOWEST_CAP && !result->reached ? "; assemblers take no cap below 24" : "";
    if (result->reached && !figures_spills(after))
        result->explanation = arena_printf(search->arena, "%u registers, nothing spilled", after->registers);
    else if (result->reached)
        result->explanation = arena_printf(search->arena, "%u registers, %llu bytes spilled (%llu under the cap alone)",
                                           after->registers, (unsigned long long)figures_spills(after),
                                           (unsigned long long)(capped->known ? figures_spills(capped) : 0));
    else
        result->explanation = arena_printf(search->arena, "%u registers: no form with %u was found in %u assemblies%s",
                                           after->registers, target, search->used, low);
}

static void target_fixed(Search *search, const Body *input, Body **body)
{
    RegistersResult *result = search->result;
    search->target = result->target = search->request->target;
    if (result->before.registers <= search->target && !figures_spills(&result->before)) {
        result->reached = true;
        result->capped = result->before;
        nothing_changed(search, body,
                        arena_printf(search->arena, "it takes %u registers as it is", result->before.registers));
        return;
    }
    capped_start(search, input);
    if (!result->capped.known) {
        nothing_changed(search, body,
                        arena_printf(search->arena, "under the cap it could not be assembled: %s",
                                     result->capped.message ? result->capped.message : "no reason given"));
        return;
    }
    target_search(search);
    if (search_compare(search, &search->best_figures, &result->before) < 0)
        best_install(search, body);
    else
        nothing_changed(search, body, NULL);
    target_explain(search);
}

/* Lower boundaries that come for free: neither spills nor instructions more than the form that was found. */
static void boundaries_below(Search *search, unsigned threads, uint64_t shared, Occupancy *now)
{
    const Machine *machine = search->request->machine;
    for (;;) {
        unsigned next = machine_boundary_below(machine, threads, shared, search->target);
        if (next < LOWEST_CAP || search_is_over(search))
            return;
        Body *body = body_clone(search->best);
        body->tuning.maxnreg = next;
        Figures figures = search_measure(search, body);
        bool taken = figures.known && figures.registers <= next &&
                     figures_spills(&figures) <= figures_spills(&search->best_figures) &&
                     figures.instructions <= search->best_figures.instructions;
        search_record(search, arena_printf(search->arena, ".maxnreg %u", next), &figures, taken);
        if (!taken) {
            body_free(body);
            return;
        }
        body_free(search->best);
        search->best = body;
        search->best_figures = figures;
        search->target = search->result->target = next;
        *now = machine_occupancy(machine, threads, next, shared);
    }
}

static void target_auto(Search *search, const Body *input, Body **body)
{
    RegistersResult *result = search->result;
    const Machine *machine = search->request->machine;
    const Figures *before = &result->before;
    const char *known;
    unsigned threads = block_threads_find(search, &input->tuning, &known);
    uint64_t shared = before->shared + search->request->shared_bytes;
    Occupancy now = machine_occupancy(machine, threads, before->registers, shared);
    unsigned boundary = machine_boundary_below(machine, threads, shared, before->registers);
    result->capped = *before;
    if (!boundary) {
        const char *limits = occupancy_limits_name(now.limits);
        nothing_changed(search, body,
                        arena_printf(search->arena,
                                     "with %u threads a block%s an SM holds %u blocks, limited by %s: fewer registers "
                                     "than %u gain nothing",
                                     threads, known, now.blocks, limits, before->registers));
        return;
    }
    search->target = result->target = boundary;
    Occupancy then = machine_occupancy(machine, threads, boundary, shared);
    capped_start(search, input);
    if (result->capped.known)
        target_search(search);
    if (!search_is_reached(search)) {
        result->target = 0;
        const Figures *best = &search->best_figures;
        nothing_changed(
            search, body,
            !best->known ? "under the cap it could not be assembled"
            : search_excess(search, best)
                ? arena_printf(search->arena,
                               "the next boundary, %u registers with %u threads a block%s, was not reached: "
                               "%u at best",
                               boundary, threads, known, best->registers)
                : arena_printf(search->arena,
                               "the next boundary, %u registers with %u threads a block%s, costs %llu bytes "
                               "of spills at best",
                               boundary, threads, known, (unsigned long long)figures_spills(best)));
        return;
    }
    if (search->request->use_launch_bounds)
        boundaries_below(search, threads, shared, &then);
    best_install(search, body);
    result->reached = true;
    result->explanation =
        arena_printf(search->arena, "%u registers: with %u threads a block%s an SM holds %u blocks instead of %u",
                     result->after.registers, threads, known, then.blocks, now.blocks);
}

void registers_reduce(Arena *arena, Function *kernel, Body **body, const RegistersRequest *request, const Judge *judge,
                      RegistersResult *result)
{
    require(request->machine && judge && judge->measure);
    *result = (RegistersResult){0};
    Search search = {
        .arena = arena,
        .kernel = kernel,
        .request = request,
        .judge = judge,
        .result = result,
        .most_instructions = UINT64_MAX,
        .random = {0x7074786f7074u},
    };
    Body *input = input_clone(*body);
    /* A bound that a pass has added is a proposal like any other. */
    if (input->tuning.maxntid_count && !kernel->tuning.maxntid_count && !kernel->tuning.reqntid_count &&
        request->use_launch_bounds) {
        search.declared = input->tuning;
        memset(input->tuning.maxntid, 0, sizeof input->tuning.maxntid);
        input->tuning.maxntid_count = 0;
    }
    result->before = search_measure(&search, input);
    if (!result->before.known)
        nothing_changed(&search, body,
                        arena_printf(arena, "it could not be assembled: %s",
                                     result->before.message ? result->before.message : "no reason given"));
    else if (request->is_auto)
        target_auto(&search, input, body);
    else
        target_fixed(&search, input, body);
    body_free(input);
    body_free(search.best);
    body_free(search.current);
    result->steps = search.steps.data;
    result->step_count = (unsigned)search.steps.count;
}
