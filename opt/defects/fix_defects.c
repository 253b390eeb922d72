/* The fix_defects pass: code that the assembler is known to get wrong (defects.def), found and, if asked for, written
 * in another way. With -z as ~z + 1:
 *
 *     max(max(x, -z), y)      becomes    max(max(x, ~z + 1), y)         also min; 32 bits
 *     (x << 8) - (x >> 56)    becomes    (x << 8) + ~(x >> 56) + 1      any amounts with the sum 64, either order
 *     (x << 8) + (x >> 56)    becomes    (x << 8) - ~(x >> 56) - 1      if the right shift is signed
 *     (int)(short)-h          becomes    (int)(short)(~h + 1)           and other uses of -h with its sign
 *     (int)(short)abs(h)      becomes    (int)(short)max(h, ~h + 1)
 *     slct(a, b, INT_MIN)     becomes    slct(a, b, -1)                 also constants that are NaNs as floats
 *     bfe(a, 40, 5)           becomes    bfe(a, 31, 5)                  signed, any position from 32 to 255
 *     prmt(a, b, 9) & 255     becomes    prmt(prmt(a, b, 9), 0, 0x4440) & 255    also other ways to keep the low bytes
 *     lop3(a, a, b, 0xc0) & b becomes    lop3(a, b, 0, 0xf0) & b    any table, any two sources the same
 *     sub.cc(mulhi(x, y), z)  becomes    add.cc(-1, 1), addc.cc(mulhi(x, y), ~z)      32 bits
 *     (float)(unsigned)bfe(x, 8, 8) becomes (float)(unsigned)(x << 16 >> 24)          signed; any byte or half of x
 *
 * ptxas, which sees through many spellings of -z, does not see through this one. Guarded instructions are left alone,
 * as ptxas leaves them, unless they use a narrow negative, select, extract or convert. */
#include "opt/passes.h"

enum { CONSTANT_STEPS = 4 }; /* instructions that a constant is followed through */

typedef struct Finding {
    PassContext *context;
    const Values *values;
    bool changed;
} Finding;

/* The instruction that computes the value, which the register may have a copy of. */
static Inst *origin(const Finding *finding, RegId reg)
{
    return value_inst(finding->values, value_copied_from(finding->values, reg));
}

/* The value of which the register is the negative, however that is written; REG_NONE: it is none. */
static RegId negated(const Finding *finding, RegId reg, unsigned bits)
{
    const Inst *inst = origin(finding, reg);
    const Body *body = finding->values->body;
    const uint64_t ones = bits == 64 ? UINT64_MAX : UINT32_MAX;
    Computation c;
    if (computation_matches(body, inst, COMPUTE_NEG, bits, "r", &c) && !c.saturates)
        return c.sources[0].reg;
    if (computation_matches(body, inst, COMPUTE_SUB, bits, "ir", &c) && !c.sources[0].constant)
        return c.sources[1].reg;
    if (computation_matches(body, inst, COMPUTE_MUL, bits, "ri", &c) && (c.sources[1].constant & ones) == ones)
        return c.sources[0].reg;
    return REG_NONE;
}

/* Whether the same was noted of another operand of the instruction, or of another of its replicas. */
static bool is_noted(const PassContext *context, const DefectNote *note)
{
    for (size_t i = 0; i < context->defects.items.count; i++) {
        const DefectNote *other = &context->defects.items.data[i];
        if (other->id == note->id && other->is_fixed == note->is_fixed && note->span.end &&
            other->span.begin == note->span.begin)
            return true;
    }
    return false;
}

/* Notes the instruction; true if it is to be rewritten. */
static bool note(Finding *finding, DefectId id, const Inst *inst)
{
    PassContext *context = finding->context;
    const bool fixes = context->defect_request->fixes;
    const DefectNote found = {id, inst->span, fixes};
    if (!is_noted(context, &found))
        VEC_PUSH(context->arena, context->defects.items, found);
    finding->changed |= fixes;
    return fixes;
}

