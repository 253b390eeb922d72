/* Reuse of loaded and stored values: loads that are replaced, and loads that must not be. */
#include "reused.h"

static void check_loads(const char *code, unsigned loads)
{
    static const PassId passes[] = {PASS_LOAD_REUSE};
    Count count = run(code, passes, COUNT_OF(passes));
    if (count.loads != loads)
        fail_msg("%u loads remain, not %u:\n%s", count.loads, loads, code);
}

static void check_forward(const char *code, unsigned loads)
{
    static const PassId passes[] = {PASS_FORWARD};
    Count count = run(code, passes, COUNT_OF(passes));
    if (count.loads != loads)
        fail_msg("%u loads remain, not %u:\n%s", count.loads, loads, code);
}

#define USE "\tst.global.u32 [%b], %r1;\n\tst.global.u32 [%b+4], %r2;\n"
#define TWO(between)                                                                                                   \
    "\tld.global.u32 %r1, [%a];\n" between "\tld.global.u32 %r2, [%a];\n" USE

static void test_between(void **state)
{
    (void)state;
    check_loads(TWO(""), 1);
    check_loads(TWO("\tadd.s32 %r3, %r1, 1;\n"), 1);
    check_loads(TWO("\tst.global.u32 [%a+4], 1;\n"), 1);
    check_loads(TWO("\tst.shared.u32 [tile], 1;\n"), 1);
    check_loads(TWO("\tst.global.u32 [%a], 1;\n"), 2);
    check_loads(TWO("\tst.global.u8 [%a+3], 1;\n"), 2);
    check_loads(TWO("\tst.global.u32 [%b], 1;\n"), 2);
    check_loads(TWO("\tst.u32 [%b], 1;\n"), 2);
    check_loads(TWO("\tsetp.eq.s32 %p1, %n, 0;\n\t@%p1 st.global.u32 [%b], 1;\n"), 2);
    check_loads(TWO("\tbar.sync 0;\n"), 2);
    check_loads(TWO("\tbar.warp.sync -1;\n"), 2);
    check_loads(TWO("\tmembar.cta;\n"), 2);
    check_loads(TWO("\tatom.shared.add.u32 %r3, [tile], 1;\n"), 2);
    check_loads(TWO("\tred.global.add.u32 [%b], 1;\n"), 2);
    check_loads(TWO("\tld.volatile.shared.u32 %r3, [tile];\n"), 3);
    check_loads(TWO("\tst.volatile.shared.u32 [tile], 1;\n"), 2);
    check_loads(TWO("\tld.acquire.gpu.global.u32 %r3, [%b];\n"), 3);
    check_loads(TWO("\t{\n\t.param .b32 x; .param .b32 y;\n\tst.param.b32 [x], %r1;\n\tcall (y), f, (x);\n\t}\n"), 2);
}

static void test_ways_of_loading(void **state)
{
    (void)state;
    check_loads("\tld.volatile.global.u32 %r1, [%a];\n\tld.volatile.global.u32 %r2, [%a];\n" USE, 2);
    check_loads("\tld.global.cv.u32 %r1, [%a];\n\tld.global.cv.u32 %r2, [%a];\n" USE, 2);
    check_loads("\tld.global.u32 %r1, [%a];\n\tld.global.b32 %r2, [%a];\n" USE, 1);
    check_loads("\tld.global.f32 %f1, [%a];\n\tld.global.b32 %r2, [%a];\n\tmov.b32 %r1, %f1;\n" USE, 1);
    check_loads("\tld.u32 %r1, [%a];\n\tld.global.u32 %r2, [%a];\n" USE, 1);
    check_loads("\tld.global.u8 %r1, [%a];\n\tld.global.u8 %r2, [%a];\n" USE, 1);
    check_loads("\tld.global.u8 %r1, [%a];\n\tld.global.s8 %r2, [%a];\n" USE, 2);
    check_loads("\tld.global.u16 %r1, [%a];\n\tld.global.u8 %r2, [%a];\n" USE, 2);
    /* extended to two widths, in both orders */
    check_loads("\tld.global.u8 %h1, [%a];\n\tld.global.u8 %r2, [%a];\n\tcvt.u32.u16 %r1, %h1;\n" USE, 1);
    check_loads("\tld.global.s8 %r2, [%a];\n\tld.global.s8 %h1, [%a];\n\tcvt.s32.s16 %r1, %h1;\n" USE, 1);
    check_loads("\tld.global.s8 %r2, [%a];\n\tld.global.u8 %h1, [%a];\n\tcvt.s32.s16 %r1, %h1;\n" USE, 2);
    /* memory that nothing in the kernel writes */
    check_loads("\tld.global.nc.u32 %r1, [%a];\n\tbar.sync 0;\n\tst.global.u32 [%b], 1;\n"
                "\tld.global.nc.u32 %r2, [%a];\n" USE, 1);
    check_loads("\tld.const.u32 %r1, [fixed];\n\tgriddepcontrol.wait;\n\tld.const.u32 %r2, [fixed];\n" USE, 1);
    /* memory that earlier grids write until the kernel, or a function that it calls, has waited for them */
    check_loads("\tld.global.nc.u32 %r1, [%a];\n\tgriddepcontrol.wait;\n\tld.global.nc.u32 %r2, [%a];\n" USE, 2);
    check_loads("\tgriddepcontrol.wait;\n\tld.global.nc.u32 %r1, [%a];\n\tld.global.nc.u32 %r2, [%a];\n" USE, 1);
    check_loads("\tld.global.nc.u32 %r1, [%a];\n\t{\n\t.param .b32 x; .param .b32 y;\n\tst.param.b32 [x], %r1;\n"
                "\tcall (y), f, (x);\n\t}\n\tld.global.nc.u32 %r2, [%a];\n" USE, 2);
    /* elements of vectors */
    check_loads("\tld.global.v2.u32 {%r1, %r3}, [%a];\n\tld.global.u32 %r2, [%a+4];\n" USE, 1);
    check_loads("\tld.global.u32 %r1, [%a];\n\tld.global.u32 %r3, [%a+4];\n\tld.global.v2.u32 {%r2, %r4}, [%a];\n"
                "\tadd.s32 %r1, %r1, %r3;\n\tadd.s32 %r2, %r2, %r4;\n" USE, 2);
    check_loads("\tld.global.u32 %r1, [%a];\n\tld.global.v2.u32 {%r2, %r4}, [%a];\n\tadd.s32 %r2, %r2, %r4;\n" USE, 2);
    /* guarded: perhaps not executed */
    check_loads("\tmov.u32 %r1, 0;\n\tsetp.eq.s32 %p1, %n, 0;\n\t@%p1 ld.global.u32 %r1, [%a];\n"
                "\tld.global.u32 %r2, [%a];\n" USE, 2);
}

