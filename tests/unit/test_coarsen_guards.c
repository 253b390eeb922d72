/* Coarsening of code under conditions that merged threads decide alone: copies in a row, fast paths, predication. */
#include "coarsened.h"

static Try try_guards(const char *code, unsigned factor, GuardForm guards, unsigned growth)
{
    CoarsenRequest request = {.shape.threads = {factor, 1, 1}, .guards = guards, .growth = growth};
    Try it = try_with("", "", code, &request);
    if (!it.done)
        fail_msg("refused: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    return it;
}

static size_t count_guarded(const char *code, unsigned factor, GuardForm guards, unsigned growth, Opcode op)
{
    Try it = try_guards(code, factor, guards, growth);
    size_t count = count_op(it.body, op);
    release(it.module);
    return count;
}

/* The most loads that come before the first store on a path through the code; there are no loops. */
static unsigned loads_before_store(const Body *body)
{
    unsigned most = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        unsigned loads = 0;
        for (const Inst *inst = body->blocks.data[b]->first; inst && inst_op(inst) != OP_ST; inst = inst->next)
            loads += inst_op(inst) == OP_LD && !inst_has(inst, MOD_PARAM);
        most = loads > most ? loads : most;
    }
    return most;
}

static const char vectoradd[] = "\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 ret;\n" OWN
                                "\tld.global.u32 %r1, [%d1];\n\tld.global.u32 %r2, [%d1+4096];\n"
                                "\tadd.u32 %r1, %r1, %r2;\n\tst.global.u32 [%d1+8192], %r1;\n";

static void test_fast_paths(void **state)
{
    (void)state;
    Try it = try_guards(vectoradd, 4, GUARDS_FAST, 0);
    assert_int_equal(loads_before_store(it.body), 8);
    assert_int_equal(count_op(it.body, OP_ST), 4 + 4);
    release(it.module);
    assert_int_equal(count_guarded(vectoradd, 4, GUARDS_AUTO, 0, OP_ST), 4); /* it is short enough to be predicated */
    assert_int_equal(count_guarded(vectoradd, 4, GUARDS_SEQUENTIAL, 0, OP_ST), 4);
    assert_int_equal(count_guarded(vectoradd, 4, GUARDS_FAST, 1, OP_ST), 4);
    /* a condition within the fast path has its own, with copies in a row beside it; others are beside the fast path */
    const char *nested = "\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 ret;\n" OWN "\tld.global.u32 %r1, [%d1];\n"
                         "\tsetp.ge.u32 %p2, %r1, 9;\n\t@%p2 bra L;\n\tbrev.b32 %r1, %r1;\nL:\n"
                         "\tst.global.u32 [%d1], %r1;\n";
    assert_int_equal(count_guarded(nested, 2, GUARDS_FAST, 8, OP_BREV), 2 + 2 + 2);
    /* values that all replicas share are computed once on the fast path */
    const char *uniform = "\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 ret;\n" OWN "\tld.global.u32 %r1, [%d1];\n"
                          "\tmov.u32 %r2, 0;\nL:\n\tbrev.b32 %r3, %r2;\n\tadd.u32 %r1, %r1, %r3;\n"
                          "\tadd.u32 %r2, %r2, 1;\n\tsetp.lt.u32 %p2, %r2, %r0;\n\t@%p2 bra L;\n"
                          "\tst.global.u32 [%d1], %r1;\n";
    assert_int_equal(count_guarded(uniform, 4, GUARDS_FAST, 0, OP_BREV), 1 + 4);
    /* both sides */
    const char *sides = OWN "\tmov.u32 %r1, 0;\n\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 bra E;\n\tbrev.b32 %r1, %t;\n"
                            "\tbra J;\nE:\n\tpopc.b32 %r1, %t;\nJ:\n\tst.global.u32 [%d1], %r1;\n";
    assert_int_equal(count_guarded(sides, 2, GUARDS_FAST, 0, OP_BREV), 4);
    assert_int_equal(count_guarded(sides, 2, GUARDS_AUTO, 0, OP_BREV), 2); /* it reads nothing */
    /* threads of a warp that part at the test would not meet at a shuffle */
    const char *shuffle = "\tsetp.lt.u32 %p1, %t, 64;\n\t@%p1 bra L;\n\tshfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nL:\n";
    assert_int_equal(count_guarded(shuffle, 2, GUARDS_FAST, 0, OP_SHFL), 2);
}

static const char bits_reversed_20_times[] =
    "\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n"
    "\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n"
    "\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n"
    "\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n\tbrev.b32 %r1, %r1;\n";

/* 'times': the copies, for four replicas, of the repeated code between 'before' and 'after': four on the fast path, and
 * one or four beside it. */
static void check_slow(const char *before, unsigned repeated, const char *after, unsigned times)
{
    Buf code = {0};
    buf_puts(&code, before);
    for (unsigned i = 0; i < repeated; i++)
        buf_puts(&code, bits_reversed_20_times);
    buf_puts(&code, after);
    size_t count = count_guarded(buf_text(&code), 4, GUARDS_FAST, 0, OP_BREV);
    if (count != (size_t)20 * repeated * times)
        fail_msg("%zu instructions in:\n%s", count, buf_text(&code));
    buf_free(&code);
}

