/* Minimum cuts, compared with all cuts of small graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/min_cut.h"
#include "support/random.h"

enum { NODES_MOST = 9, EDGES_MOST = 24 };

typedef struct Edge {
    uint32_t from, to;
    uint64_t capacity;
} Edge;

/* The capacity of the edges out of the set of nodes, as bits. */
static uint64_t capacity_of(const Edge *edges, unsigned count, unsigned set)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        if (set >> edges[i].from & 1 && !(set >> edges[i].to & 1))
            sum += edges[i].capacity;
    return sum;
}

/* The capacity of the cheapest sets with node 0 and without node 1; and the largest of them, which is the union of all
 * of them. */
static uint64_t cheapest(const Edge *edges, unsigned count, unsigned nodes, unsigned *largest)
{
    uint64_t least = UINT64_MAX;
    for (unsigned set = 1; set < 1u << nodes; set += 2) {
        uint64_t capacity = set & 2 ? UINT64_MAX : capacity_of(edges, count, set);
        if (capacity < least) {
            least = capacity;
            *largest = 0;
        }
        if (capacity == least && !(set & 2))
            *largest |= set;
    }
    return least;
}

static void random_graphs(void **state)
{
    (void)state;
    Random random = {7};
    for (unsigned round = 0; round < 3000; round++) {
        Arena *arena = arena_new();
        MinCut graph = min_cut_new(arena);
        Edge edges[EDGES_MOST];
        unsigned nodes = 2 + random_below(&random, NODES_MOST - 1), count = random_below(&random, EDGES_MOST + 1);
        unsigned largest = 0;
        for (unsigned i = 0; i < nodes; i++)
            assert_int_equal(min_cut_node(&graph), i);
        for (unsigned i = 0; i < count; i++) {
            edges[i] = (Edge){random_below(&random, nodes), random_below(&random, nodes), random_below(&random, 5)};
            min_cut_edge(&graph, edges[i].from, edges[i].to, edges[i].capacity);
        }
        assert_int_equal(min_cut_solve(&graph, 0, 1), cheapest(edges, count, nodes, &largest));
        BitSet side = min_cut_sink_side(&graph);
        for (unsigned i = 0; i < nodes; i++)
            assert_int_equal(bitset_has(&side, i), !(largest >> i & 1));
        arena_free(arena);
    }
}

static void an_edge_that_is_never_cut(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    MinCut graph = min_cut_new(arena);
    for (unsigned i = 0; i < 4; i++)
        min_cut_node(&graph);
    min_cut_edge(&graph, 0, 2, CUT_NEVER);
    min_cut_edge(&graph, 2, 3, 5);
    min_cut_edge(&graph, 3, 1, CUT_NEVER);
    assert_int_equal(min_cut_solve(&graph, 0, 1), 5);
    MinCut closed = min_cut_new(arena);
    min_cut_node(&closed);
    min_cut_node(&closed);
    min_cut_edge(&closed, 0, 1, CUT_NEVER);
    assert_true(min_cut_solve(&closed, 0, 1) >= CUT_NEVER);
    arena_free(arena);
}

/* A chain of many nodes: paths are followed without recursion. */
static void long_chains(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    Arena *arena = arena_new();
    MinCut graph = min_cut_new(arena);
    for (unsigned i = 0; i < LENGTH; i++)
        min_cut_node(&graph);
    for (unsigned i = 0; i + 1 < LENGTH; i++)
        min_cut_edge(&graph, i, i + 1, i == LENGTH / 2 ? 3 : 4);
    assert_int_equal(min_cut_solve(&graph, 0, LENGTH - 1), 3);
    BitSet side = min_cut_sink_side(&graph);
    assert_false(bitset_has(&side, LENGTH / 2));
    assert_true(bitset_has(&side, LENGTH / 2 + 1));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(an_edge_that_is_never_cut),
        cmocka_unit_test(long_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
