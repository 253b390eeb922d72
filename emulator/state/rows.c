/* The checks and counters of all lanes at once, for the frequent accesses that need nothing else. */
#include "emulator/state/race.h"

/* 'written' has a 1 for each byte that was. */
static inline bool word_is_written(const uint8_t *written)
{
    uint32_t word;
    memcpy(&word, written, sizeof word);
    return word == 0x01010101;
}

/* False if some byte was never written. */
static bool all_written(const Region *region, const AccessShape *shape, uint32_t offset)
{
    for (unsigned i = 0; i < shape->run_count; i++) {
        const Run *run = &shape->runs[i];
        const uint8_t *written = region->written + (uint32_t)(offset + run->first);
        if (run->bytes == 4 ? !word_is_written(written) : memchr(written, 0, run->bytes) != NULL)
            return false;
    }
    return true;
}

static void mark_written(const Region *region, const AccessShape *shape, uint32_t offset)
{
    for (unsigned i = 0; i < shape->run_count; i++)
        memset(region->written + (uint32_t)(offset + shape->runs[i].first), 1, shape->runs[i].bytes);
}

bool row_track(Exec *x, AccessShape *shape, Region *region, uint32_t mask, const uint32_t *offsets, unsigned bytes,
               bool writes)
{
    Emulator *emulator = x->emulator;
    bool counts = emulator->options.count_memory && (region->space == SPACE_GLOBAL || region->space == SPACE_SHARED);
    RaceCells *cells = region->race && !race_skip(emulator, region, writes) ? region->race : NULL;
    if (!counts && !region->written && !cells)
        return true;
    unsigned shift = (unsigned)__builtin_ctz(bytes);
    if (cells)
        shift = race_shift(emulator, region, bytes, writes);
    else if (region->race && region->race->shift < shift)
        shift = region->race->shift; /* as in regions that are written, which the op may access, too */
    shape_update(emulator, shape, mask, offsets, bytes, shift);
    if (region->written && !writes && !all_written(region, shape, offsets[0]))
        return false;
    if (cells && !race_row(x, region, shape, offsets[0], writes))
        return false;
    if (region->written && writes)
        mark_written(region, shape, offsets[0]);
    if (counts)
        count_shape(x, region, shape, offsets[0], writes);
    return true;
}
