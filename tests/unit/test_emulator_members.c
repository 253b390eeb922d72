/* Warp-level instructions whose lanes name different members: each set of members is an operation of its own. */
#include "emulated.h"

/* Two warps.  %r2: the lane; %r3: the members of its half warp; %r4: those of its quarter, 8 lanes. */
#define MASKS                                                                                                          \
    "mov.u32 %r2, %laneid; and.b32 %r5, %r2, 16; mov.u32 %r6, 0xffff; shl.b32 %r3, %r6, %r5;\n"                        \
    "and.b32 %r5, %r2, 24; mov.u32 %r6, 0xff; shl.b32 %r4, %r6, %r5;\n"

typedef uint32_t Expected(unsigned lane);

static void expect_lanes(const char *body, Expected *expected)
{
    uint32_t words[64];
    for (unsigned i = 0; i < 64; i++)
        words[i] = expected(i % 32);
    for (unsigned unwatched = 0; unwatched < 2; unwatched++) {
        Emulated kernel = {.globals = ".shared .align 4 .b32 box[64];\n", .block = 64, .unwatched = unwatched};
        expect_words(&kernel, body, words, 64);
    }
}

static uint32_t neighbour(unsigned lane)
{
    return lane ^ 1;
}

static uint32_t half_odd(unsigned lane)
{
    return lane < 16 ? 0xaaaa : 0xaaaa0000;
}

static uint32_t quarter_sum(unsigned lane)
{
    return 8 * (lane & 24) + 28;
}

static uint32_t quarter_first(unsigned lane)
{
    return lane & 24;
}

static uint32_t quarter(unsigned lane)
{
    return UINT32_C(0xff) << (lane & 24);
}

static void groups_execute_on_their_own(void **state)
{
    (void)state;
    expect_lanes(MASKS "shfl.sync.bfly.b32 %r7, %r2, 1, 31, %r3; st.global.u32 [%rd2], %r7;", neighbour);
    expect_lanes(MASKS "shfl.sync.bfly.b32 %r7, %r2, 1, 31, %r4; st.global.u32 [%rd2], %r7;", neighbour);
    expect_lanes(MASKS "and.b32 %r7, %r2, 1; setp.ne.u32 %p1, %r7, 0; vote.sync.ballot.b32 %r7, %p1, %r3;\n"
                       "st.global.u32 [%rd2], %r7;",
                 half_odd);
    expect_lanes(MASKS "redux.sync.add.u32 %r7, %r2, %r4; st.global.u32 [%rd2], %r7;", quarter_sum);
    expect_lanes(MASKS "elect.sync %r7|%p1, %r4; st.global.u32 [%rd2], %r7;", quarter_first);
    expect_lanes(MASKS "match.any.sync.b32 %r7, %r6, %r4; st.global.u32 [%rd2], %r7;", quarter);
    /* The destination is also the register that names the members. */
    expect_lanes(MASKS "redux.sync.add.u32 %r4, %r2, %r4; st.global.u32 [%rd2], %r4;", quarter_sum);
}

/* bar.warp.sync orders the shared memory of each half, for the race check too. */
static void groups_synchronise(void **state)
{
    (void)state;
    expect_lanes(MASKS "mov.u32 %r7, box; mad.lo.u32 %r7, %r1, 4, %r7; xor.b32 %r8, %r1, 1; mov.u32 %r9, box;\n"
                       "mad.lo.u32 %r9, %r8, 4, %r9; st.shared.u32 [%r7], %r2; bar.warp.sync %r3;\n"
                       "ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd2], %r10;",
                 neighbour);
}

/* Lanes 4 to 11 and 20 come to another bar.warp.sync: all quarters but the last wait for them. */
static void groups_wait_for_other_splits(void **state)
{
    (void)state;
    expect_lanes(MASKS "mov.u32 %r7, box; mad.lo.u32 %r7, %r1, 4, %r7; xor.b32 %r8, %r1, 1; mov.u32 %r9, box;\n"
                       "mad.lo.u32 %r9, %r8, 4, %r9; st.shared.u32 [%r7], %r2;\n"
                       "sub.u32 %r10, %r2, 4; setp.lt.u32 %p1, %r10, 8; setp.eq.or.u32 %p1, %r2, 20, %p1;\n"
                       "@%p1 bra OTHER;\nbar.warp.sync %r4; bra MEET;\nOTHER: bar.warp.sync %r4;\nMEET:\n"
                       "ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd2], %r10;",
                 neighbour);
    /* Lanes that have exited are not waited for. */
    Emulated kernel = {.block = 32};
    uint32_t words[32];
    for (unsigned i = 0; i < 32; i++)
        words[i] = i % 8 == 7 ? 0 : 1;
    expect_words(&kernel,
                 MASKS "and.b32 %r7, %r2, 7; setp.eq.u32 %p1, %r7, 7; @%p1 exit; bar.warp.sync %r4;\n"
                       "mov.u32 %r8, 1; st.global.u32 [%rd2], %r8;",
                 words, 32);
}

