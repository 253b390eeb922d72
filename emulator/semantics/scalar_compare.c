/* set and setp: PTX ISA, "Comparison and Selection Instructions". */
#include "emulator/semantics/compare.h"
#include "emulator/semantics/operation.h"

/* Within the kind of the control word: 4 bits CompareKind, 3 bits class of the operands, 3 bits form of set's result.
 * The rounding field holds set's BoolKind. */
enum { CLASS_ID_INTEGER, CLASS_ID_F32, CLASS_ID_F64, CLASS_ID_F16, CLASS_ID_BF16 };
enum {
    RESULT_ONES_32,
    RESULT_ONES_16,
    RESULT_F32,
    RESULT_F16,
    RESULT_BF16,
    RESULT_F16X2,
    RESULT_BF16X2,
    RESULT_ONES_16X2
};

static bool compare_doubles(CompareKind kind, double a, double b)
{
    switch (kind) {
    case COMPARE_EQ: return a == b;
    case COMPARE_NE: return a < b || a > b;
    case COMPARE_LT: return a < b;
    case COMPARE_LE: return a <= b;
    case COMPARE_GT: return a > b;
    case COMPARE_GE: return a >= b;
    case COMPARE_EQU: return !(a < b || a > b);
    case COMPARE_NEU: return a != b;
    case COMPARE_LTU: return !(a >= b);
    case COMPARE_LEU: return !(a > b);
    case COMPARE_GTU: return !(a <= b);
    case COMPARE_GEU: return !(a < b);
    case COMPARE_NUM: return a == a && b == b;
    default: return a != a || b != b;
    }
}

static bool compare_integers(CompareKind kind, uint64_t a, uint64_t b, uint32_t control)
{
    unsigned width = control & CONTROL_WIDTH;
    a &= width_mask(width);
    b &= width_mask(width);
    bool less = control & CONTROL_SIGNED ? sign_extend(a, width) < sign_extend(b, width) : a < b;
    switch (kind) {
    case COMPARE_EQ: return a == b;
    case COMPARE_NE: return a != b;
    case COMPARE_LT: return less;
    case COMPARE_LE: return less || a == b;
    case COMPARE_GT: return !less && a != b;
    default: return !less;
    }
}

/* One comparison; with CONTROL_PAIR bit 0 for the lower halves, bit 1 for the upper. */
static uint64_t scalar_compare(const uint64_t *s, uint32_t control)
{
    CompareKind kind = (CompareKind)(CONTROL_KIND(control) & 15);
    unsigned class = CONTROL_KIND(control) >> 4 & 7;
    if (class == CLASS_ID_INTEGER)
        return compare_integers(kind, s[0], s[1], control);
    if (class == CLASS_ID_F64)
        return compare_doubles(kind, double_from_bits(s[0]), double_from_bits(s[1]));
    const FloatFormat *format = class == CLASS_ID_F32   ? &FORMAT_F32
                                : class == CLASS_ID_F16 ? &FORMAT_F16
                                                        : &FORMAT_BF16;
    unsigned bits = class == CLASS_ID_F32 ? 32 : 16;
    uint64_t result = 0;
    for (unsigned half = 0; half < (control & CONTROL_PAIR ? 2u : 1u); half++) {
        uint32_t a = (uint32_t)(s[0] >> (half * bits) & width_mask(bits));
        uint32_t b = (uint32_t)(s[1] >> (half * bits) & width_mask(bits));
        if (control & CONTROL_FTZ) {
            a = format_flush(format, a);
            b = format_flush(format, b);
        }
        result |= (uint64_t)compare_doubles(kind, format_decode(format, a), format_decode(format, b)) << half;
    }
    return result;
}

static uint64_t scalar_set(const uint64_t *s, uint32_t control)
{
    uint64_t truth = scalar_compare(s, control);
    /* The predicate combines with each half. */
    uint64_t with = s[2] ? 3 : 0;
    switch ((BoolKind)(control >> CONTROL_ROUNDING_SHIFT & 7)) {
    case BOOL_NONE: break;
    case BOOL_AND: truth &= with; break;
    case BOOL_OR: truth |= with; break;
    case BOOL_XOR: truth ^= with; break;
    }
    bool low = truth & 1, high = truth & 2;
    switch (CONTROL_KIND(control) >> 7 & 7) {
    case RESULT_ONES_32: return low ? UINT32_MAX : 0;
    case RESULT_ONES_16: return low ? 0xffff : 0;
    case RESULT_F32: return low ? 0x3f800000 : 0;
    case RESULT_F16: return low ? 0x3c00 : 0;
    case RESULT_BF16: return low ? 0x3f80 : 0;
    case RESULT_F16X2: return (low ? 0x3c00u : 0) | (high ? 0x3c000000u : 0);
    case RESULT_BF16X2: return (low ? 0x3f80u : 0) | (high ? 0x3f800000u : 0);
    default: return (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);
    }
}

