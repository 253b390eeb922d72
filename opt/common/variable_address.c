/* The address of a variable, taken from a register wherever code names the variable. Keeps SSA form. */
#include "opt/common/variable_address.h"

bool variable_is_replaceable(const Inst *inst, const Operand *operand)
{
    unsigned bits = type_bits(inst->signature->types[0]);
    if (operand->kind == OPERAND_ADDRESS)
        return !operand->indexed && operand->items[0].kind == OPERAND_SYMBOL;
    return operand->kind == OPERAND_SYMBOL && (bits == 32 || bits == 64);
}

/* A register with the address as the operand has it: as wide as the instruction wants it, with the constant added. */
static RegId address_for(Body *body, Inst *inst, const Operand *operand, RegId address)
{
    if (operand->kind == OPERAND_ADDRESS)
        return address;
    if (operand->constant) {
        RegId sum = body_clone_reg(body, address);
        inst_insert_before(inst, inst_build(body, "add.u32", "dri", sum, address, (int64_t)operand->constant->bits));
        address = sum;
    }
    if (type_bits(inst->signature->types[0]) == 32)
        return address;
    RegId wide = body_add_reg(body, TYPE_B64, body_reg_name(body, address));
    inst_insert_before(inst, inst_build(body, "cvt.u64.u32", "dr", wide, address));
    return wide;
}

void variable_replace(Body *body, Inst *inst, unsigned index, const Variable *variable, RegId address)
{
    const Operand *operand = &inst->operands[index];
    const RegId reg = address_for(body, inst, operand, address);
    if (operand->kind == OPERAND_ADDRESS)
        inst_replace_variable(body, inst, variable, reg);
    else
        inst_replace_operand(body, inst, index, reg);
}
