/* Matrix instructions: products through ldmatrix and mma, and through wmma, against plain loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

#define HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY                                                                                                          \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"                                                          \
    ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .f32 %f<20>;\n"                       \
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, "      \
    "%rd2;\n"                                                                                                          \
    "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3;\n"

/* The result buffer of a run of one warp; it belongs to the arena. */
static const void *run(Arena *arena, const char *body, const void *input, uint64_t input_bytes, uint64_t output_bytes)
{
    Buf text = {0};
    Diag diag;
    buf_printf(&text, "%s.shared .align 16 .b8 sm[2048];\n%s%s\nret;\n}\n", HEADER, ENTRY, body);
    Source *source = source_from_memory(arena, "matrix.ptx", buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    LaunchArgument arguments[2] = {
        {.kind = ARGUMENT_BUFFER,
         .name = "in",
         .type = TYPE_U8,
         .count = input_bytes,
         .fill = FILL_BYTES,
         .bytes = input,
         .size = input_bytes},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U8, .count = output_bytes, .fill = FILL_POISON},
    };
    Launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .arguments = arguments, .argument_count = 2};
    EmulatorOptions options = {.check_races = true, .check_registers = true};
    EmulatorResult *result = emulator_run(arena, module, &launch, &options);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", fault_text(arena, module, &result->fault));
    return emulator_buffer(result, "out")->bytes;
}

/* Halves that are small multiples of 1/4: exact, so that every order of summation agrees. */
static uint16_t half_of(int quarters)
{
    uint64_t bits = 0, input;
    float value = (float)quarters * 0.25f;
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    input = word;
    assert_true(emulator_evaluate("cvt.rn.f16.f32", &input, 1, &bits));
    return (uint16_t)bits;
}

static void ldmatrix_feeds_mma(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    uint16_t input[16 * 16 + 16 * 8];
    int a[16][16], b[16][8];
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++)
            input[16 * i + k] = half_of(a[i][k] = (7 * i + 3 * k) % 19 - 9);
    for (int k = 0; k < 16; k++)
        for (int j = 0; j < 8; j++)
            input[256 + 8 * k + j] = half_of(b[k][j] = (5 * k + 11 * j) % 17 - 8);
    /* A by rows, B by rows through .trans; the result by the documented places of c0..c3. */
    const float *out =
        run(arena,
            "mul.lo.u32 %r4, %r1, 24; cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd3, %rd1;\n"
            "mov.u32 %r5, sm; add.u32 %r6, %r5, %r4; mov.u32 %r7, 0;\n"
            "copy: ld.global.v2.u32 {%r8, %r9}, [%rd3]; st.shared.v2.u32 [%r6], {%r8, %r9}; add.u64 %rd3, %rd3, 8;\n"
            "add.u32 %r6, %r6, 8; add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, 3; @%p1 bra copy;\nbar.sync 0;\n"
            "and.b32 %r10, %r1, 15; shl.b32 %r11, %r10, 5; shr.u32 %r12, %r1, 4; shl.b32 %r12, %r12, 4;\n"
            "add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r5; shl.b32 %r13, %r10, 4; add.u32 %r13, %r13, %r5;\n"
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r14, %r15, %r16, %r17}, [%r11];\n"
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r18, %r19}, [%r13+512];\n"
            "mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f3F800000;\n"
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r14, %r15, %r16, %r17},\n"
            "  {%r18, %r19}, {%f1, %f2, %f1, %f2};\n"
            "shl.b32 %r20, %r2, 5; shl.b32 %r21, %r3, 3; add.u32 %r20, %r20, %r21; cvt.u64.u32 %rd4, %r20;\n"
            "add.u64 %rd4, %rd4, %rd2; st.global.v2.f32 [%rd4], {%f5, %f6}; st.global.v2.f32 [%rd4+256], {%f7, %f8};",
            input, sizeof input, 16 * 8 * 4);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += a[i][k] * b[k][j];
            assert_true(out[8 * i + j] == (float)sum / 16 + (j & 1));
        }
    arena_free(arena);
}

