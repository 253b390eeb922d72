/* Clusters: shape and special registers, the cluster's barrier, other blocks' shared memory, and refusals. */
#include "emulated.h"

static void blocks_know_their_place(void **state)
{
    (void)state;
    /* Rank, cluster, clusters, blocks of the cluster, for each of six blocks. */
    static const uint32_t expected[] = {0, 0, 3, 2, 1, 0, 3, 2, 0, 1, 3, 2, 1, 1, 3, 2, 0, 2, 3, 2, 1, 2, 3, 2};
    Emulated kernel = {.directives = " .reqnctapercluster 2", .grid = 6};
    expect_words(&kernel,
                 "mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %clusterid.x; mov.u32 %r4, %nclusterid.x;\n"
                 "mov.u32 %r5, %cluster_nctarank; mov.u32 %r6, %ctaid.x; mul.wide.u32 %rd3, %r6, 16;\n"
                 "add.u64 %rd3, %rd3, %rd1; mov.pred %p1, %is_explicit_cluster; @!%p1 mov.u32 %r5, 99;\n"
                 "mov.u32 %r7, %cluster_ctaid.x; setp.ne.u32 %p2, %r7, %r2; @%p2 mov.u32 %r5, 98;\n"
                 "st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};",
                 expected, sizeof expected / sizeof *expected);
    Emulated grown = {.directives = " .reqntid 1 .reqnctapercluster 2 .blocksareclusters", .grid = 3};
    expect_words(&grown, "mov.u32 %r2, %nctaid.x; mov.u32 %r3, %nclusterid.x; st.global.v2.u32 [%rd1], {%r2, %r3};",
                 (uint32_t[]){6, 3}, 2);
    Emulated alone = {0};
    expect_words(&alone,
                 "mov.pred %p1, %is_explicit_cluster; selp.u32 %r2, 1, 0, %p1; mov.u32 %r3, %cluster_nctarank;\n"
                 "barrier.cluster.arrive; barrier.cluster.wait; st.global.v2.u32 [%rd1], {%r2, %r3};",
                 (uint32_t[]){0, 1}, 2);
    Emulated uneven = {.directives = " .reqnctapercluster 2", .grid = 3};
    expect_fault(&uneven, "", FAULT_LAUNCH, "not a multiple of the cluster's 2");
    Emulated large = {.directives = " .reqnctapercluster 32", .grid = 32};
    expect_fault(&large, "", FAULT_LAUNCH, "1 to 16 blocks");
}

#define SHARED ".shared .align 8 .b64 bar; .shared .align 16 .b32 box[64];\n"
#define RANKS "mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, box;\n"

static void shared_memory_is_distributed(void **state)
{
    (void)state;
    /* Each thread writes to the next block's box; the barrier makes the write visible. */
    Emulated kernel = {.globals = SHARED, .directives = " .reqnctapercluster 4", .grid = 8, .block = 32};
    Arena *arena = arena_new();
    const uint32_t *out = emulated_words(
        arena, &kernel,
        RANKS "shl.b32 %r5, %r1, 2; add.u32 %r5, %r5, %r4; add.u32 %r6, %r2, 1; rem.u32 %r6, %r6, %r3;\n"
              "mapa.shared::cluster.u32 %r7, %r5, %r6; mov.u32 %r8, %ctaid.x; mad.lo.u32 %r9, %r8, 100, %r1;\n"
              "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
              "st.shared::cluster.u32 [%r7], %r9; barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
              "ld.shared.u32 %r10, [%r5]; mad.lo.u32 %r11, %r8, 32, %r1; mul.wide.u32 %rd3, %r11, 4;\n"
              "add.u64 %rd3, %rd3, %rd1; st.global.u32 [%rd3], %r10;");
    for (unsigned block = 0; block < 8; block++)
        for (unsigned i = 0; i < 32; i++)
            assert_int_equal(out[32 * block + i], (block / 4 * 4 + (block + 3) % 4) * 100 + i);
    arena_free(arena);
    /* Without the second barrier there is a race. */
    expect_fault(&kernel,
                 RANKS "shl.b32 %r5, %r1, 2; add.u32 %r5, %r5, %r4; add.u32 %r6, %r2, 1; rem.u32 %r6, %r6, %r3;\n"
                       "mapa.shared::cluster.u32 %r7, %r5, %r6;\n"
                       "st.shared::cluster.u32 [%r7], %r1; ld.shared.u32 %r10, [%r5];",
                 FAULT_RACE, "shared memory");
    expect_fault(&kernel, RANKS "mapa.shared::cluster.u32 %r7, %r4, 4; ld.shared::cluster.u32 %r8, [%r7];",
                 FAULT_BOUNDS, "shared memory");
}

