/* Recomputing across places: the values that are kept, the places where they are computed again, and the values that
 * stay. */
#include "tests/unit/test_registers_support.h"

enum { ITEMS = 12 };

#define HEAD                                                                                                           \
    KERNEL_HEAD                                                                                                        \
    ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<4>;\n"                  \
    "ld.param.u64 %rd1, [p];\nmov.u32 %r90, %tid.x;\nmul.wide.u32 %rd2, %r90, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"

/* Loads the items and adds them up one by one: item i is in %r<i>, the sum of the first ones to i in %r<30+i>. */
static const char *sums(Arena *arena, const char *code)
{
    const char *text = arena_printf(arena, "%smov.u32 %%r30, %%r0;\n", code);
    for (int i = 1; i < ITEMS; i++)
        text = arena_printf(arena, "%sadd.s32 %%r%d, %%r%d, %%r%d;\n", text, 30 + i, 29 + i, i);
    return text;
}

static const char *loads(Arena *arena, const char *code)
{
    for (int i = 0; i < ITEMS; i++)
        code = arena_printf(arena, "%sld.global.u32 %%r%d, [%%rd3+%d];\n", code, i, 512 * i);
    return code;
}

/* Stores %r<from> and the following ones. */
static const char *stores(Arena *arena, const char *code, int from)
{
    for (int i = 0; i < ITEMS; i++)
        code = arena_printf(arena, "%sst.global.u32 [%%rd3+%d], %%r%d;\n", code, 512 * i, from + i);
    return code;
}

/* A form of the kernel with values recomputed, verified. */
typedef struct Form {
    Module *module;
    Body *body;
    unsigned added;
    int32_t before, after; /* peaks of live registers in the blocks' own order */
} Form;

static int32_t peak_of(const Body *body)
{
    Analyses *analyses = analyses_new(body);
    Arena *arena = arena_new();
    const Lowered *lowered =
        lowered_compute(arena, body, analyses_values(analyses), LOADS_IN_ARITHMETIC, LOWERED_PLAINLY);
    int32_t peak = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        OrderLoad load = order_load(lowered, &lowered->blocks[b], 0);
        peak = load.peak > peak ? load.peak : peak;
    }
    arena_free(arena);
    analyses_free(analyses);
    return peak;
}

static Form form_of(const char *text, int32_t limit, unsigned worth, uint64_t most)
{
    Form form = {.module = module_of_text(text)};
    form.body = body_in_ssa(module_find_function(form.module, "k"));
    form.before = peak_of(form.body);
    form.added = one_recompute(form.body, &(RecomputeRequest){limit, worth, most});
    body_verify(form.body, "recompute");
    form.after = peak_of(form.body);
    return form;
}

static void form_free(Form *form)
{
    body_and_module_free(form->module, form->body);
}

static unsigned adds_in_loops(const Body *body)
{
    unsigned adds = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        if (block->last && block->last->target_count)
            adds += block_count(block, "add");
    }
    return adds;
}

/* Items and sums are live across the barrier; the items are enough. */
static const char *scan(Arena *arena)
{
    const char *text = sums(arena, loads(arena, HEAD));
    text = arena_printf(arena, "%sst.global.u32 [%%rd1], %%r%d;\nbar.sync 0;\n", text, 30 + ITEMS - 1);
    return arena_printf(arena, "%sret;\n}\n", stores(arena, stores(arena, text, 30), 0));
}

static void items_are_kept_and_sums_computed_again(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Form form = form_of(scan(arena), 8, 8, UINT64_MAX);
    assert_true(form.before >= 2 * ITEMS);
    assert_true(form.after <= form.before - ITEMS / 2);
    assert_true(form.added >= ITEMS - 1);
    /* Each sum exists twice, and their starting values are hidden from the assembler. */
    assert_int_equal(block_count(form.body->blocks.data[0], "add") >= 2 * (ITEMS - 1), true);
    assert_true(block_count(form.body->blocks.data[0], "prmt") >= 1);
    form_free(&form);
    arena_free(arena);
}

