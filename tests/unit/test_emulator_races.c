/* The race check: accesses of each size and shape, in which one lane of 32 is at fault, and long memory. */
#include "emulated.h"

#include <stdlib.h>

#define SHARED ".shared .align 16 .b8 box[2048];\n"

/* Warp 0 stores, then warp 1 loads: each lane from a place of its own, but lane 'lane' from that of lane 'lane' of warp
 * 0. With lane 32 there is no race. */
static void expect_race(const char *store, const char *load, unsigned bytes, unsigned lane, const char *swap)
{
    Arena *arena = arena_new();
    Buf body = {0}, fault = {0};
    Emulated kernel = {.globals = SHARED, .block = 64};
    buf_printf(&body,
               "mov.u32 %%r2, %%laneid; %s mov.u32 %%r9, box; setp.ge.u32 %%p1, %%r1, 32; setp.eq.u32 %%p2, %%r2, %u;\n"
               "@%%p2 bra place; @%%p1 add.u32 %%r2, %%r2, 32;\nplace: mad.lo.u32 %%r3, %%r2, %u, %%r9;\n"
               "mov.u16 %%h1, 1; mov.u32 %%r4, 1; mov.u64 %%rd5, 1; @%%p1 bra load;\n%s; bra end;\nload: %s;\nend:",
               swap, lane, bytes, store, load);
    EmulatorResult *result = emulate(arena, &kernel, buf_text(&body));
    assert_int_equal(result->fault.kind, lane < 32 ? FAULT_RACE : FAULT_NONE);
    if (lane < 32) {
        buf_printf(&fault, "reads byte %u of shared memory, which thread %u,0,0 of block 0,0,0 wrote", lane * bytes,
                   *swap ? 31 - lane : lane);
        assert_non_null(strstr(result->fault.message, buf_text(&fault)));
        assert_int_equal(result->fault.thread[0], 32 + (*swap ? 31 - lane : lane));
    }
    buf_free(&body);
    buf_free(&fault);
    arena_free(arena);
}

static void one_lane_of_a_warp_races(void **state)
{
    static const struct {
        const char *store, *load;
        unsigned bytes;
    } sizes[] = {
        {"st.shared.u8 [%r3], %h1", "ld.shared.u8 %h2, [%r3]", 1},
        {"st.shared.u16 [%r3], %h1", "ld.shared.u16 %h2, [%r3]", 2},
        {"st.shared.u32 [%r3], %r4", "ld.shared.u32 %r5, [%r3]", 4},
        {"st.shared.u64 [%r3], %rd5", "ld.shared.u64 %rd6, [%r3]", 8},
        {"st.shared.v2.u32 [%r3], {%r4, %r4}", "ld.shared.v2.u32 {%r5, %r6}, [%r3]", 8},
        {"st.shared.v4.u32 [%r3], {%r4, %r4, %r4, %r4}", "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3]", 16},
    };
    static const unsigned lanes[] = {0, 1, 7, 8, 30, 31, 32};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (size_t k = 0; k < COUNT_OF(lanes); k++) {
            expect_race(sizes[i].store, sizes[i].load, sizes[i].bytes, lanes[k], "");
            expect_race(sizes[i].store, sizes[i].load, sizes[i].bytes, lanes[k], "xor.b32 %r2, %r2, 31;");
        }
}

/* More epochs than the table of stamps holds at first: it drops those that no cell remembers. */
static void old_accesses_are_remembered(void **state)
{
    Emulated kernel = {.block = 64};
    Arena *arena = arena_new();
    (void)state;
    /* Warp 1 writes a word at its start; warp 0 passes 70,000 barriers of its own, and then reads it. */
    expect_fault(&kernel,
                 "setp.ge.u32 %p1, %r1, 32; @%p1 st.global.u32 [%rd2], %r1; @%p1 bra end; mov.u32 %r2, 0;\n"
                 "loop: bar.sync 1, 32; st.global.u32 [%rd2], %r2; add.u32 %r2, %r2, 1;\n"
                 "setp.lt.u32 %p2, %r2, 70000; @%p2 bra loop; ld.global.u32 %r3, [%rd2+128];\nend:",
                 FAULT_RACE, "reads byte 128 of out, which thread 32,0,0 of block 0,0,0 wrote");
    /* The same with barriers of the whole block. */
    emulated_words(arena, &kernel,
                   "st.global.u32 [%rd2], %r1; mov.u32 %r2, 0; xor.b32 %r4, %r1, 32; mul.wide.u32 %rd3, %r4, 4;\n"
                   "add.u64 %rd3, %rd1, %rd3;\nloop: bar.sync 0; st.global.u32 [%rd2+1024], %r2;\n"
                   "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 40000; @%p2 bra loop; ld.global.u32 %r3, [%rd3];");
    arena_free(arena);
}

