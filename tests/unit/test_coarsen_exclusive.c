/* Blocks that replica 0 executes alone: a loop in them may wait for another thread of replica 0, and for no other
 * thread. The threads that get there are computed from the thread's index. */
#include "coarsened.h"

/* From this target on there are packed integers. */
#define PACKED_HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

/* Threads with %r2 0 wait until thread 256 has stored something, which may be one of them. */
#define TO_WAIT                                                                                                        \
    "\tbar.sync 0;\n%s\n\tsetp.ne.u32 %%p1, %%r2, 0;\n\t@%%p1 bra MEET;\n\tsetp.ne.u32 %%p2, %%t, 256;\n"              \
    "\t@%%p2 bra WAIT;\n\tst.volatile.global.u32 [%%a], 1;\nWAIT:\n\tld.volatile.global.u32 %%r9, [%%a];\n"            \
    "\tsetp.eq.u32 %%p3, %%r9, 0;\n\t@%%p3 bra WAIT;\nMEET:\n\tbar.sync 0;\n"

static bool is_alone(const char *computes)
{
    static const CoarsenRequest by_two = {.shape.threads = {2, 1, 1}};
    Arena *arena = arena_new();
    Try it = try_with(PACKED_HEADER, ".reqntid 512", arena_printf(arena, TO_WAIT, computes), &by_two);
    if (!it.done && !strstr(refusal_text(it.module->arena, &it.refusal), "may wait for another thread"))
        fail_msg("refused for another reason: %s\n%s", refusal_text(it.module->arena, &it.refusal), computes);
    release(it.module);
    arena_free(arena);
    return it.done;
}

static void conditions_of_the_first_thread(void **state)
{
    (void)state;
    static const char *const alone[] = {
        "\tmov.u32 %r2, %t;",
        "\tshl.b32 %r2, %t, 8;",
        "\tcvt.u32.u16 %r2, %t;",
        "\tcvt.u16.u32 %h1, %t;\n\tcvt.u32.u16 %r2, %h1;",
        "\tmul.lo.u32 %r2, %t, 12;",
        "\tmad.lo.u32 %r3, %t, 4, 4;\n\tsub.u32 %r2, %r3, 4;",
        "\tmul.wide.u32 %d1, %t, 8;\n\tcvt.u32.u64 %r2, %d1;",
        "\tsetp.eq.u32 %p4, %t, 0;\n\tselp.b32 %r2, 0, 1, %p4;",
        "\tset.ne.u32.u32 %r2, %t, 0;",
        "\tmin.u32 %r2, %t, 5;",
        "\tneg.s32 %r2, %t;",
        "\tadd.sat.s32 %r2, %t, 2147483647;\n\tsub.u32 %r2, %r2, 2147483647;\n\tadd.u32 %r2, %r2, %t;",
        "\tand.b32 %r2, %r0, 0;\n\tor.b32 %r2, %r2, %t;",
        "\tsetp.gt.u32 %p4, %r0, 7;\n\tsetp.ne.or.u32 %p5, %t, 0, %p4;\n\tselp.b32 %r2, 1, 0, %p5;",
    };
    for (unsigned i = 0; i < COUNT_OF(alone); i++)
        if (!is_alone(alone[i]))
            fail_msg("replica 0 is not alone:\n%s", alone[i]);
}

