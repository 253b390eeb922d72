/* Logic, shifts, bit fields and selection: PTX ISA, "Logic and Shift Instructions" and the bit instructions of "Integer
 * Arithmetic Instructions". */
#include "emulator/semantics/operation.h"

uint64_t scalar_popc(const uint64_t *s, uint32_t control)
{
    return (uint64_t)__builtin_popcountll(s[0] & width_mask(control_width(control)));
}

uint64_t scalar_clz(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    uint64_t value = s[0] & width_mask(width);
    return value ? (uint64_t)__builtin_clzll(value) - (64 - width) : width;
}

uint64_t scalar_brev(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    uint64_t reversed = 0;
    for (unsigned i = 0; i < width; i++)
        reversed |= (s[0] >> i & 1) << (width - 1 - i);
    return reversed;
}

/* The kind says whether the result is a shift amount. */
static uint64_t scalar_bfind(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    uint64_t value = s[0] & width_mask(width);
    if (control & CONTROL_SIGNED && sign_extend(value, width) < 0)
        value = ~value & width_mask(width);
    if (!value)
        return UINT32_MAX;
    uint64_t position = 63 - (uint64_t)__builtin_clzll(value);
    return CONTROL_KIND(control) ? width - 1 - position : position;
}

uint64_t scalar_fns(const uint64_t *s, uint32_t control)
{
    uint32_t mask = (uint32_t)s[0], base = (uint32_t)s[1];
    int64_t offset = sign_extend(s[2], 32);
    (void)control;
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int64_t step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int64_t bit = base; bit >= 0 && bit < 32; bit += step)
        if (mask >> bit & 1 && --left == 0)
            return (uint64_t)bit;
    return UINT32_MAX;
}

uint64_t scalar_bfe(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    unsigned position = s[1] & 0xff, length = s[2] & 0xff;
    uint64_t value = s[0] & width_mask(width);
    if (!length)
        return 0;
    uint64_t field = position < width ? value >> position : 0;
    unsigned have = position < width ? width - position : 0;
    if (length < have)
        have = length;
    field &= have ? width_mask(have) : 0;
    if (control & CONTROL_SIGNED) {
        unsigned sign = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
        if (value >> sign & 1)
            field |= ~(have ? width_mask(have) : 0);
    }
    return field & width_mask(width);
}

uint64_t scalar_bfi(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    unsigned position = s[2] & 0xff, length = s[3] & 0xff;
    if (!length || position >= width)
        return s[1] & width_mask(width);
    uint64_t field = width_mask(length < width ? length : width) << position;
    return ((s[1] & ~field) | (s[0] << position & field)) & width_mask(width);
}

uint64_t scalar_szext(const uint64_t *s, uint32_t control)
{
    uint32_t length = (uint32_t)s[1];
    if (control & CONTROL_WRAP)
        length &= 31;
    if (length >= 32)
        return s[0] & UINT32_MAX;
    if (!length)
        return 0;
    return (control & CONTROL_SIGNED ? (uint64_t)sign_extend(s[0], length) : s[0] & width_mask(length)) & UINT32_MAX;
}

uint64_t scalar_bmsk(const uint64_t *s, uint32_t control)
{
    uint32_t position = (uint32_t)s[0], length = (uint32_t)s[1];
    if (control & CONTROL_WRAP) {
        position &= 31;
        length &= 31;
    }
    if (position >= 32 || !length)
        return 0;
    return (length >= 32 ? UINT32_MAX : width_mask(length)) << position & UINT32_MAX;
}

/* The kind says whether it shifts right. */
static uint64_t scalar_shf(const uint64_t *s, uint32_t control)
{
    uint32_t amount = (uint32_t)s[2];
    amount = control & CONTROL_WRAP ? amount & 31 : amount > 32 ? 32 : amount;
    uint64_t both = (s[1] & UINT32_MAX) << 32 | (s[0] & UINT32_MAX);
    return CONTROL_KIND(control) ? both >> amount & UINT32_MAX : both << amount >> 32;
}

