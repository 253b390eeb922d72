/* Dominance, control dependence and loops, against their definitions on random graphs. */
#include "test_analysis.h"

enum { MOST = 14 };

typedef struct Shape {
    unsigned count;
    bool edge[MOST + 1][MOST + 1]; /* node 'count': the virtual exit */
} Shape;

/* The nodes that 'from' reaches without passing through 'without' (-1: no restriction). */
static void reach(const Shape *shape, unsigned from, int without, bool *reached)
{
    unsigned stack[MOST + 1], depth = 0;
    memset(reached, 0, (MOST + 1) * sizeof *reached);
    if ((int)from == without)
        return;
    reached[from] = true;
    stack[depth++] = from;
    while (depth) {
        unsigned node = stack[--depth];
        for (unsigned to = 0; to <= shape->count; to++)
            if (shape->edge[node][to] && !reached[to] && (int)to != without) {
                reached[to] = true;
                stack[depth++] = to;
            }
    }
}

static void shape_random(Random *random, Shape *shape, int *edges)
{
    memset(shape, 0, sizeof *shape);
    shape->count = 2 + random_below(random, MOST - 1);
    unsigned wanted = random_below(random, shape->count * 2) + 1;
    for (unsigned i = 0; i < wanted; i++) {
        unsigned from = random_below(random, shape->count), to = 1 + random_below(random, shape->count - 1);
        if (shape->edge[from][to])
            continue;
        shape->edge[from][to] = true;
        *edges++ = (int)from;
        *edges++ = (int)to;
    }
    *edges = -1;
    /* The edges to the virtual exit, by definition: from blocks without a successor, then from blocks that cannot reach
     * one. */
    for (unsigned i = 0; i < shape->count; i++) {
        bool any = false;
        for (unsigned to = 0; to < shape->count; to++)
            any |= shape->edge[i][to];
        shape->edge[i][shape->count] = !any;
    }
    bool stuck[MOST] = {0}, reached[MOST + 1];
    for (unsigned i = 0; i < shape->count; i++) {
        reach(shape, i, -1, reached);
        stuck[i] = !reached[shape->count];
    }
    for (unsigned i = 0; i < shape->count; i++)
        shape->edge[i][shape->count] |= stuck[i];
}

static void check_dominance(const Shape *shape, const Body *body, const Dominance *dominance)
{
    bool all[MOST + 1], some[MOST + 1];
    reach(shape, 0, -1, all);
    for (unsigned a = 0; a < shape->count; a++) {
        reach(shape, 0, (int)a, some);
        for (unsigned b = 0; b < shape->count; b++) {
            bool expected = a == b || (all[a] && all[b] && !some[b]);
            assert_int_equal(dominance_has(dominance, body->blocks.data[a], body->blocks.data[b]), expected);
        }
    }
    /* All other strict dominators dominate the immediate dominator. */
    for (unsigned b = 0; b < shape->count; b++) {
        Block *block = body->blocks.data[b], *parent = dominance_parent(dominance, block);
        assert_int_equal(parent != NULL, b != 0 && all[b]);
        for (unsigned a = 0; parent && a < shape->count; a++)
            if (a != b && dominance_has(dominance, body->blocks.data[a], block))
                assert_true(dominance_has(dominance, body->blocks.data[a], parent));
        for (unsigned a = 0; a < shape->count; a++) {
            Block *common = dominance_common(dominance, block, body->blocks.data[a]);
            if (!all[a] || !all[b])
                continue;
            for (unsigned c = 0; c < shape->count; c++) {
                Block *candidate = body->blocks.data[c];
                if (dominance_has(dominance, candidate, block) &&
                    dominance_has(dominance, candidate, body->blocks.data[a]))
                    assert_true(dominance_has(dominance, candidate, common));
            }
        }
    }
}

/* a post-dominates b: every path from b to the exit passes through a. */
static bool postdominates(const Shape *shape, unsigned a, unsigned b)
{
    bool reached[MOST + 1];
    reach(shape, b, (int)a, reached);
    return a == b || !reached[shape->count];
}

static bool list_has(const BlockLists *lists, const Block *of, const Block *item)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < block_list_count(lists, of); i++)
        found += block_list(lists, of)[i] == item;
    assert_true(found <= 1);
    return found;
}

