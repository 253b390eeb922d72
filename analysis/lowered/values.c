/* Decides how each value exists in machine code: in registers, as an operand, in uniform registers, or within the
 * instructions that read it.
 *
 * The rules are those that disassembled kernels show (nvdisasm -plr prints what is live in machine code). */
#include "analysis/lowered/internal.h"

bool is_plain(const Inst *inst)
{
    return inst_is_plain(inst) && (inst->effects & EFFECT_PURE || inst_op(inst) == OP_MOV);
}

bool reads_constant(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.read_only &&
           (access.space == SPACE_PARAM || access.space == SPACE_CONST);
}

/* True for copies between registers of equal width, and between an address and the same address in another space. */
static bool is_copy(const Lowering *lowering, const Inst *inst)
{
    const Body *body = lowering->out->body;
    if (inst->ref_count != 2 || !ref_writes(&inst->refs[0]) || !ref_reads(&inst->refs[1]))
        return false;
    Type to = body->regs.data[inst->refs[0].reg].type, from = body->regs.data[inst->refs[1].reg].type;
    bool same = type_registers(to) == type_registers(from) && type_class(to) != CLASS_PRED &&
                type_class(from) != CLASS_PRED;
    return (inst_op(inst) == OP_MOV && same) || inst_op(inst) == OP_CVTA;
}

/* True for truncation to half a pair, which is its low register. */
static bool is_truncation(const Lowering *lowering, const Inst *inst)
{
    const Body *body = lowering->out->body;
    if (inst_op(inst) != OP_CVT || inst->ref_count != 2 || !ref_writes(&inst->refs[0]))
        return false;
    Type to = body->regs.data[inst->refs[0].reg].type, from = body->regs.data[inst->refs[1].reg].type;
    bool integers = type_class(to) != CLASS_FLOAT && type_class(from) != CLASS_FLOAT &&
                    type_class(inst->refs[0].type) != CLASS_FLOAT && type_class(inst->refs[1].type) != CLASS_FLOAT;
    return integers && type_bits(inst->refs[0].type) == 32 && type_bits(inst->refs[1].type) == 64;
}

/* True for an extension to 64 bits whose high half is not used. */
static bool is_narrow_copy(const Lowering *lowering, const Inst *inst)
{
    return inst_op(inst) == OP_CVT && inst->ref_count == 2 && ref_writes(&inst->refs[0]) &&
           lowering->narrow[inst->refs[0].reg] &&
           type_registers(lowering->out->body->regs.data[inst->refs[1].reg].type) == 1 &&
           type_bits(inst->refs[1].type) == 32;
}

/* True for an extension to 64 bits: the high half, zero or the sign, is computed where it is read. */
static bool is_extension(const Lowering *lowering, const Inst *inst)
{
    if (inst_op(inst) != OP_CVT || inst->ref_count != 2 || !ref_writes(&inst->refs[0]))
        return false;
    Type from = lowering->out->body->regs.data[inst->refs[1].reg].type;
    return type_registers(from) == 1 && type_class(inst->refs[0].type) != CLASS_FLOAT &&
           type_class(inst->refs[1].type) != CLASS_FLOAT && type_bits(inst->refs[0].type) == 64 &&
           type_bits(inst->refs[1].type) == 32;
}

bool operand_is_uniform(const Lowering *lowering, RegId reg)
{
    reg = lowering->roots[reg];
    return lowering->kinds[reg] == VALUE_FREE || lowering->kinds[reg] == VALUE_UNIFORM;
}

/* True if everything that it reads besides registers is the same in all threads of a block. */
static bool special_is_uniform(const Inst *inst, bool *launch)
{
    const Sreg *sreg = inst_sreg(inst);
    *launch = !sreg || sreg->dependence != SREG_BLOCK;
    return !sreg || (sreg->dependence != SREG_THREAD && sreg->dependence != SREG_VOLATILE);
}

static bool is_integer(const Lowering *lowering, RegId reg)
{
    Type type = lowering->out->body->regs.data[reg].type;
    return type_class(type) != CLASS_FLOAT && lowering->out->body->regs.data[reg].vector <= 1;
}

/* The uniform datapath has neither extremes nor divisions, and does not convert floating point. */
static bool has_uniform_form(const Inst *inst)
{
    switch (inst_op(inst)) {
    case OP_MIN:
    case OP_MAX:
    case OP_ABS:
    case OP_DIV:
    case OP_REM: return false;
    case OP_CVT: return type_class(inst->refs[1].type) != CLASS_FLOAT;
    default: return true;
    }
}

static bool phi_reads(const Lowering *lowering, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(lowering->values, reg); u++)
        if (!value_uses(lowering->values, reg)[u].inst)
            return true;
    return false;
}