static void test_slow_paths(void **state)
{
    (void)state;
    const char *end = "\tst.global.u32 [%d1], %r1;\n";
    const char *guard = OWN "\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 ret;\n\tld.global.u32 %r1, [%d1];\n";
    check_slow(guard, 1, end, 4 + 1);
    /* a result, which the loop collects for each replica: too much for so short a region */
    const char *result = OWN "\tmov.u32 %r1, 0;\n\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 bra L;\n"
                             "\tld.global.u32 %r1, [%d1];\n";
    check_slow(result, 1, "L:\n\tst.global.u32 [%d1], %r1;\n", 4 + 4);
    check_slow(result, 4, "L:\n\tst.global.u32 [%d1], %r1;\n", 4 + 1);
    /* a loaded value cannot be computed again, but moves up */
    const char *loaded = OWN "\tld.global.u32 %r1, [%d1];\n\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 ret;\n";
    check_slow(loaded, 1, end, 4 + 4);
    check_slow(loaded, 4, end, 4 + 1);
}

static size_t count_guards(const Body *body, Opcode op)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            count += inst_op(inst) == op && inst->guard != REF_NONE;
    return count;
}

static void check_predicated(const char *code, Opcode op, size_t guarded, size_t all, size_t branches)
{
    Try it = try_guards(code, 4, GUARDS_PREDICATED, 0);
    size_t found[3] = {count_guards(it.body, op), count_op(it.body, op), count_guards(it.body, OP_BRA)};
    if (found[0] != guarded || found[1] != all || found[2] != branches)
        fail_msg("%zu of %zu %s are guarded, and %zu branches:\n%s", found[0], found[1], opcode_name(op), found[2],
                 code);
    release(it.module);
}

static void test_predication(void **state)
{
    (void)state;
    check_predicated(vectoradd, OP_ST, 4, 4, 0);
    Try it = try_guards(vectoradd, 4, GUARDS_PREDICATED, 0);
    assert_int_equal(loads_before_store(it.body), 8);
    release(it.module);
    /* a value that cannot fault is computed by all, and selected; once, if it is uniform */
    const char *select = OWN "\tmov.u32 %r1, %t;\n\tsetp.ge.u32 %p1, %t, 9;\n\t@%p1 bra L;\n\tbrev.b32 %r1, %t;\nL:\n"
                             "\tst.global.u32 [%d1], %r1;\n";
    check_predicated(select, OP_BREV, 0, 4, 0);
    check_predicated(select, OP_SELP, 0, 4, 0);
    const char *uniform = OWN "\tmov.u32 %r1, %t;\n\tsetp.ge.u32 %p1, %t, 9;\n\t@%p1 bra L;\n\tbrev.b32 %r1, %r0;\nL:\n"
                              "\tst.global.u32 [%d1], %r1;\n";
    check_predicated(uniform, OP_BREV, 0, 1, 0);
    /* a value computed from a guarded load is guarded, and selected by a guarded mov */
    const char *loaded = OWN "\tmov.u32 %r1, %t;\n\tsetp.ge.u32 %p1, %t, 9;\n\t@%p1 bra L;\n"
                             "\tld.global.u32 %r2, [%d1+4];\n\tbrev.b32 %r1, %r2;\nL:\n\tst.global.u32 [%d1], %r1;\n";
    check_predicated(loaded, OP_BREV, 4, 4, 0);
    check_predicated(loaded, OP_SELP, 0, 0, 0);
    check_predicated(loaded, OP_MOV, 4, 4 + 2, 0); /* the index and the block's size */
    /* two sides */
    const char *sides = OWN "\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 bra E;\n\tbrev.b32 %r1, %t;\n\tbra J;\nE:\n"
                            "\tpopc.b32 %r1, %t;\nJ:\n\tst.global.u32 [%d1], %r1;\n";
    check_predicated(sides, OP_SELP, 0, 4, 0);
    /* each thread counts once, if it counts */
    check_predicated("\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 bra L;\n\tred.global.add.u32 [%a], 1;\nL:\n", OP_RED, 4, 4,
                     0);
    /* calls, loops and inner branches stay under a branch */
    Try loop = try_guards("\tsetp.ge.u32 %p1, %t, %r0;\n\t@%p1 bra L;\n\tmov.u32 %r1, 0;\nM:\n"
                          "\tadd.u32 %r1, %r1, 1;\n\tred.global.add.u32 [%a], %r1;\n\tsetp.lt.u32 %p2, %r1, %t;\n"
                          "\t@%p2 bra M;\nL:\n",
                          2, GUARDS_PREDICATED, 1);
    assert_int_equal(count_guards(loop.body, OP_RED), 0);
    release(loop.module);
}

