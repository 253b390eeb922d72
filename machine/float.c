/* Arithmetic of 32 and 64 bits. Sums are rounded to odd in double precision and then to the format, which gives the
 * same as rounding once (emulator/semantics/numbers.h). */
#include "machine/internal.h"

#include <math.h>

enum { F32_SIGN_SHIFT = 31 };

/* An operand's value; .FTZ takes subnormal numbers as zero. */
static double number_of(const Thread *thread, const Decoded *it, const Place *place)
{
    uint32_t bits = float32(thread, place);
    if (has(it, SUFFIX_FTZ))
        bits = format_flush(&FORMAT_F32, bits);
    return float_from_bits(bits);
}

/* x + -x is +0, but -0 if rounding down. */
static double sum_signed(double a, double b, Rounding rounding)
{
    const double sum = sum_odd(a, b);
    return sum == 0 && rounding == ROUND_DOWN && (signbit(a) || signbit(b)) ? -0.0 : sum;
}

static Step give_float(Thread *thread, const Decoded *it, double value)
{
    const Rounding rounding = rounding_of(it);
    if (has(it, SUFFIX_SAT))
        value = value > 0 ? value < 1 ? value : 1 : 0;
    set32(thread, &it->operands[0], has(it, SUFFIX_FTZ) ? format_encode_flushed(&FORMAT_F32, value, rounding)
                                                        : format_encode(&FORMAT_F32, value, rounding, false));
    return STEP_ON;
}

Step execute_float_add(Thread *thread, const Decoded *it)
{
    return give_float(thread, it, sum_signed(number_of(thread, it, &it->operands[1]),
                                             number_of(thread, it, &it->operands[2]), rounding_of(it)));
}

Step execute_float_multiply(Thread *thread, const Decoded *it)
{
    return give_float(thread, it,
                      number_of(thread, it, &it->operands[1]) * number_of(thread, it, &it->operands[2]));
}

Step execute_float_fused(Thread *thread, const Decoded *it)
{
    const double product =
        number_of(thread, it, &it->operands[1]) * number_of(thread, it, &it->operands[2]);
    return give_float(thread, it, sum_signed(product, number_of(thread, it, &it->operands[3]), rounding_of(it)));
}

static uint32_t float_minimum(const Decoded *it, uint32_t a, uint32_t b, bool takes_least)
{
    uint32_t sign = 0;
    if (has(it, SUFFIX_FTZ)) {
        a = format_flush(&FORMAT_F32, a);
        b = format_flush(&FORMAT_F32, b);
    }
    if (has(it, SUFFIX_XORSIGN)) {
        sign = (a ^ b) & UINT32_C(1) << F32_SIGN_SHIFT;
        a &= INT32_MAX;
        b &= INT32_MAX;
    }
    const float x = float_from_bits(a), y = float_from_bits(b);
    if (x != x || y != y)
        return has(it, SUFFIX_NAN) || (x != x && y != y) ? F32_NAN : (x != x ? b : a) | sign;
    const bool less = x < y || (x == y && a >> F32_SIGN_SHIFT > b >> F32_SIGN_SHIFT);
    return (less == takes_least ? a : b) | sign;
}

Step execute_float_minimum(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 4)
        return stop(thread, MACHINE_UNDECIDED, "this form of a minimum");
    set32(thread, &it->operands[0],
          float_minimum(it, float32(thread, &it->operands[1]), float32(thread, &it->operands[2]),
                        predicate(thread, &it->operands[3])));
    return STEP_ON;
}

Step execute_float_minimum3(Thread *thread, const Decoded *it)
{
    if (it->operand_count != 5)
        return stop(thread, MACHINE_UNDECIDED, "this form of a minimum of three");
    const bool takes_least = predicate(thread, &it->operands[4]);
    const uint32_t two = float_minimum(it, float32(thread, &it->operands[1]), float32(thread, &it->operands[2]),
                                       takes_least);
    set32(thread, &it->operands[0], float_minimum(it, two, float32(thread, &it->operands[3]), takes_least));
    return STEP_ON;
}

/* A comparison by the modifiers; those that end with U hold if an operand is a NaN. */
bool float_compare(const Decoded *it, double a, double b)
{
    static const struct {
        SuffixId suffix;
        bool less, equal, greater, unordered;
    } relations[] = {
        {SUFFIX_LT, true, false, false, false},  {SUFFIX_LE, true, true, false, false},
        {SUFFIX_GT, false, false, true, false},  {SUFFIX_GE, false, true, true, false},
        {SUFFIX_EQ, false, true, false, false},  {SUFFIX_NE, true, false, true, false},
        {SUFFIX_LTU, true, false, false, true},  {SUFFIX_LEU, true, true, false, true},
        {SUFFIX_GTU, false, false, true, true},  {SUFFIX_GEU, false, true, true, true},
        {SUFFIX_EQU, false, true, false, true},  {SUFFIX_NEU, true, false, true, true},
        {SUFFIX_NUM, true, true, true, false},   {SUFFIX_NAN, false, false, false, true},
        {SUFFIX_T, true, true, true, true},
    };
    for (size_t i = 0; i < COUNT_OF(relations); i++)
        if (has(it, relations[i].suffix))
            return a < b    ? relations[i].less
                   : a > b  ? relations[i].greater
                   : a == b ? relations[i].equal
                            : relations[i].unordered;
    return false;
}

/* FSETP p, q, a, b, with */
Step execute_float_compare(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 0);
    const bool result = float_compare(it, number_of(thread, it, &it->operands[first]),
                                      number_of(thread, it, &it->operands[first + 1]));
    set_comparison(thread, it, result, &it->operands[first + 2]);
    return STEP_ON;
}

