/* Integer arithmetic: PTX ISA, "Integer Arithmetic Instructions". Each instruction's value of one lane, and the choice
 * between that and a function of whole rows. */
#include "emulator/semantics/operation.h"

/* The value as a wide integer, by the control word's width and signedness. */
static __int128 widen(uint64_t value, uint32_t control)
{
    unsigned width = control_width(control);
    return control & CONTROL_SIGNED ? (__int128)sign_extend(value, width) : (__int128)(value & width_mask(width));
}

static uint64_t clamp_signed(__int128 value, unsigned width)
{
    __int128 high = ((__int128)1 << (width - 1)) - 1, low = -high - 1;
    if (value > high)
        value = high;
    if (value < low)
        value = low;
    return (uint64_t)value & width_mask(width);
}

static uint64_t scalar_div(const uint64_t *s, uint32_t control)
{
    __int128 a = widen(s[0], control), b = widen(s[1], control);
    uint64_t mask = width_mask(control_width(control));
    return b == 0 ? mask : (uint64_t)(a / b) & mask;
}

static uint64_t scalar_rem(const uint64_t *s, uint32_t control)
{
    __int128 a = widen(s[0], control), b = widen(s[1], control);
    uint64_t mask = width_mask(control_width(control));
    return b == 0 ? mask : (uint64_t)(a % b) & mask;
}

uint64_t scalar_mul_hi(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    __int128 a = widen(s[0], control), b = widen(s[1], control);
    uint64_t high = control & CONTROL_SIGNED ? (uint64_t)(a * b >> width)
                                             : (uint64_t)((unsigned __int128)a * (unsigned __int128)b >> width);
    return high & width_mask(width);
}

static uint64_t scalar_mad_hi(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    uint64_t high = scalar_mul_hi(s, control);
    if (control & CONTROL_SAT)
        return clamp_signed((__int128)sign_extend(high, width) + sign_extend(s[2], width), width);
    return (high + s[2]) & width_mask(width);
}

static uint64_t clamp(__int128 value, uint32_t control)
{
    const __int128 top = width_mask(control_width(control));
    if (control & CONTROL_SIGNED)
        return clamp_signed(value, control_width(control));
    return (uint64_t)(value < 0 ? 0 : value > top ? top : value);
}

uint64_t scalar_add_sat(const uint64_t *s, uint32_t control)
{
    return clamp(widen(s[0], control) + widen(s[1], control), control);
}

uint64_t scalar_sub_sat(const uint64_t *s, uint32_t control)
{
    return clamp(widen(s[0], control) - widen(s[1], control), control);
}

/* With CONTROL_RELU, negative results become 0. */
static uint64_t smaller_or_larger(const uint64_t *s, uint32_t control, bool larger)
{
    __int128 a = widen(s[0], control), b = widen(s[1], control);
    __int128 value = larger == (a > b) ? a : b;
    if (control & CONTROL_RELU && value < 0)
        value = 0;
    return (uint64_t)value & width_mask(control_width(control));
}

static uint64_t scalar_min(const uint64_t *s, uint32_t control)
{
    return smaller_or_larger(s, control, false);
}

static uint64_t scalar_max(const uint64_t *s, uint32_t control)
{
    return smaller_or_larger(s, control, true);
}

static uint64_t scalar_add(const uint64_t *s, uint32_t control)
{
    return control & CONTROL_SAT ? scalar_add_sat(s, control) : (s[0] + s[1]) & width_mask(control_width(control));
}

static uint64_t scalar_sub(const uint64_t *s, uint32_t control)
{
    return control & CONTROL_SAT ? scalar_sub_sat(s, control) : (s[0] - s[1]) & width_mask(control_width(control));
}

static uint64_t scalar_neg(const uint64_t *s, uint32_t control)
{
    return -s[0] & width_mask(control_width(control));
}

/* Applies a function of one or two lanes of 'width' bits to all lanes of 32 bits. */
static uint64_t each_lane(ScalarFunction *function, const uint64_t *s, unsigned count, uint32_t control, unsigned width)
{
    uint64_t result = 0;
    control = (control & ~(uint32_t)CONTROL_WIDTH) | width;
    for (unsigned bit = 0; bit < 32; bit += width) {
        const uint64_t lanes[2] = {s[0] >> bit & width_mask(width), count > 1 ? s[1] >> bit & width_mask(width) : 0};
        result |= function(lanes, control) << bit;
    }
    return result;
}