/* True if a phi reads it, or a copy of it: phis are in registers, and so are the values that they are copied from. */
static bool is_merged(const Lowering *lowering, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(lowering->values, reg); u++) {
        const Inst *inst = value_uses(lowering->values, reg)[u].inst;
        RegId copy = inst && is_copy(lowering, inst) ? inst_result(inst) : REG_NONE;
        if (copy != REG_NONE && phi_reads(lowering, copy))
            return true;
    }
    return phi_reads(lowering, reg);
}

/* True if the uniform datapath computes and holds it. */
static bool has_uniform_register(const Lowering *lowering, const Inst *inst, RegId reg, bool reads)
{
    return is_integer(lowering, reg) &&
           (!lowering->close || !reads || (has_uniform_form(inst) && !is_merged(lowering, reg)));
}

static ValueKind kind_of(const Lowering *lowering, const Inst *inst, RegId reg)
{
    const Reg *made = &lowering->out->body->regs.data[reg];
    bool launch;
    if (type_class(made->type) == CLASS_PRED || inst_result(inst) != reg || inst_is_guarded(inst) || inst->tied_count)
        return VALUE_OWN;
    unsigned reads = 0, uniform = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            reads++;
            uniform += operand_is_uniform(lowering, inst->refs[r].reg);
        }
    if (reads_constant(inst))
        return uniform == reads ? VALUE_FREE : VALUE_OWN;
    if (!is_plain(inst) || !special_is_uniform(inst, &launch))
        return VALUE_OWN;
    if (is_copy(lowering, inst) || is_truncation(lowering, inst) || is_narrow_copy(lowering, inst) ||
        (lowering->close && is_extension(lowering, inst)))
        return VALUE_ALIAS;
    if (!reads && launch && inst_op(inst) == OP_MOV)
        return VALUE_FREE;
    return uniform == reads && has_uniform_register(lowering, inst, reg, reads > 0) ? VALUE_UNIFORM : VALUE_OWN;
}

static const Operand *address_of(const Inst *inst)
{
    Access access;
    return inst_access(inst, &access) ? access.address : NULL;
}

static bool is_address_use(const ValueUse *use)
{
    const Operand *address = use->inst ? address_of(use->inst) : NULL;
    return address && address->item_count == 1 && address->items[0].kind == OPERAND_REG &&
           address->items[0].ref == use->index;
}

static bool is_shared_use(const ValueUse *use)
{
    Access access;
    return is_address_use(use) && inst_access(use->inst, &access) && access.space == SPACE_SHARED;
}

/* True for a sum of a register and the address of a variable. */
static bool adds_symbol(const Lowering *lowering, const Inst *inst)
{
    unsigned registers = 0, symbols = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            const Inst *made = value_inst(lowering->values, inst->refs[r].reg);
            bool symbol = lowering->kinds[inst->refs[r].reg] == VALUE_FREE && made && !reads_constant(made);
            symbols += symbol;
            registers += !symbol;
        }
    return inst_op(inst) == OP_ADD && symbols == 1 && registers == 1;
}

static bool adds_constant(const Inst *inst)
{
    return inst_op(inst) == OP_ADD && inst->operand_count == 3 && inst->operands[2].kind == OPERAND_CONSTANT &&
           inst_reg(inst, 1) != REG_NONE;
}

bool adds_to(const Lowering *lowering, RegId sum, RegId reg)
{
    const Inst *inst = sum == REG_NONE ? NULL : value_inst(lowering->values, sum);
    return inst && adds_constant(inst) && inst_reg(inst, 1) == reg;
}

static bool is_product(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_MUL || op == OP_SHL || op == OP_MAD;
}

/* Accesses to shared memory can multiply the register that they add to their offset by 4, 8 or 16. */
static bool is_scaling(const Inst *inst)
{
    uint64_t bits;
    if (inst->operand_count != 3 || !operand_is_integer(&inst->operands[2], &bits))
        return false;
    return inst_op(inst) == OP_SHL ? bits >= 2 && bits <= 4
                                   : inst_op(inst) == OP_MUL && (bits == 4 || bits == 8 || bits == 16);
}

static bool is_logic(const Inst *inst)
{
    Opcode op = inst_op(inst);
    return op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_NOT;
}

/* True if machine code has one instruction for the two. */
static bool fuses_into(const Inst *inst, const Inst *reader)
{
    if (!is_plain(reader))
        return false;
    Opcode op = inst_op(reader);
    return (is_product(inst) && op == OP_ADD) || (is_logic(inst) && (is_logic(reader) || op == OP_SETP));
}

/* True if the use needs only 32 bits: it addresses shared memory, or computes a value that only does so. */
static bool is_narrow_use(const Lowering *lowering, const ValueUse *use)
{
    if (!use->inst || is_shared_use(use))
        return use->inst != NULL;
    RegId reg = inst_result(use->inst);
    return reg != REG_NONE && lowering->narrow[reg] && is_plain(use->inst) &&
           (inst_op(use->inst) == OP_ADD || is_product(use->inst));
}

