/* The sequence of -coarsen auto: forms are made, weighed, confirmed, and one is chosen (see choose.h). */
#include "engine/choose/choose.h"

#include <math.h>
#include <string.h>

#include "engine/choose/internal.h"
#include "engine/choose/pays.h"
#include "engine/judge/machine_cost.h"
#include "engine/progress.h"

enum { MOST_CONFIRMED = 6 };
/* The shares of the time that is left for weighing all forms, and then for comparing the best by machine code. */
static const double WEIGH_SHARE = 0.6, CONFIRM_SHARE = 0.6;
/* If a boundary is to be chosen too, it is searched for the MOST_SEARCHED fastest forms. */
enum { MOST_SEARCHED = 3, SEARCH_LEVEL = 1 };

/* The bases on which the forms are compared. */

const Launch *choice_launch(const ChoiceContext *context, const char *kernel)
{
    for (size_t i = 0; i < context->launch_count; i++)
        if (strcmp(context->launches[i]->kernel, kernel) == 0)
            return context->launches[i];
    return NULL;
}

static void set_bases(Choice *choice, const ChoiceContext *context, const BlockSize *block)
{
    const Launch *launch = choice_launch(context, choice->kernel->name);
    choice->is_block_known = launch || block_size_total(block);
    choice->bases = bases_new(choice->arena, choice->options->sm, &context->device, choice->kernel, launch, block,
                              choice->request->dynamic_shared, choice->launch_decides);
    for (unsigned i = 0; i < choice->bases.count; i++)
        choice->bases.of[i].basis.poll = context->judge ? &context->judge->poll : NULL;
}

/* Begins a stage of the choice, which may take this share of its time that is left. */
static void stage_begin(Choice *choice, double share)
{
    choice->was_over = is_cut(choice);
    if (choice->judge)
        assembler_judge_stage(choice->judge, share);
}

/* The fastest form by machine code, among those that PTX instructions rank first of the forms that merge threads,
 * blocks, or both. */
static Candidate *fastest(Choice *choice)
{
    Candidate *best = NULL;
    unsigned confirmed[KINDS + 1] = {0};
    stage_begin(choice, CONFIRM_SHARE);
    progress_continue(choice->progress, "predicting times of the best forms");
    for (unsigned i = 0; i < choice->candidate_count && !is_over(choice); i++) {
        Candidate *candidate = &choice->candidates[i];
        const Shape *shape = &candidate->trial->shape;
        unsigned *count = &confirmed[is_product(shape) ? KINDS : shape_is_of_blocks(shape)];
        if (*count >= MOST_CONFIRMED)
            continue;
        trial_show(choice, candidate->trial);
        candidate_confirm(choice, candidate);
        *count += candidate->is_confirmed;
        if (candidate->is_confirmed && (!best || candidate_is_better(choice, candidate, best)))
            best = candidate;
    }
    trial_show(choice, NULL);
    const bool is_unconfirmed = !best && is_cut(choice) && choice->candidate_count > 0;
    Candidate *first = choice->candidates;
    return is_unconfirmed && first->trial->verdict.state != TRIAL_FORBIDDEN ? first : best;
}

/* Briefly searches for the boundary at which the form is the fastest, and compares it with the input there. False if
 * nothing is changed, or the time is unknown. */
static bool search_boundary(Choice *choice, const KernelRequest *request, TrialVerdict *verdict)
{
    PipelineOptions options = *choice->options;
    KernelResult result;
    const Basis *exact = &choice->exact.of[0];
    FormCost before, cost;
    memset(options.passes.dumped, 0, sizeof options.passes.dumped);
    options.level = options.level < SEARCH_LEVEL ? options.level : SEARCH_LEVEL;
    choice->judge->basis = &exact->basis;
    pipeline_run(choice->arena, choice->kernel, request, &options, &result);
    const Figures *after = &result.reduction.after;
    const MeasuredForm form = {
        .form = kernel_form(&result), .figures = after, .change = kernel_launch_change(&result)};
    const bool is_known = result.registers == OUTCOME_DONE && after->known &&
                          basis_compare(exact, choice->judge, &form, &before, &cost);
    if (is_known)
        *verdict = (TrialVerdict){
            .state = TRIAL_COMPARED, .cost = cost_verdict(&before, &cost), .registers = after->registers};
    assembler_judge_settle(choice->judge);
    choice->judge->basis = NULL;
    kernel_discard(&result);
    return is_known;
}

/* The fastest of the confirmed forms that have not been searched yet; NULL if there is none. */
static Candidate *next_searched(const Choice *choice)
{
    Candidate *next = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        const bool is_open = candidate->is_confirmed && !candidate->is_searched;
        if (is_open && (!next || candidate_is_better(choice, candidate, next)))
            next = candidate;
    }
    return next;
}