/* FSET.BF d, a, b, with: 1.0 or 0. */
Step execute_float_set(Thread *thread, const Decoded *it)
{
    const bool other = predicate(thread, &it->operands[3]);
    bool result = float_compare(it, number_of(thread, it, &it->operands[1]), number_of(thread, it, &it->operands[2]));
    result = has(it, SUFFIX_AND) ? result && other : has(it, SUFFIX_OR) ? result || other : result != other;
    set32(thread, &it->operands[0], result ? has(it, SUFFIX_BF) ? 0x3f800000 : UINT32_MAX : 0);
    return STEP_ON;
}

/* FCHK p, a, b: whether a / b needs the slow path. NVIDIA does not document where it begins; both paths are right where
 * all of their intermediate values are normal, which is far from it. */
Step execute_float_check(Thread *thread, const Decoded *it)
{
    enum { LEAST = 25, GREATEST = 229, MOST_APART = 100 };
    const int a = (int)(float32(thread, &it->operands[1]) >> 23 & 0xff);
    const int b = (int)(float32(thread, &it->operands[2]) >> 23 & 0xff);
    const bool is_easy =
        a >= LEAST && a <= GREATEST && b >= LEAST && b <= GREATEST && a - b <= MOST_APART && b - a <= MOST_APART;
    set_predicate(thread, &it->operands[0], !is_easy);
    return STEP_ON;
}

static Step give_double(Thread *thread, const Decoded *it, double value)
{
    set64(thread, &it->operands[0], value == value ? double_bits(value) : F64_NAN);
    return STEP_ON;
}

static double double_of(const Thread *thread, const Place *place)
{
    return double_from_bits(float64(thread, place));
}

Step execute_double_add(Thread *thread, const Decoded *it)
{
    return give_double(thread, it, sum_double(double_of(thread, &it->operands[1]), double_of(thread, &it->operands[2]),
                                              rounding_of(it)));
}

Step execute_double_multiply(Thread *thread, const Decoded *it)
{
    return give_double(thread, it, product_double(double_of(thread, &it->operands[1]),
                                                  double_of(thread, &it->operands[2]), rounding_of(it)));
}

Step execute_double_fused(Thread *thread, const Decoded *it)
{
    return give_double(thread, it, fma_double(double_of(thread, &it->operands[1]), double_of(thread, &it->operands[2]),
                                              double_of(thread, &it->operands[3]), rounding_of(it)));
}

/* DSETP.MIN and .MAX p, q, a, b: whether a is the result, and whether both are NaNs. */
static Step compare_for_minimum(Thread *thread, const Decoded *it, double a, double b)
{
    if (it->operand_count != 5 || it->operands[4].index != TRUE_PREDICATE || it->operands[4].inverted)
        return stop(thread, MACHINE_UNDECIDED, "this form of a minimum");
    const bool less = a < b || (a == b && signbit(a) > signbit(b));
    const bool takes_a = a != a ? false : b != b || less == has(it, SUFFIX_MIN);
    set_predicate(thread, &it->operands[0], takes_a);
    set_predicate(thread, &it->operands[1], a != a && b != b);
    return STEP_ON;
}

Step execute_double_compare(Thread *thread, const Decoded *it)
{
    const unsigned first = skip_predicates(it, 0);
    const double a = double_of(thread, &it->operands[first]), b = double_of(thread, &it->operands[first + 1]);
    if (has(it, SUFFIX_MIN) || has(it, SUFFIX_MAX))
        return compare_for_minimum(thread, it, a, b);
    set_comparison(thread, it, float_compare(it, a, b), &it->operands[first + 2]);
    return STEP_ON;
}

/* The function that MUFU approximates; hardware's results differ from these in the last bits. */
static double approximation(const Decoded *it, double x)
{
    const double turn = 6.283185307179586;
    if (has(it, SUFFIX_RCP))
        return 1 / x;
    if (has(it, SUFFIX_RSQ))
        return 1 / sqrt(x);
    if (has(it, SUFFIX_SQRT))
        return sqrt(x);
    if (has(it, SUFFIX_LG2))
        return log2(x);
    if (has(it, SUFFIX_EX2))
        return exp2(x);
    if (has(it, SUFFIX_TANH))
        return tanh(x);
    const double angle = fmod(x, 1) * turn;
    return has(it, SUFFIX_SIN) ? sin(angle) : cos(angle);
}

/* The upper word of the function of a double whose lower word is zero. */
static uint32_t approximate_upper_word(const Decoded *it, uint32_t word)
{
    if (!(word & UINT32_C(0x7ff00000)))
        word &= UINT32_C(0x80000000);
    const double x = double_from_bits((uint64_t)word << 32), value = has(it, SUFFIX_RCP64H) ? 1 / x : 1 / sqrt(x);
    if (value != value)
        return UINT32_C(0x7fffffff);
    const uint32_t upper = (uint32_t)(double_bits(value) >> 32);
    return upper & UINT32_C(0x7ff00000) ? upper : upper & UINT32_C(0x80000000);
}

Step execute_approximate(Thread *thread, const Decoded *it)
{
    MachineEnd *end = thread->block->end;
    if (it->is_approximate && end->approximate == MACHINE_NONE)
        end->approximate = thread->at;
    const Place *from = &it->operands[1];
    if (has(it, SUFFIX_RCP64H) || has(it, SUFFIX_RSQ64H)) {
        set32(thread, &it->operands[0], approximate_upper_word(it, float32(thread, from)));
        return STEP_ON;
    }
    const double x = float_from_bits(format_flush(&FORMAT_F32, float32(thread, from)));
    set32(thread, &it->operands[0], format_encode_flushed(&FORMAT_F32, approximation(it, x), ROUND_NEAREST_EVEN));
    return STEP_ON;
}
