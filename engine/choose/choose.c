/* The sequence of -coarsen auto: forms are made, weighed, confirmed, and one is chosen (see choose.h). */
#include "engine/choose/choose.h"

#include <math.h>
#include <string.h>

#include "engine/choose/internal.h"
#include "engine/choose/pays.h"
#include "engine/judge/machine_cost.h"
#include "engine/launch.h"
#include "engine/progress.h"

enum { MOST_CONFIRMED = 6 };
/* Percent of the time that are left after making forms, weighing them, products, and comparing the best by machine
 * code. */
enum { AFTER_MAKING = 60, AFTER_WEIGHING = 30, AFTER_PRODUCTS = 25, AFTER_COMPARING = 10 };

const Launch *choice_launch(const ChoiceContext *context, const char *kernel)
{
    for (size_t i = 0; i < context->launch_count; i++)
        if (strcmp(context->launches[i]->kernel, kernel) == 0)
            return context->launches[i];
    return NULL;
}

bool choice_launch_block(const ChoiceContext *context, const char *kernel, unsigned block[3])
{
    const Launch *first = choice_launch(context, kernel);
    for (size_t i = 0; i < context->launch_count; i++) {
        const Launch *launch = context->launches[i];
        if (strcmp(launch->kernel, kernel) == 0 && memcmp(launch->block, first->block, sizeof first->block) != 0)
            return false;
    }
    if (first)
        memcpy(block, first->block, sizeof first->block);
    return first != NULL;
}

void basis_follow(CostBasis *basis, const ChoiceContext *context)
{
    basis->poll = context->judge ? &context->judge->poll : NULL;
    basis->samples = !context->counts_all;
}

static void set_bases(Choice *choice, const ChoiceContext *context, const BlockSize *block)
{
    const Launch *launch = choice_launch(context, choice->kernel->name);
    choice->is_block_known = launch || block_size_total(block);
    choice->has_trips = choice->launch_decides && !launch && trip_parameter_find(choice->kernel, &choice->trips);
    choice->bases = bases_new(choice->arena, choice->options->sm, &context->device, choice->kernel, launch, block,
                              choice->request->dynamic_shared,
                              choice->has_trips ? DECIDES_BY_TRIPS
                              : choice->launch_decides ? DECIDES_BY_GRID : DECIDES_NOTHING,
                              choice->launches);
    for (unsigned i = 0; i < choice->bases.count; i++)
        basis_follow(&choice->bases.of[i].basis, context);
}

/* Compares by machine code the forms that PTX instructions rank first of those that merge threads, blocks, or both. */
static void confirm_first(Choice *choice)
{
    unsigned confirmed[KINDS + 1] = {0};
    progress_continue(choice->progress, "predicting times of the best forms");
    for (unsigned i = 0; i < choice->candidate_count && !is_over(choice); i++) {
        Candidate *candidate = &choice->candidates[i];
        const Shape *shape = &candidate->trial->shape;
        unsigned *count = &confirmed[is_product(shape) ? KINDS : shape_is_of_blocks(shape)];
        if (*count >= MOST_CONFIRMED || candidate->trial->verdict.state == TRIAL_FORBIDDEN)
            continue;
        trial_show(choice, candidate->trial);
        if (!candidate->trial->is_confirmed)
            candidate_confirm(choice, candidate);
        *count += candidate->trial->is_confirmed;
    }
    trial_show(choice, NULL);
}

