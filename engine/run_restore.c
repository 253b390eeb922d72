/* The way out if the assembler crashes on the output: the kernels at fault are restored to what was written, and the
 * others stay changed. */
#include "engine/report/refusal_words.h"
#include "engine/run_steps.h"

/* True if the assembler crashes on this kernel alone. */
static bool breaks(Run *run, KernelResult *result)
{
    const Judge *judge = &run->judge.judge;
    const FunctionForm form = {.function = result->kernel, .body = result->kernel->body};
    if (!result->after.known && !result->after.broke)
        judge->measure(judge->context, &form, &result->after);
    return result->after.broke;
}

static void restore(Run *run, KernelReport *kernel)
{
    KernelResult *result = &kernel->result;
    const char *message = result->after.message, *name = result->kernel->name;
    bool is_coarse = result->coarsening == OUTCOME_DONE, is_reduced = result->registers == OUTCOME_DONE;
    const char *form = is_coarse ? "coarsened" : is_reduced ? "reduced" : "unrolled";
    const Refusal refusal = {.reason = REFUSAL_BREAKS,
                             .operands = {refusal_name(run->report.assembler), refusal_name(form),
                                          refusal_name(message ? message : "no reason given")}};
    kernel_restore(result, &kernel->tuning, &refusal);
    kernel->refusal = refusal_text(run->arena, &refusal);
    kernel->has_cost = false;
    diag_warning(&run->diag, result->kernel->span, "kernel '%s' is left as it is: %s", name, kernel->refusal);
}

bool restore_broken_kernels(Run *run)
{
    bool some = false;
    for (size_t i = 0; i < run->report.kernel_count; i++) {
        KernelReport *kernel = &run->report.kernels[i];
        if (!kernel_is_changed(&kernel->result) || !breaks(run, &kernel->result))
            continue;
        restore(run, kernel);
        some = true;
    }
    return some;
}