/* A new register with ~value, computed before the instruction. */
static RegId put_complement(Finding *finding, Inst *before, RegId value, const char *spelling)
{
    Body *body = finding->context->body;
    const RegId reg = body_clone_reg(body, value);
    inst_insert_before(before, inst_build(body, spelling, "dr", reg, value));
    return reg;
}

/* The same with ~value + 1. */
static RegId put_negative(Finding *finding, Inst *before, RegId value, const char *complements, const char *adds)
{
    Body *body = finding->context->body;
    const RegId complement = put_complement(finding, before, value, complements), reg = body_clone_reg(body, value);
    inst_insert_before(before, inst_build(body, adds, "dri", reg, complement, (int64_t)1));
    return reg;
}

static bool is_bound(const Body *body, const Inst *inst, ComputeOp op, Computation *c)
{
    return computation_matches(body, inst, op, 32, "xx", c) && c->is_signed && !c->clips;
}

/* A max (min) with a negated second operand, whose result another max (min) reads. */
static void find_negated_bound(Finding *finding, Inst *inst, ComputeOp op)
{
    Body *body = finding->context->body;
    Computation inner, outer;
    if (!is_bound(body, inst, op, &inner) || inner.sources[1].reg == REG_NONE)
        return;
    const RegId value = negated(finding, inner.sources[1].reg, 32);
    bool is_inner = false;
    const ValueUse *uses = value_uses(finding->values, inner.result);
    for (uint32_t i = 0; i < value_use_count(finding->values, inner.result); i++)
        is_inner |= uses[i].inst && is_bound(body, uses[i].inst, op, &outer);
    if (value == REG_NONE || !is_inner || !note(finding, DEFECT_NEGATED_BOUND, inst))
        return;
    const RegId negative = put_negative(finding, inst, value, "not.b32", "add.s32");
    inst_replace_operand(body, inst, (unsigned)(inner.sources[1].operand - inst->operands), negative);
}

/* A shift by a constant of a 64-bit value; REG_NONE: it is none. */
typedef struct Shift {
    RegId value;
    uint64_t amount;
    bool is_left, is_signed;
} Shift;

static Shift shift_of(const Finding *finding, RegId reg)
{
    const Inst *inst = origin(finding, reg);
    Computation c;
    Shift shift = {.value = REG_NONE};
    shift.is_left = computation_matches(finding->values->body, inst, COMPUTE_SHIFT_LEFT, 64, "ri", &c);
    if (!shift.is_left && !computation_matches(finding->values->body, inst, COMPUTE_SHIFT_RIGHT, 64, "ri", &c))
        return shift;
    shift.value = value_copied_from(finding->values, c.sources[0].reg);
    shift.amount = c.sources[1].constant;
    shift.is_signed = !shift.is_left && c.is_signed;
    return shift;
}

/* True if the two are shifts of one value in opposite directions, by 64 together. */
static bool is_rotation(const Shift *a, const Shift *b)
{
    return a->value != REG_NONE && a->value == b->value && a->is_left != b->is_left && a->amount && b->amount &&
           a->amount + b->amount == 64;
}

/* Computes from - what as from + ~what + 1, or from + what as from - ~what - 1, in place of the instruction. */
static void rewrite_sum(Finding *finding, Inst *inst, RegId result, RegId from, RegId what, bool subtracts)
{
    Body *body = finding->context->body;
    const char *spelling = subtracts ? "add.s64" : "sub.s64";
    const RegId complement = put_complement(finding, inst, what, "not.b64"), partial = body_clone_reg(body, from);
    inst_insert_before(inst, inst_build(body, spelling, "drr", partial, from, complement));
    inst_insert_before(inst, inst_build(body, spelling, "dri", result, partial, (int64_t)1));
    inst_remove(inst);
}

