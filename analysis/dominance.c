/* Dominator and post-dominator trees by the Semi-NCA algorithm; frontiers and control dependence from them. */
#include "analysis/flow.h"
#include "analysis/graph.h"

/* The forest that Semi-NCA links the nodes into; everything is numbered by place in depth-first order. */
typedef struct Forest {
    uint32_t *ancestor; /* UINT32_MAX: not linked yet */
    uint32_t *label;    /* of least semidominator on the compressed path */
    uint32_t *semi;
    uint32_t *path; /* scratch */
} Forest;

/* The node of least semidominator on the way from 'node' up to, but without, the root of its tree; compresses that
 * way. */
static uint32_t forest_eval(Forest *forest, uint32_t node)
{
    if (forest->ancestor[node] == UINT32_MAX)
        return node;
    uint32_t length = 0;
    for (uint32_t v = node; forest->ancestor[forest->ancestor[v]] != UINT32_MAX; v = forest->ancestor[v])
        forest->path[length++] = v;
    while (length) {
        uint32_t v = forest->path[--length], up = forest->ancestor[v];
        if (forest->semi[forest->label[up]] < forest->semi[forest->label[v]])
            forest->label[v] = forest->label[up];
        forest->ancestor[v] = forest->ancestor[up];
    }
    return forest->label[node];
}

/* Immediate dominators of 'graph' from 'root', by node. */
static void parents_compute(Arena *scratch, const Graph *graph, uint32_t root, uint32_t *result)
{
    uint32_t count = graph->count;
    uint32_t *order = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *number = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *tree_parent = ARENA_ARRAY(scratch, uint32_t, count); /* by node */
    uint32_t reached = graph_depth_first(graph, root, order, number, tree_parent, scratch);
    Forest forest = {
        .ancestor = ARENA_ARRAY(scratch, uint32_t, count),
        .label = ARENA_ARRAY(scratch, uint32_t, count),
        .semi = ARENA_ARRAY(scratch, uint32_t, count),
        .path = ARENA_ARRAY(scratch, uint32_t, count),
    };
    uint32_t *idom = ARENA_ARRAY(scratch, uint32_t, count); /* by place */
    for (uint32_t i = 0; i < reached; i++) {
        forest.ancestor[i] = UINT32_MAX;
        forest.label[i] = forest.semi[i] = i;
        idom[i] = tree_parent[order[i]];
    }
    for (uint32_t i = reached; i-- > 1;) {
        uint32_t node = order[i], least = idom[i];
        for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1]; e++) {
            uint32_t from = number[graph->preds[e]];
            if (from == UINT32_MAX)
                continue;
            uint32_t semi = forest.semi[forest_eval(&forest, from)];
            if (semi < least)
                least = semi;
        }
        forest.semi[i] = least;
        forest.ancestor[i] = idom[i];
    }
    for (uint32_t i = 1; i < reached; i++)
        while (idom[i] > forest.semi[i])
            idom[i] = idom[idom[i]];
    for (uint32_t i = 0; i < count; i++)
        result[i] = number[i] == UINT32_MAX || i == root ? BLOCK_NONE : order[idom[number[i]]];
}

/* Depths and preorder intervals of the tree that 'parent' spans. */
static void tree_number(Arena *arena, Arena *scratch, Dominance *tree)
{
    uint32_t count = tree->node_count, depth = 0, time = 0;
    uint32_t *first_child = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *sibling = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, count);
    tree->depth = ARENA_ARRAY(arena, uint32_t, count);
    tree->enter = ARENA_ARRAY(arena, uint32_t, count);
    tree->leave = ARENA_ARRAY(arena, uint32_t, count);
    tree->order = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        first_child[i] = sibling[i] = tree->enter[i] = BLOCK_NONE;
    for (uint32_t i = count; i-- > 0;)
        if (tree->parent[i] != BLOCK_NONE) {
            sibling[i] = first_child[tree->parent[i]];
            first_child[tree->parent[i]] = i;
        }
    stack[depth++] = tree->root;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (tree->enter[node] == BLOCK_NONE) {
            tree->order[time] = node;
            tree->enter[node] = time++;
        }
        uint32_t child = first_child[node];
        if (child == BLOCK_NONE) {
            tree->leave[node] = time;
            depth--;
            continue;
        }
        first_child[node] = sibling[child];
        tree->depth[child] = tree->depth[node] + 1;
        stack[depth++] = child;
    }
    tree->order_count = time;
    /* Unreached nodes get intervals of their own, in nobody else's. */
    for (uint32_t i = 0; i < count; i++)
        if (tree->enter[i] == BLOCK_NONE) {
            tree->enter[i] = time++;
            tree->leave[i] = time;
        }
}

