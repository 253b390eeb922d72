/* Integer and logic instructions with exact integers: PTX ISA, "Integer Arithmetic", "Extended-Precision" and "Logic
 * and Shift Instructions". */
#include "tests/oracle/oracle.h"

#include <string.h>

typedef __int128 Wide;
typedef unsigned __int128 WideUnsigned;

typedef struct Call {
    const Probe *probe;
    const uint64_t *in;
    unsigned bits;
    bool is_signed;
    Wide a, b, c; /* the first three operands by the type's signedness */
} Call;

static Wide value_of(uint64_t bits, unsigned width, bool is_signed)
{
    return is_signed ? (Wide)signed_bits(bits, width) : (Wide)low_bits(bits, width);
}

static Wide clamp(Wide value, unsigned bits, bool is_signed)
{
    Wide top = ((Wide)1 << (bits - is_signed)) - 1, bottom = is_signed ? -top - 1 : 0;
    return value > top ? top : value < bottom ? bottom : value;
}

/* The upper half of a product, of operands up to 64 bits. */
static Wide product_half(const Call *call, bool high)
{
    if (!high)
        return (Wide)((WideUnsigned)call->a * (WideUnsigned)call->b);
    /* Two 64-bit factors fill 128 bits in either signedness. */
    if (call->is_signed)
        return call->a * call->b >> call->bits;
    return (Wide)((WideUnsigned)call->a * (WideUnsigned)call->b >> call->bits);
}

static uint64_t reverse(uint64_t value, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        if (value >> i & 1)
            result |= UINT64_C(1) << (bits - 1 - i);
    return result;
}

static unsigned ones(uint64_t value)
{
    unsigned count = 0;
    for (; value; value &= value - 1)
        count++;
    return count;
}

static int top_bit(uint64_t value)
{
    int at = -1;
    for (; value; value >>= 1)
        at++;
    return at;
}

static uint64_t find_nth(uint32_t mask, uint32_t base, int32_t offset)
{
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int64_t at = base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
        if (mask >> at & 1 && --left == 0)
            return (uint64_t)at;
    return UINT32_MAX;
}

static uint64_t extract(const Call *call)
{
    unsigned position = call->in[1] & 0xff, length = call->in[2] & 0xff;
    uint64_t result = 0;
    unsigned last = position + length - 1;
    if (last > call->bits - 1)
        last = call->bits - 1;
    bool sign = call->is_signed && length && call->in[0] >> last & 1;
    for (unsigned i = 0; i < call->bits; i++) {
        bool inside = i < length && position + i < call->bits;
        if (inside ? call->in[0] >> (position + i) & 1 : sign)
            result |= UINT64_C(1) << i;
    }
    return result;
}

static uint64_t insert(const Call *call)
{
    unsigned position = call->in[2] & 0xff, length = call->in[3] & 0xff;
    uint64_t result = call->in[1];
    for (unsigned i = 0; i < length && position + i < call->bits; i++) {
        uint64_t bit = UINT64_C(1) << (position + i);
        result = i < 64 && call->in[0] >> i & 1 ? result | bit : result & ~bit;
    }
    return result;
}

static uint64_t bit_mask(const Call *call)
{
    uint64_t from = (uint32_t)call->in[0], length = (uint32_t)call->in[1], result = 0;
    if (probe_has(call->probe, ".wrap")) {
        from &= 31;
        length &= 31;
    }
    for (uint64_t i = from; i < 32 && i < from + length; i++)
        result |= UINT64_C(1) << i;
    return result;
}

static uint64_t extend(const Call *call)
{
    uint64_t n = (uint32_t)call->in[1];
    if (probe_has(call->probe, ".wrap"))
        n &= 31;
    if (n == 0)
        return 0;
    if (n >= 32)
        return call->in[0];
    return (uint64_t)value_of(call->in[0], (unsigned)n, call->is_signed);
}

