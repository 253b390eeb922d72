/* Fits constants to the types and ranges of operands. */
#include "ir/table/internal.h"

#include <string.h>

static bool type_is_packed_integers(Type type)
{
    return type == TYPE_U16X2 || type == TYPE_S16X2 || type == TYPE_U8X4 || type == TYPE_S8X4;
}

static bool constant_fits(const Constant *constant, Type type)
{
    switch (type_class(type)) {
    case CLASS_PRED: return constant->kind == CONSTANT_INT;
    case CLASS_BITS:
        return constant->kind == CONSTANT_INT || (constant->kind == CONSTANT_F32 && type == TYPE_B32) ||
               (constant->kind != CONSTANT_F32 && type == TYPE_B64);
    case CLASS_UNSIGNED:
    case CLASS_SIGNED: return constant->kind == CONSTANT_INT && !type_is_packed_integers(type);
    case CLASS_FLOAT:
        /* ptxas accepts the bits of bfloat16 values. */
        if (type == TYPE_BF16 || type == TYPE_BF16X2)
            return constant->kind == (type == TYPE_BF16 ? CONSTANT_INT : CONSTANT_F32);
        return constant->kind != CONSTANT_INT && (type == TYPE_F32 || type == TYPE_F64);
    default: return false;
    }
}

bool binder_constant(Binder *binder, const Operand *operand, Type type)
{
    if (constant_fits(operand->constant, type))
        return true;
    bool half = type_class(type) == CLASS_FLOAT && type != TYPE_F32 && type != TYPE_F64;
    if (half || type_is_packed_integers(type))
        return binder_refuse(binder, operand->span, "type .%s has no immediates; move the bits into a register first",
                             type_name(type));
    return binder_refuse(binder, operand->span, "%s where .%s is expected",
                         operand->constant->kind == CONSTANT_INT ? "an integer" : "a floating-point constant",
                         type_name(type));
}

static double constant_double(const Constant *constant)
{
    double value = 0;
    float single;
    uint32_t bits = (uint32_t)constant->bits;
    switch (constant->kind) {
    case CONSTANT_INT: return constant->is_unsigned ? (double)constant->bits : (double)(int64_t)constant->bits;
    case CONSTANT_F32: memcpy(&single, &bits, sizeof single); return single;
    case CONSTANT_F64:
    case CONSTANT_DECIMAL: memcpy(&value, &constant->bits, sizeof value); break;
    }
    return value;
}

bool binder_range(Binder *binder, const Operand *operand, const Pattern *pattern)
{
    const Constant *constant = operand->constant;
    int64_t value = (int64_t)constant->bits;
    bool large = constant->is_unsigned && value < 0;
    switch ((RangeKind)pattern->range) {
    case RANGE_ANY: return true;
    case RANGE_INTERVAL:
        if (large || value < pattern->values[0] || value > pattern->values[1])
            return binder_refuse(binder, operand->span, "the value is out of range: %d to %d is expected",
                                 (int)pattern->values[0], (int)pattern->values[1]);
        if (value % pattern->values[2])
            return binder_refuse(binder, operand->span, "the value must be a multiple of %d", (int)pattern->values[2]);
        return true;
    case RANGE_VALUES: {
        Buf list = {0};
        for (unsigned i = 0; i < pattern->value_count; i++) {
            if (!large && value == pattern->values[i]) {
                buf_free(&list);
                return true;
            }
            buf_printf(&list, "%s%d", i ? " or " : "", (int)pattern->values[i]);
        }
        binder_refuse(binder, operand->span, "the value must be %s", buf_text(&list));
        buf_free(&list);
        return false;
    }
    case RANGE_ONES:
        if (constant->bits != UINT32_MAX)
            return binder_refuse(binder, operand->span, "the value must be 0xffffffff");
        return true;
    case RANGE_POWER_OF_TWO:
        if (!constant->bits || constant->bits & (constant->bits - 1))
            return binder_refuse(binder, operand->span, "the value must be a power of two");
        return true;
    case RANGE_F32_BITS:
        return constant->kind != CONSTANT_INT ||
               binder_refuse(binder, operand->span, "a register or a 0f literal is expected, not an integer");
    case RANGE_FRACTION: {
        double fraction = constant_double(constant);
        if (!(fraction > 0 && fraction <= 1))
            return binder_refuse(binder, operand->span, "the value must be above 0.0 and at most 1.0");
        return true;
    }
    }
    return true;
}
