/* Opaque copies.
 *
 * The assembler merges equal computations again, so a recomputation has to start from something that it takes for
 * another value. ptxas keeps prmt.b32 with the identity selector, and the exclusive or with a parameter, twice, which
 * is one machine instruction for 32 bits. For 64 bits the latter is the better one: prmt takes the halves apart, and
 * ptxas then moves the other half to where the pair is. Machine code computes on halves, and merges by halves: where
 * the low half carries into the high one, hiding the low half hides the whole result. */
#include "opt/registers/moves/opaque.h"

bool opaque_copy_exists(const Body *body, RegId reg)
{
    Type type = body->regs.data[reg].type;
    if (body->regs.data[reg].vector > 1 || type_class(type) == CLASS_PRED || type_class(type) == CLASS_OPAQUE)
        return false;
    return type_bits(type) == 32 || type_bits(type) == 64;
}

/* True if the high half of the result depends on the low half of this operand. */
static bool carries(const Inst *inst, unsigned operand)
{
    switch (inst_op(inst)) {
    case OP_ADD:
    case OP_SUB: return true;
    case OP_MAD: return operand == 3;
    default: return false;
    }
}

OpaqueHalves opaque_halves_for(const Inst *inst, RegId reg)
{
    unsigned reads = 0, carried = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        reads += ref_reads(&inst->refs[r]) && inst->refs[r].reg == reg;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Operand *operand = &inst->operands[i];
        carried += operand_reg(inst, operand) == reg && ref_reads(operand_ref(inst, operand)) && carries(inst, i);
    }
    return reads == carried ? OPAQUE_LOW : OPAQUE_BOTH;
}

static bool is_mask(const Body *body, const Inst *inst)
{
    Access access;
    if (inst->ref_count != 1 || !ref_writes(&inst->refs[0]) || !inst_access(inst, &access) ||
        access.kind != ACCESS_LOAD || !access.read_only || access.space != SPACE_PARAM)
        return false;
    const Reg *reg = &body->regs.data[inst->refs[0].reg];
    return type_bits(reg->type) == 64 && type_class(reg->type) != CLASS_FLOAT && reg->vector <= 1;
}

const Inst *opaque_mask_find(const Body *body)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (is_mask(body, inst))
                return inst;
    return NULL;
}

/* The exclusive or with the mask, twice; or with the low half of the mask. */
static void wide_copy_by_mask(Body *body, const Inst *mask, RegId reg, RegId copy, OpaqueHalves halves,
                              const Point *point)
{
    Name base = body_reg_name(body, reg);
    RegId bits = body_add_reg(body, TYPE_B64, base), mixed = body_add_reg(body, TYPE_B64, base);
    Inst *load = inst_clone(body, mask);
    load->refs[0].reg = bits;
    place_inst(body, point, load);
    if (halves == OPAQUE_LOW) {
        RegId low = body_add_reg(body, TYPE_B64, base);
        place_inst(body, point, inst_build(body, "and.b64", "dri", low, bits, (int64_t)UINT32_MAX));
        bits = low;
    }
    place_inst(body, point, inst_build(body, "xor.b64", "drr", mixed, reg, bits));
    place_inst(body, point, inst_build(body, "xor.b64", "drr", copy, mixed, bits));
}

/* Without a parameter only the low half is opaque; machine code works on halves, so that only the prmt remains. */
static void wide_copy_of_half(Body *body, RegId reg, RegId copy, const Point *point)
{
    Name base = body_reg_name(body, reg);
    RegId low = body_add_reg(body, TYPE_B32, base), opaque = body_add_reg(body, TYPE_B32, base);
    RegId low_half = body_add_reg(body, TYPE_B64, base), high_half = body_add_reg(body, TYPE_B64, base);
    place_inst(body, point, inst_build(body, "cvt.u32.u64", "dr", low, reg));
    place_inst(body, point, inst_build(body, "prmt.b32", "drri", opaque, low, low, (int64_t)0x3210));
    place_inst(body, point, inst_build(body, "cvt.u64.u32", "dr", low_half, opaque));
    place_inst(body, point, inst_build(body, "and.b64", "dri", high_half, reg, -(INT64_C(1) << 32)));
    place_inst(body, point, inst_build(body, "or.b64", "drr", copy, low_half, high_half));
}

static void wide_copy(Body *body, const Inst *mask, RegId reg, RegId copy, OpaqueHalves halves, const Point *point)
{
    if (mask)
        wide_copy_by_mask(body, mask, reg, copy, halves, point);
    else
        wide_copy_of_half(body, reg, copy, point);
}

/* Machine instructions for doubles read both halves, so that hiding one is enough. */
static void double_copy(Body *body, const Inst *mask, RegId reg, RegId copy, const Point *point)
{
    Name base = body_reg_name(body, reg);
    RegId bits = body_add_reg(body, TYPE_B64, base), opaque = body_add_reg(body, TYPE_B64, base);
    place_inst(body, point, inst_build(body, "mov.b64", "dr", bits, reg));
    wide_copy(body, mask, bits, opaque, OPAQUE_LOW, point);
    place_inst(body, point, inst_build(body, "mov.b64", "dr", copy, opaque));
}

void opaque_copy_place(Body *body, const Inst *mask, RegId reg, RegId copy, OpaqueHalves halves, const Point *point)
{
    require(opaque_copy_exists(body, reg));
    Type type = body->regs.data[reg].type;
    if (type_bits(type) == 32)
        place_inst(body, point, inst_build(body, "prmt.b32", "drri", copy, reg, reg, (int64_t)0x3210));
    else if (type_class(type) == CLASS_FLOAT)
        double_copy(body, mask, reg, copy, point);
    else
        wide_copy(body, mask, reg, copy, halves, point);
}
