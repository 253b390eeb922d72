/* The only place where results of the pipeline get into the module, and out of it again. */
#include "opt/install.h"

#include <string.h>

bool kernel_install(KernelResult *result)
{
    Function *kernel = result->kernel;
    bool is_changed = result->body || memcmp(&kernel->tuning, &result->tuning, sizeof kernel->tuning) != 0;
    if (result->body) {
        function_set_body(kernel, result->body);
        result->body = NULL;
    } else {
        kernel->is_retuned = is_changed;
        kernel->tuning = result->tuning;
    }
    if (result->contract_symbol)
        contract_add_symbol(kernel->module, result->contract_symbol);
    return is_changed;
}

static void refuse_done(KernelResult *result, const Refusal *refusal)
{
    if (result->coarsening == OUTCOME_DONE) {
        result->coarsening = OUTCOME_REFUSED;
        result->refusal = *refusal;
        result->contract = (LaunchContract){0};
    }
    if (result->registers == OUTCOME_DONE) {
        result->registers = OUTCOME_REFUSED;
        result->registers_refusal = *refusal;
    }
    if (result->ordering == OUTCOME_DONE) {
        result->ordering = OUTCOME_REFUSED;
        result->order_refusal = *refusal;
    }
    for (unsigned i = 0; i < result->jam_count; i++)
        if (result->jams[i].done)
            result->jams[i] = (UnrollJamResult){.jam = result->jams[i].jam, .refusal = *refusal};
}

void kernel_restore(KernelResult *result, const Tuning *tuning, const Refusal *refusal)
{
    Function *kernel = result->kernel;
    refuse_done(result, refusal);
    function_set_body(kernel, NULL);
    kernel->tuning = *tuning;
    kernel->is_retuned = false;
    if (result->contract_symbol)
        contract_remove_symbol(kernel->module, result->contract_symbol);
    result->contract_symbol = NULL;
    result->block_after = result->block_before;
    result->after = result->before;
}

/* The block size that .reqntid fixes; zeros: none is. */
static void required_block(const Tuning *tuning, unsigned block[3])
{
    for (unsigned d = 0; d < 3; d++)
        block[d] = !tuning->reqntid_count ? 0 : d < tuning->reqntid_count ? tuning->reqntid[d] : 1;
}

/* A kernel that is launched as before declares what it declared; one that is launched with smaller blocks, if anything,
 * their size. */
static void check_required_block(const KernelResult *result, const Tuning *tuning)
{
    const Function *kernel = result->kernel;
    const LaunchContract *contract = &result->contract;
    const bool is_coarse = result->coarsening == OUTCOME_DONE;
    const LaunchChange change = kernel_launch_change(result);
    unsigned written[3], declared[3];
    required_block(tuning, written);
    required_block(kernel->body ? &kernel->body->tuning : &kernel->tuning, declared);
    for (unsigned d = 0; d < 3; d++) {
        const unsigned before = written[d] || !is_coarse ? written[d] : contract->block[d];
        const unsigned after = (unsigned)launch_change_block(&change, d, before);
        if (declared[d] != after && (declared[d] || written[d]))
            bug("kernel '%s' requires blocks of %u thread%s along %c, and not %u, by its contract for %u",
                kernel->name, declared[d], plural(declared[d]), "xyz"[d], after, before);
    }
}

void kernel_check(const KernelResult *result, const Tuning *tuning)
{
    const Function *kernel = result->kernel;
    const bool is_coarse = result->coarsening == OUTCOME_DONE;
    const Variable *symbol = result->contract_symbol;
    require((kernel->body != NULL) == kernel_is_changed(result));
    require((result->contract.kernel != NULL) == is_coarse);
    require((symbol != NULL) == (is_coarse && contract_changes_launch(&result->contract)));
    require(!symbol || module_find_variable(kernel->module, symbol->name) == symbol);
    require(is_refusal(&result->refusal) == (result->coarsening == OUTCOME_REFUSED));
    require(is_refusal(&result->order_refusal) == (result->ordering == OUTCOME_REFUSED));
    require(is_refusal(&result->registers_refusal) == (result->registers == OUTCOME_REFUSED));
    check_required_block(result, tuning);
}
