/* Regions: the blocks under variant control, closed so that each connected set of them has one entry and one exit.
 *
 * Starts with the blocks whose execution is variant and adds blocks until every set has a head that all its entries
 * come from and a join that all its exits lead to. Refuses kernels where that is not possible.
 *
 * Requires SSA form, dominators, post-dominators and variance. Changes nothing but in_region and regions. */
#include "opt/coarsen/internal.h"

#include <stdlib.h>

typedef VEC(Block *) BlockVec;

static bool in_region(const Facts *facts, const Block *block)
{
    return bitset_has(&facts->in_region, block->id);
}

/* A connected set of blocks of in_region. */
typedef struct Component {
    BlockVec blocks;
    BitSet members; /* by Block.id */
    BitSet branched;  /* by Block.id: all successors of its variant branch have been added */
} Component;

static void add_member(Coarsening *c, Component *component, Block *block)
{
    if (!in_region(&c->facts, block) || bitset_has(&component->members, block->id))
        return;
    bitset_add(&component->members, block->id);
    VEC_PUSH(c->scratch, component->blocks, block);
}

/* Blocks are connected by edges, and as the two sides of one variant branch. */
static void collect_component(Coarsening *c, Block *start, Component *component)
{
    for (size_t i = 0; i < component->blocks.count; i++) {
        const Block *block = component->blocks.data[i];
        bitset_remove(&component->members, block->id);
        for (unsigned p = 0; p < block->pred_count; p++)
            bitset_remove(&component->branched, block->preds[p]->id);
    }
    component->blocks.count = 0;
    add_member(c, component, start);
    for (size_t i = 0; i < component->blocks.count; i++) {
        Block *block = component->blocks.data[i];
        FOR_EACH_SUCC(block, succ)
            add_member(c, component, succ);
        for (unsigned p = 0; p < block->pred_count; p++) {
            Block *pred = block->preds[p];
            add_member(c, component, pred);
            if (!variance_branch(c->facts.variance, pred) || bitset_has(&component->branched, pred->id))
                continue;
            bitset_add(&component->branched, pred->id);
            FOR_EACH_SUCC(pred, sibling)
                add_member(c, component, sibling);
        }
    }
}

/* Adds the blocks between the region and 'limit', walking backwards or forwards from 'from'. True if any was added. */
static bool absorb(Coarsening *c, Block *from, const Block *limit, bool forwards)
{
    BlockVec pending = {0};
    bool grown = false;
    VEC_PUSH(c->scratch, pending, from);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        if (block == limit || in_region(&c->facts, block))
            continue;
        bitset_add(&c->facts.in_region, block->id);
        grown = true;
        if (forwards) {
            FOR_EACH_SUCC(block, succ)
                VEC_PUSH(c->scratch, pending, succ);
        } else
            for (unsigned p = 0; p < block->pred_count; p++)
                VEC_PUSH(c->scratch, pending, block->preds[p]);
    }
    return grown;
}

static bool refuse_shape(Coarsening *c, const Block *block)
{
    const Block *decider = variance_block(c->facts.variance, block) ? c->facts.variance->deciders[block->id] : NULL;
    const Inst *inst = decider && decider->last && decider->last->span.end ? decider->last : block->last;
    return coarsening_refuse(c, inst ? inst : block->first, REFUSAL_NO_COMMON_END);
}

