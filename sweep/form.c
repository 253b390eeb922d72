/* Making a form, and estimating the times of its launches. */
#include "sweep/internal.h"

static KernelRequest request_of(const SweepForm *form)
{
    const Launch *launch = form->kernel->launch;
    KernelRequest request = {.coarsen = true,
                             .coarsening = {.shape = {.threads = {1, 1, 1}, .blocks = {1, 1, 1}}, .shrinks_grid = true},
                             .dynamic_shared = launch->dynamic_shared};
    Shape *shape = &request.coarsening.shape;
    (form->dimension.of_blocks ? shape->blocks : shape->threads)[form->dimension.axis] = form->factor;
    request.coarsening.stride = form->stride;
    if (!launch->threads[0])
        memcpy(request.block, launch->block, sizeof request.block);
    return request;
}

void sweep_make(const Sweep *sweep, const SweepForm *form, Arena *arena, SweepMade *made)
{
    *made = (SweepMade){.form = form, .written = {.function = form->kernel->kernel}};
    if (form->factor == 1)
        return;
    Options defaults;
    options_init(&defaults);
    const KernelRequest request = request_of(form);
    const PipelineOptions options = {
        .sm = sweep->targets[0].run.sm, .level = defaults.level, .passes = defaults.passes};
    pipeline_run(arena, form->kernel->kernel, &request, &options, &made->result);
    if (made->result.coarsening == OUTCOME_DONE) {
        made->written = kernel_form(&made->result);
        made->change = contract_change(&made->result.contract);
        return;
    }
    const char *reason = kernel_refusal_text(arena, &made->result);
    made->status = SWEEP_REFUSED;
    made->reason = reason ? reason : "there is nothing to coarsen";
}

bool sweep_made_fits(const SweepMade *made, const Launch *launch, LaunchUnmet *unmet)
{
    return made->form->factor == 1 || contract_is_met(&made->result.contract, launch->block, launch->grid, unmet);
}

/* The cycles that are estimated for a launch; infinite if it cannot be launched. */
static double estimate(const SweepTarget *target, Arena *arena, const SweepMade *made, const Figures *figures,
                       const Launch *launch)
{
    LaunchUnmet unmet;
    if (!sweep_made_fits(made, launch, &unmet))
        return INFINITY;
    CostBasis basis =
        cost_basis(arena, target->run.sm, &target->device, NULL, launch->block, launch->dynamic_shared);
    basis.blocks = (double)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const FormCost cost = form_cost(&basis, &made->written, figures, &made->change);
    return cost.known ? cost.time.cycles : INFINITY;
}

void sweep_estimate(Sweep *sweep, const SweepForm *form, Buf *out)
{
    Arena *arena = arena_new();
    const SweepTarget *target = &sweep->targets[0];
    const SweepKernel *kernel = form->kernel;
    SweepMade made;
    double best = INFINITY;
    sweep_make(sweep, form, arena, &made);
    if (made.status == SWEEP_OK) {
        const Figures figures = {
            .known = true,
            .registers = kernel_estimate(arena, kernel->kernel, made.written.body, target->run.sm).registers};
        for (size_t i = 0; i < kernel->launches.count; i++)
            best = fmin(best, estimate(target, arena, &made, &figures, kernel->launches.data[i]));
    }
    buf_printf(out, "=%zu %.17g\n", (size_t)(form - sweep->forms.data), best);
    kernel_discard(&made.result);
    arena_free(arena);
}
