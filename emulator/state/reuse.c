/* What each block reuses: which sectors of global memory it touches for the first time.
 *
 * Every region has, for each sector and for loads and stores apart, the number of the block that touched it last.  A
 * block's first touch of a sector is what a first-level cache of unlimited size would pass on; the sectors touched at
 * all are what a second-level cache would.  Neither depends on the order in which blocks run. */
#include "emulator/state/shape.h"

static size_t sector_count(const Region *region)
{
    return (size_t)divide_up(region->size, SECTOR_BYTES);
}

void reuse_prepare(Machine *machine, Region *region)
{
    if (!machine->options.count_reuse || region->space != SPACE_GLOBAL)
        return;
    for (unsigned i = 0; i < 2; i++)
        region->toucher[i] = machine_alloc(machine, sector_count(region) + 1, sizeof *region->toucher[i]);
}

void reuse_count(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at)
{
    EmulatorCounters *counters = &x->machine->result->counters;
    unsigned stores = mode != MODE_LOAD;
    uint32_t block = (uint32_t)x->block->index + 1;
    uint64_t *count = stores ? &counters->block_store_sectors : &counters->block_load_sectors;
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (!region || !region->toucher[stores])
            continue;
        uint64_t offset = at->address[lane] - region->base;
        for (uint64_t sector = offset / SECTOR_BYTES; sector <= (offset + bytes - 1) / SECTOR_BYTES; sector++) {
            *count += region->toucher[stores][sector] != block;
            region->toucher[stores][sector] = block;
        }
    }
}

void reuse_shape(Exec *x, const Region *region, const AccessShape *shape, uint32_t offset, bool writes)
{
    EmulatorCounters *counters = &x->machine->result->counters;
    uint32_t block = (uint32_t)x->block->index + 1;
    uint64_t *count = writes ? &counters->block_store_sectors : &counters->block_load_sectors;
    for (unsigned i = 0; i < shape->run_count; i++) {
        uint32_t begin = offset + shape->runs[i].first, end = begin + shape->runs[i].bytes;
        for (uint32_t sector = begin / SECTOR_BYTES; sector <= (end - 1) / SECTOR_BYTES; sector++) {
            *count += region->toucher[writes][sector] != block;
            region->toucher[writes][sector] = block;
        }
    }
}

void reuse_merge(Region *region, const Region *other)
{
    for (unsigned i = 0; i < 2 && region->toucher[i]; i++)
        for (size_t k = 0; k < sector_count(region); k++)
            region->toucher[i][k] |= other->toucher[i][k];
}

void reuse_collect(Machine *machine)
{
    EmulatorCounters *counters = &machine->result->counters;
    for (unsigned i = 0; i < machine->slot_count; i++) {
        const Region *region = machine->slots[i];
        for (size_t k = 0; region->toucher[0] && k < sector_count(region); k++) {
            counters->load_footprint += region->toucher[0][k] != 0;
            counters->store_footprint += region->toucher[1][k] != 0;
        }
    }
}
