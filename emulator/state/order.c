/* Fences and strong accesses, for the race check: the order that they impose on other accesses.
 *
 * A fence followed by a strong write of M is a release pattern, and a strong read of M is an acquire pattern (PTX ISA,
 * "Memory Consistency Model"). The check is more lenient in one point: it does not require a fence after the read,
 * because widely used code has none.
 *
 * Within a block the order is exact between warps: M carries a vector clock over the block's warps, as in FastTrack.
 * Between blocks a scalar replaces the vector, as in Lamport's clocks. Each device-wide fence takes the next tick, and
 * M carries the largest tick published there. An access is known to another block once its own block has executed a
 * device-wide fence after it and the other block has acquired the tick of that fence.
 *
 * So ordered accesses are never reported as a race, but a race between two blocks can go unnoticed if both synchronise
 * with other blocks. */
#include "emulator/state/state.h"

static SyncObject *sync_find(const SyncTable *table, uint64_t address)
{
    const uint64_t *place = map_get(&table->places, address);
    return place ? &table->objects.data[*place] : NULL;
}

static SyncObject *sync_make(Emulator *emulator, SyncTable *table, uint64_t address)
{
    SyncObject *found = sync_find(table, address);
    if (found)
        return found;
    table->places.arena = emulator->arena;
    map_put(&table->places, address, table->objects.count);
    VEC_PUSH(emulator->arena, table->objects, ((SyncObject){0}));
    return &VEC_LAST(table->objects);
}

static SyncTable *sync_table(Exec *x, uint64_t address)
{
    return address_space(address) == SPACE_SHARED ? &x->block->syncs : &x->emulator->syncs;
}

void order_clear(SyncTable *table)
{
    map_clear(&table->places);
    table->objects.count = 0;
}

void order_fence(Exec *x, FenceScope scope)
{
    Warp *warp = x->warp;
    if (!warp->clocks || scope == FENCE_NONE)
        return;
    memcpy(warp->fence_clocks, warp->clocks, x->block->clock_size * sizeof *warp->clocks);
    warp->clocks[warp->index]++;
    if (scope == FENCE_DEVICE) {
        warp->fence_tick = x->emulator->tick++;
        x->emulator->block_fences[x->block->index] = warp->fence_tick;
    }
}

void order_release(Exec *x, const MemoryOp *memory, uint64_t address)
{
    Warp *warp = x->warp;
    if (memory->releases)
        order_fence(x, (FenceScope)memory->releases);
    if (!warp->fence_clocks[warp->index])
        return;
    SyncObject *object = sync_make(x->emulator, sync_table(x, address), address);
    uint32_t block = (uint32_t)x->block->index;
    unsigned count = x->block->clock_size;
    if (!object->clock)
        object->clock = ARENA_ARRAY(x->emulator->arena, uint32_t, count);
    else if (object->block != block)
        memset(object->clock, 0, count * sizeof *object->clock);
    object->block = block;
    for (unsigned i = 0; i < count; i++)
        if (warp->fence_clocks[i] > object->clock[i])
            object->clock[i] = warp->fence_clocks[i];
    if (warp->fence_tick > object->tick)
        object->tick = warp->fence_tick;
}

void order_acquire(Exec *x, uint64_t address)
{
    Warp *warp = x->warp;
    const SyncObject *object = sync_find(sync_table(x, address), address);
    if (!object)
        return;
    unsigned others = x->block->warp_count;
    for (unsigned i = 0; object->block == x->block->index && i < x->block->clock_size; i++)
        if (object->clock[i] > warp->clocks[i])
            warp->clocks[i] = object->clock[i];
    if (object->tick > warp->clocks[others])
        warp->clocks[others] = object->tick;
}

void order_learn(Exec *x)
{
    if (x->warp->clocks)
        x->warp->clocks[x->block->warp_count] = x->emulator->tick;
}

void clock_join(Exec *x, uint32_t *clock)
{
    if (!x->warp->clocks)
        return;
    for (unsigned i = 0; i < x->block->clock_size; i++)
        if (x->warp->clocks[i] > clock[i])
            clock[i] = x->warp->clocks[i];
}

void clock_take(Warp *warp, const uint32_t *clock)
{
    if (!warp->clocks)
        return;
    for (unsigned i = 0; i < warp->block->clock_size; i++)
        if (clock[i] > warp->clocks[i])
            warp->clocks[i] = clock[i];
    warp->clocks[warp->index]++;
}
