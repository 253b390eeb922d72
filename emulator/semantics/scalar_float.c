/* Floating-point arithmetic: PTX ISA, "Floating-Point Instructions" and the chapters on half and mixed precision. Each
 * instruction's value of one lane, and the choice between that and a function of whole rows. */
#include "emulator/semantics/approximate.h"
#include "emulator/semantics/operation.h"

#include <math.h>

static const FloatFormat *const formats[] = {&FORMAT_F32, &FORMAT_F16, &FORMAT_BF16};

enum { TESTP_FINITE, TESTP_INFINITE, TESTP_NUMBER, TESTP_NOTANUMBER, TESTP_NORMAL, TESTP_SUBNORMAL };

static double sum_signed(double a, double b, Rounding rounding)
{
    double sum = sum_odd(a, b);
    /* x + -x is +0 in every mode but this one. */
    if (sum == 0 && rounding == ROUND_DOWN && (signbit(a) || signbit(b)))
        return -0.0;
    return sum;
}

static uint32_t format_sign(const FloatFormat *format)
{
    return UINT32_C(1) << (format->exponent_bits + format->mantissa_bits);
}

/* min and max of patterns; NaN loses unless CONTROL_NAN; -0 is less than +0. */
static uint32_t minmax(const FloatFormat *format, bool max, uint32_t a, uint32_t b, uint32_t control)
{
    uint32_t sign = format_sign(format), flip = 0;
    if (control & CONTROL_XORSIGN)
        flip = (a ^ b) & sign;
    if (control & (CONTROL_XORSIGN | CONTROL_ABS)) {
        a &= ~sign;
        b &= ~sign;
    }
    double x = format_decode(format, a), y = format_decode(format, b);
    if (x != x || y != y) {
        if (control & CONTROL_NAN || (x != x && y != y))
            return format->nan;
        return (x != x ? b : a) | flip;
    }
    bool less = x < y || (x == y && signbit(x) > signbit(y));
    return (less != max ? a : b) | flip;
}

/* div.approx multiplies by the reciprocal, and a subnormal reciprocal is taken as zero. */
static double divide_approximately(double a, double b)
{
    if (fabs(b) > 0x1p126 && fabs(b) < 0x1p128)
        return isfinite(a) ? copysign(0, a) * copysign(1, b) : (double)NAN;
    return quotient_odd(a, b);
}

static uint32_t float_compute(unsigned operation, const FloatFormat *format, const uint32_t *s, uint32_t control)
{
    Rounding rounding = CONTROL_ROUNDING(control);
    uint32_t p[3] = {s[0], s[1], s[2]}, result;
    double value = 0;

    if (control & CONTROL_FTZ)
        for (unsigned i = 0; i < 3; i++)
            p[i] = format_flush(format, p[i]);
    double a = format_decode(format, p[0]), b = format_decode(format, p[1]), c = format_decode(format, p[2]);

    switch (operation) {
    case FLOAT_NEG:
    case FLOAT_ABS:
        if (a != a)
            return format->nan;
        return operation == FLOAT_NEG ? p[0] ^ format_sign(format) : p[0] & ~format_sign(format);
    case FLOAT_MIN:
    case FLOAT_MAX: return minmax(format, operation == FLOAT_MAX, p[0], p[1], control);
    case FLOAT_MIN3:
    case FLOAT_MAX3:
        result = minmax(format, operation == FLOAT_MAX3, p[0], p[1], control);
        return minmax(format, operation == FLOAT_MAX3, result, p[2], control);
    case FLOAT_ADD: value = sum_signed(a, b, rounding); break;
    case FLOAT_SUB: value = sum_signed(a, -b, rounding); break;
    case FLOAT_MUL: value = a * b; break;
    case FLOAT_FMA: value = sum_signed(a * b, c, rounding); break;
    case FLOAT_DIV: value = quotient_odd(a, b); break;
    case FLOAT_DIV_APPROX: value = divide_approximately(a, b); break;
    case FLOAT_RCP: value = quotient_odd(1, a); break;
    case FLOAT_SQRT: value = root_odd(a); break;
    case FLOAT_RSQRT: value = 1 / sqrt(a); break;
    case FLOAT_SIN: value = approximate_sin(a); break;
    case FLOAT_COS: value = approximate_cos(a); break;
    case FLOAT_LG2: value = approximate_lg2(a); break;
    case FLOAT_EX2: value = approximate_ex2(a); break;
    case FLOAT_TANH: value = approximate_tanh(a); break;
    }
    if (control & CONTROL_OOB) {
        /* This NaN, of either sign, means "out of bounds". */
        enum { OUT_OF_BOUNDS = 0x7ff7 };
        uint32_t magnitude = format_sign(format) - 1;
        if ((p[0] & magnitude) == OUT_OF_BOUNDS || (p[1] & magnitude) == OUT_OF_BOUNDS)
            value = 0;
    }
    if (control & CONTROL_SAT)
        value = value > 0 ? value < 1 ? value : 1 : 0; /* NaN becomes +0 */
    if (control & CONTROL_RELU && !(value > 0) && value == value)
        value = 0;
    return control & CONTROL_FTZ ? format_encode_flushed(format, value, rounding)
                                 : format_encode(format, value, rounding, false);
}