uint64_t scalar_add_x2(const uint64_t *s, uint32_t control) { return each_lane(scalar_add, s, 2, control, 16); }
uint64_t scalar_min_x2(const uint64_t *s, uint32_t control) { return each_lane(scalar_min, s, 2, control, 16); }
uint64_t scalar_max_x2(const uint64_t *s, uint32_t control) { return each_lane(scalar_max, s, 2, control, 16); }
uint64_t scalar_add_x4(const uint64_t *s, uint32_t control) { return each_lane(scalar_add, s, 2, control, 8); }
uint64_t scalar_sub_x4(const uint64_t *s, uint32_t control) { return each_lane(scalar_sub, s, 2, control, 8); }
uint64_t scalar_min_x4(const uint64_t *s, uint32_t control) { return each_lane(scalar_min, s, 2, control, 8); }
uint64_t scalar_max_x4(const uint64_t *s, uint32_t control) { return each_lane(scalar_max, s, 2, control, 8); }
uint64_t scalar_neg_x4(const uint64_t *s, uint32_t control) { return each_lane(scalar_neg, s, 1, control, 8); }

/* A half of the product of polynomials over GF(2), and the sum with a third. */
uint64_t scalar_clmad(const uint64_t *s, uint32_t control)
{
    unsigned __int128 product = 0;
    for (unsigned bit = 0; bit < 64; bit++)
        if (s[1] >> bit & 1)
            product ^= (unsigned __int128)s[0] << bit;
    return (uint64_t)(control & CONTROL_HIGH ? product >> 64 : product) ^ s[2];
}

uint64_t scalar_abs(const uint64_t *s, uint32_t control)
{
    uint64_t value = (uint64_t)sign_extend(s[0], control_width(control));
    return ((int64_t)value < 0 ? -value : value) & width_mask(control_width(control));
}

uint64_t scalar_sad(const uint64_t *s, uint32_t control)
{
    __int128 difference = widen(s[0], control) - widen(s[1], control);
    return (s[2] + (uint64_t)(difference < 0 ? -difference : difference)) & width_mask(control_width(control));
}

/* Operands are extended from bit 23; .lo is bits 31..0 of the product, .hi bits 47..16. */
uint64_t scalar_mul24(const uint64_t *s, uint32_t control)
{
    uint64_t product = control & CONTROL_SIGNED ? (uint64_t)(sign_extend(s[0], 24) * sign_extend(s[1], 24))
                                                : (s[0] & 0xffffff) * (s[1] & 0xffffff);
    return (control & CONTROL_HIGH ? product >> 16 : product) & UINT32_MAX;
}

uint64_t scalar_mad24(const uint64_t *s, uint32_t control)
{
    uint64_t product = scalar_mul24(s, control);
    if (control & CONTROL_SAT)
        return clamp_signed((__int128)sign_extend(product, 32) + sign_extend(s[2], 32), 32);
    return (product + s[2]) & UINT32_MAX;
}

/* dp4a, and with CONTROL_PAIR dp2a; kind bit 0: a is signed, bit 1: b is. */
static uint64_t scalar_dot(const uint64_t *s, uint32_t control)
{
    unsigned kind = CONTROL_KIND(control);
    bool halves = control & CONTROL_PAIR;
    unsigned count = halves ? 2 : 4, bits = halves ? 16 : 8;
    uint64_t b = halves && control & CONTROL_HIGH ? s[1] >> 16 : s[1], sum = s[2];
    for (unsigned i = 0; i < count; i++) {
        uint64_t x = s[0] >> (bits * i), y = b >> (8 * i);
        int64_t left = kind & 1 ? sign_extend(x, bits) : (int64_t)(x & width_mask(bits));
        int64_t right = kind & 2 ? sign_extend(y, 8) : (int64_t)(y & 0xff);
        sum += (uint64_t)(left * right);
    }
    return sum & UINT32_MAX;
}

Operation operation_add(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_ADD_16, signature->types[0]), signature->types[0], 2);
}

Operation operation_sub(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_SUB_16, signature->types[0]), signature->types[0], 2);
}