/* Loops that replicas leave at different times. */
static void test_joint_loops(void **state)
{
    (void)state;
    const char *at_end = OWN "\tmov.u32 %r1, 0;\nL:\n\tbrev.b32 %r2, %r1;\n\tadd.u32 %r1, %r1, 1;\n"
                             "\tst.global.u32 [%d1], %r2;\n\tsetp.lt.u32 %p1, %r1, %t;\n\t@%p1 bra L;\n";
    assert_int_equal(count_guarded(at_end, 2, GUARDS_FAST, 0, OP_BREV), 1 + 2); /* one for all in the joint loop */
    assert_int_equal(count_guarded(at_end, 2, GUARDS_FAST, 0, OP_ST), 2 + 2);
    const char *at_header = OWN "\tmov.u32 %r1, 0;\nL:\n\tsetp.ge.u32 %p1, %r1, %t;\n\t@%p1 bra M;\n"
                                "\tbrev.b32 %r2, %r1;\n\tadd.u32 %r1, %r1, 1;\n\tst.global.u32 [%d1], %r2;\n"
                                "\tbra L;\nM:\n";
    assert_int_equal(count_guarded(at_header, 2, GUARDS_FAST, 0, OP_BREV), 1 + 2);
    /* a header that counts each time cannot be executed again */
    const char *counts = OWN "\tmov.u32 %r1, 0;\nL:\n\tred.global.add.u32 [%a], 1;\n\tsetp.ge.u32 %p1, %r1, %t;\n"
                             "\t@%p1 bra M;\n\tbrev.b32 %r2, %r1;\n\tadd.u32 %r1, %r1, 1;\n"
                             "\tst.global.u32 [%d1], %r2;\n\tbra L;\nM:\n";
    assert_int_equal(count_guarded(counts, 2, GUARDS_FAST, 0, OP_BREV), 2);
    /* nor can two exits be told apart afterwards */
    const char *two = OWN "\tmov.u32 %r1, 0;\nL:\n\tsetp.gt.u32 %p1, %r1, %t;\n\t@%p1 bra M;\n"
                          "\tbrev.b32 %r2, %r1;\n\tadd.u32 %r1, %r1, 1;\n\tst.global.u32 [%d1], %r2;\n"
                          "\tsetp.lt.u32 %p2, %r2, %t;\n\t@%p2 bra L;\nM:\n";
    assert_int_equal(count_guarded(two, 2, GUARDS_FAST, 0, OP_BREV), 2);
}

/* A barrier that combines: one for the predicates of all replicas; a count of each. */
static void test_combines(void **state)
{
    (void)state;
    const char *any = "\tsetp.lt.u32 %p1, %t, 5;\n\tbar.red.or.pred %p2, 0, %p1;\n\t@!%p2 bra L;\n"
                      "\tst.global.u32 [%a], %r0;\nL:\n";
    check_count(any, OP_BAR, 1);
    check_count(any, OP_OR, 3);
    check_count(any, OP_ST, 1);
    check_count("\tsetp.lt.u32 %p1, %t, 5;\n\tbar.red.or.pred %p2, 0, !%p1;\n\t@%p2 st.global.u32 [%a], %r0;\n", OP_AND,
                3);
    check_count("\tsetp.lt.u32 %p1, %t, 5;\n\tbar.red.and.pred %p2, 0, !%p1;\n\t@%p2 st.global.u32 [%a], %r0;\n", OP_OR,
                3);
    check_count("\tsetp.lt.u32 %p1, %t, 5;\n\tbarrier.red.and.pred %p2, 0, %p1;\n\t@%p2 st.global.u32 [%a], %r0;\n",
                OP_AND, 3);
    check_count("\tsetp.lt.u32 %p1, %r0, 5;\n\tbar.red.and.pred %p2, 0, %p1;\n\t@%p2 st.global.u32 [%a], %r0;\n",
                OP_AND, 0);
    const char *count = "\tsetp.lt.u32 %p1, %t, 5;\n\tbar.red.popc.u32 %r1, 0, %p1;\n\tst.global.u32 [%a], %r1;\n";
    check_count(count, OP_BAR, 4);
    check_count(count, OP_ADD, 3 + 3); /* three for the indices */
    const char *same = "\tsetp.lt.u32 %p1, %r0, 5;\n\tbar.red.popc.u32 %r1, 0, %p1;\n\tst.global.u32 [%a], %r1;\n";
    check_count(same, OP_BAR, 1);
    check_count(same, OP_MUL, 1);
    Try it = try_with(SM_90, "", "\tgriddepcontrol.wait;\n" OWN "\tst.global.u32 [%d1], %t;\n"
                                 "\tgriddepcontrol.launch_dependents;\n", &by_four);
    assert_true(it.done);
    assert_int_equal(count_op(it.body, OP_GRIDDEPCONTROL), 2);
    assert_int_equal(count_op(it.body, OP_ST), 4);
    release(it.module);
    it = try_with(SM_90, "", "\tsetp.lt.u32 %p1, %t, 5;\n\t@%p1 ret;\n\tgriddepcontrol.wait;\n", &by_four);
    assert_true(it.done);
    assert_int_equal(count_op(it.body, OP_GRIDDEPCONTROL), 4);
    release(it.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_paths),
        cmocka_unit_test(test_slow_paths),
        cmocka_unit_test(test_predication),
        cmocka_unit_test(test_joint_loops),
        cmocka_unit_test(test_combines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
