/* Dominator and post-dominator trees, frontiers and control dependence. */
#include "ir/internal.h"

/* The depth-first walk that everything starts from. A place is a node's number in preorder. */
typedef struct Walk {
    uint32_t count;      /* nodes reached */
    uint32_t *nodes;     /* by place */
    uint32_t *place;     /* by node; BLOCK_NONE: not reached */
    uint32_t *parent;    /* by place: the place of the node it was reached from */
    uint32_t *postorder; /* nodes */
} Walk;

static Walk graph_walk(Arena *scratch, const FlowGraph *graph, uint32_t root)
{
    Walk walk = {
        .nodes = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .place = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .parent = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .postorder = ARENA_ARRAY(scratch, uint32_t, graph->count),
    };
    uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, graph->count);
    uint32_t *edge = ARENA_ARRAY(scratch, uint32_t, graph->count); /* by node: the next one to follow */
    uint32_t depth = 0, finished = 0;
    for (uint32_t i = 0; i < graph->count; i++)
        walk.place[i] = BLOCK_NONE;
    stack[depth++] = root;
    edge[root] = graph->succ_start[root];
    walk.place[root] = 0;
    walk.nodes[walk.count++] = root;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (edge[node] == graph->succ_start[node + 1]) {
            walk.postorder[finished++] = node;
            depth--;
            continue;
        }
        uint32_t next = graph->succs[edge[node]++];
        if (walk.place[next] != BLOCK_NONE)
            continue;
        walk.parent[walk.count] = walk.place[node];
        walk.place[next] = walk.count;
        walk.nodes[walk.count++] = next;
        edge[next] = graph->succ_start[next];
        stack[depth++] = next;
    }
    return walk;
}

/* The forest into which places are linked. */
typedef struct Forest {
    uint32_t *ancestor; /* BLOCK_NONE: a root */
    uint32_t *label;    /* the place of least semidominator on the compressed path */
    uint32_t *semi;
    uint32_t *path; /* scratch */
} Forest;

/* The place of least semidominator on the path from 'place' up to its root, the root excluded; compresses the path. */
static uint32_t forest_eval(const Forest *forest, uint32_t place)
{
    uint32_t length = 0;
    if (forest->ancestor[place] == BLOCK_NONE)
        return place;
    for (uint32_t v = place; forest->ancestor[forest->ancestor[v]] != BLOCK_NONE; v = forest->ancestor[v])
        forest->path[length++] = v;
    while (length) {
        uint32_t v = forest->path[--length], up = forest->ancestor[v];
        if (forest->semi[forest->label[up]] < forest->semi[forest->label[v]])
            forest->label[v] = forest->label[up];
        forest->ancestor[v] = forest->ancestor[up];
    }
    return forest->label[place];
}

static Forest forest_new(Arena *scratch, uint32_t count)
{
    Forest forest = {
        .ancestor = ARENA_ARRAY(scratch, uint32_t, count),
        .label = ARENA_ARRAY(scratch, uint32_t, count),
        .semi = ARENA_ARRAY(scratch, uint32_t, count),
        .path = ARENA_ARRAY(scratch, uint32_t, count),
    };
    for (uint32_t i = 0; i < count; i++) {
        forest.ancestor[i] = BLOCK_NONE;
        forest.label[i] = forest.semi[i] = i;
    }
    return forest;
}

static void parents_compute(Arena *scratch, Dominance *tree, const Walk *walk)
{
    const FlowGraph *graph = &tree->graph;
    uint32_t count = walk->count;
    uint32_t *idom = ARENA_ARRAY(scratch, uint32_t, count); /* this and the others by place */
    uint32_t *bucket = ARENA_ARRAY(scratch, uint32_t, count), *next = ARENA_ARRAY(scratch, uint32_t, count);
    Forest forest = forest_new(scratch, count);
    for (uint32_t i = 0; i < count; i++)
        bucket[i] = BLOCK_NONE;
    for (uint32_t i = count; i-- > 1;) {
        uint32_t node = walk->nodes[i], parent = walk->parent[i];
        for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1]; e++) {
            uint32_t from = walk->place[graph->preds[e]];
            uint32_t semi = from == BLOCK_NONE ? i : forest.semi[forest_eval(&forest, from)];
            if (semi < forest.semi[i])
                forest.semi[i] = semi;
        }
        next[i] = bucket[forest.semi[i]];
        bucket[forest.semi[i]] = i;
        forest.ancestor[i] = parent;
        for (uint32_t v = bucket[parent]; v != BLOCK_NONE; v = next[v]) {
            uint32_t least = forest_eval(&forest, v);
            idom[v] = forest.semi[least] < forest.semi[v] ? least : parent;
        }
        bucket[parent] = BLOCK_NONE;
    }
    for (uint32_t i = 0; i < graph->count; i++)
        tree->parent[i] = BLOCK_NONE;
    for (uint32_t i = 1; i < count; i++) {
        if (idom[i] != forest.semi[i])
            idom[i] = idom[idom[i]];
        tree->parent[walk->nodes[i]] = walk->nodes[idom[i]];
    }
}

