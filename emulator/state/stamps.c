/* Stamps: the thread and the time of an access, in 32 bits.
 *
 * A table holds block, warp, clock and tick of each epoch, and a stamp holds its number in the table. A full table
 * drops the epochs that no cell records any more, and renumbers the others. */
#include "emulator/state/race.h"

#include <stdlib.h>

#define EPOCHS_FIRST 65536
#define EPOCHS_MOST (UINT32_C(1) << (32 - STAMP_SHIFT))

struct EpochTable {
    Epoch *epochs; /* number 0 is not used */
    uint32_t count, capacity;
    uint32_t generation; /* increases when the epochs are renumbered */
};

static void table_resize(Emulator *emulator, uint32_t capacity)
{
    EpochTable *table = emulator->epochs;
    table->epochs = emulator_realloc(emulator, table->epochs, (size_t)capacity * sizeof *table->epochs);
    table->capacity = capacity;
}

size_t race_cell_count(const Region *region)
{
    return (size_t)((region->size + (UINT64_C(1) << region->race->shift) - 1) >> region->race->shift);
}

void race_clear(Region *region)
{
    if (!region->race || !region->race->writes)
        return;
    size_t bytes = race_cell_count(region) * sizeof(uint32_t);
    memset(region->race->writes, 0, bytes);
    if (!region->race->newer)
        return;
    memset(region->race->newer, 0, bytes);
    memset(region->race->older, 0, bytes);
}

static void stamps_mark(const Region *region, uint32_t *places)
{
    const RaceCells *cells = region->race;
    const size_t count = race_cell_count(region);
    for (size_t i = 0; cells->writes && i < count; i++)
        places[cells->writes[i] >> STAMP_SHIFT] = 1;
    for (size_t i = 0; cells->newer && i < count; i++)
        places[cells->newer[i] >> STAMP_SHIFT] = places[cells->older[i] >> STAMP_SHIFT] = 1;
}

static void stamp_move(uint32_t *stamp, const uint32_t *places)
{
    if (*stamp)
        *stamp = places[*stamp >> STAMP_SHIFT] << STAMP_SHIFT | (*stamp & ((1u << STAMP_SHIFT) - 1));
}

static void stamps_move(const Region *region, const uint32_t *places)
{
    const RaceCells *cells = region->race;
    const size_t count = race_cell_count(region);
    for (size_t i = 0; cells->writes && i < count; i++)
        stamp_move(&cells->writes[i], places);
    for (size_t i = 0; cells->newer && i < count; i++) {
        stamp_move(&cells->newer[i], places);
        stamp_move(&cells->older[i], places);
    }
}

/* Drops the epochs without stamps. */
static void epochs_collect(Emulator *emulator)
{
    EpochTable *table = emulator->epochs;
    uint32_t *places = calloc(table->count, sizeof *places), kept = 1;
    if (!places)
        out_of_memory();
    size_t cells = 0;
    for (size_t i = 0; i < emulator->raced.count; i++) {
        stamps_mark(emulator->raced.data[i], places);
        cells += race_cell_count(emulator->raced.data[i]);
    }
    for (uint32_t i = 1; i < table->count; i++)
        if (places[i]) {
            table->epochs[kept] = table->epochs[i];
            places[i] = kept++;
        }
    for (size_t i = 0; i < emulator->raced.count; i++)
        stamps_move(emulator->raced.data[i], places);
    free(places);
    table->count = kept;
    table->generation++;
    /* So large that looking through all cells is rare. */
    uint64_t wanted = 2 * (uint64_t)kept > cells / 8 ? 2 * (uint64_t)kept : cells / 8;
    if (wanted > table->capacity)
        table_resize(emulator, wanted < EPOCHS_MOST ? (uint32_t)wanted : EPOCHS_MOST);
    if (kept < EPOCHS_MOST - EPOCHS_MOST / 16)
        return;
    /* There are more epochs than a stamp can name, so all are forgotten. A later race with one of them goes
     * unnoticed. */
    for (size_t i = 0; i < emulator->raced.count; i++)
        race_clear(emulator->raced.data[i]);
    table->count = 1;
    emulator->forgot_accesses = true;
}

uint32_t stamp_now(Exec *x)
{
    Emulator *emulator = x->emulator;
    Warp *warp = x->warp;
    EpochTable *table = emulator->epochs;
    uint32_t clock = warp->clocks[warp->index];
    if (warp->epoch && warp->epoch_clock == clock && warp->epoch_tick == emulator->tick &&
        warp->epoch_generation == table->generation)
        return warp->epoch << STAMP_SHIFT;
    if (table->count == table->capacity)
        epochs_collect(emulator);
    warp->epoch = table->count++;
    warp->epoch_clock = clock;
    warp->epoch_tick = emulator->tick;
    warp->epoch_generation = table->generation;
    table->epochs[warp->epoch] = (Epoch){(uint32_t)x->block->index, clock, emulator->tick, warp->index};
    return warp->epoch << STAMP_SHIFT;
}

const Epoch *stamp_epoch(const Emulator *emulator, uint32_t stamp)
{
    return &emulator->epochs->epochs[stamp >> STAMP_SHIFT];
}

bool stamp_is_ordered(const Exec *x, uint32_t stamp)
{
    const Epoch *epoch = stamp_epoch(x->emulator, stamp);
    const uint32_t *clocks = x->warp->clocks;
    if (epoch->block != x->block->index)
        return epoch->tick <= x->emulator->block_fences[epoch->block] && epoch->tick <= clocks[x->block->warp_count];
    return epoch->warp == x->warp->index ? epoch->clock < clocks[epoch->warp] : epoch->clock <= clocks[epoch->warp];
}

bool stamp_is_of_warp(const Exec *x, uint32_t stamp)
{
    const Epoch *epoch = stamp_epoch(x->emulator, stamp);
    return epoch->block == x->block->index && epoch->warp == x->warp->index;
}

void epochs_prepare(Emulator *emulator)
{
    emulator->epochs = ARENA_NEW(emulator->arena, EpochTable);
    emulator->epochs->count = 1;
    table_resize(emulator, EPOCHS_FIRST);
}
