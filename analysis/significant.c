/* The greatest value that an integer can have, as unsigned, from below: all start at 0, and grow until nothing changes.
 * A phi that grows in a loop jumps to the next of a few limits after some rounds, so that the end is near. */
#include "analysis/significant.h"

enum {
    EXACT_ROUNDS = 4, /* before phis jump */
    ROUNDS_MOST = 60, /* then nothing is taken for known */
};

typedef struct Bounds {
    const Values *values;
    uint64_t *most; /* by RegId */
} Bounds;

/* All bits of a type or register; beyond them nothing is told apart. */
static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 || !bits ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static bool is_integer_type(Type type)
{
    return class_is_integer(type_class(type));
}

static uint64_t reg_mask(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    return is_integer_type(r->type) && r->vector <= 1 ? mask_of(type_bits(r->type)) : UINT64_MAX;
}

static uint64_t operand_most(const Bounds *bounds, const Inst *inst, unsigned index, unsigned bits)
{
    if (index >= inst->operand_count)
        return UINT64_MAX;
    const Operand *operand = &inst->operands[index];
    if (operand->negated || operand->inverted || operand->selector)
        return UINT64_MAX;
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT)
        return operand->constant->bits & mask_of(bits);
    if (operand->kind != OPERAND_REG || operand->constant)
        return UINT64_MAX;
    uint64_t most = bounds->most[inst->refs[operand->ref].reg];
    return most < mask_of(bits) ? most : mask_of(bits);
}

/* The value of an integer constant. */
static bool operand_constant(const Inst *inst, unsigned index, uint64_t *value)
{
    if (index >= inst->operand_count || inst->operands[index].kind != OPERAND_CONSTANT ||
        inst->operands[index].constant->kind != CONSTANT_INT)
        return false;
    *value = inst->operands[index].constant->bits;
    return true;
}

