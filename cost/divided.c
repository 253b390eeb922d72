/* Loops whose rounds the threads of a group share, one executing every n-th of them (opt/refine/).
 *
 * Such a loop counts down by n, or a multiple of it, from the number of all rounds less that of the thread in its
 * group. So the threads of a group together make the rounds that one makes in the original, which is there as well, for
 * when there are fewer rounds than threads: a test before the two leads to one or the other. */
#include "cost/estimate.h"

enum { MOST_THREADS = WARP_THREADS, MOST_TESTS = 8, MOST_PASSED = 3 };

/* The threads of the group in which the register is the thread's number: it is the low bits of a value; 0: it is not
 * that. */
static unsigned group_of(const Estimate *estimate, RegId reg)
{
    Computation c;
    const Inst *inst = value_inst(analyses_values(estimate->analyses), reg);
    if (!computation_matches(estimate->body, inst, COMPUTE_AND, 32, "ri", &c))
        return 0;
    const uint64_t mask = c.sources[1].constant;
    const bool is_low = mask < MOST_THREADS && !(mask & (mask + 1));
    const bool varies = variance_reg(analyses_variance(estimate->analyses, VARIANCE_ANY, NULL), reg);
    return is_low && varies ? (unsigned)mask + 1 : 0;
}

unsigned estimate_group(const Estimate *estimate, const AffineForm *start, AffineForm *rest, AffineTerm *terms)
{
    unsigned threads = 0, count = 0;
    for (unsigned t = 0; t < start->term_count; t++) {
        const AffineTerm *term = &start->terms[t];
        const bool is_value = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
        const unsigned group = is_value && term->coefficient == -1 ? group_of(estimate, term->reg) : 0;
        if (group && !threads)
            threads = group;
        else
            terms[count++] = *term;
    }
    *rest = (AffineForm){start->bits, count, start->constant, terms};
    return threads > 1 ? threads : 0;
}

/* The threads that share the rounds of the loop, as a phi of its header says; 0: none do. */
static unsigned threads_sharing(const Estimate *estimate, const Loop *loop)
{
    const Affine *affine = analyses_affine(estimate->analyses);
    for (size_t p = 0; p < loop->header->phis.count; p++) {
        const Phi *phi = &loop->header->phis.data[p];
        unsigned threads = 0;
        int64_t step = 0;
        for (size_t a = 0; a < phi->args.count; a++) {
            const AffineForm form = affine_of_reg(affine, phi->args.data[a].reg);
            AffineTerm terms[AFFINE_TERMS];
            AffineForm rest;
            if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[a].pred))
                threads = estimate_group(estimate, &form, &rest, terms);
            else if (form.term_count == 1 && form.terms[0].coefficient == 1 && form.terms[0].reg == phi->dst)
                step = form.constant;
        }
        if (threads && step < 0 && step % threads == 0)
            return threads;
    }
    return 0;
}

/* The loop that control comes to from there, with nothing before it; NULL: none. */
static const Loop *loop_at(const Estimate *estimate, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    for (unsigned i = 0; block && i < MOST_PASSED; i++, block = block->fall) {
        const Loop *loop = loop_headed(loops, block);
        if (loop || block->first)
            return loop;
    }
    return NULL;
}

Divided estimate_divided(const Estimate *estimate, const Loop *loop)
{
    const Dominance *dominance = analyses_dominance(estimate->analyses);
    Divided found = {.threads = threads_sharing(estimate, loop)};
    const Block *test = loop->header;
    for (unsigned i = 0; found.threads && i < MOST_TESTS && (test = dominance_parent(dominance, test)); i++) {
        if (!block_two_way_branch(test))
            continue;
        FOR_EACH_SUCC(test, succ) {
            const Loop *other = dominance_has(dominance, succ, loop->header) ? NULL : loop_at(estimate, succ);
            if (other && other->parent == loop->parent && !threads_sharing(estimate, other))
                found = (Divided){found.threads, other, test};
        }
        if (found.whole)
            break;
    }
    return found;
}
