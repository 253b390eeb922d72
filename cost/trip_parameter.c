/* The scalar parameter of a kernel that sets how often its loops go round.
 *
 * A loop ends when a variable that advances by a constant reaches a bound, so it makes (bound - start) / step trips. If
 * one integer parameter is a term of that difference in each loop of unknown length, launches tell the lengths. So they
 * do if the variable of a loop around it is, which is half as large in the mean as where that loop ends: those over the
 * lower half of a matrix have such bounds. */
#include "cost/estimate.h"

#include <math.h>

typedef struct Finder {
    const Body *body;
    Analyses *analyses;
    const Variable *parameter; /* NULL: none found yet */
    unsigned bits;             /* of it */
    double slope;
    uint32_t depth;            /* of the loop that 'slope' is about */
    double *reached;           /* by Loop.index: what the loop's variable reaches, in units of the parameter */
} Finder;

enum { SHORTEST = 16 /* what is bounded by less does not make a loop long */ };

static AffineForm form_of(const Finder *finder, RegId reg)
{
    return affine_of_reg(analyses_affine(finder->analyses), reg);
}

/* A phi of the loop's header as a term of a sum. */
static const Phi *phi_of(const Finder *finder, const Loop *loop, const AffineTerm *term)
{
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return NULL;
    const ValueDef *def = &analyses_values(finder->analyses)->defs[term->reg];
    return !def->inst && def->block == loop->header ? &def->block->phis.data[def->phi] : NULL;
}

/* The mean of the term's base in units of the parameter, if it is the variable of a loop around this one; 0: it is
 * not. */
static double mean_outside(const Finder *finder, const Loop *loop, const AffineTerm *term)
{
    for (const Loop *outer = loop->parent; outer; outer = outer->parent)
        if (phi_of(finder, outer, term))
            return finder->reached[outer->index] / 2;
    return 0;
}

/* The loop goes round as often as the parameter says, times the slope. */
static void note_slope(Finder *finder, const Loop *loop, double coefficient, int64_t step)
{
    finder->reached[loop->index] = fabs(coefficient);
    if (loop->depth < finder->depth)
        return;
    finder->depth = loop->depth;
    finder->slope = fabs(coefficient / (double)step);
}

/* The constant by which the phi advances in each round; 0: none. The register that it starts with is in *start. */
static int64_t step_of(const Finder *finder, const Loop *loop, const Phi *phi, RegId *start)
{
    int64_t step = 0;
    *start = REG_NONE;
    for (size_t i = 0; i < phi->args.count; i++) {
        const PhiArg *arg = &phi->args.data[i];
        if (!loop_contains(analyses_loops(finder->analyses), loop, arg->pred)) {
            *start = arg->reg;
            continue;
        }
        const AffineForm next = form_of(finder, arg->reg);
        const bool advances = next.term_count == 1 && next.terms[0].coefficient == 1 &&
                              phi_of(finder, loop, &next.terms[0]) == phi;
        if (!advances || (step && step != next.constant))
            return 0;
        step = next.constant;
    }
    return step;
}

/* Notes the parameters among the terms; false if another one than before, or anything else of unknown size, is. */
static bool note_terms(Finder *finder, const Loop *loop, const AffineForm *form, int64_t step)
{
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if (phi_of(finder, loop, term) || (term->bounded && term->high - term->low <= SHORTEST))
            continue;
        const double outside = mean_outside(finder, loop, term);
        if (outside > 0) {
            note_slope(finder, loop, (double)term->coefficient * outside, step);
            continue;
        }
        if (term->base != AFFINE_PARAM || term->offset || (finder->parameter && finder->parameter != term->variable))
            return false;
        finder->parameter = term->variable;
        finder->bits = term->reg;
        note_slope(finder, loop, (double)term->coefficient, step);
    }
    return true;
}

/* The same for a comparison that ends the loop. */
static bool note_comparison(Finder *finder, const Loop *loop, const Computation *compare)
{
    const Phi *phi = NULL;
    const RegId sides[2] = {compare->sources[0].reg, compare->sources[1].reg};
    RegId start = REG_NONE;
    for (unsigned s = 0; s < COUNT_OF(sides) && !phi; s++) {
        const AffineForm side = sides[s] == REG_NONE ? (AffineForm){0} : form_of(finder, sides[s]);
        for (unsigned i = 0; i < side.term_count && !phi; i++)
            phi = phi_of(finder, loop, &side.terms[i]);
    }
    const int64_t step = phi ? step_of(finder, loop, phi, &start) : 0;
    if (!step || start == REG_NONE)
        return false;
    const AffineForm begin = form_of(finder, start);
    bool is_known = begin.bits && note_terms(finder, loop, &begin, step);
    for (unsigned s = 0; s < COUNT_OF(sides) && is_known; s++) {
        const AffineForm side = sides[s] == REG_NONE ? (AffineForm){.bits = 32} : form_of(finder, sides[s]);
        is_known = side.bits && note_terms(finder, loop, &side, step);
    }
    return is_known;
}

static bool note_loop(Finder *finder, const Loop *loop)
{
    bool is_known = false;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const Block *block = loop->blocks[i];
        bool leaves = false;
        FOR_EACH_SUCC(block, succ)
            leaves |= !loop_contains(analyses_loops(finder->analyses), loop, succ);
        if (!leaves)
            continue;
        const Inst *compare = block->last && inst_is_guarded(block->last)
                                  ? value_inst(analyses_values(finder->analyses), inst_predicate(block->last))
                                  : NULL;
        Computation c;
        if (!compare || !computation_of(finder->body, compare, &c) || c.op != COMPUTE_COMPARE ||
            c.combination != COMBINE_NOTHING || !note_comparison(finder, loop, &c))
            return false;
        is_known = true;
    }
    return is_known;
}

bool trip_parameter_find(const Function *kernel, TripParameter *found)
{
    const char *reason;
    Body *body = body_build((Function *)kernel, &reason);
    if (!body)
        return false;
    body_to_ssa(body);
    Arena *scratch = arena_new();
    Finder finder = {.body = body, .analyses = analyses_new(body)};
    const LoopForest *loops = analyses_loops(finder.analyses);
    bool is_known = !loops->has_irreducible;
    finder.reached = ARENA_ARRAY(scratch, double, loops->loop_count + 1);
    for (uint32_t depth = 1, left = loops->loop_count; left && is_known; depth++)
        for (uint32_t i = 0; i < loops->loop_count && is_known; i++)
            if (loops->loops[i].depth == depth) {
                is_known = note_loop(&finder, &loops->loops[i]);
                left--;
            }
    is_known = is_known && finder.parameter && finder.slope > 0 && finder.bits == 32;
    if (is_known)
        *found = (TripParameter){prototype_param_index(&kernel->prototype, finder.parameter), finder.slope};
    is_known = is_known && found->index < kernel->prototype.param_count;
    analyses_free(finder.analyses);
    arena_free(scratch);
    body_free(body);
    return is_known;
}
