/* The registers that are needed across barriers and loop heads in any order. */
#include "parsed.h"

#include "opt/registers/search/needed.h"

/* Every thread loads 5 words, and has the address of its own in %d1. */
#define LOADS                                                                                                          \
    "\tld.param.u64 %d0, [p];\n\tld.param.u32 %n, [n];\n\tmov.u32 %t, %tid.x;\n\tmul.wide.u32 %d1, %t, 4;\n"          \
    "\tadd.s64 %d1, %d1, %d0;\n\tld.global.u32 %r1, [%d1];\n\tld.global.u32 %r2, [%d1+512];\n"                        \
    "\tld.global.u32 %r3, [%d1+1024];\n\tld.global.u32 %r4, [%d1+1536];\n\tld.global.u32 %r5, [%d1+2048];\n"
#define BARRIER "\tbar.sync 0;\n"
#define STORE(register, at) "\tst.global.u32 [%d1+" #at "], %" #register ";\n"
#define STORES STORE(r1, 0) STORE(r2, 4) STORE(r3, 8) STORE(r4, 12) STORE(r5, 16)

static RegistersNeeded needed_by(const char *code)
{
    Buf text = {0};
    buf_printf(&text, "%s.visible .entry k(.param .u64 p, .param .u32 n)\n{\n\t.reg .b32 %%r<30>, %%t, %%n;\n"
                      "\t.reg .b64 %%d<9>;\n\t.reg .pred %%p<4>;\n%s\tret;\n}\n", HEADER, code);
    Module *module = module_from(buf_text(&text));
    Body *body = body_from(module);
    body_to_ssa(body);
    Analyses *analyses = analyses_new(body);
    const RegistersNeeded needed = registers_needed(body, analyses);
    analyses_free(analyses);
    release(module);
    buf_free(&text);
    return needed;
}

static void across_barriers(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        unsigned registers;
    } cases[] = {
        /* Without a barrier or a loop nothing is known. */
        {LOADS STORES, 0},
        /* Addresses are computed again, from values without a register. */
        {LOADS BARRIER STORES, 5},
        {LOADS STORES BARRIER, 0},
        {LOADS BARRIER STORE(r1, 0) BARRIER STORE(r2, 4), 2},
        /* If items are read only by a sum, the sum is kept, wherever it is written; if there are partial sums, the
         * items are. */
        {LOADS BARRIER "\tadd.u32 %r6, %r1, %r2;\n\tadd.u32 %r6, %r6, %r3;\n" STORE(r6, 0), 1},
        {LOADS "\tadd.u32 %r6, %r1, %r2;\n\tadd.u32 %r7, %r6, %r3;\n" BARRIER STORE(r6, 0) STORE(r7, 4), 2},
        {LOADS "\tadd.u32 %r6, %r1, %r2;\n\tadd.u32 %r7, %r6, %r3;\n" BARRIER STORES STORE(r6, 20) STORE(r7, 24), 5},
        /* A value read before the barrier need not cross it. */
        {LOADS "\tadd.u32 %r6, %r1, %r2;\n" STORE(r6, 0) BARRIER "\tadd.u32 %r7, %r6, %r3;\n" STORE(r7, 4), 1},
        /* A sum that includes a load after the barrier cannot be before it. */
        {LOADS BARRIER "\tld.global.u32 %r8, [%d1+4096];\n\tadd.u32 %r6, %r1, %r8;\n\tadd.u32 %r6, %r6, %r2;\n"
         STORE(r6, 0), 2},
        /* A value that is the same in all threads may be in uniform registers. */
        {LOADS "\tld.global.u32 %r9, [%d0];\n" BARRIER STORE(r9, 0) STORE(r1, 4), 2},
        {LOADS "\tmul.lo.u32 %r9, %n, %n;\n" BARRIER STORE(r9, 0) STORE(r1, 4), 1},
        /* Widths, shuffles, and divisions, which are not executed again. */
        {LOADS "\tld.global.u64 %d2, [%d1+8192];\n" BARRIER "\tst.global.u64 [%d1], %d2;\n", 2},
        {LOADS "\tshfl.sync.idx.b32 %r9, %r1, 3, 31, -1;\n" BARRIER STORE(r9, 0) STORE(r1, 4), 2},
        {LOADS "\tdiv.u32 %r9, %r1, %r2;\n" BARRIER STORE(r9, 0) STORE(r1, 4), 2},
        {LOADS "\tsetp.eq.u32 %p1, %r1, 7;\n" BARRIER "@%p1\tst.global.u32 [%d1], %n;\n", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const RegistersNeeded needed = needed_by(cases[i].code);
        if (needed.registers != cases[i].registers)
            fail_msg("case %zu: %u registers", i, needed.registers);
        assert_false(needed.is_loop);
        assert_true(!needed.registers == (needed.span.end <= needed.span.begin));
    }
}

