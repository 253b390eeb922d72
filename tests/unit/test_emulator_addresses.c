/* Addresses in 32-bit registers: the sum with the offset wraps at 32 bits in every space that has a window. */
#include "emulated.h"

#define GLOBALS                                                                                                        \
    ".shared .align 16 .b8 box[1024]; .shared .align 8 .b64 bar; .const .align 4 .b32 table[2] = {70, 80};\n"          \
    ".global .align 4 .b32 source[32] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,\n"  \
    "21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};\n"

/* %r2: the thread's word of the box, less 4096, which is below 0. */
#define BELOW "mov.u32 %r2, box; mad.lo.u32 %r2, %r1, 4, %r2; sub.u32 %r2, %r2, 4096;\n"

/* Thread i must write first + step * i to its word, with the memory watched and without. */
static void expect_row(const char *body, uint32_t first, uint32_t step)
{
    uint32_t expected[32];
    for (unsigned i = 0; i < 32; i++)
        expected[i] = first + step * i;
    for (unsigned unwatched = 0; unwatched < 2; unwatched++) {
        Emulated kernel = {.globals = GLOBALS, .block = 32, .unwatched = unwatched};
        expect_words(&kernel, body, expected, 32);
    }
}

static void loads_and_stores_wrap(void **state)
{
    (void)state;
    expect_row(BELOW "st.shared.u32 [%r2+4096], %r1; ld.shared.u32 %r3, [%r2+4096]; st.global.u32 [%rd2], %r3;", 0, 1);
    /* One instruction writes through a wrapped address, and the other reads through the plain one. */
    expect_row(BELOW "st.shared.u32 [%r2+4096], %r1; add.u32 %r4, %r2, 4096; ld.shared.u32 %r3, [%r4];\n"
                     "st.global.u32 [%rd2], %r3;",
               0, 1);
    expect_row(BELOW "add.u32 %r4, %r2, 8192; st.shared.u32 [%r4+-4096], %r1; ld.shared.u32 %r3, [%r2+4096];\n"
                     "st.global.u32 [%rd2], %r3;",
               0, 1);
    expect_row(BELOW "cvt.u8.u32 %r3, %r1; st.shared.u8 [%r2+4097], %r3; ld.shared.u8 %r4, [%r2+4097];\n"
                     "st.global.u32 [%rd2], %r4;",
               0, 1);
    expect_row("mov.u32 %r2, box; mad.lo.u32 %r2, %r1, 8, %r2; sub.u32 %r2, %r2, 4096; cvt.u64.u32 %rd3, %r1;\n"
               "st.shared.u64 [%r2+4096], %rd3; ld.shared.u64 %rd4, [%r2+4096]; st.global.u32 [%rd2], %rd4;",
               0, 1);
    expect_row("mov.u32 %r2, box; mad.lo.u32 %r2, %r1, 16, %r2; sub.u32 %r2, %r2, 4096; add.u32 %r3, %r1, 5;\n"
               "st.shared.v4.u32 [%r2+4096], {%r1, %r1, %r3, %r1};\n"
               "ld.shared.v2.u32 {%r4, %r5}, [%r2+4104]; st.global.u32 [%rd2], %r4;",
               5, 1);
    /* A divergent load; the other lanes keep what they have. */
    expect_row(BELOW "st.shared.u32 [%r2+4096], %r1; mov.u32 %r3, %r1; setp.lt.u32 %p1, %r1, 7;\n"
                     "@%p1 ld.shared.u32 %r3, [%r2+4096]; st.global.u32 [%rd2], %r3;",
               0, 1);
}

static void windows_wrap(void **state)
{
    (void)state;
    expect_row(".local .align 4 .b32 mine[4]; mov.u32 %r2, mine; sub.u32 %r2, %r2, 4096;\n"
               "st.local.u32 [%r2+4104], %r1; ld.local.u32 %r3, [%r2+4104]; st.global.u32 [%rd2], %r3;",
               0, 1);
    expect_row("mov.u32 %r2, table; sub.u32 %r2, %r2, 4096; ld.const.u32 %r3, [%r2+4100];\n"
               "st.global.u32 [%rd2], %r3;",
               80, 0);
    expect_row("mov.u32 %r2, out; sub.u32 %r2, %r2, 4096; ld.param.u64 %rd3, [%r2+4096]; sub.u64 %rd4, %rd3, %rd1;\n"
               "cvt.u32.u64 %r3, %rd4; st.global.u32 [%rd2], %r3;",
               0, 0);
}

static void other_accesses_wrap(void **state)
{
    (void)state;
    expect_row(BELOW "st.shared.u32 [%r2+4096], %r1; atom.shared.add.u32 %r3, [%r2+4096], 3;\n"
                     "red.shared.add.u32 [%r2+4096], 4; ld.shared.u32 %r4, [%r2+4096]; add.u32 %r4, %r4, %r3;\n"
                     "st.global.u32 [%rd2], %r4;",
               7, 2);
    expect_row(BELOW "mov.u64 %rd3, source; mad.wide.u32 %rd3, %r1, 4, %rd3; cp.async.ca.shared.global [%r2+4096], "
                     "[%rd3], 4;\ncp.async.wait_all; ld.shared.u32 %r3, [%r2+4096]; st.global.u32 [%rd2], %r3;",
               0, 1);
    expect_row(BELOW "st.shared.u32 [%r2+4096], %r1; bar.warp.sync -1; and.b32 %r3, %r1, 7; mov.u32 %r4, box;\n"
                     "mad.lo.u32 %r4, %r3, 16, %r4; sub.u32 %r4, %r4, 4096;\n"
                     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4+4096]; st.global.u32 [%rd2], %r5;",
               0, 1);
    expect_row("mov.u32 %r2, bar; sub.u32 %r2, %r2, 4096; setp.eq.u32 %p1, %r1, 0;\n"
               "@%p1 mbarrier.init.shared.b64 [%r2+4096], 32; bar.sync 0;\n"
               "mbarrier.arrive.shared.b64 %rd3, [%r2+4096]; bar.sync 0;\n"
               "mbarrier.test_wait.shared.b64 %p2, [%r2+4096], %rd3; selp.u32 %r3, 1, 2, %p2;\n"
               "st.global.u32 [%rd2], %r3;",
               1, 0);
}

/* A sum that wraps to an address outside is still out of bounds. */
static void bounds_hold(void **state)
{
    (void)state;
    for (unsigned unwatched = 0; unwatched < 2; unwatched++) {
        Emulated kernel = {.globals = GLOBALS, .block = 32, .unwatched = unwatched};
        expect_fault(&kernel, BELOW "ld.shared.u32 %r3, [%r2+64];", FAULT_BOUNDS, "shared memory");
        expect_fault(&kernel, "mov.u32 %r2, 0xffffffc4; st.shared.u32 [%r2+56], %r1;", FAULT_BOUNDS, "shared memory");
        expect_fault(&kernel, BELOW "ld.shared.u32 %r3, [%r2+8192];", FAULT_BOUNDS, "shared memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_stores_wrap),
        cmocka_unit_test(windows_wrap),
        cmocka_unit_test(other_accesses_wrap),
        cmocka_unit_test(bounds_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
