/* Memory dependence, pair by pair and as graphs. */
#include "test_analysis.h"

enum { LONGEST = 700 };

static bool graph_reaches(const BitSet *below, uint32_t from, uint32_t to)
{
    return bitset_has(&below[from], to);
}

static void check_graph(Arena *arena, const MemoryModel *model, const Block *block)
{
    DependenceGraph *graph = block_dependences(arena, model, block);
    uint32_t count = 0;
    for (Inst *inst = block->first; inst; inst = inst->next, count++) {
        assert_int_equal(inst->id, count);
        assert_ptr_equal(graph->insts[count], inst);
    }
    assert_int_equal(graph->count, count);
    if (count > LONGEST)
        return;
    BitSet *below = ARENA_ARRAY(arena, BitSet, count + 1);
    for (uint32_t i = count; i-- > 0;) {
        below[i] = bitset_new(arena, count);
        for (uint32_t e = graph->succ_start[i]; e < graph->succ_start[i + 1]; e++) {
            uint32_t to = graph->succs[e].node;
            assert_true(to > i && to < count);
            bitset_add(&below[i], to);
            bitset_union(&below[i], &below[to]);
            bool version_differs = graph->succs[e].kind == DEPENDENCE_MEMORY && !model->affine;
            if (!version_differs && insts_may_swap(model, graph->insts[i], graph->insts[to]) && count < 60)
                fail_msg("an edge of kind %u that nothing asks for", graph->succs[e].kind);
        }
    }
    uint32_t back = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t e = graph->pred_start[i]; e < graph->pred_start[i + 1]; e++, back++)
            assert_true(graph_reaches(below, graph->preds[e].node, i));
    assert_int_equal(back, graph->succ_start[count]);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (!insts_may_swap(model, graph->insts[i], graph->insts[j]) && !graph_reaches(below, i, j)) {
                Arena *names = arena_new();
                fail_msg("%s and %s are not kept in order", inst_spelling(names, graph->insts[i]),
                         inst_spelling(names, graph->insts[j]));
            }
}

static void check_body(Body *body)
{
    Analyses *analyses = analyses_new(body);
    const MemoryModel *model = analyses_memory(analyses);
    for (size_t i = 0; i < body->blocks.count; i++) {
        Arena *arena = arena_new();
        check_graph(arena, model, body->blocks.data[i]);
        arena_free(arena);
    }
    analyses_free(analyses);
}

static void test_corpus(void **state)
{
    (void)state;
    each_body("corpus/*/*.ptx", check_body);
    each_body("tests/isa/examples/k-*.ptx", check_body);
}

typedef struct Pair {
    const char *first, *second;
    bool may_swap;
} Pair;

