/* Coarsening: clones, refusals and their places, the contract. Unchanged results are tested by tests/suites/coarsen.sh.
 * Guards are in test_coarsen_guards.c, merged blocks in test_coarsen_blocks.c. */
#include "coarsened.h"

static const CoarsenRequest by_two_unit = {.shape.threads = {2, 1, 1}, .stride = {.kind = STRIDE_UNIT}};

static void test_clones(void **state)
{
    (void)state;
    check_count(OWN "\tpopc.b32 %r1, %r0;\n\tst.global.u32 [%d1], %r1;\n", OP_POPC, 1);
    check_count(OWN "\tpopc.b32 %r1, %r0;\n\tst.global.u32 [%d1], %r1;\n", OP_ST, 4);
    check_count(OWN "\tpopc.b32 %r1, %t;\n\tst.global.u32 [%d1], %r1;\n", OP_POPC, 4);
    check_count("\tst.global.u32 [%a], %r0;\n", OP_ST, 1);
    check_count("\tst.volatile.global.u32 [%a], %r0;\n", OP_ST, 4);
    check_count("\tred.global.add.u32 [%a], 1;\n", OP_RED, 4);
    check_count("\tbar.sync 0;\n", OP_BAR, 1);
    check_count("\tmembar.gl;\n", OP_MEMBAR, 1);
    /* an instruction that counts or takes time does so once for each thread */
    check_count("\tpmevent 3;\n", OP_PMEVENT, 4);
    check_count("\tnanosleep.u32 20;\n", OP_NANOSLEEP, 4);
    check_count(OWN "\tld.global.u32 %r1, [%a+4096];\n\tst.global.u32 [%d1], %r1;\n", OP_LD, 2);
    /* each thread loads for itself if threads can see each other's writes */
    check_count(OWN
                "\tatom.global.inc.u32 %r2, [%a+8192], 9;\n\tld.global.u32 %r1, [%a+4096];\n\tadd.u32 %r1, %r1, %r2;\n"
                "\tst.global.u32 [%d1], %r1;\n",
                OP_LD, 5);
    /* an atomic whose result is unused does not let a thread see another's writes */
    check_count(
        OWN "\tatom.global.inc.u32 %r2, [%a+8192], 9;\n\tld.global.u32 %r1, [%a+4096];\n\tst.global.u32 [%d1], %r1;\n",
        OP_LD, 2);
    /* a uniform loop is not cloned; a variant branch is cloned with the blocks that it controls */
    check_count(
        OWN "\tmov.u32 %r1, 0;\n\tmov.u32 %r2, 0;\nL:\n\tadd.u32 %r1, %r1, 1;\n\tbrev.b32 %r3, %r1;\n"
            "\tsetp.lt.u32 %p2, %r3, %t;\n\t@%p2 bra N;\n\tmul.lo.u32 %r2, %r2, %r3;\nN:\n\tadd.u32 %r2, %r2, %r3;\n"
            "\tsetp.lt.u32 %p1, %r1, %r0;\n\t@%p1 bra L;\n\tst.global.u32 [%d1], %r2;\n",
        OP_BREV, 1);
    check_count(OWN "\tmov.u32 %r2, 5;\n\tsetp.lt.u32 %p2, %r0, 7;\n\t@%p2 bra N;\n\tbrev.b32 %r2, %r2;\nN:\n"
                    "\tst.global.u32 [%d1], %r2;\n",
                OP_BREV, 1);
    check_count(OWN "\tmov.u32 %r2, 5;\n\tsetp.lt.u32 %p2, %t, 7;\n\t@%p2 bra N;\n\tbrev.b32 %r2, %r2;\nN:\n"
                    "\tst.global.u32 [%d1], %r2;\n",
                OP_BREV, 4);
    /* the carry flag: only the flag makes the second half variant */
    check_count(OWN "\tadd.cc.u32 %r1, %t, 5;\n\taddc.u32 %r2, %r0, 0;\n\tst.global.u32 [%d1], %r2;\n", OP_ADDC, 4);
    check_count(
        OWN
        "\tadd.cc.u32 %r1, %r0, 5;\n\taddc.cc.u32 %r2, %t, 0;\n\taddc.u32 %r3, %r0, 0;\n\tst.global.u32 [%d1], %r3;\n",
        OP_ADD, 4 + 3); /* three for the indices */
}

static void check_accepted(const char *code);
static void check_refused(const char *code, const char *reason, const char *at);