uint64_t scalar_prmt(const uint64_t *s, uint32_t control)
{
    uint64_t bytes = (s[1] & UINT32_MAX) << 32 | (s[0] & UINT32_MAX);
    unsigned k = s[2] & 3, result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned select = 0;
        switch (CONTROL_KIND(control)) {
        case PRMT_INDEX: select = s[2] >> (4 * i) & 15; break;
        case PRMT_F4E: select = k + i; break;
        case PRMT_B4E: select = (k - i) & 7; break;
        case PRMT_RC8: select = k; break;
        case PRMT_ECL: select = i > k ? i : k; break;
        case PRMT_ECR: select = i < k ? i : k; break;
        case PRMT_RC16: select = (k & 1) * 2 + (i & 1); break;
        }
        unsigned byte = bytes >> (8 * (select & 7)) & 0xff;
        if (select & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

uint64_t scalar_lop3(const uint64_t *s, uint32_t control)
{
    uint32_t a = (uint32_t)s[0], b = (uint32_t)s[1], c = (uint32_t)s[2], result = 0;
    (void)control;
    for (unsigned i = 0; i < 8; i++)
        if (s[3] >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

uint64_t scalar_cnot(const uint64_t *s, uint32_t control)
{
    return (s[0] & width_mask(control_width(control))) == 0;
}

/* kind 0: c is an integer; else a float. */
static uint64_t scalar_slct(const uint64_t *s, uint32_t control)
{
    if (!CONTROL_KIND(control))
        return sign_extend(s[2], 32) >= 0 ? s[0] : s[1];
    /* A subnormal flushed to -0 counts as >= 0. */
    uint32_t bits = (uint32_t)s[2];
    if (control & CONTROL_FTZ)
        bits = format_flush(&FORMAT_F32, bits);
    return float_from_bits(bits) >= 0 ? s[0] : s[1];
}

uint64_t scalar_and_pred(const uint64_t *s, uint32_t control)
{
    (void)control;
    return s[0] & s[1];
}

uint64_t scalar_or_pred(const uint64_t *s, uint32_t control)
{
    (void)control;
    return s[0] | s[1];
}

uint64_t scalar_xor_pred(const uint64_t *s, uint32_t control)
{
    (void)control;
    return s[0] ^ s[1];
}

uint64_t scalar_not_pred(const uint64_t *s, uint32_t control)
{
    (void)control;
    return !s[0];
}

uint64_t scalar_mov_pred(const uint64_t *s, uint32_t control)
{
    (void)control;
    return s[0];
}

/* Bits 21 to 41 of an mbarrier's state word. */
uint64_t scalar_mbarrier_pending_count(const uint64_t *s, uint32_t control)
{
    (void)control;
    return s[0] >> 21 & width_mask(21);
}

Operation operation_and(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_AND_16, signature->types[0]), signature->types[0], 2);
}

Operation operation_or(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_OR_16, signature->types[0]), signature->types[0], 2);
}

Operation operation_xor(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_XOR_16, signature->types[0]), signature->types[0], 2);
}

Operation operation_not(const Signature *signature)
{
    return operation_on_rows(row_of_width(ROW_NOT_16, signature->types[0]), signature->types[0], 1);
}

static Operation shift(Type type, RowId first)
{
    Operation operation = operation_on_rows(row_of_width(first, type), type, 2);
    operation.sources[1] = TYPE_U32;
    return operation;
}

Operation operation_shl(const Signature *signature)
{
    return shift(signature->types[0], ROW_SHL_16);
}

Operation operation_shr(const Signature *signature)
{
    Type type = signature->types[0];
    return shift(type, type_class(type) == CLASS_SIGNED ? ROW_SHR_S16 : ROW_SHR_U16);
}

Operation operation_shf(const Signature *signature)
{
    uint32_t control = modifier_control(signature) | (uint32_t)signature_has(signature, MOD_R) << CONTROL_KIND_SHIFT;
    return operation_by_lane(scalar_shf, control, TYPE_B32, 3);
}

Operation operation_bfind(const Signature *signature)
{
    Type type = signature->types[0];
    uint32_t kind = signature_has(signature, MOD_SHIFTAMT);
    Operation operation = operation_by_lane(scalar_bfind, integer_control(type) | kind << CONTROL_KIND_SHIFT, type, 1);
    operation.dest = TYPE_U32;
    return operation;
}

Operation operation_prmt(const Signature *signature)
{
    static const ModId modes[] = {
        [PRMT_F4E] = MOD_F4E, [PRMT_B4E] = MOD_B4E, [PRMT_RC8] = MOD_RC8,
        [PRMT_ECL] = MOD_ECL, [PRMT_ECR] = MOD_ECR, [PRMT_RC16] = MOD_RC16,
    };
    uint32_t mode = PRMT_INDEX;
    for (uint32_t i = 0; i < COUNT_OF(modes); i++)
        if (modes[i] != MOD_UNKNOWN && signature_has(signature, modes[i]))
            mode = i;
    return operation_by_lane(scalar_prmt, mode << CONTROL_KIND_SHIFT, TYPE_B32, 3);
}

Operation operation_selp(const Signature *signature)
{
    Type type = signature->types[0];
    Operation operation = operation_on_rows(row_of_width(ROW_SELECT_16, type), type, 3);
    operation.sources[2] = TYPE_PRED;
    return operation;
}

Operation operation_slct(const Signature *signature)
{
    uint32_t kind = signature->types[1] == TYPE_F32;
    uint32_t control = modifier_control(signature) | kind << CONTROL_KIND_SHIFT;
    Operation operation = operation_by_lane(scalar_slct, control, signature->types[0], 3);
    operation.sources[2] = signature->types[1];
    return operation;
}
