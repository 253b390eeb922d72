/* Loops that count from the thread's index to a bound, in steps of the block: for (i = threadIdx.x; i < 24; i += 16).
 *
 * The block's size says how many rounds each thread makes. Merged threads go on together while all of them do. */
#include "cost/formula.h"

#include <math.h>

enum { MOST_CHAINED = 4, MOST_THREADS = 1024 };

#define MOST_DISTANCE (INT64_C(1) << 40)

/* A comparison that a thread makes at the end of each round. */
typedef struct Ending {
    Formula start, bound; /* the bound is a constant if its formula has no steps */
    int64_t constant, plus, advance;
    Relation stays; /* of the variable to the bound while the loop goes on */
    unsigned bits;
    bool is_signed;
} Ending;

typedef struct Endings {
    Ending *all;
    unsigned count;
    bool is_first; /* at the header, before the work of a round */
} Endings;

static bool is_small(int64_t value)
{
    return value > -MOST_DISTANCE && value < MOST_DISTANCE;
}

/* The value of the sum of 'reg', a constant and sizes of the block, less 'reg'; false if it has other terms. */
static bool sum_of_block(const Estimate *estimate, const AffineForm *form, RegId reg, int64_t *value)
{
    bool has_it = false;
    *value = form->constant;
    if (!form->bits || !is_small(*value))
        return false;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        const bool is_value = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
        if (is_value && term->reg == reg && term->coefficient == 1)
            has_it = true;
        else if (term->base == AFFINE_SREG && term->sreg->role == SREG_ROLE_NTID && term->sreg->axis <= SREG_AXIS_Z &&
                 is_small(term->coefficient))
            *value += term->coefficient * (int64_t)estimate->block[term->sreg->axis];
        else
            return false;
    }
    return has_it && is_small(*value);
}

/* By how much the phi of the loop's header grows in each round; 0: rounds differ, or it is not known. */
static int64_t advance_of(const Estimate *estimate, const Loop *loop, RegId reg)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = &def->block->phis.data[def->phi];
    int64_t advance = 0;
    for (size_t i = 0; i < phi->args.count; i++) {
        int64_t along;
        if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            continue;
        const AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[i].reg);
        if (!sum_of_block(estimate, &next, reg, &along) || (advance && along != advance))
            return 0;
        advance = along;
    }
    return advance;
}

/* By how much the value with which the loop's phi starts is ahead of the variable that it continues: merged threads may
 * have one variable, from which theirs differ. */
static bool distance_of(const Estimate *estimate, const Continuation *continuation, int64_t *distance)
{
    const AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), continuation->value);
    const int64_t advance = advance_of(estimate, continuation->first, continuation->first_phi);
    if (!advance || !sum_of_block(estimate, &form, continuation->first_phi, distance))
        return false;
    *distance -= estimate_tests_first(estimate, continuation->first) ? 0 : advance;
    return true;
}

/* The register with which the phi starts, in the first of the loops that this one continues, and by how much the
 * threads' own start is ahead of it; REG_NONE: it is not known. */
static RegId start_of(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *ahead)
{
    const Continuation *continuation = &estimate->continuations[loop->index];
    *ahead = 0;
    for (unsigned depth = 0; continuation->first && depth < MOST_CHAINED; depth++) {
        int64_t distance;
        if (continuation->phi != reg || continuation->first_phi == REG_NONE ||
            !distance_of(estimate, continuation, &distance))
            return REG_NONE;
        *ahead += distance;
        reg = continuation->first_phi;
        loop = continuation->first;
        continuation = &estimate->continuations[loop->index];
    }
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = &def->block->phis.data[def->phi];
    RegId start = REG_NONE;
    for (size_t i = 0; i < phi->args.count && !continuation->first; i++) {
        const RegId from = phi->args.data[i].reg;
        if (loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            continue;
        if (start != REG_NONE && start != from)
            return REG_NONE;
        start = from;
    }
    return start;
}

static bool ending_of(const Estimate *estimate, const Loop *loop, const Inst *condition, bool stays_if_true,
                      Ending *ending)
{
    Computation c;
    if (!condition || !computation_of(estimate->body, condition, &c) || c.op != COMPUTE_COMPARE ||
        c.combination != COMBINE_NOTHING || c.sources[0].bits > 32)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        const ComputeSource *bound = &c.sources[!i];
        AffineForm form;
        int64_t ahead;
        const RegId variable = estimate_header_phi(estimate, loop, c.sources[i].reg, &form);
        const RegId start = variable != REG_NONE && sum_of_block(estimate, &form, variable, &ending->plus)
                                ? start_of(estimate, loop, variable, &ahead)
                                : REG_NONE;
        if (start == REG_NONE || (!bound->is_constant && bound->reg == REG_NONE))
            continue;
        const Relation relation = stays_if_true ? c.relation : relation_negated(c.relation);
        ending->stays = i ? relation_swapped(relation) : relation;
        ending->advance = advance_of(estimate, loop, variable);
        ending->plus += ahead;
        ending->constant = (int64_t)bound->constant;
        ending->bits = c.sources[0].bits;
        ending->is_signed = c.is_signed;
        ending->start = ending->bound = (Formula){.estimate = estimate};
        return ending->advance && formula_make(&ending->start, start) && !ending->start.loop &&
               (bound->is_constant || (formula_make(&ending->bound, bound->reg) && !ending->bound.loop));
    }
    return false;
}

