/* The error of the approximate functions against exact values from MPFR; docs/approximate.md has the figures that it
 * prints. */
#include <math.h>
#include <mpfr.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "emulator/semantics/numbers.h"

typedef int Exact(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding);

static int reciprocal(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_ui_div(result, 1, x, rounding);
}

static int reciprocal_root(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_rec_sqrt(result, x, rounding);
}

static int exact_root(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_sqrt(result, x, rounding);
}

static int exact_sine(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_sin(result, x, rounding);
}

static int exact_cosine(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_cos(result, x, rounding);
}

static int exact_logarithm(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_log2(result, x, rounding);
}

static int exact_power(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_exp2(result, x, rounding);
}

static int exact_tangent(mpfr_t result, const mpfr_t x, mpfr_rnd_t rounding)
{
    return mpfr_tanh(result, x, rounding);
}

typedef struct Approximation {
    const char *instruction;
    Exact *exact;
    const FloatFormat *format;
    double low, high;  /* the operands tried */
    double bound;      /* documented, relative, or absolute where 'is_absolute' */
    bool is_absolute;
} Approximation;

static const Approximation functions[] = {
    {"rcp.approx.f32", reciprocal, &FORMAT_F32, 0x1p-126, 0x1p126, 0x1p-23, false},
    {"sqrt.approx.f32", exact_root, &FORMAT_F32, 0x1p-126, 0x1.fffffep127, 0x1p-23, false},
    {"rsqrt.approx.f32", reciprocal_root, &FORMAT_F32, 0x1p-126, 0x1.fffffep127, 0x1p-22, false},
    {"sin.approx.f32", exact_sine, &FORMAT_F32, 0x1p-20, 0x1.921fb6p2, 0x1p-20, true},
    {"cos.approx.f32", exact_cosine, &FORMAT_F32, 0x1p-20, 0x1.921fb6p2, 0x1p-20, true},
    {"sin.approx.f32", exact_sine, &FORMAT_F32, 0x1.921fb6p2, 0x1.fffffep127, 0x1p-20, true},
    {"lg2.approx.f32", exact_logarithm, &FORMAT_F32, 0x1p-126, 0x1.fffffep127, 0x1p-22, false},
    {"ex2.approx.f32", exact_power, &FORMAT_F32, 0x1p-20, 127, 0x1p-22, false},
    {"tanh.approx.f32", exact_tangent, &FORMAT_F32, 0x1p-20, 20, 0x1p-11, false},
    {"tanh.approx.f16", exact_tangent, &FORMAT_F16, 0x1p-14, 8, 0x1p-10, false},
    {"tanh.approx.bf16", exact_tangent, &FORMAT_BF16, 0x1p-20, 8, 0x1p-7, false},
    {"ex2.approx.f16", exact_power, &FORMAT_F16, 0x1p-14, 14, 0x1p-9, false},
    {"ex2.approx.ftz.bf16", exact_power, &FORMAT_BF16, 0x1p-20, 120, 0x1p-7, false},
};

#define SAMPLES 20000

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

typedef struct Distance {
    double units;         /* the largest, in units of the result's last place */
    double error;         /* relative or absolute */
    unsigned not_nearest; /* how often the result is not the correctly rounded value */
} Distance;

static double unit_of(const FloatFormat *format, double value)
{
    int exponent, least = 2 - (1 << (format->exponent_bits - 1));
    frexp(value, &exponent);
    exponent--;
    return ldexp(1, (exponent < least ? least : exponent) - format->mantissa_bits);
}

