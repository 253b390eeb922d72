/* Vectors of single threads: which accesses become one, what is tested, and what must stay as it is. */
#include "parsed.h"

#include "opt/opt.h"
#include "opt/passes.h"
#include "tests/tools/one_pass.h"

#include <stdlib.h>

/* A kernel with this code; %a and %b are addresses of rows, %c one that all threads share, %n and %w from the launch,
 * %t the index of the thread. */
static Body *body_of(Module **module, const char *code)
{
    Buf text = {0};
    buf_puts(&text, SM_90 ".shared .align 16 .b8 tile[1024];\n.global .align 16 .b8 numbers[64];\n"
                          ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn, "
                          ".param .u32 pw)\n{\n"
                          "\t.reg .b32 %r<30>, %n, %w, %t, %i;\n\t.reg .b64 %a, %b, %c, %d<20>;\n\t.reg .f32 %f<20>;\n"
                          "\t.reg .pred %p<8>;\n\t.reg .b16 %h<20>;\n"
                          "\tld.param.u64 %a, [pa];\n\tld.param.u64 %b, [pb];\n\tld.param.u64 %c, [pc];\n"
                          "\tld.param.u32 %n, [pn];\n\tld.param.u32 %w, [pw];\n"
                          "\tmov.u32 %t, %tid.x;\n\tmov.u32 %r28, %ctaid.x;\n\tmov.u32 %r29, %ntid.x;\n"
                          "\tmad.lo.s32 %t, %r28, %r29, %t;\n\tmul.lo.s32 %r27, %t, %w;\n"
                          "\tmul.wide.s32 %d19, %r27, 4;\n\tadd.s64 %a, %a, %d19;\n\tadd.s64 %b, %b, %d19;\n");
    buf_puts(&text, code);
    buf_puts(&text, "\tret;\n}\n");
    *module = module_from(buf_text(&text));
    Body *body = body_from(*module);
    body_to_ssa(body);
    buf_free(&text);
    return body;
}

/* The code after the passes, as text that the caller frees. */
static Buf run(const char *code, bool unrolls)
{
    Module *module;
    Buf text = {0};
    Body *body = body_clone(body_of(&module, code));
    if (unrolls && one_pass(&body, PASS_ROW_VECTORS))
        one_pass(&body, PASS_CLEANUP);
    one_pass(&body, PASS_VECTORS);
    one_pass(&body, PASS_CLEANUP);
    body_dump(body, &text);
    body_free(body);
    release(module);
    return text;
}

/* The words, separated by spaces, are in the code as often as the number after each says: "v4.f32*2 %aligned*0". */
static void check(const char *code, bool unrolls, const char *expected)
{
    Buf text = run(code, unrolls);
    char words[200], *rest = words;
    snprintf(words, sizeof words, "%s", expected);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char *times = strchr(word, '*');
        require(times);
        *times = 0;
        if (count_of(&text, word) != (unsigned)atoi(times + 1))
            fail_msg("'%s' is in there %u times, not %s:\n%s\n%s", word, count_of(&text, word), times + 1, code,
                     buf_text(&text));
    }
    buf_free(&text);
}

static void check_joins(const char *code, const char *expected)
{
    check(code, false, expected);
}

static void check_rows(const char *code, const char *expected)
{
    check(code, true, expected);
}

#define USE2 "\tst.global.f32 [%c], %f1;\n\tst.global.f32 [%c+64], %f2;\n"
#define PAIR(between) "\tld.global.f32 %f1, [%a];\n" between "\tld.global.f32 %f2, [%a+4];\n" USE2

