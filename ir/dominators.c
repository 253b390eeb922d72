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

static void order_compute(Dominators *d, Arena *arena, const Body *body)
{
    size_t count = body->blocks.count, used = 0;
    Frame *stack = ARENA_ARRAY(arena, Frame, count);
    BitSet seen = bitset_new(arena, count);
    uint32_t placed = 0;
    uint32_t *postorder = ARENA_ARRAY(arena, uint32_t, count);
    stack[used++] = (Frame){body->blocks.data[0], 0};
    bitset_add(&seen, 0);
    while (used) {
        Frame *frame = &stack[used - 1];
        Block *next = successor_at(frame->block, frame->next++);
        if (!next) {
            postorder[placed++] = frame->block->id;
            used--;
        } else if (!bitset_has(&seen, next->id)) {
            bitset_add(&seen, next->id);
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

static uint32_t intersect(const Dominators *d, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (d->order[a] > d->order[b])
            a = d->idom[a];
        while (d->order[b] > d->order[a])
            b = d->idom[b];
    }
    return a;
}

static void idoms_compute(Dominators *d, Arena *arena, const Body *body)
{
    d->idom = ARENA_ARRAY(arena, uint32_t, body->blocks.count);
    for (size_t i = 0; i < body->blocks.count; i++)
        d->idom[i] = UINT32_MAX;
    d->idom[d->blocks[0]] = d->blocks[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < d->count; i++) {
            const Block *block = body->blocks.data[d->blocks[i]];
            uint32_t idom = UINT32_MAX;
            for (unsigned j = 0; j < block->pred_count; j++) {
                uint32_t pred = block->preds[j]->id;
                if (d->idom[pred] == UINT32_MAX)
                    continue;
                idom = idom == UINT32_MAX ? pred : intersect(d, pred, idom);
            }
            if (d->idom[block->id] != idom) {
                d->idom[block->id] = idom;
                changed = true;
            }
        }
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
    order_compute(d, arena, body);
    idoms_compute(d, arena, body);
    tree_number(d, arena, body->blocks.count);
}