static void test_paths(void **state)
{
    (void)state;
#define BRANCH "\tsetp.eq.s32 %p1, %n, 0;\n\t@%p1 bra E;\n"
    check_loads("\tld.global.u32 %r1, [%a];\n" BRANCH "\tld.global.u32 %r1, [%a];\nE:\n\tmov.u32 %r2, 0;\n" USE, 1);
    check_loads("\tmov.u32 %r1, 0;\n" BRANCH "\tld.global.u32 %r1, [%a];\nE:\n\tld.global.u32 %r2, [%a];\n" USE, 2);
    /* both sides: a phi */
    check_loads(BRANCH "\tld.global.u32 %r1, [%a];\n\tbra.uni J;\nE:\n\tld.global.u32 %r1, [%a];\n"
                       "\tadd.s32 %r1, %r1, 1;\nJ:\n\tld.global.u32 %r2, [%a];\n" USE, 2);
    check_loads(BRANCH "\tld.global.u32 %r1, [%a];\n\tbra.uni J;\nE:\n\tld.global.u32 %r1, [%a];\n"
                       "\tst.global.u32 [%b], 1;\nJ:\n\tld.global.u32 %r2, [%a];\n" USE, 3);
    /* in each iteration: the same place, and another */
    check_loads("\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\nL:\n\tld.global.u32 %r3, [%a];\n"
                "\tadd.s32 %r2, %r2, %r3;\n\tsetp.lt.s32 %p1, %r2, %n;\n\t@%p1 bra L;\n" USE, 1);
    check_loads("\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\nL:\n\tld.global.u32 %r3, [%a];\n"
                "\tst.global.u32 [%b], %r2;\n"
                "\tadd.s32 %r2, %r2, %r3;\n\tsetp.lt.s32 %p1, %r2, %n;\n\t@%p1 bra L;\n" USE, 2);
    check_loads("\tmov.u32 %r2, 0;\n\tmov.u32 %r1, 0;\n\tmov.u64 %d1, %a;\nL:\n\tld.global.u32 %r3, [%d1];\n"
                "\tadd.s64 %d1, %d1, 4;\n\tadd.s32 %r2, %r2, %r3;\n\tsetp.lt.s32 %p1, %r2, %n;\n\t@%p1 bra L;\n"
                "\tld.global.u32 %r1, [%d1+-4];\n" USE, 1);
    /* an index that the loop makes anew only sometimes */
    check_loads("\tmov.u32 %r2, 0;\n\tmov.u32 %r1, 0;\nL:\n\tadd.s32 %r4, %r2, %n;\n\tmul.wide.s32 %d1, %r4, 4;\n"
                "\tadd.s64 %d2, %a, %d1;\n\tsetp.eq.s32 %p2, %r2, %w;\n\t@%p2 bra S;\n"
                "\tadd.s32 %r5, %r2, %n;\n\tmul.wide.s32 %d3, %r5, 4;\n\tadd.s64 %d4, %a, %d3;\n"
                "\tld.global.u32 %r6, [%d4];\n\tadd.s32 %r1, %r1, %r6;\nS:\n\tld.global.u32 %r3, [%d2];\n"
                "\tadd.s32 %r1, %r1, %r3;\n\tadd.s32 %r2, %r2, 1;\n\tsetp.lt.s32 %p1, %r2, %n;\n\t@%p1 bra L;\n" USE,
                2);
}

/* Loads at index %t + 1 by an offset, and by another index. */
#define NEIGHBOURS(guard)                                                                                              \
    "\tadd.s32 %r3, %t, 1;\n" guard "\tmul.wide.s32 %d1, %t, 4;\n\tadd.s64 %d2, %a, %d1;\n"                            \
    "\tmul.wide.s32 %d3, %r3, 4;\n\tadd.s64 %d4, %a, %d3;\n"                                                           \
    "\tld.global.u32 %r1, [%d2+4];\n\tld.global.u32 %r2, [%d4];\n" USE