static void test_pairs(void **state)
{
    (void)state;
    check_joins(PAIR(""), "ld.global.v2.f32*1 ld.global.f32*2 setp.eq.u64*1");
    check_joins(PAIR("\tadd.s32 %r1, %n, 1;\n"), "ld.global.v2.f32*1");
    check_joins(PAIR("\tst.shared.u32 [tile], %n;\n"), "ld.global.v2.f32*1");
    check_joins(PAIR("\tbar.sync 0;\n"), "v2*0");
    check_joins(PAIR("\tbar.warp.sync -1;\n"), "v2*0");
    check_joins(PAIR("\tmembar.cta;\n"), "v2*0");
    check_joins(PAIR("\tred.global.add.u32 [%c], 1;\n"), "v2*0");
    check_joins(PAIR("\tred.shared.add.u32 [tile], 1;\n"), "ld.global.v2.f32*1");
    check_joins(PAIR("\tred.release.gpu.shared.add.u32 [tile], 1;\n"), "v2*0");
    check_joins(PAIR("\tred.sys.shared.add.u32 [tile], 1;\n"), "v2*0");
    check_joins(PAIR("\tatom.shared.add.u32 %r1, [tile], 1;\n"), "v2*0");
    check_joins(PAIR("\tld.volatile.global.u32 %r1, [%c];\n"), "v2*0");
    check_joins(PAIR("\tld.acquire.gpu.global.u32 %r1, [%c];\n"), "v2*0");
    check_joins(PAIR("\ttrap;\n"), "v2*0");
    check_joins(PAIR("\tsetp.eq.u32 %p1, %n, 7;\n\t@%p1 exit;\n"), "v2*0");
    /* After the loads, or around them in a loop, a barrier is not an obstacle: only they are made twice. */
    check_joins(PAIR("") "\tbar.sync 0;\n", "ld.global.v2.f32*1 bar.sync*1");
    check_joins("\tmov.u32 %i, 0;\nLOOP:\n" PAIR("") "\tld.global.f32 %f3, [%b];\n\tld.global.f32 %f4, [%b+4];\n"
                "\tld.global.f32 %f5, [%b+8];\n\tld.global.f32 %f6, [%b+12];\n\tadd.f32 %f3, %f3, %f4;\n"
                "\tadd.f32 %f5, %f5, %f6;\n\tst.global.f32 [%c+4], %f3;\n\tst.global.f32 [%c+8], %f5;\n"
                "\tbar.sync 0;\n\tadd.u32 %i, %i, 1;\n\tsetp.lt.u32 %p1, %i, %n;\n\t@%p1 bra LOOP;\n", "bar.sync*1");
    check_joins("\tld.volatile.global.f32 %f1, [%a];\n\tld.volatile.global.f32 %f2, [%a+4];\n" USE2, "v2*0");
    check_joins("\tsetp.eq.u32 %p1, %n, 7;\n\tmov.f32 %f2, 0f00000000;\n\tld.global.f32 %f1, [%a];\n"
                "\t@%p1 ld.global.f32 %f2, [%a+4];\n" USE2, "v2*0");
    check_joins("\tld.global.f32 %f1, [%a];\n\tld.global.f32 %f2, [%a+8];\n" USE2, "v2*0");
    check_joins("\tld.global.f32 %f1, [%a+4];\n\tld.global.f32 %f2, [%a+8];\n" USE2, "v2*0");
    check_joins("\tld.global.f32 %f1, [%a];\n\tld.global.s32 %r1, [%a+4];\n\tmov.b32 %f2, %r1;\n" USE2, "v2*0");
    check_joins("\tld.global.f32 %f1, [%a+4];\n\tld.global.f32 %f2, [%a];\n" USE2, "ld.global.v2.f32*1");
    /* All threads of the block have to agree on the test. */
    check_joins("\tmul.wide.u32 %d1, %t, 4;\n\tadd.s64 %d1, %d1, %c;\n\tld.global.f32 %f1, [%d1];\n"
                "\tld.global.f32 %f2, [%d1+4];\n" USE2, "v2*0");
    check_joins("\tmul.wide.u32 %d1, %t, 8;\n\tadd.s64 %d1, %d1, %c;\n\tld.global.f32 %f1, [%d1];\n"
                "\tld.global.f32 %f2, [%d1+4];\n" USE2, "v2.f32*1");
}

