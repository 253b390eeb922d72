#include "engine/choose/pays.h"

#include "engine/judge/machine_cost.h"

/* The grids that are asked about: this many blocks for each SM, and half as many, ... down to one. Smaller grids leave
 * SMs idle, and merging makes more of them idle, so a form is never taken to pay there. */
enum { MOST_BLOCKS = 64 };

/* Blocks of different lengths leave SMs idle at the end of a launch, for about half a block's time: it must have many
 * waves of the merged blocks. */
enum { UNEVEN_WAVES = 16 };

/* The lengths of loops: as they are usually assumed, and only then others. */
static const double lengths[] = {0, SHORT_LOOP, LONG_LOOP};

/* True if the form loses nothing in such a grid where loops of unknown length make 'trips' trips; 0: as many as are
 * usually assumed. */
static bool pays_at(AssemblerJudge *judge, const Basis *usual, double blocks, double trips, const FunctionForm *input,
                    const MeasuredForm *form)
{
    Basis basis = *usual;
    FormCost before, after;
    basis.basis.blocks = blocks * usual->basis.device.multiprocessors;
    basis.basis.trips = trips;
    basis.basis.at_edge = blocks <= 1;
    basis.before = machine_cost(judge, &basis.basis, input, &usual->before.figures, NULL, NULL);
    return basis_compare(&basis, judge, CODE_MACHINE, form, &before, &after) &&
           speedup_judge(cost_speedup(&before, &after), THRESHOLD_COARSEN_ELSEWHERE) == VERDICT_TAKE;
}

static bool pays_with(AssemblerJudge *judge, const Basis *usual, double blocks, const FunctionForm *input,
                      const MeasuredForm *form)
{
    const size_t asked = usual->before.profile->assumes_trips ? COUNT_OF(lengths) : 1;
    for (size_t i = 0; i < asked; i++)
        if (!pays_at(judge, usual, blocks, lengths[i], input, form))
            return false;
    return true;
}

static unsigned block_threads(const Basis *usual)
{
    const unsigned *block = usual->basis.block;
    return block[0] * block[1] * block[2];
}

/* The threads of the original, for each SM, in as many waves as a form needs whose threads make different numbers of
 * trips; 0: they do not. */
static unsigned uneven_threads(AssemblerJudge *judge, const Basis *usual, const MeasuredForm *form)
{
    FormCost before, after;
    if (!usual->before.profile->uneven || !basis_compare(usual, judge, CODE_MACHINE, form, &before, &after))
        return 0;
    uint64_t threads = (uint64_t)UNEVEN_WAVES * after.time.resident_blocks * block_threads(usual);
    for (unsigned d = 0; d < 3; d++) {
        const unsigned fewer = form->change.grid[d], merged = form->change.merged[d];
        threads *= (fewer ? fewer : 1) * (merged ? merged : 1);
    }
    return threads < PAYS_NEVER ? (unsigned)threads : PAYS_NEVER - 1;
}

unsigned pays_from(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form)
{
    const unsigned even = uneven_threads(judge, usual, form);
    unsigned least = 2 * MOST_BLOCKS;
    while (least > 1 && pays_with(judge, usual, least / 2, input, form))
        least /= 2;
    const unsigned threads = least * block_threads(usual);
    return threads > even ? threads : even;
}

/* The same for one number of trips. */
static uint32_t threads_at(AssemblerJudge *judge, const Basis *usual, double trips, const FunctionForm *input,
                           const MeasuredForm *form)
{
    unsigned least = 2 * MOST_BLOCKS;
    while (least > 1 && pays_at(judge, usual, least / 2, trips, input, form))
        least /= 2;
    return least == 2 * MOST_BLOCKS ? PAYS_NEVER : least * block_threads(usual);
}

uint32_t pays_factors(const Shape *shape)
{
    uint32_t factors = 0;
    for (unsigned d = 0; d < 3; d++)
        factors |= shape->threads[d] > 1 ? shape->threads[d] << 8 * d : 0;
    return factors;
}

PaysTable pays_by_trips(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form,
                        const TripParameter *parameter)
{
    static const double trips[PAYS_POINTS] = {SHORT_LOOP, 4 * SHORT_LOOP, 32, 128, 2 * LONG_LOOP};
    const unsigned even = uneven_threads(judge, usual, form);
    PaysTable table = {.parameter = parameter->index};
    for (unsigned i = 0; i < PAYS_POINTS; i++) {
        const uint32_t value = (uint32_t)(trips[i] / parameter->slope);
        if (table.count && value <= table.points[table.count - 1].value)
            continue;
        table.points[table.count].value = value;
        const uint32_t threads = threads_at(judge, usual, trips[i], input, form);
        table.points[table.count++].threads = threads > even ? threads : even;
    }
    return table;
}

unsigned pays_always(const PaysTable *table)
{
    unsigned most = 0;
    for (unsigned i = 0; i < table->count; i++)
        most = table->points[i].threads > most ? table->points[i].threads : most;
    return most;
}