static void find_rotation(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    Computation c;
    const bool adds = computation_matches(body, inst, COMPUTE_ADD, 64, "rr", &c);
    if (!adds && !computation_matches(body, inst, COMPUTE_SUB, 64, "rr", &c))
        return;
    for (unsigned i = 0; i < 2; i++) {
        const RegId from = c.sources[!i].reg, what = c.sources[i].reg;
        const RegId subtracted = adds ? negated(finding, what, 64) : i ? what : REG_NONE;
        const bool subtracts = subtracted != REG_NONE;
        const RegId term = subtracts ? subtracted : what;
        const Shift one = shift_of(finding, from), other = shift_of(finding, term);
        /* An unsigned sum is a rotation. */
        const bool is_wrong = subtracts || (adds && (one.is_signed || other.is_signed));
        if (!is_wrong || !is_rotation(&one, &other))
            continue;
        if (note(finding, DEFECT_SHIFTS_AS_ROTATION, inst))
            rewrite_sum(finding, inst, c.result, from, term, subtracts);
        return;
    }
}

/* True if the sign of a source of 16 bits matters, and not only to compare it or to write a float. */
static bool reads_sign(const Computation *c, unsigned source)
{
    const ComputeSource *read = &c->sources[source];
    if (read->reg == REG_NONE || read->bits != 16)
        return false;
    switch (c->op) {
    case COMPUTE_CONVERT: return read->is_signed && (c->bits > 16 || c->saturates);
    case COMPUTE_MUL:
    case COMPUTE_MAD: return read->is_signed && c->bits > 16;
    case COMPUTE_MUL_HIGH:
    case COMPUTE_MAD_HIGH:
    case COMPUTE_DIV:
    case COMPUTE_REM: return c->is_signed && source < 2;
    case COMPUTE_SHIFT_RIGHT: return c->is_signed && source == 0;
    default: return false;
    }
}

/* The value whose negative, or, if *is_absolute, whose absolute value the register has in 16 bits; REG_NONE: none. */
static RegId narrow_negated(const Finding *finding, RegId reg, bool *is_absolute)
{
    const Inst *inst = origin(finding, reg);
    const Body *body = finding->values->body;
    Computation c;
    *is_absolute = computation_matches(body, inst, COMPUTE_ABS, 16, "r", &c);
    if (*is_absolute || computation_matches(body, inst, COMPUTE_NEG, 16, "r", &c))
        return c.sources[0].reg;
    if (computation_matches(body, inst, COMPUTE_SUB, 16, "ir", &c) && !c.sources[0].constant)
        return c.sources[1].reg;
    return REG_NONE;
}

static void find_narrow_negation(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    Computation c;
    if (!computation_if_executed(body, inst, &c))
        return;
    for (unsigned i = 0; i < c.source_count; i++) {
        bool is_absolute;
        const RegId value = reads_sign(&c, i) ? narrow_negated(finding, c.sources[i].reg, &is_absolute) : REG_NONE;
        if (value == REG_NONE || !note(finding, DEFECT_NARROW_NEGATION, inst))
            continue;
        RegId made = put_negative(finding, inst, value, "not.b16", "add.s16");
        if (is_absolute) {
            const RegId negative = made;
            made = body_clone_reg(body, value);
            inst_insert_before(inst, inst_build(body, "max.s16", "drr", made, value, negative));
        }
        inst_replace_operand(body, inst, (unsigned)(c.sources[i].operand - inst->operands), made);
    }
}

/* The constant that the register holds; false if a few steps do not tell. */
static bool has_constant(const Finding *finding, RegId reg, unsigned steps, uint64_t *bits)
{
    const Inst *inst = steps ? value_inst(finding->values, reg) : NULL;
    uint64_t sources[COMPUTE_SOURCES] = {0};
    Computation c;
    if (!inst || !computation_of(finding->values->body, inst, &c))
        return false;
    for (unsigned i = 0; i < c.source_count; i++)
        if (!c.sources[i].is_constant && (c.sources[i].reg == REG_NONE ||
                                          !has_constant(finding, c.sources[i].reg, steps - 1, &sources[i])))
            return false;
    return computation_value(&c, sources, bits);
}

/* The same of an operand. */
static bool is_constant_source(const Finding *finding, const ComputeSource *source, uint64_t *bits)
{
    *bits = source->constant;
    return source->is_constant ||
           (source->reg != REG_NONE && has_constant(finding, source->reg, CONSTANT_STEPS, bits));
}