#define FOUR(type, regs, step)                                                                                         \
    "\tld.global." type " %" regs "1, [%a];\n\tld.global." type " %" regs "2, [%a+" #step "];\n"                       \
    "\tld.global." type " %" regs "3, [%a+2*" #step "];\n\tld.global." type " %" regs "4, [%a+3*" #step "];\n"

static void test_elements(void **state)
{
    (void)state;
    static const char use_words[] = "\tadd.u32 %r1, %r1, %r2;\n\tadd.u32 %r1, %r1, %r3;\n\tadd.u32 %r1, %r1, %r4;\n"
                                    "\tst.global.u32 [%c], %r1;\n";
    static const char use_halves[] = "\txor.b16 %h1, %h1, %h2;\n\txor.b16 %h1, %h1, %h3;\n\txor.b16 %h1, %h1, %h4;\n"
                                     "\tst.global.u16 [%c], %h1;\n";
    char code[2000];
#define WITH(loads, use) (snprintf(code, sizeof code, "%s%s", loads, use), code)
    check_joins(WITH(FOUR("u32", "r", 4), use_words), "ld.global.v4.u32*1 ld.global.u32*4");
    check_joins(WITH(FOUR("s8", "r", 1), use_words), "ld.global.b32*1 prmt.b32*4 ld.global.s8*4 34944*1");
    check_joins(WITH(FOUR("u8", "r", 1), use_words), "ld.global.b32*1 17472*1 17473*1 17474*1 17475*1");
    check_joins(WITH(FOUR("u16", "r", 2), use_words), "ld.global.v2.b32*1 prmt.b32*4 17424*2 17458*2");
    check_joins(WITH(FOUR("s16", "r", 2), use_words), "ld.global.v2.b32*1 39184*2 47922*2");
    check_joins(WITH(FOUR("u8", "h", 1), use_halves), "ld.global.b32*1 cvt.u16.u32*4");
    check_joins(WITH(FOUR("b16", "h", 2), use_halves), "ld.global.v2.b32*1 cvt.u16.u32*4");
    check_joins("\tld.global.u64 %d1, [%a];\n\tld.global.u64 %d2, [%a+8];\n\tadd.s64 %d1, %d1, %d2;\n"
                "\tst.global.u64 [%c], %d1;\n", "ld.global.v2.u64*1");
    check_joins("\tld.global.u8 %r1, [%a];\n\tld.global.u8 %r2, [%a+1];\n\tadd.u32 %r1, %r1, %r2;\n"
                "\tst.global.u32 [%c], %r1;\n", "prmt*0");
    check_joins("\tcvt.u16.u32 %h1, %n;\n\tcvt.u16.u32 %h2, %w;\n\tst.global.u16 [%a+2], %h1;\n"
                "\tst.global.u16 [%a], %h2;\n", "st.global.b32*1 0x5410*0 21520*1 cvt.u32.u16*2 st.global.u16*2");
    check_joins("\tst.global.u8 [%a], %n;\n\tst.global.u8 [%a+1], %n;\n\tst.global.u8 [%a+2], %n;\n"
                "\tst.global.u8 [%a+3], %n;\n", "st.global.b32*0");
#undef WITH
}

/* The test of %b - %a: it must not be within [low, low + width]. */
static void check_distance(const char *code, int low, int width)
{
    Buf text = run(code, false);
    char subtract[60], compare[60];
    snprintf(subtract, sizeof subtract, "sub.s64 %%way, %%sum_2, %d;", low);
    snprintf(compare, sizeof compare, "%%way, %d, %%aligned;", width);
    if (!strstr(buf_text(&text), subtract) || !strstr(buf_text(&text), compare))
        fail_msg("'%s' or '%s' is not in there:\n%s\n%s", subtract, compare, code, buf_text(&text));
    buf_free(&text);
}