/* Searches the candidate's boundary, and takes it if the form is faster there. */
static void candidate_search(Choice *choice, Candidate *candidate)
{
    CoarsenTrial *trial = candidate->trial;
    const KernelRequest request = trial_request(choice, trial);
    TrialVerdict verdict;
    candidate->is_searched = true;
    if (!search_boundary(choice, &request, &verdict) || !(verdict.cost.speedup > trial->speedup))
        return;
    trial->speedup = verdict.cost.speedup;
    trial->verdict = verdict;
}

/* Factor and boundary are chosen together: the fastest form may depend on how far its registers can be reduced, and
 * coarsening has to beat the input at its own best boundary. */
static Candidate *fastest_with_boundary(Choice *choice, Candidate *best)
{
    const KernelRequest *plain = choice->request;
    TrialVerdict verdict;
    Candidate *candidate;
    if (!best || !choice->judge || !plain->reduce || plain->registers.goal != GOAL_AUTO || !choice->is_block_known ||
        is_over(choice))
        return best;
    stage_begin(choice, 1);
    progress_continue(choice->progress, "fewer registers in the best forms");
    if (search_boundary(choice, plain, &verdict) && verdict.cost.speedup > 1)
        choice->plain_speedup = verdict.cost.speedup;
    for (unsigned i = 0; i < MOST_SEARCHED && !is_over(choice) && (candidate = next_searched(choice)) != NULL; i++) {
        trial_show(choice, candidate->trial);
        candidate_search(choice, candidate);
        if (candidate_is_better(choice, candidate, best))
            best = candidate;
    }
    trial_show(choice, NULL);
    return best;
}

/* Without a launch, the grid's size is assumed: among the forms that are about as fast as the best, the one that merges
 * the least needs the fewest threads to be so. */
static const Candidate *thriftiest(const Choice *choice, const Candidate *best)
{
    const Candidate *found = best;
    for (unsigned i = 0; best && !launch_of(choice) && i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        unsigned merged = shape_replicas(&candidate->trial->shape), least = shape_replicas(&found->trial->shape);
        bool is_alike = promise_is_alike(candidate_worth(candidate), candidate_worth(best));
        if (!candidate->is_confirmed || !is_alike || !candidate_suffices(choice, candidate))
            continue;
        if (merged < least || (merged == least && candidate_worth(candidate) > candidate_worth(found)))
            found = candidate;
    }
    return found;
}

/* The choice not to coarsen. */
static FactorChoice stay(const Choice *choice, FactorOutcome outcome)
{
    return (FactorChoice){.request = *choice->request,
                          .outcome = outcome,
                          .is_counted = launch_of(choice) != NULL,
                          .plain_speedup = choice->plain_speedup,
                          .risk = choice->risk,
                          .trials = choice->trials,
                          .trial_count = choice->trial_count};
}

/* The same if nothing can be coarsened, which the result must report. */
static FactorChoice refuse(const Choice *choice, FactorOutcome outcome, Refusal refusal)
{
    FactorChoice refused = stay(choice, outcome);
    refused.request.refused = refusal;
    return refused;
}

/* The form that would gain the most if a launch did not forbid it; NULL if none is forbidden. */
static const CoarsenTrial *best_forbidden(const Choice *choice)
{
    const CoarsenTrial *best = NULL;
    for (unsigned i = 0; i < choice->trial_count; i++) {
        const CoarsenTrial *trial = &choice->trials[i];
        if (trial->verdict.state == TRIAL_FORBIDDEN && (!best || trial->speedup > best->speedup))
            best = trial;
    }
    return best;
}

/* No form is in the running; 'is_any_sound': one was before it was assembled. */
static FactorChoice decide_without(const Choice *choice, bool is_any_sound)
{
    const CoarsenTrial *forbidden = best_forbidden(choice);
    const FactorOutcome none = choice->trial_count ? FACTOR_NONE_SOUND : FACTOR_NONE_FITS;
    if (is_cut(choice))
        return stay(choice, FACTOR_INTERRUPTED);
    if (!forbidden)
        return is_any_sound ? stay(choice, none) : refuse(choice, none, choice->refusal);
    const bool gains = speedup_judge(forbidden->speedup, THRESHOLD_COARSEN_GAIN) == VERDICT_TAKE;
    FactorChoice made = stay(choice, gains ? FACTOR_FORBIDDEN : FACTOR_LOSES);
    made.best = forbidden;
    return made;
}

static FactorChoice decide(const Choice *choice, const Candidate *best)
{
    const bool is_taken = candidate_suffices(choice, best);
    FactorChoice made = stay(choice, is_taken ? FACTOR_CHOSEN : FACTOR_NO_GAIN);
    made.best = best->trial;
    made.promise = candidate_promise(choice, best);
    best->trial->chosen = is_taken;
    if (!is_taken)
        return made;
    made.request = trial_request(choice, best->trial);
    made.speedup = best->trial->speedup;
    made.interval = best->trial->verdict.cost.interval;
    return made;
}

