/* Loops that end because they count, whatever other threads do, and loops that only seem to count. */
#include "coarsened.h"

#define PACKED_HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

/* Some threads loop; %r3, a bound, is read from memory that the loop writes to, and %r4 is 1.  %r6 and, of 64 bits, %d6
 * come from memory before. */
#define TO_LOOP                                                                                                        \
    "\tld.global.u32 %%r6, [%%a+16];\n\tld.global.u64 %%d6, [%%a+24];\n"                                               \
    "\tmov.u32 %%r4, 1;\n\tmov.u32 %%r1, 0;\n\tmov.u64 %%d2, 0;\n\tmov.u16 %%h1, 0;\n"                                 \
    "\tsetp.ge.u32 %%p4, %%t, 7;\n\t@%%p4 bra DONE;\nLOOP:\n"                                                          \
    "\tatom.global.add.u32 %%r2, [%%a], 1;\n\tst.global.u32 [%%a+64], %%r2;\n"                                         \
    "\tld.global.u32 %%r3, [%%a+4];\n%s\n\t@%%p1 bra LOOP;\nDONE:\n\tst.volatile.global.u32 [%%a+128], %%r1;\n"

static bool ends(const char *code)
{
    static const CoarsenRequest by_two = {.shape.threads = {2, 1, 1}};
    Arena *arena = arena_new();
    Try it = try_with(PACKED_HEADER, ".reqntid 512", arena_printf(arena, TO_LOOP, code), &by_two);
    if (!it.done && !strstr(refusal_text(it.module->arena, &it.refusal), "may wait for another thread"))
        fail_msg("refused for another reason: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    release(it.module);
    arena_free(arena);
    return it.done;
}

static void counters_come_to_an_end(void **state)
{
    (void)state;
    static const char *const counting[] = {
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tmov.u32 %r5, %r1;\n\tsetp.lo.u32 %p1, %r5, %r3;",
        "\tsub.s32 %r1, %r1, 1;\n\tsetp.gt.s32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ge.u32 %p2, %r1, %r3;\n\tnot.pred %p1, %p2;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ne.u32 %p2, %r0, 5;\n\tsetp.lt.and.u32 %p1, %r1, %r3, %p2;",
        "\tadd.u16 %h1, %h1, 1;\n\tcvt.u16.u32 %h2, %r3;\n\tsetp.lt.u16 %p1, %h1, %h2;",
        "\tadd.u64 %d2, %d2, 1;\n\tcvt.u64.u32 %d3, %r3;\n\tsetp.lt.u64 %p1, %d2, %d3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.gt.u32 %p1, %r3, %r1;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.ne.and.u32 %p1, %r1, %r6, %p2;",
        "\tadd.u32 %r1, %r1, 2;\n\tand.b32 %r5, %r3, 65535;\n\tsetp.le.u32 %p1, %r1, %r5;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, %r3;\n\tsetp.eq.u32 %p3, %r3, 5;\n\tand.pred %p1, %p2, %p3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ge.u32 %p2, %r1, %r3;\n\tsetp.eq.u32 %p3, %r3, 5;\n\tor.pred %p5, %p2, %p3;\n"
        "\tnot.pred %p1, %p5;",
        /* The exit is another one than the loop's end. */
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ge.u32 %p2, %r1, %r3;\n\t@%p2 bra DONE;\n\tsetp.eq.u32 %p1, %r3, 5;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, %r3;\n\t@!%p2 bra DONE;\n\tsetp.eq.u32 %p1, %r3, 5;",
        /* one or two, and far enough from the end */
        "\tsetp.eq.u32 %p2, %r3, 5;\n\tadd.u32 %r5, %r1, 1;\n\tadd.u32 %r7, %r1, 2;\n\tselp.u32 %r1, %r5, %r7, %p2;\n"
        "\tand.b32 %r8, %r3, 65535;\n\tsetp.lt.u32 %p1, %r1, %r8;",
    };
    for (unsigned i = 0; i < COUNT_OF(counting); i++)
        if (!ends(counting[i]))
            fail_msg("is refused:\n%s", counting[i]);
}

static void what_is_no_count_may_wait(void **state)
{
    (void)state;
    static const char *const waiting[] = {
        /* two integers of 16 bits: the low one wraps without a carry */
        "\tadd.u16x2 %r1, %r1, %r4;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.s16x2 %r1, %r1, %r4;\n\tsetp.lt.s32 %p1, %r1, %r3;",
        ("\tadd.sat.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, %r3;\n\tsetp.ne.and.s32 %p1, %r1, 7, %p1;\n"
         "\tsetp.ne.u32 %p1, %r3, 9;"),
        "\tadd.u32 %r5, %r1, 1;\n\tcvt.u32.u8 %r1, %r5;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r5, %r1, 1;\n\tcvt.s8.u32 %r1, %r5;\n\tsetp.lt.s32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r4, %r3;",
        "\tadd.u32 %r1, %r1, 2;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.le.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.gt.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ne.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 0;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tsetp.eq.u32 %p5, %r3, 9;\n\t@%p5 add.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.lt.or.u32 %p1, %r1, %r3, %p2;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.lt.xor.u32 %p1, %r1, %r3, %p2;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2|%p1, %r1, %r3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsub.u32 %r1, %r1, %r4;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        /* iterations that do not pass the exit */
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\t@%p2 bra LOOP;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        /* the wrong side */
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p1, %r3, %r1;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, %r3;\n\t@%p2 bra DONE;\n\tsetp.eq.u32 %p1, %r3, 5;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ge.u32 %p2, %r1, %r3;\n\t@!%p2 bra DONE;\n\tsetp.eq.u32 %p1, %r3, 5;",
        /* the last integer is on the same side of the bound */
        "\tsub.s32 %r1, %r1, 1;\n\tsetp.ge.s32 %p1, %r1, %r3;",
        "\tsub.s32 %r1, %r1, 2;\n\tsetp.gt.s32 %p1, %r1, %r3;",
        /* not in every iteration, or by more in some */
        "\tsetp.eq.u32 %p2, %r3, 5;\n\tadd.u32 %r5, %r1, 1;\n\tselp.u32 %r1, %r5, %r1, %p2;\n"
        "\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tsetp.eq.u32 %p2, %r3, 5;\n\tadd.u32 %r5, %r1, 1;\n\tselp.u32 %r1, %r1, %r5, %p2;\n"
        "\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tsetp.eq.u32 %p2, %r3, 5;\n\tadd.u32 %r5, %r1, 1;\n\tadd.u32 %r7, %r1, 2;\n\tselp.u32 %r1, %r5, %r7, %p2;\n"
        "\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tsetp.eq.u32 %p2, %r3, 5;\n\tadd.u32 %r5, %r1, 1;\n\tadd.u32 %r7, %r1, 2;\n\tselp.u32 %r1, %r7, %r5, %p2;\n"
        "\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tmov.u32 %r5, %r1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\t@%p2 bra SAME;\n\tadd.u32 %r1, %r5, 1;\nSAME:\n"
        "\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tadd.u32 %r5, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\t@%p2 bra SAME;\n\tmov.u32 %r5, %r1;\nSAME:\n"
        "\tmov.u32 %r1, %r5;\n\tsetp.lt.u32 %p1, %r1, %r3;",
        "\tand.b32 %r5, %r3, 3;\n\tsub.s32 %r1, %r1, %r5;\n\tsub.s32 %r1, %r1, 1;\n\tsetp.gt.s32 %p1, %r1, %r3;",
        /* a sum that saturates stays beside the bound for ever */
        "\tadd.sat.s32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.ne.and.s32 %p1, %r1, %r6, %p2;",
        /* goes on for another reason too */
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p2, %r1, %r3;\n\tsetp.eq.u32 %p3, %r3, 5;\n\tor.pred %p1, %p2, %p3;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.ge.u32 %p2, %r1, %r3;\n\tsetp.eq.u32 %p3, %r3, 5;\n\tand.pred %p5, %p2, %p3;\n"
        "\tnot.pred %p1, %p5;",
        "\tadd.u32 %r1, %r1, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.ge.and.u32 %p3, %r1, %r3, %p2;\n"
        "\tnot.pred %p1, %p3;",
        /* 2^64 iterations */
        "\tadd.u64 %d2, %d2, 1;\n\tld.global.u64 %d3, [%a+8];\n\tsetp.lt.u64 %p1, %d2, %d3;",
        "\tsub.s64 %d2, %d2, 1;\n\tld.global.u64 %d3, [%a+8];\n\tsetp.gt.s64 %p1, %d2, %d3;",
        "\tadd.u64 %d2, %d2, 1;\n\tsetp.eq.u32 %p2, %r3, 5;\n\tsetp.ne.and.u64 %p1, %d2, %d6, %p2;",
        "\tadd.s64 %d6, %d6, 1;\n\tcvt.u64.u32 %d3, %r3;\n\tsetp.lt.s64 %p1, %d6, %d3;",
        "\tld.global.u64 %d5, [%a+8];\n\tadd.u64 %d2, %d2, %d5;\n\tadd.u64 %d2, %d2, 1;\n\tcvt.u64.u32 %d3, %r3;\n"
        "\tsetp.lt.u64 %p1, %d2, %d3;",
        "\tmov.u32 %r5, %r1+0;\n\tadd.u32 %r1, %r5, -1;\n\tsetp.lt.u32 %p1, %r1, %r3;",
    };
    for (unsigned i = 0; i < COUNT_OF(waiting); i++)
        if (ends(waiting[i]))
            fail_msg("is let through:\n%s", waiting[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_come_to_an_end),
        cmocka_unit_test(what_is_no_count_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
