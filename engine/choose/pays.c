#include "engine/choose/pays.h"

#include "engine/judge/machine_cost.h"

/* The grids that are asked about: this many blocks for each SM, and half as many, ... */
enum { MOST_BLOCKS = 64 };

/* The lengths of loops: as they are usually assumed, and only then others. */
static const double lengths[] = {0, SHORT_LOOP, LONG_LOOP};

static bool pays_with(AssemblerJudge *judge, const Basis *usual, double blocks, const FunctionForm *input,
                      const MeasuredForm *form)
{
    const size_t asked = usual->before.profile->assumes_trips ? COUNT_OF(lengths) : 1;
    for (size_t i = 0; i < asked; i++) {
        Basis basis = *usual;
        FormCost before, after;
        basis.basis.blocks = blocks * usual->basis.device.multiprocessors;
        basis.basis.trips = lengths[i];
        basis.basis.at_edge = blocks <= 1;
        basis.before = machine_cost(judge, &basis.basis, input, &usual->before.figures, NULL, NULL);
        if (!basis_compare(&basis, judge, CODE_MACHINE, form, &before, &after) ||
            speedup_judge(cost_speedup(&before, &after), THRESHOLD_COARSEN_ELSEWHERE) != VERDICT_TAKE)
            return false;
    }
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