/* Bytes that are in the way, of accesses of all sizes. */
static void test_distance_bounds(void **state)
{
    (void)state;
    check_distance("\tld.global.f32 %f1, [%a];\n\tst.global.f32 [%b], %f1;\n"
                   "\tld.global.f32 %f2, [%a+4];\n\tst.global.f32 [%b+4], %f2;\n", 1, 6);
    check_distance("\tld.global.f32 %f1, [%a];\n\tst.global.u8 [%b], %n;\n"
                   "\tld.global.f32 %f2, [%a+4];\n" USE2, 4, 3);
    check_distance("\tld.global.f32 %f1, [%a];\n\tst.global.u64 [%b+8], %d1;\n"
                   "\tld.global.f32 %f2, [%a+4];\n" USE2, -11, 10);
    /* A store moves past the load: here it is %a - %b. */
    check_distance("\tst.global.f32 [%b], %f1;\n\tld.global.u8 %r1, [%a+4];\n"
                   "\tst.global.f32 [%b+4], %f1;\n\tst.global.u32 [%c], %r1;\n", -4, 3);
}

/* Loads and stores that change places: only their distance tells whether they may. */
static void test_distances(void **state)
{
    (void)state;
    static const char copy[] = "\tld.global.f32 %f1, [%a];\n\tst.global.f32 [%b], %f1;\n"
                               "\tld.global.f32 %f2, [%a+4];\n\tst.global.f32 [%b+4], %f2;\n";
    check_joins(copy, "ld.global.v2.f32*1 st.global.v2.f32*1 setp.gt.and.u64*1");
    /* The same place again: a load of what was stored in between. */
    check_joins("\tld.global.f32 %f1, [%a];\n\tst.global.f32 [%a+4], %f1;\n\tld.global.f32 %f2, [%a+4];\n"
                "\tst.global.f32 [%a], %f2;\n", "v2*0");
    /* A load may move up or a store down, but not both: the second load reads what the first store wrote. */
    check_joins("\tst.global.f32 [%a+4], %f5;\n\tld.global.f32 %f1, [%a];\n\tst.global.f32 [%a], %f6;\n"
                "\tld.global.f32 %f2, [%a+4];\n" USE2, "ld.global.v2.f32*1 st.global.v2*0");
    check_joins("\tst.global.f32 [%a+4], %f5;\n\tld.global.f32 %f1, [%b];\n\tst.global.f32 [%a], %f6;\n"
                "\tld.global.f32 %f2, [%b+4];\n" USE2, "ld.global.v2.f32*1 st.global.v2.f32*1 setp.gt.and.u64*1");
    /* Shared memory is apart, and so is what nothing writes. */
    check_joins("\tld.global.nc.f32 %f1, [%a];\n\tst.global.f32 [%b], %f1;\n"
                "\tld.global.nc.f32 %f2, [%a+4];\n\tst.global.f32 [%b+4], %f2;\n",
                "ld.global.nc.v2.f32*1 st.global.v2.f32*1 setp.gt.and.u64*0");
    /* Threads may disagree on the distance: some take one version, and some the other. */
    check_joins("\tld.global.f32 %f1, [%a];\n\tst.global.f32 [%c], %f1;\n\tld.global.f32 %f2, [%a+4];\n"
                "\tst.global.f32 [%c+64], %f2;\n", "ld.global.v2.f32*1 setp.gt.and.u64*1 st.global.f32*3");
}

#define LOOP(body, step, end)                                                                                          \
    "\tmov.u32 %i, 0;\n\tmov.u32 %r0, 0;\n\tmov.f32 %f0, 0f00000000;\n\tsetp.lt.s32 %p1, %n, 1;\n"                 \
    "\t@%p1 bra DONE;\nLOOP:\n" body "\tadd.s64 %a, %a, " #step ";\n\tadd.s64 %b, %b, " #step ";\n"               \
    "\tadd.s32 %i, %i, 1;\n" end "\t@%p2 bra LOOP;\nDONE:\n\tst.global.f32 [%c], %f0;\n\tst.global.u32 [%c+4], %r0;\n"
#define TO_N "\tsetp.lt.s32 %p2, %i, %n;\n"
#define SUM "\tld.global.f32 %f1, [%a];\n\tadd.f32 %f0, %f0, %f1;\n"

