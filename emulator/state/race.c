/* The race check.
 *
 * Races are found by vector clocks over the warps of a block, as in FastTrack (Flanagan and Freund, PLDI 2009).
 * Barriers order accesses, and so do fences with strong accesses (order.c). Every cell remembers its last write and
 * the last reads of two threads; a cell is a word or, in a region with smaller accesses, half a word or a byte. A
 * store of the value that memory already holds does not race with other stores.
 *
 * race_check goes through the cells of one lane. race_row does the same at once for all lanes of a weak load, or of a
 * weak store in which no lanes meet: run by run, looking at the first stamp of each. */
#include "emulator/state/race.h"

/* The kinds of access that a cell has seen. */
enum { SEEN_WEAK_READ = 1, SEEN_STRONG_READ = 2, SEEN_WEAK_WRITE = 4, SEEN_STRONG_WRITE = 8 };

void race_prepare(Emulator *emulator, Region *region)
{
    if (!emulator->options.check_races || region->read_only)
        return;
    region->race = ARENA_NEW(emulator->arena, RaceCells);
    region->race->shift = 2;
    VEC_PUSH(emulator->arena, emulator->raced, region);
}

static void reads_alloc(Emulator *emulator, Region *region)
{
    RaceCells *cells = region->race;
    cells->newer = emulator_alloc(emulator, race_cell_count(region), sizeof *cells->newer);
    cells->older = emulator_alloc(emulator, race_cell_count(region), sizeof *cells->older);
}

static void cells_alloc(Emulator *emulator, Region *region)
{
    RaceCells *cells = region->race;
    size_t count = race_cell_count(region);
    cells->writes = emulator_alloc(emulator, count, sizeof *cells->writes);
    if (cells->newer)
        reads_alloc(emulator, region);
    if (emulator->options.jobs > 1 && region->space == SPACE_GLOBAL)
        cells->seen = emulator_alloc(emulator, count, 1);
    if (cells->pending)
        cells->pending = emulator_alloc(emulator, count, 1);
}

/* Replaces the cells by smaller ones. */
static void cells_refine(Emulator *emulator, Region *region, unsigned shift)
{
    RaceCells *cells = region->race, old = *cells;
    cells->shift = shift;
    if (!cells->writes)
        return;
    cells_alloc(emulator, region);
    for (size_t i = 0, count = race_cell_count(region); i < count; i++) {
        size_t from = i >> (old.shift - shift);
        cells->writes[i] = old.writes[from];
        if (cells->newer) {
            cells->newer[i] = old.newer[from];
            cells->older[i] = old.older[from];
        }
        if (cells->seen)
            cells->seen[i] = old.seen[from];
        if (cells->pending)
            cells->pending[i] = old.pending[from];
    }
    emulator_release(emulator, old.writes);
    emulator_release(emulator, old.newer);
    emulator_release(emulator, old.older);
    emulator_release(emulator, old.seen);
    emulator_release(emulator, old.pending);
}

/* Makes the cells of the region ready for an access. */
static RaceCells *cells_ready(Emulator *emulator, Region *region, uint64_t offset, unsigned bytes, bool reads)
{
    RaceCells *cells = region->race;
    unsigned shift = (offset | bytes) & 1 ? 0 : (offset | bytes) & 2 ? 1 : 2;
    if (shift < cells->shift)
        cells_refine(emulator, region, shift);
    if (!cells->writes)
        cells_alloc(emulator, region);
    if (reads && !cells->newer)
        reads_alloc(emulator, region);
    return cells;
}

bool race_skip(const Emulator *emulator, Region *region, bool writes)
{
    if (writes || !emulator->skips_reads || region->space != SPACE_GLOBAL || region->race->is_written)
        return false;
    region->race->skipped_reads = true;
    return true;
}

/* A region is written some of whose reads were skipped: the run ends, and other cores take no more blocks. */
static bool reads_are_missing(Exec *x)
{
    Emulator *emulator = x->emulator;
    emulator->misses_reads = true;
    if (emulator->next_block)
        __atomic_store_n(emulator->next_block, emulator->blocks, __ATOMIC_RELAXED);
    return false;
}