/* The comparisons that the block's branch makes to end the loop, each of which may; false if others do. */
static bool endings_at(const Estimate *estimate, const Loop *loop, const Block *block, Endings *endings)
{
    const Inst *condition = estimate_may_leave(estimate, loop, block) ? estimate_condition(estimate, block) : NULL;
    const bool stays = condition && estimate_stays_if_true(estimate, loop, block);
    endings->count = 0;
    endings->is_first = block == loop->header && estimate_tests_first(estimate, loop);
    if (!condition)
        return false;
    Computation c;
    const bool combines = computation_of(estimate->body, condition, &c) && c.op == (stays ? COMPUTE_AND : COMPUTE_OR);
    if (!combines) {
        endings->count = 1;
        return ending_of(estimate, loop, condition, stays, &endings->all[0]);
    }
    for (unsigned i = 0; i < c.source_count; i++, endings->count++)
        if (c.sources[i].is_inverted ||
            !ending_of(estimate, loop, estimate_maker(estimate, c.sources[i].reg), stays, &endings->all[i]))
            return false;
    return true;
}

static int64_t extended(const Ending *ending, uint64_t value)
{
    return ending->bits < 32 || !ending->is_signed ? (int64_t)(value & (UINT64_MAX >> (64 - ending->bits)))
                                                   : (int32_t)value;
}

/* How many comparisons in a row say that the thread stays, from this value of the variable; below 0: not known. */
static double passes_from(const Ending *ending, int64_t value, int64_t bound)
{
    const int64_t far = bound - value, step = ending->advance;
    const bool is_multiple = far % step == 0, is_up = step > 0;
    switch (ending->stays) {
    case RELATION_NOT_EQUAL:
        return is_multiple && far / step >= 0 ? (double)(far / step) : -1;
    case RELATION_LESS:
    case RELATION_LESS_EQUAL:
    case RELATION_GREATER:
    case RELATION_GREATER_EQUAL: {
        const bool is_less = ending->stays == RELATION_LESS || ending->stays == RELATION_LESS_EQUAL;
        const bool includes = ending->stays == RELATION_LESS_EQUAL || ending->stays == RELATION_GREATER_EQUAL;
        return is_less == is_up ? fmax(0, ceil((double)far / (double)step) + (includes && is_multiple)) : -1;
    }
    default:
        return -1;
    }
}

/* The rounds that the thread makes, and whether it enters the loop; below 0: not known. */
static double rounds_of_thread(const Endings *endings, const unsigned index[3], bool *enters)
{
    double fewest = INFINITY;
    *enters = true;
    for (unsigned i = 0; i < endings->count; i++) {
        const Ending *ending = &endings->all[i];
        uint64_t start, bound = (uint64_t)ending->constant;
        if (!formula_run(&ending->start, index, 0, &start) ||
            (ending->bound.count && !formula_run(&ending->bound, index, 0, &bound)))
            return -1;
        const int64_t value = extended(ending, start) + ending->plus, end = extended(ending, bound);
        /* A test at the end comes after a round that a test before the loop allows, as one before that round would. */
        const double passes = passes_from(ending, endings->is_first ? value : value - ending->advance, end);
        if (passes < 0)
            return -1;
        *enters &= passes > 0;
        fewest = fmin(fewest, passes);
    }
    return fewest;
}

/* The mean of the threads of a block that enter the loop; 0: not known. */
static double mean_rounds(const Estimate *estimate, const Endings *endings)
{
    const unsigned x = (unsigned)estimate->block[0], y = (unsigned)estimate->block[1], z = (unsigned)estimate->block[2];
    double sum = 0, entering = 0;
    for (unsigned i = 0; i < x * y * z && i < MOST_THREADS; i++) {
        bool enters;
        const unsigned index[3] = {i % x, i / x % y, i / x / y};
        const double rounds = rounds_of_thread(endings, index, &enters);
        if (rounds < 0)
            return 0;
        sum += enters ? rounds : 0;
        entering += enters;
    }
    return entering > 0 ? sum / entering : 0;
}

double estimate_thread_iterations(const Estimate *estimate, const Loop *loop)
{
    Ending all[COMPUTE_SOURCES];
    Endings endings = {.all = all};
    for (unsigned i = 0; i < loop->latch_count; i++)
        if (endings_at(estimate, loop, estimate_decider(loop, loop->latches[i]), &endings))
            return mean_rounds(estimate, &endings);
    return endings_at(estimate, loop, loop->header, &endings) ? mean_rounds(estimate, &endings) : 0;
}
