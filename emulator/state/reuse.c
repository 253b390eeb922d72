/* The reuse of global memory by each block: the sectors that it touches for the first time.
 *
 * Every region has, for each sector and separately for loads and stores, the number of the block that touched it
 * last. A block's first touch of a sector is what a first-level cache of unlimited size would pass on; the sectors
 * touched at all are what a second-level cache would. A later load of the sector has a distance: the number of
 * lines that its warp has loaded since, and a later store one in stored lines. Caches have tags for lines of four
 * sectors, so threads that walk through rows need a line each, whatever they use of it. Together with the number of
 * warps that run at once, the distance tells how large a cache has to be. Warps of a block that load the same
 * sector hit if they load it at nearly the same time, as far as they have come at the same rate. None of this
 * depends on the order in which blocks run. */
#include "emulator/state/shape.h"

static size_t sector_count(const Region *region)
{
    return (size_t)divide_up(region->size, SECTOR_BYTES);
}

void reuse_prepare(Emulator *emulator, Region *region)
{
    if (!emulator->options.count_reuse || region->space != SPACE_GLOBAL)
        return;
    for (unsigned i = 0; i < 2; i++)
        region->touches[i] = emulator_alloc(emulator, sector_count(region) + 1, sizeof *region->touches[i]);
    region->loaders = emulator_alloc(emulator, sector_count(region) + 1, sizeof *region->loaders);
    region->updates = emulator_alloc(emulator, sector_count(region) + 1, sizeof *region->updates);
    footprint_prepare(emulator, region, sector_count(region));
}

/* The time of a load or store: its warp in the high bits, the lines that the warp had moved in the low ones. */
enum { TIME_BITS = 27 };
#define TIME_MASK ((UINT32_C(1) << TIME_BITS) - 1)

/* The touch of the access that the warp now makes. */
static SectorTouch touch_now(const Exec *x, bool writes)
{
    const uint32_t time = x->warp->index << TIME_BITS | (x->warp->moved[writes] & TIME_MASK);
    return (SectorTouch){(uint32_t)x->block->index + 1, time};
}

static void add_distance(uint64_t *distances, uint32_t before, uint32_t time)
{
    const uint32_t later = (time - before) & TIME_MASK, earlier = (before - time) & TIME_MASK;
    const uint32_t distance = later < earlier ? later : earlier;
    const unsigned k = 31 - (unsigned)__builtin_clz(distance | 1);
    distances[k < REUSE_DISTANCES ? k : REUSE_DISTANCES - 1]++;
}

static void count_sector(Exec *x, const Region *region, uint64_t sector, SectorTouch now, bool writes)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    const SectorTouch before = region->touches[writes][sector];
    region->touches[writes][sector] = now;
    if (before.block != now.block) {
        *(writes ? &counters->block_store_sectors : &counters->block_load_sectors) += 1;
        if (!writes) {
            region->loaders[sector]++;
            if (x->frame->code->costs)
                x->frame->code->costs[x->split->pc].fresh++;
        }
        footprint_touch(x->emulator, region, writes, sector);
    } else if (before.time >> TIME_BITS != now.time >> TIME_BITS) {
        if (!writes)
            add_distance(counters->shared_reuse, before.time, now.time);
    } else if (before.time != now.time) { /* else the same access */
        add_distance(writes ? counters->own_rewrites : counters->own_reuse, before.time, now.time);
    }
}

/* Whether all lanes have the address of the first. */
static bool is_one_address(uint32_t mask, const Translation *at)
{
    const uint64_t first = at->address[__builtin_ctz(mask)];
    EACH_ACTIVE(lane, mask)
    {
        if (at->address[lane] != first)
            return false;
    }
    return true;
}

/* The lanes up to this one that have its address. */
static unsigned lanes_alike(uint32_t mask, unsigned lane, const Translation *at)
{
    unsigned count = 1;
    for (unsigned other = 0; other < lane; other++)
        count += mask >> other & 1 && at->address[other] == at->address[lane];
    return count;
}