/* A branch that decides whether threads reach a barrier is the same for all. */
static void test_decisions(void **state)
{
    (void)state;
#define ODD "\tsetp.lt.u32 %p1, %t, 40;\n"
#define END "\tst.global.u32 [%a], %t;\n"
    check_count(ODD "\t@%p1 bra L;\n\tatom.global.add.u32 %r1, [%a], 1;\n\tbar.sync 0;\nL:\n" END, OP_BAR, 1);
    check_count(ODD "\t@%p1 bra L;\n\tatom.global.add.u32 %r1, [%a], 1;\n\tbar.sync 0;\nL:\n" END, OP_BRA, 1);
    check_count(ODD "\t@%p1 bra L;\n\tbarrier.sync.aligned 0;\nL:\n" END, OP_BARRIER, 1);
    /* a loop whose iterations all threads make alike, before and after */
    check_count("\tmov.u32 %r1, %t;\nL:\n\tbar.sync 0;\n\tadd.u32 %r1, %r1, 7;\n\tsetp.lt.u32 %p1, %r1, 40;\n"
                "\t@%p1 bra L;\n" END,
                OP_BAR, 1);
    check_count("\tmov.u32 %r1, %t;\nL:\n\tsetp.lt.u32 %p1, %r1, 40;\n\t@%p1 bra Q;\n\tbar.sync 0;\n"
                "\tadd.u32 %r1, %r1, 7;\n\tbra L;\nQ:\n" END,
                OP_BAR, 1);
    /* the last of two conditions */
    check_accepted(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p2 bra B;\n\t@%p1 bra M;\nB:\n\tbar.sync 0;\nM:\n" END);
    const char *reason = "under a condition that differs";
    check_refused(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 bra B;\n\t@%p2 bra M;\nB:\n\tbar.sync 0;\nM:\n" END, reason,
                  "bar");
    /* one need not come to the barrier, other barriers */
    check_count(ODD "\t@%p1 bra L;\n" END "\tbar.sync 0;\nL:\n", OP_BRA, 4); /* one side goes on to the end */
    /* all threads agree whether they reach it, and so also on the first condition */
    check_accepted(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 bra L;\n\t@%p2 bra L;\n\tbar.sync 0;\nL:\n" END);
    check_refused(ODD "\t@%p1 bra L;\n\tbar.sync 1;\nL:\n" END, reason, "bar");
    check_refused(ODD "\t@%p1 bra L;\n\tbar.sync 0;\n\tbra Q;\nL:\n\tbar.sync 0;\nQ:\n" END, reason, "bar");
    check_refused(ODD "\t@%p1 bra L;\n\tbar.sync 0;\n\tbra Q;\nL:\n\tbar.red.or.pred %p2, 0, %p1;\nQ:\n" END, reason,
                  "bar.sync");
    check_refused(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 bra L;\n\t@%p2 bar.sync 0;\nL:\n" END, reason, "@%p2 bar");
    check_count(ODD "\t@%p1 bra L;\n\tbar.red.and.pred %p2, 0, %p1;\nL:\n" END, OP_BAR, 1);
    check_refused(ODD "\t@%p1 bra L;\n\tbarrier.sync 0;\nL:\n" END, reason, "barrier");
    /* A barrier after the sides have met says nothing. */
    check_count(ODD "\t@%p1 bra L;\n\tatom.global.add.u32 %r1, [%a], 1;\nL:\n\tbar.sync 0;\n" END, OP_ATOM, 4);
    check_count(ODD "\t@%p1 bra L;\n\tatom.global.add.u32 %r1, [%a], 1;\nL:\n\tbar.sync 0;\n" END, OP_BRA, 4);
    check_count(ODD "\t@%p1 bra L;\n\tatom.global.add.u32 %r1, [%a], 1;\nL:\n" END "\tbar.sync 0;\n" END, OP_BRA, 4);
}

/* Threads that leave before a barrier: it is kept once, and the code that they no longer execute is guarded. */
static void test_leaves(void **state)
{
    (void)state;
#define BAR "\tbar.sync 0;\n"
    const char *plain = ODD "\t@%p1 ret;\n" BAR OWN "\tst.global.u32 [%d1], %t;\n" BAR;
    check_count(plain, OP_BAR, 2);
    check_count(plain, OP_ST, 4);
    check_count(plain, OP_BRA, 4); /* round the stores */
    check_count(plain, OP_OR, 3); /* any of four */
    /* code that runs once stays as it is; so do results of barriers, and loops of all threads */
    check_count(ODD "\t@%p1 ret;\n" BAR "\tst.global.u32 [%a], %r0;\n" BAR, OP_ST, 1);
    check_count(ODD "\t@%p1 ret;\n\tmov.u32 %r1, 0;\nL:\n" BAR "\tadd.u32 %r1, %r1, 1;\n"
                "\tsetp.lt.u32 %p2, %r1, %r0;\n\t@%p2 bra L;\n", OP_BAR, 1);
    check_count(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 ret;\n\tbar.red.or.pred %p3, 0, %p2;\n\t@%p3 ret;\n" END,
                OP_BAR, 1);
    check_count(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 ret;\n\tbar.red.popc.u32 %r1, 0, %p2;\n"
                "\tst.global.u32 [%a], %r1;\n", OP_BAR, 4);
    /* after some work of their own; from within a loop of all */
    check_count(ODD "\t@%p1 bra L;\n" BAR "\tbra Q;\nL:\n" END "Q:\n", OP_ST, 4);
    check_count("\tmov.u32 %r1, %t;\nL:\n" BAR "\tsetp.lt.u32 %p1, %r1, 4;\n\t@%p1 ret;\n\tadd.u32 %r1, %r1, 7;\n"
                "\tbra L;\n", OP_BAR, 1);
    /* Both sides may come to a barrier; not all threads come to the branch; a mask may name those that are gone. */
    const char *reason = "under a condition that differs";
    check_refused(ODD "\tsetp.lt.u32 %p2, %r0, 4;\n\t@%p1 bra L;\n" BAR "\tret;\nL:\n\t@%p2 ret;\n" BAR, reason,
                  "bar");
    check_refused(ODD "\tadd.u32 %r1, %t, %r0;\n\tsetp.lt.u32 %p2, %r1, 7;\n\t@%p2 bra L;\n\t@%p1 ret;\nL:\n" BAR
                  END, reason, "bar");
    check_accepted(ODD "\t@%p1 ret;\n" BAR "\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\n" BAR);
    check_accepted(ODD "\t@%p1 ret;\n" BAR "\tactivemask.b32 %r1;\n\tbar.warp.sync %r1;\n" BAR);
    check_refused(ODD "\t@%p1 bra L;\n" BAR "\tret;\nL:\n\tvote.sync.ballot.b32 %r1, %p1, -1;\n"
                  "\tst.global.u32 [%a], %r1;\n", reason, "bar");
    /* Carry flags do not cross a barrier, nor code that runs once. */
    check_refused(ODD "\t@%p1 ret;\n" BAR "\tadd.cc.u32 %r1, %t, 9;\n\tld.global.u32 %r4, [%a];\n"
                  "\taddc.u32 %r2, %r4, 0;\n\tst.global.u32 [%a], %r2;\n" BAR, reason, "bar");
}

/* Warp-level instructions under a condition are cloned with it; a vote before the branch finds the threads that
 * stay. */
static void test_warp_level(void **state)
{
    (void)state;
    const char *under = "\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 bra L;\n\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nL:\n";
    check_count(under, OP_SHFL, 4);
    check_count(under, OP_VOTE, 4);
    /* threads that meet again before the kernel ends have not left it */
    const char *meet = "\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 bra L;\n\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nL:\n"
                       "\tst.global.u32 [%a], %r0;\n";
    check_count(meet, OP_SHFL, 4);
    check_count(meet, OP_VOTE, 0);
    check_count("\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 ret;\n\tactivemask.b32 %r2;\n\tmatch.any.sync.b32 %r1, %r0, %r2;\n",
                OP_VOTE, 0);
    /* a mask that a warp-level instruction makes after a return can name only threads that stay */
    check_count("\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 ret;\n\tor.b32 %r2, %r0, 7;\n"
                "\tmatch.any.sync.b32 %r1, %r0, %r2;\n",
                OP_VOTE, 4);
    check_count("\tactivemask.b32 %r2;\n\tsetp.lt.u32 %p2, %r0, 40;\n\t@%p2 bra L;\n\tst.global.u32 [%a], %r0;\nL:\n"
                "\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 ret;\n\tmatch.any.sync.b32 %r1, %r0, %r2;\n",
                OP_VOTE, 4);
    /* the warp's threads agree on coming to the return */
    check_count("\tsetp.lt.u32 %p1, %r0, 5;\n\t@%p1 bra L;\n\tsetp.lt.u32 %p2, %t, 5;\n\t@%p2 ret;\n"
                "\tvote.sync.any.pred %p3, 1, -1;\n\tret;\nL:\n\tst.global.u32 [%a], %r1;\n",
                OP_VOTE, 8);
    /* no thread leaves at the second branch */
    check_count("\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 ret;\n\tsetp.eq.u32 %p2, %t, 50;\n\t@%p2 bra L;\n"
                "\tmatch.any.sync.b32 %r1, %r0, -1;\nL:\n\tst.global.u32 [%a], %r0;\n",
                OP_VOTE, 4);
    /* each has a mask of its own if it is made under a condition, even one that reaches the instruction by a phi */
    check_count("\tsetp.lt.u32 %p1, %t, 40;\n\tmov.u32 %r2, -1;\n\t@%p1 bra L;\n\tactivemask.b32 %r2;\nL:\n"
                "\tredux.sync.add.u32 %r1, %r0, %r2;\n\tst.global.u32 [%a], %r0;\n",
                OP_ACTIVEMASK, 4);
    /* activemask is executed for each replica, by its own threads: no fast path, no loop of all threads. */
    check_count(OWN "\tactivemask.b32 %r1;\n\tst.global.u32 [%d1], %r1;\n", OP_ACTIVEMASK, 4);
    check_count(OWN "\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 ret;\n\tactivemask.b32 %r1;\n\tst.global.u32 [%d1], %r1;\n",
                OP_ACTIVEMASK, 4);
    check_count(OWN "\tmov.u32 %r2, 0;\nL:\n\tadd.u32 %r2, %r2, 1;\n\tactivemask.b32 %r1;\n"
                "\tst.global.u32 [%d1], %r1;\n\tsetp.lt.u32 %p1, %r2, %t;\n\t@%p1 bra L;\n", OP_ACTIVEMASK, 4);
    /* each replica has its own guard */
    check_count("\tsetp.lt.u32 %p1, %t, 40;\n\t@%p1 bar.warp.sync 0xff;\n", OP_BAR, 4);
    /* a numeric stride keeps whole warps if it is made of them */
    Try it = try_with("", "", meet, &(CoarsenRequest){.shape.threads = {2, 1, 1}, .stride = {STRIDE_NUMBER, 64}});
    assert_true(it.done);
    assert_true(it.contract.whole_warps);
    assert_int_equal(it.contract.stride_unit, 64);
    release(it.module);
}

static void check_refused(const char *code, const char *reason, const char *at)
{
    check_refused_with("", "", code, &by_four, reason, at);
}

static void test_refuses_instructions(void **state)
{
    (void)state;
    check_refused("\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 bra L;\n\tbar.sync 1;\nL:\n\tst.global.u32 [%a], %t;\n",
                  "under a condition that differs", "bar.sync");
    check_refused("\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 bar.sync 0;\n", "guard of 'bar.sync'", "@%p1 bar.sync");
    check_refused("\tand.b32 %r1, %t, 1;\n\tbar.sync %r1;\n", "operands of 'bar.sync' differ", "bar.sync");
    check_refused("\tbar.sync 0, 64;\n", "given number of threads", "bar.sync");
    check_refused("\tbar.arrive 0, 64;\n", "counts threads", "bar.arrive");
    check_refused("\tsetp.lt.u32 %p1, %t, 5;\n\tbar.red.popc.u32 %r1, 0, 64, %p1;\n", "given number of threads",
                  "bar.red");
    check_refused(
        "\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 bra L;\n\tbar.red.popc.u32 %r1, 1, %p1;\nL:\n\tst.global.u32 [%a], %r1;\n",
        "under a condition that differs", "bar.red");
    check_refused("\tsetp.lt.u32 %p1, %t, 5;\n\tsetp.lt.u32 %p2, %r0, 5;\n\t@%p2 bar.red.or.pred %p3, 0, %p1;\n",
                  "guard", "@%p2 bar.red");
    check_refused("\tsetp.lt.u32 %p1, %t, 5;\n\tand.b32 %r1, %t, 1;\n\tbar.red.or.pred %p3, %r1, %p1;\n",
                  "operands of 'bar.red.or.pred' differ", "bar.red");
    check_refused_with(".version 6.3\n.target sm_60\n.address_size 64\n", "", "\tvote.ballot.b32 %r1, %p1;\n",
                       &by_four, "run together", "vote");
    check_refused("\tsetp.lt.u32 %p2, %t, 5;\n\t@%p2 bra L;\n\t.reg .b32 %f<4>;\n"
                  "\tmma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%f0, %f1}, {%f2}, {%f3}, {%f0, %f1};\nL:\n",
                  "under a condition that differs", "mma");
    check_refused("\tmov.u32 %r1, %warpid;\n", "counts warps", "mov.u32");
    check_refused("\tmbarrier.arrive.shared.b64 %d1, [%a];\n", "counts arrivals", "mbarrier.arrive");
    check_refused("\tfrobnicate.b32 %r1, %t;\n", "is not a known", "frobnicate");
    check_refused("\tst.local.u32 [%a], %r0;\n", "does not come from a local variable", "st.local");
    check_refused("\tadd.cc.u32 %r1, %t, 5;\n\tsetp.lt.u32 %p1, %r0, 5;\n\t@%p1 bra L;\nL:\n\taddc.u32 %r2, %r0, 0;\n",
                  "from one basic block to another", "addc");
    check_refused("\tadd.cc.u32 %r1, %t, 5;\n\tbar.sync 0;\n\taddc.u32 %r2, %r0, 0;\n", "across a barrier", "addc");
    check_refused("L:\n\tatom.global.cas.b32 %r1, [%a], 0, 1;\n\tadd.u32 %r2, %r1, 3;\n\tsetp.ne.u32 %p1, %r2, "
                  "3;\n\t@%p1 bra L;\n"
                  "\tst.volatile.global.u32 [%a], 0;\n",
                  "may wait", "atom");
}

/* Masks whose members may have left. */
static void test_refuses_masks(void **state)
{
    (void)state;
    /* a return that not every thread of the warp reaches: the voters after it are not known */
    check_refused("\tmov.u32 %r4, %tid.y;\n\tsetp.lt.u32 %p1, %r4, 5;\n\t@%p1 bra L;\n\tsetp.lt.u32 %p2, %t, 5;\n"
                  "\t@%p2 ret;\n\tvote.sync.ballot.b32 %r1, 1, -1;\n\tret;\nL:\n\tst.global.u32 [%a], %r1;\n",
                  "left the kernel", "vote");
    check_refused("\tmov.u32 %r4, %tid.y;\n\tsetp.lt.u32 %p1, %r4, 5;\n\t@%p1 ret;\n\tsetp.lt.u32 %p2, %t, 5;\n"
                  "\t@%p2 ret;\n\tvote.sync.ballot.b32 %r1, 1, -1;\n\tst.global.u32 [%a], %r1;\n",
                  "left the kernel", "vote");
    /* one that is passed repeatedly: each iteration finds the threads that stay */
    check_accepted("\tmov.u32 %r2, 0;\nL:\n\tadd.u32 %r2, %r2, 1;\n\tsetp.gt.u32 %p2, %r2, %r0;\n\t@%p2 ret;\n"
                  "\tsetp.eq.u32 %p1, %r2, %t;\n\t@%p1 ret;\n\tvote.sync.ballot.b32 %r1, 1, -1;\n\tbra L;\n");
    /* The mask names those that passed the first return, of which some leave at the second: in the block that made the
     * mask, and in a later one. */
    check_accepted("\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 ret;\n\tactivemask.b32 %r2;\n\tsetp.eq.u32 %p2, %t, 9;\n"
                   "\t@%p2 ret;\n\tmatch.any.sync.b32 %r1, %r0, %r2;\n");
    check_accepted("\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 ret;\n\tvote.sync.ballot.b32 %r2, 1, 0xffe0;\n"
                   "\tsetp.eq.u32 %p3, %r0, 4;\n\t@%p3 bra L;\n\tst.global.u32 [%a], %r0;\nL:\n"
                   "\tsetp.eq.u32 %p2, %t, 9;\n\t@%p2 ret;\n\tmatch.any.sync.b32 %r1, %r0, %r2;\n");
    /* the mask of an earlier iteration of the loop */
    check_accepted("\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 ret;\nL:\n\tadd.u32 %r3, %r3, %t;\n\tsetp.gt.u32 %p2, %r3, 99;\n"
                   "\t@%p2 ret;\n\tactivemask.b32 %r2;\n\tmatch.any.sync.b32 %r1, %r0, %r2;\n\tbra L;\n");
}

/* How a value that was read can decide whether a loop continues. */
static void test_refuses_waiting(void **state)
{
    (void)state;
    /* the next steps of the other replicas, for which a thread may wait */
#define TELL "\tst.global.u32 [%a+64], %t;\n"
    check_refused("L:\n\tld.volatile.global.u32 %r1, [%a];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra L;\n" TELL,
                  "may wait", "ld.volatile");
    check_refused(
        "\tmov.u32 %r2, 0;\nL:\n\tld.volatile.global.u32 %r1, [%a];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra M;\n"
        "\tmov.u32 %r2, 1;\nM:\n\tsetp.eq.u32 %p2, %r2, 0;\n\t@%p2 bra L;\n" TELL,
        "may wait", "ld.volatile");
    check_refused(
        "\t.local .align 4 .b8 spot[4];\n\tst.local.u32 [spot], 0;\nL:\n\tld.acquire.gpu.global.u32 %r1, [%a];\n"
        "\tst.local.u32 [spot], %r1;\n\tld.local.u32 %r2, [spot];\n\tsetp.eq.u32 %p2, %r2, 0;\n\t@%p2 bra L;\n" TELL,
        "may wait", "ld.acquire");
    check_refused(
        "L:\n\tld.relaxed.gpu.global.u32 %r1, [%a];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra L;\n\tbra M;\nM:\n" TELL,
        "may wait", "ld.relaxed");
    /* Neither of these waits. */
    Try it =
        try_with("", "",
                 OWN "\tmov.u32 %r2, 0;\nL:\n\tatom.global.add.u32 %r1, [%a+4096], 1;\n\tst.global.u32 [%d1], %r1;\n"
                     "\tadd.u32 %r2, %r2, 1;\n\tsetp.lt.u32 %p1, %r2, %r0;\n\t@%p1 bra L;\n",
                 &by_four);
    assert_true(it.done);
    release(it.module);
    it = try_with("", "",
                  OWN "\tmov.u32 %r2, 0;\nL:\n\tatom.global.add.u32 %r1, [%a+4096], 1;\n\tsetp.gt.u32 %p2, %r1, 9;\n"
                      "\t@%p2 bra M;\n\tst.global.u32 [%d1], %r1;\nM:\n\tadd.u32 %r2, %r2, 1;\n"
                      "\tsetp.lt.u32 %p1, %r2, %r0;\n\t@%p1 bra L;\n",
                  &by_four);
    assert_true(it.done);
    release(it.module);
}

static void check_accepted_with(const char *code, const CoarsenRequest *request)
{
    Try it = try_with("", "", code, request);
    if (!it.done)
        fail_msg("refused: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    release(it.module);
}

static void check_accepted(const char *code)
{
    check_accepted_with(code, &by_four);
}

/* A loop in which replica 0 waits if CONDITION, and the code after it. */
#define WAIT(CONDITION, TURN, AFTER)                                                                                   \
    "\tsetp." CONDITION                                                                                                \
    ";\n\t@!%p1 bra M;\nL:\n\tld.volatile.global.u32 %r1, [%a];\n\tsetp.eq.u32 %p2, %r1, 0;\n" TURN                    \
    "\t@%p2 bra L;\nM:\n" AFTER
#define ALL_LANES "\tvote.sync.any.pred %p2, %p2, -1;\n"

/* A loop that waits, but not for a replica that it holds up. */
static void test_waits_for_others(void **state)
{
    (void)state;
    /* no thread stores anything before the barrier, or ever */
    check_accepted("L:\n\tld.volatile.global.u32 %r1, [%a];\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra L;\n");
    check_accepted(WAIT("lt.u32 %p1, %t, 99", "", "\tbar.sync 0;\n" TELL));
    check_accepted(WAIT("lt.u32 %p1, %t, 99", ALL_LANES, "\tbar.sync 0;\n" TELL));
    check_refused(WAIT("lt.u32 %p1, %t, 99", "", TELL "\tbar.sync 0;\n"), "may wait", "ld.volatile");
    check_refused(WAIT("lt.u32 %p1, %t, 99", TELL, ""), "may wait", "ld.volatile");
    check_refused(WAIT("lt.u32 %p1, %t, 99", "", "\t@%p1 bar.warp.sync -1;\n\tatom.shared.add.u32 %r4, [%a+4], 1;\n"),
                  "may wait", "ld.volatile");
    /* a loop that comes back to it without a barrier */
    check_refused("\tmov.u32 %r3, 0;\nK:\n" TELL WAIT("lt.u32 %p1, %t, 99", "", "")
                  "\tadd.u32 %r3, %r3, 1;\n\tsetp.lt.u32 %p3, %r3, %r0;\n\t@%p3 bra K;\n",
                  "may wait", "ld.volatile");
    check_accepted("\tmov.u32 %r3, 0;\nK:\n" TELL WAIT("lt.u32 %p1, %t, 99", "", "\tbar.sync 0;\n")
                   "\tadd.u32 %r3, %r3, 1;\n\tsetp.lt.u32 %p3, %r3, %r0;\n\t@%p3 bra K;\n");
    /* one thread waits, or one warp, and tells; then no other replica does */
    check_accepted(WAIT("eq.u32 %p1, %t, 0", TELL, "\tbar.sync 0;\n"));
    check_accepted(WAIT("lt.u32 %p1, %t, 1", TELL, "\tbar.sync 0;\n"));
    check_accepted(WAIT("eq.u32 %p1, %t, 0", "", "\t@!%p1 bra N;\n" TELL "N:\n\tbar.sync 0;\n"));
    check_refused(WAIT("eq.u32 %p1, %t, 0", "", "\t@%p1 bra N;\n" TELL "N:\n\tbar.sync 0;\n"), "may wait",
                  "ld.volatile");
    check_refused(WAIT("lt.u32 %p1, %t, 2", TELL, "\tbar.sync 0;\n"), "may wait", "ld.volatile");
    check_refused(WAIT("lt.u32 %p1, %t, 32", TELL, "\tbar.sync 0;\n"), "may wait", "ld.volatile");
    check_accepted(WAIT("lt.u32 %p1, %t, 32", ALL_LANES TELL, "\tbar.sync 0;\n"));
    check_accepted(WAIT("le.s32 %p1, %t, 31", ALL_LANES TELL, "\tbar.sync 0;\n"));
    check_refused(WAIT("le.s32 %p1, %t, 32", ALL_LANES TELL, "\tbar.sync 0;\n"), "may wait", "ld.volatile");
    check_accepted("\tshr.u32 %r5, %t, 5;\n" WAIT("eq.s32 %p1, %r5, 0", ALL_LANES TELL, "\tbar.sync 0;\n"));
    check_refused("\tshr.u32 %r5, %t, 5;\n" WAIT("eq.s32 %p1, %r5, 1", ALL_LANES TELL, "\tbar.sync 0;\n"), "may wait",
                  "ld.volatile");
    check_refused("\tand.b32 %r5, %t, 63;\n" WAIT("lt.s32 %p1, %r5, 32", ALL_LANES TELL, "\tbar.sync 0;\n"), "may wait",
                  "ld.volatile");
    check_accepted_with(WAIT("eq.u32 %p1, %t, 0", TELL, "\tbar.sync 0;\n"), &by_two_unit);
    check_refused_with("", "", WAIT("lt.u32 %p1, %t, 2", TELL, "\tbar.sync 0;\n"), &by_two_unit, "may wait",
                       "ld.volatile");
    const CoarsenRequest by_number = {.shape.threads = {2, 1, 1}, .stride = {STRIDE_NUMBER, 8}};
    check_accepted_with(WAIT("lt.u32 %p1, %t, 8", TELL, "\tbar.sync 0;\n"), &by_number);
    check_refused_with("", "", WAIT("lt.u32 %p1, %t, 9", TELL, "\tbar.sync 0;\n"), &by_number, "may wait",
                       "ld.volatile");
    const CoarsenRequest by_y = {.shape.threads = {1, 2, 1}};
    check_accepted_with("\tmov.u32 %r6, %tid.y;\n" WAIT("eq.u32 %p1, %r6, 0", ALL_LANES TELL, "\tbar.sync 0;\n"),
                        &by_y);
    check_refused_with("", "",
                       "\tmov.u32 %r6, %tid.y;\n" WAIT("lt.u32 %p1, %r6, 32", ALL_LANES TELL, "\tbar.sync 0;\n"), &by_y,
                       "may wait", "ld.volatile");
    check_refused("\trem.u32 %r5, %t, 7;\n" WAIT("eq.u32 %p1, %r5, 0", TELL, "\tbar.sync 0;\n"), "may wait",
                  "ld.volatile");
    /* the others get there by another path */
    check_refused("\tsetp.ne.u32 %p4, %t, 0;\n\t@!%p4 bra N;\n\tadd.u32 %r0, %r0, 1;\nN:\n"
                  WAIT("lt.u32 %p1, %r0, 99", TELL, "\tbar.sync 0;\n"), "may wait", "ld.volatile");
    /* The thread that tells is replica 0, but a wait of another replica holds it up. */
    check_refused(
        WAIT("ge.u32 %p1, %t, 7", "", "\tsetp.ne.u32 %p4, %t, 0;\n\t@%p4 bra N;\n" TELL "N:\n\tbar.sync 0;\n"),
        "may wait", "ld.volatile");
    /* All replicas go through the loop together. */
    check_accepted("L:\n\tsetp.ne.u32 %p1, %t, 0;\n\t@%p1 bra M;\n\tatom.global.add.u32 %r1, [%a], 1;\n"
                   "\tst.global.u32 [%a+8], %r1;\nM:\n\tbar.sync 0;\n\tld.global.u32 %r2, [%a+8];\n\tbar.sync 0;\n"
                   "\tsetp.lt.u32 %p2, %r2, %r0;\n\t@%p2 bra L;\n" TELL);
}

/* A loop that swaps: the value that it first expects, and the code after the swap in an iteration. */
#define SWAP(ADDRESS, COMPARE, NEXT)                                                                                   \
    "\tmov.u32 %r1, 7;\n\tmov.u32 %r5, 9;\nL:\n\tadd.u32 %r2, %r1, %t;\n\tatom.global.cas.b32 %r3, [" ADDRESS          \
    "], %r1, "                                                                                                         \
    "%r2;\n\t" COMPARE ";\n" NEXT "\t@%p1 bra L;\n" TELL

static void test_lock_free(void **state)
{
    (void)state;
    check_accepted(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n"));
    check_accepted(SWAP("%a", "setp.ne.b32 %p1, %r1, %r3", "\tmov.u32 %r1, %r3;\n"));
    check_accepted(SWAP("%a", "setp.eq.u32 %p2, %r1, %r3", "\tnot.pred %p1, %p2;\n\tmov.u32 %r1, %r3;\n\t@%p2 bra Q;\n")
                   "Q:\n");
    /* an iteration that gives up */
    check_accepted(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tsetp.gt.u32 %p3, %r3, 99;\n\t@%p3 bra Q;\n"
                                                          "\tmov.u32 %r1, %r3;\n") "Q:\n");
    /* another value than the one found, an older one, another address in each iteration, half of the bits, as a
     * float */
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", ""), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tadd.u32 %r1, %r3, 1;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r5;\n\tmov.u32 %r5, %r3;\n"), "may wait",
                  "atom");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tadd.s64 %a, %a, 4;\n\tmov.u32 %r1, %r3;\n"), "may wait",
                  "atom");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r5", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ge.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.eq.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.neu.f32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ne.f32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3+1;\n"), "may wait", "atom");
    check_refused(SWAP("%a", "setp.ne.and.s32 %p1, %r3, %r1, %p4", "\tmov.u32 %r1, %r3;\n"), "may wait", "atom");
    /* The second try of an iteration fails because the first did not. */
    check_refused("\tmov.u32 %r1, 7;\nL:\n\tmov.u32 %r4, 0;\nK:\n\tatom.global.cas.b32 %r3, [%a], %r1, %t;\n"
                  "\tadd.u32 %r4, %r4, 1;\n\tsetp.lt.u32 %p2, %r4, %r0;\n\t@%p2 bra K;\n\tsetp.ne.s32 %p1, %r3, %r1;\n"
                  "\tmov.u32 %r1, %r3;\n\t@%p1 bra L;\n" TELL,
                  "may wait", "atom");
    /* an iteration that goes on without having failed, or without having tried */
    check_refused("\tmov.u32 %r1, 7;\nL:\n\tatom.global.cas.b32 %r3, [%a], %r1, %t;\n\tsetp.ne.s32 %p1, %r3, %r1;\n"
                  "\tmov.u32 %r1, %r3;\n\t@%p1 bra L;\n\tld.volatile.global.u32 %r4, [%a+4];\n"
                  "\tsetp.eq.u32 %p3, %r4, 0;\n\t@%p3 bra L;\n" TELL,
                  "may wait", "ld.volatile");
    check_refused(SWAP("%a", "setp.ne.s32 %p1, %r3, %r1", "\tmov.u32 %r1, %r3;\n\tsetp.gt.u32 %p3, %r3, 99;\n"
                                                         "\t@%p3 bra L;\n"),
                  "may wait", "atom");
    check_refused(
        "\tmov.u32 %r1, 7;\nL:\n\tld.volatile.global.u32 %r4, [%a+4];\n\tsetp.eq.u32 %p3, %r4, 0;\n\t@%p3 bra L;\n"
        "\tatom.global.cas.b32 %r3, [%a], %r1, %t;\n\tsetp.ne.s32 %p1, %r3, %r1;\n\tmov.u32 %r1, %r3;\n"
        "\t@%p1 bra L;\n" TELL,
        "may wait", "atom");
    check_refused("\tmov.u32 %r1, 7;\nL:\n\tsetp.eq.u32 %p3, %t, 0;\n\tmov.u32 %r3, %r1;\n"
                  "\t@%p3 atom.global.cas.b32 %r3, [%a], %r1, %t;\n\tsetp.ne.s32 %p1, %r3, %r1;\n\tmov.u32 %r1, %r3;\n"
                  "\t@%p1 bra L;\n" TELL,
                  "may wait", "@%p3 atom");
}