static void test_rows(void **state)
{
    (void)state;
    check_rows(LOOP(SUM, 4, TO_N), "ld.global.v4.f32*1 add.f32*9");
    /* The number of rounds is computed before the loop, or in each round one subtraction tells whether all follow; the
     * second one is in the version that is not aligned. */
    check_rows(LOOP(SUM, 4, "\tsetp.ne.s32 %p2, %i, %n;\n"), "ld.global.v4.f32*1 sub.s32*1");
    check_rows(LOOP(SUM, 4, "\tsetp.gt.u32 %p2, %n, %i;\n"), "ld.global.v4.f32*1 sub.s32*0 shr.u64*1");
    check_rows(LOOP(SUM, 4, "\tsetp.ge.u32 %p2, %n, %i;\n"), "ld.global.v4.f32*1 sub.s32*2");
    check_rows(LOOP(SUM, 4, "\tsetp.ge.s32 %p3, %i, %n;\n\tnot.pred %p2, %p3;\n"), "ld.global.v4.f32*1");
    check_rows("\tmov.u32 %i, 0;\n\tmov.f32 %f0, 0f00000000;\nLOOP:\n" SUM "\tadd.s64 %a, %a, 4;\n"
               "\tadd.s32 %i, %i, 1;\n\tsetp.ge.s32 %p2, %i, %n;\n\t@!%p2 bra LOOP;\n\tst.global.f32 [%c], %f0;\n",
               "ld.global.v4.f32*1 sub.s32*0 shr.u64*1");
    check_rows(LOOP(SUM, 8, TO_N), "v4*0 v2*0 %jam*0");
    check_rows(LOOP(SUM, 0, TO_N), "v4*0 v2*0 %jam*0");
    check_rows(LOOP("\tld.global.s8 %r1, [%a];\n\tadd.s32 %r0, %r0, %r1;\n", 1, TO_N),
               "ld.global.v4.b32*1 prmt.b32*16");
    check_rows(LOOP("\tld.global.u16 %h1, [%a];\n\tcvt.u32.u16 %r1, %h1;\n\tadd.s32 %r0, %r0, %r1;\n", 2, TO_N),
               "ld.global.v4.b32*1 prmt.b32*8");
    check_rows(LOOP("\tld.global.u64 %d1, [%a];\n\tcvt.u32.u64 %r1, %d1;\n\tadd.s32 %r0, %r0, %r1;\n", 8, TO_N),
               "ld.global.v2.u64*1");
    /* Two streams; and indices of 32 bits, which must not wrap in any of the rounds that are executed together. */
    check_rows(LOOP(SUM "\tld.global.f32 %f2, [%b];\n\tadd.f32 %f0, %f0, %f2;\n", 4, TO_N), "ld.global.v4.f32*2");
    check_rows(LOOP(SUM "\tmul.wide.s32 %d1, %i, 4;\n\tadd.s64 %d1, %d1, %c;\n\tld.global.f32 %f2, [%d1+4096];\n"
                    "\tadd.f32 %f0, %f0, %f2;\n", 4, TO_N), "ld.global.v4.f32*2 setp.le.s32*2 2147483643;*2");
    check_rows(LOOP("\tmul.wide.u32 %d1, %i, 4;\n\tadd.s64 %d1, %d1, %c;\n\tld.global.f32 %f2, [%d1+4096];\n"
                    "\tadd.f32 %f0, %f0, %f2;\n", 4, "\tsetp.ne.u32 %p2, %i, %n;\n"),
               "ld.global.v4.f32*1 setp.le.u32*2 4294967291;*2");
    check_rows("\tmov.u32 %i, 0;\n\tmov.f32 %f0, 0f00000000;\nLOOP:\n\tadd.u32 %r1, %i, %r27;\n"
               "\tmul.wide.u32 %d1, %r1, 4;\n\tadd.s64 %d1, %d1, %c;\n\tld.global.f32 %f1, [%d1];\n"
               "\tadd.u32 %r2, %r1, 1;\n\tmul.wide.u32 %d2, %r2, 4;\n\tadd.s64 %d2, %d2, %c;\n"
               "\tld.global.f32 %f2, [%d2];\n\tadd.f32 %f0, %f0, %f1;\n\tadd.f32 %f0, %f0, %f2;\n"
               "\tadd.u32 %i, %i, 2;\n\tsetp.lt.u32 %p2, %i, %n;\n\t@%p2 bra LOOP;\n\tst.global.f32 [%c], %f0;\n",
               "ld.global.v4.f32*1 setp.le.u32*2 4294967290;*2");
    /* Four elements, of which each round begins two later than the last: every other vector would not be aligned. */
    check_joins("\tmov.u32 %i, 0;\n\tmov.f32 %f0, 0f00000000;\nLOOP:\n\tmul.wide.s32 %d1, %i, 4;\n"
               "\tadd.s64 %d1, %d1, %c;\n" "\tld.global.f32 %f1, [%d1];\n\tld.global.f32 %f2, [%d1+4];\n"
               "\tld.global.f32 %f3, [%d1+8];\n\tld.global.f32 %f4, [%d1+12];\n\tadd.f32 %f0, %f0, %f1;\n"
               "\tadd.f32 %f0, %f0, %f2;\n\tadd.f32 %f0, %f0, %f3;\n\tadd.f32 %f0, %f0, %f4;\n"
               "\tadd.s32 %i, %i, 2;\n\tsetp.lt.s32 %p2, %i, %n;\n\t@%p2 bra LOOP;\n\tst.global.f32 [%c], %f0;\n",
               "v4*0 ld.global.v2.f32*2");
    /* As many rounds as a vector has elements, or fewer. */
    check_rows(LOOP(SUM, 4, "\tsetp.lt.s32 %p2, %i, 3;\n"), "v4*0 v2*0 %jam*0");
    check_rows(LOOP(SUM, 4, "\tsetp.lt.s32 %p2, %i, 8;\n"), "ld.global.v4.f32*1 %jam*0");
}

