/* Video instructions: parts, saturation, second operations and merging; lanes, masks and sums. */
#include "emulated.h"

typedef struct Case {
    const char *instruction;
    uint32_t a, b, c, expected;
} Case;

static void check(const Case *cases, unsigned count)
{
    Arena *arena = arena_new();
    Buf body = {0};
    for (unsigned i = 0; i < count; i++)
        buf_printf(&body, "mov.u32 %%r2, %u; mov.u32 %%r3, %u; mov.u32 %%r4, %u; %s st.global.u32 [%%rd1+%u], %%r5;\n",
                   cases[i].a, cases[i].b, cases[i].c, cases[i].instruction, 4 * i);
    const uint32_t *out = emulated_words(arena, &(Emulated){0}, buf_text(&body));
    buf_free(&body);
    for (unsigned i = 0; i < count; i++)
        if (out[i] != cases[i].expected)
            fail_msg("%s of 0x%x, 0x%x, 0x%x is 0x%x, not 0x%x", cases[i].instruction, cases[i].a, cases[i].b,
                     cases[i].c, out[i], cases[i].expected);
    arena_free(arena);
}

static void parts_are_selected_and_extended(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vadd.s32.s32.s32 %r5, %r2, %r3;", 5, 0xfffffffe, 0, 3},
        {"vadd.s32.s32.u32 %r5, %r2.b1, %r3.h1;", 0x0000ff00, 0x80000000, 0, 0x7fff},
        {"vadd.u32.u32.u32 %r5, %r2.b3, %r3.h0;", 0xff000000, 0x1234ffff, 0, 0x100fe},
        {"vsub.s32.u32.u32 %r5, %r2, %r3;", 1, 2, 0, 0xffffffff},
        {"vabsdiff.u32.s32.s32 %r5, %r2, %r3;", 0x80000000, 0x7fffffff, 0, 0xffffffff},
        {"vmin.s32.s32.u32 %r5, %r2, %r3;", 0x80000000, 0x80000000, 0, 0x80000000},
        {"vmax.u32.s32.u32 %r5, %r2, %r3;", 0xffffffff, 7, 0, 7},
        {"vset.s32.u32.lt %r5, %r2, %r3;", 0xffffffff, 0, 0, 1},
        {"vset.u32.u32.lt %r5, %r2, %r3;", 0xffffffff, 0, 0, 0},
        {"vshl.u32.u32.u32.clamp %r5, %r2, %r3;", 3, 33, 0, 0},
        {"vshl.u32.u32.u32.wrap %r5, %r2, %r3;", 3, 33, 0, 6},
        {"vshr.s32.s32.u32.clamp %r5, %r2, %r3;", 0x80000000, 40, 0, 0xffffffff},
        {"vshr.u32.u32.u32.wrap %r5, %r2, %r3.b0;", 0x80000000, 0x1f, 0, 1},
    };
    check(cases, sizeof cases / sizeof *cases);
}

/* ptxas generates the code of the form without it. */
static void third_operand_without_selector_is_ignored(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vadd.s32.s32.s32.sat %r5, %r2, %r3, %r4;", 0x7fffffff, 1, 0x11223344, 0x7fffffff},
        {"vabsdiff.u32.u32.u32 %r5, %r2.b1, %r3, %r4;", 0x500, 7, 0x11223344, 2},
        {"vset.u32.u32.lt %r5, %r2, %r3, %r4;", 1, 2, 0x11223344, 1},
        {"vshr.s32.s32.u32.clamp %r5, %r2, %r3, %r4;", 0x80000000, 40, 0x11223344, 0xffffffff},
    };
    check(cases, sizeof cases / sizeof *cases);
}

/* A wider destination gets zeros in front, a wider source gives its low bits. */
static void packing_takes_wider_registers(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"cvt.pack.sat.s16.s32 %rd2, %r2, %r3; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r5, %rd2;", 0xffff0000, 1, 0, 0},
        {"mov.b64 %rd2, {%r4, %r2}; cvt.pack.sat.u8.s32.b32 %r5, %r2, %r3, %rd2;", 1, 2, 0x3344, 0x33440102},
    };
    check(cases, sizeof cases / sizeof *cases);
}

static void results_saturate_to_their_part(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vadd.u32.u32.u32.sat %r5, %r2, %r3;", 0xffffffff, 1, 0, 0xffffffff},
        {"vsub.u32.u32.u32.sat %r5, %r2, %r3;", 1, 2, 0, 0},
        {"vadd.s32.s32.s32.sat %r5, %r2, %r3;", 0x7fffffff, 1, 0, 0x7fffffff},
        {"vsub.s32.s32.s32.sat %r5.b1, %r2, %r3, %r4;", 0, 300, 0x11223344, 0x11228044},
        {"vadd.u32.u32.u32.sat %r5.h1, %r2, %r3, %r4;", 70000, 1, 0x11223344, 0xffff3344},
        {"vadd.u32.u32.u32 %r5.h0, %r2, %r3, %r4;", 70000, 1, 0x11223344, 0x11221171},
        {"vshl.u32.u32.u32.sat.clamp %r5, %r2, %r3;", 3, 31, 0, 0xffffffff},
        {"vset.u32.u32.eq %r5.b3, %r2, %r3, %r4;", 9, 9, 0x11223344, 0x01223344},
    };
    check(cases, sizeof cases / sizeof *cases);
}

