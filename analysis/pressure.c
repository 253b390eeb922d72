/* Register pressure of whole bodies, and of blocks while they are being ordered. */
#include "analysis/pressure.h"

#include "analysis/values.h"

Pressure pressure_of_reg(const Body *body, RegId reg)
{
    const Reg *r = &body->regs.data[reg];
    int32_t vector = r->vector ? r->vector : 1;
    if (type_class(r->type) == CLASS_PRED)
        return (Pressure){0, vector};
    return (Pressure){(int32_t)type_registers(r->type) * vector, 0};
}

PressureTracker pressure_tracker_new(Arena *arena, const Liveness *liveness)
{
    return (PressureTracker){
        .liveness = liveness,
        .body = liveness->body,
        .live = regset_new(arena, liveness->reg_count),
        .reads_left = ARENA_ARRAY(arena, uint32_t, liveness->reg_count),
        .read = regset_new(arena, liveness->reg_count),
        .kept = regset_new(arena, liveness->reg_count),
    };
}

static void tracker_reset(PressureTracker *tracker)
{
    tracker->current = tracker->peak = (Pressure){0, 0};
    regset_clear(&tracker->live);
    regset_clear(&tracker->kept);
    for (uint32_t i = 0; i < tracker->read.count; i++)
        tracker->reads_left[tracker->read.members[i]] = 0;
    regset_clear(&tracker->read);
}

static void tracker_add(PressureTracker *tracker, RegId reg)
{
    if (!live_is_undefined(tracker->liveness, reg) && regset_add(&tracker->live, reg))
        tracker->current = pressure_add(tracker->current, pressure_of_reg(tracker->body, reg));
}

static void tracker_remove(PressureTracker *tracker, RegId reg)
{
    if (regset_remove(&tracker->live, reg))
        tracker->current = pressure_sub(tracker->current, pressure_of_reg(tracker->body, reg));
}

static void tracker_note(PressureTracker *tracker)
{
    tracker->peak = pressure_max(tracker->peak, tracker->current);
}

/* In SSA form every definition ends the range above it; elsewhere a guarded one does not. */
static bool def_kills(const Body *body, const Inst *inst)
{
    return body->ssa || !inst_is_guarded(inst);
}

/* True if the register occurs as a written (read) reference before index r: results and operands count once. */
static bool seen_before(const Inst *inst, unsigned r, bool written)
{
    for (unsigned i = 0; i < r; i++)
        if (inst->refs[i].reg == inst->refs[r].reg &&
            (written ? ref_writes(&inst->refs[i]) : ref_reads(&inst->refs[i])))
            return true;
    return false;
}

void pressure_tracker_start_bottom(PressureTracker *tracker, const Block *block)
{
    LiveSet out = live_out(tracker->liveness, block);
    tracker_reset(tracker);
    for (uint32_t i = 0; i < out.count; i++)
        tracker_add(tracker, out.regs[i]);
    tracker_note(tracker);
}

void pressure_tracker_recede(PressureTracker *tracker, const Inst *inst)
{
    /* Results that are never read need a register all the same. */
    Pressure during = tracker->current;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && !regset_has(&tracker->live, inst->refs[r].reg) && !seen_before(inst, r, true))
            during = pressure_add(during, pressure_of_reg(tracker->body, inst->refs[r].reg));
    tracker->peak = pressure_max(tracker->peak, during);
    if (def_kills(tracker->body, inst))
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_writes(&inst->refs[r]))
                tracker_remove(tracker, inst->refs[r].reg);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            tracker_add(tracker, inst->refs[r].reg);
    tracker_note(tracker);
}

Pressure pressure_tracker_recede_delta(const PressureTracker *tracker, const Inst *inst)
{
    Pressure delta = {0, 0};
    bool kills = def_kills(tracker->body, inst);
    for (unsigned r = 0; r < inst->ref_count; r++) {
        RegId reg = inst->refs[r].reg;
        if (ref_writes(&inst->refs[r]) && !seen_before(inst, r, true) && kills && regset_has(&tracker->live, reg) &&
            !inst_uses(inst, reg))
            delta = pressure_sub(delta, pressure_of_reg(tracker->body, reg));
        if (ref_reads(&inst->refs[r]) && !seen_before(inst, r, false) && !regset_has(&tracker->live, reg) &&
            !live_is_undefined(tracker->liveness, reg))
            delta = pressure_add(delta, pressure_of_reg(tracker->body, reg));
    }
    return delta;
}