/* Memory updates a word once at a time, but different words of a sector together. So a sector is updated as often as
 * the access updates one of its words. If all lanes have one address, assemblers combine integers before, by REDUX
 * or by counting lanes, and leave floating-point numbers as they are. */
void updates_count(uint32_t mask, Type type, const Translation *at)
{
    const bool is_one = type_class(type) != CLASS_FLOAT && is_one_address(mask, at);
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (!region || !region->updates || (is_one && lane != (unsigned)__builtin_ctz(mask)))
            continue;
        const uint64_t sector = (at->address[lane] - region->base) / SECTOR_BYTES;
        const unsigned alike = lanes_alike(mask, lane, at);
        bool is_counted = false;
        for (unsigned other = 0; other < lane; other++)
            is_counted |= mask >> other & 1 && at->region[other] == region &&
                          (at->address[other] - region->base) / SECTOR_BYTES == sector &&
                          lanes_alike(mask, other, at) >= alike;
        region->updates[sector] += !is_counted;
        footprint_update(region);
    }
}

void reuse_count(Exec *x, uint32_t mask, unsigned bytes, unsigned lines, AccessMode mode, const Translation *at)
{
    const bool writes = mode != MODE_LOAD;
    const SectorTouch now = touch_now(x, writes);
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (!region || !region->touches[0])
            continue;
        const uint64_t offset = at->address[lane] - region->base;
        for (uint64_t sector = offset / SECTOR_BYTES; sector <= (offset + bytes - 1) / SECTOR_BYTES; sector++)
            count_sector(x, region, sector, now, writes);
    }
    x->warp->moved[writes] += lines;
}

void reuse_shape(Exec *x, const Region *region, const AccessShape *shape, uint32_t offset, unsigned lines, bool writes)
{
    const SectorTouch now = touch_now(x, writes);
    for (unsigned i = 0; i < shape->run_count; i++) {
        const uint32_t begin = offset + shape->runs[i].first, end = begin + shape->runs[i].bytes;
        for (uint32_t sector = begin / SECTOR_BYTES; sector <= (end - 1) / SECTOR_BYTES; sector++)
            count_sector(x, region, sector, now, writes);
    }
    x->warp->moved[writes] += lines;
}

void reuse_merge(Region *region, const Region *other)
{
    for (unsigned i = 0; i < 2 && region->touches[i]; i++)
        for (size_t k = 0; k < sector_count(region); k++)
            region->touches[i][k].block |= other->touches[i][k].block;
    for (size_t k = 0; region->updates && k < sector_count(region); k++) {
        region->updates[k] += other->updates[k];
        region->loaders[k] += other->loaders[k];
    }
}

uint64_t reuse_hot_loads(const Region *region, uint64_t blocks)
{
    enum { LEAST_BLOCKS = 16 };
    uint64_t loads = 0;
    for (size_t k = 0; region->loaders && blocks >= LEAST_BLOCKS && k < sector_count(region); k++)
        if (region->loaders[k] > blocks / 2)
            loads += region->loaders[k];
    return loads;
}

static void collect(EmulatorCounters *counters, const Region *region, uint64_t blocks)
{
    counters->hot_load_sectors += reuse_hot_loads(region, blocks);
    for (size_t k = 0; region->touches[0] && k < sector_count(region); k++) {
        counters->load_footprint += region->touches[0][k].block != 0;
        counters->store_footprint += region->touches[1][k].block != 0;
        counters->unread_footprint += region->touches[1][k].block != 0 && region->touches[0][k].block == 0;
        if (region->updates[k] > counters->most_updates)
            counters->most_updates = region->updates[k];
    }
}

void reuse_collect(Emulator *emulator)
{
    EmulatorCounters *counters = &emulator->result->counters;
    const uint64_t blocks = (uint64_t)emulator->grid[0] * emulator->grid[1] * emulator->grid[2];
    for (unsigned i = 0; i < emulator->slot_count; i++)
        collect(counters, emulator->slots[i], blocks);
    for (size_t i = 0; emulator->device_regions && i < emulator->launch->device->memory_count; i++)
        collect(counters, &emulator->device_regions[i], blocks);
}