static uint64_t dot(const Call *call)
{
    bool halves = call->probe->op == OP_DP2A, a_signed = call->probe->types[0] == TYPE_S32;
    bool b_signed = call->probe->types[1] == TYPE_S32;
    Wide sum = (Wide)call->in[2];
    for (unsigned i = 0; i < (halves ? 2u : 4u); i++) {
        unsigned b_at = halves && probe_has(call->probe, ".hi") ? i + 2 : i;
        Wide a = halves ? value_of(call->in[0] >> 16 * i, 16, a_signed) : value_of(call->in[0] >> 8 * i, 8, a_signed);
        sum += a * value_of(call->in[1] >> 8 * b_at, 8, b_signed);
    }
    return (uint64_t)sum;
}

static uint64_t product_24(const Call *call, bool *saturates)
{
    Wide product = value_of(call->in[0], 24, call->is_signed) * value_of(call->in[1], 24, call->is_signed);
    if (probe_has(call->probe, ".hi"))
        product >>= 16;
    /* mul24.hi: bits 47..16, as an integer of 32 bits. */
    Wide result = value_of((uint64_t)product, 32, call->is_signed);
    *saturates = probe_has(call->probe, ".sat");
    if (call->probe->op == OP_MAD24) {
        result += call->c;
        if (*saturates)
            result = clamp(result, 32, true);
    }
    return (uint64_t)result;
}

/* add.cc and the like: the carry out of the type's width. A borrow is a missing carry. */
static uint64_t with_carry(const Call *call, uint64_t *carry)
{
    const Probe *probe = call->probe;
    WideUnsigned flag = probe->carry_in ? call->in[probe->input_words - 1] & 1 : 0, sum;
    WideUnsigned a = low_bits(call->in[0], call->bits), b = low_bits(call->in[1], call->bits);
    if (probe->op == OP_SUB || probe->op == OP_SUBC) {
        WideUnsigned borrow = probe->carry_in ? !flag : 0;
        sum = a - b - borrow;
        *carry = a >= b + borrow;
        return (uint64_t)sum;
    }
    if (probe->op == OP_MAD || probe->op == OP_MADC) {
        a = low_bits((uint64_t)product_half(call, probe_has(probe, ".hi")), call->bits);
        b = low_bits(call->in[2], call->bits);
    }
    sum = a + b + flag;
    *carry = (uint64_t)(sum >> call->bits) & 1;
    return (uint64_t)sum;
}

/* The bits of a lane of a packed type; 0 of another. */
static unsigned lane_bits(Type type)
{
    return type == TYPE_U16X2 || type == TYPE_S16X2 ? 16 : type == TYPE_U8X4 || type == TYPE_S8X4 ? 8 : 0;
}

static Wide lane(const Call *call, Wide a, Wide b)
{
    switch (call->probe->op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_NEG: return -a;
    default: return (a < b) == (call->probe->op == OP_MIN) ? a : b;
    }
}

static uint64_t lanes(const Call *call, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += bits) {
        Wide value = lane(call, value_of(call->in[0] >> shift, bits, call->is_signed),
                          value_of(call->in[1] >> shift, bits, call->is_signed));
        if (probe_has(call->probe, ".relu") && value < 0)
            value = 0;
        if (probe_has(call->probe, ".sat"))
            value = clamp(value, bits, call->is_signed);
        result |= low_bits((uint64_t)value, bits) << shift;
    }
    return result;
}

/* The product of two polynomials over GF(2): bit i + j is the sum of the products of bits i and j. */
static uint64_t carryless(const Call *call)
{
    uint64_t half[2] = {0};
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = 0; j < 64; j++)
            half[(i + j) / 64] ^= (call->in[0] >> i & call->in[1] >> j & 1) << (i + j) % 64;
    return half[probe_has(call->probe, ".hi")] ^ call->in[2];
}

