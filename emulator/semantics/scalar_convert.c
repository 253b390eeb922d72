/* cvt: PTX ISA, "Data Movement and Conversion Instructions: cvt" and "cvt.pack". */
#include "emulator/semantics/operation.h"

#include <math.h>

/* The types that cvt converts between: the fundamental types and the narrow formats that are not register types. */
typedef enum ConvertType {
    CONVERT_INTEGER,
    CONVERT_F16,
    CONVERT_BF16,
    CONVERT_F32,
    CONVERT_F64,
    CONVERT_TF32,
    CONVERT_E4M3,
    CONVERT_E5M2,
    CONVERT_E2M1,
    CONVERT_E2M3,
    CONVERT_E3M2,
    CONVERT_UE8M0,
    CONVERT_NONE,
} ConvertType;

static const FloatFormat *const formats[] = {NULL,         &FORMAT_F16,  &FORMAT_BF16, &FORMAT_F32,
                                             NULL,         &FORMAT_TF32, &FORMAT_E4M3, &FORMAT_E5M2,
                                             &FORMAT_E2M1, &FORMAT_E2M3, &FORMAT_E3M2};

/* An integer exactly, or rounded to odd. */
static double integer_odd(uint64_t bits, bool is_signed)
{
    bool negative = is_signed && (int64_t)bits < 0;
    uint64_t magnitude = negative ? -bits : bits;
    unsigned drop = magnitude >> 53 ? 64 - (unsigned)__builtin_clzll(magnitude) - 53 : 0;
    uint64_t kept = magnitude >> drop;
    if (kept << drop != magnitude)
        kept |= 1;
    double value = ldexp((double)kept, (int)drop);
    return negative ? -value : value;
}

/* An integer in double precision, in the given direction. */
static double integer_double(uint64_t bits, bool is_signed, Rounding rounding)
{
    /* Both parts are exact, so the sum rounds once. */
    double low = (double)(uint32_t)bits;
    double high = is_signed ? (double)((int64_t)bits >> 32) : (double)(bits >> 32);
    return sum_double(high * 0x1p32, low, rounding);
}

static double saturate(double value)
{
    return value > 0 ? value < 1 ? value : 1 : 0;
}

/* kind bits 0-3: source ConvertType, 4-7: destination ConvertType, 8: round to integral (f2f), 9: the integer's source
 * is signed. The control word's width and sign are those of the integer side; the other width of integer to integer is
 * in the type. */
static double source_value(const uint64_t *s, uint32_t control)
{
    ConvertType from = (ConvertType)(CONTROL_KIND(control) & 15);
    if (from == CONVERT_F64)
        return double_from_bits(s[0]);
    uint32_t bits = (uint32_t)s[0];
    if (from == CONVERT_F32) {
        if (control & CONTROL_FTZ)
            bits = format_flush(&FORMAT_F32, bits);
        return float_from_bits(bits);
    }
    if (from == CONVERT_F16 || from == CONVERT_BF16)
        bits &= 0xffff;
    double value = format_decode(formats[from], bits);
    return value == value ? value : (double)float_from_bits(F32_NAN);
}

static uint64_t encode(ConvertType to, double value, uint32_t control)
{
    Rounding rounding = CONTROL_ROUNDING(control);
    if (control & CONTROL_SAT)
        value = saturate(value);
    if (control & CONTROL_RELU && value <= 0)
        value = 0;
    if (to == CONVERT_F64)
        return double_bits(value);
    if (control & CONTROL_FTZ && to == CONVERT_F32)
        return format_encode_flushed(&FORMAT_F32, value, rounding);
    return format_encode(formats[to], value, rounding, control & CONTROL_FINITE);
}

/* A NaN of f64 keeps its sign and the upper bits of its payload, made quiet, in a narrower format; one of bf16 keeps
 * all bits in f32. The PTX ISA leaves both open; these are an H100's answers. */