static uint32_t itself(unsigned lane)
{
    return lane;
}

/* Some lanes wait for an operation that comes after a point at which the others wait to reconverge. */
static void lanes_go_on_before_they_reconverge(void **state)
{
    (void)state;
    /* Each half has its own bar.warp.sync; the second one's is after the point where the first one's branch ends. */
    expect_lanes(MASKS "setp.lt.u32 %p1, %r2, 16; @!%p1 bra SECOND; bar.warp.sync -1;\n"
                       "SECOND: @%p1 bra MEET; bar.warp.sync -1;\nMEET: st.global.u32 [%rd2], %r2;",
                 itself);
    /* Lanes 0 to 7 wait for lanes 8 to 15, which first wait for lanes 16 to 31, whose own operation is done. */
    expect_lanes(MASKS "and.b32 %r7, %r2, 24; setp.eq.u32 %p1, %r7, 8; @%p1 bra OTHER;\n"
                       "bar.warp.sync %r3; setp.lt.u32 %p1, %r2, 16; @%p1 bra MEET; bar.warp.sync 0xffffff00;\n"
                       "bra MEET;\nOTHER: bar.warp.sync 0xffffff00; bar.warp.sync %r3;\n"
                       "MEET: st.global.u32 [%rd2], %r2;",
                 itself);
    /* An aligned barrier remains one that all lanes must come to together. */
    Emulated kernel = {.block = 32};
    expect_fault(&kernel, MASKS "setp.lt.u32 %p1, %r2, 16; @!%p1 bra SECOND; bar.sync 1;\nSECOND: bar.sync 1;",
                 FAULT_BARRIER, "are at the barrier, but lanes 0xffff0000 are not");
}

static void faults_remain(void **state)
{
    (void)state;
    Emulated kernel = {.block = 32};
    expect_fault(&kernel, MASKS "setp.eq.u32 %p1, %r2, 20; selp.u32 %r3, 0xffff, %r3, %p1; bar.warp.sync %r3;",
                 FAULT_WARP_SYNC, "not in its own member mask 0x0000ffff");
    expect_fault(&kernel,
                 MASKS "setp.eq.u32 %p1, %r2, 20; selp.u32 %r3, -1, %r3, %p1; bar.warp.sync %r3;", FAULT_WARP_SYNC,
                 "wait for lanes");
    /* Threads that part at a branch must not name each other before they meet: some wait there for the others. */
    expect_fault(&kernel,
                 "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; @!%p1 bra M; vote.sync.ballot.b32 %r3, 1, -1;\n"
                 "M: st.global.u32 [%rd2], %r2;",
                 FAULT_WARP_SYNC, "0x0000ffff wait for lanes 0xffff0000, which exit without coming");
    expect_fault(&kernel,
                 "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; @!%p1 bra E; bar.warp.sync -1; bra M;\n"
                 "E: vote.sync.any.pred %p2, %p1, -1;\nM: st.global.u32 [%rd2], %r2;",
                 FAULT_WARP_SYNC, "which wait elsewhere");
}

/* Those that part for good may exit before the others get there, or after. */
static void exits_are_not_waited_for(void **state)
{
    (void)state;
    const uint32_t words[] = {0x00ff, 0x00ff};
    const char *leave = "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 8; mov.u32 %r3, 0;\n@%p1 bra S;\n"
                        "st.global.u32 [%rd2], %r3; exit;\n"
                        "S: vote.sync.ballot.b32 %r3, 1, -1; st.global.u32 [%rd2], %r3;";
    expect_words(&(Emulated){.block = 32}, leave, words, 2);
    /* The same, but all exit at one place, where those that are done wait for the others to meet them. */
    const uint32_t stayed[] = {0, 0, 0, 0, 7, 7, 7, 7};
    expect_words(&(Emulated){.block = 32},
                 "mov.u32 %r2, %laneid; mov.u32 %r3, 7; setp.lt.u32 %p1, %r2, 4; @%p1 bra E;\n"
                 "setp.lt.u32 %p2, %r2, 16; @%p2 bra S; add.u32 %r2, %r2, 1;\n"
                 "S: bar.warp.sync -1; st.global.u32 [%rd2], %r3;\nE:",
                 stayed, 8);
    /* Three groups, of which the last leaves when the others already wait for each other. */
    expect_words(&(Emulated){.block = 32},
                 "mov.u32 %r2, %laneid; mov.u32 %r3, 7; setp.lt.u32 %p1, %r2, 16; @%p1 bra L;\n"
                 "bar.warp.sync -1; st.global.u32 [%rd2], %r3; bra E;\n"
                 "L: setp.lt.u32 %p2, %r2, 4; @%p2 bra E; bar.warp.sync -1; st.global.u32 [%rd2], %r3;\nE:",
                 stayed, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_execute_on_their_own),
        cmocka_unit_test(groups_synchronise),
        cmocka_unit_test(groups_wait_for_other_splits),
        cmocka_unit_test(lanes_go_on_before_they_reconverge),
        cmocka_unit_test(faults_remain),
        cmocka_unit_test(exits_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
