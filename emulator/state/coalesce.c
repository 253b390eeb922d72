/* Counts the sectors, lines and bank conflicts of an access. */
#include "emulator/state/state.h"

static unsigned count_distinct(uint64_t *values, unsigned count)
{
    unsigned distinct = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned k = 0;
        while (k < distinct && values[k] != values[i])
            k++;
        if (k == distinct)
            values[distinct++] = values[i];
    }
    return distinct;
}

/* Extra cycles, beyond one for each group of lanes that the hardware serves together: all lanes for 4 bytes, half of
 * them for 8, a quarter for 16. */
static unsigned bank_conflicts(uint32_t mask, unsigned bytes, const uint64_t *address)
{
    unsigned words = bytes < 4 ? 1 : bytes / 4, lanes = words > 8 ? LANES / 8 : LANES / words, conflicts = 0;
    for (unsigned begin = 0; begin < LANES; begin += lanes) {
        uint64_t seen[LANES * 8];
        unsigned count = 0, per_bank[32] = {0}, most = 0;
        for (unsigned lane = begin; lane < begin + lanes; lane++)
            if (mask >> lane & 1)
                for (unsigned word = 0; word < words; word++)
                    seen[count++] = address[lane] / 4 + word;
        count = count_distinct(seen, count);
        for (unsigned i = 0; i < count; i++)
            if (++per_bank[seen[i] % 32] > most)
                most = per_bank[seen[i] % 32];
        conflicts += most > 1 ? most - 1 : 0;
    }
    return conflicts;
}

void count_access(Exec *x, uint32_t mask, unsigned bytes, AccessMode mode, const Translation *at)
{
    EmulatorCounters *counters = &x->machine->result->counters;
    uint64_t sectors[LANES * 2], lines[LANES * 2], shared[LANES] = {0};
    unsigned count = 0;
    uint32_t shared_lanes = 0;
    EACH_ACTIVE(lane, mask)
    {
        const Region *region = at->region[lane];
        if (region && region->space == SPACE_SHARED) {
            shared_lanes |= 1u << lane;
            shared[lane] = at->address[lane];
        } else if (region && region->space == SPACE_GLOBAL) {
            sectors[count] = at->address[lane] / 32;
            lines[count] = at->address[lane] / 128;
            count++;
        }
    }
    (void)bytes;
    unsigned sector_count = count_distinct(sectors, count), line_count = count_distinct(lines, count);
    if (mode == MODE_LOAD) {
        counters->load_sectors += sector_count;
        counters->load_lines += line_count;
    } else {
        counters->store_sectors += sector_count;
        counters->store_lines += line_count;
    }
    unsigned conflicts = shared_lanes ? bank_conflicts(shared_lanes, bytes, shared) : 0;
    counters->bank_conflicts += conflicts;
    if (x->machine->options.count_reuse)
        reuse_count(x, mask, bytes, mode, at);
    OpCosts *costs = x->frame->code->costs ? &x->frame->code->costs[x->split->pc] : NULL;
    if (costs) {
        costs->sectors += sector_count;
        costs->lines += line_count;
        costs->bank_conflicts += conflicts;
    }
}
