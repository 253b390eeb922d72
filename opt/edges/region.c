/* See region.h. */
#include "opt/edges/region.h"

#include "opt/common/version.h"

/* Sets what is inside, from the blocks. */
static void find_inside(Arena *scratch, const LoopForest *loops, Region *region)
{
    region->inside = bitset_new(scratch, loops->body->blocks.count);
    for (size_t b = 0; b < region->count; b++)
        bitset_add(&region->inside, region->blocks[b]->id);
}

/* The only block where the loop leads; NULL: there are several. */
static Block *join_of(const LoopForest *loops, const Loop *loop)
{
    Block *join = NULL;
    for (uint32_t b = 0; b < loop->block_count; b++)
        FOR_EACH_SUCC(loop->blocks[b], succ) {
            if (loop_contains(loops, loop, succ) || succ == join)
                continue;
            if (join)
                return NULL;
            join = succ;
        }
    return join;
}

bool region_of_loop(Arena *scratch, const LoopForest *loops, const Loop *loop, Region *out)
{
    *out = (Region){.blocks = loop->blocks, .count = loop->block_count, .before = loop->preheader,
                    .join = join_of(loops, loop), .loop = loop};
    find_inside(scratch, loops, out);
    return out->join && out->before;
}

static bool ends_region(const Inst *inst)
{
    return !inst_is_branch(inst) && (inst_is_terminator(inst) || !inst_may_version(inst) ||
                                     inst->effects & (EFFECT_WRITE | EFFECT_VOLATILE));
}

/* The first instruction from this one on that ends a region; NULL: none in the block does. */
static Inst *find_end(Inst *inst)
{
    while (inst && !ends_region(inst))
        inst = inst->next;
    return inst;
}

/* The blocks that paths from the entry come through before they come to the join, the entry first, then by their place;
 * the join may be NULL. */
static void gather(Arena *scratch, const Body *body, Block *entry, const Block *join, Region *out)
{
    BitSet seen = bitset_new(scratch, body->blocks.count);
    VEC(Block *) pending = {0}, blocks = {0};
    VEC_PUSH(scratch, pending, entry);
    bitset_add(&seen, entry->id);
    while (pending.count) {
        Block *block = VEC_POP(pending);
        FOR_EACH_SUCC(block, succ)
            if (succ != join && !bitset_has(&seen, succ->id)) {
                bitset_add(&seen, succ->id);
                VEC_PUSH(scratch, pending, succ);
            }
    }
    VEC_PUSH(scratch, blocks, entry);
    for (size_t b = 0; b < body->blocks.count; b++)
        if (body->blocks.data[b] != entry && bitset_has(&seen, (uint32_t)b))
            VEC_PUSH(scratch, blocks, body->blocks.data[b]);
    *out = (Region){.blocks = blocks.data, .count = blocks.count, .join = (Block *)join, .inside = seen};
}

/* Whether only the first block leads to those between the two, and none of them ends a region. */
static bool is_clean_between(Arena *scratch, const Body *body, const Dominance *dominance, const Block *first,
                             Block *from, const Block *to)
{
    Region between;
    gather(scratch, body, from, to, &between);
    for (size_t b = 1; b < between.count; b++)
        if (!dominance_has(dominance, first, between.blocks[b]) || find_end(between.blocks[b]->first))
            return false;
    return true;
}

bool region_split(Arena *scratch, Body *body, Analyses *analyses, Inst *at, Region *out)
{
    const Dominance *dominance = analyses_dominance(analyses), *postdominance = analyses_postdominance(analyses);
    const LoopForest *loops = analyses_loops(analyses);
    Block *join = NULL;
    Inst *end = find_end(at);
    for (Block *block = at->block; !end;) {
        Block *next = dominance_parent(postdominance, block);
        if (!next || !is_clean_between(scratch, body, dominance, at->block, block, next))
            break;
        block = next;
        if (!loop_of(loops, block)) {
            join = block;
            end = find_end(block->first);
        } else if (find_end(block->first)) {
            break;
        }
    }
    if (end)
        join = end->prev ? body_split(body, end) : end->block;
    if (!join)
        return false;
    Block *before = at->block, *entry = body_split(body, at);
    gather(scratch, body, entry, join, out);
    out->before = before;
    return true;
}