static void measure(const Approximation *function, Distance *distance)
{
    uint64_t state = 1, input, result;
    mpfr_t x, exact, error;
    mpfr_inits2(200, x, exact, error, (mpfr_ptr)0);
    *distance = (Distance){0};
    for (unsigned i = 0; i < SAMPLES; i++) {
        /* Logarithms of operands are uniform, signs alternate where both are allowed. */
        double unit = (double)next_random(&state) / 0x1p31;
        double value = exp2(log2(function->low) + unit * (log2(function->high) - log2(function->low)));
        bool positive = function->exact == exact_root || function->exact == reciprocal_root ||
                        function->exact == exact_logarithm;
        if (!positive && next_random(&state) & 1)
            value = -value;
        input = format_encode(function->format, value, ROUND_ZERO, true);
        assert_true(emulator_evaluate(function->instruction, &input, 1, &result));
        double got = format_decode(function->format, (uint32_t)result);
        mpfr_set_d(x, format_decode(function->format, (uint32_t)input), MPFR_RNDN);
        function->exact(exact, x, MPFR_RNDN);
        double nearest = mpfr_get_d(exact, MPFR_RNDN);
        mpfr_sub_d(error, exact, got, MPFR_RNDN);
        double absolute = fabs(mpfr_get_d(error, MPFR_RNDN)), unit_in_place = unit_of(function->format, nearest);
        double relative = nearest != 0 ? absolute / fabs(nearest) : absolute;
        double here = function->is_absolute ? absolute : relative;
        distance->units = fmax(distance->units, absolute / unit_in_place);
        distance->error = fmax(distance->error, here);
        distance->not_nearest += absolute > unit_in_place / 2;
    }
    mpfr_clears(x, exact, error, (mpfr_ptr)0);
}

static void results_are_the_exact_ones_rounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        Distance distance;
        measure(&functions[i], &distance);
        print_message("%-20s [%9.3g, %9.3g]  %.6f units in the last place, %s error 2^%.2f, %u of %d not nearest\n",
                      functions[i].instruction, functions[i].low, functions[i].high, distance.units,
                      functions[i].is_absolute ? "absolute" : "relative", log2(distance.error), distance.not_nearest,
                      SAMPLES);
        assert_true(distance.units <= 0.5 + 0x1p-16);
        assert_true(distance.error <= functions[i].bound);
    }
}

static void special_operands(void **state)
{
    (void)state;
    static const struct {
        const char *instruction;
        uint32_t operand, result;
    } cases[] = {
        {"sin.approx.f32", 0x80000000, 0x80000000},     {"sin.approx.f32", 0x7f800000, 0x7fffffff},
        {"cos.approx.f32", 0x80000000, 0x3f800000},     {"cos.approx.f32", 0xff800000, 0x7fffffff},
        {"sin.approx.ftz.f32", 0x80000001, 0x80000000}, {"sin.approx.f32", 0x00000001, 0x00000001},
        {"ex2.approx.f32", 0xff800000, 0x00000000},     {"ex2.approx.f32", 0x7f800000, 0x7f800000},
        {"ex2.approx.f32", 0x43000000, 0x7f800000},     {"ex2.approx.f32", 0xc3140000, 0x00000002},
        {"ex2.approx.ftz.f32", 0xc3140000, 0x00000000}, {"ex2.approx.f32", 0x00000001, 0x3f800000},
        {"lg2.approx.f32", 0x80000000, 0xff800000},     {"lg2.approx.f32", 0xbf800000, 0x7fffffff},
        {"lg2.approx.f32", 0x00000001, 0xc3150000},     {"lg2.approx.ftz.f32", 0x00000001, 0xff800000},
        {"tanh.approx.f32", 0xff800000, 0xbf800000},    {"tanh.approx.f32", 0x80000001, 0x80000001},
        {"tanh.approx.f32", 0x7fc00000, 0x7fffffff},    {"rsqrt.approx.f32", 0x80000000, 0xff800000},
        {"rcp.approx.f32", 0xff800000, 0x80000000},     {"sqrt.approx.f32", 0x80000000, 0x80000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t operand = cases[i].operand, result = 0;
        assert_true(emulator_evaluate(cases[i].instruction, &operand, 1, &result));
        if (result != cases[i].result)
            fail_msg("%s of 0x%x is 0x%x, not 0x%x", cases[i].instruction, cases[i].operand, (unsigned)result,
                     cases[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_exact_ones_rounded),
        cmocka_unit_test(special_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
