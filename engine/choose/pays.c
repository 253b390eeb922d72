#include "engine/choose/pays.h"

#include "engine/judge/machine_cost.h"

/* The grids that are asked about: this many blocks for each SM, and half as many, ... */
enum { MOST_BLOCKS = 64 };

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

unsigned pays_from(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form)
{
    const unsigned *block = usual->basis.block;
    unsigned least = 2 * MOST_BLOCKS;
    while (least > 1 && pays_with(judge, usual, least / 2, input, form))
        least /= 2;
    return least > 1 ? least * block[0] * block[1] * block[2] : 0;
}

/* The same for one number of trips. */
static uint32_t threads_at(AssemblerJudge *judge, const Basis *usual, double trips, const FunctionForm *input,
                           const MeasuredForm *form)
{
    const unsigned *block = usual->basis.block;
    unsigned least = 2 * MOST_BLOCKS;
    while (least > 1 && pays_at(judge, usual, least / 2, trips, input, form))
        least /= 2;
    return least == 2 * MOST_BLOCKS ? PAYS_NEVER : least > 1 ? least * block[0] * block[1] * block[2] : 0;
}

PaysTable pays_by_trips(AssemblerJudge *judge, const Basis *usual, const FunctionForm *input, const MeasuredForm *form,
                        const TripParameter *parameter)
{
    static const double trips[PAYS_POINTS] = {SHORT_LOOP, 4 * SHORT_LOOP, 32, 128, 2 * LONG_LOOP};
    PaysTable table = {.parameter = parameter->index};
    for (unsigned i = 0; i < PAYS_POINTS; i++) {
        const uint32_t value = (uint32_t)(trips[i] / parameter->slope);
        if (table.count && value <= table.points[table.count - 1].value)
            continue;
        table.points[table.count].value = value;
        table.points[table.count++].threads = threads_at(judge, usual, trips[i], input, form);
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