/* Each is also 0 for another thread, although at first sight it does not seem so. */
static void conditions_that_others_meet(void **state)
{
    (void)state;
    static const char *const met[] = {
        /* the bits that conversions read, and those with which they fill a register */
        "\tcvt.u32.u8 %r2, %t;",
        "\tcvt.u8.u32 %r2, %t;",
        "\tcvt.u32.s8 %r2, %t;",
        "\tcvt.s8.s32 %r2, %t;",
        "\tcvt.u64.u8 %d1, %t;\n\tcvt.u32.u64 %r2, %d1;",
        "\tcvt.s8.u32 %r3, %t;\n\tadd.u32 %r2, %r3, 1;",
        "\tcvt.s32.s8 %r3, %t;\n\tadd.u32 %r2, %r3, 128;",
        "\tshl.b32 %r3, %t, 8;\n\tcvt.s16.u32 %r4, %r3;\n\tadd.u32 %r2, %r4, 256;",
        "\tshl.b32 %r3, %t, 8;\n\tcvt.u32.u16 %r2, %r3;",
        "\tshl.b32 %r3, %t, 8;\n\tcvt.u16.u32 %h1, %r3;\n\tcvt.u32.u16 %r2, %h1;",
        "\tshl.b32 %r3, %t, 8;\n\tcvt.u16.u32 %h1, %r3;\n\tcvt.s32.s16 %r4, %h1;\n\tadd.u32 %r2, %r4, 32768;",
        "\tsub.u32 %r3, %t, 5;\n\tcvt.sat.u8.s32 %r2, %r3;",
        "\tcvt.u64.u32 %d1, %t;\n\tshl.b64 %d1, %d1, 24;\n\tcvt.u32.u64 %r2, %d1;",
        /* two integers of 16 bits */
        "\tshl.b32 %r3, %t, 8;\n\tadd.u16x2 %r2, %r3, %r3;",
        "\tshl.b32 %r3, %t, 8;\n\tadd.s16x2 %r2, %r3, %r3;",
        "\tshl.b32 %r3, %t, 8;\n\tmov.u32 %r4, 1;\n\tmin.s16x2 %r2, %r3, %r4;",
        "\tshl.b32 %r3, %t, 8;\n\tmov.u32 %r4, 1;\n\tmin.u16x2 %r2, %r3, %r4;",
        "\tshl.b32 %r3, %t, 8;\n\tmov.u32 %r4, 0;\n\tmax.s16x2 %r2, %r3, %r4;",
        "\tshl.b32 %r3, %t, 8;\n\tmov.u32 %r4, 0;\n\tmax.u16x2 %r3, %r3, %r4;\n\tsub.u32 %r2, %r3, 256;",
        "\tsub.u32 %r3, 0, %t;\n\tmov.u32 %r4, 0;\n\tmax.relu.s16x2 %r2, %r3, %r4;",
        /* amounts, signs, halves, saturation */
        "\tshl.b32 %r2, %t, 24;",
        "\tadd.u32 %r3, %t, 24;\n\tshl.b32 %r2, 1, %r3;",
        "\tcvt.u16.u32 %h1, %t;\n\tshl.b16 %h1, %h1, 8;\n\tcvt.u32.u16 %r2, %h1;",
        "\tsub.u32 %r3, %t, 5;\n\tshr.s32 %r3, %r3, 31;\n\tadd.u32 %r2, %r3, 1;",
        "\tmul.hi.u32 %r2, %t, 16777216;",
        "\tdiv.u32 %r2, %t, 3;",
        "\trem.u32 %r2, %t, 100;",
        "\tmul.lo.u32 %r2, %t, 16777216;",
        "\tmul24.lo.u32 %r2, %t, 16777216;",
        "\tadd.sat.s32 %r3, %t, 2147483647;\n\tsub.u32 %r2, %r3, 2147483647;",
        "\tbfe.u32 %r2, %t, 8, 4;",
        "\tprmt.b32 %r2, %t, 0, 0x4440;",
        "\tlop3.b32 %r2, %t, 255, 0, 0xc0;",
        "\tmin.s32 %r3, %t, -5;\n\tadd.u32 %r2, %r3, 5;",
        "\tsub.u32 %r3, %t, 5;\n\tmax.s32 %r2, %r3, 0;",
        "\tsetp.lt.s32 %p4, %t, -1;\n\tselp.b32 %r2, 1, 0, %p4;",
        /* guards and combinations */
        "\tsetp.eq.u32 %p4, %r0, 7;\n\tmov.u32 %r2, %t;\n\t@%p4 mov.u32 %r2, 0;",
        "\tsetp.eq.u32 %p4, %r0, 7;\n\tsetp.ne.and.u32 %p5, %t, 0, %p4;\n\tselp.b32 %r2, 1, 0, %p5;",
        "\tsetp.eq.u32 %p4, %r0, 7;\n\tsetp.ne.xor.u32 %p5, %t, 0, %p4;\n\tselp.b32 %r2, 1, 0, %p5;",
        "\tsetp.ne.u32 %p4|%p5, %t, 0;\n\tselp.b32 %r2, 1, 0, %p5;",
        "\tsetp.ne.u32 %p4, %t, 0;\n\tnot.pred %p5, %p4;\n\tselp.b32 %r2, 1, 0, %p5;",
        "\tsetp.ne.u32 %p4, %t, 0;\n\tsetp.eq.and.u32 %p5, %t, %t, !%p4;\n\tselp.b32 %r2, 1, 0, %p5;",
    };
    for (unsigned i = 0; i < COUNT_OF(met); i++)
        if (is_alone(met[i]))
            fail_msg("others get there, too:\n%s", met[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_the_first_thread),
        cmocka_unit_test(conditions_that_others_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