/* Puts a constant in place of an operand. */
static void replace_with_constant(Finding *finding, Inst *inst, const ComputeSource *source, RegId like, int64_t value)
{
    Body *body = finding->context->body;
    const RegId reg = body_clone_reg(body, like);
    inst_insert_before(inst, inst_build(body, "mov.b32", "di", reg, value));
    inst_replace_operand(body, inst, (unsigned)(source->operand - inst->operands), reg);
}

/* True if it is at least 0 as an integer and not as an f32, or the other way around: a positive NaN, and -0. */
static bool has_two_signs(uint32_t bits)
{
    const uint32_t infinity = 0x7f800000;
    return (bits > infinity && bits <= INT32_MAX) || bits == UINT32_C(1) << 31;
}

/* A selection by the sign of a constant, which ptxas reads as an f32; only of signed integers. 0 and -1 have the same
 * sign as both. */
static void find_selection(Finding *finding, Inst *inst)
{
    Computation c;
    uint64_t bits;
    if (!computation_if_executed(finding->context->body, inst, &c) || c.op != COMPUTE_SELECT_SIGN || c.bits != 32 ||
        !c.is_signed || !is_constant_source(finding, &c.sources[2], &bits))
        return;
    if (has_two_signs((uint32_t)bits) && note(finding, DEFECT_CONSTANT_SELECTOR, inst))
        replace_with_constant(finding, inst, &c.sources[2], c.result, (int32_t)bits < 0 ? -1 : 0);
}

/* A signed field of 32 bits whose position and length are constants; their lowest 8 bits count (PTX ISA, bfe). */
typedef struct Field {
    Computation computation;
    unsigned position, length;
} Field;

static bool is_signed_field(const Finding *finding, const Inst *inst, Field *field)
{
    Computation *c = &field->computation;
    uint64_t position, length;
    if (!computation_if_executed(finding->values->body, inst, c) || c->op != COMPUTE_EXTRACT || c->bits != 32 ||
        !c->is_signed || !is_constant_source(finding, &c->sources[1], &position) ||
        !is_constant_source(finding, &c->sources[2], &length))
        return false;
    field->position = position & UINT8_MAX;
    field->length = length & UINT8_MAX;
    return true;
}

/* A signed field that begins after the last bit: all of its bits are copies of the sign, which is the field at position
 * 31, too. An empty field is 0, and ptxas makes it so. */
static void find_field(Finding *finding, Inst *inst)
{
    Field field;
    if (is_signed_field(finding, inst, &field) && field.position > 31 && field.length &&
        note(finding, DEFECT_FIELD_AFTER_END, inst))
        replace_with_constant(finding, inst, &field.computation.sources[1], field.computation.result, 31);
}

/* The number of lowest bytes that the instruction keeps of *source, as an integer without a sign; 0: it does not. */
static unsigned kept_bytes(const Body *body, const Inst *inst, ComputeSource *source)
{
    Computation c;
    const bool reversed = computation_matches(body, inst, COMPUTE_AND, 32, "ir", &c);
    if (reversed || computation_matches(body, inst, COMPUTE_AND, 32, "ri", &c)) {
        const uint64_t mask = c.sources[!reversed].constant & UINT32_MAX;
        *source = c.sources[reversed];
        return mask == 0xff ? 1 : mask == 0xffff ? 2 : mask == 0xffffff ? 3 : 0;
    }
    if (!computation_of(body, inst, &c) || c.op != COMPUTE_CONVERT || c.saturates || c.bits <= 16)
        return 0;
    *source = c.sources[0];
    return source->reg != REG_NONE && !source->is_signed && source->bits <= 16 ? source->bits / 8u : 0;
}

/* A permutation of bytes by a constant, of which only the lowest are kept, among them a sign of its first source (PTX
 * ISA, prmt: a selector of 8 to 11). ptxas makes one permutation of the two, whose second source is the old first one,
 * and gives all selectors their new numbers but these. */
