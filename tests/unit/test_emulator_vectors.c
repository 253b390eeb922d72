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
#include "emulator/semantics/semantics.h"
#include "parser/parser.h"

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

static bool is_right(const Vector *vector, uint64_t got)
{
    uint64_t mask = type_mask(vector->type);
    if ((got & mask) == (vector->result & mask))
        return true;
    /* The payload of a NaN is not specified where neg, abs, cvt and min(x, x) pass it on. */
    if (is_nan_pattern(got, vector->type) && is_nan_pattern(vector->result, vector->type))
        return true;
    return strcmp(vector->exactness, "approx") == 0 && close_enough(vector, got);
}

static void report(const Vector *vector, uint64_t got, const char *how)
{
    print_message("%s %s of %llx, %llx, %llx is %llx, not %llx\n", how, vector->instruction,
                  (unsigned long long)vector->inputs[0], (unsigned long long)vector->inputs[1],
                  (unsigned long long)vector->inputs[2], (unsigned long long)vector->result, (unsigned long long)got);
}

/* All rows of the file, those of an instruction together; the array belongs to the arena. */
static Vector *read_vectors(Arena *arena, size_t *count)
{
    FILE *file = fopen("tests/isa/vectors.tsv", "r");
    VEC(Vector) vectors = {0};
    char line[512];
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        Vector vector = {0};
        if (vector_parse(line, &vector))
            VEC_PUSH(arena, vectors, vector);
    }
    fclose(file);
    *count = vectors.count;
    assert_int_equal(*count, 4103);
    return vectors.data;
}

static void vectors_agree(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    size_t count, wrong = 0;
    const Vector *vectors = read_vectors(arena, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t got = 0;
        bool known = emulator_evaluate(vectors[i].instruction, vectors[i].inputs, vectors[i].count, &got);
        if (known && is_right(&vectors[i], got))
            continue;
        wrong++;
        report(&vectors[i], got, known ? "evaluated" : "unknown");
    }
    arena_free(arena);
    assert_int_equal(wrong, 0);
}

/* The same through text, parser, decoder and emulated machine: a kernel for each instruction in which thread i computes
 * the i-th vector. */

static Operation select_operation(Arena *arena, const char *instruction, unsigned count)
{
    const Signature *signature = signature_parse(module_new(arena, interner_new(arena, 0), NULL), instruction);
    Operation operation = {0};
    if (signature->op == OP_SETP)
        return comparison_select(signature);
    for (unsigned i = 0; i < signature->match_count && operation.source_count != count; i++)
        assert_true(operation_select(&operation, signature, signature_form(signature, i)));
    return operation;
}

/* The type of the registers that hold values of this type. */
static const char *register_type(Type type)
{
    unsigned bits = type_bits(type);
    return bits == 1 ? "pred" : bits <= 16 ? "b16" : bits == 32 ? "b32" : "b64";
}

static void write_kernel(Buf *text, const Vector *vector, const Operation *operation)
{
    buf_printf(
        text,
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b64 %%rd<8>; .reg .b32 %%r<4>; .reg .pred %%c; .reg .b64 %%w<8>; .reg .%s %%d;\n",
        register_type(operation->dest));
    buf_puts(text,
             "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 32;\n"
             "add.u64 %rd3, %rd3, %rd1; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd4, %rd2;\n");
    for (unsigned i = 0; i < vector->count; i++) {
        Type type = operation->sources[i];
        const char *reg = register_type(type);
        buf_printf(text, ".reg .%s %%s%u; ld.global.b64 %%w%u, [%%rd3+%u];\n", reg, i, i, 8 * i);
        if (type == TYPE_PRED)
            buf_printf(text, "setp.ne.u64 %%s%u, %%w%u, 0;\n", i, i);
        else
            buf_printf(text, "cvt.u%u.u64 %%s%u, %%w%u;\n", 8 * type_row_bytes(type), i, i);
    }
    buf_printf(text, "%s %%d", vector->instruction);
    for (unsigned i = 0; i < vector->count; i++)
        buf_printf(text, ", %%s%u", i);
    if (operation->dest == TYPE_PRED)
        buf_puts(text, ";\nselp.u64 %rd5, 1, 0, %d;\n");
    else
        buf_printf(text, ";\ncvt.u64.u%u %%rd5, %%d;\n", 8 * type_row_bytes(operation->dest));
    buf_puts(text, "st.global.u64 [%rd4], %rd5; ret;\n}\n");
}