/* Loads are merged if no observation comes before them in their barrier interval. */
static void test_merges_loads(void **state)
{
    (void)state;
#define SEE "\tatom.global.inc.u32 %r2, [%a+8192], 9;\n\tst.global.u32 [%d1+4], %r2;\n"
#define USE OWN "\tld.global.u32 %r1, [%a+4096];\n\tst.global.u32 [%d1], %r1;\n"
    check_count(USE SEE, OP_LD, 2);
    check_count(OWN SEE USE, OP_LD, 5);
    check_count(OWN SEE "\tbar.sync 0;\n" USE, OP_LD, 2);
    check_count(OWN SEE "\tmembar.gl;\n" USE, OP_LD, 5);
    check_count(OWN SEE "\tsetp.eq.u32 %p1, %r0, 0;\n\t@%p1 bar.sync 0;\n" USE, OP_LD, 6);
    check_count(OWN SEE "\tbar.red.or.pred %p1, 0, %p2;\n" USE, OP_LD, 2);
    check_count(OWN SEE "\tsetp.eq.u32 %p1, %r0, 0;\n\t@%p1 bra L;\n\tbar.sync 0;\nL:\n" USE, OP_LD, 6);
    check_count(OWN "\tmov.u32 %r3, 0;\nL:\n" USE SEE
                    "\tadd.u32 %r3, %r3, 1;\n\tsetp.lt.u32 %p1, %r3, %r0;\n\t@%p1 bra L;\n",
                OP_LD, 6);
    check_count(OWN "\tmov.u32 %r3, 0;\nL:\n" USE SEE "\tbar.sync 0;\n\tadd.u32 %r3, %r3, 1;\n"
                    "\tsetp.lt.u32 %p1, %r3, %r0;\n\t@%p1 bra L;\n",
                OP_LD, 3);
}