static void test_rows_refused(void **state)
{
    (void)state;
#define WITH_SUM(more) LOOP(SUM more, 4, TO_N)
    check_rows(WITH_SUM("\tbar.sync 0;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tmembar.cta;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tred.release.gpu.global.add.u32 [%c], 1;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tred.global.add.u32 [%a+4], 1;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tld.volatile.global.u32 %r1, [%c];\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tsetp.gt.f32 %p3, %f1, 0f40000000;\n\t@%p3 bra DONE;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tsetp.gt.f32 %p3, %f1, 0f40000000;\n\t@%p3 exit;\n"), "v4*0 %jam*0");
    /* Whether another round follows depends on what is loaded. */
    check_rows(LOOP(SUM, 4, "\tsetp.lt.f32 %p2, %f1, 0f40000000;\n"), "v4*0 %jam*0");
    /* Updates of a word that loads may be of: compared. */
    check_rows(WITH_SUM("\tred.global.add.u32 [%c], 1;\n"), "ld.global.v4.f32*1 red.global.add.u32*10");
    /* A store that what is loaded ahead may be in: compared; one that is sure to be: refused. */
    check_rows(WITH_SUM("\tst.global.f32 [%b], %f0;\n"), "ld.global.v4.f32*1 st.global.v4.f32*1 setp.gt.u64*2");
    check_rows(WITH_SUM("\tst.global.f32 [%a+4], %f0;\n"), "v4*0 %jam*0");
    check_rows(WITH_SUM("\tst.global.f32 [%a], %f0;\n"), "ld.global.v4.f32*1 st.global.v4.f32*1");
    /* Loads of up to three rounds later, at %a, move before a store at %b: %a - %b must not be within [-15, -1]. */
    Buf text = run(WITH_SUM("\tst.global.f32 [%b], %f0;\n"), true);
    assert_int_equal(count_of(&text, ", -15;"), 2);
    assert_int_equal(count_of(&text, ", 14;"), 2);
    buf_free(&text);
    check_rows(LOOP("\tld.global.f32 %f1, [%a+8];\n\tadd.f32 %f0, %f0, %f1;\n\tst.global.f32 [%b], %f0;\n", 4, TO_N),
               "-23;*2");
#undef WITH_SUM
}