static void check_control(const Shape *shape, const Body *body, const Dominance *postdominance, Arena *arena)
{
    BlockLists *dependents = control_dependents(arena, postdominance);
    BlockLists *frontiers = dominance_frontiers(arena, postdominance);
    for (unsigned a = 0; a < shape->count; a++)
        for (unsigned b = 0; b < shape->count; b++) {
            Block *branch = body->blocks.data[a], *block = body->blocks.data[b];
            assert_int_equal(dominance_has(postdominance, block, branch), postdominates(shape, b, a));
            bool after = false;
            for (unsigned to = 0; to < shape->count; to++)
                after |= shape->edge[a][to] && postdominates(shape, b, to);
            bool expected = after && (a == b || !postdominates(shape, b, a));
            /* A block that decides whether it runs again does not strictly post-dominate itself. */
            assert_int_equal(list_has(dependents, branch, block), expected);
            assert_int_equal(list_has(frontiers, block, branch), expected);
        }
}

static void check_frontiers(const Shape *shape, const Body *body, const Dominance *dominance, Arena *arena)
{
    BlockLists *frontiers = dominance_frontiers(arena, dominance);
    bool reached[MOST + 1];
    reach(shape, 0, -1, reached);
    for (unsigned a = 0; a < shape->count; a++)
        for (unsigned b = 0; b < shape->count; b++) {
            Block *block = body->blocks.data[a], *join = body->blocks.data[b];
            bool expected = false;
            for (unsigned from = 0; from < shape->count; from++)
                expected |= reached[from] && shape->edge[from][b] &&
                            dominance_has(dominance, block, body->blocks.data[from]);
            expected &= a == b || !dominance_has(dominance, block, join);
            assert_int_equal(list_has(frontiers, block, join), expected);
        }
}

static void check_loops(const Shape *shape, const Body *body, const Dominance *dominance, Arena *arena)
{
    LoopForest *forest = loops_compute(arena, dominance);
    bool all[MOST + 1];
    unsigned headers = 0, depth[MOST] = {0};
    reach(shape, 0, -1, all);
    for (unsigned h = 0; h < shape->count; h++) {
        bool member[MOST] = {0}, any = false;
        for (unsigned latch = 0; latch < shape->count; latch++) {
            if (!all[latch] || !shape->edge[latch][h] ||
                !dominance_has(dominance, body->blocks.data[h], body->blocks.data[latch]))
                continue;
            any = member[h] = true;
            for (unsigned i = 0; i < shape->count; i++) {
                bool reached[MOST + 1];
                reach(shape, i, (int)h, reached);
                member[i] |= all[i] && reached[latch];
            }
            member[latch] = true;
        }
        if (!any)
            continue;
        headers++;
        Loop *loop = NULL;
        for (uint32_t i = 0; i < forest->loop_count; i++)
            if (forest->loops[i].header == body->blocks.data[h])
                loop = &forest->loops[i];
        assert_non_null(loop);
        assert_ptr_equal(loop->blocks[0], loop->header);
        unsigned size = 0;
        for (unsigned i = 0; i < shape->count; i++) {
            assert_int_equal(loop_contains(forest, loop, body->blocks.data[i]), member[i]);
            depth[i] += member[i];
            size += member[i];
            if (member[i] && loop->parent)
                assert_true(loop_contains(forest, loop->parent, body->blocks.data[i]));
        }
        assert_int_equal(loop->block_count, size);
        for (uint32_t i = 0; i < loop->block_count; i++)
            assert_true(member[loop->blocks[i]->id]);
        unsigned ways_in = 0;
        Block *outside = NULL;
        for (unsigned i = 0; i < shape->count; i++)
            if (shape->edge[i][h] && !member[i]) {
                ways_in++;
                outside = body->blocks.data[i];
            }
        bool preheader = ways_in == 1 && !block_chooses(outside);
        assert_ptr_equal(loop->preheader, preheader ? outside : NULL);
    }
    assert_int_equal(forest->loop_count, headers);
    for (unsigned i = 0; i < shape->count; i++)
        assert_int_equal(loop_depth(forest, body->blocks.data[i]), depth[i]);
    /* Reducible: removing the edges to dominating headers leaves no cycle. */
    Shape forward = *shape;
    bool cycle = false;
    for (unsigned from = 0; from < shape->count; from++)
        for (unsigned to = 0; to < shape->count; to++)
            if (dominance_has(dominance, body->blocks.data[to], body->blocks.data[from]))
                forward.edge[from][to] = false;
    for (unsigned i = 0; i < shape->count; i++) {
        bool again = false;
        for (unsigned to = 0; to < shape->count && all[i]; to++) {
            bool reached[MOST + 1];
            if (!forward.edge[i][to])
                continue;
            reach(&forward, to, -1, reached);
            again |= reached[i];
        }
        cycle |= again;
        assert_int_equal(bitset_has(&forest->irreducible, i), again);
    }
    assert_int_equal(forest->has_irreducible, cycle);
}