static const Pair pairs[] = {
    /* spaces */
    {"st.global.u32 [%p], %a", "ld.shared.u32 %b, [tile]", true},
    {"st.shared.u32 [tile], %a", "ld.local.u32 %b, [mine]", true},
    {"st.global.u32 [%p], %a", "ld.u32 %b, [%q]", false},
    {"st.u32 [%q], %a", "ld.shared.u32 %b, [tile]", false},
    {"st.global.u32 [%p], %a", "ld.const.u32 %b, [table]", true},
    {"st.global.u32 [%p], %a", "ld.param.u32 %b, [n]", true},
    {"st.global.u32 [%p], %a", "ld.global.nc.u32 %b, [%p]", true},
    {"st.u32 [%gs], %a", "ld.global.u32 %b, [%p]", true},
    {"st.u32 [%gs], %a", "ld.shared.u32 %b, [tile]", false},
    {"st.u32 [%q], %a", "ld.global.u32 %b, [%q+4]", true},
    {"st.u32 [%q0], %a", "ld.shared.u32 %b, [%q0+4]", false},
    /* addresses */
    {"st.global.u32 [%p], %a", "ld.global.u32 %b, [%p+4]", true},
    {"st.global.u32 [%p], %a", "ld.global.u32 %b, [%p+2]", false},
    {"st.global.u64 [%p], %q", "ld.global.u32 %b, [%p+4]", false},
    {"st.global.u32 [%p+4], %a", "ld.global.v2.u32 {%b, %c}, [%p]", false},
    {"st.global.u32 [%p+8], %a", "ld.global.v2.u32 {%b, %c}, [%p]", true},
    {"st.global.u32 [%p], %a", "ld.global.u32 %b, [%q]", false},
    {"st.global.u32 [%p], %a", "st.global.u32 [%p+4], %c", true},
    {"st.global.u32 [%p], %a", "st.global.u32 [%p], %c", false},
    {"ld.global.u32 %b, [%p]", "ld.global.u32 %c, [%p]", true},
    {"ld.global.u32 %b, [%p]", "st.global.u32 [%p], %a", false},
    {"st.shared.u32 [tile], %a", "ld.shared.u32 %b, [other]", true},
    {"st.shared.u32 [tile], %a", "ld.shared.u32 %b, [tile+4]", true},
    {"st.shared.u32 [tile], %a", "ld.shared.u32 %b, [%s]", false},
    {"st.shared.u32 [other], %a", "ld.shared.u32 %b, [%s]", true},
    {"st.shared.u32 [dynamic], %a", "ld.shared.u32 %b, [dynamic2]", false},
    {"st.shared.u32 [dynamic], %a", "ld.shared.u32 %b, [tile]", false},
    {"st.shared.u32 [%s], %a", "ld.shared.u32 %b, [%s8+4]", true},
    {"st.shared.u32 [%s], %a", "ld.shared.u32 %b, [%s8+8]", false},
    {"st.shared.u32 [%s], %a", "ld.shared.u32 %b, [%far]", true},
    /* synchronisation */
    {"ld.global.u32 %b, [%p]", "bar.sync 0", false},
    {"bar.sync 0", "ld.shared.u32 %b, [tile]", false},
    {"bar.sync 0", "ld.global.nc.u32 %b, [%p]", true},
    {"griddepcontrol.wait", "ld.global.nc.u32 %b, [%p]", false},
    {"ld.global.nc.u32 %b, [%p]", "griddepcontrol.wait", false},
    {"tex.1d.v4.u32.s32 {%b, %c, %t, %far}, [image, {%a}]", "griddepcontrol.wait", false},
    {"griddepcontrol.launch_dependents", "st.global.u32 [%p], %a", false},
    {"bar.sync 0", "ld.param.u32 %b, [n]", true},
    {"bar.sync 0", "add.u32 %b, %a, 1", true},
    {"bar.sync 0", "bar.sync 0", false},
    {"membar.gl", "st.global.u32 [%p], %a", false},
    {"atom.global.add.u32 %b, [%p], 1", "ld.shared.u32 %c, [tile]", false},
    {"red.global.add.u32 [%p], 1", "red.global.add.u32 [%p+4], 1", false},
    {"ld.acquire.gpu.global.u32 %b, [%p]", "ld.global.u32 %c, [%q]", false},
    {"shfl.sync.idx.b32 %b, %a, 0, 31, -1", "shfl.sync.idx.b32 %c, %a, 1, 31, -1", false},
    {"shfl.sync.idx.b32 %b, %a, 0, 31, -1", "add.u32 %c, %a, 1", true},
    {"cp.async.ca.shared.global [%s], [%p], 4", "ld.shared.u32 %b, [tile]", false},
    /* volatile */
    {"ld.volatile.global.u32 %b, [%p]", "ld.volatile.shared.u32 %c, [tile]", false},
    {"ld.volatile.global.u32 %b, [%p]", "ld.global.u32 %c, [%p]", true},
    {"mov.u32 %b, %clock", "mov.u32 %c, %clock", false},
    {"mov.u32 %b, %clock", "ld.global.u32 %c, [%p]", true},
    {"mov.u32 %b, %clock", "bar.sync 0", false},
    {"nanosleep.u32 100", "ld.global.u32 %c, [%p]", false},
    {"mov.u32 %b, %tid.x", "bar.sync 0", true},
    /* carry */
    {"add.cc.u32 %b, %a, 1", "addc.u32 %c, %a, 0", false},
    {"add.cc.u32 %b, %a, 1", "add.cc.u32 %c, %a, 2", false},
    {"addc.u32 %b, %a, 1", "addc.u32 %c, %a, 2", true},
    {"addc.u32 %b, %a, 1", "add.cc.u32 %c, %a, 2", false},
    {"addc.u32 %b, %a, 1", "add.u32 %c, %a, 2", true},
    /* calls, traps */
    {"call callee", "st.global.u32 [%p], %a", false},
    {"call callee", "ld.global.nc.u32 %b, [%p]", false},
    {"call callee", "add.u32 %b, %a, 1", true},
    {"add.cc.u32 %b, %a, 1", "call callee", false},
    {"trap", "st.global.u32 [%p], %a", false},
    {"ld.global.nc.u32 %b, [%p]", "trap", false},
    {"trap", "ld.global.nc.u32 %b, [%p]", false},
    {"add.u32 %b, %a, 1", "trap", true},
    {"brkpt", "st.global.u32 [%p], %a", false},
    /* registers */
    {"add.u32 %b, %a, 1", "add.u32 %c, %b, 1", false},
    {"add.u32 %b, %a, 1", "add.u32 %c, %a, 1", true},
    {"st.global.u32 [%p], %a", "frobnicate.u32 %c, %a", false},
};

