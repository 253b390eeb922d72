/* What a run can watch besides executing: races, memory and registers never written, coalescing and bank conflicts.
 *
 * Races are found by vector clocks over the warps of a block, as in FastTrack (Flanagan and Freund, PLDI 2009), with a
 * barrier as the only thing that orders.  Every byte remembers its last write and the last reads of two threads.
 * Accesses of different blocks are never ordered, except that a fence of device scope after an access counts as having
 * published it.  Not seen as ordering: flags passed through atomics inside a block.  A store of the value that memory
 * holds already does not race with other stores. */
#include "emulator/simt.h"

typedef struct Toucher {
    uint32_t block, clock;
    uint16_t thread;
    bool valid, strong;
    uint32_t fences;
} Toucher;

struct RaceCell {
    Toucher write, reads[2];
};

size_t race_cell_bytes(void)
{
    return sizeof(RaceCell);
}

static bool is_ordered(const Exec *x, const Toucher *before, const Toucher *now)
{
    if (before->block != now->block)
        return before->fences < x->machine->block_fences[before->block];
    if (before->thread == now->thread)
        return true;
    unsigned warp = before->thread / LANES;
    if (warp == x->warp->index)
        return before->clock < x->warp->clocks[warp];
    return before->clock <= x->warp->clocks[warp];
}

static bool conflicts(const Exec *x, const Toucher *before, const Toucher *now)
{
    return before->valid && !(before->strong && now->strong) && !is_ordered(x, before, now);
}

static bool race_report(Exec *x, const Op *op, unsigned lane, const Toucher *before, bool before_writes, bool writes,
                        const Region *region, uint64_t offset)
{
    const unsigned *block = x->machine->block, *grid = x->machine->grid;
    fault_at(x, op, lane, FAULT_RACE,
             "%s byte %llu of %s that thread %u,%u,%u of block %u,%u,%u %s, without a barrier between",
             writes ? "writes" : "reads", (unsigned long long)offset, region->name, before->thread % block[0],
             before->thread / block[0] % block[1], before->thread / block[0] / block[1], before->block % grid[0],
             before->block / grid[0] % grid[1], before->block / grid[0] / grid[1], before_writes ? "wrote" : "read");
    return false;
}

static bool race_check(Exec *x, const Op *op, unsigned lane, unsigned bytes, AccessMode mode, bool strong,
                       const Translation *at, const uint8_t *stored)
{
    const Region *region = at->region[lane];
    uint64_t offset = at->address[lane] - region->base;
    bool writes = mode != MODE_LOAD, reads = mode != MODE_STORE;
    Toucher now = {
        .block = (uint32_t)x->block->index,
        .clock = x->warp->clocks[x->warp->index],
        .thread = (uint16_t)(x->warp->index * LANES + lane),
        .valid = true,
        .strong = strong || mode == MODE_ATOMIC,
        .fences = x->machine->block_fences[x->block->index],
    };
    for (unsigned i = 0; i < bytes; i++) {
        RaceCell *cell = &region->race[offset + i];
        bool same_value = stored && at->host[lane][i] == stored[i];
        if (conflicts(x, &cell->write, &now) && !same_value)
            return race_report(x, op, lane, &cell->write, true, writes, region, offset + i);
        for (unsigned k = 0; k < 2 && writes; k++)
            if (conflicts(x, &cell->reads[k], &now))
                return race_report(x, op, lane, &cell->reads[k], false, true, region, offset + i);
        if (writes) {
            cell->write = now;
            cell->reads[0].valid = cell->reads[1].valid = false;
        } else if (reads) {
            if (cell->reads[0].valid && (cell->reads[0].thread != now.thread || cell->reads[0].block != now.block))
                cell->reads[1] = cell->reads[0];
            cell->reads[0] = now;
        }
    }
    return true;
}

static void watch(Exec *x, const Op *op, unsigned lane, uint64_t offset, unsigned bytes)
{
    const EmulatorOptions *options = &x->machine->options;
    EmulatorWriter *writer = &x->machine->result->writer;
    if (offset + bytes <= options->watch_offset || offset >= options->watch_offset + options->watch_bytes)
        return;
    const Inst *inst = op_instruction(x->frame->code, op);
    writer->found = true;
    writer->function = x->frame->code->function->name;
    memcpy(writer->block, x->block->id, sizeof writer->block);
    thread_position(x->warp, lane, writer->thread);
    if (inst && x->machine->module->source)
        writer->position = source_position(x->machine->module->source, inst->span.begin);
}

bool track_access(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, bool strong, Translation *at,
                  const void *stored, unsigned stored_stride)
{
    EACH_ACTIVE(lane, mask)
    {
        uint8_t *written = at->written[lane];
        for (unsigned i = 0; written && i < bytes; i++) {
            if (mode != MODE_STORE && !written[i]) {
                fault_at(x, op, lane, FAULT_UNWRITTEN, "byte %llu of %s was never written",
                         (unsigned long long)(at->region[lane] ? at->address[lane] + i - at->region[lane]->base
                                                               : at->address[lane] + i - WINDOW_LOCAL),
                         at->region[lane] ? at->region[lane]->name : "local memory");
                return false;
            }
            written[i] = mode == MODE_LOAD ? written[i] : 1;
        }
        if (mode != MODE_LOAD && at->region[lane] && at->region[lane]->watched)
            watch(x, op, lane, at->address[lane] - at->region[lane]->base, bytes);
        const uint8_t *values = stored ? (const uint8_t *)stored + lane * stored_stride : NULL;
        if (at->region[lane] && at->region[lane]->race && !race_check(x, op, lane, bytes, mode, strong, at, values))
            return false;
        /* Stored at once, so that the next lane sees whether it stores the same. */
        if (values && memcmp(at->host[lane], values, bytes) != 0) {
            memcpy(at->host[lane], values, bytes);
            x->warp->idle_steps = 0;
        }
    }
    return true;
}

/* ---- Coalescing ------------------------------------------------------------------------------------------------- */

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

/* Cycles beyond one for each group of lanes that the hardware serves together: all for 4 bytes, half of them for 8, a
 * quarter for 16. */
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
    if (shared_lanes)
        counters->bank_conflicts += bank_conflicts(shared_lanes, bytes, shared);
}

/* ---- Registers -------------------------------------------------------------------------------------------------- */

bool track_registers(Exec *x, const Op *op, uint32_t mask)
{
    const Inst *inst = op->inst;
    uint32_t *defined = x->frame->defined;
    if (!inst)
        return true;
    for (unsigned i = 0; i < inst->ref_count; i++) {
        const RegRef *ref = &inst->refs[i];
        uint32_t readers = i == inst->guard ? x->split->mask : mask;
        if (ref->role != REF_DEF && readers & ~defined[ref->reg]) {
            fault_at(x, op, (unsigned)__builtin_ctz(readers & ~defined[ref->reg]), FAULT_UNDEFINED,
                     "%s is read but was never written", x->frame->code->body->regs.data[ref->reg].name);
            return false;
        }
    }
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (inst->refs[i].role == REF_DEF || inst->refs[i].role == REF_BOTH)
            defined[inst->refs[i].reg] |= mask;
    return true;
}