static void test_random_graphs(void **state)
{
    (void)state;
    Random random = {1};
    for (unsigned round = 0; round < 3000; round++) {
        Shape shape;
        int edges[MOST * 8];
        Arena *arena = arena_new();
        shape_random(&random, &shape, edges);
        Body *body = body_of_edges(arena, shape.count, edges);
        Dominance *dominance = dominance_compute(arena, body);
        check_dominance(&shape, body, dominance);
        check_frontiers(&shape, body, dominance, arena);
        check_control(&shape, body, postdominance_compute(arena, body), arena);
        check_loops(&shape, body, dominance, arena);
        arena_free(arena);
    }
}

/* A long chain of blocks, each of which may also jump to the first and the last: needs neither recursion nor quadratic
 * time. */
static void test_long_graph(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    Arena *arena = arena_new();
    static const Signature branch = {.op = OP_BRX, .opcode = "brx"};
    Body *body = ARENA_NEW(arena, Body);
    body->arena = arena;
    for (unsigned i = 0; i < COUNT; i++)
        body_add_block(body, NULL);
    for (unsigned i = 0; i + 1 < COUNT; i++) {
        Inst *inst = ARENA_NEW(arena, Inst);
        inst->signature = &branch;
        inst->effects = EFFECT_CONTROL;
        inst->targets = ARENA_ARRAY(arena, Block *, 2);
        inst->targets[inst->target_count++] = body->blocks.data[i > COUNT / 2 ? COUNT - i : i ? i : 1];
        inst_append(body->blocks.data[i], inst);
        body->blocks.data[i]->fall = body->blocks.data[i + 1];
    }
    body_update_preds(body);
    Dominance *dominance = dominance_compute(arena, body), *post = postdominance_compute(arena, body);
    LoopForest *forest = loops_compute(arena, dominance);
    assert_int_equal(forest->has_irreducible, false);
    assert_true(forest->loop_count > COUNT / 3);
    assert_true(dominance_has(dominance, body->blocks.data[1], body->blocks.data[COUNT - 1]));
    assert_true(dominance_has(post, body->blocks.data[COUNT - 1], body->blocks.data[0]));
    arena_free(arena);
}

static void test_guarded_return(void **state)
{
    (void)state;
    Body *body = body_parse(".visible .entry k(.param .u32 n)\n{\n"
                            ".reg .pred %p<3>; .reg .u32 %r<4>;\n"
                            "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0;\n"
                            "@%p1 ret;\n"
                            "A: add.u32 %r1, %r1, -1; setp.ne.u32 %p2, %r1, 0; @%p2 bra A;\n"
                            "B: bra B;\n}\n");
    Arena *arena = arena_new();
    Dominance *post = postdominance_compute(arena, body);
    LoopForest *forest = loops_compute(arena, dominance_compute(arena, body));
    Block *entry = body->blocks.data[0], *a = block_named(body, "A"), *b = block_named(body, "B");
    assert_true(block_chooses(entry));
    assert_null(dominance_parent(post, entry));
    assert_false(dominance_has(post, a, entry));
    /* Nothing follows the endless loop: execution may stop in any of its blocks or of those before it. */
    assert_null(dominance_parent(post, a));
    assert_null(dominance_parent(post, b));
    assert_int_equal(forest->loop_count, 2);
    assert_int_equal(loop_depth(forest, a), 1);
    arena_free(arena);
    body_drop(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_long_graph),
        cmocka_unit_test(test_guarded_return),
    };
    return cmocka_run_group_tests_name("analysis_flow", tests, NULL, NULL);
}