static Dominance *tree_compute(Arena *arena, const Body *body, bool post)
{
    Arena *scratch = arena_new();
    Dominance *tree = ARENA_NEW(arena, Dominance);
    Graph graph = graph_build(arena, body, post);
    if (post)
        graph = graph_reverse(graph);
    tree->body = body;
    tree->post = post;
    tree->node_count = graph.count;
    tree->root = post ? graph.count - 1 : 0;
    tree->edge_start = graph.pred_start;
    tree->edges = graph.preds;
    tree->parent = ARENA_ARRAY(arena, uint32_t, graph.count);
    parents_compute(scratch, &graph, tree->root, tree->parent);
    tree_number(arena, scratch, tree);
    arena_free(scratch);
    return tree;
}

Dominance *dominance_compute(Arena *arena, const Body *body)
{
    return tree_compute(arena, body, false);
}

Dominance *postdominance_compute(Arena *arena, const Body *body)
{
    return tree_compute(arena, body, true);
}

bool dominance_has(const Dominance *dominance, const Block *a, const Block *b)
{
    return dominance->enter[a->id] <= dominance->enter[b->id] && dominance->leave[b->id] <= dominance->leave[a->id];
}

/* NULL for the virtual exit and for no node. */
static Block *node_block(const Dominance *dominance, uint32_t node)
{
    return node < dominance->body->blocks.count ? dominance->body->blocks.data[node] : NULL;
}

Block *dominance_parent(const Dominance *dominance, const Block *block)
{
    return node_block(dominance, dominance->parent[block->id]);
}

Block *dominance_common(const Dominance *dominance, const Block *a, const Block *b)
{
    uint32_t x = a->id, y = b->id;
    while (x != y && x != BLOCK_NONE && y != BLOCK_NONE) {
        if (dominance->depth[x] >= dominance->depth[y])
            x = dominance->parent[x];
        else
            y = dominance->parent[y];
    }
    return x == y ? node_block(dominance, x) : NULL;
}

/* ---- Frontiers --------------------------------------------------------------------------------------------------- */

typedef struct Pair {
    uint32_t node, item;
} Pair;
typedef VEC(Pair) PairVec;

/* All (node, join) with join in the frontier of node: from each edge into a join up to the join's parent. Only joins
 * have any, and a node is met again for the same join right after the last time or not at all. */
static void frontier_pairs(Arena *scratch, const Dominance *tree, PairVec *pairs)
{
    uint32_t *last = ARENA_ARRAY(scratch, uint32_t, tree->node_count);
    for (uint32_t join = 0; join < tree->node_count; join++)
        for (uint32_t e = tree->edge_start[join]; e < tree->edge_start[join + 1]; e++) {
            uint32_t runner = tree->edges[e];
            if (tree->parent[runner] == BLOCK_NONE && runner != tree->root)
                continue; /* an unreached block joins nothing */
            while (runner != tree->parent[join] && runner != BLOCK_NONE && last[runner] != join + 1) {
                last[runner] = join + 1;
                VEC_PUSH(scratch, *pairs, (Pair){runner, join});
                runner = tree->parent[runner];
            }
        }
}

static BlockLists *lists_build(Arena *arena, const Dominance *tree, bool by_item)
{
    Arena *scratch = arena_new();
    const Body *body = tree->body;
    size_t count = body->blocks.count;
    PairVec pairs = {0};
    frontier_pairs(scratch, tree, &pairs);
    require(pairs.count < UINT32_MAX);
    BlockLists *lists = ARENA_NEW(arena, BlockLists);
    lists->start = ARENA_ARRAY(arena, uint32_t, count + 2);
    lists->items = ARENA_ARRAY(arena, Block *, pairs.count + 1);
    for (size_t i = 0; i < pairs.count; i++) {
        Pair *pair = &pairs.data[i];
        if (by_item)
            *pair = (Pair){pair->item, pair->node};
        if (pair->node < count && pair->item < count)
            lists->start[pair->node + 2]++;
    }
    for (size_t i = 2; i <= count; i++)
        lists->start[i] += lists->start[i - 1];
    for (size_t i = 0; i < pairs.count; i++)
        if (pairs.data[i].node < count && pairs.data[i].item < count)
            lists->items[lists->start[pairs.data[i].node + 1]++] = body->blocks.data[pairs.data[i].item];
    arena_free(scratch);
    return lists;
}

BlockLists *dominance_frontiers(Arena *arena, const Dominance *dominance)
{
    return lists_build(arena, dominance, false);
}

BlockLists *control_dependents(Arena *arena, const Dominance *postdominance)
{
    require(postdominance->post);
    return lists_build(arena, postdominance, true);
}
