/* Minimum-register orders against all orders of small blocks, and the limits of the search. */
#include "tests/unit/test_registers_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "opt/registers/moves/schedule_exact.h"

/* Block 1: loads, 32-bit and 64-bit arithmetic on values drawn at random, and stores of the remaining values. */
static const char *random_block(Arena *arena, Random *random, unsigned count)
{
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %d<60>;\n"
                                   ".reg .b32 %r<60>;\n.reg .pred %p<2>;\nld.param.u64 %d58, [in];\n"
                                   "ld.param.u64 %d59, [out];\n"
                                   "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.x;\ncvt.u64.u32 %d0, %r0;\n"
                                   "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra $out;\n";
    unsigned singles = 2, pairs = 1;
    for (unsigned i = 0; i < count; i++) {
        unsigned a = random_below(random, singles), b = random_below(random, singles), p = random_below(random, pairs);
        switch (random_below(random, 5)) {
        case 0:
            text = arena_printf(arena, "%sld.global.u32 %%r%u, [%%d58+%u];\n", text, singles++, 4 * i);
            break;
        case 1: text = arena_printf(arena, "%sadd.u32 %%r%u, %%r%u, %%r%u;\n", text, singles++, a, b); break;
        case 2: text = arena_printf(arena, "%scvt.u64.u32 %%d%u, %%r%u;\n", text, pairs++, a); break;
        case 3: text = arena_printf(arena, "%scvt.u32.u64 %%r%u, %%d%u;\n", text, singles++, p); break;
        default: text = arena_printf(arena, "%sst.global.u32 [%%d59+%u], %%r%u;\n", text, 4 * i, a); break;
        }
    }
    /* Values are live at its top, and two at its end. */
    return arena_printf(arena, "%sst.global.u32 [%%d59+800], %%r%u;\nsetp.eq.u32 %%p1, %%r0, 5;\n@%%p1 bra $out;\n"
                               "st.global.u32 [%%d59+804], %%r%u;\nst.global.u32 [%%d59+808], %%r1;\n$out:\nret;\n}\n",
                        text, singles - 1, singles / 2);
}

typedef struct Every {
    Scheduler *scheduler;
    const BlockOrder *block;
    uint32_t order[32];
    uint32_t waits[32];
    bool done[32];
    int32_t least;
    uint64_t orders;
} Every;

/* Goes through all orders. */
static void every_order(Every *every, uint32_t depth)
{
    const DependenceGraph *graph = every->block->graph;
    if (depth == graph->count) {
        int32_t peak = scheduler_cost(every->scheduler, every->block, every->order, 0).peak;
        every->least = peak < every->least ? peak : every->least;
        every->orders++;
        return;
    }
    for (uint32_t n = 0; n < graph->count && every->orders < 20000; n++) {
        if (every->done[n] || every->waits[n])
            continue;
        every->done[n] = true;
        every->order[depth] = n;
        for (uint32_t e = graph->succ_start[n]; e < graph->succ_start[n + 1]; e++)
            every->waits[graph->succs[e].node]--;
        every_order(every, depth + 1);
        for (uint32_t e = graph->succ_start[n]; e < graph->succ_start[n + 1]; e++)
            every->waits[graph->succs[e].node]++;
        every->done[n] = false;
    }
}

static void assert_respects_edges(const DependenceGraph *graph, const uint32_t *order)
{
    bool done[SCHEDULE_EXACT_LARGEST] = {false};
    for (uint32_t i = 0; i < graph->count; i++) {
        assert_true(order[i] < graph->count && !done[order[i]]);
        for (uint32_t e = graph->pred_start[order[i]]; e < graph->pred_start[order[i] + 1]; e++)
            assert_true(done[graph->preds[e].node]);
        done[order[i]] = true;
    }
}

typedef struct Made {
    Module *module;
    Body *body;
    Analyses *analyses;
    Scheduler *scheduler;
} Made;

static Made made_from(Arena *arena, const char *text)
{
    Made made = {.module = module_of_text(text)};
    made.body = body_in_ssa(module_find_function(made.module, "k"));
    made.analyses = analyses_new(made.body);
    made.scheduler = scheduler_new(arena, made.body, made.analyses);
    return made;
}

static void made_free(Made *made)
{
    analyses_free(made->analyses);
    body_free(made->body);
    arena_free(made->module->arena);
}

static void small_blocks_get_the_least(void **state)
{
    (void)state;
    Random random = {5};
    unsigned improved = 0, compared = 0;
    for (unsigned i = 0; i < 400; i++) {
        Arena *arena = arena_new();
        Made made = made_from(arena, random_block(arena, &random, 1 + random_below(&random, 7)));
        BlockOrder *block = &made.scheduler->blocks[1];
        Every every = {.scheduler = made.scheduler, .block = block, .least = INT32_MAX};
        uint32_t order[32];
        bool proved;
        for (uint32_t n = 0; n < block->graph->count; n++) {
            order[n] = n;
            every.waits[n] = block->graph->pred_start[n + 1] - block->graph->pred_start[n];
        }
        int32_t before = block->peak, peak = schedule_exact(made.scheduler, block, order, 1000000, &proved);
        assert_true(proved);
        assert_true(peak <= before);
        assert_respects_edges(block->graph, order);
        assert_int_equal(scheduler_cost(made.scheduler, block, order, 0).peak, peak);
        every_order(&every, 0);
        if (every.orders < 20000) {
            assert_int_equal(peak, every.least);
            compared++;
        } else {
            assert_true(peak <= every.least);
        }
        improved += peak < before;
        made_free(&made);
        arena_free(arena);
    }
    printf("# %u compared, %u improved\n", compared, improved);
    assert_true(compared > 60 && improved > 30);
}

static void without_a_budget_nothing_is_claimed(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Random random = {9};
    Made made = made_from(arena, random_block(arena, &random, 40));
    BlockOrder *block = &made.scheduler->blocks[0];
    uint32_t order[64];
    for (uint32_t budget = 0; budget < 3000; budget += 100) {
        bool proved;
        for (uint32_t n = 0; n < block->graph->count; n++)
            order[n] = n;
        int32_t peak = schedule_exact(made.scheduler, block, order, budget, &proved);
        assert_true(peak <= block->peak);
        assert_true(budget || (!proved && peak == block->peak));
        assert_respects_edges(block->graph, order);
    }
    made_free(&made);
    arena_free(arena);
}

static void large_blocks_keep_their_order(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %d<2>;\n.reg .b32 %r<2>;\n"
                                   "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\n";
    for (unsigned i = 0; i < SCHEDULE_EXACT_LARGEST; i++)
        text = arena_printf(arena, "%sadd.u32 %%r1, %%r1, 1;\n", text);
    Made made = made_from(arena, arena_printf(arena, "%sst.global.u32 [%%d1], %%r1;\nret;\n}\n", text));
    BlockOrder *block = &made.scheduler->blocks[0];
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, block->graph->count);
    bool proved = true;
    memcpy(order, block->order, block->graph->count * sizeof *order);
    assert_int_equal(schedule_exact(made.scheduler, block, order, 1000, &proved), block->peak);
    assert_false(proved);
    assert_memory_equal(order, block->order, block->graph->count * sizeof *order);
    made_free(&made);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_blocks_get_the_least),
        cmocka_unit_test(without_a_budget_nothing_is_claimed),
        cmocka_unit_test(large_blocks_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
