/* Several forms beside the original, of which each launch takes the first that pays and that its contract allows: where
 * a smaller grid gains more, but only launches that it divides can have it, that form and one for all others; one with
 * a smaller grid still, for large ones; one for larger blocks, if it is better there; and one for odd widths of rows
 * (aligned.c). Each is judged as a single choice is. */
#include <math.h>

#include "engine/choose/internal.h"

PaysBasis pays_basis(const Choice *choice, const FunctionForm *input)
{
    return (PaysBasis){.judge = choice->judge,
                       .usual = &choice->bases.of[choice->bases.usual],
                       .input = input,
                       .parameter = choice->has_trips ? &choice->trips : NULL,
                       .remainders = choice->has_trips
                                         ? remainder_parameters(choice->arena, choice->kernel, &choice->trips)
                                         : (KnownParameters){NULL, 0},
                       .risk = choice->risk};
}

/* The share of grids that the form's merged blocks divide: half of all numbers of blocks are powers of two, and the
 * others any numbers; along an axis that threads do not have, all are any. */
static double share_of_grids(const Choice *choice, const Shape *shape)
{
    double share = 1;
    for (unsigned d = 0; d < 3; d++) {
        const double any = 1.0 / shape->blocks[d];
        share *= choice->bases.of[0].basis.block[d] > 1 ? (1 + any) / 2 : any;
    }
    return share;
}

/* The share of those that are large enough: what merges twice as much needs twice as many blocks, and as many launches
 * have one block for each SM as have 2, 4, ... 64. */
static double share_of_sizes(const Shape *shape)
{
    enum { MOST = 32 }; /* merged: then no launch is large enough */
    return 1 - log2(shape_replicas(shape)) / log2(MOST);
}

/* The gain of a form with a smaller grid over the form that other launches run, over all grids. */
static double mean_gain(const Choice *choice, const Candidate *candidate, double other)
{
    const Shape *shape = &candidate->trial->shape;
    return share_of_grids(choice, shape) * share_of_sizes(shape) * (candidate_full_worth(candidate) - other);
}

/* Whether the form has a smaller grid, and is worth 'least' in the grids that it divides. */
static bool may_be_merged(const Choice *choice, const Candidate *candidate, double least)
{
    return candidate->trial->is_confirmed && candidate->trial->fits_seldom && candidate_suffices(choice, candidate) &&
           candidate_full_worth(candidate) >= least;
}

/* The form with a smaller grid that gains the most over all grids, among those that gain clearly over 'other' in the
 * grids that they divide; NULL: none. */
static const Candidate *best_merged(const Choice *choice, const Candidate *other)
{
    const double worth = candidate_full_worth(other);
    const Candidate *found = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (!may_be_merged(choice, candidate, worth * threshold(THRESHOLD_COARSEN_BESIDE)))
            continue;
        if (!found || mean_gain(choice, candidate, worth) > mean_gain(choice, found, worth))
            found = candidate;
    }
    return found;
}

/* The best form with a smaller grid still than 'merged', for launches that are large enough, if it gains over that one;
 * NULL: none. */
static const Candidate *best_wider(const Choice *choice, const Candidate *merged)
{
    const unsigned least = shape_replicas(&merged->trial->shape);
    double worth = candidate_full_worth(merged) * threshold(THRESHOLD_COARSEN_ALIKE);
    const Candidate *found = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (!may_be_merged(choice, candidate, worth) || shape_replicas(&candidate->trial->shape) <= least)
            continue;
        found = candidate;
        worth = candidate_full_worth(candidate);
    }
    return found;
}

/* The best form that fits any grid, and merges 'merged' threads (0: any number); NULL: none suffices. */
static const Candidate *best_anywhere(const Choice *choice, unsigned merged)
{
    const Candidate *found = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (!candidate->trial->is_confirmed || candidate->trial->fits_seldom ||
            (merged && shape_replicas(&candidate->trial->shape) != merged) || !candidate_suffices(choice, candidate))
            continue;
        if (!found || candidate_worth(candidate) > candidate_worth(found))
            found = candidate;
    }
    return found;
}