static bool convert_nan(ConvertType from, ConvertType to, uint64_t bits, uint32_t control, uint64_t *result)
{
    if (from == CONVERT_BF16 && to == CONVERT_F32 && !(control & CONTROL_FTZ)) {
        *result = bits << 16;
        return true;
    }
    if (from != CONVERT_F64 || to == CONVERT_F64)
        return false;
    unsigned mantissa = (unsigned)formats[to]->mantissa_bits, sign = mantissa + (unsigned)formats[to]->exponent_bits;
    uint64_t quiet = width_mask(sign) & ~width_mask(mantissa - 1);
    *result = (bits >> 63) << sign | quiet | (bits >> (52 - mantissa) & width_mask(mantissa));
    return true;
}

static uint64_t convert_float(const uint64_t *s, uint32_t control)
{
    ConvertType from = (ConvertType)(CONTROL_KIND(control) & 15), to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    uint64_t nan;
    double value = source_value(s, control);
    if (CONTROL_KIND(control) >> 8 & 1)
        value = round_integral(value, CONTROL_ROUNDING(control));
    if (value != value && !(control & (CONTROL_SAT | CONTROL_RELU)) && convert_nan(from, to, s[0], control, &nan))
        return nan;
    if (from == CONVERT_F32 && to == CONVERT_F32 && value != value && !(control & CONTROL_SAT))
        return F32_NAN;
    return encode(to, value, control);
}

static uint64_t convert_tf32(const uint64_t *s, uint32_t control)
{
    if (CONTROL_ROUNDING(control) == ROUND_NEAREST_AWAY) {
        uint32_t bits = (uint32_t)s[0];
        if (control & CONTROL_FINITE && (bits & 0x7fffffff) >= 0x7f7ff000 && (bits & 0x7fffffff) <= 0x7f800000)
            return (bits & 0x80000000) | FORMAT_TF32.largest << 13;
        return (bits + 0x1000) & ~UINT32_C(0x1fff);
    }
    double value = float_from_bits((uint32_t)s[0]);
    if (value != value)
        return F32_NAN;
    return encode(CONVERT_TF32, value, control) << 13;
}

static uint64_t convert_to_integer(const uint64_t *s, uint32_t control)
{
    unsigned width = control & CONTROL_WIDTH;
    bool is_signed = control & CONTROL_SIGNED;
    double value = source_value(s, control);
    if (value != value) {
        bool high = (CONTROL_KIND(control) & 15) == CONVERT_F64 || width == 64;
        return high ? UINT64_C(1) << (width - 1) : 0;
    }
    value = round_integral(value, CONTROL_ROUNDING(control));
    double top = ldexp(1, (int)width - (is_signed ? 1 : 0)), bottom = is_signed ? -top : 0;
    if (value >= top)
        return width_mask(is_signed ? width - 1 : width);
    if (value <= bottom)
        return is_signed ? UINT64_C(1) << (width - 1) : 0;
    return (is_signed ? (uint64_t)(int64_t)value : (uint64_t)value) & width_mask(width);
}

static uint64_t convert_from_integer(const uint64_t *s, uint32_t control)
{
    unsigned width = control & CONTROL_WIDTH;
    bool is_signed = control & CONTROL_SIGNED;
    ConvertType to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    uint64_t bits = is_signed ? (uint64_t)sign_extend(s[0], width) : s[0] & width_mask(width);
    if (to == CONVERT_F64)
        return encode(to, integer_double(bits, is_signed, CONTROL_ROUNDING(control)), control);
    return encode(to, integer_odd(bits, is_signed), control);
}

/* Width and sign are the source's; the destination's width is kind & 0x7f, its sign bit 7; CONTROL_SAT clamps. */
static uint64_t convert_integer(const uint64_t *s, uint32_t control)
{
    unsigned width = control & CONTROL_WIDTH, to = CONTROL_KIND(control) & 0x7f;
    bool is_signed = control & CONTROL_SIGNED, to_signed = CONTROL_KIND(control) >> 7 & 1;
    __int128 value = is_signed ? (__int128)sign_extend(s[0], width) : (__int128)(s[0] & width_mask(width));
    if (control & CONTROL_SAT) {
        __int128 top = ((__int128)1 << (to - to_signed)) - 1, bottom = to_signed ? -top - 1 : 0;
        value = value > top ? top : value < bottom ? bottom : value;
    }
    return (uint64_t)value & width_mask(to);
}

