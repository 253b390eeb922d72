/* -launch-out: the launch contract as JSON (docs/formats.md). */
#include "cli/json.h"
#include "cli/report.h"

static json_t *contract_json(const KernelReport *kernel)
{
    const LaunchContract *contract = &kernel->result.contract;
    unsigned block_after[3];
    for (unsigned i = 0; i < 3; i++)
        block_after[i] = (unsigned)divide_up(contract->block[i], contract->factor[i]);
    json_t *conditions = json_array();
    for (unsigned i = 0; i < kernel->condition_count; i++)
        json_array_append_new(conditions, json_text(kernel->conditions[i]));
    json_t *value = json_object();
    json_object_set_new(value, "kernel", json_text(contract->kernel));
    json_object_set_new(value, "level", json_text(coarsen_level_name(contract->level)));
    json_object_set_new(value, "factor", json_triple(contract->factor));
    json_object_set_new(value, "stride", json_stride(&contract->stride));
    json_object_set_new(value, "block_before", json_block(contract->block));
    json_object_set_new(value, "block_after", json_block(block_after));
    json_object_set_new(value, "grid", json_string("unchanged"));
    json_object_set_new(value, "dynamic_shared", json_string("unchanged"));
    json_object_set_new(value, "whole_warps", json_boolean(contract->whole_warps));
    json_object_set_new(value, "stride_unit", json_integer(contract->stride_unit));
    json_object_set_new(value, "conditions", conditions);
    return value;
}

void launch_print_json(const Report *report, Buf *out)
{
    json_t *kernels = json_array();
    for (size_t i = 0; i < report->kernel_count; i++)
        if (report->kernels[i].result.coarsening == OUTCOME_DONE &&
            report->kernels[i].result.contract.level == LEVEL_THREAD)
            json_array_append_new(kernels, contract_json(&report->kernels[i]));
    json_t *value = json_object();
    json_object_set_new(value, "format", json_string("ptxopt-launch"));
    json_object_set_new(value, "version", json_integer(1));
    json_object_set_new(value, "kernels", kernels);
    json_print(value, out);
}