/* All ones up to the highest bit that is set. */
static uint64_t ones_up_to(uint64_t value)
{
    return value ? UINT64_MAX >> __builtin_clzll(value) : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t greatest_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* A sum or product that may wrap is not known. */
static uint64_t unless_wrapped(unsigned __int128 value, unsigned bits)
{
    return value <= mask_of(bits) ? (uint64_t)value : mask_of(bits);
}

static uint64_t shifted(const Inst *inst, uint64_t most, unsigned bits)
{
    uint64_t by;
    bool left = inst_op(inst) == OP_SHL, fills = type_class(inst->signature->types[0]) == CLASS_SIGNED;
    if (!operand_constant(inst, 2, &by) || by >= bits || by >= 64)
        return mask_of(bits);
    if (left)
        return unless_wrapped((unsigned __int128)most << by, bits);
    return fills && most > mask_of(bits - 1) ? mask_of(bits) : most >> by;
}

/* Signed integers are ordered like unsigned ones where none is negative. */
static uint64_t extreme(const Inst *inst, uint64_t a, uint64_t b, unsigned bits)
{
    bool is_signed = type_class(inst->signature->types[0]) == CLASS_SIGNED;
    if (is_signed && (a > mask_of(bits - 1) || b > mask_of(bits - 1)))
        return mask_of(bits);
    return inst_op(inst) == OP_MIN ? least_of(a, b) : greatest_of(a, b);
}

static uint64_t converted(const Bounds *bounds, const Inst *inst)
{
    const Signature *signature = inst->signature;
    if (signature->type_count != 2 || !is_integer_type(signature->types[0]) || !is_integer_type(signature->types[1]) ||
        inst_has(inst, MOD_SAT))
        return UINT64_MAX;
    unsigned to = type_bits(signature->types[0]), from = type_bits(signature->types[1]);
    uint64_t most = operand_most(bounds, inst, 1, from);
    if (type_class(signature->types[1]) == CLASS_SIGNED && most > mask_of(from - 1))
        return to <= from && type_class(signature->types[0]) != CLASS_SIGNED ? mask_of(to) : UINT64_MAX;
    /* What does not fit is cut off; of a signed result the register then holds the sign's copies. */
    if (most > mask_of(to - (type_class(signature->types[0]) == CLASS_SIGNED)))
        return type_class(signature->types[0]) == CLASS_SIGNED ? UINT64_MAX : mask_of(to);
    return most;
}

/* The result of an instruction that computes an integer from integers of its own type. */
static uint64_t computed(const Bounds *bounds, const Inst *inst)
{
    Type type = inst->signature->types[0];
    unsigned bits = type_bits(type);
    uint64_t a = operand_most(bounds, inst, 1, bits), b = operand_most(bounds, inst, 2, bits), value;
    bool is_signed = type_class(type) == CLASS_SIGNED;
    switch (inst_op(inst)) {
    case OP_MOV: return inst->operand_count == 2 ? a : UINT64_MAX;
    case OP_SELP: return greatest_of(a, b);
    case OP_ADD: return inst_has(inst, MOD_SAT) ? UINT64_MAX : unless_wrapped((unsigned __int128)a + b, bits);
    case OP_MUL:
    case OP_MAD:
        if (!inst_has(inst, MOD_LO) || inst_has(inst, MOD_SAT))
            return UINT64_MAX;
        value = inst_op(inst) == OP_MAD ? operand_most(bounds, inst, 3, bits) : 0;
        return unless_wrapped((unsigned __int128)a * b + value, bits);
    case OP_AND: return least_of(a, b);
    case OP_OR:
    case OP_XOR: return greatest_of(ones_up_to(a), ones_up_to(b));
    case OP_SHL:
    case OP_SHR: return shifted(inst, a, bits);
    case OP_MIN:
    case OP_MAX: return extreme(inst, a, b, bits);
    case OP_REM:
        return !is_signed && operand_constant(inst, 2, &value) && (value & mask_of(bits))
                   ? least_of(a, (value & mask_of(bits)) - 1) : UINT64_MAX;
    case OP_BFE:
        return !is_signed && operand_constant(inst, 3, &value) ? mask_of((value & 255) ? (value & 255) : 1)
                                                               : UINT64_MAX;
    case OP_POPC:
    case OP_CLZ: return bits;
    default: return UINT64_MAX;
    }
}

static uint64_t inst_most(const Bounds *bounds, const Inst *inst, unsigned ref)
{
    const Signature *signature = inst->signature;
    if (inst_is_opaque(inst) || !signature->type_count || !is_integer_type(signature->types[0]))
        return UINT64_MAX;
    if (inst_op(inst) == OP_LD)
        return type_class(signature->types[0]) != CLASS_SIGNED ? mask_of(type_bits(signature->types[0])) : UINT64_MAX;
    if (!inst->operand_count || inst->operands[0].kind != OPERAND_REG || inst->operands[0].ref != ref ||
        inst->operands[0].selector || signature->vector > 1)
        return UINT64_MAX;
    return inst_op(inst) == OP_CVT ? converted(bounds, inst) : computed(bounds, inst);
}

/* What a guarded instruction leaves where its guard is false counts, too. */
static uint64_t definition_most(const Bounds *bounds, const Inst *inst, unsigned ref)
{
    uint64_t most = inst_most(bounds, inst, ref);
    uint16_t old = inst->refs[ref].partner;
    if (inst->guard == REF_NONE && !inst->tied_count)
        return most;
    if (old == REF_NONE || inst->refs[old].reg == REG_NONE || inst->refs[old].type != TYPE_NONE)
        return UINT64_MAX;
    return greatest_of(most, bounds->most[inst->refs[old].reg]);
}

static uint64_t phi_most(const Bounds *bounds, const Phi *phi)
{
    uint64_t most = 0;
    for (size_t i = 0; i < phi->args.count; i++)
        most = greatest_of(most, phi->args.data[i].reg == REG_NONE ? UINT64_MAX
                                                                   : bounds->most[phi->args.data[i].reg]);
    return most;
}

/* The next of a few limits. */
static uint64_t jump(uint64_t most)
{
    static const uint64_t limits[] = {1, 0xf, 0xff, 0xfff, 0xffff, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        if (most <= limits[i])
            return limits[i];
    return UINT64_MAX;
}

/* Whether the value grew. */
static bool grow(const Bounds *bounds, RegId reg, uint64_t most, bool jumps)
{
    uint64_t limit = reg_mask(bounds->values->body, reg);
    if (most <= bounds->most[reg])
        return false;
    most = least_of(jumps ? jump(most) : most, limit);
    if (most <= bounds->most[reg])
        return false;
    bounds->most[reg] = most;
    return true;
}

static bool round_run(const Bounds *bounds, bool jumps)
{
    const Body *body = bounds->values->body;
    bool grew = false;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            grew |= grow(bounds, block->phis.data[p].dst, phi_most(bounds, &block->phis.data[p]), jumps);
        for (const Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_writes(&inst->refs[r]))
                    grew |= grow(bounds, inst->refs[r].reg, definition_most(bounds, inst, r), false);
    }
    return grew;
}

static uint8_t bits_needed(uint64_t most)
{
    return (uint8_t)(most ? 64 - __builtin_clzll(most) : 1);
}

uint8_t *significant_bits(Arena *arena, const Values *values)
{
    uint8_t *bits = ARENA_ARRAY(arena, uint8_t, values->reg_count + 1);
    Bounds bounds = {values, ARENA_ARRAY(arena, uint64_t, values->reg_count + 1)};
    unsigned rounds = 0;
    for (size_t r = 0; r < values->reg_count; r++)
        if (value_is_undefined(values, (RegId)r))
            bounds.most[r] = reg_mask(values->body, (RegId)r);
    while (rounds < ROUNDS_MOST && round_run(&bounds, rounds >= EXACT_ROUNDS))
        rounds++;
    for (size_t r = 0; r < values->reg_count; r++) {
        uint64_t limit = reg_mask(values->body, (RegId)r);
        bits[r] = bits_needed(rounds < ROUNDS_MOST ? least_of(bounds.most[r], limit) : limit);
    }
    return bits;
}