static void test_wrap(void **state)
{
    (void)state;
    check_loads(NEIGHBOURS(""), 2);
    check_loads(NEIGHBOURS("\tsetp.ge.s32 %p1, %t, %n;\n\t@%p1 ret;\n"), 1);
    check_loads(NEIGHBOURS("\tsetp.le.s32 %p1, %n, %t;\n\t@%p1 ret;\n"), 1);
    check_loads(NEIGHBOURS("\tsetp.gt.s32 %p1, %t, %n;\n\t@%p1 ret;\n"), 2);
    check_loads(NEIGHBOURS("\tsetp.ge.u32 %p1, %t, %n;\n\t@%p1 ret;\n"), 2);
    check_loads(NEIGHBOURS("\tsetp.ge.u32 %p1, %t, 2000;\n\t@%p1 ret;\n"), 1);
    check_loads(NEIGHBOURS("\tsetp.lt.s32 %p1, %t, %n;\n\t@%p1 ret;\n"), 2);
    check_loads(NEIGHBOURS("\tsetp.eq.s32 %p1, %t, 2147483647;\n\t@%p1 ret;\n"), 1);
    check_loads(NEIGHBOURS("\tsetp.eq.s32 %p1, %t, 2147483646;\n\t@%p1 ret;\n"), 2);
    check_loads(NEIGHBOURS("\tsetp.lt.s32 %p1, %r3, 1;\n\t@%p1 ret;\n"), 1);
    /* one of two conditions */
    check_loads(NEIGHBOURS("\tsetp.ge.s32 %p1, %t, %n;\n\tsetp.eq.s32 %p2, %w, 0;\n\tor.pred %p3, %p1, %p2;\n"
                           "\t@%p3 ret;\n"), 1);
    check_loads(NEIGHBOURS("\tsetp.ge.s32 %p1, %t, %n;\n\tsetp.eq.s32 %p2, %w, 0;\n\tand.pred %p3, %p1, %p2;\n"
                           "\t@%p3 ret;\n"), 2);
    check_loads(NEIGHBOURS("\tsetp.lt.s32 %p1, %t, %n;\n\tsetp.eq.s32 %p2, %w, 0;\n\tand.pred %p3, %p1, %p2;\n"
                           "\t@!%p3 ret;\n"), 1);
    /* rows: (y + 1) * w is y * w + w in 32 bits, and only there */
    check_loads("\tadd.s32 %r3, %t, 1;\n\tmul.lo.s32 %r4, %t, %w;\n\tmad.lo.s32 %r5, %w, %r3, -3;\n"
                "\tadd.s32 %r6, %r4, %w;\n\tadd.s32 %r7, %r6, -3;\n"
                "\tmul.wide.s32 %d1, %r5, 4;\n\tadd.s64 %d2, %a, %d1;\n"
                "\tmul.wide.s32 %d3, %r7, 4;\n\tadd.s64 %d4, %a, %d3;\n"
                "\tld.global.u32 %r1, [%d2];\n\tld.global.u32 %r2, [%d4];\n" USE, 1);
    check_loads("\tmul.lo.s32 %r4, %t, %w;\n\tadd.s32 %r6, %r4, %w;\n\tmul.wide.s32 %d1, %r6, 4;\n"
                "\tadd.s64 %d2, %a, %d1;\n\tmul.wide.s32 %d3, %r4, 4;\n\tmul.wide.s32 %d5, %w, 4;\n"
                "\tadd.s64 %d4, %a, %d3;\n\tadd.s64 %d6, %d4, %d5;\n"
                "\tld.global.u32 %r1, [%d2];\n\tld.global.u32 %r2, [%d6];\n" USE, 2);
    /* in 64 bits there is nothing to wrap */
    check_loads("\tcvt.u64.u32 %d1, %t;\n\tadd.s64 %d2, %d1, 1;\n\tshl.b64 %d3, %d1, 2;\n\tshl.b64 %d4, %d2, 2;\n"
                "\tadd.s64 %d5, %a, %d3;\n\tadd.s64 %d6, %a, %d4;\n"
                "\tld.global.u32 %r1, [%d5+4];\n\tld.global.u32 %r2, [%d6];\n" USE, 1);
}

static void test_forward(void **state)
{
    (void)state;
    check_forward("\tst.global.u32 [%a], %n;\n\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE, 0);
    check_forward("\tst.global.u32 [%a], 7;\n\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE, 0);
    check_forward("\tmov.b32 %f1, %n;\n\tst.global.f32 [%a], %f1;\n\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE,
                  0);
    check_forward("\tst.global.u32 [%a], %n;\n\tst.global.u32 [%b], %w;\n\tld.global.u32 %r1, [%a];\n"
                  "\tmov.u32 %r2, 0;\n" USE, 1);
    check_forward("\tst.global.u32 [%a], %n;\n\tbar.sync 0;\n\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE, 1);
    check_forward("\tst.global.u8 [%a], %n;\n\tld.global.u8 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE, 1);
    check_forward("\tst.global.u32 [%a], %n;\n\tst.global.u16 [%a+2], %w;\n\tld.global.u32 %r1, [%a];\n"
                  "\tmov.u32 %r2, 0;\n" USE, 1);
    check_forward("\tsetp.eq.s32 %p1, %n, 0;\n\t@%p1 st.global.u32 [%a], %n;\n\tld.global.u32 %r1, [%a];\n"
                  "\tmov.u32 %r2, 0;\n" USE, 1);
    check_forward("\tst.global.v2.u32 [%a], {%n, %w};\n\tld.global.u32 %r1, [%a+4];\n\tmov.u32 %r2, 0;\n" USE, 0);
    /* load_reuse takes values of loads only */
    check_loads("\tst.global.u32 [%a], %n;\n\tld.global.u32 %r1, [%a];\n\tmov.u32 %r2, 0;\n" USE, 1);
}

static void check_loop(const char *head, const char *code, unsigned loads, unsigned stores)
{
    Count count = run_loop(head, code);
    if (count.looped_loads != loads || count.looped_stores != stores)
        fail_msg("%u loads and %u stores remain in loops, not %u and %u:\n%s", count.looped_loads, count.looped_stores,
                 loads, stores, code);
}

/* One loop remains as it was, for the case that the cell and the array overlap; in the other, only the array's load
 * remains. */
#define UPDATE "\tld.global.u32 %r1, [%a];\n\tld.global.u32 %r2, [%d9];\n\tmad.lo.s32 %r1, %r2, 3, %r1;\n"             \
               "\tst.global.u32 [%a], %r1;\n"

static void test_accumulator(void **state)
{
    (void)state;
    check_loop("", UPDATE, 3, 1);
    /* nothing to test: read-only memory, another space */
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tld.global.nc.u32 %r2, [%d9];\n\tadd.s32 %r1, %r1, %r2;\n"
                   "\tst.global.u32 [%a], %r1;\n", 1, 0);
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tld.shared.u32 %r2, [tile];\n\tadd.s32 %r1, %r1, %r2;\n"
                   "\tst.global.u32 [%a], %r1;\n", 1, 0);
    /* a store only: the last one counts */
    check_loop("", "\tld.global.u32 %r2, [%d9];\n\tst.global.u32 [%a], %r2;\n", 2, 1);
    /* two updates in one iteration */
    check_loop("", UPDATE "\tadd.s32 %r3, %r1, 5;\n\tst.global.u32 [%a], %r3;\n", 3, 2);
    /* two cells that may be one: told apart at run time */
    check_loop("", UPDATE "\tld.global.u32 %r3, [%b+-8];\n\tadd.s32 %r3, %r3, 1;\n\tst.global.u32 [%b+-8], %r3;\n", 4,
               2);
    /* updated twice, one between the others' updates, as in an unrolled loop */
    const char *twice = "\tld.global.u32 %r1, [%a];\n\tadd.s32 %r1, %r1, 3;\n\tst.global.u32 [%a], %r1;\n"
                        "\tld.global.u32 %r3, [%b+-8];\n\tadd.s32 %r3, %r3, 1;\n\tst.global.u32 [%b+-8], %r3;\n"
                        "\tld.global.u32 %r5, [%a];\n\tadd.s32 %r5, %r5, 9;\n\tst.global.u32 [%a], %r5;\n"
                        "\tld.global.u32 %r6, [%b+-8];\n\tadd.s32 %r6, %r6, 7;\n\tst.global.u32 [%b+-8], %r6;\n";
    check_loop("", twice, 4, 4);
    /* loaded twice, with a store of another cell between */
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tst.global.u32 [%b+-8], %r1;\n\tld.global.u32 %r3, [%a];\n"
                   "\tadd.s32 %r3, %r3, %r1;\n\tst.global.u32 [%a], %r3;\n", 2, 2);
    /* at an index of 32 bits, that may wrap */
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tadd.s32 %r3, %r9, %w;\n\tmul.wide.s32 %d3, %r3, 4;\n"
                   "\tadd.s64 %d4, %b, %d3;\n\tld.global.u32 %r2, [%d4];\n\tadd.s32 %r1, %r1, %r2;\n"
                   "\tst.global.u32 [%a], %r1;\n", 3, 1);
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tmul.wide.u32 %d3, %r9, 4;\n\tadd.s64 %d4, %b, %d3;\n"
                   "\tld.global.u32 %r2, [%d4+4096];\n\tadd.s32 %r1, %r1, %r2;\n\tst.global.u32 [%a], %r1;\n", 3, 1);
    /* beside rows whose distance is only known at run time */
    check_loop("\tld.global.u64 %d7, [%b];\n\tmov.b64 %d8, %b;\n",
               "\tld.global.u32 %r1, [%a];\n\tld.global.u32 %r2, [%d8];\n\tadd.s64 %d8, %d8, %d7;\n"
               "\tadd.s32 %r1, %r1, %r2;\n\tst.global.u32 [%a], %r1;\n", 3, 1);
    /* not in every iteration */
    check_loop("", "\tld.global.u32 %r2, [%d9];\n\tsetp.eq.s32 %p2, %r2, 0;\n"
                   "\t@%p2 bra S;\n\tst.global.u32 [%a], %r2;\nS:\n", 1, 1);
    check_loop("", UPDATE "\tbar.sync 0;\n", 2, 1);
    check_loop("", UPDATE "\tmembar.gl;\n", 2, 1);
    check_loop("", UPDATE "\tld.volatile.global.u32 %r4, [%b];\n", 3, 1);
    check_loop("", UPDATE "\tred.global.add.u32 [%b], 1;\n", 2, 1);
    /* bytes of the cell */
    check_loop("", UPDATE "\tld.global.u8 %r4, [%a+1];\n\tst.shared.u32 [tile], %r4;\n", 3, 2);
    /* addresses that do not grow evenly */
    check_loop("", "\tld.global.u32 %r1, [%a];\n\tmul.wide.u32 %d3, %r1, 4;\n\tadd.s64 %d4, %b, %d3;\n"
                   "\tld.global.u32 %r2, [%d4];\n\tst.global.u32 [%a], %r2;\n", 2, 1);
    /* an exit before the store */
    check_loop("", "\tld.global.u32 %r2, [%d9];\n\tsetp.eq.s32 %p2, %r2, 0;\n\t@%p2 ret;\n"
                   "\tst.global.u32 [%a], %r2;\n", 1, 1);
}