/* Takes one more step towards closing the component: sets *grown if it was needed, else *region. */
static bool close_component(Coarsening *c, const Component *component, Region *region, bool *grown)
{
    Facts *facts = &c->facts;
    const BlockVec *blocks = &component->blocks;
    Block *head = NULL, *join = NULL;
    *grown = false;
    for (size_t i = 0; i < blocks->count; i++) {
        Block *block = blocks->data[i];
        if (block->id == 0)
            return refuse_shape(c, block);
        for (unsigned p = 0; p < block->pred_count; p++)
            if (!in_region(facts, block->preds[p]))
                head = head ? dominance_common(facts->dominance, head, block->preds[p]) : block->preds[p];
        FOR_EACH_SUCC(block, succ)
            if (!in_region(facts, succ)) {
                join = join ? dominance_common(facts->postdominance, join, succ) : succ;
                if (!join)
                    return refuse_shape(c, block);
            }
    }
    if (!head || !join)
        return refuse_shape(c, blocks->data[0]);
    for (size_t i = 0; i < blocks->count; i++) {
        Block *block = blocks->data[i];
        for (unsigned p = 0; p < block->pred_count; p++)
            *grown |= absorb(c, block->preds[p], head, false);
        FOR_EACH_SUCC(block, succ)
            *grown |= absorb(c, succ, join, true);
    }
    if (*grown)
        return true;
    /* The nearest common dominator may have been added by an earlier step, or be the join. */
    if (in_region(facts, head) || in_region(facts, join) || head == join) {
        *grown = true;
        if (in_region(facts, head) && in_region(facts, join))
            return refuse_shape(c, head);
        bitset_add(&facts->in_region, in_region(facts, head) ? join->id : head->id);
        return true;
    }
    Block *entry = NULL;
    bool several = false, elsewhere = false;
    FOR_EACH_SUCC(head, succ) {
        if (bitset_has(&component->members, succ->id)) {
            several |= entry && entry != succ;
            entry = succ;
        } else
            elsewhere |= succ != join;
    }
    if (several && elsewhere) {
        bitset_add(&facts->in_region, head->id);
        *grown = true;
    }
    region->head = head;
    region->join = join;
    return true;
}

static int layout_compare(const void *a, const void *b)
{
    uint32_t x = (*(Block *const *)a)->id, y = (*(Block *const *)b)->id;
    return x < y ? -1 : x > y;
}

bool coarsening_find_regions(Coarsening *c)
{
    Facts *facts = &c->facts;
    Body *body = c->body;
    facts->block_count = body->blocks.count;
    facts->in_region = bitset_new(c->scratch, facts->block_count);
    bitset_copy(&facts->in_region, &facts->variance->blocks);
    Component component = {.members = bitset_new(c->scratch, facts->block_count),
                           .branched = bitset_new(c->scratch, facts->block_count)};
    BitSet seen = bitset_new(c->scratch, facts->block_count);
    /* A component that grows may reach one that was closed before: then all are checked again. */
    for (bool again = true; again;) {
        again = false;
        facts->regions.count = 0;
        bitset_clear(&seen);
        for (size_t b = bitset_next(&facts->in_region, 0); b != SIZE_MAX; b = bitset_next(&facts->in_region, b + 1)) {
            if (bitset_has(&seen, b))
                continue;
            Region region = {0};
            bool grown = true;
            while (grown) {
                collect_component(c, body->blocks.data[b], &component);
                if (!close_component(c, &component, &region, &grown))
                    return false;
                again |= grown;
            }
            for (size_t i = 0; i < component.blocks.count; i++) {
                bitset_add(&seen, component.blocks.data[i]->id);
                if (!again) /* only needed if this is the last round */
                    VEC_PUSH(c->scratch, region.blocks, component.blocks.data[i]);
            }
            if (region.blocks.count)
                qsort(region.blocks.data, region.blocks.count, sizeof *region.blocks.data, layout_compare);
            VEC_PUSH(c->scratch, facts->regions, region);
        }
    }
    return true;
}

const Region *coarsening_region_of(const Facts *facts, const Block *block)
{
    for (size_t r = 0; bitset_has(&facts->in_region, block->id) && r < facts->regions.count; r++)
        for (size_t i = 0; i < facts->regions.data[r].blocks.count; i++)
            if (facts->regions.data[r].blocks.data[i] == block)
                return &facts->regions.data[r];
    return NULL;
}

size_t coarsening_size_of(Block *const *blocks, size_t count)
{
    size_t instructions = 0;
    for (size_t i = 0; i < count; i++)
        for (const Inst *inst = blocks[i]->first; inst; inst = inst->next)
            instructions++;
    return instructions;
}