static void test_refuses_calls(void **state)
{
    (void)state;
    check_refused_with(".extern .func g();\n", "", "\tcall.uni g;\n", &by_four, "not defined in this module",
                       "call.uni");
    check_refused_with(".func g()\n{\n\tbar.sync 0;\n\tret;\n}\n", "", "\tcall.uni g;\n", &by_four,
                       "which synchronizes", "call.uni");
    check_refused_with(".func h()\n{\n\tbar.sync 0;\n\tret;\n}\n.func g()\n{\n\tcall.uni h;\n\tret;\n}\n", "",
                       "\tcall.uni g;\n", &by_four, "calls 'h', which synchronizes", "call.uni");
    check_refused_with(".global .u32 flag;\n.func g()\n{\n\t.reg .b32 %x;\n\t.reg .pred %q;\nL:\n"
                       "\tld.volatile.global.u32 %x, [flag];\n\tsetp.eq.u32 %q, %x, 0;\n\t@%q bra L;\n\tret;\n}\n",
                       "", "\tcall.uni g;\n", &by_four, "which synchronizes ('ld.volatile.global.u32'", "call.uni");
    check_refused_with(".func g()\n{\n\t.reg .b32 %x;\n\tmov.u32 %x, %ntid.x;\n\tret;\n}\n", "", "\tcall.uni g;\n",
                       &by_four, "which reads %ntid.x", "call.uni");
    check_refused_with(".func g()\n{\n\tret;\n}\n", "",
                       "\tmov.u64 %d1, g;\nP: .callprototype _ ();\n\tcall %d1, (), P;\n", &by_four, "indirect call",
                       "call");
    Try it = try_with(".func g()\n{\n\tcall.uni g;\n\tret;\n}\n", "", "\tcall.uni g;\n", &by_four); /* calls itself */
    assert_true(it.done);
    assert_int_equal(count_op(it.body, OP_CALL), 4);
    release(it.module);
}

