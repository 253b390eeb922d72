/* Checks on accesses and registers: data races, and memory and registers that were never written.
 *
 * Races are found by vector clocks over the warps of a block, as in FastTrack (Flanagan and Freund, PLDI 2009).
 * Barriers order accesses, and so do fences with strong accesses (order.c).  Every word remembers its last write and
 * the last reads of two threads; a region with accesses smaller than a word remembers them for every byte.  A store of
 * the value that memory already holds does not race with other stores. */
#include "emulator/state/state.h"

/* The kinds of access that a cell has seen, for race_merge. */
enum { SEEN_WEAK_READ = 1, SEEN_STRONG_READ = 2, SEEN_WEAK_WRITE = 4, SEEN_STRONG_WRITE = 8 };

typedef struct Toucher {
    uint32_t block, clock, tick;
    uint16_t thread;
    bool valid, strong;
} Toucher;

struct RaceCell {
    Toucher write, reads[2];
};

_Static_assert(sizeof(Toucher) == 16, "race cells are many");

static size_t cell_count(const Region *region)
{
    return (size_t)((region->size + (UINT64_C(1) << region->race_shift) - 1) >> region->race_shift);
}

void race_prepare(Machine *machine, Region *region)
{
    if (!machine->options.check_races)
        return;
    region->race_shift = 2;
    region->race = machine_alloc(machine, cell_count(region), sizeof *region->race);
    region->race_seen = machine_alloc(machine, cell_count(region), 1);
}

void race_clear(Region *region)
{
    if (region->race)
        memset(region->race, 0, cell_count(region) * sizeof *region->race);
}

/* Replaces the cells for words by cells for bytes. */
static void race_refine(Machine *machine, Region *region)
{
    const RaceCell *words = region->race;
    const uint8_t *seen = region->race_seen;
    region->race_shift = 0;
    region->race = machine_alloc(machine, (size_t)region->size, sizeof *region->race);
    region->race_seen = machine_alloc(machine, (size_t)region->size, 1);
    for (uint64_t i = 0; i < region->size; i++) {
        region->race[i] = words[i / 4];
        region->race_seen[i] = seen[i / 4];
    }
}

static bool is_ordered(const Exec *x, const Toucher *before, const Toucher *now)
{
    const uint32_t *clocks = x->warp->clocks;
    if (before->block != now->block)
        return before->tick <= x->machine->block_fences[before->block] && before->tick <= clocks[x->block->warp_count];
    if (before->thread == now->thread)
        return true;
    unsigned warp = before->thread / LANES;
    return warp == x->warp->index ? before->clock < clocks[warp] : before->clock <= clocks[warp];
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
             "%s byte %llu of %s, which thread %u,%u,%u of block %u,%u,%u %s; nothing orders the two accesses",
             writes ? "writes" : "reads", (unsigned long long)offset, region->name, before->thread % block[0],
             before->thread / block[0] % block[1], before->thread / block[0] / block[1], before->block % grid[0],
             before->block / grid[0] % grid[1], before->block / grid[0] / grid[1], before_writes ? "wrote" : "read");
    return false;
}

/* True if the stored bytes of the cell already hold the stored values. */
static bool stores_same(const Region *region, uint64_t cell, uint64_t offset, unsigned bytes, const uint8_t *stored)
{
    uint64_t begin = cell << region->race_shift, end = begin + (UINT64_C(1) << region->race_shift);
    begin = begin < offset ? offset : begin;
    end = end > offset + bytes ? offset + bytes : end;
    return memcmp(region->bytes + begin, stored + (begin - offset), (size_t)(end - begin)) == 0;
}

static bool race_check(Exec *x, const Op *op, unsigned lane, unsigned bytes, AccessMode mode, bool strong,
                       const Translation *at, const uint8_t *stored)
{
    Region *region = at->region[lane];
    uint64_t offset = at->address[lane] - region->base;
    bool writes = mode != MODE_LOAD;
    Toucher now = {
        .block = (uint32_t)x->block->index,
        .clock = x->warp->clocks[x->warp->index],
        .tick = x->machine->tick,
        .thread = (uint16_t)(x->warp->index * LANES + lane),
        .valid = true,
        .strong = strong,
    };
    uint8_t seen = (uint8_t)((mode != MODE_STORE ? SEEN_WEAK_READ << strong : 0) |
                             (writes ? SEEN_WEAK_WRITE << strong : 0));
    if (region->race_shift && (bytes & 3 || offset & 3))
        race_refine(x->machine, region);
    unsigned shift = region->race_shift;
    for (uint64_t i = offset >> shift; i <= (offset + bytes - 1) >> shift; i++) {
        RaceCell *cell = &region->race[i];
        if (conflicts(x, &cell->write, &now) && !(stored && stores_same(region, i, offset, bytes, stored)))
            return race_report(x, op, lane, &cell->write, true, writes, region, i << shift);
        region->race_seen[i] |= seen;
        if (!writes) {
            if (cell->reads[0].valid && (cell->reads[0].thread != now.thread || cell->reads[0].block != now.block))
                cell->reads[1] = cell->reads[0];
            cell->reads[0] = now;
            continue;
        }
        for (unsigned k = 0; k < 2; k++)
            if (conflicts(x, &cell->reads[k], &now))
                return race_report(x, op, lane, &cell->reads[k], false, true, region, i << shift);
        cell->write = now;
        cell->reads[0].valid = cell->reads[1].valid = false;
    }
    return true;
}

bool race_merge(Region *region, Region *other)
{
    const uint8_t reads = SEEN_WEAK_READ | SEEN_STRONG_READ, writes = SEEN_WEAK_WRITE | SEEN_STRONG_WRITE;
    const uint8_t weak = SEEN_WEAK_READ | SEEN_WEAK_WRITE;
    if (!region->race_seen)
        return true;
    for (uint64_t i = 0; i < region->size; i++) {
        uint8_t *a = &region->race_seen[i >> region->race_shift], b = other->race_seen[i >> other->race_shift];
        if (!b)
            continue;
        if (((*a & writes && b & (reads | writes)) || (b & writes && *a & reads)) && ((*a | b) & weak))
            return false;
        *a |= b;
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

bool track_access(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, const MemoryOp *memory,
                  Translation *at, const void *stored, unsigned stored_stride)
{
    bool strong = mode == MODE_ATOMIC || (memory && memory->strong);
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
        if (at->region[lane] && at->region[lane]->race) {
            if (memory && mode != MODE_STORE && strong)
                order_acquire(x, at->address[lane]);
            if (!race_check(x, op, lane, bytes, mode, strong, at, values))
                return false;
            if (memory && mode != MODE_LOAD && strong)
                order_release(x, memory, at->address[lane]);
        }
        /* Stored now, so that the next lane's store is compared with it. */
        if (values && memcmp(at->host[lane], values, bytes) != 0) {
            memcpy(at->host[lane], values, bytes);
            x->warp->idle_steps = 0;
        }
    }
    return true;
}

bool track_registers(Exec *x, const Op *op, uint32_t mask)
{
    const Inst *inst = op->inst;
    uint32_t *defined = x->frame->defined;
    if (!inst)
        return true;
    if (op->skips)
        mask = x->split->mask & ~mask;
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