void pressure_tracker_start_top(PressureTracker *tracker, const Block *block)
{
    LiveSet in = live_in(tracker->liveness, block), out = live_out(tracker->liveness, block);
    tracker_reset(tracker);
    for (uint32_t i = 0; i < out.count; i++)
        regset_add(&tracker->kept, out.regs[i]);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r])) {
                regset_add(&tracker->read, inst->refs[r].reg);
                tracker->reads_left[inst->refs[r].reg]++;
            }
    for (uint32_t i = 0; i < in.count; i++)
        tracker_add(tracker, in.regs[i]);
    for (size_t p = 0; p < block->phis.count; p++) {
        RegId dst = block->phis.data[p].dst;
        if (tracker->reads_left[dst] || regset_has(&tracker->kept, dst))
            tracker_add(tracker, dst);
    }
    tracker_note(tracker);
}

/* True if the register lives on after 'reads' more of its reads. */
static bool lives_on(const PressureTracker *tracker, RegId reg, uint32_t reads)
{
    return regset_has(&tracker->kept, reg) || tracker->reads_left[reg] > reads;
}

static uint32_t reads_of(const Inst *inst, RegId reg)
{
    uint32_t count = 0;
    for (unsigned r = 0; r < inst->ref_count; r++)
        count += inst->refs[r].reg == reg && ref_reads(&inst->refs[r]);
    return count;
}

void pressure_tracker_advance(PressureTracker *tracker, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r])) {
            require(tracker->reads_left[inst->refs[r].reg]);
            tracker->reads_left[inst->refs[r].reg]--;
        }
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && !lives_on(tracker, inst->refs[r].reg, 0))
            tracker_remove(tracker, inst->refs[r].reg);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            tracker_add(tracker, inst->refs[r].reg);
    tracker_note(tracker);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && !lives_on(tracker, inst->refs[r].reg, 0))
            tracker_remove(tracker, inst->refs[r].reg);
}

Pressure pressure_tracker_advance_delta(const PressureTracker *tracker, const Inst *inst)
{
    Pressure delta = {0, 0};
    for (unsigned r = 0; r < inst->ref_count; r++) {
        RegId reg = inst->refs[r].reg;
        bool reads = ref_reads(&inst->refs[r]);
        if (reg == REG_NONE || seen_before(inst, r, true) || seen_before(inst, r, false))
            continue;
        bool before = regset_has(&tracker->live, reg);
        bool after = before || !reads || inst->refs[r].role == REF_BOTH;
        after = after && lives_on(tracker, reg, reads_of(inst, reg));
        if (before && !after)
            delta = pressure_sub(delta, pressure_of_reg(tracker->body, reg));
        else if (!before && after)
            delta = pressure_add(delta, pressure_of_reg(tracker->body, reg));
    }
    return delta;
}

PressureProfile *pressure_compute(Arena *arena, const Liveness *liveness)
{
    const Body *body = liveness->body;
    Arena *scratch = arena_new();
    PressureTracker tracker = pressure_tracker_new(scratch, liveness);
    PressureProfile *profile = ARENA_NEW(arena, PressureProfile);
    profile->blocks = ARENA_ARRAY(arena, Pressure, body->blocks.count);
    profile->block_peaks = ARENA_ARRAY(arena, Inst *, body->blocks.count);
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        int32_t highest = -1;
        pressure_tracker_start_bottom(&tracker, block);
        Pressure peak = tracker.peak;
        for (Inst *inst = block->last; inst; inst = inst->prev) {
            tracker.peak = (Pressure){0, 0};
            pressure_tracker_recede(&tracker, inst);
            if (tracker.peak.regs32 >= highest) {
                highest = tracker.peak.regs32;
                profile->block_peaks[i] = inst;
            }
            peak = pressure_max(peak, tracker.peak);
        }
        /* Results of phis that are never read take registers at the top only. */
        for (size_t p = 0; p < block->phis.count; p++)
            tracker_add(&tracker, block->phis.data[p].dst);
        if (tracker.current.regs32 > highest)
            profile->block_peaks[i] = NULL;
        profile->blocks[i] = pressure_max(peak, tracker.current);
        if (!profile->peak_block || profile->blocks[i].regs32 > profile->peak.regs32) {
            profile->peak_block = block;
            profile->peak_inst = profile->block_peaks[i];
        }
        profile->peak = pressure_max(profile->peak, profile->blocks[i]);
    }
    arena_free(scratch);
    return profile;
}
