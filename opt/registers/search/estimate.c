/* The register model: from peaks of live registers to what an assembler will use.
 *
 * ptxas aims at a boundary of occupancy for the kernel's block size: the lowest one under which nothing is spilled, and
 * registers up to there cost no block. If that is full occupancy, it moves loads up and puts iterations of loops side
 * by side until it gets there, and gives registers out freely; at a higher boundary it orders instructions for few
 * registers. bench/pressure fits the coefficients and measures the error (docs/results/pressure.md). */
#include "opt/registers/search/estimate.h"

#include "opt/block_size.h"

#include <stdlib.h>

enum {
    CALLS_DEEP = 4, /* calls within calls that are looked into */
    RESERVED = 3, /* registers that hold no value: the stack pointer, and two that ptxas counts and does not name */
    ASSUMED_THREADS = 128, /* of a block: without directives ptxas takes nearly the same registers as with these */
};

/* By least absolute deviation, for all architectures together. A subroutine needs call + across_peak; at full occupancy
 * base + plenty * plenty_peak + spread * spread_peak are used, at a higher boundary 'above' more than are needed. */
static const struct {
    double base, plenty, spread, call, above;
} by = {4.3, 0.43, 0.59, 13, 17};

/* Without spills a cap leaves room for (cap - floor) / slope registers at the peak of the order for few. */
static const struct {
    double floor, slope;
} room = {5.5, 1.07};

/* For the block size of the directives, which is all that ptxas knows of the launch. */
static BoundaryList boundaries_of(const Body *body, const SmLimits *sm)
{
    BlockSize size = block_size_resolve(&body->tuning, (const unsigned[3]){0});
    BoundaryList list = sm_boundaries(sm, block_size_total(&size), 0);
    return list.count ? list : sm_boundaries(sm, ASSUMED_THREADS, 0);
}

/* The lowest boundary with at least this many registers, or the highest. */
static unsigned boundary_for(const BoundaryList *list, double registers)
{
    for (unsigned i = list->count; i-- > 0;)
        if (list->items[i].registers + 0.5 > registers)
            return list->items[i].registers;
    return list->items[0].registers;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The registers used if loads may be moved up and registers are given out freely. */
static double filling(const RegisterEstimate *estimate)
{
    return by.base + by.plenty * estimate->plenty_peak + by.spread * estimate->spread_peak;
}

/* From the peaks. */
static void registers_set(RegisterEstimate *estimate, const BoundaryList *list)
{
    double highest = list->items[0].registers;
    double call = estimate->across_peak ? by.call + estimate->across_peak : 0;
    double needed = larger(RESERVED + estimate->least_peak, call);
    estimate->aim = boundary_for(list, needed);
    estimate->fills = estimate->aim == list->items[list->count - 1].registers;
    double usual = smaller(estimate->fills ? filling(estimate) : needed + by.above, estimate->aim);
    double registers = smaller(larger(larger(needed, estimate->called), usual), highest);
    double unspilled = larger(larger(room.floor + room.slope * estimate->least_peak, call), estimate->called);
    estimate->registers = (unsigned)(registers + 0.5);
    estimate->least = (unsigned)(smaller(unspilled, registers) + 0.5);
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
    Function *function = inst ? inst_callee(inst) : NULL;
    if (function && function->definition)
        function = function->definition;
    return function && function->has_body ? function : NULL;
}

/* The estimates of one kernel's functions. */
typedef struct Callees {
    Arena *arena;
    const SmLimits *sm;
    PointerMap registers[CALLS_DEEP]; /* by function and the depth that is left: each is estimated once, not per call */
} Callees;

static RegisterEstimate estimate_at(Arena *arena, const Body *body, Analyses *analyses, Callees *callees,
                                    unsigned depth);

/* The registers of a function; 0: its body cannot be built. */
static unsigned function_registers(Function *function, Callees *callees, unsigned depth)
{
    const char *reason;
    const unsigned *known = pointer_map_get(&callees->registers[depth], function);
    if (known)
        return *known;
    unsigned *registers = ARENA_NEW(callees->arena, unsigned);
    Body *body = body_build(function, &reason);
    if (body) {
        body_to_ssa(body);
        Analyses *analyses = analyses_new(body);
        *registers = estimate_at(callees->arena, body, analyses, callees, depth).registers;
        analyses_free(analyses);
        body_free(body);
    }
    pointer_map_put(&callees->registers[depth], function, registers);
    return *registers;
}

/* The registers of the functions that the block calls. */
static unsigned called_registers(const LoweredBlock *block, Callees *callees, unsigned depth)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < block->count && depth; i++) {
        Function *function = called_function(block->insts[i].inst);
        unsigned registers = function ? function_registers(function, callees, depth - 1) : 0;
        most = registers > most ? registers : most;
    }
    return most;
}

RegisterEstimate register_estimate(Arena *arena, const Body *body, Analyses *analyses, const SmLimits *sm)
{
    Callees callees = {.arena = arena_new(), .sm = sm};
    for (unsigned d = 0; d < CALLS_DEEP; d++)
        callees.registers[d] = (PointerMap){.arena = callees.arena};
    RegisterEstimate estimate = estimate_at(arena, body, analyses, &callees, CALLS_DEEP);
    arena_free(callees.arena);
    estimate.needed = registers_needed(body, analyses);
    return estimate;
}

static RegisterEstimate estimate_at(Arena *arena, const Body *body, Analyses *analyses, Callees *callees,
                                    unsigned depth)
{
    const SmLimits *sm = callees->sm;
    RegisterEstimate estimate = {.known = true};
    Arena *scratch = arena_new();
    const Values *values = analyses_values(analyses);
    const Lowered *lowered = lowered_compute(scratch, body, values, sm->loads_parameters, LOWERED_CLOSELY);
    const LoweredBlock *highest = NULL;
    const BoundaryList list = boundaries_of(body, sm);
    int32_t limit = (int32_t)list.items[list.count - 1].registers - RESERVED;
    uint32_t index = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const LoweredBlock *block = &lowered->blocks[b];
        OrderPeaks peaks = order_peaks(lowered, block, analyses_memory(analyses), limit);
        peaks_note(&estimate, &peaks);
        unsigned called = called_registers(block, callees, depth);
        called += called ? (unsigned)peaks.around : 0;
        estimate.called = called > estimate.called ? called : estimate.called;
        if (!highest || (unsigned)peaks.source > estimate.peak) {
            estimate.peak = (unsigned)peaks.source;
            highest = block;
            index = peaks.peak;
        }
    }
    registers_set(&estimate, &list);
    if (highest) {
        estimate.span = place_of(highest, index);
        live_list(arena, &estimate, lowered, highest, values, index);
    }
    arena_free(scratch);
    return estimate;
}

int32_t register_room(const SmLimits *sm, unsigned target)
{
    unsigned most = target < sm->registers_per_thread ? target : sm->registers_per_thread;
    double left = (most - room.floor) / room.slope;
    return left > 0 ? (int32_t)left : 0;
}

uint64_t register_excess(const Body *body, Analyses *analyses, const SmLimits *sm, unsigned target)
{
    Arena *scratch = arena_new();
    const Lowered *lowered =
        lowered_compute(scratch, body, analyses_values(analyses), sm->loads_parameters, LOWERED_PLAINLY);
    const LoopForest *loops = analyses_loops(analyses);
    int32_t most = register_room(sm, target);
    uint64_t sum = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        OrderLoad load = order_load(lowered, &lowered->blocks[b], most);
        sum += (uint64_t)load.above * loop_weight(loops, body->blocks.data[b]);
    }
    arena_free(scratch);
    return sum;
}