static void second_operations_take_c(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vabsdiff.u32.u32.u32.add %r5, %r2.b0, %r3.b0, %r4;", 5, 9, 100, 104},
        {"vsub.s32.s32.s32.min %r5, %r2, %r3, %r4;", 1, 9, 0xfffffff0, 0xfffffff0},
        {"vadd.s32.s32.s32.max %r5, %r2, %r3, %r4;", 1, 9, 0xfffffff0, 10},
        {"vadd.u32.u32.u32.max %r5, %r2, %r3, %r4;", 1, 9, 0xfffffff0, 0xfffffff0},
        {"vset.s32.s32.gt.add %r5, %r2, %r3, %r4;", 1, 0, 41, 42},
    };
    check(cases, sizeof cases / sizeof *cases);
}

static void multiply_and_add(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vmad.u32.u32.u32 %r5, %r2.h0, %r3.h1, %r4;", 0xffff, 0xffff0000, 7, 0xfffe0008},
        {"vmad.s32.s32.s32 %r5, %r2.b0, %r3.b0, %r4;", 0xff, 0x10, 1, 0xfffffff1},
        {"vmad.s32.u32.u32 %r5, -%r2, %r3, %r4;", 3, 4, 2, 0xfffffff6},
        {"vmad.s32.u32.u32 %r5, %r2, %r3, -%r4;", 3, 4, 2, 10},
        {"vmad.u32.u32.u32.po %r5, %r2, %r3, %r4;", 3, 4, 2, 15},
        {"vmad.u32.u32.u32.shr7 %r5, %r2, %r3, %r4;", 0xffffffff, 0xffffffff, 0, 0xfc000000},
        {"vmad.u32.u32.u32.sat.shr15 %r5, %r2, %r3, %r4;", 0xffffffff, 0xffffffff, 0, 0xffffffff},
        {"vmad.s32.s32.s32.sat %r5, %r2, %r3, %r4;", 0x80000000, 0x7fffffff, 0, 0x80000000},
    };
    check(cases, sizeof cases / sizeof *cases);
}

static void lanes_work_side_by_side(void **state)
{
    (void)state;
    static const Case cases[] = {
        {"vadd2.u32.u32.u32 %r5, %r2, %r3, %r4;", 0x0001ffff, 0x00020001, 0, 0x00030000},
        {"vadd2.u32.u32.u32.sat %r5, %r2, %r3, %r4;", 0x0001ffff, 0x00020001, 0, 0x0003ffff},
        {"vsub2.s32.s32.s32.sat %r5.h1, %r2, %r3, %r4;", 0x80000005, 0x00010002, 0x11223344, 0x80003344},
        {"vadd2.u32.u32.u32 %r5, %r2.h00, %r3.h23, %r4;", 0x00010002, 0x00300040, 0, 0x00420032},
        {"vavrg2.s32.s32.s32 %r5, %r2, %r3, %r4;", 0xfffd0003, 0x00000004, 0, 0xfffe0004},
        {"vabsdiff4.u32.u32.u32.add %r5, %r2, %r3, %r4;", 0x01020304, 0x04030201, 100, 108},
        {"vadd4.u32.u32.u32 %r5.b20, %r2, %r3, %r4;", 0x01020304, 0x10203040, 0xaabbccdd, 0xaa22cc44},
        {"vsub4.s32.u32.u32.add %r5, %r2, %r3, %r4;", 0x00000000, 0x01010101, 10, 6},
        {"vmin4.s32.s32.s32 %r5, %r2, %r3, %r4;", 0x7f80ff00, 0x00007f80, 0, 0x0080ff80},
        {"vmax4.u32.u32.u32 %r5, %r2, %r3, %r4;", 0x7f80ff00, 0x00007f80, 0, 0x7f80ff80},
        {"vmax4.u32.u32.u32 %r5, %r2.b0123, %r3.b4567, %r4;", 0x7f80ff00, 0x00007f80, 0, 0x80ff807f},
        {"vset4.u32.u32.ge %r5, %r2, %r3, %r4;", 0x7f80ff00, 0x00007f80, 0, 0x01010100},
        {"vset2.s32.s32.ne.add %r5, %r2, %r3, %r4;", 0x00010002, 0x00010003, 7, 8},
    };
    check(cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_selected_and_extended),
        cmocka_unit_test(third_operand_without_selector_is_ignored),
        cmocka_unit_test(packing_takes_wider_registers),
        cmocka_unit_test(results_saturate_to_their_part),
        cmocka_unit_test(second_operations_take_c),        cmocka_unit_test(multiply_and_add),
        cmocka_unit_test(lanes_work_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