static const struct {
    ModId mod;
    CompareKind kind;
} comparisons[] = {
    {MOD_EQ, COMPARE_EQ},   {MOD_NE, COMPARE_NE},   {MOD_LT, COMPARE_LT},   {MOD_LE, COMPARE_LE},
    {MOD_GT, COMPARE_GT},   {MOD_GE, COMPARE_GE},   {MOD_LO, COMPARE_LT},   {MOD_LS, COMPARE_LE},
    {MOD_HI, COMPARE_GT},   {MOD_HS, COMPARE_GE},   {MOD_EQU, COMPARE_EQU}, {MOD_NEU, COMPARE_NEU},
    {MOD_LTU, COMPARE_LTU}, {MOD_LEU, COMPARE_LEU}, {MOD_GTU, COMPARE_GTU}, {MOD_GEU, COMPARE_GEU},
    {MOD_NUM, COMPARE_NUM}, {MOD_NAN, COMPARE_NAN},
};

/* The rows of a type, in CompareKind's order; ROW_NONE: none. */
static RowId comparison_row(CompareKind kind, Type type)
{
    RowId first, unordered = ROW_NONE;
    switch (type) {
    case TYPE_B16:
    case TYPE_U16: first = ROW_EQ_U16; break;
    case TYPE_S16: first = ROW_EQ_S16; break;
    case TYPE_B32:
    case TYPE_U32: first = ROW_EQ_U32; break;
    case TYPE_S32: first = ROW_EQ_S32; break;
    case TYPE_B64:
    case TYPE_U64: first = ROW_EQ_U64; break;
    case TYPE_S64: first = ROW_EQ_S64; break;
    case TYPE_F32:
        first = ROW_EQ_F32;
        unordered = ROW_EQU_F32;
        break;
    case TYPE_F64:
        first = ROW_EQ_F64;
        unordered = ROW_EQU_F64;
        break;
    default: return ROW_NONE;
    }
    if (kind <= COMPARE_GE)
        return (RowId)(first + kind);
    return unordered == ROW_NONE ? ROW_NONE : (RowId)(unordered + (kind - COMPARE_EQU));
}
_Static_assert(ROW_GE_F32 - ROW_EQ_F32 == COMPARE_GE - COMPARE_EQ, "rows follow CompareKind");
_Static_assert(ROW_NAN_F64 - ROW_EQU_F64 == COMPARE_NAN - COMPARE_EQU, "rows follow CompareKind");

static unsigned operand_class(Type type, bool *pair)
{
    *pair = type == TYPE_F16X2 || type == TYPE_BF16X2;
    switch (type) {
    case TYPE_F32: return CLASS_ID_F32;
    case TYPE_F64: return CLASS_ID_F64;
    case TYPE_F16:
    case TYPE_F16X2: return CLASS_ID_F16;
    case TYPE_BF16:
    case TYPE_BF16X2: return CLASS_ID_BF16;
    default: return CLASS_ID_INTEGER;
    }
}

static unsigned result_form(Type dest, bool pair)
{
    switch (dest) {
    case TYPE_F32: return RESULT_F32;
    case TYPE_F16: return RESULT_F16;
    case TYPE_BF16: return RESULT_BF16;
    case TYPE_F16X2: return RESULT_F16X2;
    case TYPE_BF16X2: return RESULT_BF16X2;
    default: return pair ? RESULT_ONES_16X2 : type_bits(dest) == 16 ? RESULT_ONES_16 : RESULT_ONES_32;
    }
}

/* The comparison of operands of the type, as a number, with its control word. */
static Operation compare(const Signature *signature, Type type, CompareKind *kind)
{
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        if (signature_has(signature, comparisons[i].mod))
            *kind = comparisons[i].kind;
    bool pair;
    unsigned class = operand_class(type, &pair);
    uint32_t control = (pair ? CONTROL_PAIR : 0) | (signature_has(signature, MOD_FTZ) ? CONTROL_FTZ : 0);
    if (type_class(type) == CLASS_SIGNED)
        control |= CONTROL_SIGNED;
    if (class == CLASS_ID_INTEGER)
        control |= type_bits(type);
    control |= ((uint32_t)*kind | class << 4) << CONTROL_KIND_SHIFT;
    return operation_by_lane(scalar_compare, control, type, 2);
}

static BoolKind combination(const Signature *signature)
{
    return signature_has(signature, MOD_AND)   ? BOOL_AND
           : signature_has(signature, MOD_OR)  ? BOOL_OR
           : signature_has(signature, MOD_XOR) ? BOOL_XOR
                                               : BOOL_NONE;
}

Operation operation_set(const Signature *signature)
{
    Type dest = signature->types[0];
    CompareKind kind = COMPARE_EQ;
    Operation operation = compare(signature, signature->types[1], &kind);
    BoolKind combine = combination(signature);
    uint32_t form = result_form(dest, operation.control & CONTROL_PAIR);
    operation.scalar = scalar_set;
    operation.dest = dest;
    operation.control |= form << 7 << CONTROL_KIND_SHIFT | (uint32_t)combine << CONTROL_ROUNDING_SHIFT;
    if (combine != BOOL_NONE)
        operation.sources[operation.source_count++] = TYPE_PRED;
    return operation;
}

Operation comparison_select(const Signature *signature)
{
    Type type = signature->types[0];
    CompareKind kind = COMPARE_EQ;
    Operation operation = compare(signature, type, &kind);
    RowId row = operation.control & CONTROL_FTZ ? ROW_NONE : comparison_row(kind, type);
    if (row != ROW_NONE)
        operation.row = row_function(row);
    operation.dest = TYPE_PRED;
    operation.combine = combination(signature);
    if (operation.combine != BOOL_NONE)
        operation.sources[operation.source_count++] = TYPE_PRED;
    return operation;
}