/* Two f32 into the halves of a register: a the upper, b the lower. The element's bits are in the width. */
static uint64_t convert_pair(const uint64_t *s, uint32_t control)
{
    ConvertType to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    unsigned bits = control & CONTROL_WIDTH;
    double high = float_from_bits((uint32_t)s[0]), low = float_from_bits((uint32_t)s[1]);
    return encode(to, high, control) << bits | encode(to, low, control);
}

/* From the two halves of an f16x2 register into a pair of narrower ones. */
static uint64_t convert_narrow_pair(const uint64_t *s, uint32_t control)
{
    ConvertType from = (ConvertType)(CONTROL_KIND(control) & 15), to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    unsigned bits = control & CONTROL_WIDTH;
    uint64_t high = encode(to, format_decode(formats[from], s[0] >> 16 & 0xffff), control);
    return high << bits | encode(to, format_decode(formats[from], s[0] & 0xffff), control);
}

/* A pair of narrow elements (of the width's bits) into f16x2. */
static uint64_t convert_wide_pair(const uint64_t *s, uint32_t control)
{
    ConvertType from = (ConvertType)(CONTROL_KIND(control) & 15), to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    unsigned bits = control & CONTROL_WIDTH;
    uint64_t high = encode(to, format_decode(formats[from], s[0] >> bits & width_mask(bits)), control);
    return high << 16 | encode(to, format_decode(formats[from], (uint32_t)(s[0] & width_mask(bits))), control);
}

static uint64_t scale_exponent(double value, uint32_t control)
{
    if (value != value)
        return 0xff;
    value = fabs(value);
    if (value == 0)
        return 0;
    if (isinf(value))
        return control & CONTROL_FINITE || CONTROL_ROUNDING(control) == ROUND_ZERO ? 0xfe : 0xff;
    int exponent;
    double fraction = frexp(value, &exponent); /* value = fraction * 2^exponent, fraction in [1/2, 1) */
    exponent--;
    if (CONTROL_ROUNDING(control) == ROUND_UP && fraction > 0.5)
        exponent++;
    if (exponent < -127)
        exponent = -127;
    if (exponent > 127)
        return control & CONTROL_FINITE ? 0xfe : 0xff;
    return (uint64_t)(exponent + 127);
}

/* ue8m0x2, a power of two each: from two f32, or from bf16x2 (CONTROL_PAIR). */
static uint64_t convert_scale_pair(const uint64_t *s, uint32_t control)
{
    if (control & CONTROL_PAIR)
        return scale_exponent(format_decode(&FORMAT_BF16, s[0] >> 16 & 0xffff), control) << 8 |
               scale_exponent(format_decode(&FORMAT_BF16, s[0] & 0xffff), control);
    return scale_exponent(float_from_bits((uint32_t)s[0]), control) << 8 |
           scale_exponent(float_from_bits((uint32_t)s[1]), control);
}

static uint64_t convert_from_scale_pair(const uint64_t *s, uint32_t control)
{
    uint64_t result = 0;
    (void)control;
    for (unsigned i = 0; i < 2; i++) {
        unsigned exponent = s[0] >> (8 * i) & 0xff;
        double value = exponent == 0xff ? (double)NAN : ldexp(1, (int)exponent - 127);
        result |= (uint64_t)format_encode(&FORMAT_BF16, value, ROUND_ZERO, false) << (16 * i);
    }
    return result;
}

