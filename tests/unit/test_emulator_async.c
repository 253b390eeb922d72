/* Asynchronous copies, stores and reductions, and the mbarrier objects that they signal. */
#include "emulated.h"

#define SHARED                                                                                                         \
    ".shared .align 16 .b8 sm[256]; .shared .align 8 .b64 bar; .shared .align 16 .b32 box[64];\n"                      \
    ".global .align 16 .u32 src[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"                                                      \
    ".global .align 16 .u32 dst[8] = {10, 20, 30, 40, 50, 60, 70, 80};\n"
#define WAIT "wait: mbarrier.try_wait.parity.shared.b64 %p7, [bar], 0; @!%p7 bra wait;\n"

static const Emulated plain = {.globals = SHARED};
static const Emulated newest = {.target = "sm_100", .globals = SHARED};

static void small_copies_fill_with_zeros(void **state)
{
    (void)state;
    expect_words(&plain,
                 "mov.u32 %r2, 8; setp.ne.u32 %p1, %r2, 0; mov.u64 %rd3, src;\n"
                 "cp.async.cg.shared.global [sm], [%rd3], 16, %r2; cp.async.ca.shared.global [sm+16], [%rd3+16], 8;\n"
                 "cp.async.ca.shared.global [sm+24], [%rd3], 4, %p1; cp.async.commit_group; cp.async.wait_all;\n"
                 "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [sm]; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\n"
                 "ld.shared.v2.u32 {%r3, %r4}, [sm+16]; ld.shared.u32 %r5, [sm+24];\n"
                 "st.global.v4.u32 [%rd1+16], {%r3, %r4, %r5, %r5};",
                 (uint32_t[]){1, 2, 0, 0, 5, 6, 0, 0}, 8);
    expect_words(&plain,
                 "mbarrier.init.shared.b64 [bar], 1; mov.u64 %rd3, src; cp.async.ca.shared.global [sm], [%rd3], 4;\n"
                 "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n" WAIT
                 "ld.shared.u32 %r2, [sm]; st.global.u32 [%rd1], %r2;",
                 (uint32_t[]){1}, 1);
}

static void bulk_copies_mask_and_reduce(void **state)
{
    (void)state;
    expect_words(&newest,
                 "st.shared.v4.u32 [box], {0x11111111, 0x22222222, 0x33333333, 0x44444444}; mov.b16 %h1, 0x8421;\n"
                 "fence.proxy.async; mov.u64 %rd3, dst;\n"
                 "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd3], [box], 16, %h1;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
                 "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3]; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};",
                 (uint32_t[]){0x00000011, 0x00002214, 0x0033001e, 0x44000028}, 4);
    expect_words(&plain,
                 "st.shared.v4.u32 [box], {1, 2, 3, 4}; st.shared.v4.u32 [box+16], {5, 6, 7, 8}; mov.u64 %rd3, dst;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3], [box], 16;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%rd3+16], [box+16], 16;\n"
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
                 "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3]; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\n"
                 "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3+16]; st.global.v4.u32 [%rd1+16], {%r3, %r4, %r5, %r6};",
                 (uint32_t[]){11, 22, 33, 44, 50, 60, 70, 80}, 8);
    expect_words(
        &plain,
        "mov.b32 %f1, 0f3FC00000; mov.b32 %f2, 0f40000000; st.shared.f32 [box], %f1; st.shared.f32 [box+4], "
        "%f2; mov.b32 %r2, 0x3c003c00;\n"
        "st.shared.v2.u32 [box+8], {0, 0}; st.shared.v4.u32 [box+16], {%r2, %r2, %r2, %r2}; mov.u64 %rd3, dst;\n"
        "st.global.v4.f32 [%rd3], {%f1, %f1, %f1, %f1}; st.global.v4.u32 [%rd3+16], {%r2, 0, %r2, 0};\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd3], [box], 16;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd3+16], [box+16], 16;\n"
        "ld.global.v2.u32 {%r3, %r4}, [%rd3]; ld.global.v2.u32 {%r5, %r6}, [%rd3+16];\n"
        "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};",
        (uint32_t[]){0x40400000, 0x40600000, 0x40004000, 0x3c003c00}, 4);
    expect_fault(&plain,
                 "mov.u64 %rd3, dst; mov.u32 %r2, 8; cp.async.bulk.global.shared::cta.bulk_group [%rd3], [sm], %r2;",
                 FAULT_ALIGNMENT, "not a multiple of 16");
}