static bool conflicts(const Exec *x, uint32_t before, uint32_t now)
{
    if (!before || before & now & STAMP_STRONG || stamp_is_ordered(x, before))
        return false;
    return ((before ^ now) & STAMP_LANE) != 0 || !stamp_is_of_warp(x, before);
}

static bool race_report(Exec *x, const Op *op, unsigned lane, uint32_t before, bool before_writes, bool writes,
                        const Region *region, uint64_t offset)
{
    const unsigned *block = x->emulator->block, *grid = x->emulator->grid;
    const Epoch *epoch = stamp_epoch(x->emulator, before);
    unsigned thread = epoch->warp * LANES + (before & STAMP_LANE) / 2;
    fault_at(x, op, lane, FAULT_RACE,
             "%s byte %llu of %s, which thread %u,%u,%u of block %u,%u,%u %s; nothing orders the two accesses",
             writes ? "writes" : "reads", (unsigned long long)offset, region->name, thread % block[0],
             thread / block[0] % block[1], thread / block[0] / block[1], epoch->block % grid[0],
             epoch->block / grid[0] % grid[1], epoch->block / grid[0] / grid[1], before_writes ? "wrote" : "read");
    return false;
}

void race_set_pending(Emulator *emulator, Region *region, uint64_t offset, unsigned bytes, bool pending)
{
    RaceCells *cells = cells_ready(emulator, region, offset, bytes, false);
    if (!cells->pending)
        cells->pending = emulator_alloc(emulator, race_cell_count(region), 1);
    for (uint64_t i = offset >> cells->shift; i <= (offset + bytes - 1) >> cells->shift; i++)
        cells->pending[i] = pending;
}

static bool pending_report(Exec *x, const Op *op, unsigned lane, bool writes, const Region *region, uint64_t offset)
{
    fault_at(x, op, lane, FAULT_RACE, "%s byte %llu of %s before the asynchronous copy to it has been waited for",
             writes ? "writes" : "reads", (unsigned long long)offset, region->name);
    return false;
}

/* True if the stored bytes of the cell already hold the stored values. */
static bool stores_same(const Region *region, uint64_t cell, uint64_t offset, unsigned bytes, const uint8_t *stored)
{
    uint64_t begin = cell << region->race->shift, end = begin + (UINT64_C(1) << region->race->shift);
    begin = begin < offset ? offset : begin;
    end = end > offset + bytes ? offset + bytes : end;
    return memcmp(region->bytes + begin, stored + (begin - offset), (size_t)(end - begin)) == 0;
}

/* Remembers a read of the cell. */
static void cell_read(const Exec *x, RaceCells *cells, size_t i, uint32_t now)
{
    uint32_t before = cells->newer[i];
    if (before && ((before ^ now) & STAMP_LANE || !stamp_is_of_warp(x, before)))
        cells->older[i] = before;
    cells->newer[i] = now;
}

bool race_check(Exec *x, const Op *op, unsigned lane, unsigned bytes, AccessMode mode, bool strong, Region *region,
                uint64_t offset, const uint8_t *stored)
{
    bool writes = mode != MODE_LOAD;
    if (race_skip(x->emulator, region, writes))
        return true;
    if (writes && region->race->skipped_reads)
        return reads_are_missing(x);
    RaceCells *cells = cells_ready(x->emulator, region, offset, bytes, !writes);
    uint32_t now = stamp_now(x) | lane << 1 | (strong ? STAMP_STRONG : 0);
    uint8_t seen = (uint8_t)((mode != MODE_STORE ? SEEN_WEAK_READ << strong : 0) |
                             (writes ? SEEN_WEAK_WRITE << strong : 0));
    for (uint64_t i = offset >> cells->shift; i <= (offset + bytes - 1) >> cells->shift; i++) {
        uint64_t at = i << cells->shift;
        if (cells->pending && cells->pending[i])
            return pending_report(x, op, lane, writes, region, at);
        if (conflicts(x, cells->writes[i], now) && !(stored && stores_same(region, i, offset, bytes, stored)))
            return race_report(x, op, lane, cells->writes[i], true, writes, region, at);
        if (cells->seen)
            cells->seen[i] |= seen;
        if (!writes) {
            cell_read(x, cells, i, now);
            continue;
        }
        cells->is_written = true;
        cells->writes[i] = now;
        if (!cells->newer)
            continue;
        if (conflicts(x, cells->newer[i], now))
            return race_report(x, op, lane, cells->newer[i], false, true, region, at);
        if (conflicts(x, cells->older[i], now))
            return race_report(x, op, lane, cells->older[i], false, true, region, at);
        cells->newer[i] = cells->older[i] = 0;
    }
    return true;
}

