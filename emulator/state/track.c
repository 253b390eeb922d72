/* Checks on accesses and registers: memory and registers that were never written; races by race.c. */
#include "emulator/state/state.h"

static void watch(Exec *x, const Op *op, unsigned lane, uint64_t offset, unsigned bytes)
{
    const EmulatorOptions *options = &x->emulator->options;
    EmulatorWriter *writer = &x->emulator->result->writer;
    if (offset + bytes <= options->watch_offset || offset >= options->watch_offset + options->watch_bytes)
        return;
    const Inst *inst = op_instruction(x->frame->code, op);
    writer->found = true;
    writer->function = x->frame->code->function->name;
    memcpy(writer->block, x->block->id, sizeof writer->block);
    thread_position(x->warp, lane, writer->thread);
    if (inst && x->emulator->module->source)
        writer->position = source_position(x->emulator->module->source, inst->span.begin);
    writer->loc = inst ? inst->loc : NULL;
}

bool track_access(Exec *x, const Op *op, uint32_t mask, unsigned bytes, AccessMode mode, const MemoryOp *memory,
                  Translation *at, const void *stored, unsigned stored_stride)
{
    bool strong = mode == MODE_ATOMIC || (memory && memory->strong);
    EACH_ACTIVE(lane, mask)
    {
        uint8_t *written = at->written[lane];
        const uint8_t *gap = written && mode != MODE_STORE ? memchr(written, 0, bytes) : NULL;
        if (gap) {
            uint64_t address = at->address[lane] + (uint64_t)(gap - written);
            fault_at(x, op, lane, FAULT_UNWRITTEN, "byte %llu of %s was never written",
                     (unsigned long long)(address - (at->region[lane] ? at->region[lane]->base : WINDOW_LOCAL)),
                     at->region[lane] ? at->region[lane]->name : "local memory");
            return false;
        }
        /* loads leave the bytes alone, because another core may use them too */
        if (written && mode != MODE_LOAD)
            memset(written, 1, bytes);
        if (mode != MODE_LOAD && at->region[lane] && at->region[lane]->watched)
            watch(x, op, lane, at->address[lane] - at->region[lane]->base, bytes);
        const uint8_t *values = stored ? (const uint8_t *)stored + lane * stored_stride : NULL;
        if (at->region[lane] && at->region[lane]->race) {
            if (memory && mode != MODE_STORE && strong)
                order_acquire(x, at->address[lane]);
            if (!race_check(x, op, lane, bytes, mode, strong, at->region[lane],
                            at->address[lane] - at->region[lane]->base, values))
                return false;
            if (memory && mode != MODE_LOAD && strong)
                order_release(x, memory, at->address[lane]);
        }
        /* Stored now, so that the next lane's store is compared with it. */
        if (values && memcmp(at->host[lane], values, bytes) != 0) {
            memcpy(at->host[lane], values, bytes);
            effect_note(x);
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
