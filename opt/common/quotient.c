#include "opt/common/quotient.h"

static Inst *insert_after(Inst *place, Inst *inst)
{
    inst_insert_after(place, inst);
    return inst;
}

Inst *inst_insert_quotient(Body *body, Inst *place, RegId quotient, RegId number, unsigned divisor)
{
    unsigned bits = 0; /* 2 to this power is at least the divisor */
    while (1u << bits < divisor)
        bits++;
    if (1u << bits == divisor)
        return insert_after(place, inst_build(body, "shr.u32", "dri", quotient, number, (int64_t)bits));
    /* Granlund and Montgomery (PLDI'94): one more than 2^(31+bits) / divisor is exact for numbers below 2^31. */
    int64_t factor = (int64_t)((UINT64_C(1) << (31 + bits)) / divisor + 1);
    RegId high = body_clone_reg(body, quotient);
    place = insert_after(place, inst_build(body, "mul.hi.u32", "dri", high, number, factor));
    return insert_after(place, inst_build(body, "shr.u32", "dri", quotient, high, (int64_t)bits - 1));
}