static void test_refuses_blocks(void **state)
{
    (void)state;
    const char *shuffle = "\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\n";
    check_refused_with("", "", shuffle, &by_two_unit, "whole warps", "shfl");
    check_refused_with("", "", shuffle,
                       &(CoarsenRequest){.shape.threads = {4, 1, 1}, .block = {BLOCK_GIVEN, {64, 1, 1}}},
                       "split its warps", NULL);
    check_refused_with("", "", shuffle,
                       &(CoarsenRequest){.shape.threads = {1, 2, 1}, .block = {BLOCK_GIVEN, {16, 2, 1}}},
                       "split its warps", NULL);
    check_refused_with("", ".reqntid 3", "",
                       &(CoarsenRequest){.shape.threads = {4, 1, 1}, .block = {BLOCK_GIVEN, {32, 1, 1}}},
                       "the factor 4 is more than the block's 3 threads along x", NULL);
    check_refused_with("", "", shuffle,
                       &(CoarsenRequest){.shape.threads = {2, 1, 1}, .block = {BLOCK_GIVEN, {63, 2, 1}}},
                       "split its warps", NULL);
    check_refused_with("", ".reqntid 32", "", &(CoarsenRequest){.shape.threads = {1, 2, 1}},
                       "the block's 1 thread along y", NULL);
    check_refused_with("", "", "",
                       &(CoarsenRequest){.shape.threads = {4, 1, 1},
                                         .stride = {STRIDE_NUMBER, 16},
                                         .block = {BLOCK_GIVEN, {96, 1, 1}}},
                       "the stride 16 does not divide the 24 threads", NULL);
}

