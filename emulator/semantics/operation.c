/* Chooses the function of a pure instruction from its opcode and modifiers. */
#include "emulator/semantics/semantics.h"

unsigned type_row_bytes(Type type)
{
    unsigned bits = type_bits(type);
    return bits == 1 ? 0 : bits <= 16 ? 2 : bits / 8;
}

/* The control bits of the modifiers that mean the same in every instruction. */
static uint32_t common_control(const Signature *signature)
{
    static const struct {
        ModId mod;
        uint32_t control;
    } flags[] = {
        {MOD_FTZ, CONTROL_FTZ},
        {MOD_SAT, CONTROL_SAT},
        {MOD_RELU, CONTROL_RELU},
        {MOD_NaN, CONTROL_NAN},
        {MOD_XORSIGN, CONTROL_XORSIGN},
        {MOD_HI, CONTROL_HIGH},
        {MOD_WRAP, CONTROL_WRAP},
        {MOD_OOB, CONTROL_OOB},
        {MOD_RZ, ROUND_ZERO << CONTROL_ROUNDING_SHIFT},
        {MOD_RM, ROUND_DOWN << CONTROL_ROUNDING_SHIFT},
        {MOD_RP, ROUND_UP << CONTROL_ROUNDING_SHIFT},
    };
    uint32_t control = 0;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (signature_has(signature, flags[i].mod))
            control |= flags[i].control;
    /* .xorsign.abs is one modifier in two words. */
    if (signature_has(signature, MOD_ABS) && !(control & CONTROL_XORSIGN))
        control |= CONTROL_ABS;
    return control;
}

static uint32_t integer_control(Type type)
{
    return type_bits(type) | (type_class(type) == CLASS_SIGNED ? CONTROL_SIGNED : 0);
}

static bool is_float(Type type)
{
    return type_class(type) == CLASS_FLOAT;
}

static void set_sources(Operation *operation, Type type, unsigned count)
{
    operation->dest = type;
    operation->source_count = count;
    for (unsigned i = 0; i < count; i++)
        operation->sources[i] = type;
}

static bool with_row(Operation *operation, RowId row)
{
    operation->row = row_function(row);
    return true;
}

static bool with_scalar(Operation *operation, ScalarFunction *function, uint32_t control, unsigned kind)
{
    operation->scalar = function;
    operation->control = control | (uint32_t)kind << CONTROL_KIND_SHIFT;
    return true;
}

/* The row for 16, 32 or 64 bits, where the three stand in this order. */
static RowId by_width(RowId first, Type type)
{
    unsigned bits = type_bits(type);
    return (RowId)(first + (bits == 64 ? 2 : bits == 32 ? 1 : 0));
}
_Static_assert(ROW_ADD_64 == ROW_ADD_16 + 2 && ROW_SHL_64 == ROW_SHL_16 + 2 && ROW_MAX_S64 == ROW_MAX_S16 + 2 &&
                   ROW_SELECT_64 == ROW_SELECT_16 + 2 && ROW_COPY_64 == ROW_COPY_16 + 2 && ROW_NOT_64 == ROW_NOT_16 + 2,
               "rows of a kind stand in the order 16, 32, 64");

/* A floating-point instruction on all operands of its type; 'row' and 'row_ftz' for f32 or f64 where there are any. */
static bool select_float(Operation *operation, const Signature *signature, unsigned kind, unsigned sources, RowId row,
                         RowId row_ftz, RowId row_double)
{
    Type type = signature->types[0];
    uint32_t control = common_control(signature);
    set_sources(operation, type, sources);
    if (type == TYPE_F64) {
        if (row_double != ROW_NONE && CONTROL_ROUNDING(control) == ROUND_NEAREST_EVEN)
            return with_row(operation, row_double);
        return with_scalar(operation, scalar_double, control, kind);
    }
    if (type == TYPE_F32) {
        uint32_t rest = control & ~(uint32_t)CONTROL_FTZ;
        if (!rest && row != ROW_NONE && !(control & CONTROL_FTZ))
            return with_row(operation, row);
        if (!rest && row_ftz != ROW_NONE && control & CONTROL_FTZ)
            return with_row(operation, row_ftz);
        return with_scalar(operation, scalar_float, control, kind | FORMAT_ID_F32 << 5);
    }
    unsigned format = type == TYPE_BF16 || type == TYPE_BF16X2 ? FORMAT_ID_BF16
                      : type == TYPE_F32X2                     ? FORMAT_ID_F32
                                                               : FORMAT_ID_F16;
    if (type == TYPE_F16X2 || type == TYPE_BF16X2 || type == TYPE_F32X2)
        control |= CONTROL_PAIR;
    return with_scalar(operation, scalar_float, control, kind | format << 5);
}

