/* Conversions. */
#include "machine/internal.h"

#include <math.h>

/* The types that an instruction's modifiers name, in the order of the text. */
typedef enum NumberType {
    NUMBER_S32, NUMBER_U32, NUMBER_S64, NUMBER_U64, NUMBER_S16, NUMBER_U16, NUMBER_S8, NUMBER_U8,
    NUMBER_F32, NUMBER_F16, NUMBER_BF16, NUMBER_F64,
    NUMBER_NONE,
} NumberType;

static NumberType type_of_suffix(SuffixId suffix)
{
    switch (suffix) {
    case SUFFIX_S32: return NUMBER_S32;
    case SUFFIX_U32: return NUMBER_U32;
    case SUFFIX_S64: return NUMBER_S64;
    case SUFFIX_U64: return NUMBER_U64;
    case SUFFIX_S16: return NUMBER_S16;
    case SUFFIX_U16: return NUMBER_U16;
    case SUFFIX_S8: return NUMBER_S8;
    case SUFFIX_U8: return NUMBER_U8;
    case SUFFIX_F32: return NUMBER_F32;
    case SUFFIX_F16: return NUMBER_F16;
    case SUFFIX_BF16: return NUMBER_BF16;
    case SUFFIX_F64: return NUMBER_F64;
    default: return NUMBER_NONE;
    }
}

static bool is_integer_type(NumberType type) { return type < NUMBER_F32; }
static bool is_signed_type(NumberType type)
{
    return type == NUMBER_S32 || type == NUMBER_S64 || type == NUMBER_S16 || type == NUMBER_S8;
}

static unsigned integer_bits(NumberType type)
{
    static const uint8_t bits[] = {32, 32, 64, 64, 16, 16, 8, 8};
    return bits[type];
}

/* The first type of the kind among the modifiers, or 'otherwise'. */
static NumberType find_type(const Decoded *it, bool integer, NumberType otherwise)
{
    for (unsigned i = 0; i < it->order_count; i++) {
        const NumberType type = type_of_suffix(it->order[i]);
        if (type != NUMBER_NONE && is_integer_type(type) == integer)
            return type;
    }
    return otherwise;
}

/* A floating-point operand's value. NaNs keep nothing but being one. */
static double value_as(const Thread *thread, const Decoded *it, const Place *place, NumberType type)
{
    if (type == NUMBER_F64)
        return double_from_bits(float64(thread, place));
    if (type == NUMBER_F32) {
        uint32_t bits = float32(thread, place);
        return float_from_bits(has(it, SUFFIX_FTZ) ? format_flush(&FORMAT_F32, bits) : bits);
    }
    uint32_t bits = raw32(thread, place) >> (place->half == HALF_HIGH ? 16 : 0) & 0xffff;
    if (place->absolute)
        bits &= 0x7fff;
    if (place->negated)
        bits ^= 0x8000;
    return format_decode(type == NUMBER_F16 ? &FORMAT_F16 : &FORMAT_BF16, bits);
}

static void give_as(Thread *thread, const Decoded *it, double value, NumberType type)
{
    const Rounding rounding = rounding_of(it);
    const FloatFormat *format = type == NUMBER_F32 ? &FORMAT_F32 : type == NUMBER_F16 ? &FORMAT_F16 : &FORMAT_BF16;
    if (has(it, SUFFIX_SAT))
        value = value > 0 ? value < 1 ? value : 1 : 0;
    if (type == NUMBER_F64)
        set64(thread, &it->operands[0], value == value ? double_bits(value) : F64_NAN);
    else if (type == NUMBER_F32 && has(it, SUFFIX_FTZ))
        set32(thread, &it->operands[0], format_encode_flushed(format, value, rounding));
    else
        set32(thread, &it->operands[0], format_encode(format, value, rounding, false));
}