/* True if none of the stamps conflicts with an access of the lanes; 'lanes' is NULL if lanes share cells. *when is a
 * stamp that is known to be ordered, or 0. */
static inline bool stamps_agree(const Exec *x, const uint32_t *stamps, const uint32_t *lanes, unsigned count,
                                uint32_t now, uint32_t *when)
{
    static const uint32_t none[32 * LANES] = {[0 ... 32 * LANES - 1] = UINT32_MAX};
    uint32_t first = stamps[0];
    if (first && (first ^ *when) >> STAMP_SHIFT && stamp_is_ordered(x, first))
        *when = first;
    if (count > 1 && x->emulator->loops->are_settled(stamps, lanes ? lanes : none, count, now, *when))
        return true;
    for (unsigned i = 0; i < count; i++)
        if (stamps[i] && (stamps[i] ^ *when) >> STAMP_SHIFT) {
            if (stamp_is_ordered(x, stamps[i]))
                *when = stamps[i];
            else if (!lanes || (stamps[i] ^ lanes[i]) & STAMP_LANE || !stamp_is_of_warp(x, stamps[i]))
                return false;
        }
    return true;
}

/* The same for one lane each, for cells that were read at different times; these times are few, so the last one is
 * remembered. */
static void cells_read_each(const Exec *x, uint32_t *newer, uint32_t *older, const uint32_t *lanes, unsigned count,
                            uint32_t now)
{
    uint32_t when = 0;
    bool of_warp = true;
    for (unsigned i = 0; i < count; i++) {
        uint32_t before = newer[i];
        if (before && (before ^ when) >> STAMP_SHIFT) {
            when = before;
            of_warp = stamp_is_of_warp(x, before);
        }
        if (before && ((before ^ lanes[i]) & STAMP_LANE || !of_warp))
            older[i] = before;
        newer[i] = now | lanes[i];
    }
}

/* Remembers the reads of cells by one lane each. */
static void cells_read(const Exec *x, RaceCells *cells, size_t begin, const uint32_t *lanes, unsigned count,
                       uint32_t now)
{
    const LaneLoops *loops = x->emulator->loops;
    uint32_t *newer = &cells->newer[begin], *older = &cells->older[begin], first = newer[0];
    if (loops->are_stamped(newer, lanes, count, now))
        return;
    if (loops->are_same_time(newer, count, first))
        loops->push(newer, older, lanes, count, now, first ? stamp_is_of_warp(x, first) : true);
    else
        cells_read_each(x, newer, older, lanes, count, now);
}

static void cells_see(RaceCells *cells, size_t begin, unsigned count, uint8_t seen)
{
    uint8_t *kinds = &cells->seen[begin];
    const uint64_t each = UINT64_C(0x0101010101010101) * seen;
    unsigned i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t eight;
        memcpy(&eight, &kinds[i], sizeof eight);
        eight |= each;
        memcpy(&kinds[i], &eight, sizeof eight);
    }
    for (; i < count; i++)
        kinds[i] |= seen;
}

/* The first cell of a run, and their number. */
static size_t run_cells(const RaceCells *cells, const Run *run, uint32_t offset, unsigned *count)
{
    *count = run->bytes >> cells->shift;
    return (uint32_t)(offset + run->first) >> cells->shift;
}

static void row_read(const Exec *x, RaceCells *cells, const AccessShape *shape, uint32_t offset, uint32_t now)
{
    const LaneLoops *loops = x->emulator->loops;
    for (unsigned i = 0; i < shape->run_count; i++) {
        const Run *run = &shape->runs[i];
        const uint32_t *lanes = &shape->lanes[run->cell];
        unsigned count;
        size_t begin = run_cells(cells, run, offset, &count);
        if (run->is_shared && count == 1) {
            cells->newer[begin] = now | lanes[0];
            cells->older[begin] = now | shape->others[run->cell];
        } else if (run->is_shared) {
            loops->stamp(&cells->newer[begin], lanes, count, now);
            loops->stamp(&cells->older[begin], &shape->others[run->cell], count, now);
        } else {
            cells_read(x, cells, begin, lanes, count, now);
        }
        if (cells->seen)
            cells_see(cells, begin, count, SEEN_WEAK_READ);
    }
}

