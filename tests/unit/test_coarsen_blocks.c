/* Coarsening that merges blocks: clones, refusals and their places, the contract. */
#include "coarsened.h"

static const CoarsenRequest four_blocks = {
    .shape.blocks = {4, 1, 1}, .guards = GUARDS_SEQUENTIAL};

static void check_blocks(const char *head, const char *code, Opcode op, size_t count)
{
    Try it = try_with(head, "", code, &four_blocks);
    if (!it.done)
        fail_msg("refused: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    if (count_op(it.body, op) != count)
        fail_msg("%zu %s, not %zu:\n%s", count_op(it.body, op), opcode_name(op), count, code);
    assert_int_equal(it.contract.shape.threads[0], 1);
    assert_int_equal(it.contract.shape.blocks[0], 4);
    assert_false(it.contract.whole_warps);
    release(it.module);
}

/* Merged blocks: memory that threads of one block share stays theirs, and barriers are passed once. */
static void test_blocks(void **state)
{
    (void)state;
    const char *shared = "\t.shared .b32 s[64];\n\tmov.u32 %r1, s;\n\tmad.lo.u32 %r1, %t, 4, %r1;\n"
                         "\tst.shared.u32 [%r1], %t;\n\tbar.sync 0;\n\tld.shared.u32 %r2, [s];\n"
                         "\tst.global.u32 [%a], %r2;\n";
    check_blocks("", shared, OP_BAR, 1);
    check_blocks("", shared, OP_ST, 4 + 4);
    check_blocks("", OWN "\tld.global.u32 %r1, [%d1];\n\tst.global.u32 [%d1+4], %r1;\n", OP_LD, 4 + 4);
    /* a condition on blocks; one on threads; an answer for each block */
    const char *some = "\tmov.u32 %r1, %ctaid.x;\n\tsetp.lt.u32 %p1, %r1, 3;\n\t@%p1 bra L;\n\tbar.sync 0;\nL:\n"
                       "\tst.global.u32 [%a], %r1;\n";
    check_blocks("", some, OP_BAR, 4);
    check_blocks("", "\tsetp.lt.u32 %p1, %t, %r0;\n\tbar.red.popc.u32 %r1, 0, %p1;\n\tst.global.u32 [%a], %r1;\n",
                 OP_BAR, 4); /* in each block, other threads may be left */
    check_blocks("", "\tmov.u32 %r2, %ctaid.x;\n\tsetp.lt.u32 %p1, %t, %r2;\n\tbar.red.popc.u32 %r1, 0, %p1;\n"
                     "\tst.global.u32 [%a], %r1;\n", OP_BAR, 4);
    check_blocks("", "\tbar.sync 0, 64;\n\tbar.arrive 1, 64;\n", OP_BAR, 2);
    check_blocks("", "\tmov.u32 %r1, %warpid;\n\tst.global.u32 [%a], %r1;\n", OP_ST, 4);
    const CoarsenRequest *request = &four_blocks;
    check_refused_with("", "", "\tmov.u32 %r1, %ctaid.x;\n\tsetp.lt.u32 %p1, %t, %r1;\n\t@%p1 bra L;\n"
                       "\tbar.sync 1;\nL:\n\tst.global.u32 [%a], %r1;\n\tbar.sync 0;\n",
                       request, "between the threads of a block", "bar.sync 1");
    check_refused_with(".extern .shared .b32 s[];\n", "", "\tst.shared.u32 [s], %t;\n", request, "a launch as before",
                       "st.shared");
    check_refused_with("", "", "\t.shared .b32 s[8192];\n\tmov.u32 %r1, %ctaid.x;\n\tst.shared.u32 [s], %r1;\n",
                       &(CoarsenRequest){.shape.blocks = {4, 1, 1}, .shrinks_grid = true},
                       "131072 bytes", NULL);
    check_blocks("", "\t.shared .b32 s[8192];\n\tst.shared.u32 [s], %t;\n", OP_ST, 4); /* in turn */
    check_refused_with("", "", "\tst.shared.u32 [%t], %t;\n", request, "does not come from a shared", "st.shared");
    check_refused_with("", "", "\tmov.u32 %r1, %total_smem_size;\n", request, "merging blocks changes", "mov.u32");
    check_refused_with(SM_90, "", "\tmov.u32 %r1, %cluster_ctarank;\n", request, "clusters", "mov.u32");
    check_refused_with(SM_90, "", "\tbarrier.cluster.arrive;\n", request, "clusters", "barrier.cluster");
    check_refused_with(SM_90, " .reqnctapercluster 2", "", request, "form clusters", NULL);
    check_refused_with("", "", "\tmbarrier.arrive.shared.b64 %d1, [%a];\n", request, "counts arrivals", "mbarrier");
    /* masks may name threads that have left: those that stay vote */
    const char *shuffle = "\tshfl.sync.bfly.b32 %r2, %t, 1, 31, -1;\n\tst.global.u32 [%a], %r2;\n";
    check_blocks("", shuffle, OP_SHFL, 4);
    Buf text = {0};
    buf_printf(&text, "\tmov.u32 %%r1, %%ctaid.x;\n\tsetp.lt.u32 %%p1, %%t, %%r1;\n\t@%%p1 ret;\n"
                      "\tadd.u32 %%t, %%t, %%r1;\n\tsetp.eq.u32 %%p2, %%t, 40;\n\t@%%p2 ret;\n%s", shuffle);
    check_blocks("", buf_text(&text), OP_VOTE, 8);
    buf_clear(&text);
    buf_printf(&text, "\tmov.u32 %%r1, %%ctaid.x;\n\tsetp.lt.u32 %%p1, %%t, %%r1;\n\t@%%p1 ret;\n\tbar.sync 0;\n%s"
                      "\tbar.sync 0;\n", shuffle);
    check_blocks("", buf_text(&text), OP_SHFL, 4);
    buf_free(&text);
    /* a block may have learned something that the others have not: its barrier does not tell them */
    check_blocks("", "\tatom.global.add.u32 %r1, [%a], 1;\n\tst.global.u32 [%a+4], %r1;\n\tbar.sync 0;\n"
                     "\tld.global.u32 %r2, [%a+8];\n\tst.global.u32 [%a+12], %r2;\n", OP_LD, 1 + 4);
    /* waiting for another block */
    check_refused_with("", "", "\tmov.u32 %r2, %ctaid.x;\nL:\n\tld.volatile.global.u32 %r1, [%a];\n"
                       "\tsetp.ne.u32 %p1, %r1, %r2;\n\t@%p1 bra L;\n", request, "may wait", "ld.volatile");
    check_refused_with("", "", "\tst.global.u32 [%a], %t;\n",
                       &(CoarsenRequest){.shape.blocks = {2, 1, 1}, .stride = {STRIDE_NUMBER, 8}},
                       "'block' or 'unit' only", NULL);
}

/* If fewer blocks are launched, each has as much dynamic shared memory as the blocks that it replaces. */
static void test_shrunk_grids(void **state)
{
    (void)state;
    static const char *const array = ".extern .shared .align 16 .b32 s[];\n";
    const CoarsenRequest four = {.shape.blocks = {2, 2, 1}, .shrinks_grid = true};
    const CoarsenRequest both = {.shape = {{2, 1, 1}, {1, 3, 1}}, .shrinks_grid = true};
    LaunchCondition conditions[CONTRACT_CONDITIONS];
    Try it = try_with(array, "", OWN "\tst.shared.u32 [s+4], %t;\n\tld.shared.u32 %r1, [s+4];\n"
                      "\tst.global.u32 [%d1], %r1;\n", &four);
    assert_true(it.done);
    assert_true(contract_changes_grid(&it.contract));
    assert_int_equal(it.contract.shape.blocks[0], 2);
    assert_int_equal(it.contract.shape.blocks[1], 2);
    assert_int_equal(it.contract.dynamic_factor, 4);
    assert_int_equal(count_op(it.body, OP_BRA), 0); /* no block is surplus, and none beyond the grid's end */
    assert_int_equal(contract_conditions(&it.contract, conditions), 2);
    assert_string_equal(condition_text(it.module->arena, &conditions[1]), "grid.y is a multiple of 2");
    release(it.module);
    it = try_with("", "", OWN "\tst.global.u32 [%d1], %t;\n", &both);
    assert_true(it.done);
    assert_int_equal(it.contract.shape.threads[0], 2);
    assert_int_equal(it.contract.shape.blocks[1], 3);
    assert_int_equal(it.contract.dynamic_factor, 1);
    assert_int_equal(contract_conditions(&it.contract, conditions), 2);
    release(it.module);
    check_refused_with(array, "", "\tmov.u32 %r1, %dynamic_smem_size;\n\tst.shared.u32 [s], %r1;\n", &four,
                       "merging blocks changes", "mov.u32");
    check_refused_with(array, "", "\tst.shared.u32 s[1], %t;\n", &four, "how 'st.shared.u32' names it", "st.shared");
    check_refused_with(".extern .shared .align 256 .b32 s[];\n", "", "\tst.shared.u32 [s], %t;\n", &four,
                       "aligned to 256 bytes", "st.shared");
    check_refused_with(".extern .shared .align 16 .b32 s[];\n.func f()\n{\n\t.reg .b32 %r;\n"
                       "\tmov.u32 %r, %dynamic_smem_size;\n\tret;\n}\n", "",
                       "\tst.shared.u32 [s], %t;\n\tcall f;\n", &four, "reads %dynamic_smem_size", "call");
    check_refused_with(".func f()\n{\n\t.reg .b32 %r;\n\tmov.u32 %r, %nctaid.x;\n\tret;\n}\n", "",
                       "\tcall f;\n", &four, "reads %nctaid.x", "call");
}

static void check_arrays(const char *code, bool shrinks_grid, size_t arrays, size_t barriers)
{
    const CoarsenRequest four = {.shape.blocks = {4, 1, 1}, .shrinks_grid = shrinks_grid};
    Buf text = {0};
    buf_printf(&text, "\t.shared .b32 s[64];\n\tmov.u32 %%r1, s;\n\tmad.lo.u32 %%r1, %%t, 4, %%r1;\n%s", code);
    Try it = try_with("", "", buf_text(&text), &four);
    size_t found = 0;
    if (!it.done)
        fail_msg("refused: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    for (size_t i = 0; i < it.body->variables.count; i++)
        found += it.body->variables.data[i]->space == SPACE_SHARED;
    if (found != arrays || count_op(it.body, OP_BAR) != barriers)
        fail_msg("%zu arrays and %zu barriers, not %zu and %zu:\n%s", found, count_op(it.body, OP_BAR), arrays,
                 barriers, code);
    release(it.module);
    buf_free(&text);
}

/* An array that merged blocks fill alike is shared by all; if they run in turn, they may use it in turn. */
static void test_common_arrays(void **state)
{
    (void)state;
#define BAR "\tbar.sync 0;\n"
#define LOOK_UP BAR "\tld.shared.u32 %r2, [s];\n\tst.global.u32 [%a], %r2;\n"
#define BLOCK "\tmov.u32 %r3, %ctaid.x;\n"
    check_arrays("\tst.shared.u32 [%r1], %t;\n" LOOK_UP, true, 1, 1);
    check_arrays("\tst.shared.u32 [%r1], %t;\n" BAR BLOCK "\tand.b32 %r3, %r3, 3;\n\tmad.lo.u32 %r3, %r3, 4, %r1;\n"
                 "\tld.shared.u32 %r2, [%r3];\n\tst.global.u32 [%a], %r2;\n", true, 1, 1);
    /* the difference: the value, the place, the condition */
    check_arrays(BLOCK "\tst.shared.u32 [%r1], %r3;\n" LOOK_UP, true, 4, 1);
    check_arrays(BLOCK "\tmad.lo.u32 %r3, %r3, 4, %r1;\n\tst.shared.u32 [%r3], 1;\n" LOOK_UP, true, 4, 1);
    check_arrays(BLOCK "\tsetp.lt.u32 %p1, %r3, 2;\n\t@%p1 st.shared.u32 [%r1], 1;\n" LOOK_UP, true, 4, 1);
    /* a copy of a load that would come after the store */
#define NEAR BLOCK "\tand.b32 %r3, %r3, 3;\n\tmad.lo.u32 %r4, %r3, 4, %r1;\n"
#define TURN "\tld.shared.u32 %r2, [%r4];\n\tst.shared.u32 [%r1], %t;\n"
#define SEE "\tst.global.u32 [%a], %r2;\n\tst.global.u32 [%a+4], %r5;\n"
    check_arrays(NEAR TURN "\tadd.cc.u32 %r5, %r3, 5;\n\taddc.u32 %r5, %r3, 0;\n" SEE LOOK_UP, true, 4, 1);
    check_arrays(NEAR "\tadd.cc.u32 %r5, %r3, 5;\n" TURN "\taddc.u32 %r5, %r3, 0;\n" SEE LOOK_UP, true, 4, 1);
    check_arrays(NEAR TURN "\tadd.u32 %r5, %r3, 5;\n" SEE LOOK_UP, true, 1, 1);
    /* allowed uses of the array elsewhere */
    check_arrays("\tst.shared.u32 [%r1], %t;\n\tst.shared.u32 [%r1+4], %r1;\n" LOOK_UP, true, 4, 1);
    check_arrays("\tst.shared.u32 [%r1], %t;\n\tst.global.u32 [%a+8], %r1;\n" LOOK_UP, true, 4, 1);
    check_arrays("\tst.shared.u32 [%r1], %t;\n\tred.shared.add.u32 [%r1], 1;\n" LOOK_UP, true, 4, 1);
    check_arrays("\tst.volatile.shared.u32 [%r1], %t;\n" LOOK_UP, true, 4, 1);
    check_arrays("\tst.shared.u32 [%r1], %t;\n\tcvt.u64.u32 %d1, %r1;\n\tcvta.shared.u64 %d1, %d1;\n"
                 "\tst.u32 [%d1], %t;\n" LOOK_UP, true, 4, 1);
    /* in turn, in the copies beside the fast path, with a barrier between them; not if nothing writes to it */
    check_arrays("\tst.shared.u32 [%r1], %t;\n" LOOK_UP, false, 1, 1 + 4 + 3);
    check_arrays(LOOK_UP, false, 1, 1 + 4);
    check_arrays(BLOCK "\tst.shared.u32 [%r1], %r3;\n" LOOK_UP, false, 4, 1 + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_shrunk_grids),
        cmocka_unit_test(test_common_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
