/* Loops that end by the clock. */
#include "tests/unit/parsed.h"

#include "cost/cost.h"

/* Whether a kernel with this code has one; %c is a clock, %n a parameter, %d an address. */
static bool ends_by_clock(const char *code)
{
    Arena *arena = arena_new();
    Span reading;
    Module *module = module_from(arena_printf(
        arena,
        HEADER ".visible .entry k(.param .u64 d, .param .u32 n)\n{\n.reg .pred %%p<4>;\n"
               ".reg .b32 %%r<9>, %%c, %%n, %%i;\n.reg .b64 %%d, %%e;\n"
               "ld.param.u64 %%d, [d];\nld.param.u32 %%n, [n];\nmov.u32 %%c, %%clock;\nmov.u32 %%i, 0;\n%s"
               "DONE:\nst.global.u32 [%%d], %%i;\nret;\n}\n", code));
    const bool found = loops_end_by_clock(module_find_function(module, "k"), &reading);
    release(module);
    arena_free(arena);
    return found;
}

static void loops_that_do(void **state)
{
    (void)state;
    assert_true(ends_by_clock("L: mov.u32 %i, %clock;\nsub.u32 %i, %i, %c;\nsetp.lt.u32 %p1, %i, %n;\n@%p1 bra L;\n"));
    assert_true(ends_by_clock("L: mov.u64 %e, %globaltimer;\ncvt.u32.u64 %i, %e;\nsetp.gt.u32 %p1, %i, %n;\n"
                              "@%p1 bra DONE;\nbra L;\n"));
    assert_true(ends_by_clock("L: mov.u32 %i, %clock_hi;\nsetp.gt.u32 %p1, %i, %n;\n@%p1 exit;\nbra L;\n"));
    /* The clock of the round before, in one of two conditions. */
    assert_true(ends_by_clock("mov.u32 %r1, 0;\nL: setp.gt.u32 %p1, %r1, %n;\n"
                              "setp.gt.or.u32 %p2, %i, 9, %p1;\n@%p2 bra DONE;\nadd.u32 %i, %i, 1;\n"
                              "mov.u32 %r1, %clock;\nbra L;\n"));
    /* The bound was computed from the clock before. */
    assert_true(ends_by_clock("and.b32 %r1, %c, 15;\nL: add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %r1;\n@%p1 bra L;\n"));
}

static void loops_that_do_not(void **state)
{
    (void)state;
    assert_false(ends_by_clock(""));
    /* It is measured, decides within a round, or before and after the loop. */
    assert_false(ends_by_clock("L: add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %n;\n@%p1 bra L;\nmov.u32 %i, %clock;\n"));
    assert_false(ends_by_clock("L: mov.u32 %r1, %clock;\nsetp.gt.u32 %p2, %r1, %n;\n@%p2 bra A;\n"
                               "st.global.u32 [%d], %r1;\n"
                               "A: add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %n;\n@%p1 bra L;\n"));
    assert_false(ends_by_clock("L: mov.u32 %r1, %clock;\nsetp.gt.u32 %p2, %r1, %n;\nsetp.gt.u32 %p3, %i, 5;\n"
                               "@%p3 bra B;\n@%p2 st.global.u32 [%d], %r1;\nB: add.u32 %i, %i, 1;\n"
                               "setp.lt.u32 %p1, %i, %n;\n@%p1 bra L;\n"));
    assert_false(ends_by_clock("setp.gt.u32 %p1, %c, %n;\n@%p1 bra DONE;\nL: add.u32 %i, %i, 1;\n"
                               "setp.lt.u32 %p1, %i, %n;\n@%p1 bra L;\n"));
    /* Another special register. */
    assert_false(ends_by_clock("mov.u32 %r1, %smid;\nL: add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %r1;\n@%p1 bra L;\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_that_do), cmocka_unit_test(loops_that_do_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