static void a_limit_or_a_low_worth_leaves_the_code_alone(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Form form = form_of(scan(arena), 200, 8, UINT64_MAX);
    assert_int_equal(form.added, 0);
    form_free(&form);
    form = form_of(scan(arena), 8, 0, UINT64_MAX);
    assert_int_equal(form.added, 0);
    form_free(&form);
    /* The first place is examined in any case. */
    form = form_of(scan(arena), 2, 8, 0);
    unsigned once = form.added;
    form_free(&form);
    form = form_of(scan(arena), 2, 8, UINT64_MAX);
    assert_true(form.added >= once);
    form_free(&form);
    arena_free(arena);
}

/* The place is in one side of a branch, the reads come after both. */
static void reads_after_a_join(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = sums(arena, loads(arena, HEAD));
    text = arena_printf(arena, "%ssetp.eq.s32 %%p1, %%r90, 7;\n@%%p1 bra JOIN;\nst.global.u32 [%%rd1], %%r%d;\n"
                               "ld.volatile.global.u32 %%r91, [%%rd1+8];\nst.global.u32 [%%rd1+4], %%r91;\n"
                               "call (), vprintf, ();\nJOIN:\n", text, 30 + ITEMS - 1);
    text = arena_printf(arena, "%sret;\n}\n", stores(arena, stores(arena, text, 30), 0));
    const char *declared = KERNEL_HEAD ".extern .func vprintf;\n";
    text = arena_printf(arena, "%s%s", declared, text + strlen(KERNEL_HEAD));
    Form form = form_of(text, 8, 8, UINT64_MAX);
    Block *join = form.body->blocks.data[form.body->blocks.count - 1];
    assert_true(block_count(join, "add") >= ITEMS - 1);
    assert_true(form.after < form.before);
    form_free(&form);
    arena_free(arena);
}

/* A value read after a loop is recomputed there; a value that the loop reads stays if it takes more instructions than
 * its register is worth. */
static void loops_keep_what_takes_longer(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = sums(arena, loads(arena, HEAD));
    text = arena_printf(arena, "%sst.global.u32 [%%rd1], %%r%d;\nbar.sync 0;\nmov.u32 %%r92, 0;\nLOOP:\n", text,
                        30 + ITEMS - 1);
    for (int i = 0; i < ITEMS; i += 4)
        text = arena_printf(arena, "%sst.global.u32 [%%rd3+%d], %%r%d;\n", text, 128 * i, 30 + i);
    text = arena_printf(arena, "%sadd.s32 %%r92, %%r92, 1;\nsetp.lt.u32 %%p2, %%r92, 9;\n@%%p2 bra LOOP;\n", text);
    text = arena_printf(arena, "%sret;\n}\n", stores(arena, stores(arena, text, 30), 0));
    Form form = form_of(text, 8, 2, UINT64_MAX);
    assert_true(form.added > 0 && form.after < form.before);
    assert_int_equal(adds_in_loops(form.body), 1);
    form_free(&form);
    arena_free(arena);
}

/* A value that a loop reads is recomputed before the loop, after a place that is not in it. */
static void nothing_moves_into_loops(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = sums(arena, loads(arena, HEAD));
    text = arena_printf(arena, "%sst.global.u32 [%%rd1], %%r%d;\nbar.sync 0;\n", text, 30 + ITEMS - 1);
    text = arena_printf(arena, "%smov.u32 %%r92, 0;\nLOOP:\n", stores(arena, text, 0));
    text = arena_printf(arena, "%sadd.s32 %%r92, %%r92, 1;\nsetp.lt.u32 %%p2, %%r92, 9;\n@%%p2 bra LOOP;\nret;\n}\n",
                        stores(arena, text, 30));
    Form form = form_of(text, ITEMS + 8, 8, UINT64_MAX);
    assert_true(form.added >= ITEMS - 1 && form.after < form.before);
    assert_int_equal(adds_in_loops(form.body), 1);
    form_free(&form);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_kept_and_sums_computed_again),
        cmocka_unit_test(a_limit_or_a_low_worth_leaves_the_code_alone),
        cmocka_unit_test(reads_after_a_join),
        cmocka_unit_test(loops_keep_what_takes_longer),
        cmocka_unit_test(nothing_moves_into_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
