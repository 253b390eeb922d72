/* Assembling the forms of -coarsen auto, and comparing them with the input. */
#include <stdlib.h>

#include "engine/choose/internal.h"
#include "engine/judge/machine_cost.h"
#include "engine/progress.h"

enum { FEWEST_COUNTED = 6, MOST_COUNTED = 24, COUNTED_INSTRUCTIONS = 10000000 };

MeasuredForm candidate_form(const Candidate *candidate, const Figures *figures)
{
    return (MeasuredForm){.form = kernel_form(&candidate->result),
                          .figures = figures,
                          .change = contract_change(&candidate->result.contract)};
}

/* Takes the comparison on one basis down: of the bases in which the form must gain, the lowest speedup counts. False if
 * the form is rejected because of it. */
static bool note_comparison(CoarsenTrial *trial, const CostVerdict *cost, Elsewhere elsewhere, Risk risk,
                            Threshold least)
{
    TrialVerdict *verdict = &trial->verdict;
    if (elsewhere == ELSEWHERE_NONE) {
        if (verdict->state != TRIAL_COMPARED || cost->speedup < trial->speedup) {
            trial->speedup = cost->speedup;
            *verdict = (TrialVerdict){.state = TRIAL_COMPARED, .cost = *cost};
        }
        return true;
    }
    const double sure = sure_speedup(cost, risk);
    if (speedup_judge(sure, least) == VERDICT_TAKE)
        return true;
    verdict->state = TRIAL_FORBIDDEN;
    verdict->elsewhere = elsewhere;
    verdict->elsewhere_speedup = sure;
    return false;
}

/* Compares a form with the input on every basis. Elsewhere, the speedup must be at least a threshold. False, with the
 * verdict, if a time is unknown or a launch forbids the form. */
static bool candidate_compare(const Choice *choice, const Candidate *candidate, const Bases *bases, CodeKind code,
                              const Figures *figures)
{
    const Threshold least_elsewhere =
        code == CODE_MACHINE ? THRESHOLD_COARSEN_ELSEWHERE : THRESHOLD_COARSEN_ELSEWHERE_ROUGH;
    const Risk risk = code == CODE_MACHINE ? choice->risk : RISK_HIGH;
    /* A form for few blocks has other machine code, with more registers, which PTX does not show. */
    const bool rejects = code == CODE_MACHINE || choice->launches != FOR_FEW_BLOCKS;
    CoarsenTrial *trial = candidate->trial;
    const MeasuredForm form = candidate_form(candidate, figures);
    trial->verdict = (TrialVerdict){.state = TRIAL_MADE};
    for (unsigned i = 0; i < bases->count; i++) {
        const Basis *basis = &bases->of[i];
        FormCost before, after;
        if (!basis_compare(basis, choice->judge, code, &form, &before, &after)) {
            trial->verdict = (TrialVerdict){.state = TRIAL_UNKNOWN, .message = after.error};
            return false;
        }
        const CostVerdict cost = cost_verdict(&before, &after);
        if ((rejects || basis->elsewhere == ELSEWHERE_NONE) &&
            !note_comparison(trial, &cost, basis->elsewhere, risk, least_elsewhere))
            return false;
    }
    return true;
}

bool candidate_estimate(const Choice *choice, Candidate *candidate)
{
    const Figures *figures = &choice->bases.of[0].before.figures;
    if (!candidate->is_estimated)
        candidate->is_allowed = candidate_compare(choice, candidate, &choice->rough, CODE_PTX, figures);
    candidate->is_estimated = true;
    return candidate->is_allowed;
}

/* The promise as far as forms are ranked by it: all of them are as uneven as the input. */
static Promise promise_to_rank(const Candidate *candidate)
{
    return (Promise){.speedup = candidate->trial->speedup,
                     .is_narrow = candidate->is_narrow,
                     .is_product = is_product(&candidate->trial->shape),
                     .fits_seldom = candidate->trial->fits_seldom};
}

Promise candidate_promise(const Choice *choice, const Candidate *candidate)
{
    Promise promise = promise_to_rank(candidate);
    promise.is_uneven = choice->bases.of[0].before.profile->uneven;
    promise.sure = sure_speedup(&candidate->trial->verdict.cost, choice->risk);
    return promise;
}

bool candidate_suffices(const Choice *choice, const Candidate *candidate)
{
    const Promise promise = candidate_promise(choice, candidate);
    return promise_suffices(&promise, choice->plain_speedup);
}

bool candidate_is_better(const Choice *choice, const Candidate *a, const Candidate *b)
{
    const bool suffices = candidate_suffices(choice, a);
    return suffices == candidate_suffices(choice, b) ? candidate_worth(a) > candidate_worth(b) : suffices;
}

