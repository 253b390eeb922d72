/* The register model: from peaks of live registers to what an assembler will use.
 *
 * ptxas moves loads up and puts iterations of loops side by side until a thread has as many registers as full occupancy
 * leaves it, and gives registers out freely; above that it orders instructions for few registers.  So an estimate is
 * the larger of what is needed and the smaller of what plenty of registers invite and that limit.  bench/pressure fits
 * the coefficients and measures the error (docs/results/pressure.md). */
#include "opt/estimate.h"

#include <stdlib.h>

enum {
    CALLS_DEEP = 4, /* calls within calls that are looked into */
    SPARE = 4, /* registers below the limit at which ptxas stops moving loads up */
};

/* By least absolute deviation, for all architectures together: usual = base + plenty * plenty_peak +
 * spread * spread_peak; needed = floor + slope * least_peak, and around subroutines call + across_peak. */
static const struct {
    double base, plenty, spread, floor, slope, call;
} by = {4.2, 0.5, 0.5, 5.5, 1.07, 12.5};

/* The registers that leave an SM as many warps as it can hold. */
static unsigned full_occupancy(const Machine *machine)
{
    unsigned each = machine->registers_per_sm / (machine->warps_per_sm * machine->warp_size);
    return each - each % (machine->register_unit / machine->warp_size);
}

static unsigned whole(double registers, const Machine *machine)
{
    double most = machine->registers_per_thread;
    return (unsigned)((registers < most ? registers : most) + 0.5);
}

static void peaks_note(RegisterEstimate *estimate, const OrderPeaks *peaks)
{
    unsigned least = (unsigned)peaks->least, plenty = (unsigned)peaks->plenty, across = (unsigned)peaks->across;
    unsigned spread = (unsigned)peaks->spread;
    estimate->least_peak = least > estimate->least_peak ? least : estimate->least_peak;
    estimate->plenty_peak = plenty > estimate->plenty_peak ? plenty : estimate->plenty_peak;
    estimate->spread_peak = spread > estimate->spread_peak ? spread : estimate->spread_peak;
    estimate->across_peak = across > estimate->across_peak ? across : estimate->across_peak;
}

static int compare_live(const void *a, const void *b)
{
    const LiveValue *x = a, *y = b;
    if (x->width != y->width)
        return x->width > y->width ? -1 : 1;
    return x->span.begin < y->span.begin ? -1 : x->span.begin > y->span.begin;
}

static void live_list(Arena *arena, RegisterEstimate *estimate, const Lowered *lowered, const LoweredBlock *block,
                      const Values *values, uint32_t index)
{
    Arena *scratch = arena_new();
    RegId *regs;
    uint32_t count = order_live(scratch, lowered, block, index, &regs);
    estimate->live = ARENA_ARRAY(arena, LiveValue, count);
    for (uint32_t i = 0; i < count; i++) {
        if (regs[i] >= values->reg_count)
            continue;
        const Inst *inst = value_inst(values, regs[i]);
        Name name = body_reg_name(lowered->body, regs[i]);
        estimate->live[estimate->live_count++] =
            (LiveValue){name, inst ? inst->span : (Span){0}, lowered->width[regs[i]]};
    }
    if (estimate->live_count)
        qsort(estimate->live, estimate->live_count, sizeof *estimate->live, compare_live);
    arena_free(scratch);
}

static Span place_of(const LoweredBlock *block, uint32_t index)
{
    for (uint32_t i = index; i < block->count; i++)
        if (block->insts[i].inst)
            return block->insts[i].inst->span;
    return (Span){0};
}

/* The function with a body that the instruction calls by its name; or NULL. */
static Function *called_function(const Inst *inst)
{
    for (unsigned i = 0; inst && inst_is_call(inst) && i < inst->operand_count; i++)
        if (inst->operands[i].kind == OPERAND_SYMBOL && inst->operands[i].symbol.kind == SYMBOL_FUNCTION) {
            Function *function = inst->operands[i].symbol.function;
            function = function->definition ? function->definition : function;
            return function->has_body ? function : NULL;
        }
    return NULL;
}