/* The distance between replicas, along each dimension. */
static void test_strides(void **state)
{
    (void)state;
    for (unsigned d = 0; d < 3; d++) {
        CoarsenRequest request = {.stride = {STRIDE_NUMBER, 4}};
        char code[160];
        for (unsigned i = 0; i < 3; i++) {
            request.shape.threads[i] = i == d ? 4 : 1;
            request.block.threads[i] = i == d ? 16 : 2;
        }
        snprintf(code, sizeof code, "\tmov.u32 %%r1, %%tid.%c;\n\tmad.wide.u32 %%d1, %%r1, 4, %%a;\n"
                                    "\tst.global.u32 [%%d1], %%r1;\n", "xyz"[d]);
        Try it = try_with("", "", code, &request);
        assert_true(it.done);
        Buf text = {0};
        body_print(it.body, false, &text);
        for (unsigned k = 4; k < 16; k += 4) {
            char step[16];
            snprintf(step, sizeof step, ", %u;", k);
            if (!buf_has(&text, step))
                fail_msg("no replica is %u apart along %c:\n%s", k, "xyz"[d], buf_text(&text));
        }
        buf_free(&text);
        release(it.module);
    }
}

static void test_contract(void **state)
{
    (void)state;
    Try it =
        try_with("", "", OWN "\tst.global.u32 [%d1], %t;\n",
                 &(CoarsenRequest){
                     .shape.threads = {2, 4, 1}, .stride = {STRIDE_NUMBER, 8}, .block = {BLOCK_GIVEN, {64, 0, 0}}});
    assert_true(it.done);
    assert_string_equal(it.contract.kernel, "k");
    assert_int_equal(it.contract.shape.threads[0], 2);
    assert_int_equal(it.contract.shape.threads[1], 4);
    assert_int_equal(it.contract.shape.threads[2], 1);
    assert_int_equal(it.contract.stride.kind, STRIDE_NUMBER);
    assert_int_equal(it.contract.stride_unit, 8);
    assert_int_equal(it.contract.block[0], 64);
    assert_int_equal(it.contract.block[1], 0);
    assert_false(it.contract.whole_warps);
    LaunchCondition conditions[CONTRACT_CONDITIONS];
    assert_int_equal(contract_conditions(&it.contract, conditions), 2);
    assert_string_equal(condition_text(it.module->arena, &conditions[0]), "block.x is 64");
    assert_string_equal(condition_text(it.module->arena, &conditions[1]), "block.y is a multiple of 32");
    contract_add_symbol(it.module, contract_symbol(it.module, &it.contract));
    const Variable *symbol = module_find_variable(it.module, "__ptxopt_launch_k");
    assert_non_null(symbol);
    Buf text = {0};
    variable_print(symbol, &text);
    assert_true(buf_has(&text, "__ptxopt_launch_k[16]"));
    assert_true(buf_has(&text, "1347964752, 1, 0, 2, 4, 1, 2, 8, 0, 8, 64, 0, 0, 0, 0, 0"));
    buf_free(&text);
    release(it.module);

    /* An aligned barrier under a condition of rows: each warp must remain in one row. */
    static const char *const barriers[] = {"bar.sync 1", "barrier.sync.aligned 1",
                                           "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned"};
    for (unsigned i = 0; i < COUNT_OF(barriers); i++) {
        char code[200];
        snprintf(code, sizeof code,
                 "\tmov.u32 %%r1, %%tid.y;\n\tsetp.lt.u32 %%p1, %%r1, 3;\n\t@%%p1 bra L;\n\t%s;\nL:\n"
                 "\tst.global.u32 [%%a], %%t;\n", barriers[i]);
        it = try_with(SM_90, "", code, &(CoarsenRequest){.shape.threads = {2, 1, 1}});
        assert_true(it.done);
        assert_true(it.contract.whole_warps);
        release(it.module);
    }

    it = try_with("", "", "\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\n", &(CoarsenRequest){.shape.threads = {1, 2, 1}});
    assert_true(it.done);
    assert_true(it.contract.whole_warps);
    assert_int_equal(it.contract.stride_unit, 1);
    assert_int_equal(contract_conditions(&it.contract, conditions), 2);
    assert_string_equal(condition_text(it.module->arena, &conditions[0]), "block.y is a multiple of 2");
    assert_string_equal(condition_text(it.module->arena, &conditions[1]), "block.x * block.y is a multiple of 64");
    release(it.module);
}