/* add.f32.f16 and its kin. */
static bool select_mixed(Operation *operation, const Signature *signature, unsigned kind)
{
    unsigned format = signature->types[1] == TYPE_BF16 ? FORMAT_ID_BF16 : FORMAT_ID_F16;
    operation->dest = TYPE_F32;
    operation->source_count = kind == FLOAT_FMA ? 3 : 2;
    operation->sources[0] = signature->types[1];
    operation->sources[1] = kind == FLOAT_FMA ? signature->types[1] : TYPE_F32;
    operation->sources[2] = TYPE_F32;
    return with_scalar(operation, scalar_mixed, common_control(signature), kind | format << 5);
}

static bool select_addsub(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    bool add = opcode == OP_ADD;
    if (signature->type_count == 2)
        return select_mixed(operation, signature, add ? FLOAT_ADD : FLOAT_SUB);
    if (is_float(type))
        return select_float(operation, signature, add ? FLOAT_ADD : FLOAT_SUB, 2, add ? ROW_ADD_F32 : ROW_SUB_F32,
                            add ? ROW_ADD_F32_FTZ : ROW_SUB_F32_FTZ, add ? ROW_ADD_F64 : ROW_SUB_F64);
    set_sources(operation, type, 2);
    if (type == TYPE_U16X2 || type == TYPE_S16X2)
        return add && with_scalar(operation, scalar_pair, integer_control(type), PAIR_ADD);
    if (signature_has(signature, MOD_SAT))
        return with_scalar(operation, scalar_saturating, 0, !add);
    return with_row(operation, by_width(add ? ROW_ADD_16 : ROW_SUB_16, type));
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

static bool select_mul(Operation *operation, const Signature *signature)
{
    Type type = signature->types[0];
    if (is_float(type))
        return select_float(operation, signature, FLOAT_MUL, 2, ROW_MUL_F32, ROW_MUL_F32_FTZ, ROW_MUL_F64);
    set_sources(operation, type, 2);
    bool is_signed = type_class(type) == CLASS_SIGNED, wide = type_bits(type) == 32;
    if (signature_has(signature, MOD_WIDE)) {
        operation->dest = type_of_twice(type);
        return with_row(operation, wide        ? is_signed ? ROW_MULWIDE_S32 : ROW_MULWIDE_U32
                                   : is_signed ? ROW_MULWIDE_S16
                                               : ROW_MULWIDE_U16);
    }
    if (signature_has(signature, MOD_HI)) {
        if (wide)
            return with_row(operation, is_signed ? ROW_MULHI_S32 : ROW_MULHI_U32);
        return with_scalar(operation, scalar_muldiv, integer_control(type), MULDIV_MULHI);
    }
    return with_row(operation, by_width(ROW_MUL_16, type));
}

static bool select_mad(Operation *operation, const Signature *signature)
{
    Type type = signature->types[0];
    if (signature->type_count == 2)
        return select_mixed(operation, signature, FLOAT_FMA);
    if (is_float(type))
        return select_float(operation, signature, FLOAT_FMA, 3, ROW_FMA_F32, ROW_FMA_F32_FTZ, ROW_FMA_F64);
    set_sources(operation, type, 3);
    bool is_signed = type_class(type) == CLASS_SIGNED;
    if (signature_has(signature, MOD_WIDE)) {
        operation->dest = operation->sources[2] = type_of_twice(type);
        return with_row(operation, type_bits(type) == 32 ? is_signed ? ROW_MADWIDE_S32 : ROW_MADWIDE_U32
                                   : is_signed           ? ROW_MADWIDE_S16
                                                         : ROW_MADWIDE_U16);
    }
    if (signature_has(signature, MOD_HI))
        return with_scalar(operation, scalar_muldiv, integer_control(type),
                           signature_has(signature, MOD_SAT) ? MULDIV_MADHI_SAT : MULDIV_MADHI);
    return with_row(operation, by_width(ROW_MAD_16, type));
}

static bool select_minmax(Operation *operation, Opcode opcode, const Signature *signature, unsigned sources)
{
    Type type = signature->types[0];
    bool max = opcode == OP_MAX;
    if (is_float(type))
        return select_float(operation, signature,
                            sources == 3 ? (max ? FLOAT_MAX3 : FLOAT_MIN3)
                            : max        ? FLOAT_MAX
                                         : FLOAT_MIN,
                            sources, ROW_NONE, ROW_NONE, ROW_NONE);
    set_sources(operation, type, 2);
    uint32_t control = integer_control(type) | (signature_has(signature, MOD_RELU) ? CONTROL_RELU : 0);
    unsigned kind = max ? PAIR_MAX : PAIR_MIN;
    if (type == TYPE_U16X2 || type == TYPE_S16X2)
        return with_scalar(operation, scalar_pair, type == TYPE_S16X2 ? control | CONTROL_SIGNED : control, kind);
    if (control & CONTROL_RELU)
        return with_scalar(operation, scalar_minmax, control, kind);
    bool is_signed = type_class(type) == CLASS_SIGNED;
    return with_row(operation, by_width(max         ? is_signed ? ROW_MAX_S16 : ROW_MAX_U16
                                        : is_signed ? ROW_MIN_S16
                                                    : ROW_MIN_U16,
                                        type));
}

static bool select_div(Operation *operation, const Signature *signature)
{
    Type type = signature->types[0];
    if (!is_float(type)) {
        set_sources(operation, type, 2);
        return with_scalar(operation, scalar_muldiv, integer_control(type), MULDIV_DIV);
    }
    if (signature_has(signature, MOD_APPROX))
        return select_float(operation, signature, FLOAT_DIV_APPROX, 2, ROW_NONE, ROW_NONE, ROW_NONE);
    return select_float(operation, signature, FLOAT_DIV, 2, ROW_DIV_F32, ROW_DIV_F32_FTZ, ROW_DIV_F64);
}

/* rcp, sqrt, rsqrt and the approximate functions. */
static bool select_function(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    switch (opcode) {
    case OP_RCP:
    case OP_RSQRT:
        /* ptxas takes rcp.rn.ftz.f64 for rcp.rn.f64. */
        if (type == TYPE_F64 && signature_has(signature, MOD_FTZ) && signature_has(signature, MOD_APPROX)) {
            set_sources(operation, type, 1);
            return with_scalar(operation, scalar_coarse_double, 0, opcode == OP_RCP ? FLOAT_RCP : FLOAT_RSQRT);
        }
        if (opcode == OP_RSQRT)
            return select_float(operation, signature, FLOAT_RSQRT, 1, ROW_RSQRT_F32, ROW_NONE, ROW_NONE);
        return select_float(operation, signature, FLOAT_RCP, 1, ROW_RCP_F32, ROW_NONE, ROW_NONE);
    case OP_SQRT: return select_float(operation, signature, FLOAT_SQRT, 1, ROW_SQRT_F32, ROW_NONE, ROW_SQRT_F64);
    case OP_SIN: return select_float(operation, signature, FLOAT_SIN, 1, ROW_NONE, ROW_NONE, ROW_NONE);
    case OP_COS: return select_float(operation, signature, FLOAT_COS, 1, ROW_NONE, ROW_NONE, ROW_NONE);
    case OP_LG2: return select_float(operation, signature, FLOAT_LG2, 1, ROW_NONE, ROW_NONE, ROW_NONE);
    case OP_EX2: return select_float(operation, signature, FLOAT_EX2, 1, ROW_NONE, ROW_NONE, ROW_NONE);
    default: return select_float(operation, signature, FLOAT_TANH, 1, ROW_NONE, ROW_NONE, ROW_NONE);
    }
}

static bool select_absneg(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    bool neg = opcode == OP_NEG;
    if (is_float(type))
        return select_float(operation, signature, neg ? FLOAT_NEG : FLOAT_ABS, 1, neg ? ROW_NEG_F32 : ROW_ABS_F32,
                            ROW_NONE, neg ? ROW_NEG_F64 : ROW_ABS_F64);
    set_sources(operation, type, 1);
    if (neg)
        return with_row(operation, by_width(ROW_NEG_16, type));
    return with_scalar(operation, scalar_abs, integer_control(type), 0);
}

static bool select_logic(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    set_sources(operation, type, opcode == OP_NOT || opcode == OP_CNOT ? 1 : 2);
    if (type == TYPE_PRED)
        return with_scalar(operation, scalar_predicate, 0,
                           opcode == OP_AND   ? PREDICATE_AND
                           : opcode == OP_OR  ? PREDICATE_OR
                           : opcode == OP_XOR ? PREDICATE_XOR
                                              : PREDICATE_NOT);
    switch (opcode) {
    case OP_AND: return with_row(operation, by_width(ROW_AND_16, type));
    case OP_OR: return with_row(operation, by_width(ROW_OR_16, type));
    case OP_XOR: return with_row(operation, by_width(ROW_XOR_16, type));
    case OP_NOT: return with_row(operation, by_width(ROW_NOT_16, type));
    default: return with_scalar(operation, scalar_cnot, integer_control(type), 0);
    }
}

static bool select_shift(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    set_sources(operation, type, 2);
    operation->sources[1] = TYPE_U32;
    if (opcode == OP_SHL)
        return with_row(operation, by_width(ROW_SHL_16, type));
    return with_row(operation, by_width(type_class(type) == CLASS_SIGNED ? ROW_SHR_S16 : ROW_SHR_U16, type));
}

static bool select_bits(Operation *operation, Opcode opcode, const Signature *signature)
{
    Type type = signature->types[0];
    uint32_t control = integer_control(type) | (signature_has(signature, MOD_WRAP) ? CONTROL_WRAP : 0);
    set_sources(operation, type, 1);
    switch (opcode) {
    case OP_POPC: operation->dest = TYPE_U32; return with_scalar(operation, scalar_count_bits, control, COUNT_POPC);
    case OP_CLZ: operation->dest = TYPE_U32; return with_scalar(operation, scalar_count_bits, control, COUNT_CLZ);
    case OP_BREV: return with_scalar(operation, scalar_count_bits, control, COUNT_BREV);
    case OP_BFIND:
        operation->dest = TYPE_U32;
        return with_scalar(operation, scalar_bfind, control, signature_has(signature, MOD_SHIFTAMT));
    case OP_FNS: set_sources(operation, TYPE_B32, 3); return with_scalar(operation, scalar_fns, control, 0);
    case OP_BFE:
        operation->source_count = 3;
        operation->sources[1] = operation->sources[2] = TYPE_U32;
        return with_scalar(operation, scalar_bfe, control, 0);
    case OP_BFI:
        operation->source_count = 4;
        operation->sources[1] = type;
        operation->sources[2] = operation->sources[3] = TYPE_U32;
        return with_scalar(operation, scalar_bfi, control, 0);
    case OP_SZEXT:
        operation->source_count = 2;
        operation->sources[1] = TYPE_U32;
        return with_scalar(operation, scalar_szext, control, 0);
    default: /* bmsk */ set_sources(operation, TYPE_B32, 2); return with_scalar(operation, scalar_bmsk, control, 0);
    }
}

static bool select_prmt(Operation *operation, const Signature *signature)
{
    static const ModId modes[] = {MOD_UNKNOWN, MOD_F4E, MOD_B4E, MOD_RC8, MOD_ECL, MOD_ECR, MOD_RC16};
    unsigned mode = PRMT_INDEX;
    for (unsigned i = 1; i < COUNT_OF(modes); i++)
        if (signature_has(signature, modes[i]))
            mode = i;
    set_sources(operation, TYPE_B32, 3);
    return with_scalar(operation, scalar_prmt, 0, mode);
}

static bool select_testp(Operation *operation, const Signature *signature)
{
    static const ModId tests[] = {MOD_FINITE, MOD_INFINITE, MOD_NUMBER, MOD_NOTANUMBER, MOD_NORMAL, MOD_SUBNORMAL};
    for (unsigned i = 0; i < COUNT_OF(tests); i++) {
        if (!signature_has(signature, tests[i]))
            continue;
        set_sources(operation, signature->types[0], 1);
        operation->dest = TYPE_PRED;
        return with_scalar(operation, scalar_testp, type_bits(signature->types[0]), i);
    }
    return false;
}

static bool select_dot(Operation *operation, Opcode opcode, const Signature *signature)
{
    if (signature->type_count != 2)
        return false;
    set_sources(operation, TYPE_B32, 3);
    unsigned kind = (signature->types[0] == TYPE_S32 ? 1 : 0) | (signature->types[1] == TYPE_S32 ? 2 : 0);
    return with_scalar(operation, scalar_dot, common_control(signature) | (opcode == OP_DP2A ? CONTROL_PAIR : 0), kind);
}

static bool select_move(Operation *operation, const Signature *signature)
{
    Type type = signature->types[0];
    set_sources(operation, type, 1);
    if (type == TYPE_PRED)
        return with_scalar(operation, scalar_predicate, 0, PREDICATE_MOVE);
    if (type_bits(type) > 64)
        return false;
    return with_row(operation, by_width(ROW_COPY_16, type));
}

static bool select_by_opcode(Operation *operation, Opcode opcode, const Signature *signature, unsigned source_count)
{
    Type type = signature->types[0];
    BoolKind combine;
    switch (opcode) {
    case OP_ADD:
    case OP_SUB: return select_addsub(operation, opcode, signature);
    case OP_MUL: return select_mul(operation, signature);
    case OP_MAD:
    case OP_FMA: return select_mad(operation, signature);
    case OP_MUL24:
    case OP_MAD24:
        set_sources(operation, type, opcode == OP_MAD24 ? 3 : 2);
        return with_scalar(operation, scalar_mul24, integer_control(type) | common_control(signature),
                           opcode == OP_MAD24);
    case OP_SAD: set_sources(operation, type, 3); return with_scalar(operation, scalar_sad, integer_control(type), 0);
    case OP_DIV: return select_div(operation, signature);
    case OP_REM:
        set_sources(operation, type, 2);
        return with_scalar(operation, scalar_muldiv, integer_control(type), MULDIV_REM);
    case OP_ABS:
    case OP_NEG: return select_absneg(operation, opcode, signature);
    case OP_MIN:
    case OP_MAX: return select_minmax(operation, opcode, signature, source_count);
    case OP_POPC:
    case OP_CLZ:
    case OP_BREV:
    case OP_BFIND:
    case OP_FNS:
    case OP_BFE:
    case OP_BFI:
    case OP_SZEXT:
    case OP_BMSK: return select_bits(operation, opcode, signature);
    case OP_DP4A:
    case OP_DP2A: return select_dot(operation, opcode, signature);
    case OP_RCP:
    case OP_SQRT:
    case OP_RSQRT:
    case OP_SIN:
    case OP_COS:
    case OP_LG2:
    case OP_EX2:
    case OP_TANH: return select_function(operation, opcode, signature);
    case OP_TESTP: return select_testp(operation, signature);
    case OP_COPYSIGN:
        set_sources(operation, type, 2);
        return with_scalar(operation, scalar_copysign, type_bits(type), 0);
    case OP_SET: return signature->type_count == 2 && comparison_select(operation, signature, &combine);
    case OP_SELP:
        set_sources(operation, type, 3);
        operation->sources[2] = TYPE_PRED;
        return with_row(operation, by_width(ROW_SELECT_16, type));
    case OP_SLCT:
        set_sources(operation, type, 3);
        operation->sources[2] = signature->type_count == 2 ? signature->types[1] : TYPE_S32;
        return with_scalar(operation, scalar_slct, common_control(signature), operation->sources[2] == TYPE_F32);
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_CNOT: return select_logic(operation, opcode, signature);
    case OP_SHL:
    case OP_SHR: return select_shift(operation, opcode, signature);
    case OP_SHF:
        set_sources(operation, TYPE_B32, 3);
        return with_scalar(operation, scalar_shf, common_control(signature), signature_has(signature, MOD_R));
    case OP_PRMT: return select_prmt(operation, signature);
    case OP_LOP3: set_sources(operation, TYPE_B32, 4); return with_scalar(operation, scalar_lop3, 0, 0);
    case OP_MOV: return select_move(operation, signature);
    case OP_CVT: return convert_select(operation, signature, source_count);
    default: return video_select(operation, signature, source_count);
    }
}

bool operation_select(Operation *operation, const Signature *signature, unsigned source_count)
{
    *operation = (Operation){0};
    if (signature->type_count == 0 && signature->op != OP_CVT)
        return false;
    return select_by_opcode(operation, signature->op, signature, source_count) &&
           operation->source_count == source_count;
}