/* The stores of a body, in order. */
static unsigned stores_of(const Body *body, Inst **stores, unsigned most)
{
    unsigned count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (inst->effects & EFFECT_WRITE && count < most)
                stores[count++] = inst;
    return count;
}

/* How many vectors of two are made of stores to d1, d2 = %b and d1 + 4, where the second is a clone of the first for
 * another replica if so, or, if 'is_built', an instruction of its own. */
static unsigned pairs_of(uint32_t replica, bool is_built)
{
    Module *module;
    Inst *stores[3];
    Buf text = {0};
    Body *body = body_clone(body_of(&module, "\tmov.u64 %d1, numbers;\n\tadd.s64 %d2, %d1, 4;\n"
                                             "\tmov.f32 %f1, 0f3F800000;\n\tst.global.f32 [%d1], %f1;\n"
                                             "\tst.global.f32 [%b], %f1;\n\tst.global.f32 [%d2], %f1;\n"));
    assert_int_equal(stores_of(body, stores, 3), 3);
    for (unsigned i = 1; i < 3; i++)
        stores[i]->operands = i == 1 && is_built ? stores[i]->operands : stores[0]->operands;
    stores[1]->replica = replica;
    one_pass(&body, PASS_VECTORIZE);
    body_dump(body, &text);
    const unsigned made = count_of(&text, "st.global.v2.f32");
    buf_free(&text);
    body_free(body);
    release(module);
    return made;
}

/* A store that may be to the same place is passed if it is another thread's, as a clone for another replica is. */
static void test_replicas(void **state)
{
    (void)state;
    assert_int_equal(pairs_of(1, false), 1);
    assert_int_equal(pairs_of(0, false), 0);
    assert_int_equal(pairs_of(1, true), 0);
}

#define PAIR_AT(first, second) "\tst.global.f32 [%c+" #first "], %f1;\n\tst.global.f32 [%c+" #second "], %f1;\n"

/* Checks the vectors of stores where two pairs, for which a test pays, come first, or a branch around them. */
static void check_tested(bool around, const char *code, unsigned pairs, unsigned fours)
{
    Module *module;
    Buf text = {0}, all = {0};
    buf_printf(&all, "\tmov.f32 %%f1, 0f3F800000;\n\tsetp.eq.u32 %%p1, %%n, 7;\n%s%s%s%sDONE:\n",
               around ? "\t@%p1 bra AFTER;\n" : "", PAIR_AT(0, 4) PAIR_AT(16, 20),
               around ? "AFTER:\n" : "\t@%p1 bra DONE;\n", code);
    Body *body = body_clone(body_of(&module, buf_text(&all)));
    one_pass(&body, PASS_VECTORIZE);
    body_dump(body, &text);
    assert_int_equal(count_of(&text, "setp.eq.u64"), 1);
    assert_int_equal(count_of(&text, "st.global.v2.f32"), pairs);
    assert_int_equal(count_of(&text, "st.global.v4.f32"), fours);
    buf_free(&text);
    buf_free(&all);
    body_free(body);
    release(module);
}

/* A test also shows what later vectors need, unless they are larger or control comes there without it. */
static void test_tested_before(void **state)
{
    (void)state;
    check_tested(false, "", 2, 0);
    check_tested(false, PAIR_AT(32, 36), 3, 0);
    check_tested(false, PAIR_AT(32, 36) PAIR_AT(40, 44), 4, 0);
    check_tested(true, PAIR_AT(32, 36), 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs), cmocka_unit_test(test_elements),     cmocka_unit_test(test_distances),
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_rows_refused), cmocka_unit_test(test_distance_bounds),
        cmocka_unit_test(test_replicas), cmocka_unit_test(test_tested_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