Operation operation_mul(const Signature *signature)
{
    Type type = signature->types[0];
    if (!signature_has(signature, MOD_HI))
        return operation_on_rows(row_of_width(ROW_MUL_16, type), type, 2);
    if (type_bits(type) == 32)
        return operation_on_rows(type == TYPE_S32 ? ROW_MULHI_S32 : ROW_MULHI_U32, type, 2);
    return operation_by_lane(scalar_mul_hi, integer_control(type), type, 2);
}

Operation operation_mad(const Signature *signature)
{
    Type type = signature->types[0];
    if (!signature_has(signature, MOD_HI))
        return operation_on_rows(row_of_width(ROW_MAD_16, type), type, 3);
    return operation_by_lane(scalar_mad_hi, integer_control(type) | modifier_control(signature), type, 3);
}

static Type type_of_twice(Type type)
{
    switch (type) {
    case TYPE_U16: return TYPE_U32;
    case TYPE_S16: return TYPE_S32;
    case TYPE_U32: return TYPE_U64;
    default: return TYPE_S64;
    }
}

static RowId wide_row(Type type, RowId u16, RowId s16, RowId u32, RowId s32)
{
    return type == TYPE_U16 ? u16 : type == TYPE_S16 ? s16 : type == TYPE_U32 ? u32 : s32;
}

Operation operation_mul_wide(const Signature *signature)
{
    Type type = signature->types[0];
    RowId row = wide_row(type, ROW_MULWIDE_U16, ROW_MULWIDE_S16, ROW_MULWIDE_U32, ROW_MULWIDE_S32);
    Operation operation = operation_on_rows(row, type, 2);
    operation.dest = type_of_twice(type);
    return operation;
}

Operation operation_mad_wide(const Signature *signature)
{
    Type type = signature->types[0];
    RowId row = wide_row(type, ROW_MADWIDE_U16, ROW_MADWIDE_S16, ROW_MADWIDE_U32, ROW_MADWIDE_S32);
    Operation operation = operation_on_rows(row, type, 3);
    operation.dest = operation.sources[2] = type_of_twice(type);
    return operation;
}

Operation operation_div(const Signature *signature)
{
    Operation operation = operation_by_lane(scalar_div, integer_control(signature->types[0]), signature->types[0], 2);
    operation.divides = true;
    return operation;
}

Operation operation_rem(const Signature *signature)
{
    Operation operation = operation_by_lane(scalar_rem, integer_control(signature->types[0]), signature->types[0], 2);
    operation.divides = true;
    return operation;
}

Operation operation_neg(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_NEG_16, signature->types[0]), signature->types[0], 1);
}

Operation operation_min(const Signature *signature)
{
    Type type = signature->types[0];
    RowId first = type_class(type) == CLASS_SIGNED ? ROW_MIN_S16 : ROW_MIN_U16;
    return operation_on_rows(row_of_width(first, type), type, 2);
}

Operation operation_max(const Signature *signature)
{
    Type type = signature->types[0];
    RowId first = type_class(type) == CLASS_SIGNED ? ROW_MAX_S16 : ROW_MAX_U16;
    return operation_on_rows(row_of_width(first, type), type, 2);
}

Operation operation_min_relu(const Signature *signature)
{
    Type type = signature->types[0];
    uint32_t control = integer_control(type) | CONTROL_RELU;
    return operation_by_lane(type == TYPE_S16X2 ? scalar_min_x2 : scalar_min, control, type, 2);
}

Operation operation_max_relu(const Signature *signature)
{
    Type type = signature->types[0];
    uint32_t control = integer_control(type) | CONTROL_RELU;
    return operation_by_lane(type == TYPE_S16X2 ? scalar_max_x2 : scalar_max, control, type, 2);
}

static Operation dot_product(const Signature *signature, uint32_t control)
{
    unsigned kind = (signature->types[0] == TYPE_S32 ? 1 : 0) | (signature->types[1] == TYPE_S32 ? 2 : 0);
    control |= modifier_control(signature) | kind << CONTROL_KIND_SHIFT;
    return operation_by_lane(scalar_dot, control, TYPE_B32, 3);
}

Operation operation_dp4a(const Signature *signature)
{
    return dot_product(signature, 0);
}

Operation operation_dp2a(const Signature *signature)
{
    return dot_product(signature, CONTROL_PAIR);
}
