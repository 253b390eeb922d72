/* Video instructions with exact integers: PTX ISA, "Video Instructions" and "SIMD Video Instructions". */
#include "tests/oracle/oracle.h"

#include <string.h>

typedef __int128 Wide;

static bool is_signed_mod(const Probe *probe, unsigned number)
{
    return number < probe->type_count && type_is_signed(probe->types[number]);
}

static Wide clamp(Wide value, unsigned bits, bool is_signed)
{
    Wide top = ((Wide)1 << (bits - is_signed)) - 1, bottom = is_signed ? -top - 1 : 0;
    return value > top ? top : value < bottom ? bottom : value;
}

/* The position of part ".b2" or ".h1"; all 32 bits without a selector. */
static void part_of(const char *selector, unsigned *shift, unsigned *bits)
{
    *bits = selector[0] ? selector[1] == 'b' ? 8 : 16 : 32;
    *shift = selector[0] ? (unsigned)(selector[2] - '0') * *bits : 0;
}

static Wide scalar_source(const ProbeOperand *operand, uint64_t in, bool is_signed)
{
    unsigned shift, bits;
    part_of(operand->selector, &shift, &bits);
    return is_signed ? (Wide)signed_bits(in >> shift, bits) : (Wide)low_bits(in >> shift, bits);
}

static bool relation_holds(const Probe *probe, Wide a, Wide b)
{
    return probe_has(probe, ".eq")   ? a == b
           : probe_has(probe, ".ne") ? a != b
           : probe_has(probe, ".lt") ? a < b
           : probe_has(probe, ".le") ? a <= b
           : probe_has(probe, ".gt") ? a > b
                                     : a >= b;
}

static bool primary(const Probe *probe, const char *opcode, Wide a, Wide b, Wide *result)
{
    if (strncmp(opcode, "vabsdiff", 8) == 0)
        *result = a > b ? a - b : b - a;
    else if (strncmp(opcode, "vavrg", 5) == 0)
        *result = (a + b + (a + b >= 0)) >> 1;
    else if (strncmp(opcode, "vadd", 4) == 0)
        *result = a + b;
    else if (strncmp(opcode, "vsub", 4) == 0)
        *result = a - b;
    else if (strncmp(opcode, "vmin", 4) == 0)
        *result = a < b ? a : b;
    else if (strncmp(opcode, "vmax", 4) == 0)
        *result = a > b ? a : b;
    else if (strncmp(opcode, "vset", 4) == 0)
        *result = relation_holds(probe, a, b);
    else
        return false;
    return true;
}

static bool scalar_shift(const Probe *probe, Wide a, Wide b, Wide *result)
{
    bool left = probe->op == OP_VSHL;
    if (!left && probe->op != OP_VSHR)
        return false;
    unsigned amount = (unsigned)(probe_has(probe, ".wrap") ? b & 31 : b > 32 ? 32 : b);
    *result = left ? a * ((Wide)1 << amount) : a >> amount;
    return true;
}

/* "The sign of the intermediate result depends on dtype": an unsigned one is compared as it is in 34 bits. */
static Wide second_operation(const Probe *probe, Wide value, uint64_t c_bits, bool is_signed)
{
    if (!is_signed)
        value = (Wide)low_bits((uint64_t)value, 34);
    Wide c = is_signed ? (Wide)(int32_t)c_bits : (Wide)(uint32_t)c_bits;
    if (probe_has(probe, ".add"))
        return value + c;
    if (probe_has(probe, ".min"))
        return value < c ? value : c;
    if (probe_has(probe, ".max"))
        return value > c ? value : c;
    return value;
}

static bool multiply_add(const Probe *probe, const uint64_t *in, Answer *answer)
{
    const ProbeOperand *sources = probe->sources;
    bool a_signed = is_signed_mod(probe, 1), b_signed = is_signed_mod(probe, 2);
    Wide product = scalar_source(&sources[0], in[0], a_signed) * scalar_source(&sources[1], in[1], b_signed);
    bool negated = sources[0].negated != sources[1].negated;
    bool is_signed = a_signed || b_signed || negated || sources[2].negated;
    Wide c = is_signed ? (Wide)(int32_t)in[2] : (Wide)(uint32_t)in[2];
    Wide sum = (negated ? -product : product) + (sources[2].negated ? -c : c) + probe_has(probe, ".po");
    sum >>= probe_has(probe, ".shr7") ? 7 : probe_has(probe, ".shr15") ? 15 : 0;
    if (probe_has(probe, ".sat"))
        sum = clamp(sum, 32, is_signed);
    answer->words[0].bits = (uint32_t)sum;
    return true;
}