/* The fastest form by machine code. */
static Candidate *fastest(Choice *choice)
{
    Candidate *best = NULL;
    stage_begin(choice, AFTER_COMPARING);
    confirm_first(choice);
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (candidate->trial->is_confirmed && (!best || candidate_is_better(choice, candidate, best)))
            best = candidate;
    }
    const bool is_unconfirmed = !best && is_cut(choice) && choice->candidate_count > 0;
    Candidate *first = choice->candidates;
    return is_unconfirmed && first->trial->verdict.state != TRIAL_FORBIDDEN ? first : best;
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
        if (!candidate->trial->is_confirmed || !is_alike || !candidate_suffices(choice, candidate))
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
                          .counted = counted_part(&choice->bases.of[0].basis, &choice->bases.of[0].before),
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
    if (is_over(choice) || (choice->was_over && !forbidden))
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
        basis->before = text_cost(choice->judge, &basis->basis, &input, &figures, NULL);
        basis_set_jobs(&basis->basis, &basis->before);
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
        rough->basis.known = launch_scalars(choice->arena, choice->kernel, rough->basis.launch);
        rough->basis.launch = NULL;
        rough->before = form_cost(&rough->basis, &input, &figures, NULL);
        if (!rough->before.known)
            continue;
        profile_take_footprint(choice->bases.of[i].before.profile, rough->before.profile);
        rough->before.time = form_time(&rough->basis, &rough->before);
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
        if (!next || candidate_is_first(candidate, next, candidate_is_better(choice, candidate, next)))
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

/* The launches of few blocks in which the form pays, or else, if it does so in those that have no block at the edge of
 * the data, those in which the data's size is a multiple of the block's. */
static FormPays pays_in_few(const Choice *choice, PaysBasis *basis, const MeasuredForm *form)
{
    FormPays pays = form_pays_in_few(basis, form);
    unsigned bound;
    if (pays_ever(&pays) || !bound_parameter_find(choice->kernel, &bound))
        return pays;
    PaysBasis whole = pays_basis(choice, basis->input);
    whole.is_whole = true;
    pays = form_pays_in_few(&whole, form);
    pays.aligned = (AlignedParameter){bound, TWO_WARPS};
    return pays;
}

static FactorChoice choose(Choice *choice, const ChoiceContext *context)
{
    stage_begin(choice, AFTER_MAKING);
    forms_allocate(choice);
    kernel_axes(choice->kernel, SREG_ROLE_CTAID, choice->reads_block_index);
    forms_make(choice, context);
    const bool is_any_sound = choice->candidate_count > 0;
    stage_begin(choice, AFTER_WEIGHING);
    forms_weigh(choice);
    stage_begin(choice, AFTER_PRODUCTS);
    if (!context->threads_only && !context->blocks_only) {
        confirm_first(choice);
        forms_make_products(choice);
        forms_weigh(choice);
    }
    const Candidate *best = thriftiest(choice, candidate_with_boundary(choice, fastest(choice)));
    FactorChoice made = best ? decide(choice, best) : decide_without(choice, is_any_sound);
    if (made.request.coarsen && choice->launch_decides && !launch_of(choice)) {
        const FunctionForm input = {.function = choice->kernel};
        const MeasuredForm form = candidate_form(best, &best->figures);
        PaysBasis basis = pays_basis(choice, &input);
        made.pays = choice->launches == FOR_FEW_BLOCKS ? pays_in_few(choice, &basis, &form) : form_pays(&basis, &form);
        made.pays.factors = pays_factors(&made.request.coarsening.shape);
    }
    if (choice->keeps_several && !launch_of(choice))
        forms_prefer(choice, made.request.coarsen ? best : NULL, &made);
    rank_forms(choice, best, context->ranked, &made);
    for (unsigned i = 0; i < choice->candidate_count; i++)
        kernel_discard(&choice->candidates[i].result);
    return made;
}

/* Chooses a form for these launches. */
static FactorChoice choose_for(Arena *arena, Function *kernel, const KernelRequest *request,
                               const PipelineOptions *options, const ChoiceContext *context, ForLaunches launches)
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
                     .keeps_several = context->keeps_several,
                     .launches = launches,
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
    if (!is_known)
        return refuse(&choice, FACTOR_IMPOSSIBLE, refusal);
    /* Few blocks gain by loops that load ahead. */
    const bool is_hopeless = launches == FOR_FEW_BLOCKS && !choice.bases.of[0].before.profile->assumes_trips;
    return is_hopeless ? stay(&choice, FACTOR_NO_GAIN) : choose(&choice, context);
}