uint64_t float_operation(FloatOperation operation, unsigned format, uint64_t a, uint64_t b, uint32_t control)
{
    uint32_t s[3] = {(uint32_t)a, (uint32_t)b, 0};
    return float_compute(operation, formats[format], s, control);
}

static uint64_t scalar_float(const uint64_t *s, uint32_t control)
{
    unsigned operation = CONTROL_KIND(control) & 31, id = CONTROL_KIND(control) >> 5 & 3;
    const FloatFormat *format = formats[id];
    unsigned bits = id == FORMAT_ID_F32 ? 32 : 16;
    uint64_t result = 0;
    for (unsigned shift = 0; shift < (control & CONTROL_PAIR ? 2 * bits : bits); shift += bits) {
        uint32_t parts[3];
        for (unsigned i = 0; i < 3; i++)
            parts[i] = (uint32_t)(s[i] >> shift & width_mask(bits));
        result |= (uint64_t)float_compute(operation, format, parts, control) << shift;
    }
    return result;
}

/* .f32 with operands of type .f16 or .bf16 (the format in the kind): add, sub (a, c), fma (a, b, c). */
static uint64_t scalar_mixed(const uint64_t *s, uint32_t control)
{
    unsigned operation = CONTROL_KIND(control) & 31;
    const FloatFormat *format = formats[CONTROL_KIND(control) >> 5 & 3];
    uint32_t parts[3] = {0};
    unsigned narrow = operation == FLOAT_FMA ? 2 : 1;
    for (unsigned i = 0; i <= narrow; i++)
        parts[i] = i < narrow ? format_encode(&FORMAT_F32, format_decode(format, (uint32_t)s[i]), ROUND_ZERO, false)
                              : (uint32_t)s[i];
    return float_compute(operation, &FORMAT_F32, parts, control);
}

uint64_t scalar_double(const uint64_t *s, uint32_t control)
{
    Rounding rounding = CONTROL_ROUNDING(control);
    double a = double_from_bits(s[0]), b = double_from_bits(s[1]), value = 0;
    switch (CONTROL_KIND(control) & 31) {
    case FLOAT_ADD: value = sum_double(a, b, rounding); break;
    case FLOAT_SUB: value = sum_double(a, -b, rounding); break;
    case FLOAT_MUL: value = product_double(a, b, rounding); break;
    case FLOAT_FMA: value = fma_double(a, b, double_from_bits(s[2]), rounding); break;
    case FLOAT_DIV: value = quotient_double(a, b, rounding); break;
    case FLOAT_RCP: value = quotient_double(1, a, rounding); break;
    case FLOAT_SQRT: value = root_double(a, rounding); break;
    case FLOAT_RSQRT: value = 1 / sqrt(a); break;
    case FLOAT_MIN:
    case FLOAT_MAX:
        if (a != a || b != b) {
            value = a != a ? b : a;
            break;
        }
        return (a < b || (a == b && signbit(a) > signbit(b))) == ((CONTROL_KIND(control) & 31) == FLOAT_MIN) ? s[0]
                                                                                                             : s[1];
    }
    return value == value ? double_bits(value) : F64_NAN;
}

