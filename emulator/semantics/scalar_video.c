/* Video instructions: PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions". Parts are extended by their
 * types, computed in 34 bits, clamped with .sat to the destination's type and part, then combined with c. */
#include "emulator/semantics/compare.h"
#include "emulator/semantics/operation.h"

static int64_t extend(uint64_t value, unsigned bits, bool is_signed)
{
    return is_signed ? sign_extend(value, bits) : (int64_t)(value & width_mask(bits));
}

static unsigned part_bits(unsigned part)
{
    return part == VIDEO_WHOLE ? 32 : part >= VIDEO_H0 ? 16 : 8;
}

static unsigned part_shift(unsigned part)
{
    return part == VIDEO_WHOLE ? 0 : part >= VIDEO_H0 ? 16 * (part - VIDEO_H0) : 8 * (part - VIDEO_B0);
}

static int64_t part_select(uint64_t value, unsigned part, bool is_signed)
{
    return extend(value >> part_shift(part), part_bits(part), is_signed);
}

static __int128 saturate(__int128 value, unsigned bits, bool is_signed)
{
    __int128 most = is_signed ? (__int128)width_mask(bits - 1) : (__int128)width_mask(bits);
    __int128 least = is_signed ? -most - 1 : 0;
    return value > most ? most : value < least ? least : value;
}

static bool video_compare(unsigned compare, int64_t a, int64_t b)
{
    switch (compare) {
    case COMPARE_EQ: return a == b;
    case COMPARE_NE: return a != b;
    case COMPARE_LT: return a < b;
    case COMPARE_LE: return a <= b;
    case COMPARE_GT: return a > b;
    default: return a >= b;
    }
}

enum { INTERMEDIATE_BITS = 34 };

/* Only a left shift has results that do not fit the 34 bits. */
static int64_t video_operation(uint32_t control, int64_t a, int64_t b)
{
    unsigned amount = control & VIDEO_WRAP ? (unsigned)b & 31 : b > 32 ? 32 : (unsigned)b;
    switch (VIDEO_OPERATION(control)) {
    case VIDEO_ADD: return a + b;
    case VIDEO_SUB: return a - b;
    case VIDEO_ABSDIFF: return a > b ? a - b : b - a;
    case VIDEO_MIN: return a < b ? a : b;
    case VIDEO_MAX: return a > b ? a : b;
    case VIDEO_AVRG: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VIDEO_SHL: return sign_extend((uint64_t)a << amount, INTERMEDIATE_BITS);
    case VIDEO_SHR: return a >> amount;
    default: return video_compare(VIDEO_COMPARE(control), a, b);
    }
}

/* vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset: d, a, b {, c} */
uint64_t scalar_video(const uint64_t *s, uint32_t control)
{
    unsigned part = VIDEO_PART(control, VIDEO_D_SHIFT);
    bool is_signed = control & VIDEO_D_SIGNED;
    int64_t a = part_select(s[0], VIDEO_PART(control, VIDEO_A_SHIFT), control & VIDEO_A_SIGNED);
    int64_t b = part_select(s[1], VIDEO_PART(control, VIDEO_B_SHIFT), control & VIDEO_B_SIGNED);
    int64_t value = video_operation(control, a, b);
    if (control & VIDEO_SAT)
        value = (int64_t)saturate(value, part_bits(part), is_signed);
    if (part != VIDEO_WHOLE) {
        uint64_t mask = width_mask(part_bits(part)) << part_shift(part);
        return (s[2] & ~mask & UINT32_MAX) | ((uint64_t)value << part_shift(part) & mask);
    }
    /* The intermediate result has the destination's sign: if that is unsigned, a negative number is a large one. */
    if (!is_signed)
        value &= (int64_t)width_mask(INTERMEDIATE_BITS);
    int64_t c = extend(s[2], 32, is_signed);
    switch (VIDEO_SECOND(control)) {
    case VIDEO_SECOND_ADD: value += c; break;
    case VIDEO_SECOND_MIN: value = value < c ? value : c; break;
    case VIDEO_SECOND_MAX: value = value > c ? value : c; break;
    default: break;
    }
    return (uint64_t)value & UINT32_MAX;
}

/* vmad d, {-}a, {-}b, {-}c: signed if any operand is signed or negated. */
static uint64_t scalar_video_mad(const uint64_t *s, uint32_t control)
{
    bool negates = !(control & VIDEO_NEGATE_A) != !(control & VIDEO_NEGATE_B), negates_c = control & VIDEO_NEGATE_C;
    bool is_signed = control & (VIDEO_A_SIGNED | VIDEO_B_SIGNED) || negates || negates_c;
    __int128 product = (__int128)part_select(s[0], VIDEO_PART(control, VIDEO_A_SHIFT), control & VIDEO_A_SIGNED) *
                       part_select(s[1], VIDEO_PART(control, VIDEO_B_SHIFT), control & VIDEO_B_SIGNED);
    __int128 c = extend(s[2], 32, is_signed);
    __int128 sum = (negates ? -product : product) + (negates_c ? -c : c) + (control & VIDEO_PLUS_ONE ? 1 : 0);
    sum >>= control & VIDEO_SHIFT_7 ? 7 : control & VIDEO_SHIFT_15 ? 15 : 0;
    if (control & VIDEO_SAT)
        sum = saturate(sum, 32, is_signed);
    return (uint64_t)sum & UINT32_MAX;
}

