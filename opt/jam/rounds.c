/* How many iterations a loop has, where that is a constant.
 *
 * The end's comparison is carried out with the values that it has in one iteration after the other, so nothing has to
 * be assumed about wrap-around or about the kind of comparison. */
#include "opt/common/trips.h"
#include "opt/jam/internal.h"

enum { MOST_ROUNDS = 65536 };

/* One side of the comparison: 'constant' in the first iteration, and 'step' more in each that follows. */
typedef struct Side {
    uint64_t constant, step;
} Side;

static bool side_find(const Jam *jam, const ComputeSource *source, unsigned bits, Side *out)
{
    const Affine *affine = analyses_affine(jam->analyses);
    *out = (Side){source->constant, 0};
    if (source->is_constant || source->reg == REG_NONE)
        return source->is_constant;
    const AffineForm *form = &affine->forms[source->reg];
    out->constant = (uint64_t)form->constant;
    if (form->bits != bits || form->term_count > 1)
        return false;
    const AffineTerm *term = form->term_count ? &form->terms[0] : NULL;
    if (!term)
        return true;
    const Phi *phi = term->base == AFFINE_VALUE ? jam_phi(jam, term->reg) : NULL;
    RegId start = phi ? loop_start(jam->loop, phi) : REG_NONE;
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    if (start == REG_NONE || affine->forms[start].bits != bits || affine->forms[start].term_count ||
        type_bits(jam->body->regs.data[phi->dst].type) != bits ||
        !loop_step(jam->loop, phi, affine, terms, &step) || step.term_count)
        return false;
    out->constant += (uint64_t)term->coefficient * (uint64_t)affine->forms[start].constant;
    out->step = (uint64_t)term->coefficient * (uint64_t)step.constant;
    return true;
}

uint64_t jam_rounds(const Jam *jam)
{
    const Inst *made = value_inst(jam->values, jam->predicate);
    Computation compare;
    Side a, b;
    if (!made || !computation_of(jam->body, made, &compare))
        return 0;
    unsigned bits = compare.sources[0].bits;
    if ((bits != 32 && bits != 64) || !computation_is_comparison(&compare, bits) ||
        !side_find(jam, &compare.sources[0], bits, &a) || !side_find(jam, &compare.sources[1], bits, &b))
        return 0;
    for (uint64_t rounds = 1; rounds <= MOST_ROUNDS; rounds++) {
        uint64_t holds;
        if (!computation_value(&compare, (const uint64_t[]){a.constant, b.constant}, &holds) || holds != jam->stays_if)
            return rounds;
        a.constant += a.step;
        b.constant += b.step;
    }
    return 0;
}
