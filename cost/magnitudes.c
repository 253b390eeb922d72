/* Comparisons of floating-point numbers with constants that hardly any number reaches: math functions leave to a slow
 * path what is huge, infinite or subnormal, as sinf does with arguments above 105,615. */
#include "cost/estimate.h"

#include <math.h>
#include <string.h>

static const double huge = 65536, tiny = 0x1p-100;

/* The value of a constant operand; 0: it is none. */
static double constant_value(const Operand *operand)
{
    if (operand->kind != OPERAND_CONSTANT)
        return 0;
    if (operand->constant->kind == CONSTANT_F32) {
        const uint32_t bits = (uint32_t)operand->constant->bits;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    double value = 0;
    if (operand->constant->kind == CONSTANT_F64)
        memcpy(&value, &operand->constant->bits, sizeof value);
    return value;
}

static bool has_one_of(const Inst *inst, const ModId mods[4])
{
    for (unsigned i = 0; i < 4; i++)
        if (inst_has(inst, mods[i]))
            return true;
    return false;
}

bool estimate_is_extreme(const Estimate *estimate, RegId predicate, bool *holds)
{
    static const ModId less[] = {MOD_LT, MOD_LE, MOD_LTU, MOD_LEU}, greater[] = {MOD_GT, MOD_GE, MOD_GTU, MOD_GEU};
    static const ModId equal[] = {MOD_EQ, MOD_EQU, MOD_EQ, MOD_EQU}, other[] = {MOD_NE, MOD_NEU, MOD_NE, MOD_NEU};
    const Inst *inst = value_inst(analyses_values(estimate->analyses), predicate);
    if (!inst || inst_op(inst) != OP_SETP || inst->operand_count != 3)
        return false;
    const double left = constant_value(&inst->operands[1]), right = constant_value(&inst->operands[2]);
    const double bound = left != 0 ? left : right;
    const bool is_huge = fabs(bound) >= huge, is_tiny = bound > 0 && bound <= tiny; /* of magnitudes, as is assumed */
    if (!is_huge && !is_tiny)
        return false;
    const bool is_less = has_one_of(inst, less), is_greater = has_one_of(inst, greater);
    if (has_one_of(inst, equal) || has_one_of(inst, other))
        *holds = has_one_of(inst, other);
    else if (is_less || is_greater)
        *holds = is_less == (left == 0) ? is_huge : is_tiny;
    else
        return false;
    *holds ^= bound < 0 && (is_less || is_greater); /* hardly any number is below -huge */
    return true;
}