static void copies_reach_every_block_of_a_mask(void **state)
{
    (void)state;
    Emulated kernel = {.globals = SHARED, .directives = " .reqnctapercluster 4", .grid = 4};
    /* Block 1 sends to blocks 0, 1 and 3; block 2 waits for nothing. */
    expect_words(
        &kernel,
        "mov.u32 %r2, %cluster_ctarank; mbarrier.init.shared.b64 [bar], 1; mul.wide.u32 %rd4, %r2, 4;\n"
        "add.u64 %rd4, %rd4, %rd1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32; st.shared.u32 [sm+4], "
        "77;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; setp.ne.u32 %p1, %r2, 1; @%p1 bra receive;\n"
        "mov.u64 %rd3, src; mov.b16 %h1, 11;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [sm], [%rd3], 32, "
        "[bar], %h1;\n"
        "receive: setp.eq.u32 %p2, %r2, 2; @%p2 bra done;\n" WAIT
        "done: ld.shared.u32 %r3, [sm+4]; st.global.u32 [%rd4], %r3; barrier.cluster.arrive; "
        "barrier.cluster.wait;",
        (uint32_t[]){2, 2, 77, 2}, 4);
}

static void stores_and_reductions_signal(void **state)
{
    (void)state;
    expect_words(&plain,
                 "mbarrier.init.shared.b64 [bar], 1; st.shared.u32 [box], 5; st.shared.u32 [box+4], 0xf0;\n"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 24; mov.u32 %r2, box; mov.u32 %r3, bar;\n"
                 "mapa.shared::cluster.u32 %r2, %r2, 0; mapa.shared::cluster.u32 %r3, %r3, 0;\n"
                 "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r2], 37, [%r3];\n"
                 "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.and.b32 [%r2+4], 0x30, [%r3];\n"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r2+16], {1, 2, 3, 4}, [%r3];\n" WAIT
                 "ld.shared.v2.u32 {%r4, %r5}, [box]; ld.shared.v2.u32 {%r6, %r7}, [box+24];\n"
                 "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};",
                 (uint32_t[]){42, 0x30, 3, 4}, 4);
    expect_words(&newest,
                 "mov.u64 %rd3, dst; st.async.release.gpu.global.b32 [%rd3], 9; red.async.release.gpu.global.add.u32 "
                 "[%rd3+4], 3;\n"
                 "st.shared.v4.u32 [box], {1, 2, 3, 4}; mov.u64 %rd4, 8; st.bulk.shared::cta [box], %rd4, 0;\n"
                 "ld.global.v2.u32 {%r2, %r3}, [%rd3]; ld.shared.u32 %r4, [box+4]; ld.shared.u32 %r5, [box+8];\n"
                 "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};",
                 (uint32_t[]){9, 23, 0, 3}, 4);
}

static void phases_of_an_mbarrier(void **state)
{
    (void)state;
    /* Two arrivals in each phase: the previous state, pending counts, parities, dropping out. */
    expect_words(
        &plain,
        "mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 %rd3, [bar];\n"
        "mbarrier.pending_count.b64 %r2, %rd3; mbarrier.test_wait.shared.b64 %p1, [bar], %rd3;\n"
        "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1;\n"
        "mov.u32 %r9, 0; mbarrier.arrive.noComplete.shared.b64 %rd4, [bar], %r9; \n"
        "mbarrier.arrive_drop.shared.b64 %rd4, [bar]; mbarrier.test_wait.shared.b64 %p4, [bar], %rd3;\n"
        "mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0; mbarrier.arrive.shared.b64 %rd5, [bar];\n"
        "mbarrier.try_wait.parity.shared.b64 %p6, [bar], 1; selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2;\n"
        "selp.u32 %r5, 4, 0, %p3; selp.u32 %r6, 8, 0, %p4; selp.u32 %r7, 16, 0, %p5; selp.u32 %r8, 32, 0, "
        "%p6;\n"
        "or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5; or.b32 %r3, %r3, %r6; or.b32 %r3, %r3, %r7; or.b32 %r3, "
        "%r3, %r8;\n"
        "mbarrier.pending_count.b64 %r4, %rd5; mbarrier.inval.shared.b64 [bar];\n"
        "st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r4};",
        (uint32_t[]){2, 4 | 8 | 16 | 32, 1}, 3);
    /* expect_tx keeps the phase open until complete_tx. */
    expect_words(&plain,
                 "mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 100;\n"
                 "mbarrier.arrive.shared.b64 %rd3, [bar]; mbarrier.test_wait.shared.b64 %p1, [bar], %rd3;\n"
                 "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 100; mbarrier.test_wait.shared.b64 %p2, [bar], "
                 "%rd3;\n"
                 "selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2; st.global.v2.u32 [%rd1], {%r2, %r3};",
                 (uint32_t[]){0, 1}, 2);
    expect_fault(&plain, "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 _, [bar], 2;", FAULT_BARRIER,
                 "2 arrivals at an mbarrier that is waiting for 1");
    expect_fault(&plain, "mbarrier.init.shared.b64 [bar], 1;\n" WAIT, FAULT_HANG, "in this loop");
}

