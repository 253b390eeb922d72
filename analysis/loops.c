/* Natural loops from back edges, nested by containment; cycles that are not natural loops are flagged. */
#include "analysis/loops.h"

/* A loop while it is being found; numbered in order of discovery, inner ones first. */
typedef struct Found {
    uint32_t header, parent; /* parent: BLOCK_NONE */
    uint32_t blocks;         /* own, without inner loops' */
} Found;

typedef struct Finder {
    const Dominance *dominance;
    const FlowGraph *graph;
    VEC(Found) found;
    uint32_t *innermost; /* by block: a number in found */
    uint32_t *outermost; /* by number in found: shortcut towards the outermost loop found so far */
    uint32_t *stack;
    Arena *scratch;
} Finder;

static uint32_t loop_outermost(Finder *finder, uint32_t loop)
{
    uint32_t top = loop;
    while (finder->outermost[top] != top)
        top = finder->outermost[top];
    while (finder->outermost[loop] != top) {
        uint32_t next = finder->outermost[loop];
        finder->outermost[loop] = top;
        loop = next;
    }
    return top;
}

/* Adds the loop of this header, if it is one: all blocks that reach a latch without passing the header. Inner loops
 * have been found before and are skipped as a whole. */
static void loop_find(Finder *finder, uint32_t header)
{
    const FlowGraph *graph = finder->graph;
    uint32_t pending = 0, number = (uint32_t)finder->found.count;
    for (uint32_t e = graph->pred_start[header]; e < graph->pred_start[header + 1]; e++)
        if (dominance_has_id(finder->dominance, header, graph->preds[e]))
            finder->stack[pending++] = graph->preds[e];
    if (!pending)
        return;
    VEC_PUSH(finder->scratch, finder->found, (Found){header, BLOCK_NONE, 0});
    finder->outermost[number] = number;
    /* The stack holds each edge at most once: a block's predecessors are pushed when the block is first met. */
    while (pending) {
        uint32_t node = finder->stack[--pending];
        if (finder->innermost[node] == BLOCK_NONE) {
            finder->innermost[node] = number;
            finder->found.data[number].blocks++;
        } else {
            uint32_t inner = loop_outermost(finder, finder->innermost[node]);
            if (inner == number)
                continue;
            finder->found.data[inner].parent = number;
            finder->outermost[inner] = number;
            node = finder->found.data[inner].header;
        }
        if (node == header)
            continue;
        for (uint32_t e = graph->pred_start[node]; e < graph->pred_start[node + 1]; e++)
            if (dominance_reaches(finder->dominance, graph->preds[e]))
                finder->stack[pending++] = graph->preds[e];
    }
    if (finder->innermost[header] == BLOCK_NONE) {
        finder->innermost[header] = number;
        finder->found.data[number].blocks++;
    }
}

static Block *preheader_find(const LoopForest *forest, const Loop *loop)
{
    Block *outside = NULL;
    for (unsigned i = 0; i < loop->header->pred_count; i++) {
        Block *pred = loop->header->preds[i];
        if (loop_contains(forest, loop, pred))
            continue;
        if (outside)
            return NULL;
        outside = pred;
    }
    return outside && !block_chooses(outside) ? outside : NULL;
}

static void latches_find(Arena *arena, const LoopForest *forest, Loop *loop)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < loop->header->pred_count; i++)
        count += loop_contains(forest, loop, loop->header->preds[i]);
    loop->latches = ARENA_ARRAY(arena, Block *, count);
    for (unsigned i = 0; i < loop->header->pred_count; i++)
        if (loop_contains(forest, loop, loop->header->preds[i]))
            loop->latches[loop->latch_count++] = loop->header->preds[i];
}

