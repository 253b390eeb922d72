#include "opt/common/beside.h"

void access_insert(Body *body, Inst *access, Inst *inst)
{
    inst_insert_before(access, inst);
    if (inst_is_guarded(access))
        inst_guard(body, inst, inst_predicate(access), access->guard_inverted, REG_NONE);
}

RegId access_insert_test(Body *body, Inst *access, Inst *test)
{
    const RegId guard = inst_predicate(access);
    RegId none = REG_NONE;
    if (guard != REG_NONE) {
        none = body_add_reg(body, TYPE_PRED, intern(body->module->names, "%none"));
        inst_insert_before(access, inst_build(body, "xor.pred", "drr", none, guard, guard));
    }
    inst_insert_before(access, test);
    if (guard != REG_NONE)
        inst_guard(body, test, guard, access->guard_inverted, none);
    return inst_result(test);
}

RegId access_whole_address(Body *body, Inst *inst, const Access *access, const char *name)
{
    const RegId base = address_base(inst, access->address);
    if (!access->address->constant || !access->address->constant->bits)
        return base;
    const RegId sum = body_add_reg(body, TYPE_B64, intern(body->module->names, name));
    access_insert(body, inst, inst_build(body, "add.s64", "dri", sum, base, (int64_t)access->address->constant->bits));
    return sum;
}