static void at_loop_heads(void **state)
{
    (void)state;
#define LOOP(body) "\tmov.u32 %r20, 0;\nhead:\n" body                                                                 \
                   "\tadd.u32 %r20, %r20, 1;\n\tsetp.lt.u32 %p1, %r20, %n;\n@%p1\tbra head;\n"
#define LOAD "\tld.global.u32 %r7, [%d1+4096];\n" /* values computed from it come after the head */
    /* The counter is the same in all threads. */
    RegistersNeeded needed = needed_by(LOADS LOOP(LOAD "\tmad.lo.u32 %r1, %r1, %r7, %r20;\n") STORE(r1, 0));
    assert_true(needed.is_loop);
    assert_int_equal(needed.registers, 1);
    needed = needed_by(LOADS LOOP(LOAD "\tmad.lo.u32 %r1, %r1, %r7, %r2;\n") STORE(r1, 0));
    assert_int_equal(needed.registers, 2);
    /* Not read after the loop. */
    needed = needed_by(LOADS LOOP(LOAD "\tmad.lo.u32 %r1, %r1, %r7, %r20;\n" STORE(r1, 0)));
    assert_int_equal(needed.registers, 1);
    /* It is not if threads leave the loop at different times. */
    needed = needed_by(LOADS "\tmov.u32 %r20, 0;\nhead:\n" LOAD "\tmad.lo.u32 %r1, %r1, %r7, %r20;\n"
                       "\tadd.u32 %r20, %r20, 1;\n\tsetp.lt.u32 %p1, %r20, %r2;\n@%p1\tbra head;\n" STORE(r1, 0));
    assert_int_equal(needed.registers, 2);
    needed = needed_by(LOADS LOOP(LOAD "\tmad.lo.u32 %r1, %r1, %r7, %r20;\n\tmad.lo.u32 %r2, %r2, %r7, %r20;\n")
                       STORES);
    assert_int_equal(needed.registers, 5);
    /* A sum that only the loop reads is before it. */
    needed = needed_by(LOADS LOOP(LOAD "\tadd.u32 %r6, %r2, %r3;\n\tmad.lo.u32 %r1, %r1, %r7, %r6;\n") STORE(r1, 0));
    assert_int_equal(needed.registers, 2);
    /* A value that could be computed one iteration ahead counts as computed before: the bound is low, but still a
     * bound. */
    needed = needed_by(LOADS LOOP("\tmad.lo.u32 %r1, %r1, %r1, %r2;\n") STORE(r1, 0));
    assert_int_equal(needed.registers, 1);
}

/* Chains, and kernels with many barriers, may be as long as the kernel. */
static void of_long_kernels(void **state)
{
    (void)state;
    enum { CHAIN = 200000, BARRIERS = 4000 };
    Buf text = {0};
    buf_puts(&text, LOADS BARRIER "\tadd.u32 %r6, %t, 5;\n");
    for (unsigned i = 0; i < CHAIN; i++)
        buf_puts(&text, "\tadd.u32 %r6, %r6, %t;\n");
    buf_puts(&text, "\tadd.u32 %r6, %r6, %r1;\n" STORE(r6, 0));
    assert_int_equal(needed_by(buf_text(&text)).registers, 1);
    buf_free(&text);
    text = (Buf){0};
    buf_puts(&text, LOADS);
    for (unsigned i = 0; i < BARRIERS; i++)
        buf_puts(&text, BARRIER "\tld.global.u32 %r6, [%d1+4];\n\tadd.u32 %r1, %r1, %r6;\n");
    buf_puts(&text, STORES);
    assert_int_equal(needed_by(buf_text(&text)).registers, 5);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(across_barriers),
        cmocka_unit_test(at_loop_heads),
        cmocka_unit_test(of_long_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