/* The input's cost on every basis; false, with the refusal, if one is unknown. */
static bool weigh_input(Choice *choice, Refusal *refusal)
{
    const FunctionForm input = {.function = choice->kernel};
    const Judge *judge = choice->options->judge;
    Figures figures = {0};
    if (!judge->measure(judge->context, &input, &figures)) {
        const char *message = figures.message ? figures.message : "no reason given";
        *refusal = (Refusal){.reason = REFUSAL_INPUT_BROKEN, .operands = {refusal_name(message)}};
        return false;
    }
    for (unsigned i = 0; i < choice->bases.count; i++) {
        Basis *basis = &choice->bases.of[i];
        basis->before = form_cost(&basis->basis, &input, &figures, NULL);
    }
    const FormCost *first = &choice->bases.of[0].before;
    if (!first->known && choice->is_block_known) {
        *refusal = (Refusal){.reason = REFUSAL_INPUT_UNKNOWN, .operands = {refusal_name(first->error)}};
        return false;
    }
    bases_drop_alike(&choice->bases);
    choice->rough = choice->bases;
    for (unsigned i = 0; i < choice->rough.count; i++) {
        Basis *rough = &choice->rough.of[i];
        if (!rough->basis.launch)
            continue;
        rough->basis.launch = NULL;
        rough->before = form_cost(&rough->basis, &input, &figures, NULL);
    }
    return true;
}

/* The best of the assembled forms that are not marked; NULL if there is none. Those that were compared by machine
 * instructions come first. */
static const Candidate *next_ranked(const Choice *choice, const bool *is_ranked)
{
    const Candidate *next = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (is_ranked[i] || !candidate->trial->is_compared)
            continue;
        const bool is_surer = next && candidate->is_confirmed != next->is_confirmed;
        if (!next || (is_surer ? candidate->is_confirmed : candidate_is_better(choice, candidate, next)))
            next = candidate;
    }
    return next;
}

/* Lists the best forms: 'best' (NULL: none), and then the others. */
static void rank_forms(const Choice *choice, const Candidate *best, unsigned most, FactorChoice *made)
{
    bool *is_ranked = ARENA_ARRAY(choice->arena, bool, choice->candidate_count + 1);
    made->ranked = ARENA_ARRAY(choice->arena, RankedForm, most + 1);
    const Candidate *next = best && best->trial->is_compared ? best : next_ranked(choice, is_ranked);
    while (made->ranked_count < most && next) {
        is_ranked[next - choice->candidates] = true;
        made->ranked[made->ranked_count++] =
            (RankedForm){.request = trial_request(choice, next->trial), .speedup = next->trial->speedup};
        next = next_ranked(choice, is_ranked);
    }
}

static FactorChoice choose(Choice *choice, const ChoiceContext *context)
{
    stage_begin(choice, WEIGH_SHARE);
    forms_allocate(choice);
    kernel_axes(choice->kernel, SREG_ROLE_CTAID, choice->reads_block_index);
    forms_make(choice, context);
    const bool is_any_sound = choice->candidate_count > 0;
    forms_weigh(choice);
    forms_make_products(choice, context);
    forms_weigh(choice);
    const Candidate *best = thriftiest(choice, fastest_with_boundary(choice, fastest(choice)));
    FactorChoice made = best ? decide(choice, best) : decide_without(choice, is_any_sound);
    if (made.request.coarsen && choice->launch_decides && !launch_of(choice)) {
        const FunctionForm input = {.function = choice->kernel};
        const MeasuredForm form = candidate_form(best, &best->figures);
        made.pays_from = pays_from(choice->judge, &choice->bases.of[choice->bases.usual], &input, &form);
    }
    rank_forms(choice, best, context->ranked, &made);
    for (unsigned i = 0; i < choice->candidate_count; i++)
        kernel_discard(&choice->candidates[i].result);
    return made;
}

FactorChoice choose_factor(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           const ChoiceContext *context)
{
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    Choice choice = {.arena = arena,
                     .kernel = kernel,
                     .request = request,
                     .options = options,
                     .quiet = pipeline_quiet(options),
                     .judge = context->judge,
                     .progress = context->progress,
                     .launch_decides = context->launch_decides,
                     .risk = context->risk,
                     .plain_speedup = 1};
    Refusal refusal = {.reason = REFUSAL_NO_FIGURES};
    bool is_known = false;
    require(!request->coarsen);
    if (options->judge && is_over(&choice))
        return stay(&choice, FACTOR_INTERRUPTED);
    if (options->judge && options->sm) {
        set_bases(&choice, context, &block);
        is_known = weigh_input(&choice, &refusal);
    }
    if (!is_known && options->judge && is_over(&choice))
        return stay(&choice, FACTOR_INTERRUPTED);
    return is_known ? choose(&choice, context) : refuse(&choice, FACTOR_IMPOSSIBLE, refusal);
}
