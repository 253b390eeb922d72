/* The register search's verdict on the candidates that passes propose. */
#include "opt/registers/search/search.h"

/* The time of an assembly, in machine instructions of its output: START_WORK for its start, and PTX_WORK for each
 * instruction of PTX. Measured with ptxas 13.0, whose time is within a fifth of that for forms of one kernel. */
enum { START_WORK = 200, PTX_WORK = 2 };
/* Parts of an assembly of the input; with numbered lines, for its prediction, it takes up to a quarter longer. */
enum { WORK_PARTS = 64, NUMBERED_PARTS = 80 };

unsigned search_excess(const Search *search, const Figures *figures)
{
    return figures->registers > search->target.registers ? figures->registers - search->target.registers : 0;
}

int search_compare(const Search *search, const Figures *a, const Figures *b)
{
    if (a->known != b->known)
        return a->known ? -1 : 1;
    if (!a->known)
        return 0;
    unsigned x = search_excess(search, a), y = search_excess(search, b);
    if (x != y)
        return x < y ? -1 : 1;
    uint64_t p = figures_spills(a), q = figures_spills(b);
    if (p != q)
        return p < q ? -1 : 1;
    if (a->instructions != b->instructions)
        return a->instructions < b->instructions ? -1 : 1;
    return a->registers < b->registers ? -1 : a->registers > b->registers;
}

Budget budget_keep(Budget budget, unsigned assemblies)
{
    budget.reserved += assemblies;
    return budget;
}

unsigned budget_left(const Search *search, Budget budget)
{
    const unsigned taken = search->spent.used + budget.reserved;
    return budget.effort > taken ? budget.effort - taken : 0;
}

Budget budget_limit(const Search *search, Budget budget, unsigned assemblies)
{
    const unsigned left = budget_left(search, budget);
    return left > assemblies ? budget_keep(budget, left - assemblies) : budget;
}

bool budget_is_spent(const Search *search, Budget budget)
{
    const Judge *judge = search->passes.judge;
    return !budget_left(search, budget) ||
           (!search->spent.is_last && judge->is_over && judge->is_over(judge->context));
}

bool search_is_over(const Search *search)
{
    return budget_is_spent(search, search->turn.budget);
}

SearchForm search_mark(const Search *search)
{
    return (SearchForm){.body = body_clone(search->passes.body), .figures = search->current};
}

/* The form, which is taken over, becomes the current one. */
static void set_current(Search *search, SearchForm form)
{
    pass_set_body(&search->passes, form.body);
    search->current = form.figures;
}

void search_rollback(Search *search, SearchForm mark)
{
    set_current(search, mark);
}

void search_form_free(SearchForm *form)
{
    body_free(form->body);
    *form = (SearchForm){0};
}

SearchForm search_take_best(Search *search)
{
    const SearchForm best = search->best;
    search->best = (SearchForm){0};
    return best;
}

void search_put_best(Search *search, SearchForm form)
{
    body_free(search->best.body);
    search->best = form;
}

Proposals proposals_new(const Search *search, Budget budget, unsigned most)
{
    const Judge *judge = search->passes.judge;
    unsigned width = judge->prepare ? judge->width : 0, left = budget_left(search, budget);
    width = width < most ? width : most;
    width = width < left ? width : left;
    return (Proposals){.capacity = width > 1 ? width : 0};
}

void proposals_add(const Search *search, Proposals *proposals, const Body *body)
{
    const Judge *judge = search->passes.judge;
    if (proposals->count >= proposals->capacity)
        return;
    proposals->count++;
    const FunctionForm form = pass_form(&search->passes, body);
    judge->prepare(judge->context, &form);
}

static bool reaches_target(const Search *search, const Figures *figures)
{
    return figures->known && !search_excess(search, figures) &&
           figures_spills(figures) <=
               (search->target.needs_no_spills ? 0 : figures_spills(&search->result->before)) &&
           figures->instructions <= search->target.most_instructions;
}

bool search_is_reached(const Search *search)
{
    return reaches_target(search, &search->best.figures) &&
           (!search->best.is_objected || search->turn.is_over);
}

bool search_should_stop(const Search *search)
{
    return search_is_over(search) || search_is_reached(search);
}

Candidate candidate_new(const Search *search)
{
    Body *body = body_clone(search->passes.body);
    return (Candidate){body, analyses_new(body)};
}

void candidate_free(Candidate *candidate)
{
    analyses_free(candidate->analyses);
    body_free(candidate->body);
}

bool candidate_run(const Search *search, Candidate *candidate, PassId pass)
{
    PassContext context = search->passes;
    context.body = candidate->body;
    context.analyses = candidate->analyses;
    bool changed = pass_run(&context, pass);
    *candidate = (Candidate){context.body, context.analyses};
    return changed;
}

