/* Making a form of -memory auto, and comparing it with the kernel without. */
#include <string.h>

#include "engine/choose/memory_search.h"
#include "engine/judge/machine_cost.h"

KernelRequest memory_trial_request(const MemorySearch *search, const MemoryTrial *trial)
{
    KernelRequest request = *search->request;
    request.coarsen = trial->coarsens;
    request.coarsening = trial->coarsening;
    request.refining = trial->refining;
    if (trial->coarsens || trial->refining.threads)
        request.refused = (Refusal){.reason = REFUSAL_NONE};
    request.staging = (StageRequest){.wanted = trial->stages, .depth = trial->depth, .unrolls = trial->unrolls,
                                       .prefetches = trial->prefetches, .before_vectors = trial->before_vectors,
                                       .holds_rows = trial->holds_rows, .buffers = trial->buffers};
    request.edges = trial->edges;
    request.counters = trial->counts;
    request.vectors = trial->vectors;
    request.vectors_first = trial->vectors_first;
    return request;
}

/* The form's cost on each basis; false, with the verdict, if one is unknown. */
static bool form_predict(const MemorySearch *search, const KernelResult *result, const Figures *figures,
                         FormCost *costs, TrialVerdict *verdict)
{
    const FunctionForm form = kernel_form(result);
    const LaunchChange change = kernel_launch_change(result);
    for (unsigned i = 0; i < search->bases.count; i++) {
        costs[i] = machine_cost(search->context->judge, &search->bases.of[i].basis, &form, figures, &change, NULL);
        if (!costs[i].known) {
            *verdict = memory_is_over(search) ? (TrialVerdict){.state = TRIAL_NOT_COMPARED}
                                              : (TrialVerdict){.state = TRIAL_UNKNOWN, .message = costs[i].error};
            return false;
        }
    }
    return true;
}

bool memory_form_weigh(const MemorySearch *search, const KernelResult *result, Figures *figures, FormCost *costs,
                       TrialVerdict *verdict)
{
    const Judge *judge = search->options->judge;
    const FunctionForm form = kernel_form(result);
    if (judge->measure(judge->context, &form, figures))
        return form_predict(search, result, figures, costs, verdict);
    *verdict = (TrialVerdict){.state = TRIAL_BROKEN, .message = figures->message};
    return false;
}

/* Compares the costs with those of the form without; false, with the verdict, if a launch forbids the form. */
static bool costs_compare(const MemorySearch *search, FormCost *costs, MemoryTrial *trial)
{
    for (unsigned i = 0; i < search->bases.count; i++) {
        const Basis *basis = &search->bases.of[i];
        FormCost before = basis->before;
        costs_align(&basis->basis, &before, &costs[i]);
        const CostVerdict cost = cost_verdict(&before, &costs[i]);
        if (basis->elsewhere == ELSEWHERE_NONE && (!(trial->speedup > 0) || cost.speedup < trial->speedup)) {
            trial->speedup = cost.speedup;
            trial->verdict = (TrialVerdict){.state = TRIAL_COMPARED, .cost = cost};
        }
        if (basis->elsewhere != ELSEWHERE_NONE &&
            speedup_judge(cost.speedup, THRESHOLD_COARSEN_ELSEWHERE) != VERDICT_TAKE) {
            trial->verdict.state = TRIAL_FORBIDDEN;
            trial->verdict.elsewhere = basis->elsewhere;
            trial->verdict.elsewhere_speedup = cost.speedup;
            return false;
        }
    }
    return true;
}

/* The same for what the figures forbid. */
static bool figures_allow(const MemorySearch *search, const KernelResult *result, const Figures *figures,
                          MemoryTrial *trial)
{
    const DemandObjection objection =
        kernel_objection(result, search->options->sm, search->request->dynamic_shared, &search->input, figures);
    if (objection.kind != DEMAND_MET) {
        trial->verdict.state = TRIAL_DEMANDING;
        trial->verdict.demand = objection;
        return false;
    }
    if (spills_judge(figures, &search->input) == VERDICT_TAKE)
        return true;
    trial->verdict.state = TRIAL_SPILLS;
    trial->verdict.spills = figures_spills(figures);
    trial->verdict.spills_before = figures_spills(&search->input);
    return false;
}

