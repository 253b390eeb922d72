/* The axes of the thread's place in the grid that a value depends on, if it depends on nothing else. */
#include "opt/edges/internal.h"

#include "opt/common/early.h"

bool edges_refuse(Edges *e, const Inst *inst, RefusalReason reason)
{
    refusal_set(&e->result->refusal, e->body, inst, reason, NULL);
    return false;
}

unsigned edges_axis(const Inst *inst)
{
    const unsigned of_thread = inst_index_axis(inst, SREG_ROLE_TID), of_block = inst_index_axis(inst, SREG_ROLE_CTAID);
    return !inst_is_computation(inst) ? 3 : of_thread < 3 ? of_thread : of_block;
}

static uint8_t axes_of_inst(const Edges *e, const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    uint8_t axes = 0;
    if (edges_axis(inst) < 3)
        return (uint8_t)(1 << edges_axis(inst));
    if (!inst_can_move(inst) || (sreg && sreg->dependence != SREG_LAUNCH && sreg->dependence != SREG_CONSTANT))
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