static Tuning tuning_after(const char *tuning, unsigned x, unsigned y)
{
    Try it = try_with("", tuning, "", &(CoarsenRequest){.shape.threads = {x, y, 1}});
    assert_true(it.done);
    Tuning after = it.body->tuning;
    release(it.module);
    return after;
}

static void test_tuning(void **state)
{
    (void)state;
    Tuning tuning = tuning_after(".reqntid 63, 4", 2, 4);
    assert_int_equal(tuning.reqntid_count, 2);
    assert_int_equal(tuning.reqntid[0], 32);
    assert_int_equal(tuning.reqntid[1], 1);
    tuning = tuning_after(".maxntid 256, 1, 1 .minnctapersm 3", 4, 1);
    assert_int_equal(tuning.maxntid_count, 3);
    assert_int_equal(tuning.maxntid[0], 64);
    assert_int_equal(tuning.minnctapersm, 3);
    /* .maxntid bounds the product: 256 threads may lie along y */
    tuning = tuning_after(".maxntid 256", 1, 4);
    assert_int_equal(tuning.maxntid_count, 1);
    assert_int_equal(tuning.maxntid[0], 64);
    tuning = tuning_after(".maxntid 10", 4, 1);
    assert_int_equal(tuning.maxntid_count, 1);
    assert_int_equal(tuning.maxntid[0], 3);
}