bool answer_video_exact(const Probe *probe, const uint64_t *in, __int128 *value)
{
    unsigned first = probe->op == OP_VSET ? 0 : 1;
    Wide a = scalar_source(&probe->sources[0], in[0], is_signed_mod(probe, first));
    Wide b = scalar_source(&probe->sources[1], in[1], is_signed_mod(probe, first + 1));
    return scalar_shift(probe, a, b, value) || primary(probe, opcode_name(probe->op), a, b, value);
}

static bool answer_scalar(const Probe *probe, const uint64_t *in, Answer *answer)
{
    bool dest_signed = probe->op != OP_VSET && is_signed_mod(probe, 0);
    Wide value;
    if (!answer_video_exact(probe, in, &value))
        return false;
    /* The intermediate result is an .s34: a left shift may lose bits and change the sign. */
    value = signed_bits((uint64_t)value, 34);
    const char *selector = probe->dests[0].selector;
    bool merges = selector[0];
    unsigned shift, bits;
    part_of(selector, &shift, &bits);
    if (probe_has(probe, ".sat"))
        value = clamp(value, bits, dest_signed);
    uint64_t result = (uint32_t)value, c = probe->source_count > 2 ? in[2] : 0;
    if (merges) {
        uint64_t mask = low_bits(UINT64_MAX, bits) << shift;
        result = (result << shift & mask) | (c & ~mask);
    } else {
        result = (uint64_t)second_operation(probe, value, c, dest_signed);
    }
    answer->words[0].bits = (uint32_t)result;
    return true;
}

/* Lane i of a source; the selector's digits, the leftmost for the top lane, count the lanes of {b, a}. */
static Wide lane_source(const char *selector, const uint64_t *in, unsigned operand, unsigned lane, unsigned lanes,
                        bool is_signed)
{
    unsigned bits = 32 / lanes, from = operand * lanes + lane;
    if (selector[0])
        from = (unsigned)(selector[1 + lanes - lane] - '0');
    uint64_t value = in[from / lanes] >> from % lanes * bits;
    return is_signed ? (Wide)signed_bits(value, bits) : (Wide)low_bits(value, bits);
}

static bool in_mask(const char *selector, unsigned lane)
{
    return !selector[0] || strchr(selector + 2, (int)('0' + lane)) != NULL;
}

static bool answer_lanes(const Probe *probe, unsigned lanes, const uint64_t *in, Answer *answer)
{
    const char *opcode = opcode_name(probe->op);
    bool is_set = strncmp(opcode, "vset", 4) == 0, sums = probe_has(probe, ".add");
    bool dest_signed = !is_set && is_signed_mod(probe, 0);
    unsigned first = is_set ? 0 : 1, bits = 32 / lanes;
    uint64_t result = sums ? in[2] : 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        uint64_t mask = low_bits(UINT64_MAX, bits) << lane * bits;
        Wide value, a = lane_source(probe->sources[0].selector, in, 0, lane, lanes, is_signed_mod(probe, first));
        Wide b = lane_source(probe->sources[1].selector, in, 1, lane, lanes, is_signed_mod(probe, first + 1));
        if (!primary(probe, opcode, a, b, &value))
            return false;
        if (probe_has(probe, ".sat"))
            value = clamp(value, bits, dest_signed);
        bool chosen = in_mask(probe->dests[0].selector, lane);
        if (sums) {
            result += chosen ? (uint64_t)value : 0;
        } else {
            result |= chosen ? (uint64_t)value << lane * bits & mask : in[2] & mask;
        }
    }
    answer->words[0].bits = (uint32_t)result;
    return true;
}

bool answer_video(const Probe *probe, const uint64_t *in, Answer *answer)
{
    const char *opcode = opcode_name(probe->op);
    if (opcode[0] != 'v' || form_category(probe->form) < CATEGORY_VIDEO ||
        form_category(probe->form) > CATEGORY_SIMD_VIDEO)
        return false;
    if (probe->op == OP_VMAD)
        return multiply_add(probe, in, answer);
    if (form_category(probe->form) == CATEGORY_VIDEO)
        return answer_scalar(probe, in, answer);
    return answer_lanes(probe, opcode[strlen(opcode) - 1] == '2' ? 2 : 4, in, answer);
}