static void find_sign_byte(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    Computation permutes;
    ComputeSource keeps;
    uint64_t selector;
    bool has_sign = false;
    const unsigned kept = kept_bytes(body, inst, &keeps);
    const Inst *permutation = kept ? origin(finding, keeps.reg) : NULL;
    if (!permutation || !computation_of(body, permutation, &permutes) || permutes.op != COMPUTE_PERMUTE ||
        !is_constant_source(finding, &permutes.sources[2], &selector))
        return;
    for (unsigned i = 0; i < kept; i++)
        has_sign |= (selector >> 4 * i & 0xc) == 8;
    if (!has_sign || !note(finding, DEFECT_SIGN_BYTE, inst))
        return;
    static const int64_t low_bytes[] = {0x4440, 0x4410, 0x4210};
    const RegId reg = body_clone_reg(body, keeps.reg);
    inst_insert_before(inst, inst_build(body, "prmt.b32", "drii", reg, keeps.reg, (int64_t)0, low_bytes[kept - 1]));
    inst_replace_operand(body, inst, (unsigned)(keeps.operand - inst->operands), reg);
}

/* Whether an instruction that reads the value is a logic operation of two sources. */
static bool goes_to_logic(const Finding *finding, RegId reg)
{
    static const ComputeOp logic[] = {COMPUTE_AND, COMPUTE_OR, COMPUTE_XOR};
    const ValueUse *uses = value_uses(finding->values, reg);
    Computation c;
    for (uint32_t i = 0; i < value_use_count(finding->values, reg); i++)
        for (size_t op = 0; op < COUNT_OF(logic); op++)
            if (uses[i].inst && computation_matches(finding->values->body, uses[i].inst, logic[op], 32, "xx", &c))
                return true;
    return false;
}

/* The table of lop3 for sources (x, y, 0), where x stands for those in the mask, of which 4 is the first, and y for the
 * others. */
static int64_t table_for_two(uint64_t table, unsigned x)
{
    const unsigned y = 7u & ~x;
    uint64_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        result |= (table >> ((i & 4 ? x : 0) | (i & 2 ? y : 0)) & 1) << i;
    return (int64_t)result;
}

/* A lop3 two of whose sources are the same, and a logic operation of its result. ptxas makes one lop3 of the two, in
 * which the second of the same sources is 0, but whose table is that of three sources. */
static void find_repeated_source(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    const Operand *operands = inst->operands;
    uint64_t table, number = 0;
    RegId sources[3];
    unsigned one = 0, two = 0;
    if (inst_op(inst) != OP_LOP3 || !inst_is_plain(inst) || inst->operand_count != 5 ||
        !operand_is_integer(&operands[4], &table))
        return;
    for (unsigned i = 0; i < 3; i++) {
        const RegId reg = inst_reg(inst, i + 1);
        sources[i] = reg == REG_NONE ? REG_NONE : value_copied_from(finding->values, reg);
        for (unsigned k = 0; k < i && !two; k++)
            if (reg != REG_NONE && sources[k] == sources[i])
                one = k, two = i;
    }
    const RegId result = inst_reg(inst, 0);
    const unsigned other = 3 - one - two;
    if (!two || result == REG_NONE || !goes_to_logic(finding, result) ||
        (sources[other] == REG_NONE && !operand_is_integer(&operands[other + 1], &number)) ||
        !note(finding, DEFECT_REPEATED_SOURCE, inst))
        return;
    const bool are_all = sources[other] == sources[one];
    const RegId x = inst_reg(inst, one + 1), y = are_all ? REG_NONE : inst_reg(inst, other + 1);
    const int64_t changed = table_for_two(table, are_all ? 7 : 4u >> one | 4u >> two);
    inst_insert_before(inst, y != REG_NONE ? inst_build(body, "lop3.b32", "drrii", result, x, y, (int64_t)0, changed)
                                           : inst_build(body, "lop3.b32", "driii", result, x, (int64_t)number,
                                                        (int64_t)0, changed));
    inst_remove(inst);
}

/* A difference from the high half of a product, with a borrow. ptxas adds -z in the multiplication, whose carry is that
 * of x * y + (-z << 32): if z is 0, there is none, where a difference without a borrow has one. */