static bool does_as_asked(const MemoryTrial *trial, const KernelResult *result)
{
    return (!(trial->coarsens || trial->refining.threads) || result->coarsening == OUTCOME_DONE) &&
           (!trial->edges || result->edges == OUTCOME_DONE) &&
           (!trial->stages || stage_is_done(&result->staged)) &&
           (!trial->holds_rows || result->staged.held.done) &&
           (!trial->buffers || stage_is_async(&result->staged)) &&
           (!trial->counts || result->counting == OUTCOME_DONE) &&
           (!trial->vectors || trial->vectors_first || result->vectors == OUTCOME_DONE);
}

/* True if all launches can be adapted to the form; else with the verdict. */
static bool fits_launches(const MemorySearch *search, const KernelResult *result, TrialVerdict *verdict)
{
    for (unsigned i = 0; i < search->bases.count; i++) {
        if (!basis_fits(&search->bases.of[i].basis, &result->contract, &verdict->unmet)) {
            verdict->state = TRIAL_UNMET;
            return false;
        }
    }
    return true;
}

const MemoryTrial *memory_best_trial(const MemorySearch *search, TrialsAsked asked)
{
    const MemoryTrial *best = NULL;
    for (size_t i = 0; i < search->trials.count; i++) {
        const MemoryTrial *trial = &search->trials.data[i];
        const bool is_asked = asked == TRIALS_ALL || (asked == TRIALS_STAGED ? trial->stages : trial->counts);
        const bool is_open = trial->verdict.state == TRIAL_COMPARED && is_asked;
        if (is_open && (!best || time_is_longer(trial->speedup, best->speedup)))
            best = trial;
    }
    return best;
}

/* Compares the form after a search for the registers of the request. False if it spills then, too. */
static bool registers_refit(MemorySearch *search, const KernelRequest *request, MemoryTrial *trial)
{
    MemoryTrial refitted = *trial;
    KernelResult result;
    FormCost costs[MOST_BASES];
    form_search_registers(search->arena, search->kernel, request, search->options, search->context->judge,
                          &search->bases.of[0].basis, &result);
    const Figures *figures = &result.reduction.after;
    refitted.speedup = 0;
    const bool fits = result.registers == OUTCOME_DONE && figures->known &&
                      form_predict(search, &result, figures, costs, &refitted.verdict) &&
                      costs_compare(search, costs, &refitted) && figures_allow(search, &result, figures, &refitted);
    if (fits) {
        *trial = refitted;
        trial->verdict.registers = figures->registers;
    }
    kernel_discard(&result);
    return fits;
}

/* The same for a form that spills with the registers that the assembler gives it, and would be the fastest: with as
 * many, because a few spills may go to shared memory, and with those that are best for it, if these are to be chosen.
 * False if it spills in both. */
static bool trial_refit(MemorySearch *search, const KernelRequest *request, unsigned registers, MemoryTrial *trial)
{
    const MemoryTrial *best = memory_best_trial(search, TRIALS_ALL);
    KernelRequest fixed = *request;
    fixed.registers.goal = GOAL_COUNT;
    fixed.registers.target = registers;
    if (!search->context->judge || !request->reduce || request->registers.goal != GOAL_AUTO ||
        memory_is_over(search) || !time_is_longer(trial->speedup, best ? best->speedup : 1))
        return false;
    return registers_refit(search, &fixed, trial) ||
           (!memory_is_over(search) && registers_refit(search, request, trial));
}

void memory_trial_weigh(MemorySearch *search, MemoryTrial *trial)
{
    const KernelRequest request = memory_trial_request(search, trial);
    FormCost costs[MOST_BASES];
    Figures figures = {0};
    KernelResult result;
    memory_form_make(search, &request, &result);
    search->has_diagonal |= result.edges_result.diagonal.end != 0;
    trial->only_exchanges = stage_is_done(&result.staged) && !stage_count(&result.staged) && !result.staged.held.done;
    trial->verdict = (TrialVerdict){.state = TRIAL_UNCHANGED};
    bool is_open = does_as_asked(trial, &result) && fits_launches(search, &result, &trial->verdict) &&
                   memory_form_weigh(search, &result, &figures, costs, &trial->verdict) &&
                   costs_compare(search, costs, trial) && figures_allow(search, &result, &figures, trial);
    kernel_discard(&result);
    if (!is_open && trial->verdict.state != TRIAL_COMPARED &&
        (trial->verdict.state != TRIAL_SPILLS || !trial_refit(search, &request, figures.registers, trial)))
        trial->speedup = 0;
}