/* The best form that merges two threads, for blocks that are too small for the form 'usual', or that it does not
 * divide; NULL: none suffices, that one merges no more, or the block is known. */
static const Candidate *best_for_small(const Choice *choice, const Candidate *usual)
{
    const bool is_wanted = !choice->is_block_known && shape_replicas(&usual->trial->shape) > 2;
    return is_wanted ? best_anywhere(choice, 2) : NULL;
}

static unsigned threads_of(const Basis *basis)
{
    return basis->basis.block[0] * basis->basis.block[1] * basis->basis.block[2];
}

/* The threads of the second smallest blocks that are assumed, if most of the sizes have as many; else 0. */
static unsigned larger_block(const Choice *choice)
{
    unsigned least = 0, larger = 0, sizes = 0, have = 0;
    for (unsigned i = 0; i < choice->bases.count && choice->bases.of[i].elsewhere == ELSEWHERE_NONE; i++, sizes++) {
        const unsigned threads = threads_of(&choice->bases.of[i]);
        least = !least || threads < least ? threads : least;
    }
    for (unsigned i = 0; i < sizes; i++) {
        const unsigned threads = threads_of(&choice->bases.of[i]);
        have += threads > least;
        larger = threads > least && (!larger || threads < larger) ? threads : larger;
    }
    return 2 * have > sizes ? larger : 0;
}

/* The promise of a confirmed form for blocks of at least 'threads' threads. */
static Promise promise_from(const Choice *choice, const Candidate *candidate, unsigned threads)
{
    const MeasuredForm form = candidate_form(candidate, &candidate->figures);
    Promise promise = candidate_promise(choice, candidate);
    promise.speedup = promise.sure = HUGE_VAL;
    promise.is_narrow = promise.fits_seldom = false;
    for (unsigned i = 0; i < choice->exact.count; i++) {
        const Basis *basis = &choice->exact.of[i];
        FormCost before, after;
        if (basis->elsewhere != ELSEWHERE_NONE || threads_of(basis) < threads)
            continue;
        if (!basis_compare(basis, choice->judge, CODE_MACHINE, &form, &before, &after))
            return (Promise){.speedup = 0};
        const CostVerdict cost = cost_verdict(&before, &after);
        promise.speedup = fmin(promise.speedup, cost.speedup);
        promise.sure = fmin(promise.sure, sure_speedup(&cost, choice->risk));
        promise.is_narrow |= shape_is_narrow(&basis->basis, &candidate->trial->shape);
    }
    return promise;
}

/* The best form for blocks of at least 'threads' threads, whatever the grid, if it gains clearly over 'other' there
 * (NULL: the original); NULL: none. */
static const Candidate *best_larger(const Choice *choice, unsigned threads, const Candidate *other, Promise *promised)
{
    const Candidate *found = NULL;
    const Promise others = other ? promise_from(choice, other, threads) : (Promise){.speedup = 1};
    double least = promise_worth(&others) * threshold(THRESHOLD_COARSEN_BESIDE);
    for (unsigned i = 0; threads && i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (!candidate->trial->is_confirmed || candidate->trial->fits_seldom)
            continue;
        const Promise promise = promise_from(choice, candidate, threads);
        if (!promise_suffices(&promise, choice->plain_speedup) || promise_worth(&promise) < least)
            continue;
        found = candidate;
        least = promise_worth(&promise);
        *promised = promise;
    }
    return found;
}

/* Adds a form before the others, which are its rivals; false if it pays too seldom against them. 'odd': the parameter
 * for whose odd values there is another form; NULL: there is none. */
