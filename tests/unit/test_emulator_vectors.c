/* Pure instructions against results that ptxas folds at compile time: tests/isa/vectors.tsv. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"

typedef struct Vector {
    char instruction[64], type[8], exactness[16];
    uint64_t inputs[4], result;
    unsigned count;
} Vector;

static bool vector_parse(char *line, Vector *vector)
{
    char inputs[128], result[32];
    if (line[0] == '#' || strncmp(line, "instruction\t", 12) == 0)
        return false;
    if (sscanf(line, "%63s %127s %7s %31s %15s", vector->instruction, inputs, vector->type, result,
               vector->exactness) != 5)
        return false;
    vector->count = 0;
    for (char *at = inputs; *at && vector->count < 4;) {
        vector->inputs[vector->count++] = strtoull(at, &at, 16);
        if (*at == ',')
            at++;
    }
    vector->result = strtoull(result, NULL, 16);
    return true;
}

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static bool is_nan_pattern(uint64_t bits, const char *type)
{
    if (strcmp(type, "f64") == 0)
        return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    if (strcmp(type, "f16") == 0)
        return (bits & 0x7fff) > 0x7c00;
    return strcmp(type, "f32") == 0 && (bits & INT32_MAX) > 0x7f800000;
}

/* The documented bounds: two units in the last place, or 2^-20.5 for sine and cosine, and subnormals that hardware
 * flushes. */
static bool close_enough(const Vector *vector, uint64_t got)
{
    double expected = as_float(vector->result), actual = as_float(got);
    bool trigonometric = strncmp(vector->instruction, "sin", 3) == 0 || strncmp(vector->instruction, "cos", 3) == 0;
    if (expected == actual || (isnan(expected) && isnan(actual)))
        return true;
    /* Outside [-2 pi, 2 pi] only the range reduction is promised. */
    if (trigonometric)
        return fabs(expected - actual) <= 0x1p-20 || fabs(as_float(vector->inputs[0])) > 100;
    return fabs(expected - actual) <= 0x1p-21 * fabs(expected) + 0x1p-126;
}

/* Results of 16 bits and less were read back from a 32-bit register, extended. */
static uint64_t type_mask(const char *type)
{
    unsigned bits = (unsigned)strtoul(type + strcspn(type, "0123456789"), NULL, 10);
    return type[0] == 'p' ? 1 : bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Video instructions take lane selections from their operands and are not evaluated alone. */
static bool is_evaluated(const Vector *vector)
{
    return vector->instruction[0] != 'v';
}

static void vectors_agree(void **state)
{
    (void)state;
    FILE *file = fopen("tests/isa/vectors.tsv", "r");
    char line[512];
    unsigned tested = 0, wrong = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        Vector vector;
        uint64_t got = 0;
        if (!vector_parse(line, &vector) || !is_evaluated(&vector))
            continue;
        bool known = emulator_evaluate(vector.instruction, vector.inputs, vector.count, &got);
        uint64_t mask = type_mask(vector.type);
        bool fine = known && (got & mask) == (vector.result & mask);
        /* The payload of a NaN is not specified where neg, abs, cvt and min(x, x) pass it on. */
        if (known && !fine && is_nan_pattern(got, vector.type) && is_nan_pattern(vector.result, vector.type))
            fine = true;
        if (known && !fine && strcmp(vector.exactness, "approx") == 0)
            fine = close_enough(&vector, got);
        tested++;
        if (!fine) {
            wrong++;
            line[strcspn(line, "\n")] = 0;
            print_message("%s: %s %llx\n", line, known ? "got" : "unknown", (unsigned long long)got);
        }
    }
    fclose(file);
    assert_true(tested > 4000);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
