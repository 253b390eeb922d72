/* The race check of cp.async: copies that a thread has begun and not waited for (PTX ISA, "cp.async").
 *
 * The emulator copies at once. The bytes that a copy has written count as *pending* until its thread has waited for
 * the copy's group: until then no access may touch them, one of the thread itself included. When the wait is over,
 * the copy counts as a store that the thread makes there, so that other threads may read only what a barrier orders
 * after the wait. */
#include "emulator/state/race.h"

/* A copy of one thread. */
typedef struct PendingCopy {
    uint32_t thread, group; /* of the block; of the thread, from 0 */
    uint64_t offset;        /* in shared memory */
    unsigned bytes;
} PendingCopy;

struct PendingCopies {
    uint32_t *groups; /* by thread of the block: those that it has committed */
    PendingCopy *copies;
    size_t count, capacity;
};

static PendingCopies *copies_ready(Exec *x)
{
    BlockState *block = x->block;
    if (!block->copies) {
        block->copies = ARENA_NEW(x->emulator->arena, PendingCopies);
        block->copies->groups = emulator_alloc(x->emulator, x->emulator->block_threads, sizeof(uint32_t));
    }
    return block->copies;
}

static uint32_t thread_number(const Exec *x, unsigned lane)
{
    return x->warp->index * LANES + lane;
}

static void copy_add(Emulator *emulator, PendingCopies *copies, const PendingCopy *copy)
{
    if (copies->count == copies->capacity) {
        copies->capacity = copies->capacity ? 2 * copies->capacity : 256;
        copies->copies = emulator_realloc(emulator, copies->copies, copies->capacity * sizeof *copies->copies);
    }
    copies->copies[copies->count++] = *copy;
}

void pending_add(Exec *x, unsigned lane, Region *region, uint64_t offset, unsigned bytes)
{
    if (!region || !region->race || region != &x->block->shared)
        return;
    PendingCopies *copies = copies_ready(x);
    const uint32_t thread = thread_number(x, lane);
    race_set_pending(x->emulator, region, offset, bytes, true);
    copy_add(x->emulator, copies, &(PendingCopy){thread, copies->groups[thread], offset, bytes});
}

void pending_commit(Exec *x, uint32_t mask)
{
    EACH_ACTIVE(lane, mask)
    {
        if (x->block->copies)
            x->block->copies->groups[thread_number(x, lane)]++;
    }
}

/* Whether a copy of the warp's lanes in the mask is in none of the thread's latest 'left' groups. */
static bool is_complete(const Exec *x, const PendingCopies *copies, const PendingCopy *copy, uint32_t mask,
                        uint32_t left)
{
    return copy->thread / LANES == x->warp->index && mask >> copy->thread % LANES & 1 &&
           (uint64_t)copy->group + left < copies->groups[copy->thread];
}

bool pending_wait(Exec *x, const Op *op, uint32_t mask, uint32_t left)
{
    PendingCopies *copies = x->block->copies;
    size_t kept = 0;
    bool is_ordered = true;
    for (size_t i = 0; copies && i < copies->count; i++) {
        const PendingCopy copy = copies->copies[i];
        Region *region = &x->block->shared;
        if (!is_complete(x, copies, &copy, mask, left)) {
            copies->copies[kept++] = copy;
            continue;
        }
        race_set_pending(x->emulator, region, copy.offset, copy.bytes, false);
        is_ordered = is_ordered && race_check(x, op, copy.thread % LANES, copy.bytes, MODE_STORE, false, region,
                                              copy.offset, region->bytes + copy.offset);
    }
    if (copies)
        copies->count = kept;
    return is_ordered;
}

void pending_clear(BlockState *block)
{
    PendingCopies *copies = block->copies;
    Emulator *emulator = block->emulator;
    if (!copies)
        return;
    for (size_t i = 0; i < copies->count; i++)
        race_set_pending(emulator, &block->shared, copies->copies[i].offset, copies->copies[i].bytes, false);
    memset(copies->groups, 0, emulator->block_threads * sizeof *copies->groups);
    copies->count = 0;
}