/* Looks for a form for blocks of a warp or less, of which an SM may hold too few threads, if none is worth taking with
 * blocks of the usual sizes. The grid stays: nothing is known about it. */
static void prefer_for_small(Arena *arena, Function *kernel, const KernelRequest *request,
                             const PipelineOptions *options, const ChoiceContext *context, FactorChoice *made)
{
    KernelRequest plain = *request;
    ChoiceContext own = *context;
    plain.coarsening.shrinks_grid = false;
    own.blocks_only = true;
    own.keeps_several = false;
    own.ranked = 0;
    const FactorChoice small = choose_for(arena, kernel, &plain, options, &own, FOR_SMALL_BLOCKS);
    if (small.outcome != FACTOR_CHOSEN)
        return;
    made->preferred[0] = (PreferredForm){.request = small.request, .speedup = small.speedup, .pays = small.pays};
    made->preferred[0].pays.most_block = MOST_SMALL_BLOCK;
    made->preferred_count = 1;
}

/* Looks for a form for launches of few blocks of two warps each, in which merging two threads leaves one: the assembler
 * may use more registers there, for loads ahead. It comes first, but if there are others, only with a block for each SM
 * or less, where they rarely pay. */
static void prefer_for_few(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           const ChoiceContext *context, FactorChoice *made)
{
    KernelRequest plain = *request;
    ChoiceContext own = *context;
    plain.block[0] = TWO_WARPS;
    plain.block[1] = plain.block[2] = 1;
    own.threads_only = true;
    own.keeps_several = false;
    own.ranked = 0;
    const FactorChoice few = choose_for(arena, kernel, &plain, options, &own, FOR_FEW_BLOCKS);
    if (few.outcome != FACTOR_CHOSEN || !pays_ever(&few.pays))
        return;
    if (made->request.coarsen && !made->preferred_count)
        made->preferred[made->preferred_count++] =
            (PreferredForm){.request = made->request, .speedup = made->speedup, .pays = made->pays};
    PreferredForm added = {.request = few.request, .speedup = few.speedup, .pays = few.pays};
    if (made->preferred_count && (!added.pays.most || added.pays.most > TWO_WARPS))
        added.pays.most = TWO_WARPS;
    if (added.pays.most && added.pays.most <= TWO_WARPS)
        added.request.launch_blocks = 1;
    for (unsigned i = made->preferred_count++; i > 0; i--)
        made->preferred[i] = made->preferred[i - 1];
    made->preferred[0] = added;
}

/* The choice not to coarsen a kernel whose loops end by the clock, which is read there. */
static FactorChoice refuse_clock(const KernelRequest *request, const ChoiceContext *context, const Span *reading)
{
    FactorChoice refused = {
        .request = *request, .outcome = FACTOR_IMPOSSIBLE, .plain_speedup = 1, .risk = context->risk};
    refused.request.refused = (Refusal){.reason = REFUSAL_INPUT_UNKNOWN,
                                        .operands = {refusal_name(ENDS_BY_CLOCK)},
                                        .span = *reading,
                                        .has_span = true};
    return refused;
}

FactorChoice choose_factor(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           const ChoiceContext *context)
{
    Span reading;
    if (loops_end_by_clock(kernel, &reading))
        return refuse_clock(request, context, &reading);
    FactorChoice made = choose_for(arena, kernel, request, options, context, FOR_LARGE);
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    const bool is_open = context->keeps_several && !choice_launch(context, kernel->name) && !context->threads_only &&
                         !block_size_total(&block);
    if (is_open && (made.outcome == FACTOR_NO_GAIN || made.outcome == FACTOR_LOSES) && !made.preferred_count &&
        bases_have_small(kernel))
        prefer_for_small(arena, kernel, request, options, context, &made);
    if (is_open && bases_are_linear(kernel) && made.outcome != FACTOR_INTERRUPTED)
        prefer_for_few(arena, kernel, request, options, context, &made);
    return made;
}