static void find_lost_borrow(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    Computation c, product;
    if (!(inst->effects & EFFECT_CC_WRITE) || inst->effects & EFFECT_CC_READ || !computation_of(body, inst, &c) ||
        c.op != COMPUTE_SUB || c.bits != 32 || c.sources[0].reg == REG_NONE || c.sources[1].reg == REG_NONE)
        return;
    const Inst *from = origin(finding, c.sources[0].reg);
    if (!from || !computation_of(body, from, &product) || product.op != COMPUTE_MUL_HIGH || product.bits != 32 ||
        !note(finding, DEFECT_LOST_BORROW, inst))
        return;
    const RegId complement = put_complement(finding, inst, c.sources[1].reg, "not.b32");
    const RegId zero = body_clone_reg(body, c.result);
    inst_insert_before(inst, inst_build(body, "add.cc.u32", "dii", zero, (int64_t)-1, (int64_t)1));
    inst_insert_before(inst, inst_build(body, "addc.cc.u32", "drr", c.result, c.sources[0].reg, complement));
    inst_remove(inst);
}

/* A conversion to a float of 32 bits without a sign, which are a signed byte or half, extended. ptxas makes it convert
 * a part of the register, and takes the part's sign for that of the conversion. */
static void find_signed_field(Finding *finding, Inst *inst)
{
    Body *body = finding->context->body;
    if (inst_is_opaque(inst) || inst_op(inst) != OP_CVT || inst_reg(inst, 1) == REG_NONE ||
        type_class(inst->signature->types[0]) != CLASS_FLOAT || inst->signature->types[1] != TYPE_U32)
        return;
    const Inst *extract = origin(finding, inst_reg(inst, 1));
    Field field;
    if (!extract || !inst_is_plain(extract) || !is_signed_field(finding, extract, &field))
        return;
    const RegId value = field.computation.sources[0].reg;
    const unsigned position = field.position, length = field.length;
    const bool is_part = (length == 8 || length == 16) && position % length == 0 && position + length <= 32;
    if (value == REG_NONE || !is_part || !note(finding, DEFECT_SIGNED_FIELD, inst))
        return;
    const RegId top = body_clone_reg(body, value), extended = body_clone_reg(body, value);
    inst_insert_before(inst, inst_build(body, "shl.b32", "dri", top, value, (int64_t)(32 - position - length)));
    inst_insert_before(inst, inst_build(body, "shr.s32", "dri", extended, top, (int64_t)(32 - length)));
    inst_replace_operand(body, inst, 1, extended);
}

static void find_negated_bounds(Finding *finding, Inst *inst)
{
    find_negated_bound(finding, inst, COMPUTE_MAX);
    find_negated_bound(finding, inst, COMPUTE_MIN);
}

bool pass_fix_defects(PassContext *context)
{
    typedef void Find(Finding *finding, Inst *inst);
    static Find *const finders[DEFECT_COUNT] = {
        [DEFECT_NEGATED_BOUND] = find_negated_bounds, [DEFECT_SHIFTS_AS_ROTATION] = find_rotation,
        [DEFECT_NARROW_NEGATION] = find_narrow_negation, [DEFECT_CONSTANT_SELECTOR] = find_selection,
        [DEFECT_FIELD_AFTER_END] = find_field, [DEFECT_SIGN_BYTE] = find_sign_byte,
        [DEFECT_REPEATED_SOURCE] = find_repeated_source, [DEFECT_LOST_BORROW] = find_lost_borrow,
        [DEFECT_SIGNED_FIELD] = find_signed_field,
    };
    Find *applied[DEFECT_COUNT];
    unsigned count = 0;
    for (DefectId id = 0; id < DEFECT_COUNT; id++)
        if (context->defect_request && defect_applies(id, context->defect_request))
            applied[count++] = finders[id];
    if (!count)
        return false;
    Finding finding = {.context = context, .values = analyses_values(context->analyses)};
    for (size_t b = 0; b < context->body->blocks.count; b++)
        for (Inst *inst = context->body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            for (unsigned i = 0; i < count && inst->block; i++)
                applied[i](&finding, inst);
        }
    return finding.changed;
}