static void test_addresses(void **state)
{
    (void)state;
    static const PassId passes[] = {PASS_LOAD_REUSE, PASS_ADDRESSES};
    /* Three rows of two threads' pixels, one below the other: eight loads, of which two rows are the same. */
    const char *rows = "\tadd.s32 %r3, %t, 1;\n\tmad.lo.s32 %r4, %t, %w, %r0;\n\tmad.lo.s32 %r5, %r3, %w, %r0;\n"
                       "\tmul.wide.s32 %d1, %r4, 4;\n\tmul.wide.s32 %d2, %r5, 4;\n\tmul.wide.s32 %d3, %w, 4;\n"
                       "\tadd.s64 %d4, %a, %d1;\n\tadd.s64 %d5, %a, %d2;\n"
                       "\tadd.s64 %d6, %d4, %d3;\n\tadd.s64 %d7, %d5, %d3;\n\tadd.s64 %d8, %d6, %d3;\n"
                       "\tld.global.f32 %f1, [%d4];\n\tld.global.f32 %f2, [%d6];\n\tld.global.f32 %f3, [%d8];\n"
                       "\tld.global.f32 %f4, [%d5];\n\tld.global.f32 %f5, [%d7];\n"
                       "\tadd.f32 %f6, %f1, %f2;\n\tadd.f32 %f6, %f6, %f3;\n\tadd.f32 %f7, %f4, %f5;\n"
                       "\tst.global.f32 [%b], %f6;\n\tst.global.f32 [%b+4], %f7;\n";
    assert_int_equal(run(rows, passes, 2).loads, 5 + 3);
    /* Rows above and below as offsets that are extended separately: twelve loads, of which two rows are the same. */
    const char *offsets = "\tadd.s32 %r3, %t, 1;\n\tmul.lo.s32 %r4, %t, %w;\n\tmul.lo.s32 %r5, %r3, %w;\n"
                          "\tcvt.s64.s32 %d1, %r4;\n\tcvt.s64.s32 %d2, %r5;\n\tnot.b32 %r6, %w;\n"
                          "\tadd.s32 %r7, %w, -1;\n\tcvt.s64.s32 %d3, %r6;\n\tcvt.s64.s32 %d4, %r7;\n"
                          "\tadd.s64 %d5, %a, %d1;\n\tadd.s64 %d6, %a, %d2;\n\tadd.s64 %d7, %d5, %d3;\n"
                          "\tadd.s64 %d8, %d6, %d3;\n\tadd.s64 %d9, %d5, %d4;\n\tadd.s64 %d10, %d6, %d4;\n"
                          "\tld.global.u8 %r8, [%d7];\n\tld.global.u8 %r9, [%d7+1];\n\tld.global.u8 %r10, [%d5];\n"
                          "\tld.global.u8 %r11, [%d9];\n\tld.global.u8 %r12, [%d9+1];\n"
                          "\tld.global.u8 %r13, [%d8];\n\tld.global.u8 %r14, [%d8+1];\n\tld.global.u8 %r15, [%d6];\n"
                          "\tld.global.u8 %r18, [%d5+-1];\n\tld.global.u8 %r19, [%d6+-1];\n"
                          "\tld.global.u8 %r16, [%d10];\n\tld.global.u8 %r17, [%d10+1];\n"
                          "\tadd.s32 %r8, %r8, %r9;\n\tadd.s32 %r8, %r8, %r10;\n\tadd.s32 %r8, %r8, %r11;\n"
                          "\tadd.s32 %r8, %r8, %r12;\n\tadd.s32 %r13, %r13, %r14;\n\tadd.s32 %r13, %r13, %r15;\n"
                          "\tadd.s32 %r13, %r13, %r16;\n\tadd.s32 %r13, %r13, %r17;\n"
                          "\tadd.s32 %r8, %r8, %r18;\n\tadd.s32 %r13, %r13, %r19;\n"
                          "\tst.global.u32 [%b], %r8;\n\tst.global.u32 [%b+4], %r13;\n";
    assert_int_equal(run(offsets, passes, 2).loads, 12 + 8);
    /* A second part of a kernel has two versions if that saves enough: neighbours, but not the rows again. */
    const char *pixels = "\tadd.s32 %r8, %t, 1;\n\tmul.wide.s32 %d9, %t, 4;\n\tmul.wide.s32 %d10, %r8, 4;\n"
                         "\tadd.s64 %d11, %a, %d9;\n\tadd.s64 %d12, %a, %d10;\n"
                         "\tld.global.f32 %f1, [%d11];\n\tld.global.f32 %f2, [%d11+4];\n"
                         "\tld.global.f32 %f3, [%d11+8];\n\tld.global.f32 %f4, [%d11+12];\n"
                         "\tld.global.f32 %f8, [%d12];\n\tld.global.f32 %f9, [%d12+4];\n"
                         "\tld.global.f32 %f10, [%d12+8];\n\tld.global.f32 %f11, [%d12+12];\n"
                         "\tst.global.v4.f32 [%b], {%f1, %f2, %f3, %f4};\n"
                         "\tst.global.v4.f32 [%b+16], {%f8, %f9, %f10, %f11};\n";
    static const char two[] = "\tsetp.eq.s32 %%p1, %%n, 0;\n\t@%%p1 bra J;\n%sJ:\n%s";
    Buf text = {0};
    buf_printf(&text, two, rows, pixels);
    assert_int_equal(run(buf_text(&text), passes, 2).loads, 5 + 3 + 8 + 5);
    buf_free(&text);
    buf_printf(&text, two, rows, rows);
    assert_int_equal(run(buf_text(&text), passes, 2).loads, 5 + 3 + 5);
    buf_free(&text);
    /* A version for each side of the test needs code that threads may execute apart. */
    buf_printf(&text, "%s\tbar.sync 0;\n", rows);
    assert_int_equal(run(buf_text(&text), passes, 2).loads, 5);
    buf_free(&text);
}

