/* Integer and logic instructions, lane by lane: PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift
 * Instructions". */
#include "emulator/semantics/semantics.h"

uint64_t width_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

int64_t sign_extend(uint64_t value, unsigned bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    value &= width_mask(bits);
    return (int64_t)((value ^ top) - top);
}

static unsigned control_width(uint32_t control)
{
    return control & CONTROL_WIDTH;
}

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

uint64_t scalar_muldiv(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control), kind = CONTROL_KIND(control);
    if (kind == MULDIV_DIV || kind == MULDIV_REM) {
        __int128 a = widen(s[0], control), b = widen(s[1], control);
        if (b == 0)
            return width_mask(width);
        return (uint64_t)(kind == MULDIV_DIV ? a / b : a % b) & width_mask(width);
    }
    uint64_t high;
    if (control & CONTROL_SIGNED)
        high = (uint64_t)(widen(s[0], control) * widen(s[1], control) >> width);
    else
        high = (uint64_t)((unsigned __int128)widen(s[0], control) * (unsigned __int128)widen(s[1], control) >> width);
    if (kind == MULDIV_MADHI)
        high += s[2];
    if (kind == MULDIV_MADHI_SAT)
        return clamp_signed((__int128)sign_extend(high, width) + sign_extend(s[2], width), width);
    return high & width_mask(width);
}

uint64_t scalar_saturating(const uint64_t *s, uint32_t control)
{
    int64_t a = sign_extend(s[0], 32), b = sign_extend(s[1], 32);
    return clamp_signed(CONTROL_KIND(control) ? a - b : a + b, 32);
}

uint64_t scalar_minmax(const uint64_t *s, uint32_t control)
{
    __int128 a = widen(s[0], control), b = widen(s[1], control);
    __int128 value = (CONTROL_KIND(control) == PAIR_MAX) == (a > b) ? a : b;
    if (control & CONTROL_RELU && value < 0)
        value = 0;
    return (uint64_t)value & width_mask(control_width(control));
}

/* add, min, max of both halves. */
uint64_t scalar_pair(const uint64_t *s, uint32_t control)
{
    uint64_t result = 0;
    uint32_t half = (control & ~(uint32_t)CONTROL_WIDTH) | 16;
    for (unsigned i = 0; i < 32; i += 16) {
        uint64_t parts[2] = {s[0] >> i & 0xffff, s[1] >> i & 0xffff};
        uint64_t value = CONTROL_KIND(control) == PAIR_ADD ? parts[0] + parts[1] : scalar_minmax(parts, half);
        result |= (value & 0xffff) << i;
    }
    return result;
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

/* mul24 and mad24: operands extended from bit 23; .lo bits 31..0, .hi bits 47..16. */
uint64_t scalar_mul24(const uint64_t *s, uint32_t control)
{
    uint64_t product;
    if (control & CONTROL_SIGNED)
        product = (uint64_t)(sign_extend(s[0], 24) * sign_extend(s[1], 24));
    else
        product = (s[0] & 0xffffff) * (s[1] & 0xffffff);
    if (control & CONTROL_HIGH)
        product >>= 16;
    bool adds = CONTROL_KIND(control);
    if (adds && control & CONTROL_SAT)
        return clamp_signed((__int128)sign_extend(product, 32) + sign_extend(s[2], 32), 32);
    return (product + (adds ? s[2] : 0)) & UINT32_MAX;
}

uint64_t scalar_count_bits(const uint64_t *s, uint32_t control)
{
    unsigned width = control_width(control);
    uint64_t value = s[0] & width_mask(width), reversed = 0;
    switch (CONTROL_KIND(control)) {
    case COUNT_POPC: return (uint64_t)__builtin_popcountll(value);
    case COUNT_CLZ: return value ? (uint64_t)__builtin_clzll(value) - (64 - width) : width;
    default:
        for (unsigned i = 0; i < width; i++)
            reversed |= (value >> i & 1) << (width - 1 - i);
        return reversed;
    }
}

uint64_t scalar_bfind(const uint64_t *s, uint32_t control)
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

/* dp4a, and with CONTROL_PAIR dp2a; kind bit 0: a is signed, bit 1: b is. */
uint64_t scalar_dot(const uint64_t *s, uint32_t control)
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

uint64_t scalar_shf(const uint64_t *s, uint32_t control)
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
uint64_t scalar_slct(const uint64_t *s, uint32_t control)
{
    if (!CONTROL_KIND(control))
        return sign_extend(s[2], 32) >= 0 ? s[0] : s[1];
    /* A subnormal flushed to -0 counts as >= 0. */
    uint32_t bits = (uint32_t)s[2];
    if (control & CONTROL_FTZ)
        bits = format_flush(&FORMAT_F32, bits);
    return float_from_bits(bits) >= 0 ? s[0] : s[1];
}

uint64_t scalar_predicate(const uint64_t *s, uint32_t control)
{
    switch (CONTROL_KIND(control)) {
    case PREDICATE_AND: return s[0] & s[1];
    case PREDICATE_OR: return s[0] | s[1];
    case PREDICATE_XOR: return s[0] ^ s[1];
    case PREDICATE_NOT: return !s[0];
    default: return s[0];
    }
}
