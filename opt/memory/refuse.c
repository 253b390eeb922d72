/* Refusals, and the indices that instructions read. */
#include "opt/memory/internal.h"

bool stage_refuse(Staging *s, const Inst *inst, RefusalReason reason)
{
    refusal_set(&s->report->refusal, s->body, inst, reason, NULL);
    return false;
}

Index stage_index(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    if (!sreg || sreg->role != SREG_ROLE_TID || inst->operand_count != 2 || inst->operands[1].kind != OPERAND_SREG)
        return INDEX_COUNT;
    return sreg->axis == SREG_AXIS_X ? INDEX_X
           : sreg->axis == SREG_AXIS_Y ? INDEX_Y
           : sreg->axis == SREG_AXIS_Z ? INDEX_Z
                                       : INDEX_COUNT;
}