/* A loop that reads three rows of two threads' pixels in each round; 'second' computes the second thread's index, to
 * which 'step' is added in each round. */
static void check_column(const char *second, const char *step, unsigned loads)
{
    static const PassId passes[] = {PASS_LOAD_REUSE, PASS_ADDRESSES};
    Buf code = {0};
    buf_printf(&code, "\tmad.lo.s32 %%r4, %%t, %%w, %%r0;\n%s\tmov.u32 %%r6, 0;\n\tmul.wide.s32 %%d3, %%w, 4;\n"
                      "\tmov.f32 %%f5, 0f00000000;\nL:\n\tmul.wide.s32 %%d1, %%r4, 4;\n\tmul.wide.s32 %%d2, %%r5, 4;\n"
                      "\tadd.s64 %%d4, %%a, %%d1;\n\tadd.s64 %%d5, %%a, %%d2;\n"
                      "\tadd.s64 %%d6, %%d4, %%d3;\n\tadd.s64 %%d7, %%d5, %%d3;\n"
                      "\tadd.s64 %%d8, %%d6, %%d3;\n\tadd.s64 %%d9, %%d7, %%d3;\n"
                      "\tld.global.f32 %%f1, [%%d4];\n\tld.global.f32 %%f2, [%%d6];\n\tld.global.f32 %%f6, [%%d8];\n"
                      "\tld.global.f32 %%f3, [%%d5];\n\tld.global.f32 %%f4, [%%d7];\n\tld.global.f32 %%f7, [%%d9];\n"
                      "\tfma.rn.f32 %%f5, %%f1, %%f2, %%f5;\n\tfma.rn.f32 %%f5, %%f3, %%f4, %%f5;\n"
                      "\tfma.rn.f32 %%f5, %%f6, %%f7, %%f5;\n"
                      "\tadd.s32 %%r4, %%r4, %%w;\n\tadd.s32 %%r5, %%r5, %s;\n"
                      "\tadd.s32 %%r6, %%r6, 1;\n\tsetp.lt.s32 %%p1, %%r6, %%n;\n\t@%%p1 bra L;\n"
                      "\tst.global.f32 [%%b], %%f5;\n", second, step);
    Count count = run(buf_text(&code), passes, COUNT_OF(passes));
    if (count.loads != loads)
        fail_msg("%u loads remain, not %u:\n%s", count.loads, loads, buf_text(&code));
    buf_free(&code);
}

/* Rows of a loop whose indices are phis of 32 bits: two of the second thread's three are the first one's. */
static void test_columns(void **state)
{
    (void)state;
    check_column("\tadd.s32 %r3, %t, 1;\n\tmad.lo.s32 %r5, %r3, %w, %r0;\n", "%w", 4 + 6);
    check_column("\tadd.s32 %r5, %r4, %w;\n", "%w", 4 + 6);
    /* rows that do not grow alike, or are apart by something else */
    check_column("\tadd.s32 %r5, %r4, %w;\n", "%n", 6);
    check_column("\tadd.s32 %r5, %r4, %n;\n", "%w", 6);
    check_column("\tmad.lo.s32 %r5, %w, 100, %r4;\n", "%w", 6);
    check_column("\tmul.lo.s32 %r5, %t, %n;\n", "%w", 6);
}

/* Accesses of vectors and others. */
static void check_vectors(const char *code, unsigned vectors, unsigned scalars)
{
    Module *module;
    Body *body = body_of(&module, code);
    Arena *arena = arena_new();
    PassOptions options = {0};
    unsigned wide = 0, narrow = 0;
    options.enabled[PASS_VECTORIZE] = options.enabled[PASS_CLEANUP] = true;
    PassContext context = pass_context_new(arena, &options, module_find_function(module, "k"), body_clone(body));
    pass_run(&context, PASS_VECTORIZE);
    for (size_t b = 0; b < context.body->blocks.count; b++)
        for (const Inst *inst = context.body->blocks.data[b]->first; inst; inst = inst->next)
            if ((inst_op(inst) == OP_LD || inst_op(inst) == OP_ST) && inst->signature->space != SPACE_PARAM) {
                wide += inst->signature->vector > 1;
                narrow += inst->signature->vector == 1;
            }
    pass_context_free(&context);
    arena_free(arena);
    release(module);
    if (wide != vectors || narrow != scalars)
        fail_msg("%u vectors and %u others, not %u and %u:\n%s", wide, narrow, vectors, scalars, code);
}

