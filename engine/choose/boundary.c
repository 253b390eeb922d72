/* The boundary of registers at which a form is the fastest. Factor and boundary are chosen together: the fastest form
 * may depend on how far its registers can be reduced, and coarsening has to beat the input at its own best boundary. */
#include <math.h>

#include "engine/choose/internal.h"
#include "engine/progress.h"

enum {
    MOST_SEARCHED = 3,  /* of the fastest forms */
    MOST_PROMISING = 2, /* of the others */
};

/* Briefly searches for the boundary at which the form is the fastest, and compares it with the input there. False if
 * nothing is changed, or the time is unknown. */
static bool search_boundary(Choice *choice, const KernelRequest *request, TrialVerdict *verdict)
{
    KernelResult result;
    const Basis *exact = &choice->exact.of[0];
    FormCost before, cost;
    form_search_registers(choice->arena, choice->kernel, request, choice->options, choice->judge, &exact->basis,
                          &result);
    const Figures *after = &result.reduction.after;
    const MeasuredForm form = {
        .form = kernel_form(&result), .figures = after, .change = kernel_launch_change(&result)};
    const bool is_known = result.registers == OUTCOME_DONE && after->known &&
                          basis_compare(exact, choice->judge, CODE_MACHINE, &form, &before, &cost);
    if (is_known)
        *verdict = (TrialVerdict){
            .state = TRIAL_COMPARED, .cost = cost_verdict(&before, &cost), .registers = after->registers};
    kernel_discard(&result);
    return is_known;
}

/* The fastest of the confirmed forms that have not been searched yet; NULL if there is none. */
static Candidate *next_searched(const Choice *choice)
{
    Candidate *next = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        const bool is_open = candidate->trial->is_confirmed && !candidate->is_searched;
        if (is_open && (!next || candidate_is_better(choice, candidate, next)))
            next = candidate;
    }
    return next;
}

/* The speedup that the form could have if fewer registers cost it nothing; by PTX instructions if it has not been
 * compared by machine instructions. */
static double candidate_potential(const Choice *choice, const Candidate *candidate)
{
    const bool by_machine = candidate->trial->is_confirmed;
    const Basis *exact = by_machine ? &choice->exact.of[0] : &choice->bases.of[0];
    const MeasuredForm form = candidate_form(candidate, &candidate->figures);
    FormCost before, after;
    if (!basis_compare(exact, choice->judge, by_machine ? CODE_MACHINE : CODE_PTX, &form, &before, &after))
        return by_machine ? HUGE_VAL : 0;
    const uint64_t shared =
        after.figures.shared + launch_change_shared(&after.change, exact->basis.dynamic_shared);
    const BoundaryList list = sm_boundaries(exact->basis.sm, (unsigned)after.profile->block_threads, shared);
    double best = cost_speedup(&before, &after);
    for (unsigned i = 0; i < list.count; i++) {
        after.figures.registers = list.items[i].registers;
        if (after.figures.registers >= candidate->figures.registers)
            continue;
        after.time = form_time(&exact->basis, &after);
        if (after.time.known)
            best = fmax(best, cost_speedup(&before, &after));
    }
    return best;
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

/* The form not searched yet that could be the fastest by the largest margin if fewer registers cost it nothing, and
 * faster than this speedup; NULL if none could. */
static Candidate *next_promising(const Choice *choice, double speedup)
{
    Candidate *next = NULL;
    for (unsigned i = 0; i < choice->candidate_count && !is_over(choice); i++) {
        Candidate *candidate = &choice->candidates[i];
        const TrialState state = candidate->trial->verdict.state;
        if (candidate->is_searched || !candidate->trial->is_compared || state == TRIAL_FORBIDDEN)
            continue;
        const double potential = candidate_potential(choice, candidate);
        if (speedup_judge(potential / speedup, THRESHOLD_COARSEN_GAIN) != VERDICT_TAKE)
            continue;
        speedup = potential;
        next = candidate;
    }
    return next;
}

/* True if some form may be worth taking at another boundary. */
static bool any_may_suffice(const Choice *choice, const Candidate *best)
{
    if (candidate_suffices(choice, best))
        return true;
    for (unsigned i = 0; i < choice->candidate_count && !is_over(choice); i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (candidate->trial->is_confirmed &&
            speedup_judge(candidate_potential(choice, candidate), THRESHOLD_COARSEN_GAIN) == VERDICT_TAKE)
            return true;
    }
    return false;
}

Candidate *candidate_with_boundary(Choice *choice, Candidate *best)
{
    const KernelRequest *plain = choice->request;
    TrialVerdict verdict;
    Candidate *candidate;
    if (!best || !choice->judge || !plain->reduce || plain->registers.goal != GOAL_AUTO || !choice->is_block_known ||
        is_over(choice) || !any_may_suffice(choice, best))
        return best;
    stage_begin(choice, 0);
    progress_continue(choice->progress, "fewer registers in the best forms");
    if (search_boundary(choice, plain, &verdict) && verdict.cost.speedup > 1)
        choice->plain_speedup = verdict.cost.speedup;
    for (unsigned i = 0; i < MOST_SEARCHED && !is_over(choice) && (candidate = next_searched(choice)) != NULL; i++) {
        trial_show(choice, candidate->trial);
        candidate_search(choice, candidate);
        if (candidate_is_better(choice, candidate, best))
            best = candidate;
    }
    for (unsigned i = 0; i < MOST_PROMISING; i++) {
        candidate = next_promising(choice, best->trial->speedup);
        if (!candidate)
            break;
        trial_show(choice, candidate->trial);
        if (!candidate->trial->is_confirmed)
            candidate_confirm(choice, candidate);
        candidate_search(choice, candidate);
        if (candidate->trial->is_confirmed && candidate_is_better(choice, candidate, best))
            best = candidate;
    }
    trial_show(choice, NULL);
    return best;
}