static void wmma_multiplies(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    uint16_t input[2 * 256];
    int a[16][16], b[16][16];
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++) {
            input[16 * i + k] = half_of(a[i][k] = (3 * i + 5 * k) % 13 - 6);
            b[i][k] = (2 * i + 7 * k) % 11 - 5;
            input[256 + 16 * k + i] = half_of(b[i][k]); /* by columns */
        }
    const float *out =
        run(arena,
            "mov.u32 %r4, 16;\n"
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12}, [%rd1], %r4;\n"
            "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r13,%r14,%r15,%r16,%r17,%r18,%r19,%r20}, [%rd1+512];\n"
            "mov.f32 %f1, 0f00000000;\n"
            "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9}, "
            "{%r5,%r6,%r7,%r8,%r9,%r10,%r11,%r12},\n"
            "  {%r13,%r14,%r15,%r16,%r17,%r18,%r19,%r20}, {%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};\n"
            "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9}, 16;",
            input, sizeof input, 16 * 16 * 4);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += a[i][k] * b[k][j];
            assert_true(out[16 * i + j] == (float)sum / 16);
        }
    arena_free(arena);
}

static void integer_mma_saturates_or_wraps(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    int8_t input[16 * 32 + 8 * 32];
    for (int i = 0; i < (int)sizeof input; i++)
        input[i] = (int8_t)(37 * i % 251 - 125);
    /* A by rows and B by columns: lane 4g + t has four consecutive k of row (column) g. */
    const int32_t *out = run(
        arena,
        "shl.b32 %r4, %r2, 5; shl.b32 %r5, %r3, 2; add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd3, %r4;\n"
        "add.u64 %rd3, %rd3, %rd1; ld.global.u32 %r6, [%rd3]; ld.global.u32 %r7, [%rd3+256];\n"
        "ld.global.u32 %r8, [%rd3+16]; ld.global.u32 %r9, [%rd3+272]; ld.global.u32 %r10, [%rd3+512];\n"
        "ld.global.u32 %r11, [%rd3+528]; mov.u32 %r12, 0x7fffffff;\n"
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r13, %r14, %r15, %r16}, {%r6, %r7, %r8, %r9},\n"
        "  {%r10, %r11}, {0, 1, 0, %r12};\n"
        "shl.b32 %r20, %r2, 5; shl.b32 %r21, %r3, 3; add.u32 %r20, %r20, %r21; cvt.u64.u32 %rd4, %r20;\n"
        "add.u64 %rd4, %rd4, %rd2; st.global.v2.u32 [%rd4], {%r13, %r14}; st.global.v2.u32 [%rd4+256], {%r15, %r16};",
        input, sizeof input, 16 * 8 * 4);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            int64_t sum = j & 1 ? i < 8 ? 1 : INT32_MAX : 0;
            for (int k = 0; k < 32; k++)
                sum += input[32 * i + k] * input[512 + 32 * j + k];
            assert_int_equal(out[8 * i + j], sum > INT32_MAX ? INT32_MAX : sum);
        }
    arena_free(arena);
}

static void stmatrix_and_movmatrix_move(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    uint32_t input[32];
    for (uint32_t i = 0; i < 32; i++)
        input[i] = 2 * i | (2 * i + 1) << 16; /* element number n at (n / 8, n % 8) */
    const uint16_t *out =
        run(arena,
            "shl.b32 %r4, %r1, 2; cvt.u64.u32 %rd3, %r4; add.u64 %rd4, %rd3, %rd1; add.u64 %rd5, %rd3, %rd2;\n"
            "ld.global.u32 %r5, [%rd4]; movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5; st.global.u32 [%rd5], %r6;\n"
            "mov.u32 %r7, sm; and.b32 %r8, %r1, 7; shl.b32 %r8, %r8, 4; add.u32 %r8, %r8, %r7;\n"
            "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r8], {%r5}; bar.sync 0; add.u32 %r9, %r7, %r4;\n"
            "ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd5+128], %r10;",
            input, sizeof input, 256);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(out[i], i % 8 * 8 + i / 8);
        assert_int_equal(out[64 + i], i % 8 * 8 + i / 8);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ldmatrix_feeds_mma),
        cmocka_unit_test(wmma_multiplies),
        cmocka_unit_test(integer_mma_saturates_or_wraps),
        cmocka_unit_test(stmatrix_and_movmatrix_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