static void test_functions(void **state)
{
    (void)state;
    Module *module = module_from(HEADER ".func k()\n{\n\tret;\n}\n");
    Body *body = body_from(module);
    body_to_ssa(body);
    LaunchContract contract;
    Refusal refusal;
    assert_false(coarsen_body(body, &by_four, &contract, &refusal, NULL));
    assert_int_equal(refusal.reason, REFUSAL_NOT_KERNEL);
    release(module);
}

/* Code with 'differing' instructions that differ between threads, and 'alike' ones that do not. */
static const char *long_code(Arena *arena, unsigned differing, unsigned alike)
{
    Buf text = {0};
    buf_puts(&text, "\tmov.u32 %r1, %t;\n\tmov.u32 %r2, %r0;\n");
    for (unsigned i = 0; i < differing; i++)
        buf_puts(&text, "\tadd.u32 %r1, %r1, 3;\n");
    for (unsigned i = 0; i < alike; i++)
        buf_puts(&text, "\tadd.u32 %r2, %r2, 3;\n");
    buf_puts(&text, "\tadd.u32 %r1, %r1, %r2;\n\tst.volatile.global.u32 [%a], %r1;\n");
    return buf_take(arena, &text);
}

/* A form beyond both COARSEN_SIZE and COARSEN_GROWTH is refused; only cloned instructions count. */
static void the_size_has_a_limit(void **state)
{
    (void)state;
    static const CoarsenRequest by_most = {.shape.threads = {1024, 1, 1}},
                                by_growth = {.shape.threads = {COARSEN_GROWTH, 1, 1}};
    static const CoarsenRequest by_more = {.shape.threads = {2 * COARSEN_GROWTH, 1, 1}};
    const unsigned many = COARSEN_SIZE / COARSEN_GROWTH + 500;
    static const char reason[] = "instructions instead of";
    Arena *arena = arena_new();
    check_refused_with("", ".reqntid 1024", long_code(arena, 20, 0), &by_most, reason, NULL);
    check_refused_with("", ".reqntid 1024", long_code(arena, many, 0), &by_more, reason, NULL);
    Try it = try_with("", ".reqntid 1024", long_code(arena, 4, 40), &by_most);
    assert_true(it.done);
    release(it.module);
    it = try_with("", ".reqntid 1024", long_code(arena, many, 0), &by_growth);
    assert_true(it.done);
    release(it.module);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clones),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_warp_level),
        cmocka_unit_test(test_refuses_instructions),
        cmocka_unit_test(test_refuses_masks),
        cmocka_unit_test(test_refuses_waiting),
        cmocka_unit_test(test_waits_for_others),
        cmocka_unit_test(test_lock_free),
        cmocka_unit_test(test_merges_loads),
        cmocka_unit_test(test_refuses_calls),
        cmocka_unit_test(test_refuses_blocks),
        cmocka_unit_test(test_strides), cmocka_unit_test(test_contract),
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(the_size_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
