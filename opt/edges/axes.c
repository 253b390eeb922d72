/* The axes of the thread's place in the grid that a value depends on, if it depends on nothing else. */
#include "opt/edges/internal.h"

bool edges_refuse(Edges *e, const Inst *inst, RefusalReason reason)
{
    refusal_set(&e->result->refusal, e->body, inst, reason, NULL);
    return false;
}

unsigned edges_axis(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    const bool is_index = sreg && (sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_CTAID) && sreg->vector == 1;
    if (!is_index || !inst_is_computation(inst) || inst->operand_count != 2 || inst->operands[1].kind != OPERAND_SREG)
        return 3;
    return sreg->axis == SREG_AXIS_X ? 0 : sreg->axis == SREG_AXIS_Y ? 1 : sreg->axis == SREG_AXIS_Z ? 2 : 3;
}

bool edges_inst_is_harmless(const Inst *inst)
{
    Access access;
    return inst_is_computation(inst) || (inst_is_plain(inst) && inst_access(inst, &access) &&
                                         access.kind == ACCESS_LOAD && access.read_only && access.space == SPACE_PARAM);
}

static uint8_t axes_of_inst(const Edges *e, const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    uint8_t axes = 0;
    if (edges_axis(inst) < 3)
        return (uint8_t)(1 << edges_axis(inst));
    if (!edges_inst_is_harmless(inst) || (sreg && sreg->dependence != SREG_LAUNCH && sreg->dependence != SREG_CONSTANT))
        return AXES_UNKNOWN;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            axes |= e->axes[inst->refs[r].reg];
    return axes;
}

void edges_find_axes(Edges *e)
{
    e->axes = ARENA_ARRAY(e->scratch, uint8_t, e->values->reg_count);
    for (uint32_t i = 0; i < e->dominance->order_count; i++) {
        const Block *block = e->body->blocks.data[e->dominance->order[i]];
        for (size_t p = 0; p < block->phis.count; p++)
            e->axes[block->phis.data[p].dst] = AXES_UNKNOWN;
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]))
                    e->axes[inst->refs[r].reg] = axes_of_inst(e, inst);
    }
}