static void test_vectorize(void **state)
{
    (void)state;
#define TILE "\tmov.u32 %r3, tile;\n\tmov.u32 %r5, %tid.x;\n\tshl.b32 %r6, %r5, 4;\n\tadd.s32 %r4, %r3, %r6;\n"
#define FOUR(between)                                                                                                  \
    TILE "\tld.shared.f32 %f1, [%r4];\n\tld.shared.f32 %f2, [%r4+4];\n" between                                      \
         "\tld.shared.f32 %f3, [%r4+8];\n\tld.shared.f32 %f4, [%r4+12];\n"
    check_vectors(FOUR(""), 1, 0);
    check_vectors(FOUR("\tst.global.f32 [%a], %f1;\n"), 1, 1);
    check_vectors(FOUR("\tst.shared.f32 [%r4+64], %f1;\n"), 1, 1);
    check_vectors(FOUR("\tst.shared.f32 [%r4+8], %f1;\n"), 2, 1);
    check_vectors(FOUR("\tbar.sync 0;\n"), 2, 0);
    check_vectors(FOUR("\tmembar.cta;\n"), 2, 0);
    /* not a multiple of the size */
    check_vectors(TILE "\tld.shared.f32 %f1, [%r4+4];\n\tld.shared.f32 %f2, [%r4+8];\n"
                       "\tld.shared.f32 %f3, [%r4+12];\n\tld.shared.f32 %f4, [%r4+16];\n", 1, 2);
    check_vectors(TILE "\tld.shared.f32 %f1, [%r4];\n\tld.shared.b32 %r1, [%r4+4];\n", 0, 2);
    check_vectors(TILE "\tld.volatile.shared.f32 %f1, [%r4];\n\tld.volatile.shared.f32 %f2, [%r4+4];\n", 0, 2);
    /* stores, in any order, but not past their readers */
    check_vectors(TILE "\tst.shared.f32 [%r4+4], %f1;\n\tst.shared.f32 [%r4], %f2;\n", 1, 0);
    check_vectors(TILE "\tst.shared.f32 [%r4+4], %f1;\n\tld.shared.f32 %f3, [%r4+4];\n\tst.shared.f32 [%r4], %f3;\n", 0,
                  3);
    check_vectors(TILE "\tst.shared.f32 [%r4], %f1;\n\tst.shared.f32 [%r4], %f2;\n\tst.shared.f32 [%r4+4], %f2;\n", 0,
                  3);
    /* a pointer that only the launch knows: a test, and both forms */
    check_vectors("\tld.global.f32 %f1, [%a];\n\tld.global.f32 %f2, [%a+4];\n\tld.global.f32 %f3, [%a+8];\n"
                  "\tld.global.f32 %f4, [%a+12];\n", 1, 4);
    check_vectors("\tld.global.f32 %f1, [%a];\n\tld.global.f32 %f2, [%a+4];\n", 0, 2);
    check_vectors("\tld.global.f64 %d3, [%a];\n", 0, 1);
}

/* Four loads in each iteration, from two words before a pointer on, which starts at 'start' and grows by 'step'
 * bytes. */
static void check_pointer(const char *start, unsigned step, unsigned vectors, unsigned scalars)
{
    Buf code = {0};
    buf_printf(&code, "\tmov.u32 %%r1, 0;\n%s\tadd.s64 %%d1, %%a, %%d3;\n\tmov.f32 %%f5, 0f00000000;\nL:\n"
                      "\tld.global.f32 %%f1, [%%d1+-8];\n\tld.global.f32 %%f2, [%%d1+-4];\n"
                      "\tld.global.f32 %%f3, [%%d1];\n\tld.global.f32 %%f4, [%%d1+4];\n"
                      "\tfma.rn.f32 %%f5, %%f1, %%f2, %%f5;\n\tfma.rn.f32 %%f5, %%f3, %%f4, %%f5;\n"
                      "\tadd.s64 %%d1, %%d1, %u;\n\tadd.s32 %%r1, %%r1, 1;\n\tsetp.lt.s32 %%p1, %%r1, %%n;\n"
                      "\t@%%p1 bra L;\n\tst.global.f32 [%%b], %%f5;\n",
               start, step);
    check_vectors(buf_text(&code), vectors, scalars);
    buf_free(&code);
}

/* The iterations of a tree in shared memory, with code before its four loads and stores and after them. */
static void check_tree(const char *before, const char *after, unsigned vectors, unsigned scalars)
{
    Buf code = {0};
    buf_printf(&code, "%s\tshr.u32 %%r7, %%w, 1;\nL:\n%s\tshl.b32 %%r8, %%r7, 2;\n\tadd.s32 %%r9, %%r4, %%r8;\n"
                      "\tld.shared.f32 %%f1, [%%r4];\n\tld.shared.f32 %%f2, [%%r4+4];\n"
                      "\tld.shared.f32 %%f3, [%%r4+8];\n\tld.shared.f32 %%f4, [%%r4+12];\n"
                      "\tld.shared.f32 %%f5, [%%r9];\n\tld.shared.f32 %%f6, [%%r9+4];\n"
                      "\tld.shared.f32 %%f7, [%%r9+8];\n\tld.shared.f32 %%f8, [%%r9+12];\n"
                      "\tadd.f32 %%f1, %%f1, %%f5;\n\tadd.f32 %%f2, %%f2, %%f6;\n\tadd.f32 %%f3, %%f3, %%f7;\n"
                      "\tadd.f32 %%f4, %%f4, %%f8;\n\tst.shared.f32 [%%r4], %%f1;\n\tst.shared.f32 [%%r4+4], %%f2;\n"
                      "\tst.shared.f32 [%%r4+8], %%f3;\n\tst.shared.f32 [%%r4+12], %%f4;\n%s"
                      "\tshr.u32 %%r7, %%r7, 1;\n\tsetp.ne.s32 %%p1, %%r7, 0;\n\t@%%p1 bra L;\n",
               TILE, before, after);
    check_vectors(buf_text(&code), vectors, scalars);
    buf_free(&code);
}

