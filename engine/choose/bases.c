#include "engine/choose/bases.h"

#include <string.h>

#include "engine/judge/machine_cost.h"

enum { USUAL_SIZES = 3, DIMENSIONS = 3, AVERAGE_SIZE = 1 };

/* The usual block sizes, by the dimensions of the kernel. */
static const unsigned usual_blocks[DIMENSIONS][USUAL_SIZES][3] = {
    {{128, 1, 1}, {256, 1, 1}, {1024, 1, 1}},
    {{16, 16, 1}, {32, 8, 1}, {32, 32, 1}},
    {{8, 8, 4}, {32, 4, 2}, {8, 8, 8}},
};

/* Blocks of a warp or less are usual where a kernel has two dimensions. */
enum { SMALL_SIZES = 2, SMALL_DIMENSIONS = 2 };
static const unsigned warp_blocks[SMALL_SIZES][3] = {{4, 4, 1}, {8, 4, 1}};

/* Small blocks, of four warps: if threads of one are merged, schedulers of an SM that has no other are idle. */
static const unsigned small_blocks[DIMENSIONS][3] = {{128, 1, 1}, {16, 8, 1}, {8, 4, 4}};

typedef enum GridSize {
    GRID_LARGE,
    GRID_AT_ONCE,
    GRID_SMALL, /* a block for each SM */
    GRID_FEW,   /* a quarter of that: then nothing that blocks share hides how long each takes */
} GridSize;

typedef struct Scenario {
    Elsewhere elsewhere;
    GridSize grid;
    double trips; /* 0: ESTIMATED_TRIPS */
} Scenario;

static const Scenario scenarios[] = {
    {ELSEWHERE_SMALL_GRID, GRID_SMALL, 0},
    {ELSEWHERE_ONE_WAVE, GRID_AT_ONCE, 0},
    {ELSEWHERE_SHORT_LOOPS, GRID_SMALL, SHORT_LOOP},
    {ELSEWHERE_LONG_LOOPS, GRID_SMALL, LONG_LOOP},
}, scenarios_of_few[] = {
    {ELSEWHERE_SMALL_GRID, GRID_FEW, 0},
    {ELSEWHERE_SHORT_LOOPS, GRID_FEW, SHORT_LOOP},
    {ELSEWHERE_LONG_LOOPS, GRID_FEW, LONG_LOOP},
}, scenarios_of_loops[] = {
    {ELSEWHERE_SHORT_LOOPS, GRID_LARGE, SHORT_LOOP},
    {ELSEWHERE_LONG_LOOPS, GRID_LARGE, LONG_LOOP},
};

void kernel_axes(const Function *kernel, unsigned role, bool axes[3])
{
    for (size_t i = 0; i < kernel->stmts.count; i++) {
        const Stmt *stmt = &kernel->stmts.data[i];
        for (unsigned k = 0; stmt->kind == STMT_INST && k < stmt->inst->operand_count; k++) {
            const Operand *operand = &stmt->inst->operands[k];
            for (unsigned axis = 0; operand->kind == OPERAND_SREG && operand->sreg->role == role && axis < 3; axis++)
                axes[axis] |= operand->sreg->axis == SREG_AXIS_ALL || operand->sreg->axis == axis;
        }
    }
}

static unsigned dimensions_of(const Function *kernel)
{
    bool threads[3] = {false};
    kernel_axes(kernel, SREG_ROLE_TID, threads);
    return threads[2] ? 3 : threads[1] ? 2 : 1;
}

bool bases_are_linear(const Function *kernel)
{
    return dimensions_of(kernel) == 1;
}

bool bases_have_small(const Function *kernel)
{
    return dimensions_of(kernel) == SMALL_DIMENSIONS;
}

double few_blocks(const CostBasis *basis)
{
    return (double)basis->device.multiprocessors / FEW_SMS;
}

static void add_scenario(Bases *bases, const CostBasis *usual, const Scenario *scenario)
{
    Basis *added = &bases->of[bases->count++];
    const unsigned threads = usual->block[0] * usual->block[1] * usual->block[2];
    const double sms = usual->device.multiprocessors;
    const double blocks[] = {[GRID_LARGE] = usual->blocks,
                             [GRID_AT_ONCE] = sms * sm_occupancy(usual->sm, threads, 0, 0).blocks,
                             [GRID_SMALL] = sms,
                             [GRID_FEW] = few_blocks(usual)};
    added->basis = *usual;
    added->basis.blocks = blocks[scenario->grid];
    added->basis.trips = scenario->trips;
    added->basis.at_edge = scenario->grid >= GRID_SMALL;
    added->elsewhere = scenario->elsewhere;
}

/* Adds grids in which an SM gets a few waves of its blocks, as small blocks often have. */
static void add_smaller_grids(Bases *bases)
{
    enum { BLOCKS = 32 }; /* of each SM: as many as one holds */
    for (unsigned i = 0; i < SMALL_SIZES; i++) {
        Basis *added = &bases->of[bases->count++];
        *added = bases->of[i];
        added->basis.blocks = BLOCKS * added->basis.device.multiprocessors;
    }
}