static void children_link(Dominance *tree, const Walk *walk)
{
    for (uint32_t i = 0; i < tree->graph.count; i++)
        tree->first_child[i] = tree->next_sibling[i] = BLOCK_NONE;
    /* Each child goes to the front of its list, and the root, which has no parent, comes last. */
    for (uint32_t i = 0; i + 1 < walk->count; i++) {
        uint32_t node = walk->postorder[i], parent = tree->parent[node];
        tree->next_sibling[node] = tree->first_child[parent];
        tree->first_child[parent] = node;
    }
}

/* Depths and preorder. */
static void tree_number(Dominance *tree)
{
    uint32_t node = tree->root, time = 0;
    for (uint32_t i = 0; i < tree->graph.count; i++)
        tree->enter[i] = BLOCK_NONE;
    while (node != BLOCK_NONE) {
        tree->order[time] = node;
        tree->enter[node] = time++;
        uint32_t child = tree->first_child[node];
        if (child != BLOCK_NONE) {
            tree->depth[child] = tree->depth[node] + 1;
            node = child;
            continue;
        }
        tree->leave[node] = time;
        while (node != BLOCK_NONE && tree->next_sibling[node] == BLOCK_NONE) {
            node = tree->parent[node];
            if (node != BLOCK_NONE)
                tree->leave[node] = time;
        }
        if (node != BLOCK_NONE) {
            tree->depth[tree->next_sibling[node]] = tree->depth[node];
            node = tree->next_sibling[node];
        }
    }
    tree->order_count = time;
    /* Unreached nodes get intervals of their own, outside all others. */
    for (uint32_t i = 0; i < tree->graph.count; i++)
        if (tree->enter[i] == BLOCK_NONE) {
            tree->enter[i] = time++;
            tree->leave[i] = time;
        }
}

static Dominance *tree_compute(Arena *arena, const Body *body, bool post)
{
    Arena *scratch = arena_new();
    Dominance *tree = ARENA_NEW(arena, Dominance);
    FlowGraph graph = flow_graph_build(arena, body, post);
    if (post)
        graph = (FlowGraph){graph.count, graph.pred_start, graph.preds, graph.succ_start, graph.succs};
    tree->body = body;
    tree->post = post;
    tree->graph = graph;
    tree->root = post ? graph.count - 1 : 0;
    tree->parent = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->first_child = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->next_sibling = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->depth = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->enter = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->leave = ARENA_ARRAY(arena, uint32_t, graph.count);
    tree->order = ARENA_ARRAY(arena, uint32_t, graph.count);
    Walk walk = graph_walk(scratch, &tree->graph, tree->root);
    parents_compute(scratch, tree, &walk);
    children_link(tree, &walk);
    tree_number(tree);
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
    return dominance_has_id(dominance, a->id, b->id);
}

/* NULL for the virtual exit and for BLOCK_NONE. */
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

uint32_t block_list_count(const BlockLists *lists, const Block *block)
{
    return lists->start[block->id + 1] - lists->start[block->id];
}

Block **block_list(const BlockLists *lists, const Block *block)
{
    return lists->items + lists->start[block->id];
}

typedef struct Pair {
    uint32_t node, item;
} Pair;
typedef VEC(Pair) PairVec;

/* All (node, join) with join in the frontier of node: from each edge into a join up to the join's parent. Only joins
 * have any, and a node is met again for the same join right after the last time or not at all. */
static void frontier_pairs(Arena *scratch, const Dominance *tree, PairVec *pairs)
{
    uint32_t *last = ARENA_ARRAY(scratch, uint32_t, tree->graph.count);
    for (uint32_t join = 0; join < tree->graph.count; join++)
        for (uint32_t e = tree->graph.pred_start[join]; e < tree->graph.pred_start[join + 1]; e++) {
            uint32_t runner = tree->graph.preds[e];
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