bool candidate_is_first(const Candidate *a, const Candidate *b, bool is_better)
{
    return a->trial->is_confirmed == b->trial->is_confirmed ? is_better : a->trial->is_confirmed;
}

double candidate_worth(const Candidate *candidate)
{
    const Promise promise = promise_to_rank(candidate);
    return promise_worth(&promise);
}

double candidate_full_worth(const Candidate *candidate)
{
    Promise promise = promise_to_rank(candidate);
    promise.fits_seldom = false;
    return promise_worth(&promise);
}

/* Orders candidates from the best to the worst. */
static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (candidate_worth(x) != candidate_worth(y))
        return candidate_worth(x) < candidate_worth(y) ? 1 : -1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* Orders trials from small factors to large ones. */
static int compare_trials(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* The axis along which alone threads are merged; 3: there is none, or there are several. */
static unsigned only_axis(const Shape *shape)
{
    unsigned axis = 3;
    for (unsigned d = 0; d < 3; d++)
        if (shape->threads[d] > 1)
            axis = axis == 3 && shape->threads[d] == shape_replicas(shape) ? d : 3;
    return axis;
}

/* Puts aside, among the forms not weighed yet, all but the first 'most' of those that merge threads, and of those that
 * merge only blocks: estimates compare forms of one kind better than kinds. Merged blocks get half as many where the
 * grid stays, which pays less often. The first form along each axis stays as well: what neighbours along x share is
 * estimated otherwise than what those along y do. */
static void take_first(Choice *choice, unsigned most)
{
    const bool halves = !choice->request->coarsening.shrinks_grid;
    const unsigned share[KINDS] = {most, halves ? (most + 1) / 2 : most};
    unsigned kept = choice->weighed_count, taken[KINDS] = {0};
    bool has_axis[4] = {[3] = true};
    for (unsigned i = kept; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        const CoarsenTrial *trial = candidate->trial;
        const bool of_blocks = shape_is_of_blocks(&trial->shape);
        const unsigned axis = of_blocks ? 3 : only_axis(&trial->shape);
        const bool is_first = !has_axis[axis];
        has_axis[axis] = true;
        if (taken[of_blocks]++ < share[of_blocks] || is_first) {
            choice->candidates[kept++] = *candidate;
            continue;
        }
        candidate->trial->verdict.state = TRIAL_OUTRANKED;
        choice->reserve[choice->reserve_count++] = *candidate;
    }
    choice->candidate_count = kept;
}

/* How many forms of either kind can be assembled and counted: fewer where the launch executes much. */
static unsigned most_weighed(const Choice *choice)
{
    const Profile *profile = choice->bases.of[0].before.profile;
    const double share = profile->sampled_blocks > 0 ? profile->sampled_blocks / profile->blocks : 1;
    const double each = profile->warp_instructions * share;
    if (choice->options->level >= 3)
        return choice->candidate_count;
    if (choice->weighed_count) /* products */
        return FEWEST_COUNTED;
    if (!launch_of(choice) || each * MOST_COUNTED <= COUNTED_INSTRUCTIONS)
        return MOST_COUNTED;
    unsigned affordable = (unsigned)(COUNTED_INSTRUCTIONS / each);
    return affordable < FEWEST_COUNTED ? FEWEST_COUNTED : affordable;
}

/* Drops the forms that are not weighed yet and not among those that estimates rank first: they are not assembled and
 * counted. */
static void prune(Choice *choice)
{
    const unsigned weighed = choice->weighed_count;
    unsigned kept = weighed;
    for (unsigned i = weighed; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (!is_over(choice) && candidate_estimate(choice, candidate))
            choice->candidates[kept++] = *candidate;
        else
            kernel_discard(&candidate->result);
    }
    choice->candidate_count = kept;
    qsort(choice->candidates + weighed, kept - weighed, sizeof *choice->candidates, compare_candidates);
    take_first(choice, most_weighed(choice));
}

/* A form that spills and makes up a part of this one, which then spills, too; NULL if there is none. */
static const CoarsenTrial *spilling_part(const Choice *choice, const CoarsenTrial *trial)
{
    for (unsigned i = 0; i < choice->spilling_count; i++) {
        const CoarsenTrial *part = choice->spilling[i];
        if (shape_is_of_blocks(&part->shape) == shape_is_of_blocks(&trial->shape) && part->guards == trial->guards &&
            shape_is_within(&part->shape, &trial->shape))
            return part;
    }
    return NULL;
}

static void note_spills(Choice *choice, CoarsenTrial *trial, const Figures *before, const Figures *after)
{
    choice->spilling[choice->spilling_count++] = trial;
    trial->verdict.state = TRIAL_SPILLS;
    trial->verdict.spills = figures_spills(after);
    trial->verdict.spills_before = figures_spills(before);
}

/* Compares the assembled form with the input; false, with the verdict, if it is out of the running. */
static bool weigh_assembled(Choice *choice, Candidate *candidate)
{
    CoarsenTrial *trial = candidate->trial;
    const CostVerdict estimate = trial->verdict.cost;
    const Figures *before = &choice->bases.of[0].before.figures, *after = &candidate->figures;
    if (!candidate_compare(choice, candidate, &choice->bases, CODE_PTX, after)) {
        if (is_over(choice))
            trial->verdict = (TrialVerdict){.state = TRIAL_NOT_COMPARED, .cost = estimate};
        return false;
    }
    const DemandObjection objection =
        kernel_objection(&candidate->result, choice->options->sm, choice->request->dynamic_shared, before, after);
    if (objection.kind != DEMAND_MET) {
        trial->verdict.state = TRIAL_DEMANDING;
        trial->verdict.demand = objection;
        return false;
    }
    trial->is_compared = spills_judge(after, before) == VERDICT_TAKE;
    if (!trial->is_compared)
        note_spills(choice, trial, before, after);
    return trial->is_compared;
}

/* Assembles the form and predicts its time; false, with the verdict, if it is out of the running. */
static bool weigh(Choice *choice, Candidate *candidate)
{
    const Judge *judge = choice->options->judge;
    const FunctionForm form = kernel_form(&candidate->result);
    TrialVerdict *verdict = &candidate->trial->verdict;
    const CoarsenTrial *part = spilling_part(choice, candidate->trial);
    if (part) {
        verdict->state = TRIAL_PART_SPILLS;
        verdict->part = part->shape;
        return false;
    }
    if (!judge->measure(judge->context, &form, &candidate->figures)) {
        verdict->state = TRIAL_BROKEN;
        verdict->message = candidate->figures.message;
        return false;
    }
    return weigh_assembled(choice, candidate);
}

void candidate_confirm(Choice *choice, Candidate *candidate)
{
    const FunctionForm input = {.function = choice->kernel};
    CoarsenTrial *trial = candidate->trial;
    choice->exact.count = choice->bases.count;
    for (unsigned i = 0; i < choice->bases.count && !choice->exact.of[i].before.known; i++) {
        choice->exact.of[i] = choice->bases.of[i];
        choice->exact.of[i].before = machine_cost(choice->judge, &choice->exact.of[i].basis, &input,
                                                  &choice->bases.of[i].before.figures, NULL, NULL);
    }
    /* If that is unknown, because the user wants the search to end, the verdict by PTX instructions remains true. */
    const CoarsenTrial by_ptx = *trial;
    candidate_compare(choice, candidate, &choice->exact, CODE_MACHINE, &candidate->figures);
    trial->is_confirmed = trial->verdict.state != TRIAL_FORBIDDEN;
    if (trial->verdict.state == TRIAL_UNKNOWN)
        *trial = by_ptx;
}

/* Makes the judge start assembling the forms from 'first' on, as many as it can at once. */
static void prepare(const Choice *choice, unsigned first)
{
    const Judge *judge = choice->options->judge;
    unsigned width = judge->prepare ? judge->width : 0, count = 0;
    for (unsigned i = first; i < choice->candidate_count && count < width; i++) {
        if (spilling_part(choice, choice->candidates[i].trial))
            continue;
        const FunctionForm form = kernel_form(&choice->candidates[i].result);
        judge->prepare(judge->context, &form);
        count++;
    }
}

/* Orders the forms that are not weighed yet, which estimates have ranked: the first of those that merge threads and of
 * those that merge blocks, because the time may be over; then from small factors to large ones, because a form of which
 * a part spills need not be assembled. */
static void order_to_weigh(Choice *choice)
{
    Candidate *next = choice->candidates + choice->weighed_count;
    Candidate *end = choice->candidates + choice->candidate_count;
    for (unsigned of_blocks = 0; of_blocks < KINDS; of_blocks++)
        for (Candidate *at = next; at < end; at++)
            if (shape_is_of_blocks(&at->trial->shape) == (of_blocks != 0)) {
                const Candidate likely = *at;
                *at = *next;
                *next++ = likely;
                break;
            }
    qsort(next, (size_t)(end - next), sizeof *next, compare_trials);
}

static bool spills(const CoarsenTrial *trial)
{
    return trial->verdict.state == TRIAL_SPILLS || trial->verdict.state == TRIAL_PART_SPILLS;
}

/* Takes forms from the reserve in the places of those that spilled, which estimates know nothing about: the best of the
 * same kind, none of which has a part that spills. */
static void replace_spilling(Choice *choice, const unsigned spilled[KINDS])
{
    unsigned taken[KINDS] = {0}, kept = 0;
    for (unsigned i = 0; i < choice->reserve_count; i++) {
        const Candidate *next = &choice->reserve[i];
        const bool of_blocks = shape_is_of_blocks(&next->trial->shape);
        if (taken[of_blocks] < spilled[of_blocks] && !spilling_part(choice, next->trial)) {
            choice->candidates[choice->candidate_count++] = *next;
            taken[of_blocks]++;
        } else {
            choice->reserve[kept++] = *next;
        }
    }
    choice->reserve_count = kept;
}

/* Weighs the forms that are not weighed yet, and keeps those that are not rejected; notes how many of each kind
 * spill. */
static void weigh_taken(Choice *choice, unsigned spilled[KINDS])
{
    const unsigned first = choice->weighed_count;
    unsigned kept = first;
    order_to_weigh(choice);
    unsigned width = choice->options->judge->width > 1 ? choice->options->judge->width : 1;
    for (unsigned i = first; i < choice->candidate_count; i++) {
        if (is_over(choice)) {
            choice->candidates[i].trial->verdict.state = TRIAL_NOT_REACHED;
            kernel_discard(&choice->candidates[i].result);
            continue;
        }
        trial_show(choice, choice->candidates[i].trial);
        progress_step(choice->progress, i - first, choice->candidate_count - first);
        if ((i - first) % width == 0)
            prepare(choice, i);
        if (weigh(choice, &choice->candidates[i])) {
            choice->candidates[kept++] = choice->candidates[i];
            continue;
        }
        const CoarsenTrial *trial = choice->candidates[i].trial;
        spilled[shape_is_of_blocks(&trial->shape)] += spills(trial);
        kernel_discard(&choice->candidates[i].result);
    }
    trial_show(choice, NULL);
    choice->candidate_count = choice->weighed_count = kept;
}

/* True if the second form merges twice as much along one axis, and as much along the others, in the same way. */
static bool is_step_up(const CoarsenTrial *from, const CoarsenTrial *to)
{
    const Shape *a = &from->shape, *b = &to->shape;
    bool is_within = from->stride.kind == to->stride.kind && from->guards == to->guards;
    for (unsigned k = 0; k < 3; k++)
        is_within &= b->threads[k] % a->threads[k] == 0 && b->blocks[k] % a->blocks[k] == 0;
    return is_within && shape_replicas(b) == 2 * shape_replicas(a);
}

/* The best of the weighed forms with the stride. NULL: there is none. */
static const CoarsenTrial *best_with(const Choice *choice, StrideKind stride)
{
    const Candidate *best = NULL;
    for (unsigned i = 0; i < choice->weighed_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (candidate->trial->stride.kind == stride && (!best || candidate_worth(candidate) > candidate_worth(best)))
            best = candidate;
    }
    return best ? best->trial : NULL;
}

/* Takes those forms from the reserve that go one step further than the best ones of either stride, which estimates may
 * have ranked too low. False if there are none. */
static bool take_steps(Choice *choice)
{
    const CoarsenTrial *best[] = {best_with(choice, STRIDE_BLOCK), best_with(choice, STRIDE_UNIT)};
    const unsigned before = choice->candidate_count;
    unsigned kept = 0;
    for (unsigned i = 0; i < choice->reserve_count; i++) {
        const Candidate next = choice->reserve[i];
        const bool is_step =
            (best[0] && is_step_up(best[0], next.trial)) || (best[1] && is_step_up(best[1], next.trial));
        if (is_step && !spilling_part(choice, next.trial))
            choice->candidates[choice->candidate_count++] = next;
        else
            choice->reserve[kept++] = next;
    }
    choice->reserve_count = kept;
    return choice->candidate_count > before;
}

void forms_weigh(Choice *choice)
{
    unsigned spilled[KINDS] = {0}, others[KINDS] = {0};
    prune(choice);
    weigh_taken(choice, spilled);
    replace_spilling(choice, spilled);
    weigh_taken(choice, others);
    while (take_steps(choice))
        weigh_taken(choice, others);
    for (unsigned i = 0; i < choice->reserve_count; i++)
        kernel_discard(&choice->reserve[i].result);
    choice->reserve_count = 0;
    qsort(choice->candidates, choice->candidate_count, sizeof *choice->candidates, compare_candidates);
}