static const char *swap_text(const char *first, const char *second, Buf *text)
{
    buf_clear(text);
    buf_puts(text, ".global .texref image;\n"
                   ".const .align 4 .b8 table[64];\n.shared .align 8 .b8 tile[1024];\n.shared .align 4 .b8 other[64];\n"
                   ".extern .shared .align 4 .b8 dynamic[];\n.extern .shared .align 4 .b8 dynamic2[];\n"
                   ".extern .func callee;\n"
                   ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"
                   ".reg .u32 %a, %b, %c, %s, %t, %i, %s8, %x8, %far; .reg .u64 %p, %q, %q0, %gs, %ts;\n"
                   ".local .align 4 .b8 mine[16];\n"
                   "ld.param.u64 %p, [p]; ld.param.u64 %q0, [q]; cvta.to.global.u64 %q, %q0; ld.param.u32 %a, [n];\n"
                   "mov.u64 %ts, tile; cvta.shared.u64 %gs, %ts; mov.u32 %t, tile; mov.u32 %i, %tid.x;\n"
                   "shl.b32 %s, %a, 3; add.u32 %s, %t, %s; ld.param.u32 %s8, [n]; mul.lo.u32 %x8, %i, 8;\n"
                   "mad.lo.u32 %s8, %s8, 16, %x8; add.u32 %s8, %s8, %t;\n"
                   "add.u32 %far, %s, 512;\n");
    buf_printf(text, "%s;\n%s;\nret;\n}\n", first, second);
    return text->data;
}

static void test_pairs(void **state)
{
    (void)state;
    Buf text = {0};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const Pair *pair = &pairs[i];
        Body *body = body_parse(swap_text(pair->first, pair->second, &text));
        Analyses *analyses = analyses_new(body);
        Inst *second = body->blocks.data[body->blocks.count - 1]->last->prev, *first = second->prev;
        if (insts_may_swap(analyses_memory(analyses), first, second) != pair->may_swap)
            fail_msg("'%s' and '%s' may %sbe exchanged", pair->first, pair->second, pair->may_swap ? "not " : "");
        assert_false(insts_may_swap(analyses_memory(analyses), second, second->next));
        analyses_free(analyses);
        check_body(body);
        body_drop(body);
    }
    buf_free(&text);
}

