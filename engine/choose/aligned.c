/* Forms whose vectors need the width of a row to be a multiple: where the width is a parameter, launches decide by it,
 * and those of other widths have the form that is the best for them. */
#include <math.h>

#include "engine/choose/internal.h"
#include "engine/judge/machine_cost.h"

enum { ODD_WIDTH = 1025 };

/* The usual basis with an odd value of the parameter; false if the input's cost is then unknown. */
static bool odd_basis(const Choice *choice, unsigned parameter, Basis *basis)
{
    const FunctionForm input = {.function = choice->kernel};
    uint32_t *value = ARENA_NEW(choice->arena, uint32_t);
    KnownParameter *known = ARENA_NEW(choice->arena, KnownParameter);
    *value = ODD_WIDTH;
    *known = (KnownParameter){choice->kernel->prototype.params[parameter], value, sizeof *value};
    *basis = choice->bases.of[choice->bases.usual];
    basis->basis.known = (KnownParameters){known, 1};
    basis->before = machine_cost(choice->judge, &basis->basis, &input, &basis->before.figures, NULL, NULL);
    return basis->before.known;
}

/* The form's speedup there; 0: unknown. */
static double odd_speedup(const Choice *choice, const Basis *basis, const Candidate *candidate, double *sure)
{
    const MeasuredForm form = candidate_form(candidate, &candidate->figures);
    FormCost before, after;
    *sure = 0;
    if (!basis_compare(basis, choice->judge, CODE_MACHINE, &form, &before, &after))
        return 0;
    const CostVerdict cost = cost_verdict(&before, &after);
    *sure = sure_speedup(&cost, choice->risk);
    return cost.speedup;
}

/* The best form for an odd value of the parameter, whatever the grid, if it gains clearly over 'usual' there; NULL:
 * none. */
static const Candidate *best_for_odd(const Choice *choice, unsigned parameter, const Candidate *usual, double *speedup)
{
    const Candidate *found = NULL;
    Basis basis;
    double sure;
    if (!odd_basis(choice, parameter, &basis))
        return NULL;
    *speedup = odd_speedup(choice, &basis, usual, &sure) * threshold(THRESHOLD_COARSEN_BESIDE);
    *speedup = fmax(*speedup, threshold(THRESHOLD_COARSEN_GAIN));
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        const bool may_be = candidate->trial->is_confirmed && !candidate->trial->fits_seldom && !candidate->is_narrow &&
                            candidate_suffices(choice, candidate);
        const double own = may_be ? odd_speedup(choice, &basis, candidate, &sure) : 0;
        if (own < *speedup || sure < 1)
            continue;
        found = candidate;
        *speedup = own;
    }
    return found;
}

AlignedParameter form_needs(const Candidate *candidate, unsigned parameter)
{
    const FunctionForm form = kernel_form(&candidate->result);
    const AlignedParameters needed = alignment_parameters(&form);
    for (unsigned i = 0; i < needed.count; i++)
        if (needed.of[i].index == parameter)
            return needed.of[i];
    return (AlignedParameter){.multiple = 0};
}

const Candidate *form_for_odd(const Choice *choice, const Candidate *usual, unsigned *parameter, double *speedup)
{
    const FunctionForm form = kernel_form(&usual->result);
    const AlignedParameters needed = alignment_parameters(&form);
    for (unsigned i = 0; i < needed.count; i++) {
        const Candidate *other = best_for_odd(choice, needed.of[i].index, usual, speedup);
        *parameter = needed.of[i].index;
        if (other)
            return other;
    }
    return NULL;
}
