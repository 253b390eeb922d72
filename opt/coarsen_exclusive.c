/* Blocks that only replica 0 executes.
 *
 * "if (threadIdx.x < 32)" and "if (threadIdx.x / 32 == 0)" choose the first warp, and with whole warps no other replica
 * is in it.  The conditions of the branches that lead to a block are computed for every index that a replica other than
 * the first can have; if one of them is never met, the block is replica 0's alone.
 *
 * Only the index along the coarsened dimension and constants are known.  Requires SSA form, dominators and values.
 * Changes nothing. */
#include "opt/coarsen_internal.h"

#include <string.h>

/* Of a block along x and y; along z there are fewer. */
enum { MOST_INDEX = 1024, MOST_DEPTH = 8 };

typedef struct Value {
    bool known;
    uint64_t bits; /* zero-extended */
} Value;

typedef struct Evaluation {
    const Coarsening *c;
    const Values *values;
    uint64_t index;
} Evaluation;

static const Value unknown = {false, 0};

static Value known(uint64_t bits, unsigned width)
{
    return (Value){true, width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits};
}

static int64_t sign_extended(uint64_t bits, unsigned width)
{
    return width < 64 ? (int64_t)(bits << (64 - width)) >> (64 - width) : (int64_t)bits;
}

static Value evaluate(const Evaluation *e, RegId reg, unsigned depth);

static Value evaluate_operand(const Evaluation *e, const Inst *inst, unsigned index, unsigned width, unsigned depth)
{
    if (index >= inst->operand_count)
        return unknown;
    const Operand *operand = &inst->operands[index];
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT)
        return known(operand->constant->bits, width);
    if (operand->kind != OPERAND_REG || operand->constant || operand->negated || operand->selector)
        return unknown;
    Value value = evaluate(e, inst->refs[operand->ref].reg, depth + 1);
    if (value.known && operand->inverted)
        value.bits ^= 1;
    return value;
}

typedef enum Comparison { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE } Comparison;