/* The form to be assembled: of the input, what the user wrote. */
static FunctionForm form_of(const Search *search, const Body *body)
{
    if (body == search->input && search->request->is_original)
        return (FunctionForm){.function = search->passes.kernel};
    return pass_form(&search->passes, body);
}

static uint64_t work_of(const Body *body, const Figures *figures)
{
    uint64_t count = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            count++;
    return START_WORK + PTX_WORK * count + figures->instructions;
}

unsigned search_effort_of(const Search *search, unsigned count)
{
    const Figures *best = &search->best.figures, *before = &search->result->before;
    if (!search->best.body || !best->known || !before->known)
        return count;
    uint64_t each = work_of(search->best.body, best), input = work_of(search->input, before);
    return each > input ? (unsigned)((count * each + input / 2) / input) : count;
}

static void charge(Search *search, const Body *body, const Figures *figures, unsigned parts)
{
    const Figures *before = &search->result->before;
    uint64_t work = parts;
    if (before->known && figures->known)
        work = work_of(body, figures) * parts / work_of(search->input, before);
    search->spent.work += work > parts ? work : parts;
    search->spent.used = (unsigned)(search->spent.work / WORK_PARTS);
}

/* Gives up a form that could wait for ever where the input does not. */
static void demands_check(const Search *search, Figures *figures)
{
    const PassContext *passes = &search->passes;
    const Figures *input = search->launched.known ? &search->launched : &search->result->before;
    const Residency residency = {
        .sm = passes->sm, .block = passes->block, .dynamic_shared = search->request->dynamic_shared};
    if (!figures->known || !input->known)
        return;
    const DemandObjection objection = demands_objection(&search->demands, &residency, input, figures);
    if (objection.kind == DEMAND_MET)
        return;
    figures->known = false;
    figures->unmet = demand_copy(passes->arena, &objection);
}

Figures search_measure(Search *search, const Body *body)
{
    const Judge *judge = search->passes.judge;
    const FunctionForm form = form_of(search, body);
    Figures figures = {0};
    if (!judge->measure(judge->context, &form, &figures))
        figures.known = false;
    if (!figures.repeated)
        charge(search, body, &figures, WORK_PARTS);
    demands_check(search, &figures);
    if (search->observer && search_accepts(search, &figures))
        search->observer->measured(search->observer, body, &figures);
    return figures;
}

Prediction search_predict(Search *search, const Body *body, const Figures *figures)
{
    const Judge *judge = search->passes.judge;
    if (!judge->predict)
        return (Prediction){0};
    Body *copy = body->ssa ? body_clone(body) : NULL;
    if (copy)
        body_from_ssa(copy);
    const FunctionForm form = form_of(search, copy ? copy : body);
    Prediction prediction = judge->predict(judge->context, &form, figures, &search->request->change);
    if (prediction.is_new && body == search->input)
        charge(search, body, figures, NUMBERED_PARTS);
    body_free(copy);
    return prediction;
}

Body *input_capped(const Search *search)
{
    Body *body = body_clone(search->input);
    body->tuning.maxnreg = search->target.cap;
    return body;
}

Prediction search_predict_capped(Search *search)
{
    if (!search->target.capped.known && search->target.cap) {
        Body *body = input_capped(search);
        search->target.capped = search_predict(search, body, &search->result->capped);
        body_free(body);
    }
    return search->target.capped;
}

void search_prepare_prediction(const Search *search, const Body *input)
{
    const Judge *judge = search->passes.judge;
    if (!judge->predict || !judge->prepare_prediction)
        return;
    const FunctionForm form = form_of(search, input);
    judge->prepare_prediction(judge->context, &form);
}

uint64_t search_growth_allowed(const Search *search)
{
    const Figures *current = &search->current;
    uint64_t gone = figures_spills(current) / sizeof(uint32_t) / 2;
    uint64_t least = current->instructions > gone ? current->instructions - gone : 0;
    return search->target.most_instructions > least ? search->target.most_instructions - least : 0;
}

bool search_is_too_long(const Search *search)
{
    const Figures *last = &search->turn.last, *current = &search->current;
    return last->known && !search_excess(search, last) && last->instructions > search->target.most_instructions &&
           current->instructions < search->target.most_instructions && figures_spills(last) < figures_spills(current);
}

bool search_accepts(const Search *search, const Figures *figures)
{
    return figures->known && figures->instructions <= search->target.most_instructions &&
           (!figures->serialized || search->result->before.serialized);
}

static void step_dump(const Search *search, PassId pass, const RegistersStep *step, const Body *body)
{
    const PassOptions *options = search->passes.options;
    if (!options->dumped[pass])
        return;
    Buf words = {0};
    Body *printed = body_clone(body); /* what is assembled: no phis */
    if (printed->ssa)
        body_from_ssa(printed);
    if (options->print_step)
        options->print_step(step, &words);
    pass_dump(&search->passes, pass, printed, buf_text(&words));
    body_free(printed);
    buf_free(&words);
}

