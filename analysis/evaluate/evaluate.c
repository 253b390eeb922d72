/* The list of rows that can be evaluated, and the decoding of instructions by it. */
#include "analysis/evaluate/internal.h"

#include <string.h>

/* Sources that are not of the row's type, as bits: the first source is 1. */
typedef struct Row {
    uint8_t op; /* ComputeOp */
    uint8_t source_count;
    uint8_t amounts;    /* integers of 32 bits, whatever the type: positions, shifts */
    uint8_t predicates;
} Row;

static const Row rows[FORM_COUNT] = {
    [FORM_MOV_REG] = {COMPUTE_COPY, 1, 0, 0},
    [FORM_MOV_PRED] = {COMPUTE_COPY, 1, 0, 1},
    [FORM_CVT_I2I] = {COMPUTE_CONVERT, 1, 0, 0},
    [FORM_CVT_I2I_SAT] = {COMPUTE_CONVERT, 1, 0, 0},

    [FORM_ADD_INT] = {COMPUTE_ADD, 2, 0, 0},
    [FORM_ADD_SAT] = {COMPUTE_ADD, 2, 0, 0},
    [FORM_ADD_CC] = {COMPUTE_ADD, 2, 0, 0},
    [FORM_ADD_X2] = {COMPUTE_HALVES_ADD, 2, 0, 0},
    [FORM_SUB_INT] = {COMPUTE_SUB, 2, 0, 0},
    [FORM_SUB_SAT] = {COMPUTE_SUB, 2, 0, 0},
    [FORM_SUB_CC] = {COMPUTE_SUB, 2, 0, 0},
    [FORM_MUL_LOHI] = {COMPUTE_MUL, 2, 0, 0},
    [FORM_MUL_WIDE] = {COMPUTE_MUL, 2, 0, 0},
    [FORM_MAD_LOHI] = {COMPUTE_MAD, 3, 0, 0},
    [FORM_MAD_HI_SAT] = {COMPUTE_MAD, 3, 0, 0},
    [FORM_MAD_WIDE] = {COMPUTE_MAD, 3, 0, 0},
    [FORM_MAD_CC] = {COMPUTE_MAD, 3, 0, 0},
    [FORM_MUL24] = {COMPUTE_MUL_24, 2, 0, 0},
    [FORM_MAD24] = {COMPUTE_MAD_24, 3, 0, 0},
    [FORM_SAD] = {COMPUTE_DISTANCE, 3, 0, 0},
    [FORM_DIV_INT] = {COMPUTE_DIV, 2, 0, 0},
    [FORM_REM_INT] = {COMPUTE_REM, 2, 0, 0},
    [FORM_ABS_INT] = {COMPUTE_ABS, 1, 0, 0},
    [FORM_NEG_INT] = {COMPUTE_NEG, 1, 0, 0},
    [FORM_MIN_INT] = {COMPUTE_MIN, 2, 0, 0},
    [FORM_MAX_INT] = {COMPUTE_MAX, 2, 0, 0},
    [FORM_MIN_X2] = {COMPUTE_HALVES_MIN, 2, 0, 0},
    [FORM_MAX_X2] = {COMPUTE_HALVES_MAX, 2, 0, 0},
    [FORM_MIN_RELU] = {COMPUTE_MIN, 2, 0, 0},
    [FORM_MAX_RELU] = {COMPUTE_MAX, 2, 0, 0},

    [FORM_POPC] = {COMPUTE_COUNT_ONES, 1, 0, 0},
    [FORM_CLZ] = {COMPUTE_COUNT_ZEROS, 1, 0, 0},
    [FORM_BFIND] = {COMPUTE_FIND, 1, 0, 0},
    [FORM_BREV] = {COMPUTE_REVERSE, 1, 0, 0},
    [FORM_BFE] = {COMPUTE_EXTRACT, 3, 6, 0},
    [FORM_BFI] = {COMPUTE_INSERT, 4, 12, 0},
    [FORM_SZEXT] = {COMPUTE_EXTEND, 2, 2, 0},
    [FORM_BMSK] = {COMPUTE_MASK, 2, 3, 0},
    [FORM_PRMT] = {COMPUTE_PERMUTE, 3, 0, 0},

    [FORM_AND] = {COMPUTE_AND, 2, 0, 0},
    [FORM_AND_PRED] = {COMPUTE_AND, 2, 0, 3},
    [FORM_OR] = {COMPUTE_OR, 2, 0, 0},
    [FORM_OR_PRED] = {COMPUTE_OR, 2, 0, 3},
    [FORM_XOR] = {COMPUTE_XOR, 2, 0, 0},
    [FORM_XOR_PRED] = {COMPUTE_XOR, 2, 0, 3},
    [FORM_NOT] = {COMPUTE_NOT, 1, 0, 0},
    [FORM_NOT_PRED] = {COMPUTE_NOT, 1, 0, 1},
    [FORM_CNOT] = {COMPUTE_IS_ZERO, 1, 0, 0},
    [FORM_LOP3] = {COMPUTE_TABLE, 3, 0, 0},
    [FORM_SHL] = {COMPUTE_SHIFT_LEFT, 2, 2, 0},
    [FORM_SHR_U] = {COMPUTE_SHIFT_RIGHT, 2, 2, 0},
    [FORM_SHR_S] = {COMPUTE_SHIFT_RIGHT, 2, 2, 0},
    [FORM_SHF] = {COMPUTE_FUNNEL_LEFT, 3, 4, 0},

    [FORM_SELP] = {COMPUTE_SELECT, 3, 0, 4},
    [FORM_SLCT_S32] = {COMPUTE_SELECT_SIGN, 3, 4, 0},
    [FORM_SETP_INT] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SETP_UINT] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SETP_BITS] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SETP_INT_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
    [FORM_SETP_UINT_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
    [FORM_SETP_BITS_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
    [FORM_SET_INT] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SET_UINT] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SET_BITS] = {COMPUTE_COMPARE, 2, 0, 0},
    [FORM_SET_INT_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
    [FORM_SET_UINT_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
    [FORM_SET_BITS_BOOL] = {COMPUTE_COMPARE, 3, 0, 4},
};

Relation relation_negated(Relation relation)
{
    static const Relation negated[] = {RELATION_NONE,          RELATION_NOT_EQUAL,  RELATION_EQUAL,
                                       RELATION_GREATER_EQUAL, RELATION_GREATER,    RELATION_LESS_EQUAL,
                                       RELATION_LESS};
    return negated[relation];
}

Relation relation_swapped(Relation relation)
{
    static const Relation swapped[] = {RELATION_NONE,          RELATION_EQUAL,      RELATION_NOT_EQUAL,
                                       RELATION_GREATER,       RELATION_GREATER_EQUAL, RELATION_LESS,
                                       RELATION_LESS_EQUAL};
    return swapped[relation];
}

/* .lo, .ls, .hi and .hs compare unsigned integers, and only these types have them. */
static Relation relation_of(const Inst *inst)
{
    static const struct {
        ModId mod;
        Relation relation;
    } spellings[] = {
        {MOD_EQ, RELATION_EQUAL},         {MOD_NE, RELATION_NOT_EQUAL},     {MOD_LT, RELATION_LESS},
        {MOD_LE, RELATION_LESS_EQUAL},    {MOD_GT, RELATION_GREATER},       {MOD_GE, RELATION_GREATER_EQUAL},
        {MOD_LO, RELATION_LESS},          {MOD_LS, RELATION_LESS_EQUAL},    {MOD_HI, RELATION_GREATER},
        {MOD_HS, RELATION_GREATER_EQUAL},
    };
    for (size_t i = 0; i < COUNT_OF(spellings); i++)
        if (inst_has(inst, spellings[i].mod))
            return spellings[i].relation;
    return RELATION_NONE;
}

static Combination combination_of(const Inst *inst)
{
    return inst_has(inst, MOD_AND)   ? COMBINE_AND
           : inst_has(inst, MOD_OR)  ? COMBINE_OR
           : inst_has(inst, MOD_XOR) ? COMBINE_XOR
                                     : COMBINE_NOTHING;
}

static unsigned reg_bits(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    return r->vector <= 1 && type_bits(r->type) <= 64 ? type_bits(r->type) : 0;
}

/* False if the operand is read in a way that is not on the list. */
static bool source_of(const Body *body, const Inst *inst, const Operand *operand, ComputeSource *source)
{
    source->operand = operand;
    source->reg = REG_NONE;
    source->is_inverted = operand->inverted;
    source->reg_bits = source->bits;
    if (operand->negated || operand->selector || (operand->inverted && source->bits != 1))
        return false;
    if (operand->kind == OPERAND_CONSTANT) {
        source->is_constant = operand->constant->kind == CONSTANT_INT && source->bits > 1;
        source->constant = operand->constant->bits & bits_mask(source->bits);
    } else if (operand->kind == OPERAND_REG && !operand->constant) {
        source->reg = operand_reg(inst, operand);
        source->reg_bits = (uint8_t)reg_bits(body, source->reg);
        return source->reg_bits >= source->bits;
    }
    return true;
}

/* The type of the integers that are operated on: the second one of comparisons and conversions. */
static Type operated_type(const Computation *c, const Signature *signature)
{
    bool second = c->op == COMPUTE_CONVERT || (c->op == COMPUTE_COMPARE && signature->type_count == 2);
    return signature->types[second];
}

static unsigned result_bits(const Computation *c, const Inst *inst, Type type)
{
    switch (c->op) {
    case COMPUTE_CONVERT: return type_bits(inst->signature->types[0]);
    case COMPUTE_COMPARE: return inst->signature->type_count == 2 ? type_bits(inst->signature->types[0]) : 1;
    case COMPUTE_COUNT_ONES:
    case COMPUTE_COUNT_ZEROS:
    case COMPUTE_FIND: return 32;
    case COMPUTE_MUL:
    case COMPUTE_MAD: return type_bits(type) << inst_has(inst, MOD_WIDE);
    default: return type == TYPE_PRED ? 1 : type_bits(type);
    }
}

/* Reads the choices that the modifiers make within a row. */
static bool modifiers_read(const Inst *inst, Computation *c)
{
    bool is_product = c->op == COMPUTE_MUL || c->op == COMPUTE_MAD || c->op == COMPUTE_MUL_24 ||
                      c->op == COMPUTE_MAD_24;
    if (is_product && inst_has(inst, MOD_HI)) {
        if (c->op == COMPUTE_MUL_24 || c->op == COMPUTE_MAD_24)
            return false;
        c->op = c->op == COMPUTE_MUL ? COMPUTE_MUL_HIGH : COMPUTE_MAD_HIGH;
    }
    if (c->op == COMPUTE_COMPARE) {
        c->relation = relation_of(inst);
        c->combination = combination_of(inst);
    }
    if (c->op == COMPUTE_FUNNEL_LEFT && inst_has(inst, MOD_R))
        c->op = COMPUTE_FUNNEL_RIGHT;
    c->saturates = inst_has(inst, MOD_SAT);
    c->clips = inst_has(inst, MOD_RELU);
    c->clamps = inst_has(inst, MOD_CLAMP);
    c->shift_amount = inst_has(inst, MOD_SHIFTAMT);
    return true;
}

static bool is_halves(Type type)
{
    return type == TYPE_U16X2 || type == TYPE_S16X2;
}

/* One row has .relu for packed integers and for plain ones. */
static ComputeOp halves_op(ComputeOp op)
{
    return op == COMPUTE_MIN ? COMPUTE_HALVES_MIN : op == COMPUTE_MAX ? COMPUTE_HALVES_MAX : op;
}

static bool table_read(const Inst *inst, Computation *c)
{
    const Operand *table = inst->operand_count == 5 ? &inst->operands[4] : NULL;
    if (!table || table->kind != OPERAND_CONSTANT || table->constant->kind != CONSTANT_INT)
        return false;
    c->table = (uint8_t)table->constant->bits;
    return true;
}

/* True for integers and predicates, and for floating-point numbers that are only copied or selected, which treats them
 * as bits. */
static bool type_is_known(const Computation *c, Type type)
{
    TypeClass class = type_class(type);
    return class_is_integer(class) || class == CLASS_PRED ||
           (class == CLASS_FLOAT && (c->op == COMPUTE_COPY || c->op == COMPUTE_SELECT || c->op == COMPUTE_SELECT_SIGN));
}

static bool types_read(const Body *body, const Inst *inst, Computation *c)
{
    const Signature *signature = inst->signature;
    Type type = operated_type(c, signature), to = signature->types[0];
    if (!signature->type_count || !type_is_known(c, type) ||
        (c->op == COMPUTE_COMPARE && type_class(to) == CLASS_FLOAT))
        return false;
    if (is_halves(type))
        c->op = halves_op(c->op);
    c->is_signed = type_class(type) == CLASS_SIGNED;
    c->extends_sign = type_class(to) == CLASS_SIGNED;
    c->bits = (uint8_t)result_bits(c, inst, type);
    c->result = inst_destination(inst);
    c->reg_bits = c->result == REG_NONE ? 0 : (uint8_t)reg_bits(body, c->result);
    return c->reg_bits >= c->bits && c->bits && c->bits <= 64;
}

static bool sources_read(const Body *body, const Inst *inst, const Row *row, Computation *c)
{
    Type type = operated_type(c, inst->signature);
    unsigned extra = c->op == COMPUTE_TABLE;
    c->source_count = row->source_count;
    if (inst->operand_count != 1u + row->source_count + extra || (extra && !table_read(inst, c)))
        return false;
    for (unsigned i = 0; i < row->source_count; i++) {
        ComputeSource *source = &c->sources[i];
        bool is_predicate = row->predicates >> i & 1, is_amount = row->amounts >> i & 1;
        bool is_addend = c->op == COMPUTE_MAD && i == 2;
        source->is_signed = is_amount ? c->op == COMPUTE_SELECT_SIGN : c->is_signed;
        source->bits = is_predicate ? 1 : is_amount ? 32 : is_addend ? c->bits : (uint8_t)type_bits(type);
        if (!source_of(body, inst, &inst->operands[1 + i], source))
            return false;
        if (type_class(type) == CLASS_FLOAT && !is_amount)
            source->is_constant = false;
    }
    return true;
}

bool computation_if_executed(const Body *body, const Inst *inst, Computation *out)
{
    const Row *row = inst_is_opaque(inst) ? NULL : &rows[form_id(inst->form)];
    *out = (Computation){.op = row ? (ComputeOp)row->op : COMPUTE_NOTHING, .result = REG_NONE};
    return out->op != COMPUTE_NOTHING && modifiers_read(inst, out) && types_read(body, inst, out) &&
           sources_read(body, inst, row, out);
}

bool computation_of(const Body *body, const Inst *inst, Computation *out)
{
    return inst_is_plain(inst) && computation_if_executed(body, inst, out);
}

static bool source_matches(const ComputeSource *source, char kind)
{
    switch (kind) {
    case 'r': return source->reg != REG_NONE && !source->is_inverted;
    case 'i': return source->is_constant;
    case 'x': return true;
    default: bug("no source letter %c", kind);
    }
}

bool computation_matches(const Body *body, const Inst *inst, ComputeOp op, unsigned bits, const char *sources,
                         Computation *out)
{
    if (!inst || inst->effects != EFFECT_PURE || !computation_of(body, inst, out) || out->op != op || out->bits != bits)
        return false;
    require(strlen(sources) == out->source_count);
    for (unsigned i = 0; i < out->source_count; i++)
        if (!source_matches(&out->sources[i], sources[i]))
            return false;
    return true;
}

RegId computation_copied(const Body *body, const Inst *inst)
{
    Computation c;
    if (!computation_of(body, inst, &c) || c.sources[0].is_inverted)
        return REG_NONE;
    const bool gives_either = c.op == COMPUTE_SELECT || c.op == COMPUTE_AND || c.op == COMPUTE_OR;
    const bool gives_one = gives_either && c.sources[0].reg == c.sources[1].reg && !c.sources[1].is_inverted;
    if (c.op != COMPUTE_COPY && !gives_one)
        return REG_NONE;
    return c.bits == c.reg_bits && c.bits == c.sources[0].reg_bits ? c.sources[0].reg : REG_NONE;
}

void computation_take_division(Computation *c)
{
    ComputeSource *by = &c->sources[1];
    const uint32_t number = (uint32_t)by->constant;
    if (c->bits != 32 || c->source_count != 2 || !by->is_constant)
        return;
    if (c->op == COMPUTE_SHIFT_RIGHT && number < 31) {
        c->op = COMPUTE_DIV;
        by->constant = UINT64_C(1) << number;
    } else if (c->op == COMPUTE_AND && number && !(number & (number + 1)) && number < UINT32_MAX / 2) {
        c->op = COMPUTE_REM;
        by->constant = (uint64_t)number + 1;
    }
}

bool computation_is_comparison(const Computation *c, unsigned bits)
{
    return c->op == COMPUTE_COMPARE && c->bits == 1 && c->combination == COMBINE_NOTHING && c->sources[0].bits == bits;
}