/* An address that moves is tested in each iteration, if no other thread waits in the code that the test decides about;
 * an address that is known to be aligned needs no test. */
static void test_vectorize_rounds(void **state)
{
    (void)state;
    static const char branch[] = "\tsetp.ge.u32 %p2, %r5, %r7;\n\t@%p2 bra J;\n";
    check_tree("", "", 2, 4);
    check_tree("", "\tbar.sync 0;\n", 2, 4);
    check_tree(branch, "J:\n\tbar.sync 0;\n", 3, 12);
    check_tree(branch, "\tbar.warp.sync -1;\nJ:\n\tbar.sync 0;\n", 2, 4);
}

/* A pointer that starts in the middle of the words that an iteration reads. */
static void test_vectorize_pointers(void **state)
{
    (void)state;
    check_pointer("\tmov.u64 %d3, 8;\n", 16, 1, 6);
    check_pointer("\tmov.u64 %d3, 24;\n", 32, 1, 6);
    check_pointer("\tmov.u64 %d3, 0;\n", 16, 2, 6);
    check_pointer("\tmov.u64 %d3, 8;\n", 8, 2, 6);
    check_pointer("\tmov.u64 %d3, 8;\n", 4, 0, 5);
    check_pointer("\tmov.u64 %d3, 4;\n", 16, 0, 5);
    check_pointer("\tmov.u64 %d3, 12;\n", 16, 0, 5);
    /* a row of a width from the launch; the start of another loop's pointer */
    check_pointer("\tmul.lo.s32 %r2, %t, %w;\n\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 8;\n", 16, 1, 6);
    check_pointer("\tmul.lo.s32 %r2, %t, %w;\n\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 4;\n", 16, 0, 5);
    /* a width that is a sum with a constant */
    check_pointer("\tadd.s32 %r3, %w, %n;\n\tadd.s32 %r3, %r3, -1;\n\tmul.lo.s32 %r2, %t, %r3;\n"
                  "\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 8;\n", 16, 1, 6);
    check_pointer("\tadd.s32 %r3, %w, %n;\n\tadd.s32 %r3, %r3, -1;\n\tmul.lo.s32 %r2, %t, %r3;\n"
                  "\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 4;\n", 16, 0, 5);
    /* and a column, of four elements each or not */
    check_pointer("\tadd.s32 %r3, %w, -1;\n\tmul.lo.s32 %r4, %t, 4;\n\tmad.lo.s32 %r2, %t, %r3, %r4;\n"
                  "\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 8;\n", 16, 1, 6);
    check_pointer("\tadd.s32 %r3, %w, -1;\n\tmad.lo.s32 %r2, %t, %r3, %t;\n"
                  "\tmul.wide.s32 %d4, %r2, 4;\n\tadd.s64 %d3, %d4, 8;\n", 16, 0, 5);
    check_pointer("\tmov.u32 %r3, 0;\n\tmov.u64 %d3, 8;\nM:\n\tadd.s64 %d3, %d3, 16;\n\tadd.s32 %r3, %r3, 1;\n"
                  "\tsetp.lt.s32 %p2, %r3, %w;\n\t@%p2 bra M;\n", 16, 1, 6);
    check_pointer("\tmov.u32 %r3, 0;\n\tmov.u64 %d3, 8;\nM:\n\tadd.s64 %d3, %d3, 12;\n\tadd.s32 %r3, %r3, 1;\n"
                  "\tsetp.lt.s32 %p2, %r3, %w;\n\t@%p2 bra M;\n", 16, 0, 5);
}

/* Signed products of 64 bits, or extensions, and additions that remain of rows' addresses. */
static void check_rows(const char *code, unsigned products, unsigned sums)
{
    Module *module;
    Body *body = body_clone(body_of(&module, code));
    unsigned found_products = 0, found_sums = 0;
    one_pass(&body, PASS_BASES);
    one_pass(&body, PASS_CLEANUP);
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!inst->signature->type_count)
                continue;
            bool wide = type_bits(inst->signature->types[0]) == 64 || inst_has(inst, MOD_WIDE);
            Type from = inst->signature->types[inst->signature->type_count - 1];
            found_products += from == TYPE_S32 && wide;
            found_sums += (inst_op(inst) == OP_ADD || inst_op(inst) == OP_SUB) && wide;
        }
    body_free(body);
    release(module);
    if (found_products != products || found_sums != sums)
        fail_msg("%u products and %u sums, not %u and %u:\n%s", found_products, found_sums, products, sums, code);
}

/* The addresses of rows, each from the last; not for a single row, in a loop, or if the distance is unknown. */
static void test_rows(void **state)
{
    (void)state;
#define PLACE "\tmul.wide.s32 %d1, %t, 4;\n\tadd.s64 %d2, %a, %d1;\n\tld.global.u32 %r1, [%d2];\n"
#define ROW(row, times, load)                                                                                          \
    "\tmad.wide.s32 %d1" row ", %w, " times ", %d1;\n\tadd.s64 %d" row ", %a, %d1" row ";\n\tld.global.u32 %r" row    \
    ", [%d" row load "];\n"
#define ROWS_END "\tadd.s32 %r1, %r1, %r3;\n\tst.global.u32 [%b], %r1;\n"
    check_rows(PLACE ROW("3", "4", "") ROW("4", "8", "") ROW("5", "12", "") "\tadd.s32 %r3, %r3, %r4;\n"
               "\tadd.s32 %r3, %r3, %r5;\n" ROWS_END, 2, 4);
    check_rows(PLACE ROW("3", "-4", "") ROW("4", "-8", "+4") "\tadd.s32 %r3, %r3, %r4;\n" ROWS_END, 2, 3);
    check_rows(PLACE "\tcvt.s64.s32 %d9, %w;\n\tadd.s64 %d8, %d1, %d9;\n\tadd.s64 %d7, %d8, %d9;\n"
               "\tadd.s64 %d3, %a, %d8;\n\tadd.s64 %d4, %a, %d7;\n"
               "\tld.global.u8 %r3, [%d3];\n\tld.global.u8 %r4, [%d4];\n"
               "\tadd.s32 %r3, %r3, %r4;\n" ROWS_END, 2, 3);
    check_rows(PLACE ROW("3", "4", "") ROWS_END, 2, 2);
    check_rows(PLACE ROW("3", "4", "") ROW("4", "12", "") "\tadd.s32 %r3, %r3, %r4;\n" ROWS_END, 3, 3);
}