static bool find_comparison(const Inst *inst, Comparison *comparison)
{
    static const struct { ModId mod; Comparison comparison; } names[] = {
        {MOD_EQ, COMPARE_EQ}, {MOD_NE, COMPARE_NE}, {MOD_LT, COMPARE_LT}, {MOD_LO, COMPARE_LT}, {MOD_LE, COMPARE_LE},
        {MOD_LS, COMPARE_LE}, {MOD_GT, COMPARE_GT}, {MOD_HI, COMPARE_GT}, {MOD_GE, COMPARE_GE}, {MOD_HS, COMPARE_GE},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (inst_has(inst, names[i].mod)) {
            *comparison = names[i].comparison;
            return true;
        }
    return false;
}

/* "setp.CMP.TYPE p, a, b" of integers, without a second result or a third predicate. */
static Value evaluate_comparison(const Evaluation *e, const Inst *inst, unsigned depth)
{
    Type type = inst->signature->types[0];
    unsigned width = type_bits(type);
    Comparison comparison;
    if (type_class(type) == CLASS_FLOAT || inst->operand_count != 3 || inst->operands[0].kind != OPERAND_REG ||
        !find_comparison(inst, &comparison))
        return unknown;
    Value a = evaluate_operand(e, inst, 1, width, depth), b = evaluate_operand(e, inst, 2, width, depth);
    if (!a.known || !b.known)
        return unknown;
    bool is_signed = type_class(type) == CLASS_SIGNED && !inst_has(inst, MOD_LO) && !inst_has(inst, MOD_LS) &&
                     !inst_has(inst, MOD_HI) && !inst_has(inst, MOD_HS);
    int order = is_signed ? (sign_extended(a.bits, width) > sign_extended(b.bits, width)) -
                                (sign_extended(a.bits, width) < sign_extended(b.bits, width))
                          : (a.bits > b.bits) - (a.bits < b.bits);
    switch (comparison) {
    case COMPARE_EQ: return known(order == 0, 1);
    case COMPARE_NE: return known(order != 0, 1);
    case COMPARE_LT: return known(order < 0, 1);
    case COMPARE_LE: return known(order <= 0, 1);
    case COMPARE_GT: return known(order > 0, 1);
    case COMPARE_GE: return known(order >= 0, 1);
    }
    return unknown;
}

/* A bit that is known to decide: false for "and", true for "or". */
static Value evaluate_logic(const Evaluation *e, const Inst *inst, unsigned width, unsigned depth)
{
    Value a = evaluate_operand(e, inst, 1, width, depth), b = evaluate_operand(e, inst, 2, width, depth);
    Opcode op = inst_op(inst);
    if (a.known && b.known)
        return known(op == OP_AND ? a.bits & b.bits : op == OP_OR ? a.bits | b.bits : a.bits ^ b.bits, width);
    uint64_t deciding = op == OP_AND ? 0 : known(UINT64_MAX, width).bits;
    if (op != OP_XOR && ((a.known && a.bits == deciding) || (b.known && b.bits == deciding)))
        return known(deciding, width);
    return unknown;
}

static Value evaluate_shift(const Evaluation *e, const Inst *inst, Type type, unsigned width, unsigned depth)
{
    Value a = evaluate_operand(e, inst, 1, width, depth), b = evaluate_operand(e, inst, 2, 32, depth);
    if (!a.known || !b.known || b.bits >= width)
        return unknown;
    if (inst_op(inst) == OP_SHL)
        return known(a.bits << b.bits, width);
    if (type_class(type) == CLASS_SIGNED)
        return known((uint64_t)(sign_extended(a.bits, width) >> b.bits), width);
    return known(a.bits >> b.bits, width);
}

/* A widening or narrowing of integers. */
static Value evaluate_conversion(const Evaluation *e, const Inst *inst, unsigned depth)
{
    Type to = inst->signature->types[0], from = inst->signature->types[1];
    if (type_class(to) == CLASS_FLOAT || type_class(from) == CLASS_FLOAT || inst_has(inst, MOD_SAT))
        return unknown;
    Value value = evaluate_operand(e, inst, 1, type_bits(from), depth);
    if (!value.known)
        return unknown;
    bool is_signed = type_class(from) == CLASS_SIGNED;
    return known(is_signed ? (uint64_t)sign_extended(value.bits, type_bits(from)) : value.bits, type_bits(to));
}

static Value evaluate_inst(const Evaluation *e, const Inst *inst, unsigned depth)
{
    const unsigned plain = EFFECT_PURE;
    if (inst_is_opaque(inst) || inst->effects != plain || inst->guard != REF_NONE || inst->tied_count ||
        !inst->signature->type_count || !inst->operand_count)
        return unknown;
    Type type = inst->signature->types[0];
    unsigned width = type == TYPE_PRED ? 1 : type_bits(type);
    if (type_class(type) == CLASS_FLOAT || !width || width > 64 || inst->operands[0].kind != OPERAND_REG)
        return unknown;
    switch (inst_op(inst)) {
    case OP_SETP: return evaluate_comparison(e, inst, depth);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return evaluate_logic(e, inst, width, depth);
    case OP_SHL:
    case OP_SHR: return evaluate_shift(e, inst, type, width, depth);
    case OP_CVT: return evaluate_conversion(e, inst, depth);
    case OP_MOV: return evaluate_operand(e, inst, 1, width, depth);
    case OP_NOT: {
        Value a = evaluate_operand(e, inst, 1, width, depth);
        return a.known ? known(~a.bits, width) : unknown;
    }
    case OP_ADD:
    case OP_SUB: {
        Value a = evaluate_operand(e, inst, 1, width, depth), b = evaluate_operand(e, inst, 2, width, depth);
        if (!a.known || !b.known || inst_has(inst, MOD_SAT))
            return unknown;
        return known(inst_op(inst) == OP_ADD ? a.bits + b.bits : a.bits - b.bits, width);
    }
    default: return unknown;
    }
}

static Value evaluate(const Evaluation *e, RegId reg, unsigned depth)
{
    const Inst *inst = value_inst(e->values, reg);
    if (!inst || depth > MOST_DEPTH)
        return unknown;
    if (inst == e->c->index_read)
        return known(e->index, 32);
    return evaluate_inst(e, inst, depth);
}

/* The least index of a replica other than the first. */
static unsigned least_index(const Coarsening *c)
{
    switch (c->stride.kind) {
    case STRIDE_UNIT: return 1;
    case STRIDE_NUMBER: return c->stride.number;
    case STRIDE_BLOCK: break;
    }
    return c->dimension == 0 && c->needs_whole_warps ? 32 : 1; /* at least so many threads are left along x */
}

/* Whether the branch keeps all replicas but the first from going on to 'to', which it may take to. */
static bool keeps_others_away(const Coarsening *c, const Block *branch, const Block *to)
{
    const Inst *last = branch->last;
    if (!block_chooses(branch) || last->target_count != 1 || last->guard == REF_NONE ||
        last->targets[0] == branch->fall)
        return false;
    bool taken = last->targets[0] == to;
    if (!taken && branch->fall != to)
        return false;
    for (unsigned p = 0; p < to->pred_count; p++)
        if (to->preds[p] != branch && !dominance_has(c->dominance, to, to->preds[p]))
            return false; /* there is another way in */
    RegId condition = last->refs[last->guard].reg;
    if (!variance_reg(c->variance, condition))
        return false;
    Evaluation e = {.c = c, .values = analyses_values(c->analyses)};
    for (e.index = least_index(c); e.index < MOST_INDEX; e.index++) {
        Value value = evaluate(&e, condition, 0);
        if (!value.known || (value.bits != last->guard_inverted) == taken)
            return false;
    }
    return true;
}

bool coarsening_is_exclusive(const Coarsening *c, const Block *block)
{
    require(c->level == LEVEL_THREAD);
    for (const Block *at = block, *over; (over = dominance_parent(c->dominance, at)); at = over)
        if (keeps_others_away(c, over, at))
            return true;
    return false;
}
