/* The predicted time of each kernel that was changed, and warnings about losses. */
#include <string.h>

#include "engine/judge/machine_cost.h"
#include "engine/report/cost_report.h"
#include "engine/run_steps.h"

bool find_basis(const Run *run, const KernelReport *kernel, CostBasis *basis)
{
    const Function *function = kernel->result.kernel;
    const Launch *launch = choice_launch(&run->choice, function->name);
    const BlockSize block = block_size_resolve(&function->tuning, kernel->request.block);
    *basis = cost_basis(run->arena, run->sm, &run->choice.device, launch, block.threads,
                        kernel->request.dynamic_shared);
    basis->samples = !run->choice.counts_all;
    basis->poll = run->assembler ? &run->judge.poll : NULL;
    return launch || (run->sm && block_size_total(&block) > 0);
}

static void warn_losses(Run *run, const KernelReport *kernel)
{
    const Function *function = kernel->result.kernel;
    const FormCost *before = &kernel->cost_before, *after = &kernel->cost_after;
    const char *warning, *basis = kernel->basis.launch ? "predicted" : "estimated";
    if (cost_speedup(before, after) < threshold(THRESHOLD_LOSS_WARNING))
        diag_warning(&run->diag, function->span, "kernel '%s' becomes slower (%s): %s", function->name, basis,
                     cost_comparison_text(run->arena, before, after));
    for (unsigned i = 0; (warning = cost_warning(run->arena, before, after, i)) != NULL; i++)
        diag_warning(&run->diag, function->span, "%s kernel '%s': %s",
                     kernel->result.coarsening == OUTCOME_DONE ? "coarsening" : "unrolling", function->name, warning);
    if (kernel->advice)
        diag_note(&run->diag, function->span, "%s", kernel->advice);
}

/* Factors along x cut the rows of a 2-D block into pieces, which multiplies sectors. Advises the same factor along y if
 * that would not. */
static const char *advise_rows(const Run *run, const KernelReport *kernel)
{
    const unsigned *factor = kernel->result.contract.shape.threads;
    const unsigned rows = kernel->basis.block[1];
    if (factor[0] == 1 || factor[1] > 1 || factor[2] > 1 || rows < factor[0] || rows % factor[0] ||
        cost_sectors(&kernel->cost_before, &kernel->cost_after) <= threshold(THRESHOLD_SECTORS_WARNING))
        return NULL;
    const PipelineOptions quiet = pipeline_quiet(&run->pipeline);
    KernelRequest request = kernel->request;
    KernelResult result = {0};
    request.reduce = false;
    memcpy(request.coarsening.shape.threads, (unsigned[]){1, factor[0], 1}, sizeof request.coarsening.shape.threads);
    pipeline_run(run->arena, kernel->result.kernel, &request, &quiet, &result);
    const char *advice = NULL;
    if (result.coarsening == OUTCOME_DONE) {
        const FunctionForm form = kernel_form(&result);
        const LaunchChange change = contract_change(&result.contract);
        FormCost cost = form_cost(&kernel->basis, &form, &kernel->cost_after.figures, &change);
        double sectors = cost.known ? cost_sectors(&kernel->cost_before, &cost) : threshold(THRESHOLD_SECTORS_WARNING);
        if (sectors < threshold(THRESHOLD_SECTORS_WARNING))
            advice = arena_printf(run->arena, "y%u would keep the rows of the block whole: %.2f times the global "
                                              "sectors", factor[0], sectors);
    }
    kernel_discard(&result);
    return advice;
}

/* Advises fewer blocks if most of the time goes into starting them, and fewer can be launched. */
static const char *advise_grid(const KernelReport *kernel)
{
    bool is_bound = kernel->cost_after.time.binding == RESOURCE_LAUNCH && !kernel->request.coarsening.shrinks_grid;
    return is_bound ? "starting its blocks takes most of the time; where blocks are merged, '-coarsen-grid shrink' "
                      "launches fewer" : NULL;
}

/* The cost of a form, by its machine code if the assembler gave figures; the search may have predicted the same
 * form. */
static FormCost form_costs(Run *run, const KernelReport *kernel, const FunctionForm *form, const Figures *figures,
                           const LaunchChange *change)
{
    bool is_new;
    if (figures)
        return assembler_judge_cost(&run->judge, form, figures, change, &is_new);
    const Figures none = {0};
    return form_cost(&kernel->basis, form, &none, change);
}

void predict_costs(Run *run, KernelReport *kernel)
{
    const KernelResult *result = &kernel->result;
    const bool is_coarsened = result->coarsening == OUTCOME_DONE;
    const bool is_jammed = kernel_is_jammed(result);
    if (!kernel_is_changed(result) || !kernel->has_basis)
        return;
    const FunctionForm input = {.function = result->kernel};
    const FunctionForm output = kernel_form(result);
    /* The form has been chosen; after an interrupt, only its report waits for this. */
    run->judge.interrupted = run->options->interrupt ? &run->options->interrupt->seen : NULL;
    kernel->basis.poll = run->assembler ? &run->judge.poll : NULL;
    Figures before = {0}, after = {0};
    if (run->assembler && options_want_figures(run->options)) {
        const Judge *judge = &run->judge.judge;
        judge->prepare_prediction(judge->context, &input);
        judge->prepare(judge->context, &output);
        judge->measure(judge->context, &input, &before);
        judge->measure(judge->context, &output, &after);
    }
    const LaunchChange change = kernel_launch_change(result);
    kernel->cost_before = form_costs(run, kernel, &input, before.known && after.known ? &before : NULL, NULL);
    kernel->cost_after = form_costs(run, kernel, &output, before.known && after.known ? &after : NULL, &change);
    if (result->ordering == OUTCOME_DONE)
        cost_keep_footprint(&kernel->basis, &kernel->cost_before, &kernel->cost_after);
    costs_align(&kernel->basis, &kernel->cost_before, &kernel->cost_after);
    kernel->has_cost = kernel->cost_before.known && kernel->cost_after.known;
    if (!kernel->has_cost || (!is_coarsened && !is_jammed))
        return;
    if (is_coarsened)
        kernel->advice = advise_rows(run, kernel);
    if (is_coarsened && !kernel->advice)
        kernel->advice = advise_grid(kernel);
    warn_losses(run, kernel);
}