/* Readers of a word that another one has read since. */
static void earlier_readers_are_remembered(void **state)
{
    Emulated kernel = {.globals = SHARED, .block = 96};
    (void)state;
    /* All lanes read one word, and the last of them writes it. */
    expect_fault(&kernel,
                 "ld.shared.u32 %r3, [box]; setp.eq.u32 %p1, %r1, 31; @%p1 st.shared.u32 [box], 7; bar.sync 0;",
                 FAULT_RACE, "writes byte 0 of shared memory, which thread 30,0,0 of block 0,0,0 read");
    /* Warps 0 and 1 read 16 words each; warp 2 reads all of them, and then writes those of warp 0. */
    expect_fault(&kernel,
                 "mov.u32 %r9, box; mov.u32 %r2, %laneid; shl.b32 %r3, %r2, 2; add.u32 %r9, %r9, %r3;\n"
                 "setp.ge.u32 %p1, %r1, 64; @%p1 bra all; and.b32 %r4, %r1, 48; setp.eq.u32 %p2, %r4, 0;\n"
                 "setp.eq.u32 %p3, %r4, 48; or.pred %p2, %p2, %p3; @%p2 ld.shared.u32 %r5, [%r9]; bra end;\n"
                 "all: ld.shared.u32 %r5, [%r9]; st.shared.u32 [%r9], 7;\nend: bar.sync 0;",
                 FAULT_RACE, "writes byte 0 of shared memory, which thread 0,0,0 of block 0,0,0 read");
}

/* Reads of a region that no block has written yet are not recorded; a block that writes it later must see them. */
static void late_writes_see_earlier_reads(void **state)
{
    Arena *arena = arena_new();
    (void)state;
    for (unsigned jobs = 1; jobs <= 2; jobs++) {
        Emulated kernel = {.grid = 64, .block = 32, .jobs = jobs};
        expect_fault(&kernel,
                     "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 63; @!%p1 ld.global.u32 %r3, [%rd2+128];\n"
                     "setp.eq.and.u32 %p2, %r1, 5, %p1; @%p2 st.global.u32 [%rd2+144], 7;",
                     FAULT_RACE, "writes byte 164 of out, which thread 9,0,0 of block 62,0,0 read");
        expect_fault(&kernel,
                     "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd2], 7; @%p1 bra end;\n"
                     "ld.global.u32 %r3, [%rd2];\nend:",
                     FAULT_RACE, "reads byte 0 of out, which thread 0,0,0 of block 0,0,0 wrote");
        const uint32_t *words = emulated_words(
            arena, &kernel,
            "ld.global.u32 %r3, [%rd2+128]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 63;\n"
            "add.u32 %r3, %r3, %r1; @%p1 st.global.u32 [%rd2], %r3;");
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(words[i], i);
    }
    arena_free(arena);
}

/* A kernel that prints does so once, though its last block writes what the others have read. */
static void late_writes_print_once(void **state)
{
    char *text = NULL;
    size_t length;
    Emulated kernel = {
        .grid = 8,
        .globals = ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
                   ".global .align 1 .b8 line[3] = {104, 10, 0};\n",
    };
    Arena *arena = arena_new();
    (void)state;
    kernel.output = open_memstream(&text, &length);
    emulated_words(arena, &kernel,
                   "ld.global.u32 %r3, [%rd2+128]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 7;\n"
                   "{ .param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %rd5, line; cvta.global.u64 %rd5, %rd5;\n"
                   "st.param.b64 [a], %rd5; st.param.b64 [b], 0; call (r), vprintf, (a, b); }\n"
                   "@%p1 st.global.u32 [%rd2], 7;");
    fclose(kernel.output);
    assert_string_equal(text, "h\nh\nh\nh\nh\nh\nh\nh\n");
    free(text);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lane_of_a_warp_races),
        cmocka_unit_test(old_accesses_are_remembered),
        cmocka_unit_test(earlier_readers_are_remembered),
        cmocka_unit_test(late_writes_see_earlier_reads),
        cmocka_unit_test(late_writes_print_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
