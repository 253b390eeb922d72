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

bool estimate_is_extreme(const Estimate *estimate, RegId predicate, bool *holds)
{
    const Inst *inst = value_inst(analyses_values(estimate->analyses), predicate);
    if (!inst || inst_op(inst) != OP_SETP || inst->operand_count != 3)
        return false;
    const double left = constant_value(&inst->operands[1]), right = constant_value(&inst->operands[2]);
    const double bound = left != 0 ? left : right;
    const bool is_huge = fabs(bound) >= huge, is_tiny = bound > 0 && bound <= tiny; /* of magnitudes, as is assumed */
    if (!is_huge && !is_tiny)
        return false;
    const bool is_less = inst_has(inst, MOD_LT) || inst_has(inst, MOD_LE) || inst_has(inst, MOD_LTU) ||
                         inst_has(inst, MOD_LEU);
    const bool is_greater = inst_has(inst, MOD_GT) || inst_has(inst, MOD_GE) || inst_has(inst, MOD_GTU) ||
                            inst_has(inst, MOD_GEU);
    const bool is_unequal = inst_has(inst, MOD_NE) || inst_has(inst, MOD_NEU);
    if (is_unequal || inst_has(inst, MOD_EQ) || inst_has(inst, MOD_EQU))
        *holds = is_unequal;
    else if (is_less || is_greater)
        *holds = is_less == (left == 0) ? is_huge : is_tiny;
    else
        return false;
    *holds ^= bound < 0 && (is_less || is_greater); /* hardly any number is below -huge */
    return true;
}
