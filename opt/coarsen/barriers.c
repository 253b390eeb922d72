/* Branches that the threads of a block take alike, by CUDA's rule for barriers.
 *
 * A barrier of the block is reached by all of its threads that have not exited, or by none ("__syncthreads() is allowed
 * in conditional code but only if the conditional evaluates identically across the entire thread block": CUDA C++
 * Programming Guide). So a branch is taken alike by all if
 *   - the threads on one side come to a barrier whatever they do next: it post-dominates that side;
 *   - those on the other side meet them again without coming to any barrier, and before the kernel ends.
 * Other conditions, that are the same for all threads, may say whether the first side comes to the barrier: such parts
 * have been divided, and their branches marked (reach.c).
 * If either side may come to a barrier, as in "a || b", the branch alone does not decide. Nor does it if both have one
 * of their own, because PTX lets a thread arrive at any instruction of the barrier. Only aligned barriers with the
 * number 0 decide: others may be used by parts of a block.
 *
 * The emulator finds the same branches (emulator/decode/agreements.c) and reports threads that do not agree.
 * Requires post-dominators. Changes nothing but the set. */
#include "opt/coarsen/internal.h"

static bool is_barrier(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_BLOCK_COUNT || inst_is_call(inst);
}

/* A barrier of all threads: its number is its only operand, or the one between the result and the predicate. */
static bool is_block_barrier(const Inst *inst)
{
    bool combines = coarsening_combines(inst);
    if ((inst->sync != SYNC_BLOCK_BARRIER && !combines) || inst->operand_count != (combines ? 3 : 1))
        return false;
    uint64_t id;
    return !inst_is_guarded(inst) && operand_is_integer(&inst->operands[combines], &id) && id == 0 &&
           signature_is_aligned(inst->signature);
}

static bool block_has(const Block *block, bool (*is)(const Inst *))
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (is(inst))
            return true;
    return false;
}

bool coarsening_has_barrier(const Block *block)
{
    return block_has(block, is_barrier);
}

bool coarsening_has_block_barrier(const Block *block)
{
    return block_has(block, is_block_barrier);
}

/* True if a thread at 'from' may come to a barrier before the branch's sides meet or it takes the branch again. */
static bool may_wait(Coarsening *c, const Block *from, const Block *branch, const Block *meeting)
{
    BitSet seen = bitset_new(c->scratch, c->body->blocks.count);
    VEC(const Block *) pending = {0};
    VEC_PUSH(c->scratch, pending, from);
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        if (block == meeting || bitset_has(&seen, block->id))
            continue;
        bitset_add(&seen, block->id);
        if (block_has(block, is_barrier))
            return true;
        if (block == branch)
            continue;
        FOR_EACH_SUCC(block, succ)
            VEC_PUSH(c->scratch, pending, succ);
    }
    return false;
}

/* True if all threads on this side of the branch come to a barrier before they meet the others. */
static bool waits(const Facts *facts, const BitSet *barriers, const Block *side, const Block *meeting)
{
    for (const Block *block = side; block && block != meeting; block = dominance_parent(facts->postdominance, block))
        if (bitset_has(barriers, block->id))
            return true;
    return false;
}

static bool decides(Coarsening *c, const BitSet *barriers, const Block *branch)
{
    const Inst *last = block_two_way_branch(branch);
    if (!last)
        return false;
    if (last->block_agrees)
        return true;
    const Block *meeting = dominance_parent(c->facts.postdominance, branch);
    if (!meeting || coarsening_only_exits(c->body, meeting))
        return false;
    const Block *sides[2] = {branch->fall, last->targets[0]};
    for (unsigned s = 0; s < 2; s++)
        if (waits(&c->facts, barriers, sides[s], meeting) && !may_wait(c, sides[1 - s], branch, meeting))
            return true;
    return false;
}

void coarsening_find_uniform_branches(Coarsening *c)
{
    Facts *facts = &c->facts;
    const Body *body = c->body;
    facts->uniform_branches = bitset_new(c->scratch, body->blocks.count);
    facts->block_branches = bitset_new(c->scratch, body->blocks.count);
    BitSet barriers = bitset_new(c->scratch, body->blocks.count);
    bool any = false;
    for (size_t b = 0; b < body->blocks.count; b++)
        if (block_has(body->blocks.data[b], is_block_barrier)) {
            bitset_add(&barriers, b);
            any = true;
        }
    for (size_t b = 0; any && b < body->blocks.count; b++)
        if (decides(c, &barriers, body->blocks.data[b]))
            bitset_add(&facts->block_branches, b);
    if (!c->step.merges_blocks) /* the rule says nothing about threads of several blocks */
        bitset_copy(&facts->uniform_branches, &facts->block_branches);
}