/* rcp and rsqrt.approx.ftz.f64: from the upper word alone, with a lower word of zero. */
static uint64_t scalar_coarse_double(const uint64_t *s, uint32_t control)
{
    uint64_t high = s[0] & ~(uint64_t)UINT32_MAX;
    if (!(high & UINT64_C(0x7ff0000000000000)))
        high &= UINT64_C(0x8000000000000000);
    double a = double_from_bits(high);
    double value = CONTROL_KIND(control) == FLOAT_RCP ? 1 / a : 1 / sqrt(a);
    if (value != value)
        return UINT64_C(0x7fffffff00000000);
    uint64_t bits = double_bits(value) & ~(uint64_t)UINT32_MAX;
    return bits & UINT64_C(0x7ff0000000000000) ? bits : bits & UINT64_C(0x8000000000000000);
}

static uint64_t scalar_testp(const uint64_t *s, uint32_t control)
{
    double value = (control & CONTROL_WIDTH) == 32 ? (double)float_from_bits((uint32_t)s[0]) : double_from_bits(s[0]);
    bool subnormal =
        (control & CONTROL_WIDTH) == 32 ? value != 0 && fabs(value) < 0x1p-126 : value != 0 && fabs(value) < 0x1p-1022;
    switch (CONTROL_KIND(control)) {
    case TESTP_FINITE: return isfinite(value);
    case TESTP_INFINITE: return isinf(value) != 0;
    case TESTP_NUMBER: return value == value;
    case TESTP_NOTANUMBER: return value != value;
    case TESTP_NORMAL: return isfinite(value) && !subnormal;
    default: return subnormal;
    }
}

uint64_t scalar_copysign(const uint64_t *s, uint32_t control)
{
    uint64_t sign = UINT64_C(1) << ((control & CONTROL_WIDTH) - 1);
    return (s[0] & sign) | (s[1] & (sign - 1));
}

/* Functions of whole rows for a floating-point instruction, each ROW_NONE if there is none. */
typedef struct FloatRows {
    RowId f32, f32_ftz, f64; /* the last rounds to nearest */
} FloatRows;

static Operation float_by_lane(const Signature *signature, FloatOperation kind, unsigned source_count)
{
    Type type = signature->types[0];
    uint32_t control = modifier_control(signature);
    if (type == TYPE_F64)
        return operation_by_lane(scalar_double, control | (uint32_t)kind << CONTROL_KIND_SHIFT, type, source_count);
    uint32_t format = type == TYPE_BF16 || type == TYPE_BF16X2 ? FORMAT_ID_BF16
                      : type == TYPE_F16 || type == TYPE_F16X2 ? FORMAT_ID_F16
                                                               : FORMAT_ID_F32;
    if (type == TYPE_F16X2 || type == TYPE_BF16X2 || type == TYPE_F32X2)
        control |= CONTROL_PAIR;
    return operation_by_lane(scalar_float, control | ((uint32_t)kind | format << 5) << CONTROL_KIND_SHIFT, type,
                             source_count);
}

/* All operands have the instruction's type. */
static Operation float_on_rows(const Signature *signature, FloatOperation kind, unsigned source_count, FloatRows rows)
{
    Type type = signature->types[0];
    uint32_t control = modifier_control(signature);
    RowId row = ROW_NONE;
    if (type == TYPE_F64 && CONTROL_ROUNDING(control) == ROUND_NEAREST_EVEN)
        row = rows.f64;
    else if (type == TYPE_F32 && !control)
        row = rows.f32;
    else if (type == TYPE_F32 && control == CONTROL_FTZ)
        row = rows.f32_ftz;
    return row != ROW_NONE ? operation_on_rows(row, type, source_count) : float_by_lane(signature, kind, source_count);
}

/* add.f32.f16 and the like. */
static Operation mixed(const Signature *signature, FloatOperation kind, unsigned source_count)
{
    Type narrow = signature->types[1];
    uint32_t format = narrow == TYPE_BF16 ? FORMAT_ID_BF16 : FORMAT_ID_F16;
    uint32_t control = modifier_control(signature) | ((uint32_t)kind | format << 5) << CONTROL_KIND_SHIFT;
    Operation operation = operation_by_lane(scalar_mixed, control, TYPE_F32, source_count);
    for (unsigned i = 0; i + 1 < source_count; i++)
        operation.sources[i] = narrow;
    return operation;
}