/* A thread may touch the result of its copy when it has waited for the group, others once a barrier has come too. */
static void copies_are_waited_for(void **state)
{
    static const char copy[] = "cp.async.ca.shared.global [%r4], [%rd2], 4; cp.async.commit_group;\n"
                               "cp.async.ca.shared.global [%r4+512], [%rd2], 4; cp.async.commit_group;\n";
    static const struct {
        const char *rest, *fault;
    } cases[] = {
        {"cp.async.wait_group 1; ld.shared.u32 %r5, [%r4];", NULL},
        {"cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %r5, [%r6];", NULL},
        {"cp.async.wait_group 0; ld.shared.u32 %r5, [%r4+512];", NULL},
        {"cp.async.wait_all; bar.sync 0; ld.shared.u32 %r5, [%r6+512];", NULL},
        {"ld.shared.u32 %r5, [%r4];", "reads byte 0 of shared memory before the asynchronous copy"},
        {"cp.async.wait_group 2; ld.shared.u32 %r5, [%r4];", "of shared memory before"},
        {"cp.async.wait_group 1; ld.shared.u32 %r5, [%r4+512];", "reads byte 512 of shared memory before"},
        {"cp.async.wait_group 1; st.shared.u32 [%r4+512], 1;", "writes byte 512 of shared memory before"},
        {"bar.sync 0; ld.shared.u32 %r5, [%r6];", "of shared memory before"},
        /* The barrier comes too early: another thread may have waited, or not. */
        {"bar.sync 0; cp.async.wait_group 0; ld.shared.u32 %r5, [%r6];", "of shared memory"},
        {"cp.async.wait_group 0; ld.shared.u32 %r5, [%r6];", "of shared memory"},
        {"cp.async.wait_group 0; bar.sync 0; cp.async.ca.shared.global [%r4], [%rd2], 4;\n"
         "ld.shared.u32 %r5, [%r6];", "of shared memory"},
        {"setp.lt.u32 %p1, %r1, 7; @%p1 bra end; cp.async.wait_group 0; end: bar.warp.sync -1; bar.sync 0;\n"
         "ld.shared.u32 %r5, [%r6];", "of shared memory before"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Emulated kernel = {.globals = ".shared .align 16 .b8 box[2048];\n", .block = 64};
        Arena *arena = arena_new();
        Buf body = {0};
        buf_printf(&body, "mov.u32 %%r3, box; mad.lo.u32 %%r4, %%r1, 4, %%r3; xor.b32 %%r6, %%r1, 32;\n"
                          "mad.lo.u32 %%r6, %%r6, 4, %%r3;\n%s%s", copy, cases[i].rest);
        if (cases[i].fault)
            expect_fault(&kernel, buf_text(&body), FAULT_RACE, cases[i].fault);
        else
            emulated_words(arena, &kernel, buf_text(&body));
        buf_free(&body);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_copies_fill_with_zeros),       cmocka_unit_test(bulk_copies_mask_and_reduce),
        cmocka_unit_test(copies_reach_every_block_of_a_mask), cmocka_unit_test(stores_and_reductions_signal),
        cmocka_unit_test(phases_of_an_mbarrier),
        cmocka_unit_test(copies_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
