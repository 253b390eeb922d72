#include "engine/choose/pays.h"

#include <string.h>

#include "engine/judge/machine_cost.h"

/* Blocks for each SM in the largest grid that is asked about, of which the least has one, except for few blocks: then
 * SMs are idle, and merging blocks makes more of them idle, so only forms that merge threads may pay there. */
enum { MOST_BLOCKS = 1 << (PAYS_GRIDS - 1) };

/* Blocks of different lengths leave SMs idle at the end of a launch, for about half a block's time: it must have many
 * waves of the merged blocks. */
enum { UNEVEN_WAVES = 16 };

/* The lengths of loops: as they are usually assumed, and only then others; and those for which a parameter's values are
 * asked about. */
static const double lengths[] = {0, SHORT_LOOP, LONG_LOOP};
static const double parameter_lengths[PAYS_TRIPS] = {SHORT_LOOP, 4 * SHORT_LOOP, 32, 128, 2 * LONG_LOOP};

/* The form's speedup in a grid, where loops of unknown length make one of the numbers of trips; below 0: unknown. */
static double speedup_at(PaysBasis *asked, unsigned grid, unsigned trips, const MeasuredForm *form,
                         PaysSpeedups *speedups)
{
    double *known = &speedups->of[grid][trips];
    const Basis *usual = asked->usual;
    Basis basis = *usual;
    FormCost *input = &asked->before[grid][trips], before, after;
    if (*known != 0)
        return *known;
    basis.basis.blocks = grid == PAYS_FEW ? few_blocks(&usual->basis)
                                          : (1u << grid) * usual->basis.device.multiprocessors;
    if (trips == PAYS_REMAINDERS)
        basis.basis.known = asked->remainders;
    else
        basis.basis.trips = asked->parameter ? parameter_lengths[trips] : lengths[trips];
    basis.basis.at_edge = !asked->is_whole && (grid == 0 || grid == PAYS_FEW);
    basis.basis.splits_warps = basis.basis.at_edge && grid == PAYS_FEW;
    if (!input->known)
        *input = machine_cost(asked->judge, &basis.basis, asked->input, &usual->before.figures, NULL, NULL);
    basis.before = *input;
    if (!basis_compare(&basis, asked->judge, CODE_MACHINE, form, &before, &after))
        return *known = -1;
    const CostVerdict verdict = cost_verdict(&before, &after);
    return *known = grid == PAYS_FEW ? sure_speedup(&verdict, asked->risk) : verdict.speedup;
}

/* True if the form loses nothing there, neither against the input nor against its rivals. */
static bool pays_at(PaysBasis *asked, unsigned grid, unsigned trips, const MeasuredForm *form)
{
    const double own = speedup_at(asked, grid, trips, form, &asked->speedups[asked->rival_count]);
    bool pays = speedup_judge(own, THRESHOLD_COARSEN_ELSEWHERE) == VERDICT_TAKE;
    for (unsigned i = 0; pays && i < asked->rival_count; i++) {
        const double rival = speedup_at(asked, grid, trips, &asked->rivals[i], &asked->speedups[i]);
        pays = speedup_judge(own / rival, THRESHOLD_COARSEN_ELSEWHERE) == VERDICT_TAKE;
    }
    return pays;
}

/* The same in few blocks, also where unrolled loops are passed by. */
static bool pays_at_few(PaysBasis *asked, unsigned trips, const MeasuredForm *form)
{
    return pays_at(asked, PAYS_FEW, trips, form) &&
           (!asked->remainders.count || pays_at(asked, PAYS_FEW, PAYS_REMAINDERS, form));
}

