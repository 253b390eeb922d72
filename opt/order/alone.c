/* See alone.h. */
#include "opt/order/alone.h"

bool inst_is_alone(const Inst *inst)
{
    Access access;
    if (inst_is_opaque(inst) || inst_is_call(inst) || inst->sync != SYNC_NONE || inst_names_shared(inst) ||
        inst_is_taken_alike(inst))
        return false;
    if (!inst_access(inst, &access))
        return !(inst->effects & (EFFECT_READ | EFFECT_WRITE | EFFECT_TRAP | EFFECT_THREAD | EFFECT_VOLATILE |
                                  EFFECT_ASYNC | EFFECT_STACK));
    return access.space != SPACE_SHARED &&
           (access.read_only ||
            (access.weak && access.address && (access.kind == ACCESS_LOAD || access.kind == ACCESS_STORE)));
}
