/* How many iterations a loop has, where that is a constant.
 *
 * The end's comparison is carried out with the values that it has in one iteration after the other, so nothing has to
 * be assumed about wrap-around or about the kind of comparison. */
#include "opt/trips.h"
#include "opt/unroll_jam_internal.h"

enum { MOST_ROUNDS = 65536 };

/* One side of the comparison: 'constant' in the first iteration, and 'step' more in each that follows. */
typedef struct Side {
    uint64_t constant, step;
} Side;

static bool side_find(const Jam *jam, const Inst *compare, const Operand *operand, unsigned bits, Side *out)
{
    const Affine *affine = analyses_affine(jam->analyses);
    *out = (Side){0, 0};
    if (operand->negated || operand->selector)
        return false;
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT) {
        out->constant = operand->constant->bits;
        return true;
    }
    if (operand->kind != OPERAND_REG || operand->constant)
        return false;
    const AffineForm *form = &affine->forms[compare->refs[operand->ref].reg];
    out->constant = (uint64_t)form->constant;
    if (form->bits != bits || form->term_count > 1)
        return false;
    const AffineTerm *term = form->term_count ? &form->terms[0] : NULL;
    if (!term)
        return true;
    const Phi *phi = term->base == AFFINE_VALUE ? jam_phi(jam, term->reg) : NULL;
    RegId start = phi ? loop_start(jam->loop, phi) : REG_NONE;
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    if (start == REG_NONE || affine->forms[start].bits != bits || affine->forms[start].term_count ||
        type_bits(jam->body->regs.data[phi->dst].type) != bits ||
        !loop_step(jam->loop, phi, affine, terms, &step) || step.term_count)
        return false;
    out->constant += (uint64_t)term->coefficient * (uint64_t)affine->forms[start].constant;
    out->step = (uint64_t)term->coefficient * (uint64_t)step.constant;
    return true;
}

/* -1, 0, 1: a is less than, equal to, greater than b. */
static int compare_values(uint64_t a, uint64_t b, unsigned bits, bool is_signed)
{
    if (bits == 32) {
        a = is_signed ? (uint64_t)(int32_t)(uint32_t)a : (uint32_t)a;
        b = is_signed ? (uint64_t)(int32_t)(uint32_t)b : (uint32_t)b;
    }
    if (is_signed)
        return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
    return a < b ? -1 : a > b;
}

/* Whether the comparison is of a kind that 'holds' decides. */
static bool is_known(const Inst *compare)
{
    return inst_has(compare, MOD_EQ) || inst_has(compare, MOD_NE) || inst_has(compare, MOD_LT) ||
           inst_has(compare, MOD_LE) || inst_has(compare, MOD_GT) || inst_has(compare, MOD_GE);
}

static bool holds(const Inst *compare, int order)
{
    if (inst_has(compare, MOD_EQ) || inst_has(compare, MOD_NE))
        return inst_has(compare, MOD_EQ) == (order == 0);
    if (inst_has(compare, MOD_LT) || inst_has(compare, MOD_LE))
        return order < 0 || (order == 0 && inst_has(compare, MOD_LE));
    return order > 0 || (order == 0 && inst_has(compare, MOD_GE));
}

uint64_t jam_rounds(const Jam *jam)
{
    const Inst *compare = value_inst(jam->values, jam->predicate);
    if (!compare || inst_is_opaque(compare) || inst_op(compare) != OP_SETP || compare->guard != REF_NONE ||
        compare->operand_count != 3 || compare->operands[0].kind != OPERAND_REG ||
        compare->signature->type_count != 1 || !is_known(compare))
        return 0;
    Type type = compare->signature->types[0];
    TypeClass class = type_class(type);
    unsigned bits = type_bits(type);
    Side a, b;
    if (!class_is_integer(class) || (bits != 32 && bits != 64) ||
        !side_find(jam, compare, &compare->operands[1], bits, &a) ||
        !side_find(jam, compare, &compare->operands[2], bits, &b))
        return 0;
    for (uint64_t rounds = 1; rounds <= MOST_ROUNDS; rounds++) {
        int order = compare_values(a.constant, b.constant, bits, class == CLASS_SIGNED);
        if (holds(compare, order) != jam->stays_if)
            return rounds;
        a.constant += a.step;
        b.constant += b.step;
    }
    return 0;
}