static bool prefer(const Choice *choice, PaysBasis *basis, const Candidate *candidate, double speedup,
                   unsigned least_block, const unsigned *odd, FactorChoice *made)
{
    const MeasuredForm form = candidate_form(candidate, &candidate->figures);
    PreferredForm added = {.request = trial_request(choice, candidate->trial),
                           .speedup = speedup,
                           .pays = form_pays(basis, &form)};
    if (!pays_often(&added.pays, basis))
        return false;
    added.pays.factors = pays_factors(&candidate->trial->shape);
    added.pays.least_block = least_block;
    if (odd)
        added.pays.aligned = form_needs(candidate, *odd);
    pays_add_rival(basis, &form);
    for (unsigned i = made->preferred_count++; i > 0; i--)
        made->preferred[i] = made->preferred[i - 1];
    made->preferred[0] = added;
    return true;
}

static bool prefer_usual(const Choice *choice, PaysBasis *basis, const Candidate *candidate, const unsigned *odd,
                         FactorChoice *made)
{
    return !candidate || prefer(choice, basis, candidate, candidate->trial->speedup, 0, odd, made);
}

/* The forms to keep. */
typedef struct Kept {
    const Candidate *usual, *merged, *large, *small;
    const Candidate *plain; /* for odd values of 'parameter', at which it gains 'odd_speedup' */
    bool is_merged; /* the form that was chosen is 'merged'; else 'usual' */
    unsigned parameter;
    unsigned larger; /* the threads of the blocks that 'large' is for */
    double odd_speedup, large_speedup;
} Kept;

/* Adds the forms; false if the one that was chosen pays too seldom against those that come after it. */
static bool prefer_all(const Choice *choice, const Kept *kept, bool large_is_first, FactorChoice *made)
{
    const FunctionForm input = {.function = choice->kernel};
    PaysBasis basis = pays_basis(choice, &input);
    made->preferred_count = 0;
    const bool has_plain = kept->plain && prefer(choice, &basis, kept->plain, kept->odd_speedup, 0, NULL, made);
    const unsigned *odd = has_plain ? &kept->parameter : NULL;
    pays_forget_rivals(&basis); /* those are launches of the other forms in which the parameter is odd */
    prefer_usual(choice, &basis, kept->small, odd, made);
    const bool has_usual = prefer_usual(choice, &basis, kept->usual, odd, made);
    bool has_merged = large_is_first && prefer_usual(choice, &basis, kept->merged, odd, made);
    if (kept->large)
        prefer(choice, &basis, kept->large, kept->large_speedup, kept->larger, odd, made);
    if (!large_is_first)
        has_merged = prefer_usual(choice, &basis, kept->merged, odd, made);
    if (kept->merged && has_merged)
        prefer_usual(choice, &basis, best_wider(choice, kept->merged), odd, made);
    return kept->is_merged ? has_merged : has_usual;
}

void forms_prefer(const Choice *choice, const Candidate *best, FactorChoice *made)
{
    const bool is_merged = best && best->trial->fits_seldom;
    const Candidate *usual = is_merged ? best_anywhere(choice, 0) : best;
    Kept kept = {.usual = usual,
                 .merged = is_merged ? best : usual ? best_merged(choice, usual) : NULL,
                 .is_merged = is_merged,
                 .larger = larger_block(choice)};
    Promise promise = {.speedup = 0}, others = {.speedup = 0};
    kept.large = best_larger(choice, kept.larger, usual, &promise);
    kept.large_speedup = promise.speedup;
    if (usual) {
        kept.plain = form_for_odd(choice, usual, &kept.parameter, &kept.odd_speedup);
        kept.small = best_for_small(choice, usual);
    }
    if (kept.large && kept.merged)
        others = promise_from(choice, kept.merged, kept.larger);
    const bool large_is_first =
        kept.large && promise_worth(&promise) >= promise_worth(&others) * threshold(THRESHOLD_COARSEN_BESIDE);
    bool has_best = prefer_all(choice, &kept, large_is_first, made);
    if (!has_best && kept.large && kept.merged)
        has_best = prefer_all(choice, &kept, !large_is_first, made);
    if (!has_best && kept.small) {
        kept.small = NULL;
        has_best = prefer_all(choice, &kept, large_is_first, made);
    }
    if (!has_best || (made->preferred_count == 1 && !made->preferred[0].pays.least_block))
        made->preferred_count = 0;
}