Operation operation_add_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_ADD, 2, (FloatRows){ROW_ADD_F32, ROW_ADD_F32_FTZ, ROW_ADD_F64});
}

Operation operation_sub_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_SUB, 2, (FloatRows){ROW_SUB_F32, ROW_SUB_F32_FTZ, ROW_SUB_F64});
}

Operation operation_mul_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_MUL, 2, (FloatRows){ROW_MUL_F32, ROW_MUL_F32_FTZ, ROW_MUL_F64});
}

Operation operation_fma(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_FMA, 3, (FloatRows){ROW_FMA_F32, ROW_FMA_F32_FTZ, ROW_FMA_F64});
}

Operation operation_div_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_DIV, 2, (FloatRows){ROW_DIV_F32, ROW_DIV_F32_FTZ, ROW_DIV_F64});
}

Operation operation_div_approx(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_DIV_APPROX, 2);
}

Operation operation_abs_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_ABS, 1, (FloatRows){ROW_ABS_F32, ROW_NONE, ROW_ABS_F64});
}

Operation operation_neg_float(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_NEG, 1, (FloatRows){ROW_NEG_F32, ROW_NONE, ROW_NEG_F64});
}

Operation operation_min_float(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_MIN, 2);
}

Operation operation_max_float(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_MAX, 2);
}

Operation operation_min3(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_MIN3, 3);
}

Operation operation_max3(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_MAX3, 3);
}

Operation operation_rcp(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_RCP, 1, (FloatRows){ROW_RCP_F32, ROW_NONE, ROW_NONE});
}

Operation operation_sqrt(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_SQRT, 1, (FloatRows){ROW_SQRT_F32, ROW_NONE, ROW_SQRT_F64});
}

Operation operation_rsqrt(const Signature *signature)
{
    return float_on_rows(signature, FLOAT_RSQRT, 1, (FloatRows){ROW_RSQRT_F32, ROW_NONE, ROW_NONE});
}

Operation operation_sin(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_SIN, 1);
}

Operation operation_cos(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_COS, 1);
}

Operation operation_lg2(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_LG2, 1);
}

Operation operation_ex2(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_EX2, 1);
}

Operation operation_tanh(const Signature *signature)
{
    return float_by_lane(signature, FLOAT_TANH, 1);
}

Operation operation_add_mixed(const Signature *signature)
{
    return mixed(signature, FLOAT_ADD, 2);
}

Operation operation_sub_mixed(const Signature *signature)
{
    return mixed(signature, FLOAT_SUB, 2);
}

Operation operation_fma_mixed(const Signature *signature)
{
    return mixed(signature, FLOAT_FMA, 3);
}

Operation operation_rcp_coarse(const Signature *signature)
{
    (void)signature;
    return operation_by_lane(scalar_coarse_double, FLOAT_RCP << CONTROL_KIND_SHIFT, TYPE_F64, 1);
}

Operation operation_rsqrt_coarse(const Signature *signature)
{
    (void)signature;
    return operation_by_lane(scalar_coarse_double, FLOAT_RSQRT << CONTROL_KIND_SHIFT, TYPE_F64, 1);
}

Operation operation_testp(const Signature *signature)
{
    static const ModId tests[] = {
        [TESTP_FINITE] = MOD_FINITE,         [TESTP_INFINITE] = MOD_INFINITE, [TESTP_NUMBER] = MOD_NUMBER,
        [TESTP_NOTANUMBER] = MOD_NOTANUMBER, [TESTP_NORMAL] = MOD_NORMAL,     [TESTP_SUBNORMAL] = MOD_SUBNORMAL,
    };
    Type type = signature->types[0];
    uint32_t test = 0;
    while (test + 1 < COUNT_OF(tests) && !signature_has(signature, tests[test]))
        test++;
    Operation operation = operation_by_lane(scalar_testp, type_bits(type) | test << CONTROL_KIND_SHIFT, type, 1);
    operation.dest = TYPE_PRED;
    return operation;
}