static void narrow_find(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    for (size_t b = body->blocks.count; b-- > 0;)
        for (const Inst *inst = body->blocks.data[b]->last; inst; inst = inst->prev) {
            RegId reg = is_plain(inst) ? inst_result(inst) : REG_NONE;
            if (reg == REG_NONE || type_bits(body->regs.data[reg].type) != 64 || !is_integer(lowering, reg))
                continue;
            uint32_t count = value_use_count(lowering->values, reg), narrow = 0;
            for (uint32_t u = 0; u < count; u++)
                narrow += is_narrow_use(lowering, &value_uses(lowering->values, reg)[u]);
            lowering->narrow[reg] = count && narrow == count;
        }
}

static bool uses_all(const ValueUse *uses, uint32_t count, bool (*test)(const ValueUse *))
{
    for (uint32_t u = 0; u < count; u++)
        if (!test(&uses[u]))
            return false;
    return count > 0;
}

/* True for additions: machine code adds three 32-bit registers at once. */
static bool is_sum(const Inst *inst)
{
    return (inst_op(inst) == OP_ADD || inst_op(inst) == OP_SUB) && type_class(inst->refs[0].type) != CLASS_FLOAT &&
           type_bits(inst->refs[0].type) == 32;
}

static bool has_fused_sum(const Lowering *lowering, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && lowering->kinds[inst->refs[r].reg] == VALUE_FUSED)
            return true;
    return false;
}

static bool is_fused(const Lowering *lowering, const Inst *inst, RegId reg)
{
    if (!is_plain(inst) || !is_integer(lowering, reg) || type_class(inst->refs[0].type) == CLASS_FLOAT)
        return false;
    uint32_t count = value_use_count(lowering->values, reg);
    const ValueUse *uses = value_uses(lowering->values, reg);
    if (adds_constant(inst) && uses_all(uses, count, is_address_use))
        return true;
    if ((adds_symbol(lowering, inst) || is_scaling(inst)) && uses_all(uses, count, is_shared_use))
        return true;
    if (is_sum(inst) && count == 1 && uses[0].inst && is_plain(uses[0].inst) && is_sum(uses[0].inst))
        return !has_fused_sum(lowering, inst) && !has_fused_sum(lowering, uses[0].inst);
    if (!count || (!is_product(inst) && !is_logic(inst)) || (is_logic(inst) && count > 1))
        return false;
    for (uint32_t u = 0; u < count; u++)
        if (!uses[u].inst || !fuses_into(inst, uses[u].inst))
            return false;
    return true;
}

/* True for an address that is the same in all threads of a block, and stays so because it grows by a constant. */
static bool is_uniform_pointer(const Lowering *lowering, const Phi *phi)
{
    uint32_t count = value_use_count(lowering->values, phi->dst);
    const ValueUse *uses = value_uses(lowering->values, phi->dst);
    if (lowering->loads != LOADS_NOWHERE || type_bits(lowering->out->body->regs.data[phi->dst].type) != 64 ||
        !is_integer(lowering, phi->dst))
        return false;
    for (size_t a = 0; a < phi->args.count; a++)
        if (!operand_is_uniform(lowering, phi->args.data[a].reg) && !adds_to(lowering, phi->args.data[a].reg, phi->dst))
            return false;
    for (uint32_t u = 0; u < count; u++)
        if (!is_address_use(&uses[u]) && !(uses[u].inst && adds_to(lowering, inst_result(uses[u].inst), phi->dst)))
            return false;
    return true;
}

/* Records the root of a copy, if the copied value has been seen before. */
static void root_note(Lowering *lowering, const Inst *inst, RegId copy)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            lowering->roots[copy] = lowering->roots[inst->refs[r].reg];
}

void values_classify(Lowering *lowering)
{
    const Body *body = lowering->out->body;
    narrow_find(lowering);
    for (size_t reg = 0; reg < lowering->values->reg_count; reg++)
        lowering->roots[reg] = (RegId)reg;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            if (is_uniform_pointer(lowering, &block->phis.data[p]))
                lowering->kinds[block->phis.data[p].dst] = VALUE_UNIFORM;
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++) {
                RegId reg = inst->refs[r].reg;
                if (!ref_writes(&inst->refs[r]))
                    continue;
                lowering->kinds[reg] = (uint8_t)kind_of(lowering, inst, reg);
                if (lowering->kinds[reg] == VALUE_OWN && is_fused(lowering, inst, reg))
                    lowering->kinds[reg] = VALUE_FUSED;
                if (lowering->close && lowering->kinds[reg] == VALUE_ALIAS)
                    root_note(lowering, inst, reg);
            }
    }
}