/* Stochastic rounding of two (kind bit 8 clear) or four f32. The random word serves pairs of elements in turn. */
static uint64_t convert_stochastic(const uint64_t *s, uint32_t control)
{
    ConvertType to = (ConvertType)(CONTROL_KIND(control) >> 4 & 15);
    unsigned count = CONTROL_KIND(control) >> 8 & 1 ? 4 : 2, bits = control & CONTROL_WIDTH;
    int random_bits = to == CONVERT_F16 ? 13 : 16;
    uint64_t result = 0;
    for (unsigned i = 0; i < count; i++) {
        double value = float_from_bits((uint32_t)s[i]);
        if (control & CONTROL_RELU && value <= 0)
            value = 0;
        unsigned group = count == 2 ? i : i / 2;
        uint32_t random = (uint32_t)(s[count] >> (group ? 0 : 16)) & (uint32_t)width_mask((unsigned)random_bits);
        uint32_t element = format_encode_stochastic(formats[to], value, random, random_bits);
        /* e2m3 and e3m2 have six bits in a field of eight. */
        unsigned sign = (unsigned)(formats[to]->exponent_bits + formats[to]->mantissa_bits);
        uint32_t magnitude = element & (uint32_t)width_mask(sign);
        if (control & CONTROL_FINITE && value == value && magnitude > formats[to]->largest)
            element = (element & ~(uint32_t)width_mask(sign)) | formats[to]->largest;
        result = result << bits | element;
    }
    return result;
}

/* cvt.pack.sat: kind & 0x7f bits of an element, bit 7 its sign; three sources below 16 bits. */
static uint64_t convert_pack(const uint64_t *s, uint32_t control)
{
    unsigned bits = CONTROL_KIND(control) & 0x7f;
    bool is_signed = CONTROL_KIND(control) >> 7 & 1;
    int64_t top = (INT64_C(1) << (bits - is_signed)) - 1, bottom = is_signed ? -top - 1 : 0;
    uint64_t result = bits < 16 ? s[2] << (2 * bits) : 0;
    for (unsigned i = 0; i < 2; i++) {
        int64_t value = sign_extend(s[i], 32);
        value = value > top ? top : value < bottom ? bottom : value;
        result |= ((uint64_t)value & width_mask(bits)) << (i ? 0 : bits);
    }
    return result & UINT32_MAX;
}

static ConvertType convert_type(Type type)
{
    switch (type) {
    case TYPE_F16:
    case TYPE_F16X2: return CONVERT_F16;
    case TYPE_BF16:
    case TYPE_BF16X2: return CONVERT_BF16;
    case TYPE_F32: return CONVERT_F32;
    case TYPE_F64: return CONVERT_F64;
    case TYPE_TF32: return CONVERT_TF32;
    default: return CONVERT_INTEGER;
    }
}

/* Packed formats that are not types: the number of elements and the bits that one takes. */
static const struct NarrowType {
    ModId mod;
    ConvertType type;
    unsigned count, bits;
} narrow_types[] = {
    {MOD_E4M3X2, CONVERT_E4M3, 2, 8}, {MOD_E5M2X2, CONVERT_E5M2, 2, 8},   {MOD_E4M3X4, CONVERT_E4M3, 4, 8},
    {MOD_E5M2X4, CONVERT_E5M2, 4, 8}, {MOD_E2M1X2, CONVERT_E2M1, 2, 4},   {MOD_E2M1X4, CONVERT_E2M1, 4, 4},
    {MOD_E2M3X2, CONVERT_E2M3, 2, 8}, {MOD_E3M2X2, CONVERT_E3M2, 2, 8},   {MOD_E2M3X4, CONVERT_E2M3, 4, 8},
    {MOD_E3M2X4, CONVERT_E3M2, 4, 8}, {MOD_UE8M0X2, CONVERT_UE8M0, 2, 8},
};

static const struct NarrowType *find_narrow(const Signature *signature)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(narrow_types) && !signature_has(signature, narrow_types[i].mod))
        i++;
    return &narrow_types[i];
}

static Type packed_type(const struct NarrowType *narrow)
{
    return type_bits_of_width(narrow->count * narrow->bits);
}