void search_record(Search *search, PassId pass, Move move, const Body *body, const Figures *figures, bool kept)
{
    const RegistersStep step = {move, *figures, kept};
    VEC_PUSH(search->passes.arena, search->record.steps, step);
    search->record.kept[pass] += kept;
    if (kept)
        step_dump(search, pass, &step, body);
}

void search_set_best(Search *search, Body *body, const Figures *figures)
{
    search_put_best(search, (SearchForm){.body = body, .figures = *figures});
}

Objection price_objection(const Search *search, const Prediction *before, const Prediction *after,
                          const Figures *figures)
{
    const Policy policy = {.idle = threshold(THRESHOLD_IDLE_LONGER),
                           .time = threshold(THRESHOLD_TIME_ALIKE),
                           .path = threshold(THRESHOLD_PATH_ALIKE)};
    const JudgedForm form = {figures, after}, input = {&search->result->before, before};
    return policy_objection(&policy, &form, &input);
}

Objection time_objection(Search *search, const Body *form, const Figures *figures)
{
    Prediction before = search_predict(search, search->input, &search->result->before);
    Prediction after = search_predict(search, form, figures);
    return price_objection(search, &before, &after, figures);
}

/* True if the form reaches the target at a price that is not worth it. With the goal of the fewest registers, the
 * user says what price is. */
static bool is_objected(Search *search, const Body *body, const Figures *figures)
{
    if (search->request->goal == GOAL_FEWEST || !reaches_target(search, figures))
        return false;
    const Objection objection = time_objection(search, body, figures);
    return objects(&objection);
}

/* True if the form spills more than the input under the cap, as a launch executes it: fewer bytes may be spilled in
 * places that are executed more often, or in loops that the assembler does not unroll any more. */
static bool spills_more_often(Search *search, const Body *body, const Figures *figures)
{
    const Figures *capped = &search->result->capped;
    if (search->request->goal == GOAL_FEWEST || !figures_spills(figures) || !figures_spills(capped) ||
        search_excess(search, figures) < search_excess(search, capped))
        return false;
    Prediction before = search_predict_capped(search);
    if (!before.known || !before.is_machine)
        return false;
    Prediction after = search_predict(search, body, figures);
    return after.known && after.is_machine && after.spills > threshold(THRESHOLD_SPILLS_ALIKE) * before.spills;
}

/* True if the form is better than the best one: of two that reach the target, one may not be worth its price. */
static bool is_better(const Search *search, const Figures *figures, bool objected)
{
    return search_compare(search, figures, &search->best.figures) < 0 ||
           (search->best.is_objected && !objected && reaches_target(search, figures));
}

bool search_consider(Search *search, PassId pass, const Body *body, Move move, uint64_t slack, bool silent)
{
    if (search_is_over(search))
        return false;
    pass_verify(pass, body);
    search->record.tried[pass]++;
    Figures figures = search->turn.last = search_measure(search, body);
    bool fits = search_accepts(search, &figures);
    if (figures.known && !fits && !search_excess(search, &figures) &&
        (!search->target.dropped.known || search_compare(search, &figures, &search->target.dropped) < 0))
        search->target.dropped = figures;
    int order = fits ? search_compare(search, &figures, &search->current) : 1;
    bool objected = fits && is_objected(search, body, &figures);
    bool best = fits && is_better(search, &figures, objected) && !spills_more_often(search, body, &figures);
    bool expensive = (best || order < 0) && search->target.is_guided &&
                     search->observer->objects(search->observer, body, &figures);
    best &= !expensive;
    search->turn.is_over |= objected;
    if (best)
        search_put_best(search, (SearchForm){body_clone(body), figures, objected});
    bool taken = !objected && !expensive && (order < 0 || (slack && order == 0));
    if (!taken && !expensive && slack > 1 && fits &&
        search_excess(search, &figures) <= search_excess(search, &search->current))
        taken = figures_spills(&figures) < figures_spills(&search->current) + slack;
    if (taken)
        set_current(search, (SearchForm){.body = body_clone(body), .figures = figures});
    move.is_objected = objected || expensive;
    if (best || !silent)
        search_record(search, pass, move, body, &figures, best);
    return taken;
}

bool candidate_propose(Search *search, PassId pass, Candidate *candidate, Move move)
{
    bool taken = move.count && search_consider(search, pass, candidate->body, move, 0, false);
    candidate_free(candidate);
    return taken;
}

bool search_run(Search *search, PassId pass, SearchStage stage, unsigned assemblies, Budget budget)
{
    search->turn = (SearchTurn){.stage = stage, .assemblies = assemblies, .budget = budget};
    return !search_should_stop(search) && pass_run(&search->passes, pass);
}

void search_restore(Search *search)
{
    const SearchForm *best = &search->best;
    if (best->body->ssa && !best->is_objected && search_compare(search, &best->figures, &search->current))
        set_current(search, (SearchForm){.body = body_clone(best->body), .figures = best->figures});
}
