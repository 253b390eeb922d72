/* Packing: the values that share a register, and their values after unpacking. */
#include "opt/registers/moves/pack.h"

#include "tests/unit/test_registers_support.h"

enum { SMALL = 12, FAR = 20 };

#define HEAD                                                                                                           \
    KERNEL_HEAD                                                                                                        \
    ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<60>;\n.reg .b16 %h<30>;\n.reg .b32 %r<99>;\n"                 \
    ".reg .b64 %rd<30>;\nld.param.u64 %rd1, [p];\nmov.u32 %r90, %tid.x;\nmul.wide.u32 %rd2, %r90, 4;\n"               \
    "add.s64 %rd3, %rd1, %rd2;\n"

/* Instructions that keep what is defined before them away from what reads it. */
static const char *distance(Arena *arena, const char *code)
{
    code = arena_printf(arena, "%smov.u32 %%r80, %%r90;\n", code);
    for (int i = 0; i < FAR; i++)
        code = arena_printf(arena, "%smad.lo.u32 %%r80, %%r80, %%r80, %%r90;\n", code);
    return arena_printf(arena, "%sst.global.u32 [%%rd3+4], %%r80;\n", code);
}

/* Loads words, from each of which 'make' and 'from' make a small value in %KIND<i> ("selp.u32", ", 1, 0, %p"), and
 * stores these far away. */
static const char *kernel(Arena *arena, const char *make, const char *kind, const char *from, const char *store)
{
    const char *code = HEAD;
    for (int i = 0; i < SMALL; i++) {
        code = arena_printf(arena, "%sld.global.u32 %%r%d, [%%rd3+%d];\nsetp.eq.u32 %%p%d, %%r%d, 7;\n", code, 40 + i,
                            512 * i, 40 + i, 40 + i);
        code = arena_printf(arena, "%s%s %%%s%d%s", code, make, kind, 10 + i, from);
        code = arena_printf(arena, "%s%d;\n", code, 40 + i);
    }
    code = distance(arena, code);
    for (int i = 0; i < SMALL; i++)
        code = arena_printf(arena, "%s%s [%%rd3+%d], %%%s%d;\n", code, store, 512 * i, kind, 10 + i);
    return arena_printf(arena, "%sret;\n}\n", code);
}

/* A form of the kernel with small values packed, verified. */
typedef struct Form {
    Module *module;
    Body *body;
    Packing packing;
} Form;

static Form form_of(const char *text, int32_t limit, uint64_t most)
{
    Form form = {.module = module_of_text(text)};
    form.body = body_in_ssa(module_find_function(form.module, "k"));
    form.packing = one_pack(form.body, &(PackRequest){limit, most});
    body_verify(form.body, "pack");
    return form;
}

static void form_free(Form *form)
{
    body_and_module_free(form->module, form->body);
}

static void flags_share_one_register(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = kernel(arena, "selp.u32", "r", ", 1, 0, %p", "st.global.u32");
    Form form = form_of(text, 8, UINT64_MAX);
    assert_int_equal(form.packing.values, SMALL);
    assert_int_equal(form.packing.words, 1);
    /* The first is the word that the others are added to. */
    assert_int_equal(body_count(form.body, "mad"), FAR + SMALL - 1);
    assert_int_equal(body_count(form.body, "and"), 1);
    assert_int_equal(body_count(form.body, "bfe"), SMALL - 2);
    assert_int_equal(body_count(form.body, "shr"), 1);
    form_free(&form);
    arena_free(arena);
}

static void fields_are_as_wide_as_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        unsigned words;
    } cases[] = {
        {", 3, %r", 1},      /* 12 * 2 bits */
        {", 7, %r", 2},      /* 12 * 4 */
        {", 255, %r", 3},    /* 12 * 8 */
        {", 511, %r", 6},    /* 12 * 16 */
        {", 131071, %r", 0}, /* 17 bits */
    };
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Form form = form_of(kernel(arena, "and.b32", "r", cases[i].from, "st.global.u32"), 8, UINT64_MAX);
        assert_int_equal(form.packing.words, cases[i].words);
        assert_int_equal(form.packing.values, cases[i].words ? SMALL : 0);
        form_free(&form);
    }
    arena_free(arena);
}

static void registers_of_other_sizes_are_packed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Form halves = form_of(kernel(arena, "cvt.u16.u32", "h", ", %r", "st.global.u16"), 8, UINT64_MAX);
    assert_int_equal(halves.packing.values, SMALL);
    assert_int_equal(halves.packing.words, SMALL / 2);
    form_free(&halves);
    Form wide = form_of(kernel(arena, "selp.u64", "rd", ", 1, 0, %p", "st.global.u64"), 8, UINT64_MAX);
    assert_int_equal(wide.packing.values, SMALL);
    assert_int_equal(wide.packing.words, 1);
    form_free(&wide);
    arena_free(arena);
}

/* Results of one instruction are added one after the other, and phis of one block before its instructions. */
static void members_of_one_definition_are_added_in_order(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *vector = distance(arena, HEAD "ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [%rd3];\n");
    vector = arena_printf(arena, "%sst.global.v4.u32 [%%rd3+16], {%%r1, %%r2, %%r3, %%r4};\nret;\n}\n", vector);
    Form loaded = form_of(vector, 2, UINT64_MAX);
    assert_int_equal(loaded.packing.values, 4);
    assert_int_equal(loaded.packing.words, 1);
    form_free(&loaded);
    const char *phis = distance(arena, HEAD "setp.eq.u32 %p1, %r90, 3;\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\n"
                                            "@%p1 bra ON;\nmov.u32 %r1, 3;\nmov.u32 %r2, 0;\nON:\n"
                                            "and.b32 %r3, %r90, 3;\n");
    phis = arena_printf(arena, "%sst.global.v4.u32 [%%rd3+16], {%%r1, %%r2, %%r3, %%r3};\nret;\n}\n", phis);
    Form merged = form_of(phis, 2, UINT64_MAX);
    assert_int_equal(merged.packing.values, 3);
    assert_int_equal(merged.packing.words, 1);
    form_free(&merged);
    arena_free(arena);
}

static void nothing_is_packed_without_need(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = kernel(arena, "selp.u32", "r", ", 1, 0, %p", "st.global.u32");
    Form room = form_of(text, 99, UINT64_MAX);
    assert_int_equal(room.packing.values, 0);
    form_free(&room);
    /* Nothing is packed if the form would be too long. */
    Form instructions = form_of(text, 8, 20);
    assert_int_equal(instructions.packing.values, 0);
    form_free(&instructions);
    arena_free(arena);
}

/* Any bits of an undefined value would come into its neighbours' fields. */
static void what_may_be_undefined_stays(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = kernel(arena, "@%p41 selp.u32", "r", ", 1, 0, %p", "@%p41 st.global.u32");
    Form form = form_of(text, 4, UINT64_MAX);
    assert_int_equal(form.packing.values, 0);
    form_free(&form);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_share_one_register),
        cmocka_unit_test(fields_are_as_wide_as_their_values),
        cmocka_unit_test(registers_of_other_sizes_are_packed),
        cmocka_unit_test(members_of_one_definition_are_added_in_order),
        cmocka_unit_test(nothing_is_packed_without_need),
        cmocka_unit_test(what_may_be_undefined_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
