/* The predicted time of each kernel that was changed, and warnings about losses. */
#include "cli/machine_cost.h"
#include "cli/run_internal.h"

bool find_basis(const Run *run, const KernelReport *kernel, CostBasis *basis)
{
    const Function *function = kernel->result.kernel;
    const Launch *launch = choice_launch(&run->choice, function->name);
    const BlockSize block = block_size_resolve(&function->tuning, kernel->request.block);
    *basis = cost_basis(run->arena, run->machine, &run->choice.device, launch, block.threads);
    return launch || (run->machine && block_size_total(&block) > 0);
}

static void warn_losses(Run *run, const KernelReport *kernel)
{
    const Function *function = kernel->result.kernel;
    const FormCost *before = &kernel->cost_before, *after = &kernel->cost_after;
    const char *warning, *basis = kernel->basis.launch ? "predicted" : "estimated";
    double speedup = cost_speedup(before, after);
    if (speedup < 0.98)
        diag_warning(&run->diag, function->span, "kernel '%s' becomes slower (%s): %s", function->name, basis,
                     cost_verdict(run->arena, before, after));
    for (unsigned i = 0; speedup < 1 && (warning = cost_warning(run->arena, before, after, i)) != NULL; i++)
        diag_warning(&run->diag, function->span, "coarsening kernel '%s': %s", function->name, warning);
}

void predict_costs(Run *run, KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const unsigned none[3] = {1, 1, 1};
    bool is_changed = result->coarsening == OUTCOME_DONE || result->registers == OUTCOME_DONE;
    if (!is_changed || !kernel->has_basis)
        return;
    const FunctionForm input = {.function = result->kernel};
    const FunctionForm output = {.function = result->kernel, .body = result->body, .tuning = &result->tuning,
                                 .added = result->contract_symbol};
    Figures before = {0}, after = {0};
    if (run->assembler && run->options->report) {
        run->judge.judge.measure(run->judge.judge.context, &input, &before);
        run->judge.judge.measure(run->judge.judge.context, &output, &after);
    }
    AssemblerJudge *judge = before.known && after.known ? &run->judge : NULL;
    kernel->cost_before = machine_cost(judge, &kernel->basis, &input, &before, none, NULL);
    kernel->cost_after = machine_cost(judge, &kernel->basis, &output, &after,
                                      result->coarsening == OUTCOME_DONE ? result->contract.factor : none, NULL);
    kernel->has_cost = kernel->cost_before.known && kernel->cost_after.known;
    if (kernel->has_cost && result->coarsening == OUTCOME_DONE)
        warn_losses(run, kernel);
}