static bool pays_with(PaysBasis *asked, unsigned grid, const MeasuredForm *form)
{
    const unsigned count = asked->usual->before.profile->assumes_trips ? COUNT_OF(lengths) : 1;
    for (unsigned i = 0; i < count; i++)
        if (!pays_at(asked, grid, i, form))
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
static unsigned uneven_threads(const PaysBasis *asked, const MeasuredForm *form)
{
    const Basis *usual = asked->usual;
    FormCost before, after;
    if (!usual->before.profile->uneven || !basis_compare(usual, asked->judge, CODE_MACHINE, form, &before, &after))
        return 0;
    uint64_t threads = (uint64_t)UNEVEN_WAVES * after.time.resident_blocks * block_threads(usual);
    for (unsigned d = 0; d < 3; d++) {
        const unsigned fewer = form->change.grid[d], merged = form->change.merged[d];
        threads *= (fewer ? fewer : 1) * (merged ? merged : 1);
    }
    return threads < PAYS_NEVER ? (unsigned)threads : PAYS_NEVER - 1;
}

static bool merges_blocks(const MeasuredForm *form)
{
    bool merges = false;
    for (unsigned d = 0; d < 3; d++)
        merges |= form->change.grid[d] > 1 || form->change.merged[d] > 1;
    return merges;
}

static unsigned pays_from(PaysBasis *asked, const MeasuredForm *form)
{
    const unsigned even = uneven_threads(asked, form);
    unsigned least = PAYS_GRIDS;
    while (least > 0 && pays_with(asked, least - 1, form))
        least--;
    if (!least && !merges_blocks(form) && pays_with(asked, PAYS_FEW, form))
        return even;
    const unsigned threads = block_threads(asked->usual) << least;
    return threads > even ? threads : even;
}

/* The same for one number of trips. */
static uint32_t threads_at(PaysBasis *asked, unsigned trips, const MeasuredForm *form)
{
    unsigned least = PAYS_GRIDS;
    while (least > 0 && pays_at(asked, least - 1, trips, form))
        least--;
    if (!least && !merges_blocks(form) && pays_at_few(asked, trips, form))
        return 0;
    return least == PAYS_GRIDS ? PAYS_NEVER : block_threads(asked->usual) << least;
}

uint32_t pays_factors(const Shape *shape)
{
    uint32_t factors = 0;
    for (unsigned d = 0; d < 3; d++)
        factors |= shape->threads[d] > 1 ? shape->threads[d] << 8 * d : 0;
    return factors;
}

/* The parameter's value at which the loops have this number of trips. */
static uint32_t parameter_value(const PaysBasis *asked, unsigned trips)
{
    return (uint32_t)(parameter_lengths[trips] / asked->parameter->slope);
}

/* Adds a point, unless its value is not above those before. */
static void table_add(PaysTable *table, uint32_t value, uint32_t threads)
{
    if (table->count && value <= table->points[table->count - 1].value)
        return;
    table->points[table->count].value = value;
    table->points[table->count++].threads = threads;
}

static PaysTable pays_by_trips(PaysBasis *asked, const MeasuredForm *form)
{
    const unsigned even = uneven_threads(asked, form);
    PaysTable table = {.parameter = asked->parameter->index};
    for (unsigned i = 0; i < PAYS_POINTS; i++) {
        const uint32_t threads = threads_at(asked, i, form);
        table_add(&table, parameter_value(asked, i), threads > even ? threads : even);
    }
    return table;
}

/* The threads for each SM from which on the form pays whatever the parameter's value is. */
static unsigned pays_always(const PaysTable *table)
{
    unsigned most = 0;
    for (unsigned i = 0; i < table->count; i++)
        most = table->points[i].threads > most ? table->points[i].threads : most;
    return most;
}

void trips_set(uint32_t words[TRIPS_WORDS], const PaysTable *table)
{
    const uint32_t head[] = {TRIPS_MAGIC, TRIPS_FORMAT, table->parameter, table->count, 0};
    memcpy(words, head, sizeof head);
    for (unsigned i = 0; i < table->count; i++) {
        words[COUNT_OF(head) + 2 * i] = table->points[i].value;
        words[COUNT_OF(head) + 2 * i + 1] = table->points[i].threads;
    }
}

void pays_forget_rivals(PaysBasis *basis)
{
    basis->rival_count = 0;
}

void pays_add_rival(PaysBasis *basis, const MeasuredForm *form)
{
    basis->rivals[basis->rival_count++] = *form;
}

FormPays form_pays(PaysBasis *basis, const MeasuredForm *form)
{
    basis->speedups[basis->rival_count] = (PaysSpeedups){{{0}}};
    FormPays pays = {.from = 0};
    if (basis->parameter)
        pays.by_trips = pays_by_trips(basis, form);
    pays.from = basis->parameter ? pays_always(&pays.by_trips) : pays_from(basis, form);
    return pays;
}

/* The most threads for each SM up to which the form pays in all grids, wherever it pays in few blocks; 0: in all that
 * are asked about. */
static unsigned pays_up_to(PaysBasis *asked, const MeasuredForm *form, const bool pays_in_few[PAYS_TRIPS],
                           unsigned count)
{
    for (unsigned grid = 0; grid < PAYS_GRIDS; grid++)
        for (unsigned i = 0; i < count; i++)
            if (pays_in_few[i] && !pays_at(asked, grid, i, form))
                return grid ? block_threads(asked->usual) << (grid - 1) : block_threads(asked->usual) / FEW_SMS;
    return 0;
}

FormPays form_pays_in_few(PaysBasis *asked, const MeasuredForm *form)
{
    FormPays pays = {.from = 0};
    bool in_few[PAYS_TRIPS] = {false}, always = true;
    const unsigned count = asked->parameter                               ? PAYS_POINTS
                           : asked->usual->before.profile->assumes_trips ? COUNT_OF(lengths)
                                                                          : 1;
    asked->speedups[asked->rival_count] = (PaysSpeedups){{{0}}};
    for (unsigned i = 0; i < count; i++) {
        in_few[i] = pays_at(asked, PAYS_FEW, i, form);
        always &= in_few[i];
    }
    if (asked->parameter)
        pays.by_trips = (PaysTable){.parameter = asked->parameter->index};
    for (unsigned i = 0; i < count && asked->parameter; i++)
        table_add(&pays.by_trips, parameter_value(asked, i), in_few[i] ? 0 : PAYS_NEVER);
    pays.from = always ? 0 : PAYS_NEVER;
    pays.most = pays_up_to(asked, form, in_few, count);
    return pays;
}

bool pays_ever(const FormPays *pays)
{
    bool pays_at_any = pays->from != PAYS_NEVER;
    for (unsigned i = 0; i < pays->by_trips.count; i++)
        pays_at_any |= pays->by_trips.points[i].threads != PAYS_NEVER;
    return pays_at_any;
}

bool pays_often(const FormPays *pays, const PaysBasis *basis)
{
    unsigned points = 0;
    for (unsigned i = 0; i < pays->by_trips.count; i++)
        points += pays->by_trips.points[i].threads != PAYS_NEVER;
    return pays->by_trips.count ? 2 * points >= pays->by_trips.count
                                : pays->from < 2 * MOST_BLOCKS * block_threads(basis->usual);
}