static uint64_t shift(const Call *call)
{
    uint64_t amount = (uint32_t)call->in[1];
    bool left = call->probe->op == OP_SHL;
    if (amount >= call->bits)
        return left || !call->is_signed || call->a >= 0 ? 0 : UINT64_MAX;
    return left ? call->in[0] << amount : (uint64_t)(call->a >> amount);
}

static uint64_t funnel(const Call *call)
{
    uint64_t both = call->in[1] << 32 | (uint32_t)call->in[0], amount = (uint32_t)call->in[2];
    amount = probe_has(call->probe, ".wrap") ? amount & 31 : amount > 32 ? 32 : amount;
    if (probe_has(call->probe, ".l"))
        return amount == 32 ? (uint32_t)both : both << amount >> 32;
    return both >> amount;
}

static uint64_t table_lookup(const Call *call, uint64_t table)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = (unsigned)(call->in[0] >> i & 1) << 2 | (unsigned)(call->in[1] >> i & 1) << 1 |
                       (unsigned)(call->in[2] >> i & 1);
        result |= (table >> row & 1) << i;
    }
    return result;
}

static uint64_t permute(const Call *call)
{
    static const char *const modes[] = {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
    uint64_t bytes = call->in[1] << 32 | (uint32_t)call->in[0], selector = call->in[2], result = 0;
    unsigned mode = 0, k = selector & 3;
    while (mode < COUNT_OF(modes) && !probe_has(call->probe, modes[mode]))
        mode++;
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = selector >> 4 * i & 7;
        bool replicate = mode == COUNT_OF(modes) && selector >> (4 * i + 3) & 1;
        switch (mode) {
        case 0: from = k + i; break;
        case 1: from = (k - i) & 7; break;
        case 2: from = k; break;
        case 3: from = i > k ? i : k; break;
        case 4: from = i < k ? i : k; break;
        case 5: from = (k & 1) * 2 + i % 2; break;
        default: break;
        }
        uint64_t byte = bytes >> 8 * from & 0xff;
        if (replicate)
            byte = byte >> 7 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* Predicates: the type's width is one bit. */
static uint64_t logic(const Call *call)
{
    switch (call->probe->op) {
    case OP_AND: return call->in[0] & call->in[1];
    case OP_OR: return call->in[0] | call->in[1];
    case OP_XOR: return call->in[0] ^ call->in[1];
    case OP_NOT: return ~call->in[0];
    default: return low_bits(call->in[0], call->bits) == 0;
    }
}

static Wide multiply_add(const Call *call)
{
    const Probe *probe = call->probe;
    bool add = probe->op == OP_MAD;
    if (probe_has(probe, ".wide"))
        return call->a * call->b + (add ? (Wide)call->in[2] : 0);
    Wide half = product_half(call, probe_has(probe, ".hi"));
    if (!add)
        return half;
    half = value_of((uint64_t)half, call->bits, call->is_signed) + call->c;
    return probe_has(probe, ".sat") ? clamp(half, 32, true) : half;
}

/* Unspecified for a divisor of zero; and the one quotient that does not fit wraps. */
static uint64_t divide(const Call *call, uint64_t *care)
{
    if (call->b == 0) {
        *care = 0;
        return 0;
    }
    return (uint64_t)(call->probe->op == OP_DIV ? call->a / call->b : call->a % call->b);
}

static bool compute(const Call *call, uint64_t *result, uint64_t *care, uint64_t *carry)
{
    const Probe *probe = call->probe;
    bool saturates = probe_has(probe, ".sat");
    const unsigned packed = lane_bits(probe->types[0]);
    switch (probe->op) {
    case OP_ADD:
    case OP_SUB:
        if (packed)
            *result = lanes(call, packed);
        else if (probe->carry_out)
            *result = with_carry(call, carry);
        else {
            Wide sum = probe->op == OP_ADD ? call->a + call->b : call->a - call->b;
            *result = (uint64_t)(saturates ? clamp(sum, 32, call->is_signed) : sum);
        }
        return true;
    case OP_ADDC:
    case OP_SUBC:
    case OP_MADC: *result = with_carry(call, carry); return true;
    case OP_MUL:
    case OP_MAD: *result = probe->carry_out ? with_carry(call, carry) : (uint64_t)multiply_add(call); return true;
    case OP_MUL24:
    case OP_MAD24: *result = product_24(call, &saturates); return true;
    case OP_SAD:
        *result = (uint64_t)(call->c + (call->a > call->b ? call->a - call->b : call->b - call->a));
        return true;
    case OP_DIV:
    case OP_REM: *result = divide(call, care); return true;
    case OP_ABS: *result = (uint64_t)(call->a < 0 ? -call->a : call->a); return true;
    case OP_NEG: *result = packed ? lanes(call, packed) : (uint64_t)-call->a; return true;
    case OP_CLMAD: *result = carryless(call); return true;
    case OP_MIN:
    case OP_MAX:
        if (packed)
            *result = lanes(call, packed);
        else {
            Wide value = (call->a < call->b) == (probe->op == OP_MIN) ? call->a : call->b;
            *result = (uint64_t)(probe_has(probe, ".relu") && value < 0 ? 0 : value);
        }
        return true;
    case OP_POPC: *result = ones(low_bits(call->in[0], call->bits)); return true;
    case OP_CLZ: *result = (uint64_t)((int)call->bits - 1 - top_bit(low_bits(call->in[0], call->bits))); return true;
    case OP_BFIND: {
        uint64_t value = low_bits(call->is_signed && call->a < 0 ? ~call->in[0] : call->in[0], call->bits);
        int at = top_bit(value);
        *result = at >= 0 && probe_has(probe, ".shiftamt") ? call->bits - 1 - (unsigned)at : (uint64_t)at;
        return true;
    }
    case OP_BREV: *result = reverse(call->in[0], call->bits); return true;
    case OP_FNS: *result = find_nth((uint32_t)call->in[0], (uint32_t)call->in[1], (int32_t)call->in[2]); return true;
    case OP_BFE: *result = extract(call); return true;
    case OP_BFI: *result = insert(call); return true;
    case OP_SZEXT: *result = extend(call); return true;
    case OP_BMSK: *result = bit_mask(call); return true;
    case OP_DP4A:
    case OP_DP2A: *result = dot(call); return true;
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_CNOT: *result = logic(call); return true;
    case OP_SHL:
    case OP_SHR: *result = shift(call); return true;
    case OP_SHF: *result = funnel(call); return true;
    case OP_PRMT: *result = permute(call); return true;
    default: return false;
    }
}

bool answer_integer(const Probe *probe, const uint64_t *in, Answer *answer)
{
    if (probe->op == OP_LOP3) {
        Call call = {.probe = probe, .in = in};
        uint64_t value = table_lookup(&call, (uint64_t)probe->sources[3].value);
        answer->words[0].bits = value;
        if (probe->pair) {
            bool with = (in[3] != 0) != probe->sources[4].inverted;
            answer->words[1].bits = probe_has(probe, ".and") ? value && with : value || with;
        }
        return true;
    }
    Type type = probe->type_count ? probe->types[0] : TYPE_NONE;
    if (type == TYPE_NONE || spec_of_type(type) || type_bits(type) > 64)
        return false;
    Call call = {.probe = probe, .in = in, .bits = type_bits(type), .is_signed = type_is_signed(type)};
    call.a = value_of(in[0], call.bits, call.is_signed);
    call.b = probe->source_count > 1 ? value_of(in[1], call.bits, call.is_signed) : 0;
    call.c = probe->source_count > 2 ? value_of(in[2], call.bits, call.is_signed) : 0;
    uint64_t carry = 0;
    struct AnswerWord *word = &answer->words[0];
    if (!compute(&call, &word->bits, &word->care, &carry))
        return false;
    word->bits = low_bits(word->bits, probe->dests[0].reg_bits);
    if (probe->carry_out)
        answer->words[probe->output_words - 1].bits = carry;
    return true;
}