KnownParameters remainder_parameters(Arena *arena, const Function *kernel, const TripParameter *trips)
{
    if (trips->slope > 0.5)
        return (KnownParameters){NULL, 0};
    uint32_t *value = ARENA_NEW(arena, uint32_t);
    KnownParameter *known = ARENA_NEW(arena, KnownParameter);
    *value = (uint32_t)(1 / trips->slope) - 1;
    *known = (KnownParameter){kernel->prototype.params[trips->index], value, sizeof *value};
    return (KnownParameters){known, 1};
}

/* Adds such a launch, of few blocks. */
static void add_remainders(Arena *arena, Bases *bases, const CostBasis *usual, const Function *kernel)
{
    TripParameter trips;
    const KnownParameters known = trip_parameter_find(kernel, &trips) ? remainder_parameters(arena, kernel, &trips)
                                                                      : (KnownParameters){NULL, 0};
    if (!known.count)
        return;
    add_scenario(bases, usual, &(Scenario){ELSEWHERE_REMAINDERS, GRID_FEW, 0});
    bases->of[bases->count - 1].basis.known = known;
}

Bases bases_new(Arena *arena, const SmLimits *sm, const Device *device, const Function *kernel, const Launch *launch,
                const BlockSize *block, uint64_t dynamic_shared, LaunchDecides decides, ForLaunches launches)
{
    Bases bases = {.count = 0};
    const bool has_small_blocks = launches == FOR_SMALL_BLOCKS, has_few = launches == FOR_FEW_BLOCKS;
    const bool is_known = launch || block_size_total(block);
    const unsigned(*sizes)[3] = is_known           ? &block->threads
                                : has_small_blocks ? warp_blocks
                                                   : usual_blocks[dimensions_of(kernel) - 1];
    for (unsigned i = 0; i < (is_known ? 1 : has_small_blocks ? SMALL_SIZES : USUAL_SIZES); i++)
        bases.of[bases.count++].basis = cost_basis(arena, sm, device, launch, sizes[i], dynamic_shared);
    bases.usual = is_known || has_small_blocks ? 0 : AVERAGE_SIZE;
    const CostBasis usual = bases.of[bases.usual].basis;
    if (has_small_blocks && !is_known)
        add_smaller_grids(&bases);
    if (has_few)
        bases.of[0].basis.blocks = few_blocks(&usual);
    if (has_few && decides == DECIDES_BY_TRIPS)
        bases.of[0].basis.trips = LONG_LOOP;
    static const size_t counts[] = {[DECIDES_NOTHING] = COUNT_OF(scenarios),
                                    [DECIDES_BY_GRID] = COUNT_OF(scenarios_of_loops),
                                    [DECIDES_BY_TRIPS] = 0};
    static const size_t counts_of_few[] = {[DECIDES_BY_GRID] = COUNT_OF(scenarios_of_few), [DECIDES_BY_TRIPS] = 0};
    const Scenario *others = has_few                     ? scenarios_of_few
                             : decides == DECIDES_NOTHING ? scenarios
                                                          : scenarios_of_loops;
    const size_t count = has_few ? counts_of_few[decides] : counts[decides];
    for (size_t i = 0; !launch && i < count; i++)
        add_scenario(&bases, &usual, &others[i]);
    if (!launch && decides == DECIDES_NOTHING)
        add_remainders(arena, &bases, &usual, kernel);
    if (!is_known && decides == DECIDES_NOTHING) {
        const unsigned *small = small_blocks[dimensions_of(kernel) - 1];
        const CostBasis few = cost_basis(arena, sm, device, NULL, small, dynamic_shared);
        add_scenario(&bases, &few, &(Scenario){ELSEWHERE_SMALL_GRID, GRID_FEW, 0});
    }
    return bases;
}

bool basis_fits(const CostBasis *basis, const LaunchContract *contract, LaunchUnmet *unmet)
{
    return contract_is_met(contract, basis->block, basis->launch ? basis->launch->grid : NULL, unmet);
}

bool basis_compare(const Basis *basis, AssemblerJudge *judge, CodeKind code, const MeasuredForm *form,
                   FormCost *before, FormCost *after)
{
    *before = basis->before;
    *after = code == CODE_MACHINE
                 ? machine_cost(judge, &basis->basis, &form->form, form->figures, &form->change, NULL)
                 : text_cost(judge, &basis->basis, &form->form, form->figures, &form->change);
    costs_align(&basis->basis, before, after);
    return before->known && after->known;
}

void form_search_registers(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           AssemblerJudge *judge, const CostBasis *basis, KernelResult *result)
{
    enum { SEARCH_LEVEL = 1 };
    PipelineOptions brief = *options;
    memset(brief.passes.dumped, 0, sizeof brief.passes.dumped);
    brief.level = brief.level < SEARCH_LEVEL ? brief.level : SEARCH_LEVEL;
    judge->basis = basis;
    pipeline_run(arena, kernel, request, &brief, result);
    assembler_judge_settle(judge);
    judge->basis = NULL;
}

void bases_drop_alike(Bases *bases)
{
    const bool assumes_trips = bases->of[0].before.known && bases->of[0].before.profile->assumes_trips;
    unsigned kept = 0;
    for (unsigned i = 0; i < bases->count; i++)
        if (assumes_trips || !(bases->of[i].basis.trips > 0))
            bases->of[kept++] = bases->of[i];
    bases->count = kept;
}
