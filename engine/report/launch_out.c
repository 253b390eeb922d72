/* -launch-out: the launch contract as JSON (docs/formats.md). */
#include "engine/report/json.h"
#include "engine/report/report.h"

enum { VERSION_BLOCK = 1, VERSION_GRID = 2, VERSION_GROWN = 3 };

/* The version of the format: readers that know only an earlier one must not launch a kernel by a contract that needs a
 * later one. */
static int version_of(const Report *report)
{
    int version = VERSION_BLOCK;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const KernelResult *result = &report->kernels[i].result;
        const LaunchChange change = contract_change(&result->contract);
        if (result->coarsening != OUTCOME_DONE)
            continue;
        const int needed = merges_any(change.grown) || merges_any(change.spread) ? VERSION_GROWN
                           : contract_changes_grid(&result->contract) ? VERSION_GRID
                                                                      : VERSION_BLOCK;
        version = needed > version ? needed : version;
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

static json_t *contract_json(const KernelReport *kernel)
{
    const LaunchContract *contract = &kernel->result.contract;
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
    json_object_set_new(value, "conditions", json_conditions(kernel->conditions, kernel->condition_count));
    return value;
}

void launch_print_json(const Report *report, Buf *out)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->kernel_count; i++)
        if (report->kernels[i].result.coarsening == OUTCOME_DONE &&
            contract_changes_launch(&report->kernels[i].result.contract))
            json_array_append_new(kernels, contract_json(&report->kernels[i]));
    json_t *value = json_object();
    json_object_set_new(value, "format", json_string("ptxopt-launch"));
    json_object_set_new(value, "version", json_integer(version_of(report)));
    json_object_set_new(value, "kernels", kernels);
    json_print(value, out);
}