/* Two or four parts at once; a and b are already permuted. Parts outside the mask come from c. */
uint64_t scalar_video_parts(const uint64_t *s, uint32_t control)
{
    unsigned count = control & VIDEO_FOUR ? 4 : 2, bits = 32 / count;
    uint64_t result = 0, sum = s[2];
    for (unsigned i = 0; i < count; i++) {
        unsigned shift = i * bits;
        if (!(VIDEO_MASK(control) >> i & 1)) {
            result |= s[2] & width_mask(bits) << shift;
            continue;
        }
        int64_t value = video_operation(control, extend(s[0] >> shift, bits, control & VIDEO_A_SIGNED),
                                        extend(s[1] >> shift, bits, control & VIDEO_B_SIGNED));
        if (control & VIDEO_SAT)
            value = (int64_t)saturate(value, bits, control & VIDEO_D_SIGNED);
        sum += (uint64_t)value;
        result |= ((uint64_t)value & width_mask(bits)) << shift;
    }
    return (VIDEO_SECOND(control) == VIDEO_SECOND_ADD ? sum : result) & UINT32_MAX;
}

static uint32_t word_flags(const Signature *signature)
{
    static const struct {
        ModId mod;
        uint32_t control;
    } words[] = {
        {MOD_SAT, VIDEO_SAT},
        {MOD_WRAP, VIDEO_WRAP},
        {MOD_ADD, VIDEO_SECOND_ADD << VIDEO_SECOND_SHIFT},
        {MOD_MIN, VIDEO_SECOND_MIN << VIDEO_SECOND_SHIFT},
        {MOD_MAX, VIDEO_SECOND_MAX << VIDEO_SECOND_SHIFT},
        {MOD_PO, VIDEO_PLUS_ONE},
        {MOD_SHR7, VIDEO_SHIFT_7},
        {MOD_SHR15, VIDEO_SHIFT_15},
        {MOD_NE, COMPARE_NE << VIDEO_COMPARE_SHIFT},
        {MOD_LT, COMPARE_LT << VIDEO_COMPARE_SHIFT},
        {MOD_LE, COMPARE_LE << VIDEO_COMPARE_SHIFT},
        {MOD_GT, COMPARE_GT << VIDEO_COMPARE_SHIFT},
        {MOD_GE, COMPARE_GE << VIDEO_COMPARE_SHIFT},
    };
    uint32_t control = 0;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (signature_has(signature, words[i].mod))
            control |= words[i].control;
    return control;
}

/* vadd2 and vadd4 compute two and four parts at once. */
static unsigned part_count(const Signature *signature)
{
    char last = signature->opcode[strlen(signature->opcode) - 1];
    return last == '2' || last == '4' ? (unsigned)(last - '0') : 1;
}

static Operation video(const Signature *signature, uint32_t kind)
{
    unsigned parts = part_count(signature);
    /* A comparison names no destination type: it is unsigned. */
    unsigned first = kind == VIDEO_SET ? 0 : 1;
    uint32_t control = kind | word_flags(signature);
    control |= first && signature->types[0] == TYPE_S32 ? VIDEO_D_SIGNED : 0;
    control |= signature->types[first] == TYPE_S32 ? VIDEO_A_SIGNED : 0;
    control |= signature->types[first + 1] == TYPE_S32 ? VIDEO_B_SIGNED : 0;
    if (parts > 1)
        control |= (parts == 4 ? VIDEO_FOUR : 0) | (uint32_t)width_mask(parts) << VIDEO_MASK_SHIFT;
    ScalarFunction *function = parts > 1 ? scalar_video_parts : kind == VIDEO_MAD ? scalar_video_mad : scalar_video;
    bool takes_third = parts > 1 || kind == VIDEO_MAD || VIDEO_SECOND(control) != VIDEO_SECOND_NONE;
    return operation_by_lane(function, control, TYPE_B32, takes_third ? 3 : 2);
}

Operation operation_vadd(const Signature *signature)
{
    return video(signature, VIDEO_ADD);
}

Operation operation_vsub(const Signature *signature)
{
    return video(signature, VIDEO_SUB);
}

Operation operation_vabsdiff(const Signature *signature)
{
    return video(signature, VIDEO_ABSDIFF);
}

Operation operation_vmin(const Signature *signature)
{
    return video(signature, VIDEO_MIN);
}

Operation operation_vmax(const Signature *signature)
{
    return video(signature, VIDEO_MAX);
}

Operation operation_vset(const Signature *signature)
{
    return video(signature, VIDEO_SET);
}

Operation operation_vavrg(const Signature *signature)
{
    return video(signature, VIDEO_AVRG);
}

Operation operation_vshl(const Signature *signature)
{
    return video(signature, VIDEO_SHL);
}

Operation operation_vshr(const Signature *signature)
{
    return video(signature, VIDEO_SHR);
}

Operation operation_vmad(const Signature *signature)
{
    return video(signature, VIDEO_MAD);
}