static size_t run_group(const Vector *vectors, unsigned count)
{
    Arena *arena = arena_new();
    Buf text = {0};
    Diag diag;
    Operation operation = select_operation(arena, vectors->instruction, vectors->count);
    write_kernel(&text, vectors, &operation);
    Source *source = source_from_memory(arena, vectors->instruction, buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    uint64_t *inputs = ARENA_ARRAY(arena, uint64_t, 4 * count);
    for (unsigned i = 0; i < count; i++)
        memcpy(inputs + 4 * i, vectors[i].inputs, sizeof vectors[i].inputs);
    LaunchArgument arguments[2] = {
        {.kind = ARGUMENT_BUFFER,
         .name = "in",
         .type = TYPE_U64,
         .count = 4 * count,
         .fill = FILL_BYTES,
         .bytes = inputs,
         .size = 32 * count},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U64, .count = count, .fill = FILL_POISON},
    };
    Launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {count, 1, 1}, .arguments = arguments, .argument_count = 2};
    EmulatorResult *result = emulator_run(arena, module, &launch, NULL);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", fault_text(arena, module, &result->fault));
    const uint64_t *out = (const uint64_t *)emulator_buffer(result, "out")->bytes;
    size_t wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        if (is_right(&vectors[i], out[i]))
            continue;
        wrong++;
        report(&vectors[i], out[i], "executed");
    }
    arena_free(arena);
    return wrong;
}

static void kernels_agree(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    size_t count, wrong = 0;
    const Vector *vectors = read_vectors(arena, &count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && strcmp(vectors[begin].instruction, vectors[end].instruction) == 0;)
            end++;
        wrong += run_group(vectors + begin, (unsigned)(end - begin));
    }
    arena_free(arena);
    assert_int_equal(wrong, 0);
}

/* Both versions of the row functions, on patterns that include special values. */

extern RowFunction *const rows_portable[ROW_COUNT], *const rows_avx2[ROW_COUNT];

static uint64_t pattern(unsigned i)
{
    static const uint64_t special[] = {0,
                                       1,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7f800000,
                                       0xff800001,
                                       0x00000001007fffff,
                                       INT64_MAX,
                                       UINT64_MAX,
                                       UINT64_C(0x8000000000000000),
                                       0x3f8000003f800000,
                                       31,
                                       32,
                                       64,
                                       0x7fff};
    uint64_t random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    random ^= random >> 29;
    return i % 3 ? random * UINT64_C(0xbf58476d1ce4e5b9) : special[i / 3 % COUNT_OF(special)];
}

static void row_versions_agree(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    for (unsigned id = 1; id < ROW_COUNT; id++) {
        _Alignas(64) uint64_t rows[3][LANES], results[2][LANES] = {{0}};
        for (unsigned round = 0; round < 20; round++) {
            for (unsigned i = 0; i < 3 * LANES; i++)
                rows[i / LANES][i % LANES] = pattern(i * 7 + round * 1001 + id);
            const void *sources[] = {rows[0], rows[1], rows[2]};
            rows_portable[id](results[0], sources);
            rows_avx2[id](results[1], sources);
            if (memcmp(results[0], results[1], sizeof results[0]) != 0)
                fail_msg("row function %u", id);
        }
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_agree),
        cmocka_unit_test(kernels_agree),
        cmocka_unit_test(row_versions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