/* The integer of an operand: part of a register or all of it. */
static uint64_t integer_of(const Thread *thread, const Place *place, NumberType type)
{
    const unsigned bits = integer_bits(type);
    if (bits == 64)
        return integer64(thread, place);
    uint64_t value = integer32(thread, place);
    if (bits < 32)
        value >>= bits == 8 ? 8 * place->byte : place->half == HALF_HIGH ? 16 : 0;
    const unsigned unused = 64 - bits;
    return is_signed_type(type) ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
}

/* An integer rounded to odd in double precision. */
static double integer_odd(uint64_t bits, bool is_signed)
{
    const bool negative = is_signed && (int64_t)bits < 0;
    const uint64_t magnitude = negative ? -bits : bits;
    const unsigned drop = magnitude >> 53 ? 11 - (unsigned)__builtin_clzll(magnitude) : 0;
    uint64_t kept = magnitude >> drop;
    kept |= kept << drop != magnitude;
    const double value = ldexp((double)kept, (int)drop);
    return negative ? -value : value;
}

/* I2F, I2FP and UI2F d, a */
Step execute_from_integer(Thread *thread, const Decoded *it)
{
    const NumberType from = find_type(it, true, NUMBER_S32), to = find_type(it, false, NUMBER_F32);
    const uint64_t bits = integer_of(thread, &it->operands[1], from);
    double value = integer_odd(bits, is_signed_type(from));
    if (to == NUMBER_F64) {
        const double low = (double)(uint32_t)bits;
        const double high = is_signed_type(from) ? (double)((int64_t)bits >> 32) : (double)(bits >> 32);
        value = sum_double(high * 0x1p32, low, rounding_of(it));
    }
    give_as(thread, it, value, to);
    return STEP_ON;
}

/* A number as an integer: out of range is the nearest integer that there is; .NTZ makes NaN zero. */
static uint64_t to_integer(const Decoded *it, double number, NumberType to)
{
    const unsigned bits = integer_bits(to);
    const bool is_signed = is_signed_type(to);
    const double top = ldexp(1, (int)bits - is_signed), bottom = is_signed ? -top : 0;
    const double value = round_integral(number, rounding_of(it));
    if (value != value)
        return has(it, SUFFIX_NTZ) ? 0 : UINT64_C(1) << (bits - 1);
    if (value >= top)
        return UINT64_MAX >> (64 - bits + is_signed);
    if (value <= bottom)
        return is_signed ? -(UINT64_C(1) << (bits - 1)) : 0;
    return is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* F2I and UF2I d, a */
Step execute_to_integer(Thread *thread, const Decoded *it)
{
    const NumberType from = find_type(it, false, NUMBER_F32), to = find_type(it, true, NUMBER_S32);
    const uint64_t result = to_integer(it, value_as(thread, it, &it->operands[1], from), to);
    if (integer_bits(to) == 64)
        set64(thread, &it->operands[0], result);
    else
        set32(thread, &it->operands[0], (uint32_t)result);
    return STEP_ON;
}

/* F2IP.U8.F32 d, RZ, b, RZ: F2I, whose other half packs nothing. */
Step execute_to_packed_integer(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 4 || it->operands[1].index != ZERO_REGISTER || it->operands[3].index != ZERO_REGISTER)
        return stop(thread, MACHINE_UNDECIDED, "this form of a conversion");
    const NumberType to = find_type(it, true, NUMBER_U8);
    set32(thread, &it->operands[0], (uint32_t)to_integer(it, value_as(thread, it, &it->operands[2], NUMBER_F32), to));
    return STEP_ON;
}

