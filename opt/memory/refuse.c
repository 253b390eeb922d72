/* Refusals, and the indices that instructions read. */
#include "opt/memory/internal.h"

bool stage_refuse(Staging *s, const Inst *inst, RefusalReason reason)
{
    refusal_set(&s->report->refusal, s->body, inst, reason, NULL);
    return false;
}

Index stage_index(const Inst *inst)
{
    const unsigned axis = inst_index_axis(inst, SREG_ROLE_TID);
    return axis < 3 ? (Index)(INDEX_X + axis) : INDEX_COUNT;
}
