/* Pointers of a loop: those that become one pointer and uniform distances. */
#include "tests/unit/test_registers_support.h"

/* A loop over three arrays; 'start' sets %rd4 to %rd6 from the parameters %rd1 to %rd3 and the thread's %rd7, 'steps'
 * advances them. */
static unsigned joined(const char *start, const char *steps, unsigned *phis)
{
    Arena *arena = arena_new();
    Module *module = module_of_text(arena_printf(arena, KERNEL_HEAD
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n.reg .pred %%p<3>;\n"
        ".reg .b32 %%r<9>;\n.reg .b64 %%rd<12>;\n.reg .f32 %%f<4>;\nld.param.u64 %%rd1, [a];\n"
        "ld.param.u64 %%rd2, [b];\nld.param.u64 %%rd3, [c];\nld.param.u32 %%r1, [n];\n"
        "mov.u32 %%r2, %%tid.x;\nmul.wide.u32 %%rd7, %%r2, 4;\n"
        "%sLOOP:\nld.global.f32 %%f1, [%%rd4];\nld.global.f32 %%f2, [%%rd5];\nadd.f32 %%f3, %%f1, %%f2;\n"
        "st.global.f32 [%%rd6], %%f3;\n%sadd.s32 %%r1, %%r1, -1;\nsetp.gt.s32 %%p1, %%r1, 0;\n@%%p1 bra LOOP;\n"
        "ret;\n}\n", start, steps));
    Body *body = body_in_ssa(module_find_function(module, "k"));
    unsigned count = one_offsets(body);
    body_verify(body, "offsets");
    *phis = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        *phis += (unsigned)body->blocks.data[i]->phis.count;
    body_free(body);
    arena_free(module->arena);
    arena_free(arena);
    return count;
}

#define ALIKE "add.s64 %rd4, %rd1, %rd7;\nadd.s64 %rd5, %rd2, %rd7;\nadd.s64 %rd6, %rd3, %rd7;\n"
#define BY_BYTES "add.s64 %rd4, %rd4, 128;\nadd.s64 %rd5, %rd5, 128;\nadd.s64 %rd6, %rd6, 128;\n"

static void pointers_that_advance_alike_become_one(void **state)
{
    (void)state;
    unsigned phis;
    assert_int_equal(joined(ALIKE, BY_BYTES, &phis), 2);
    assert_int_equal(phis, 2); /* the counter's is the other one */
    /* By a register. */
    assert_int_equal(joined("mul.wide.u32 %rd8, %r1, 4;\n" ALIKE,
                            "add.s64 %rd4, %rd4, %rd8;\nadd.s64 %rd5, %rd8, %rd5;\nadd.s64 %rd6, %rd6, %rd8;\n",
                            &phis), 2);
    /* A distance that depends on the launch and the block. */
    assert_int_equal(joined("mov.u32 %r3, %ctaid.x;\nmul.lo.s32 %r3, %r3, %r1;\nmul.wide.s32 %rd8, %r3, 4;\n"
                            "add.s64 %rd4, %rd1, %rd7;\nadd.s64 %rd5, %rd4, %rd8;\nadd.s64 %rd6, %rd3, %rd7;\n",
                            BY_BYTES, &phis), 2);
}

/* %rd6 joins %rd4; %rd5 is %rd8 bytes from there. */
#define APART "add.s64 %rd4, %rd1, %rd7;\nadd.s64 %rd5, %rd4, %rd8;\nadd.s64 %rd6, %rd3, %rd7;\n"

/* A distance that threads may not agree on would take registers. */
static void distances_are_uniform(void **state)
{
    (void)state;
    unsigned phis;
    static const char *const distances[] = {
        "ld.global.u64 %rd8, [%rd1];\n",
        "ld.global.nc.s32 %r3, [%rd1];\nmul.wide.s32 %rd8, %r3, 4;\n",
        "mov.u32 %r3, %tid.y;\nmul.lo.s32 %r3, %r3, %r1;\nmul.wide.s32 %rd8, %r3, 4;\n",
        "mul.lo.s32 %r3, %r2, %r1;\nmul.wide.s32 %rd8, %r3, 4;\n",
        "mov.u32 %r3, %clock;\nmul.lo.s32 %r3, %r3, %r1;\nmul.wide.s32 %rd8, %r3, 4;\n",
        "activemask.b32 %r3;\nmul.wide.s32 %rd8, %r3, 4;\n",
        "atom.global.add.u32 %r3, [%rd1], 1;\nmul.wide.u32 %rd8, %r3, 4;\n",
    };
    for (size_t i = 0; i < COUNT_OF(distances); i++) {
        Arena *arena = arena_new();
        unsigned count = joined(arena_printf(arena, "%s%s", distances[i], APART), BY_BYTES, &phis);
        if (count != 1)
            fail_msg("%u joined by %s", count, distances[i]);
        arena_free(arena);
    }
}

/* Products of products are not followed to their end, of which there are 2^40. */
static void long_chains_are_not_followed(void **state)
{
    (void)state;
    unsigned phis;
    Arena *arena = arena_new();
    const char *start = "mov.u32 %r3, %r1;\n";
    for (unsigned i = 0; i < 40; i++)
        start = arena_printf(arena, "%smul.lo.s32 %%r3, %%r3, %%r3;\n", start);
    start = arena_printf(arena, "%smul.wide.s32 %%rd8, %%r3, 4;\n%s", start, APART);
    assert_int_equal(joined(start, BY_BYTES, &phis), 1);
    arena_free(arena);
}

static void others_stay(void **state)
{
    (void)state;
    unsigned phis;
    /* 32 bits, which take one register as they are. */
    assert_int_equal(joined("mov.u32 %r4, %r2;\nadd.s32 %r5, %r2, %r1;\n" ALIKE,
                            "st.shared.u32 [%r4], %r2;\nst.shared.u32 [%r5], %r2;\nadd.s32 %r4, %r4, 128;\n"
                            "add.s32 %r5, %r5, 128;\n" BY_BYTES, &phis), 2);
    assert_int_equal(phis, 4);
    /* An irreducible loop has no preheader for the distances. */
    assert_int_equal(joined(ALIKE "setp.eq.s32 %p2, %r1, 2;\n@%p2 bra LOOP;\nadd.s64 %rd4, %rd4, 4;\n", BY_BYTES,
                            &phis), 0);
    /* Another stride. */
    assert_int_equal(joined(ALIKE, "add.s64 %rd4, %rd4, 128;\nadd.s64 %rd5, %rd5, 64;\nadd.s64 %rd6, %rd6, %rd7;\n",
                            &phis), 0);
    assert_int_equal(phis, 4);
    /* One advances in only some iterations. */
    assert_int_equal(joined(ALIKE, "setp.eq.s32 %p2, %r1, 2;\nadd.s64 %rd4, %rd4, 128;\n@%p2 add.s64 %rd5, %rd5, 128;\n"
                                   "add.s64 %rd6, %rd6, 64;\n", &phis), 0);
    /* A distance that threads do not agree on would take registers. */
    assert_int_equal(joined("add.s64 %rd4, %rd1, %rd7;\nmov.b64 %rd5, %rd2;\nadd.s64 %rd6, %rd4, %rd7;\n", BY_BYTES,
                            &phis), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_that_advance_alike_become_one),
        cmocka_unit_test(distances_are_uniform),
        cmocka_unit_test(long_chains_are_not_followed),
        cmocka_unit_test(others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
