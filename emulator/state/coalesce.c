/* Counts the sectors, lines, wavefronts and bank conflicts of an access. */
#include "emulator/state/shape.h"

/* The lanes that the hardware serves together: all for 4 bytes, half of them for 8, a quarter for 16. */
static unsigned lanes_together(unsigned bytes)
{
    unsigned words = bytes < 4 ? 1 : bytes / 4;
    return words > 8 ? LANES / 8 : LANES / words;
}

/* The number of groups of such lanes in which any is active. */
static unsigned groups_active(uint32_t mask, unsigned bytes)
{
    unsigned lanes = lanes_together(bytes), groups = 0;
    for (unsigned begin = 0; begin < LANES; begin += lanes)
        groups += (mask >> begin & (uint32_t)((UINT64_C(1) << lanes) - 1)) != 0;
    return groups;
}

/* Extra cycles, beyond one for each group. Addresses count from any multiple of 128. The banks of L1 are those of
 * shared memory. Lanes that read a word share it; those that update it take turns. */
static unsigned bank_conflicts(uint32_t mask, unsigned bytes, const uint64_t *address, bool updates)
{
    unsigned words = bytes < 4 ? 1 : bytes / 4, lanes = lanes_together(bytes), conflicts = 0;
    for (unsigned begin = 0; begin < LANES; begin += lanes) {
        uint64_t seen[32][LANES];
        unsigned per_bank[32] = {0}, most = 1;
        for (unsigned lane = begin; lane < begin + lanes; lane++)
            for (unsigned word = 0; word < words && mask >> lane & 1; word++) {
                uint64_t place = address[lane] / 4 + word;
                unsigned bank = place % 32, k = 0;
                while (k < per_bank[bank] && (updates || seen[bank][k] != place))
                    k++;
                if (k < per_bank[bank])
                    continue;
                seen[bank][per_bank[bank]++] = place;
                most = per_bank[bank] > most ? per_bank[bank] : most;
            }
        conflicts += most - 1;
    }
    return conflicts;
}

static void counts_add(Exec *x, bool writes, unsigned sectors, unsigned lines, unsigned wavefronts,
                       unsigned conflicts)
{
    EmulatorCounters *counters = &x->emulator->result->counters;
    if (writes) {
        counters->store_sectors += sectors;
        counters->store_lines += lines;
    } else {
        counters->load_sectors += sectors;
        counters->load_lines += lines;
    }
    counters->bank_conflicts += conflicts;
    OpCosts *costs = x->frame->code->costs ? &x->frame->code->costs[x->split->pc] : NULL;
    if (costs) {
        costs->sectors += sectors;
        costs->lines += lines;
        costs->wavefronts += wavefronts;
        costs->bank_conflicts += conflicts;
    }
}

void count_access(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at)
{
    const LaneLoops *loops = x->emulator->loops;
    uint64_t sectors[LANES] = {0}, lines[LANES] = {0}, shared[LANES] = {0};
    unsigned count = 0;
    uint32_t shared_lanes = 0, global_lanes = 0;
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (region && region->space == SPACE_SHARED) {
            shared_lanes |= 1u << lane;
            shared[lane] = at->address[lane];
        } else if (region && region->space == SPACE_GLOBAL) {
            sectors[count] = at->address[lane] / SECTOR_BYTES;
            lines[count] = at->address[lane] / LINE_BYTES;
            count++;
            global_lanes |= 1u << lane;
        }
    }
    unsigned wavefronts = 0;
    if (global_lanes)
        wavefronts = groups_active(global_lanes, bytes) + bank_conflicts(global_lanes, bytes, at->address, false);
    unsigned conflicts = shared_lanes ? bank_conflicts(shared_lanes, bytes, shared, mode == MODE_ATOMIC) : 0;
    if (x->emulator->options.count_reuse)
        reuse_count(x, mask, bytes, mode, at);
    if (x->emulator->options.count_reuse && mode == MODE_ATOMIC)
        updates_count(mask, at);
    counts_add(x, mode != MODE_LOAD, loops->distinct(sectors, count), loops->distinct(lines, count), wavefronts,
               conflicts);
}

/* The pieces of 'size' bytes that the runs touch. */
static inline unsigned pieces_count(const AccessShape *shape, uint32_t offset, uint32_t size)
{
    unsigned count = 0;
    uint32_t next = 0; /* the first piece not counted yet */
    for (unsigned i = 0; i < shape->run_count; i++) {
        const Run *run = &shape->runs[i];
        uint32_t begin = offset + run->first, first = begin / size, last = (begin + run->bytes - 1) / size;
        first = first < next ? next : first;
        count += last + 1 - first;
        next = last + 1;
    }
    return count;
}

void count_shape(Exec *x, const Region *region, AccessShape *shape, uint32_t offset, bool writes)
{
    if (shape->conflicts < 0) {
        uint64_t address[LANES];
        for (unsigned lane = 0; lane < LANES; lane++)
            address[lane] = (uint32_t)(offset + shape->relative[lane]);
        shape->conflicts = (int)bank_conflicts(shape->mask, shape->bytes, address, false);
    }
    if (region->space != SPACE_GLOBAL) {
        counts_add(x, writes, 0, 0, 0, (unsigned)shape->conflicts);
        return;
    }
    if (region->toucher[writes])
        reuse_shape(x, region, shape, offset, writes);
    counts_add(x, writes, pieces_count(shape, offset, SECTOR_BYTES), pieces_count(shape, offset, LINE_BYTES),
               groups_active(shape->mask, shape->bytes) + (unsigned)shape->conflicts, 0);
}
