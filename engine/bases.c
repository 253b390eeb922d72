#include "engine/bases.h"

#include <string.h>

enum { USUAL_SIZES = 3, DIMENSIONS = 3, AVERAGE_SIZE = 1 };

/* By the dimensions of the kernel. */
static const unsigned usual_blocks[DIMENSIONS][USUAL_SIZES][3] = {
    {{128, 1, 1}, {256, 1, 1}, {1024, 1, 1}},
    {{16, 16, 1}, {32, 8, 1}, {32, 32, 1}},
    {{8, 8, 4}, {32, 4, 2}, {8, 8, 8}},
};

/* A launch that a build cannot rule out, although most are larger, and most loops longer or shorter. */
typedef struct Scenario {
    const char *where;
    double blocks_per_sm; /* 0: as many as an SM holds */
    double trips;         /* 0: ESTIMATED_TRIPS */
} Scenario;

static const Scenario scenarios[] = {
    {.where = "where the grid has one block for each SM", .blocks_per_sm = 1},
    {.where = "where all blocks of the grid run at once"},
    {.where = "where loops make 2 trips", .blocks_per_sm = 1, .trips = 2},
    {.where = "where loops make 256 trips", .blocks_per_sm = 1, .trips = 256},
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

static void add_scenario(Bases *bases, const CostBasis *usual, const Scenario *scenario)
{
    Basis *added = &bases->of[bases->count++];
    const unsigned threads = usual->block[0] * usual->block[1] * usual->block[2];
    const unsigned resident = sm_occupancy(usual->sm, threads, 0, 0).blocks;
    added->basis = *usual;
    added->basis.blocks =
        usual->device.multiprocessors * (scenario->blocks_per_sm > 0 ? scenario->blocks_per_sm : resident);
    added->basis.trips = scenario->trips;
    added->where = scenario->where;
}

Bases bases_new(Arena *arena, const SmLimits *sm, const Device *device, const Function *kernel, const Launch *launch,
                const BlockSize *block, uint64_t dynamic_shared)
{
    Bases bases = {.count = 0};
    const bool is_known = launch || block_size_total(block);
    const unsigned(*sizes)[3] = is_known ? &block->threads : usual_blocks[dimensions_of(kernel) - 1];
    for (unsigned i = 0; i < (is_known ? 1 : USUAL_SIZES); i++)
        bases.of[bases.count++].basis = cost_basis(arena, sm, device, launch, sizes[i], dynamic_shared);
    const CostBasis usual = bases.of[is_known ? 0 : AVERAGE_SIZE].basis;
    for (unsigned i = 0; !launch && i < COUNT_OF(scenarios); i++)
        add_scenario(&bases, &usual, &scenarios[i]);
    return bases;
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