static RegisterEstimate estimate_at(Arena *arena, const Body *body, Analyses *analyses, const Machine *machine,
                                    unsigned depth);

/* The registers of the functions that the block calls. */
static unsigned called_registers(Arena *arena, const LoweredBlock *block, const Machine *machine, unsigned depth)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < block->count && depth; i++) {
        const char *reason;
        Function *function = called_function(block->insts[i].inst);
        Body *body = function ? body_build(function, &reason) : NULL;
        if (!body)
            continue;
        body_to_ssa(body);
        Analyses *analyses = analyses_new(body);
        unsigned registers = estimate_at(arena, body, analyses, machine, depth - 1).registers;
        most = registers > most ? registers : most;
        analyses_free(analyses);
        body_free(body);
    }
    return most;
}

RegisterEstimate register_estimate(Arena *arena, const Body *body, Analyses *analyses, const Machine *machine)
{
    RegisterEstimate estimate = estimate_at(arena, body, analyses, machine, CALLS_DEEP);
    estimate.needed = registers_needed(body, analyses);
    return estimate;
}

static RegisterEstimate estimate_at(Arena *arena, const Body *body, Analyses *analyses, const Machine *machine,
                                    unsigned depth)
{
    RegisterEstimate estimate = {.known = true};
    Arena *scratch = arena_new();
    const Values *values = analyses_values(analyses);
    const Lowered *lowered = lowered_compute(scratch, body, values, machine->loads_parameters, LOWERED_CLOSELY);
    const LoweredBlock *highest = NULL;
    unsigned limit = full_occupancy(machine);
    uint32_t index = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const LoweredBlock *block = &lowered->blocks[b];
        OrderPeaks peaks = order_peaks(lowered, block, analyses_memory(analyses), (int32_t)limit - SPARE);
        peaks_note(&estimate, &peaks);
        unsigned called = called_registers(scratch, block, machine, depth);
        called += called ? (unsigned)peaks.around : 0;
        estimate.called = called > estimate.called ? called : estimate.called;
        if (!highest || (unsigned)peaks.source > estimate.peak) {
            estimate.peak = (unsigned)peaks.source;
            highest = block;
            index = peaks.peak;
        }
    }
    double usual = by.base + by.plenty * estimate.plenty_peak + by.spread * estimate.spread_peak;
    double needed = by.floor + by.slope * estimate.least_peak;
    double call = estimate.across_peak ? by.call + estimate.across_peak : 0;
    needed = call > needed ? call : needed;
    needed = estimate.called > needed ? estimate.called : needed;
    usual = usual < limit ? usual : limit;
    estimate.least = whole(needed, machine);
    estimate.registers = whole(needed > usual ? needed : usual, machine);
    if (highest) {
        estimate.span = place_of(highest, index);
        live_list(arena, &estimate, lowered, highest, values, index);
    }
    arena_free(scratch);
    return estimate;
}

int32_t register_room(const Machine *machine, unsigned target)
{
    unsigned most = target < machine->registers_per_thread ? target : machine->registers_per_thread;
    double room = (most - by.floor) / by.slope;
    return room > 0 ? (int32_t)room : 0;
}

uint64_t register_excess(const Body *body, Analyses *analyses, const Machine *machine, unsigned target)
{
    Arena *scratch = arena_new();
    const Lowered *lowered =
        lowered_compute(scratch, body, analyses_values(analyses), machine->loads_parameters, LOWERED_PLAINLY);
    const LoopForest *loops = analyses_loops(analyses);
    int32_t room = register_room(machine, target);
    uint64_t sum = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        OrderLoad load = order_load(lowered, &lowered->blocks[b], room);
        sum += (uint64_t)load.above * loop_weight(loops, body->blocks.data[b]);
    }
    arena_free(scratch);
    return sum;
}
