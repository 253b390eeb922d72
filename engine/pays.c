#include "engine/pays.h"

#include "engine/judge/machine_cost.h"

/* The grids that are asked about: this many blocks for each SM, and half as many, ... */
enum { MOST_BLOCKS = 64 };

static const double lengths[] = {0, 2, 256};

static double speedup_on(AssemblerJudge *judge, const CostBasis *basis, const PaidForm *input, const PaidForm *form)
{
    FormCost before = machine_cost(judge, basis, &input->form, input->figures, NULL, NULL);
    FormCost after = machine_cost(judge, basis, &form->form, form->figures, &form->change, NULL);
    if (!before.known || !after.known)
        return 0;
    costs_align(basis, &before, &after);
    return cost_speedup(&before, &after);
}

static bool pays_with(AssemblerJudge *judge, const CostBasis *usual, double blocks, const PaidForm *input,
                      const PaidForm *form)
{
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        CostBasis basis = *usual;
        basis.blocks = blocks * usual->device.multiprocessors;
        basis.trips = lengths[i];
        if (speedup_on(judge, &basis, input, form) < threshold(THRESHOLD_COARSEN_ELSEWHERE))
            return false;
    }
    return true;
}

unsigned pays_from(AssemblerJudge *judge, const CostBasis *usual, const PaidForm *input, const PaidForm *form)
{
    const unsigned threads = usual->block[0] * usual->block[1] * usual->block[2];
    unsigned least = 2 * MOST_BLOCKS;
    while (least > 1 && pays_with(judge, usual, least / 2, input, form))
        least /= 2;
    return least > 1 ? least * threads : 0;
}