/* I2I.TO.FROM.SAT d, a */
Step execute_between_integers(Thread *thread, const Decoded *it)
{
    const NumberType to = type_of_suffix(it->order[0]), from = type_of_suffix(it->order[1]);
    if (!has(it, SUFFIX_SAT) || !is_integer_type(to) || !is_integer_type(from) || integer_bits(to) > 32 ||
        integer_bits(from) > 32)
        return stop(thread, MACHINE_UNDECIDED, "this form of a conversion");
    const int64_t value = (int64_t)integer_of(thread, &it->operands[1], from);
    const int64_t top = INT64_C(1) << (integer_bits(to) - is_signed_type(to)), bottom = is_signed_type(to) ? -top : 0;
    set32(thread, &it->operands[0], (uint32_t)(value >= top ? top - 1 : value < bottom ? bottom : value));
    return STEP_ON;
}

/* FRND d, a */
Step execute_round(Thread *thread, const Decoded *it)
{
    const NumberType type = find_type(it, false, NUMBER_F32);
    const double value = value_as(thread, it, &it->operands[1], type);
    give_as(thread, it, copysign(round_integral(value, rounding_of(it)), value), type);
    return STEP_ON;
}

/* A NaN of f64 keeps its sign and its upper bits, made quiet, in a narrower format. */
static uint32_t narrow_nan(uint64_t bits, unsigned mantissa, unsigned exponent)
{
    const uint32_t quiet = ((UINT32_C(1) << (exponent + 1)) - 1) << (mantissa - 1);
    return (uint32_t)(bits >> 63) << (mantissa + exponent) | quiet |
           (uint32_t)(bits >> (52 - mantissa) & ((UINT32_C(1) << mantissa) - 1));
}

/* A NaN of f32 keeps its sign and all bits in f64. */
static uint64_t widen_nan(uint32_t bits)
{
    return (uint64_t)(bits >> 31) << 63 | UINT64_C(0x7ff8000000000000) | (uint64_t)(bits & 0x7fffff) << 29;
}

/* F2F.TO.FROM d, a */
Step execute_between_floats(Thread *thread, const Decoded *it)
{
    NumberType types[2] = {NUMBER_NONE, NUMBER_NONE};
    unsigned count = 0;
    for (unsigned i = 0; i < it->order_count && count < 2; i++)
        if (type_of_suffix(it->order[i]) != NUMBER_NONE)
            types[count++] = type_of_suffix(it->order[i]);
    if (count != 2)
        return stop(thread, MACHINE_UNDECIDED, "this form of a conversion");
    const double value = value_as(thread, it, &it->operands[1], types[1]);
    if (value != value && types[1] == NUMBER_F64 && types[0] != NUMBER_F64 && !has(it, SUFFIX_SAT)) {
        const uint64_t bits = float64(thread, &it->operands[1]);
        set32(thread, &it->operands[0], types[0] == NUMBER_F32   ? narrow_nan(bits, 23, 8)
                                        : types[0] == NUMBER_F16 ? narrow_nan(bits, 10, 5)
                                                                 : narrow_nan(bits, 7, 8));
        return STEP_ON;
    }
    if (value != value && types[0] == NUMBER_F64) {
        const uint32_t bits = types[1] == NUMBER_F32 ? float32(thread, &it->operands[1]) : F32_NAN;
        set64(thread, &it->operands[0], widen_nan(bits));
        return STEP_ON;
    }
    give_as(thread, it, value, types[0]);
    return STEP_ON;
}

/* F2FP.TO.F32.PACK_AB d, a, b: b is the lower half. */
Step execute_pack_floats(Thread *thread, const Decoded *it)
{
    const FloatFormat *format = has(it, SUFFIX_BF16) ? &FORMAT_BF16 : &FORMAT_F16;
    uint32_t result = 0;
    if (it->operand_count != 3)
        return stop(thread, MACHINE_UNDECIDED, "this form of a conversion");
    for (unsigned i = 0; i < 2; i++) {
        double value = float_from_bits(float32(thread, &it->operands[2 - i]));
        if (has(it, SUFFIX_RELU) && !(value > 0) && value == value)
            value = 0;
        result |= format_encode(format, value, rounding_of(it), false) << 16 * i;
    }
    set32(thread, &it->operands[0], result);
    return STEP_ON;
}
