/* See alone.h. */
#include "opt/order/alone.h"

static bool is_component(const Inst *inst, const Sreg *sreg)
{
    const bool is_size = sreg->role == SREG_ROLE_NTID || sreg->role == SREG_ROLE_NCTAID;
    const bool is_place = sreg->role == SREG_ROLE_TID || sreg->role == SREG_ROLE_CTAID;
    return (is_size || is_place) && inst_index_axis(inst, sreg->role) < 3;
}

bool inst_is_alone(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst) || inst->sync != SYNC_NONE || inst_names_shared(inst) ||
        inst_is_taken_alike(inst))
        return false;
    if (sreg)
        return is_component(inst, sreg);
    if (!inst_access(inst, &access))
        return !(inst->effects & (EFFECT_READ | EFFECT_WRITE | EFFECT_TRAP | EFFECT_THREAD | EFFECT_VOLATILE |
                                  EFFECT_ASYNC | EFFECT_STACK));
    return access.space != SPACE_SHARED &&
           (access.read_only ||
            (access.weak && access.address && (access.kind == ACCESS_LOAD || access.kind == ACCESS_STORE)));
}
