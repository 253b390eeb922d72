/* Reverse postorder and the dominator tree; no recursion, so that a chain of a million blocks is no problem. */
#include "ir/internal.h"

static Block *successor_at(const Block *block, unsigned index)
{
    if (block->fall) {
        if (index == 0)
            return block->fall;
        index--;
    }
    return block->last && index < block->last->target_count ? block->last->targets[index] : NULL;
}

typedef struct Frame {
    const Block *block;
    unsigned next;
} Frame;

/* The depth-first walk that everything starts from. */
typedef struct Walk {
    uint32_t *blocks; /* in preorder */
    uint32_t *number; /* by block: its place in preorder; UINT32_MAX: not reached */
    uint32_t *parent; /* by place: the place of the block it was reached from */
} Walk;

static void order_compute(Dominators *d, Walk *walk, Arena *arena, const Body *body)
{
    size_t count = body->blocks.count, used = 0;
    Frame *stack = ARENA_ARRAY(arena, Frame, count);
    uint32_t placed = 0, reached = 0;
    uint32_t *postorder = ARENA_ARRAY(arena, uint32_t, count);
    walk->blocks = ARENA_ARRAY(arena, uint32_t, count);
    walk->number = ARENA_ARRAY(arena, uint32_t, count);
    walk->parent = ARENA_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        walk->number[i] = UINT32_MAX;
    stack[used++] = (Frame){body->blocks.data[0], 0};
    walk->number[0] = reached++;
    while (used) {
        Frame *frame = &stack[used - 1];
        Block *next = successor_at(frame->block, frame->next++);
        if (!next) {
            postorder[placed++] = frame->block->id;
            used--;
        } else if (walk->number[next->id] == UINT32_MAX) {
            walk->parent[reached] = walk->number[frame->block->id];
            walk->blocks[reached] = next->id;
            walk->number[next->id] = reached++;
            stack[used++] = (Frame){next, 0};
        }
    }
    d->count = placed;
    d->order = ARENA_ARRAY(arena, uint32_t, count);
    d->blocks = ARENA_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        d->order[i] = UINT32_MAX;
    for (uint32_t i = 0; i < placed; i++) {
        d->blocks[i] = postorder[placed - 1 - i];
        d->order[d->blocks[i]] = i;
    }
}

/* The forest into which places are linked. */
typedef struct Forest {
    uint32_t *ancestor; /* UINT32_MAX: a root */
    uint32_t *label;    /* the place of least semidominator on the compressed way up */
    uint32_t *semi;
    uint32_t *path; /* scratch */
} Forest;

/* The place of least semidominator on the way from 'place' up to, but without, its root; compresses that way. */
static uint32_t forest_eval(const Forest *forest, uint32_t place)
{
    uint32_t length = 0;
    if (forest->ancestor[place] == UINT32_MAX)
        return place;
    for (uint32_t v = place; forest->ancestor[forest->ancestor[v]] != UINT32_MAX; v = forest->ancestor[v])
        forest->path[length++] = v;
    while (length) {
        uint32_t v = forest->path[--length], up = forest->ancestor[v];
        if (forest->semi[forest->label[up]] < forest->semi[forest->label[v]])
            forest->label[v] = forest->label[up];
        forest->ancestor[v] = forest->ancestor[up];
    }
    return forest->label[place];
}

/* Lengauer and Tarjan (1979), with simple linking: O(edges log blocks), also where iteration over the tree would take
 * the square of the blocks. */
static void idoms_compute(Dominators *d, const Walk *walk, Arena *arena, const Body *body)
{
    size_t count = body->blocks.count;
    uint32_t *idom = ARENA_ARRAY(arena, uint32_t, count); /* by place */
    uint32_t *bucket = ARENA_ARRAY(arena, uint32_t, count), *next = ARENA_ARRAY(arena, uint32_t, count);
    Forest forest = {ARENA_ARRAY(arena, uint32_t, count), ARENA_ARRAY(arena, uint32_t, count),
                     ARENA_ARRAY(arena, uint32_t, count), ARENA_ARRAY(arena, uint32_t, count)};
    for (uint32_t i = 0; i < count; i++) {
        forest.ancestor[i] = bucket[i] = UINT32_MAX;
        forest.label[i] = forest.semi[i] = i;
    }
    for (uint32_t i = d->count; i-- > 1;) {
        const Block *block = body->blocks.data[walk->blocks[i]];
        uint32_t parent = walk->parent[i];
        for (unsigned j = 0; j < block->pred_count; j++) {
            uint32_t pred = walk->number[block->preds[j]->id];
            uint32_t semi = pred == UINT32_MAX ? i : forest.semi[forest_eval(&forest, pred)];
            if (semi < forest.semi[i])
                forest.semi[i] = semi;
        }
        next[i] = bucket[forest.semi[i]];
        bucket[forest.semi[i]] = i;
        forest.ancestor[i] = parent;
        for (uint32_t v = bucket[parent]; v != UINT32_MAX; v = next[v]) {
            uint32_t least = forest_eval(&forest, v);
            idom[v] = forest.semi[least] < forest.semi[v] ? least : parent;
        }
        bucket[parent] = UINT32_MAX;
    }
    d->idom = ARENA_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        d->idom[i] = UINT32_MAX;
    d->idom[walk->blocks[0]] = walk->blocks[0];
    for (uint32_t i = 1; i < d->count; i++) {
        if (idom[i] != forest.semi[i])
            idom[i] = idom[idom[i]];
        d->idom[walk->blocks[i]] = walk->blocks[idom[i]];
    }
}

static void tree_number(Dominators *d, Arena *arena, size_t count)
{
    d->first_child = ARENA_ARRAY(arena, uint32_t, count);
    d->next_sibling = ARENA_ARRAY(arena, uint32_t, count);
    d->enter = ARENA_ARRAY(arena, uint32_t, count);
    d->leave = ARENA_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++)
        d->first_child[i] = d->next_sibling[i] = UINT32_MAX;
    for (uint32_t i = d->count; i-- > 1;) { /* backwards, so that children stand in reverse postorder */
        uint32_t block = d->blocks[i], parent = d->idom[block];
        d->next_sibling[block] = d->first_child[parent];
        d->first_child[parent] = block;
    }
    uint32_t clock = 0, block = d->blocks[0];
    d->enter[block] = clock++;
    for (;;) {
        if (d->first_child[block] != UINT32_MAX) {
            block = d->first_child[block];
            d->enter[block] = clock++;
            continue;
        }
        d->leave[block] = clock++;
        while (d->next_sibling[block] == UINT32_MAX) {
            if (block == d->blocks[0])
                return;
            block = d->idom[block];
            d->leave[block] = clock++;
        }
        block = d->next_sibling[block];
        d->enter[block] = clock++;
    }
}

void dominators_compute(Dominators *d, Arena *arena, const Body *body)
{
    Walk walk;
    order_compute(d, &walk, arena, body);
    idoms_compute(d, &walk, arena, body);
    tree_number(d, arena, body->blocks.count);
}