/* Lays the loops out in preorder and the blocks of each in one stretch that holds those of its inner loops. */
static void forest_build(Arena *arena, Finder *finder, LoopForest *forest)
{
    const Body *body = forest->body;
    uint32_t count = (uint32_t)finder->found.count, block_count = (uint32_t)body->blocks.count;
    /* Number 'count' is the parent of the outermost loops. */
    uint32_t *first_child = ARENA_ARRAY(finder->scratch, uint32_t, (size_t)count + 1);
    uint32_t *sibling = ARENA_ARRAY(finder->scratch, uint32_t, count);
    Loop **loop_by_number = ARENA_ARRAY(finder->scratch, Loop *, count);
    uint32_t *stack = ARENA_ARRAY(finder->scratch, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i <= count; i++)
        first_child[i] = BLOCK_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = finder->found.data[i].parent == BLOCK_NONE ? count : finder->found.data[i].parent;
        sibling[i] = first_child[parent];
        first_child[parent] = i;
    }
    forest->loops = ARENA_ARRAY(arena, Loop, count);
    forest->loop_count = count;
    Block **blocks = ARENA_ARRAY(arena, Block *, block_count);
    uint32_t depth = 0, index = 0, placed = 0;
    uint32_t *own_end = ARENA_ARRAY(finder->scratch, uint32_t, count);
    stack[depth++] = count;
    while (depth) {
        uint32_t number = stack[depth - 1], child = first_child[number];
        if (child == BLOCK_NONE) {
            if (number != count) {
                Loop *loop = loop_by_number[number];
                loop->end = index;
                loop->block_count = (uint32_t)(blocks + placed - loop->blocks);
            }
            depth--;
            continue;
        }
        first_child[number] = sibling[child];
        Loop *loop = loop_by_number[child] = &forest->loops[index];
        loop->index = index++;
        loop->header = body->blocks.data[finder->found.data[child].header];
        loop->parent = number == count ? NULL : loop_by_number[number];
        loop->depth = depth;
        loop->blocks = blocks + placed;
        own_end[child] = placed;
        placed += finder->found.data[child].blocks;
        stack[depth++] = child;
    }
    /* Headers first, then the others in layout order. */
    for (uint32_t i = 0; i < count; i++)
        blocks[own_end[i]++] = loop_by_number[i]->header;
    for (uint32_t i = 0; i < block_count; i++) {
        uint32_t number = finder->innermost[i];
        if (number == BLOCK_NONE)
            continue;
        forest->innermost[i] = loop_by_number[number];
        if (body->blocks.data[i] != loop_by_number[number]->header)
            blocks[own_end[number]++] = body->blocks.data[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        latches_find(arena, forest, &forest->loops[i]);
        forest->loops[i].preheader = preheader_find(forest, &forest->loops[i]);
    }
}

/* Without the back edges of natural loops a graph is acyclic except for its irreducible regions: its strongly connected
 * components (Tarjan, 1972, with the stack made explicit). */
static void irreducible_find(Arena *scratch, const FlowGraph *graph, LoopForest *forest, const Dominance *dominance)
{
    uint32_t count = graph->count, time = 0, depth = 0, open = 0;
    uint32_t *number = ARENA_ARRAY(scratch, uint32_t, count); /* 0: not met */
    uint32_t *low = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *edge = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, count);
    uint32_t *opened = ARENA_ARRAY(scratch, uint32_t, count);
    BitSet is_open = bitset_new(scratch, count);
    stack[depth++] = 0;
    while (depth) {
        uint32_t node = stack[depth - 1];
        if (!number[node]) {
            number[node] = low[node] = ++time;
            edge[node] = graph->succ_start[node];
            opened[open++] = node;
            bitset_add(&is_open, node);
        }
        if (edge[node] < graph->succ_start[node + 1]) {
            uint32_t next = graph->succs[edge[node]++];
            if (dominance_has_id(dominance, next, node))
                continue;
            if (!number[next])
                stack[depth++] = next;
            else if (bitset_has(&is_open, next) && number[next] < low[node])
                low[node] = number[next];
            continue;
        }
        depth--;
        if (depth && low[node] < low[stack[depth - 1]])
            low[stack[depth - 1]] = low[node];
        if (low[node] != number[node])
            continue;
        bool alone = opened[open - 1] == node;
        uint32_t member;
        do {
            member = opened[--open];
            bitset_remove(&is_open, member);
            if (!alone)
                bitset_add(&forest->irreducible, member);
        } while (member != node);
        forest->has_irreducible |= !alone;
    }
}

LoopForest *loops_compute(Arena *arena, const Dominance *dominance)
{
    require(!dominance->post);
    const Body *body = dominance->body;
    Arena *scratch = arena_new();
    const FlowGraph *graph = &dominance->graph;
    uint32_t edge_count = graph->succ_start[graph->count];
    Finder finder = {
        .dominance = dominance,
        .graph = graph,
        .innermost = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .outermost = ARENA_ARRAY(scratch, uint32_t, graph->count),
        .stack = ARENA_ARRAY(scratch, uint32_t, (size_t)edge_count * 2 + 1),
        .scratch = scratch,
    };
    for (uint32_t i = 0; i < graph->count; i++)
        finder.innermost[i] = BLOCK_NONE;
    for (uint32_t i = dominance->order_count; i-- > 0;)
        loop_find(&finder, dominance->order[i]);
    LoopForest *forest = ARENA_NEW(arena, LoopForest);
    forest->body = body;
    forest->innermost = ARENA_ARRAY(arena, Loop *, graph->count);
    forest->irreducible = bitset_new(arena, graph->count);
    forest_build(arena, &finder, forest);
    irreducible_find(scratch, graph, forest, dominance);
    arena_free(scratch);
    return forest;
}

uint64_t loop_weight(const LoopForest *forest, const Block *block)
{
    unsigned depth = loop_depth(forest, block);
    return UINT64_C(1) << 3 * (depth < 4 ? depth : 4);
}

bool loop_contains(const LoopForest *forest, const Loop *loop, const Block *block)
{
    const Loop *inner = forest->innermost[block->id];
    return inner && inner->index >= loop->index && inner->index < loop->end;
}