static void row_write(const Exec *x, RaceCells *cells, const AccessShape *shape, uint32_t offset, uint32_t now)
{
    cells->is_written = true;
    for (unsigned i = 0; i < shape->run_count; i++) {
        const Run *run = &shape->runs[i];
        unsigned count;
        size_t begin = run_cells(cells, run, offset, &count);
        x->emulator->loops->stamp(&cells->writes[begin], &shape->lanes[run->cell], count, now);
        if (cells->newer) {
            memset(&cells->newer[begin], 0, count * sizeof *cells->newer);
            memset(&cells->older[begin], 0, count * sizeof *cells->older);
        }
        if (cells->seen)
            cells_see(cells, begin, count, SEEN_WEAK_WRITE);
    }
}

unsigned race_shift(Emulator *emulator, Region *region, unsigned bytes, bool writes)
{
    const RaceCells *cells = region->race;
    if ((writes ? cells->writes : cells->newer) && bytes >> cells->shift)
        return cells->shift;
    return cells_ready(emulator, region, 0, bytes, !writes)->shift;
}

bool race_row(Exec *x, Region *region, const AccessShape *shape, uint32_t offset, bool writes)
{
    RaceCells *cells = region->race;
    uint32_t now = stamp_now(x), when = 0;
    if ((writes && (shape->overlaps || cells->skipped_reads)) || cells->pending)
        return false;
    for (unsigned i = 0; i < shape->run_count && (writes || cells->is_written); i++) {
        const Run *run = &shape->runs[i];
        const uint32_t *lanes = run->is_shared ? NULL : &shape->lanes[run->cell];
        unsigned count;
        size_t begin = run_cells(cells, run, offset, &count);
        if (!stamps_agree(x, &cells->writes[begin], lanes, count, now, &when))
            return false;
        if (writes && cells->newer &&
            (!stamps_agree(x, &cells->newer[begin], lanes, count, now, &when) ||
             !stamps_agree(x, &cells->older[begin], lanes, count, now, &when)))
            return false;
    }
    if (writes)
        row_write(x, cells, shape, offset, now);
    else
        row_read(x, cells, shape, offset, now);
    return true;
}

/* Adds the kinds of access of a cell; false if accesses may race. */
static bool seen_add(uint8_t *a, uint8_t b)
{
    const uint8_t reads = SEEN_WEAK_READ | SEEN_STRONG_READ, writes = SEEN_WEAK_WRITE | SEEN_STRONG_WRITE;
    const uint8_t weak = SEEN_WEAK_READ | SEEN_WEAK_WRITE;
    if (((*a & writes && b & (reads | writes)) || (b & writes && *a & reads)) && ((*a | b) & weak))
        return false;
    *a |= b;
    return true;
}

bool race_merge(Emulator *emulator, Region *region, const Region *other)
{
    const RaceCells *from = other->race;
    if (!from)
        return true;
    RaceCells *to = region->race;
    if ((from->skipped_reads && to->is_written) || (to->skipped_reads && from->is_written)) {
        emulator->misses_reads = true;
        return false;
    }
    to->skipped_reads |= from->skipped_reads;
    to->is_written |= from->is_written;
    if (!from->seen)
        return true;
    cells_ready(emulator, region, 0, 1u << from->shift, false);
    unsigned finer = from->shift - to->shift;
    for (size_t i = 0, count = race_cell_count(region); i < count; i++) {
        uint64_t eight = 1;
        if (i % 8 == 0 && i + 8 <= count && !finer)
            memcpy(&eight, &from->seen[i], sizeof eight);
        if (!eight)
            i += 7;
        else if (from->seen[i >> finer] && !seen_add(&to->seen[i], from->seen[i >> finer]))
            return false;
    }
    return true;
}
