/* -launch-out: the launch contract as JSON (docs/formats.md). */
#include "engine/report/json.h"
#include "engine/report/report.h"

enum { VERSION_BLOCK = 1, VERSION_GRID = 2, VERSION_GROWN = 3 };

static void raise_version(const LaunchContract *contract, int *version)
{
    const LaunchChange change = contract_change(contract);
    const int needed = merges_any(change.grown) || merges_any(change.spread) ? VERSION_GROWN
                       : contract_changes_grid(contract)                    ? VERSION_GRID
                                                                            : VERSION_BLOCK;
    *version = needed > *version ? needed : *version;
}

/* The version of the format: readers that know only an earlier one must not launch a kernel by a contract that needs a
 * later one. */
static int version_of(const Report *report)
{
    int version = VERSION_BLOCK;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const KernelReport *kernel = &report->kernels[i];
        if (kernel->result.coarsening == OUTCOME_DONE)
            raise_version(&kernel->result.contract, &version);
        for (unsigned k = 0; k < kernel->form_count; k++)
            if (kernel->forms[k].has_contract)
                raise_version(&kernel->forms[k].contract, &version);
    }
    return version;
}

static json_t *grid_json(const LaunchContract *contract)
{
    if (!contract_changes_grid(contract))
        return json_string("unchanged");
    json_t *value = json_object();
    const LaunchChange change = contract_change(contract);
    json_object_set_new(value, "divided_by", json_triple(change.grid));
    if (merges_any(change.spread))
        json_object_set_new(value, "multiplied_by", json_triple(change.spread));
    return value;
}

static json_t *dynamic_shared_json(const LaunchContract *contract)
{
    if (contract->dynamic_factor == 1)
        return json_string("unchanged");
    json_t *value = json_object();
    json_object_set_new(value, "rounded_up_to", json_integer(CONTRACT_SHARED_UNIT));
    json_object_set_new(value, "times", json_integer(contract->dynamic_factor));
    return value;
}

static json_t *contract_json(const LaunchContract *contract)
{
    LaunchCondition conditions[CONTRACT_CONDITIONS];
    const unsigned condition_count = contract_conditions(contract, conditions);
    const LaunchChange change = contract_change(contract);
    unsigned block_after[3];
    for (unsigned i = 0; i < 3; i++)
        block_after[i] = (unsigned)launch_change_block(&change, i, contract->block[i]);
    json_t *value = json_object();
    json_object_set_new(value, "kernel", json_text(contract->kernel));
    json_object_set_new(value, "level", json_text(shape_level_text(&contract->shape)));
    json_object_set_new(value, "factor", json_triple(contract->shape.threads));
    if (merges_any(change.grown))
        json_object_set_new(value, "grown", json_triple(change.grown));
    json_object_set_new(value, "stride", json_stride(&contract->stride));
    json_object_set_new(value, "block_before", json_block(contract->block));
    json_object_set_new(value, "block_after", json_block(block_after));
    json_object_set_new(value, "grid", grid_json(contract));
    json_object_set_new(value, "dynamic_shared", dynamic_shared_json(contract));
    json_object_set_new(value, "whole_warps", json_boolean(contract->whole_warps));
    json_object_set_new(value, "stride_unit", json_integer(contract->stride_unit));
    json_object_set_new(value, "conditions", json_conditions(conditions, condition_count));
    return value;
}

void launch_print_json(const Report *report, Buf *out)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->kernel_count; i++) {
        const KernelReport *kernel = &report->kernels[i];
        if (kernel->result.coarsening == OUTCOME_DONE && contract_changes_launch(&kernel->result.contract))
            json_array_append_new(kernels, contract_json(&kernel->result.contract));
        for (unsigned k = 0; k < kernel->form_count; k++)
            if (kernel->forms[k].has_contract && contract_changes_launch(&kernel->forms[k].contract))
                json_array_append_new(kernels, contract_json(&kernel->forms[k].contract));
    }
    json_t *value = json_object();
    json_object_set_new(value, "format", json_string("ptxopt-launch"));
    json_object_set_new(value, "version", json_integer(version_of(report)));
    json_object_set_new(value, "kernels", kernels);
    json_print(value, out);
}