static Rounding modifier_rounding(const Signature *signature, bool *integral)
{
    static const struct {
        ModId mod;
        Rounding rounding;
        bool integral;
    } names[] = {
        {MOD_RN, ROUND_NEAREST_EVEN, false}, {MOD_RZ, ROUND_ZERO, false},          {MOD_RM, ROUND_DOWN, false},
        {MOD_RP, ROUND_UP, false},           {MOD_RNA, ROUND_NEAREST_AWAY, false}, {MOD_RNI, ROUND_NEAREST_EVEN, true},
        {MOD_RZI, ROUND_ZERO, true},         {MOD_RMI, ROUND_DOWN, true},          {MOD_RPI, ROUND_UP, true}};
    *integral = false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (signature_has(signature, names[i].mod)) {
            *integral = names[i].integral;
            return names[i].rounding;
        }
    return ROUND_NEAREST_EVEN;
}

static uint32_t convert_control(const Signature *signature, bool *integral)
{
    return (uint32_t)modifier_rounding(signature, integral) << CONTROL_ROUNDING_SHIFT |
           (signature_has(signature, MOD_FTZ) ? CONTROL_FTZ : 0) |
           (signature_has(signature, MOD_SAT) ? CONTROL_SAT : 0) |
           (signature_has(signature, MOD_RELU) ? CONTROL_RELU : 0) |
           (signature_has(signature, MOD_SATFINITE) ? CONTROL_FINITE : 0);
}

/* From f32, two or four of them, or from a pair of f16 or bf16. */
Operation operation_cvt_to_narrow(const Signature *signature)
{
    const struct NarrowType *narrow = find_narrow(signature);
    Type from = signature->types[0];
    bool integral, single = from == TYPE_F32;
    uint32_t control = convert_control(signature, &integral) | narrow->bits;
    uint32_t kind = (uint32_t)convert_type(from) | (uint32_t)narrow->type << 4;
    unsigned count = single ? narrow->count : 1;
    ScalarFunction *function = single ? convert_pair : convert_narrow_pair;
    if (narrow->type == CONVERT_UE8M0) {
        function = convert_scale_pair;
        control |= single ? 0 : CONTROL_PAIR;
    } else if (narrow->count == 4) {
        function = convert_stochastic;
        kind |= 1 << 8;
    }
    Operation operation = operation_by_lane(function, control | kind << CONTROL_KIND_SHIFT, from, count);
    operation.dest = packed_type(narrow);
    if (function == convert_stochastic)
        operation.sources[operation.source_count++] = TYPE_B32;
    return operation;
}

Operation operation_cvt_from_narrow(const Signature *signature)
{
    const struct NarrowType *narrow = find_narrow(signature);
    Type to = signature->types[0];
    bool integral;
    uint32_t control = convert_control(signature, &integral) | narrow->bits;
    uint32_t kind = (uint32_t)narrow->type | (uint32_t)convert_type(to) << 4;
    ScalarFunction *function = narrow->type == CONVERT_UE8M0 ? convert_from_scale_pair : convert_wide_pair;
    Operation operation = operation_by_lane(function, control | kind << CONTROL_KIND_SHIFT, packed_type(narrow), 1);
    operation.dest = to;
    return operation;
}

Operation operation_cvt_pack(const Signature *signature)
{
    static const struct {
        ModId mod;
        unsigned bits;
        bool is_signed;
    } elements[] = {{MOD_U16, 16, false}, {MOD_S16, 16, true}, {MOD_U8, 8, false}, {MOD_S8, 8, true},
                    {MOD_U4, 4, false},   {MOD_S4, 4, true},   {MOD_U2, 2, false}, {MOD_S2, 2, true}};
    size_t i = 0;
    while (i + 1 < COUNT_OF(elements) && !signature_has(signature, elements[i].mod))
        i++;
    uint32_t kind = elements[i].bits | (uint32_t)elements[i].is_signed << 7;
    Operation operation = operation_by_lane(convert_pack, kind << CONTROL_KIND_SHIFT, TYPE_S32, 2);
    operation.dest = TYPE_U32;
    if (elements[i].bits < 16)
        operation.sources[operation.source_count++] = TYPE_B32;
    return operation;
}