/* A wait makes registers valid: no use crosses it. */
static void test_late_results(void **state)
{
    (void)state;
    static const char text[] = ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 d)\n{\n"
                               ".reg .f32 %f<5>, %g; .reg .u64 %d;\n"
                               "ld.param.u64 %d, [d]; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0;\n"
                               "mov.f32 %f3, %f0;\n"
                               "wgmma.fence.sync.aligned;\n"
                               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                               "{%f0, %f1, %f2, %f3}, %d, %d, 1, 1, 1, 0, 0;\n"
                               "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                               "add.f32 %g, %f0, %f1;\nret;\n}\n";
    Arena *arena = arena_new();
    Module *module = module_parse(arena, "test.ptx", text, strlen(text));
    const char *reason = NULL;
    Body *body = body_build(module_find_function(module, "k"), &reason);
    assert_non_null(body);
    body_to_ssa(body);
    MemoryModel *model = memory_model_new(arena, body, NULL);
    assert_true(model->late_results);
    assert_false(insts_may_swap(model, inst_nth(body, "wgmma", 3), inst_nth(body, "add", 0)));
    body_free(body);
    arena_free(arena);
}

/* The edges of a block with many accesses that are all known to be disjoint, or none of them. */
static uint32_t long_block_edges(bool apart, unsigned accesses)
{
    Buf text = {0};
    buf_printf(&text, ".visible .entry k(.param .u64 p)\n{\n.reg .u64 %%p, %%q<%u>; .reg .u32 %%r<%u>;\n", accesses,
               accesses);
    buf_puts(&text, "ld.param.u64 %p, [p];\n");
    for (unsigned i = 0; i < accesses; i++)
        if (apart)
            buf_printf(&text, "ld.global.u32 %%r%u, [%%p+%u];\nst.global.u32 [%%p+%u], %%r%u;\n", i, i * 8, i * 8 + 4,
                       i);
        else
            buf_printf(&text, "ld.global.nc.u64 %%q%u, [%%p+%u];\nld.global.u32 %%r%u, [%%q%u];\n"
                              "st.global.u32 [%%q%u+4], %%r%u;\n", i, i * 8, i, i, i, i);
    buf_puts(&text, "ret;\n}\n");
    Body *body = body_parse(text.data);
    Analyses *analyses = analyses_new(body);
    Arena *arena = arena_new();
    DependenceGraph *graph = block_dependences(arena, analyses_memory(analyses), body->blocks.data[0]);
    uint32_t edges = graph->succ_start[graph->count];
    arena_free(arena);
    analyses_free(analyses);
    body_drop(body);
    buf_free(&text);
    return edges;
}

/* More accesses than the graph remembers, all apart, and one that touches the memory of the first. */
static void check_forgotten_access(const char *early, const char *late)
{
    Buf text = {0};
    buf_puts(&text, ".visible .entry k(.param .u64 p)\n{\n.reg .u64 %p; .reg .u32 %a, %b<400>;\n"
                    "ld.param.u64 %p, [p]; mov.u32 %a, 1;\n");
    for (unsigned i = 0; i < 300; i++)
        if (!strcmp(early, "ld"))
            buf_printf(&text, "ld.global.u32 %%b%u, [%%p+%u];\n", i, 8 * i);
        else
            buf_printf(&text, "st.global.u32 [%%p+%u], %%a;\n", 8 * i);
    buf_printf(&text, "%s;\nret;\n}\n", late);
    Body *body = body_parse(text.data);
    check_body(body);
    body_drop(body);
    buf_free(&text);
}

static void test_long_block(void **state)
{
    (void)state;
    check_forgotten_access("st", "ld.global.u32 %b0, [%p]");
    check_forgotten_access("st", "st.global.u32 [%p+8], %a");
    check_forgotten_access("ld", "st.global.u32 [%p], %a");
    /* The last of them, and one in the middle. */
    check_forgotten_access("st", "ld.global.u32 %b0, [%p+2392]");
    check_forgotten_access("ld", "st.global.u32 [%p+2392], %a");
    check_forgotten_access("st", "st.global.u32 [%p+2200], %a");
    /* A load needs the pointer, a store the pointer and the load, the end the stores. */
    assert_int_equal(long_block_edges(true, 250), 250 * 4);
    assert_true(long_block_edges(true, 4000) < 4000 * 1000);
    assert_true(long_block_edges(false, 4000) < 4000 * 1000);
}

