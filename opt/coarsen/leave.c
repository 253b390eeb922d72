/* Branches at which threads leave the kernel before a barrier: "if (i >= n) return; ... __syncthreads();".
 *
 * The barrier does not wait for a thread that has exited. So where only some replicas of a merged thread leave, the
 * merged thread goes on for the others, which alive.c arranges. A branch lets threads leave if
 *   - it differs between replicas, and otherwise all of them come to it together;
 *   - from one side, a barrier can be reached; from the other, threads can only exit, without a barrier, perhaps after
 *     some blocks of their own.
 * The same is done where threads leave before a warp-level instruction whose mask may name them, as in a loop that some
 * leave, if warps.c finds no other way.
 *
 * Such branches are then left out of account, as if all replicas stayed: what is executed between them under the same
 * condition for all replicas that are still there can be shared by these.
 *
 * Requires SSA form, variance and regions. Changes nothing but the set. */
#include "opt/coarsen/internal.h"

static bool is_in_some(const Coarsening *c, bool (*is)(const Inst *))
{
    for (size_t b = bitset_next(&c->facts.in_region, 0); b != SIZE_MAX; b = bitset_next(&c->facts.in_region, b + 1))
        for (const Inst *inst = c->body->blocks.data[b]->first; inst; inst = inst->next)
            if (is(inst))
                return true;
    return false;
}

/* The blocks from which such an instruction can be reached. */
static BitSet blocks_before(Coarsening *c, bool (*is)(const Inst *))
{
    BitSet before = bitset_new(c->scratch, c->body->blocks.count);
    VEC(const Block *) pending = {0};
    for (size_t b = 0; b < c->body->blocks.count; b++)
        for (const Inst *inst = c->body->blocks.data[b]->first; inst && !bitset_has(&before, b); inst = inst->next)
            if (is(inst)) {
                bitset_add(&before, b);
                VEC_PUSH(c->scratch, pending, c->body->blocks.data[b]);
            }
    while (pending.count) {
        const Block *block = VEC_POP(pending);
        for (unsigned p = 0; p < block->pred_count; p++)
            if (!bitset_has(&before, block->preds[p]->id)) {
                bitset_add(&before, block->preds[p]->id);
                VEC_PUSH(c->scratch, pending, block->preds[p]);
            }
    }
    return before;
}

/* Collects the blocks that leaving threads have to themselves. False if there are others among them, or if they may
 * have to wait for each other in another way. */
static bool find_last_blocks(Coarsening *c, const BitSet *before, Leave *leave)
{
    BitSet seen = bitset_new(c->scratch, c->body->blocks.count);
    if (coarsening_only_exits(c->body, leave->leaves))
        return true;
    VEC_PUSH(c->scratch, leave->blocks, leave->leaves);
    bitset_add(&seen, leave->leaves->id);
    for (size_t i = 0; i < leave->blocks.count; i++) {
        const Block *block = leave->blocks.data[i];
        for (const Inst *inst = block->first; inst; inst = inst->next)
            if (inst->sync == SYNC_WARP || inst->sync == SYNC_CONVERGED)
                return false;
        FOR_EACH_SUCC(block, succ) {
            if (bitset_has(&seen, succ->id) || coarsening_only_exits(c->body, succ))
                continue;
            if (bitset_has(before, succ->id))
                return false;
            bitset_add(&seen, succ->id);
            VEC_PUSH(c->scratch, leave->blocks, succ);
        }
    }
    for (size_t i = 0; i < leave->blocks.count; i++) {
        const Block *block = leave->blocks.data[i];
        for (unsigned p = 0; p < block->pred_count; p++)
            if (!bitset_has(&seen, block->preds[p]->id) && (i || block->preds[p] != leave->branch))
                return false;
    }
    return true;
}

void coarsening_find_leaves(Coarsening *c, bool (*is)(const Inst *))
{
    c->exits.leaves.count = 0;
    if (!is_in_some(c, is))
        return;
    BitSet before = blocks_before(c, is);
    bool is_needed = false;
    for (size_t b = 0; b < c->body->blocks.count; b++) {
        Block *block = c->body->blocks.data[b];
        const Inst *last = block_two_way_branch(block);
        if (!last || !variance_branch(c->facts.variance, block))
            continue;
        bool taken_waits = bitset_has(&before, last->targets[0]->id);
        if (taken_waits == bitset_has(&before, block->fall->id))
            continue;
        is_needed |= c->step.guards == GUARDS_SEQUENTIAL || !coarsening_go_together(c, block);
        Leave leave = {.branch = block,
                       .leaves = taken_waits ? block->fall : last->targets[0],
                       .taken = !taken_waits};
        if (find_last_blocks(c, &before, &leave))
            VEC_PUSH(c->scratch, c->exits.leaves, leave);
    }
    if (!is_needed)
        c->exits.leaves.count = 0;
}