static void test_induction(void **state)
{
    (void)state;
    static const char *const steps[] = {"4", "4", "8"};
    static const unsigned phis[] = {3, 4, 4};
    for (unsigned i = 0; i < COUNT_OF(steps); i++) {
        Module *module;
        Buf code = {0};
        buf_printf(&code, "\tmov.u32 %%r1, 0;\n\tmov.u32 %%r2, 0;\n\tmov.u64 %%d1, %%a;\n\tadd.s64 %%d2, %s, 12;\nL:\n"
                          "\tld.global.u32 %%r3, [%%d1];\n\tld.global.u32 %%r4, [%%d2];\n"
                          "\tmad.lo.s32 %%r1, %%r3, %%r4, %%r1;\n\tadd.s64 %%d1, %%d1, 4;\n\tadd.s64 %%d2, %%d2, %s;\n"
                          "\tadd.s32 %%r2, %%r2, 1;\n\tsetp.lt.s32 %%p1, %%r2, %%n;\n\t@%%p1 bra L;\n"
                          "\tst.global.u32 [%%b], %%r1;\n",
                   i == 1 ? "%b" : "%a", steps[i]);
        Body *body = body_of(&module, buf_text(&code));
        Arena *arena = arena_new();
        PassOptions options = {0};
        options.enabled[PASS_INDUCTION] = true;
        PassContext context = pass_context_new(arena, &options, module_find_function(module, "k"), body_clone(body));
        pass_run(&context, PASS_INDUCTION);
        size_t count = 0;
        for (size_t b = 0; b < context.body->blocks.count; b++)
            count += context.body->blocks.data[b]->phis.count;
        assert_int_equal(count, phis[i]);
        pass_context_free(&context);
        arena_free(arena);
        release(module);
        buf_free(&code);
    }
}

/* The remains of "if (condition) store" after decide: branches and stores, but no guard. */
static void check_decision(const char *code, bool can_skip, bool can_store)
{
    Module *module;
    Body *body = body_of(&module, code);
    Arena *arena = arena_new();
    PassOptions options = {0};
    unsigned branches = 0, stores = 0, guarded = 0;
    options.enabled[PASS_DECIDE] = true;
    PassContext context = pass_context_new(arena, &options, module_find_function(module, "k"), body_clone(body));
    pass_run(&context, PASS_DECIDE);
    for (size_t b = 0; b < context.body->blocks.count; b++)
        for (const Inst *inst = context.body->blocks.data[b]->first; inst; inst = inst->next) {
            branches += inst_is_branch(inst) && inst->guard != REF_NONE;
            stores += inst_op(inst) == OP_ST;
            guarded += !inst_is_branch(inst) && inst->guard != REF_NONE;
        }
    if (branches != (can_skip && can_store) || stores != can_store || guarded)
        fail_msg("%u branches, %u stores and %u guards are left of\n%s", branches, stores, guarded, code);
    pass_context_free(&context);
    arena_free(arena);
    release(module);
}

static bool compares(unsigned how, int64_t a, int64_t b)
{
    const bool results[] = {a < b, a <= b, a > b, a >= b, a == b, a != b};
    return results[how];
}

static void test_decide(void **state)
{
    (void)state;
    static const char *const names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    static const int bounds[] = {-1, 0, 1, 63, 64, 65, 1023, 1087, 1088, 2000};
    for (unsigned i = 0; i < 2 * 2 * COUNT_OF(names) * COUNT_OF(bounds); i++) {
        bool is_signed = i % 2, inverted = i / 2 % 2, both[2] = {false, false};
        unsigned how = i / 4 % COUNT_OF(names);
        int bound = bounds[i / 4 / COUNT_OF(names)];
        Buf code = {0};
        buf_printf(&code, "\tmov.u32 %%r1, %%tid.x;\n\tadd.s32 %%r2, %%r1, 64;\n\tsetp.%s.%c32 %%p1, %%r2, %d;\n"
                          "\t@%s%%p1 bra L;\n\tst.global.u32 [%%a], 1;\nL:\n",
                   names[how], is_signed ? 's' : 'u', bound, inverted ? "!" : "");
        int64_t right = is_signed ? (int64_t)bound : (int64_t)(uint32_t)bound;
        for (int64_t value = 64; value < 1024 + 64; value++)
            both[compares(how, value, right) != inverted] = true;
        check_decision(buf_text(&code), both[1], both[0]);
        buf_free(&code);
    }
    /* r2 is at least 64; n is anything */
#define PARTS "\tmov.u32 %r1, %tid.x;\n\tadd.s32 %r2, %r1, 64;\n\tsetp.gt.u32 %p1, %r2, 2;\n" \
              "\tsetp.lt.u32 %p2, %r2, 2;\n\tsetp.eq.u32 %p3, %n, 7;\n"
#define REST "\t@%p4 bra L;\n\tst.global.u32 [%a], 1;\nL:\n"
    check_decision(PARTS "\tor.pred %p4, %p1, %p3;\n" REST, true, false);
    check_decision(PARTS "\tor.pred %p4, %p3, %p2;\n" REST, true, true);
    check_decision(PARTS "\tand.pred %p4, %p3, %p2;\n" REST, false, true);
    check_decision(PARTS "\tand.pred %p4, %p1, %p3;\n" REST, true, true);
    check_decision(PARTS "\tor.pred %p4, %p2, %p2;\n" REST, false, true);
    check_decision(PARTS "\t@%p2 st.global.u32 [%a], 1;\n", false, false);
    check_decision(PARTS "\t@!%p1 st.global.u32 [%a], 1;\n", false, false);
    check_decision(PARTS "\t@%p1 st.global.u32 [%a], 1;\n", false, true);
    check_decision(PARTS "\t@!%p2 ld.global.u32 %r3, [%a];\n\tst.global.u32 [%a], %r3;\n", false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between), cmocka_unit_test(test_ways_of_loading), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_wrap),    cmocka_unit_test(test_forward),         cmocka_unit_test(test_accumulator),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_decide),        cmocka_unit_test(test_vectorize),
        cmocka_unit_test(test_vectorize_pointers), cmocka_unit_test(test_vectorize_rounds),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_induction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
