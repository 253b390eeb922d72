/* Offsets of addresses as shifts.
 *
 * Requires SSA form.
 *
 *     mul.wide.s32 x, i, 4      becomes      cvt.s64.s32 w, i; shl.b64 x, w, 2
 *
 * The value is the same modulo 2^64. ptxas turns the left form and the sum that it is for into one multiplication and
 * addition of 64 bits, whose base has to be in a pair of registers if it comes from uniform registers (sm_90). It turns
 * the right form into two additions of 32 bits, which take the base's halves from uniform registers or the constant
 * bank: one instruction more, and two registers less wherever the base is live. */
#include "opt/common/sums.h"
#include "opt/registers/moves/shifts.h"

static bool is_only_added(const Values *values, RegId reg)
{
    const ValueUse *uses = value_uses(values, reg);
    Computation c;
    for (uint32_t u = 0; u < value_use_count(values, reg); u++)
        if (!computation_matches(values->body, uses[u].inst, COMPUTE_ADD, 64, "xx", &c))
            return false;
    return true;
}

static bool is_offset(const Values *values, const Inst *inst)
{
    return product_shift(values->body, inst) && is_only_added(values, inst_reg(inst, 0));
}

static void offset_shift(Body *body, Inst *inst)
{
    const bool is_signed = type_class(inst->signature->types[0]) == CLASS_SIGNED;
    RegId product = inst_reg(inst, 0), index = inst_reg(inst, 1);
    RegId wide = body_clone_reg(body, product);
    inst_insert_before(inst, inst_build(body, is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", wide, index));
    inst_insert_before(inst, inst_build(body, "shl.b64", "dri", product, wide, (int64_t)product_shift(body, inst)));
    inst_remove(inst);
}

static unsigned offsets_count(const Body *body, const Values *values)
{
    unsigned count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            count += is_offset(values, inst);
    return count;
}

unsigned shift_offsets(Body *body, const Values *values, ShiftPart part)
{
    require(body->ssa);
    const unsigned count = offsets_count(body, values);
    const unsigned begin = part == SHIFT_SECOND_HALF ? count / 2 : 0;
    const unsigned end = part == SHIFT_FIRST_HALF ? count / 2 : count;
    unsigned at = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            if (!is_offset(values, inst))
                continue;
            if (at >= begin && at < end)
                offset_shift(body, inst);
            at++;
        }
    return end - begin;
}