/* Frequent conversions without modifiers that matter, on whole rows. */
static RowId convert_row(Type to, Type from, uint32_t control)
{
    if (control & (CONTROL_SAT | CONTROL_FTZ | CONTROL_RELU))
        return ROW_NONE;
    unsigned to_bits = type_bits(to), from_bits = type_bits(from);
    if (type_class(to) != CLASS_FLOAT && type_class(from) != CLASS_FLOAT && to_bits > 8) {
        bool is_signed = type_class(from) == CLASS_SIGNED;
        if (to_bits <= from_bits)
            return to_bits == from_bits ? to_bits == 16   ? ROW_COPY_16
                                          : to_bits == 32 ? ROW_COPY_32
                                                          : ROW_COPY_64
                   : from_bits == 32    ? ROW_CUT_32_16
                   : to_bits == 16      ? ROW_CUT_64_16
                                        : ROW_CUT_64_32;
        if (from_bits == 8)
            return to_bits == 16   ? is_signed ? ROW_EXTEND_S8_16 : ROW_EXTEND_U8_16
                   : to_bits == 32 ? is_signed ? ROW_EXTEND_S8_32 : ROW_EXTEND_U8_32
                   : is_signed     ? ROW_EXTEND_S8_64
                                   : ROW_EXTEND_U8_64;
        if (from_bits == 16)
            return to_bits == 32 ? is_signed ? ROW_EXTEND_S16_32 : ROW_EXTEND_U16_32
                   : is_signed   ? ROW_EXTEND_S16_64
                                 : ROW_EXTEND_U16_64;
        return is_signed ? ROW_EXTEND_S32_64 : ROW_EXTEND_U32_64;
    }
    if (CONTROL_ROUNDING(control) == ROUND_NEAREST_EVEN) {
        if (to == TYPE_F32 && from == TYPE_S32)
            return ROW_CVT_F32_S32;
        if (to == TYPE_F32 && from == TYPE_U32)
            return ROW_CVT_F32_U32;
        if (to == TYPE_F64 && from == TYPE_S32)
            return ROW_CVT_F64_S32;
        if (to == TYPE_F64 && from == TYPE_U32)
            return ROW_CVT_F64_U32;
        if (to == TYPE_F64 && from == TYPE_F32)
            return ROW_CVT_F64_F32;
    }
    return ROW_NONE;
}

Operation operation_cvt(const Signature *signature)
{
    Type to = signature->types[0], from = signature->types[1];
    ConvertType to_type = convert_type(to), from_type = convert_type(from);
    bool integral;
    uint32_t control = convert_control(signature, &integral);
    uint32_t kind = (uint32_t)from_type | (uint32_t)to_type << 4 | (uint32_t)integral << 8;
    Operation operation = {.dest = to, .sources = {from}, .source_count = 1};

    RowId row = convert_row(to, from, control);
    if (row != ROW_NONE)
        operation.row = row_function(row);

    if (to == TYPE_F16X2 || to == TYPE_BF16X2) {
        operation.sources[operation.source_count++] = from;
        operation.scalar = convert_pair;
        control |= 16;
        if (signature_has(signature, MOD_RS)) {
            operation.scalar = convert_stochastic;
            operation.sources[operation.source_count++] = TYPE_B32;
        }
    } else if (to == TYPE_TF32) {
        operation.dest = TYPE_B32;
        operation.scalar = convert_tf32;
    } else if (to_type == CONVERT_INTEGER && from_type == CONVERT_INTEGER) {
        operation.scalar = convert_integer;
        kind = type_bits(to) | (uint32_t)(type_class(to) == CLASS_SIGNED) << 7;
        control |= integer_control(from);
    } else if (to_type == CONVERT_INTEGER) {
        operation.scalar = convert_to_integer;
        control |= integer_control(to);
    } else if (from_type == CONVERT_INTEGER) {
        operation.scalar = convert_from_integer;
        control |= integer_control(from);
    } else {
        operation.scalar = convert_float;
    }
    operation.control = control | kind << CONTROL_KIND_SHIFT;
    return operation;
}
