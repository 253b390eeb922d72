/* Live ranges of single values: the sorted places where a value is read, and the sorted blocks at whose end it is
 * live. One backward walk from the uses for each value whose live range is needed (Boissinot et al. 2009, section
 * 4). */
#include "ir/ssa/destruct.h"

#include <stdlib.h>

static int key_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int block_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Tied operands are not counted: a copy before the instruction reads instead. */
static bool ref_is_use(const RegRef *ref)
{
    return ref->role == REF_USE;
}

static void uses_count(Leaver *leaver, uint32_t *counts)
{
    for (size_t i = 0; i < leaver->body->blocks.count; i++)
        for (const Inst *inst = leaver->body->blocks.data[i]->first; inst; inst = inst->next)
            for (unsigned j = 0; j < inst->ref_count; j++)
                if (ref_is_use(&inst->refs[j]))
                    counts[inst->refs[j].reg]++;
    for (size_t i = 0; i < leaver->copies.count; i++)
        if (leaver->copies.data[i].src < leaver->registers)
            counts[leaver->copies.data[i].src]++;
}

static void use_add(Leaver *leaver, uint64_t **lists, uint32_t reg, uint32_t block, uint32_t position)
{
    LiveRange *range = &leaver->ranges[reg];
    if (lists[reg])
        lists[reg][range->use_count++] = (uint64_t)block << 32 | position;
}

static void uses_collect(Leaver *leaver)
{
    uint32_t *counts = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->registers);
    uint64_t **lists = ARENA_ARRAY(leaver->scratch, uint64_t *, leaver->registers);
    uses_count(leaver, counts);
    for (uint32_t i = 0; i < leaver->registers; i++)
        if (leaver->values.data[i].tracked && counts[i])
            leaver->ranges[i].uses = lists[i] = ARENA_ARRAY(leaver->scratch, uint64_t, counts[i]);
    for (size_t i = 0; i < leaver->body->blocks.count; i++) {
        uint32_t position = POSITION_FIRST;
        for (const Inst *inst = leaver->body->blocks.data[i]->first; inst; inst = inst->next, position += 2)
            for (unsigned j = 0; j < inst->ref_count; j++)
                if (ref_is_use(&inst->refs[j]))
                    use_add(leaver, lists, inst->refs[j].reg, (uint32_t)i, position);
    }
    for (size_t i = 0; i < leaver->copies.count; i++) {
        const Copy *copy = &leaver->copies.data[i];
        if (copy->src < leaver->registers)
            use_add(leaver, lists, copy->src, copy->block, copy->position);
    }
    for (uint32_t i = 0; i < leaver->registers; i++)
        if (leaver->ranges[i].use_count > 1)
            qsort(lists[i], leaver->ranges[i].use_count, sizeof *lists[i], key_compare);
}

typedef struct Walk {
    uint32_t *entered, *left; /* by block: live at its begin, at its end, for the value whose number + 1 is stored
                               * there */
    VEC(uint32_t) work, found;
} Walk;

/* The blocks found, in their order. A value that lives long has blocks close together, so looking at those between the
 * first and the last is enough. */
static uint32_t *sort_found(Leaver *leaver, const Walk *walk, uint32_t mark)
{
    enum { DENSE = 4 };
    const size_t count = walk->found.count;
    uint32_t *blocks = ARENA_ARRAY(leaver->scratch, uint32_t, count), first = UINT32_MAX, last = 0;
    for (size_t i = 0; i < count; i++) {
        blocks[i] = walk->found.data[i];
        first = blocks[i] < first ? blocks[i] : first;
        last = blocks[i] > last ? blocks[i] : last;
    }
    if (last - first >= DENSE * count) {
        qsort(blocks, count, sizeof *blocks, block_compare);
        return blocks;
    }
    size_t place = 0;
    for (uint32_t b = first; b <= last; b++)
        if (walk->left[b] == mark)
            blocks[place++] = b;
    require(place == count);
    return blocks;
}

static void range_walk(Leaver *leaver, Walk *walk, uint32_t reg)
{
    const Value *value = &leaver->values.data[reg];
    LiveRange *range = &leaver->ranges[reg];
    uint32_t mark = reg + 1;
    walk->found.count = 0;
    for (uint32_t i = 0; i < range->use_count; i++) {
        uint32_t block = (uint32_t)(range->uses[i] >> 32);
        if (block == value->block || walk->entered[block] == mark)
            continue;
        walk->entered[block] = mark;
        VEC_PUSH(leaver->scratch, walk->work, block);
    }
    while (walk->work.count) {
        const Block *block = leaver->body->blocks.data[VEC_POP(walk->work)];
        for (unsigned i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i]->id;
            if (walk->left[pred] == mark)
                continue;
            walk->left[pred] = mark;
            VEC_PUSH(leaver->scratch, walk->found, pred);
            if (pred == value->block || walk->entered[pred] == mark)
                continue;
            walk->entered[pred] = mark;
            VEC_PUSH(leaver->scratch, walk->work, pred);
        }
    }
    if (!walk->found.count)
        return;
    range->blocks = sort_found(leaver, walk, mark);
    range->block_count = (uint32_t)walk->found.count;
}

void live_ranges_compute(Leaver *leaver)
{
    Walk walk = {0};
    walk.entered = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->body->blocks.count);
    walk.left = ARENA_ARRAY(leaver->scratch, uint32_t, leaver->body->blocks.count);
    leaver->ranges = ARENA_ARRAY(leaver->scratch, LiveRange, leaver->registers);
    uses_collect(leaver);
    for (uint32_t i = 0; i < leaver->registers; i++)
        if (leaver->values.data[i].tracked && leaver->values.data[i].block != VALUE_NONE)
            range_walk(leaver, &walk, i);
}

static bool range_leaves(const LiveRange *range, uint32_t block)
{
    uint32_t low = 0, high = range->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (range->blocks[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low < range->block_count && range->blocks[low] == block;
}

static bool range_read_after(const LiveRange *range, uint32_t block, uint32_t position)
{
    uint64_t key = (uint64_t)block << 32 | position;
    uint32_t low = 0, high = range->use_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (range->uses[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < range->use_count && range->uses[low] >> 32 == block;
}

bool values_intersect(const Leaver *leaver, uint32_t a, uint32_t b)
{
    const Value *x = &leaver->values.data[a], *y = &leaver->values.data[b];
    if (x->block == y->block && x->position == y->position)
        return true; /* both are written at the same time */
    if (a >= leaver->registers)
        return x->block == y->block && y->position < x->last;
    const LiveRange *range = &leaver->ranges[a];
    return range_leaves(range, y->block) || range_read_after(range, y->block, y->position);
}