/* A store hides the accesses that it overwrites: no edge skips it. */
static void test_covered(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 p)\n{\n.reg .u32 %a, %b; .reg .u64 %p;\n"
                            "ld.param.u64 %p, [p]; mov.u32 %a, 1;\n"
                            "st.global.u32 [%p], %a; ld.global.u32 %b, [%p]; st.global.u32 [%p], %b;\n"
                            "ld.global.u32 %b, [%p]; st.global.u16 [%p], %b; ld.global.u32 %b, [%p];\n"
                            "ret;\n}\n");
    Analyses *analyses = analyses_new(body);
    Arena *arena = arena_new();
    DependenceGraph *graph = block_dependences(arena, analyses_memory(analyses), body->blocks.data[0]);
    static const int expected[9] = {0, 0, 2, 2, 3, 2, 3, 3, 1};
    for (uint32_t i = 0; i < graph->count; i++)
        assert_int_equal(graph->pred_start[i + 1] - graph->pred_start[i], expected[i]);
    arena_free(arena);
    analyses_free(analyses);
    body_drop(body);
}

/* It does not hide those of another space, which more accesses may touch. */
static void test_covered_in_another_space(void **state)
{
    (void)state;
    static const char *const words[] = {"st.u32 [%q], %a; st.global.u32 [%q], %a",
                                        "st.global.u32 [%q], %a; st.u32 [%q], %a",
                                        "ld.u32 %b, [%q]; st.global.u32 [%q], %a"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        Buf text = {0};
        Body *body = body_parse(swap_text(words[i], "st.shared.u32 [%s], %c", &text));
        check_body(body);
        body_drop(body);
        buf_free(&text);
    }
}

static void test_cache(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u64 p)\n{\n.reg .u32 %x, %y; .reg .u64 %p;\n"
                            "ld.param.u64 %p, [p]; mov.u32 %x, %tid.x; add.u32 %y, %x, 1;\n"
                            "st.global.u32 [%p], %y;\nret;\n}\n");
    Analyses *analyses = analyses_new(body);
    const Dominance *dominance = analyses_dominance(analyses);
    const Liveness *liveness = analyses_liveness(analyses);
    assert_ptr_equal(analyses_dominance(analyses), dominance);
    assert_ptr_equal(analyses_liveness(analyses), liveness);
    const Variance *variance = analyses_variance(analyses, VARIANCE_X, NULL);
    assert_ptr_equal(analyses_variance(analyses, VARIANCE_X, &(VarianceOptions){0}), variance);
    assert_true(analyses_variance(analyses, VARIANCE_X, &(VarianceOptions){.merge_loads = true})->options.merge_loads);
    assert_non_null(analyses_loops(analyses));
    assert_non_null(analyses_values(analyses));
    assert_non_null(analyses_postdominance(analyses));
    assert_non_null(analyses_affine(analyses));
    analyses_invalidate(analyses, ANALYSES_NONE);
    assert_ptr_equal(analyses_liveness(analyses), liveness);
    /* One more instruction: liveness is recomputed, dominance is kept. */
    RegId more = body_add_reg(body, TYPE_U64, "%more");
    inst_insert_before(inst_nth(body, "st", 0), inst_build(body, "mov.u64", "dr", more, reg_named(body, "%p")));
    inst_nth(body, "st", 0)->refs[0].reg = more;
    analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    assert_ptr_equal(analyses_dominance(analyses), dominance);
    assert_int_equal(analyses_liveness(analyses)->reg_count, body->regs.count);
    analyses_invalidate(analyses, ANALYSES_ALL);
    assert_int_equal(analyses_liveness(analyses)->reg_count, body->regs.count);
    analyses_free(analyses);
    analyses_free(NULL);
    body_drop(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),  cmocka_unit_test(test_pairs),   cmocka_unit_test(test_late_results),
        cmocka_unit_test(test_covered), cmocka_unit_test(test_long_block), cmocka_unit_test(test_cache),
        cmocka_unit_test(test_covered_in_another_space),
    };
    return cmocka_run_group_tests_name("analysis_dependence", tests, NULL, NULL);
}
