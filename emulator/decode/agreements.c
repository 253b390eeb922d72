/* Branches on which the threads of a block must agree.
 *
 * CUDA allows a barrier under a condition only if all threads of the block evaluate it alike. A branch decides whether
 * its threads reach a barrier if all threads that take one side come to the barrier, and those that take the other meet
 * them again without one. A side that leads out of the kernel does not count, because barriers do not wait for exited
 * threads.
 *
 * opt/coarsen/barriers.c relies on the same branches and finds them in another way, on purpose. */
#include "emulator/decode/decode.h"

/* A barrier that any threads may use. */
static bool is_any_barrier(const Inst *inst)
{
    return inst->sync == SYNC_BLOCK_BARRIER || inst->sync == SYNC_BLOCK_COUNT || inst_op(inst) == OP_CALL;
}

/* Barrier 0 of all threads, as __syncthreads() and __syncthreads_or() are. */
static bool is_block_barrier(const Inst *inst)
{
    bool combines = inst_has(inst, MOD_RED);
    if (!is_any_barrier(inst) || inst_op(inst) == OP_CALL || inst_has(inst, MOD_ARRIVE) || inst_is_guarded(inst) ||
        inst->operand_count != (combines ? 3 : 1))
        return false;
    uint64_t id;
    return operand_is_integer(&inst->operands[combines ? 1 : 0], &id) && id == 0 &&
           (inst_op(inst) == OP_BAR || inst_has(inst, MOD_ALIGNED));
}

static bool has_one(const Block *block, bool (*is_one)(const Inst *))
{
    for (const Inst *inst = block->first; inst; inst = inst->next)
        if (is_one(inst))
            return true;
    return false;
}

typedef struct Search {
    Arena *arena;
    const Body *body;
    const BitSet *barriers, *all; /* blocks with one of the whole block of threads; with any */
    uint32_t branch, meeting;
} Search;

static bool ends_kernel(const Block *block)
{
    const Inst *last = block->last;
    return (!block->fall && (!last || !last->target_count)) ||
           (last && inst_is_terminator(last) && !last->target_count);
}

/* The blocks that a thread may execute from 'start' on before it reaches the meeting or 'stop', or comes to the branch
 * again; *beyond: true if it may reach the meeting, the branch or the end of the kernel. */
static BitSet blocks_from(const Search *search, uint32_t start, uint32_t stop, bool *beyond)
{
    BitSet seen = bitset_new(search->arena, search->body->blocks.count);
    VEC(uint32_t) pending = {0};
    *beyond = false;
    VEC_PUSH(search->arena, pending, start);
    while (pending.count) {
        uint32_t at = VEC_POP(pending);
        if (at == stop || bitset_has(&seen, at))
            continue;
        if (at == search->meeting) {
            *beyond = true;
            continue;
        }
        bitset_add(&seen, at);
        if (at == search->branch) {
            *beyond = true;
            continue;
        }
        const Block *block = search->body->blocks.data[at];
        *beyond |= ends_kernel(block);
        if (block->fall)
            VEC_PUSH(search->arena, pending, block->fall->id);
        for (unsigned t = 0; block->last && t < block->last->target_count; t++)
            VEC_PUSH(search->arena, pending, block->last->targets[t]->id);
    }
    return seen;
}

/* True if all threads that go on at 'side' come to one barrier, and none of those that go on at 'other' come to any. */
static bool side_decides(const Search *search, uint32_t side, uint32_t other)
{
    bool beyond;
    BitSet with = blocks_from(search, side, UINT32_MAX, &beyond);
    BitSet without = blocks_from(search, other, UINT32_MAX, &beyond);
    for (size_t b = bitset_next(search->all, 0); b != SIZE_MAX; b = bitset_next(search->all, b + 1))
        if (bitset_has(&without, b))
            return false;
    for (size_t b = bitset_next(search->barriers, 0); b != SIZE_MAX; b = bitset_next(search->barriers, b + 1)) {
        if (!bitset_has(&with, b))
            continue;
        blocks_from(search, side, (uint32_t)b, &beyond);
        if (!beyond)
            return true;
    }
    return false;
}

/* True if threads only exit from the block on. */
static bool only_ends(const Body *body, uint32_t at)
{
    for (size_t steps = 0; steps <= body->blocks.count; steps++) {
        const Block *block = body->blocks.data[at];
        const Inst *last = block->last;
        if (block->first != last || (last && (!inst_is_terminator(last) || inst_is_guarded(last))))
            return false;
        if (ends_kernel(block))
            return true;
        if (last && last->target_count > 1)
            return false;
        at = last ? last->targets[0]->id : block->fall->id;
    }
    return false;
}

BitSet body_agreements(Arena *arena, const Body *body, const uint32_t *postdominators)
{
    BitSet found = bitset_new(arena, body->blocks.count), barriers = bitset_new(arena, body->blocks.count);
    BitSet all = bitset_new(arena, body->blocks.count);
    for (size_t b = 0; b < body->blocks.count; b++) {
        if (has_one(body->blocks.data[b], is_block_barrier))
            bitset_add(&barriers, b);
        if (has_one(body->blocks.data[b], is_any_barrier))
            bitset_add(&all, b);
    }
    if (bitset_next(&barriers, 0) == SIZE_MAX)
        return found;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        const Inst *last = block_two_way_branch(block);
        uint32_t meeting = postdominators[b];
        if (!last || meeting == UINT32_MAX || only_ends(body, meeting))
            continue;
        Arena *scratch = arena_new();
        Search search = {scratch, body, &barriers, &all, (uint32_t)b, meeting};
        if (side_decides(&search, block->fall->id, last->targets[0]->id) ||
            side_decides(&search, last->targets[0]->id, block->fall->id))
            bitset_add(&found, b);
        arena_free(scratch);
    }
    return found;
}