static void addresses_tell_their_block(void **state)
{
    (void)state;
    Emulated kernel = {.globals = SHARED, .directives = " .reqnctapercluster 2", .grid = 2};
    expect_words(&kernel,
                 RANKS "setp.ne.u32 %p1, %r2, 1; @%p1 bra end; mapa.shared::cluster.u32 %r5, %r4, 0;\n"
                       "getctarank.shared::cluster.u32 %r6, %r5; getctarank.shared::cluster.u32 %r7, %r4;\n"
                       "cvt.u64.u32 %rd3, %r5; cvta.shared.u64 %rd3, %rd3; isspacep.shared::cta %p2, %rd3;\n"
                       "isspacep.shared::cluster %p3, %rd3; selp.u32 %r8, 1, 0, %p2; selp.u32 %r9, 1, 0, %p3;\n"
                       "st.global.v4.u32 [%rd1], {%r6, %r7, %r8, %r9}; mov.u64 %rd4, box; cvta.shared.u64 %rd4, %rd4;\n"
                       "mapa.u64 %rd5, %rd4, 1; isspacep.shared::cta %p2, %rd5; selp.u32 %r8, 1, 0, %p2;\n"
                       "getctarank.u64 %r9, %rd5; st.u32 [%rd5], 7; ld.shared.u32 %r10, [box];\n"
                       "st.global.v4.u32 [%rd1+16], {%r8, %r9, %r10, %r10};\nend:\n",
                 (uint32_t[]){0, 1, 0, 1, 1, 1, 7, 7}, 8);
}

static void stores_signal_other_blocks(void **state)
{
    (void)state;
    /* Block 0 waits on its mbarrier for 128 bytes that block 1 stores, and for block 1's arrival. */
    Emulated kernel = {.globals = SHARED, .directives = " .reqnctapercluster 2", .grid = 2, .block = 32};
    Arena *arena = arena_new();
    const uint32_t *out = emulated_words(
        arena, &kernel,
        RANKS "setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; @%p1 mbarrier.init.shared.b64 [bar], 2;\n"
              "barrier.cluster.arrive; barrier.cluster.wait; shl.b32 %r5, %r1, 2; add.u32 %r5, %r5, %r4;\n"
              "@%p2 bra first; mapa.shared::cluster.u32 %r6, %r5, 0; mov.u32 %r7, bar;\n"
              "mapa.shared::cluster.u32 %r7, %r7, 0; add.u32 %r8, %r1, 40;\n"
              "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r8, [%r7];\n"
              "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7]; bra end;\n"
              "first: @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
              "wait: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p3, [bar], 0; @!%p3 bra wait;\n"
              "ld.shared.u32 %r9, [%r5]; st.global.u32 [%rd2], %r9;\n"
              "end: barrier.cluster.arrive; barrier.cluster.wait;");
    for (unsigned i = 0; i < 32; i++)
        assert_int_equal(out[i], 40 + i);
    arena_free(arena);
}

static void barriers_that_cannot_complete_are_faults(void **state)
{
    (void)state;
    Emulated kernel = {.directives = " .reqnctapercluster 2", .grid = 2, .block = 64};
    /* A wait of block 0 for a block that spins on nothing it could see, and two arrivals in one phase. */
    expect_fault(&kernel,
                 "mov.u32 %r2, %cluster_ctarank; setp.ne.u32 %p1, %r2, 0; @%p1 bra other;\n"
                 "barrier.cluster.arrive; barrier.cluster.wait; bra end;\n"
                 "other: bar.sync 1, 128;\nend:\n",
                 FAULT_BARRIER, "waits forever");
    expect_fault(&kernel, "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;", FAULT_BARRIER,
                 "twice");
    /* Nothing waits for threads that have exited. */
    expect_words(&kernel,
                 "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; setp.gt.u32 %p2, %r1, 40; @%p1 ret; @%p2 ret;\n"
                 "barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd2], 1;",
                 (uint32_t[]){1, 1, 1}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_know_their_place),    cmocka_unit_test(shared_memory_is_distributed),
        cmocka_unit_test(addresses_tell_their_block), cmocka_unit_test(stores_signal_other_blocks),
        cmocka_unit_test(barriers_that_cannot_complete_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
