/* Loops whose variable is divided or multiplied by a constant in each round: for (half = n / 2; half; half /= 2) goes
 * round once for each bit of a number, however large the launch is.
 *
 * If the number is that of a block's threads, as in sums by halves, or compared with the index of a thread, all
 * values of the variable are known, and so are the rounds in which each thread takes part (threads.c). */
#include "cost/estimate.h"

#include <math.h>

enum { MOST_STEPS = 8, MOST_CONDITIONS = 4 };

/* Numbers whose bounds are not known: 31 bits of them are not 0. */
static const double most_number = 0x1p31;

/* A comparison that ends a loop, of something that is computed from its variable. */
typedef struct Ending {
    Computation compare;
    unsigned variable; /* the source */
    double ratio;      /* of that to the variable */
    bool stays;        /* the outcome with which the loop goes on */
    bool is_first;     /* in the header, before the work of a round */
} Ending;

static double ratio_to(const Estimate *estimate, RegId from, RegId reg, unsigned depth);

static double source_ratio(const Estimate *estimate, RegId from, const Computation *c, unsigned source, unsigned depth)
{
    const RegId reg = c->sources[source].reg;
    return reg == REG_NONE ? 0 : ratio_to(estimate, from, reg, depth + 1);
}

/* True if the register holds nothing but the sign of a number, which a division by a power of two adds first. */
static bool is_sign(const Estimate *estimate, RegId reg)
{
    Computation c;
    const Inst *inst = estimate_maker(estimate, reg);
    return inst && computation_of(estimate->body, inst, &c) && c.op == COMPUTE_SHIFT_RIGHT &&
           c.sources[1].is_constant && c.sources[1].constant + 1 >= c.bits;
}

static double ratio_of_sum(const Estimate *estimate, RegId from, const Computation *c, unsigned depth)
{
    const RegId a = c->sources[0].reg, b = c->sources[1].reg;
    if (a != REG_NONE && a == b)
        return 2 * source_ratio(estimate, from, c, 0, depth);
    if (c->sources[1].is_constant || (b != REG_NONE && is_sign(estimate, b)))
        return source_ratio(estimate, from, c, 0, depth);
    if (c->sources[0].is_constant || (a != REG_NONE && is_sign(estimate, a)))
        return source_ratio(estimate, from, c, 1, depth);
    return 0;
}

/* The second register's value over the first one's, about, if it is computed from that in products with constants,
 * divisions by them, and sums with them; else 0. */
static double ratio_to(const Estimate *estimate, RegId from, RegId reg, unsigned depth)
{
    Computation c;
    const Inst *inst = estimate_maker(estimate, reg);
    if (reg == from)
        return 1;
    if (depth >= MOST_STEPS || !inst || !computation_of(estimate->body, inst, &c))
        return 0;
    const bool is_scaled = c.source_count > 1 && c.sources[1].is_constant && c.sources[1].constant;
    const double scale = is_scaled ? (double)c.sources[1].constant : 0;
    switch (c.op) {
    case COMPUTE_COPY:
    case COMPUTE_CONVERT:
        return source_ratio(estimate, from, &c, 0, depth);
    case COMPUTE_ADD:
    case COMPUTE_SUB:
        return ratio_of_sum(estimate, from, &c, depth);
    case COMPUTE_MUL:
        return scale * source_ratio(estimate, from, &c, 0, depth);
    case COMPUTE_MUL_HIGH:
        return ldexp(scale, -c.bits) * source_ratio(estimate, from, &c, 0, depth);
    case COMPUTE_DIV:
        return is_scaled ? source_ratio(estimate, from, &c, 0, depth) / scale : 0;
    case COMPUTE_SHIFT_LEFT:
        return is_scaled && scale < c.bits ? ldexp(source_ratio(estimate, from, &c, 0, depth), (int)scale) : 0;
    case COMPUTE_SHIFT_RIGHT:
        return is_scaled && scale < c.bits ? ldexp(source_ratio(estimate, from, &c, 0, depth), -(int)scale) : 0;
    default:
        return 0;
    }
}

/* The phi's value after a round over that before; 0: rounds differ. The largest number with which it starts is in
 * *most, and the register in *start; REG_NONE: there are several. */
static double ratio_of_rounds(const Estimate *estimate, const Loop *loop, const Phi *phi, RegId *start, double *most)
{
    double ratio = 0;
    unsigned starts = 0;
    *most = 0;
    for (size_t i = 0; i < phi->args.count; i++) {
        const PhiArg *arg = &phi->args.data[i];
        if (!loop_contains(analyses_loops(estimate->analyses), loop, arg->pred)) {
            const Bounds bounds = affine_reg_bounds(estimate->values, arg->reg);
            *most = fmax(*most, fmin((double)bounds.high, most_number));
            *start = starts++ ? REG_NONE : arg->reg;
            continue;
        }
        const double along = ratio_to(estimate, phi->dst, arg->reg, 0);
        if (along <= 0 || (ratio > 0 && along != ratio))
            return 0;
        ratio = along;
    }
    return ratio != 1 ? ratio : 0;
}

/* Whether the condition, or one that it combines, compares what is computed from the register, and which source. */
static bool takes_comparison(const Estimate *estimate, const Inst *condition, RegId reg, unsigned depth, Ending *ending)
{
    if (!condition || !computation_of(estimate->body, condition, &ending->compare))
        return false;
    const Computation *c = &ending->compare;
    const unsigned count = c->source_count;
    const bool combines = (c->op == COMPUTE_AND || c->op == COMPUTE_OR) && depth < MOST_CONDITIONS;
    RegId sources[COMPUTE_SOURCES];
    if (c->op == COMPUTE_COMPARE && c->combination == COMBINE_NOTHING)
        for (ending->variable = 0; ending->variable < 2; ending->variable++) {
            ending->ratio = source_ratio(estimate, reg, c, ending->variable, 0);
            if (ending->ratio > 0)
                return true;
        }
    for (unsigned i = 0; i < count; i++)
        sources[i] = c->sources[i].reg;
    for (unsigned i = 0; i < count && combines; i++)
        if (takes_comparison(estimate, estimate_maker(estimate, sources[i]), reg, depth + 1, ending))
            return true;
    return false;
}

/* Whether the variable tells when threads leave the loop, and how. */
static bool ending_find(const Estimate *estimate, const Loop *loop, RegId variable, Ending *ending)
{
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const Block *block = loop->blocks[i];
        if (!estimate_may_leave(estimate, loop, block) ||
            !takes_comparison(estimate, estimate_condition(estimate, block), variable, 0, ending))
            continue;
        ending->stays = estimate_stays_if_true(estimate, loop, block);
        ending->is_first = block == loop->header && estimate_tests_first(estimate, loop);
        return true;
    }
    return false;
}

/* The value at which the variable, or what is computed from it and compared with the index of a thread in the loop, is
 * the number of a block's threads; 0: nothing is compared so. */
static double start_at_threads(const Estimate *estimate, const Loop *loop, RegId variable)
{
    for (uint32_t b = 0; b < loop->block_count; b++)
        for (const Inst *inst = loop->blocks[b]->first; inst; inst = inst->next) {
            Computation c;
            if (!computation_of(estimate->body, inst, &c) || c.op != COMPUTE_COMPARE)
                continue;
            for (unsigned i = 0; i < 2; i++) {
                const double ratio = source_ratio(estimate, variable, &c, i, 0);
                const RegId other = c.sources[1 - i].reg;
                if (ratio > 0 && other != REG_NONE && value_sources(estimate, other) & SOURCE_THREAD)
                    return estimate->original_threads / ratio;
            }
        }
    return 0;
}

/* Whether the loop goes on after a round with this value of the variable. */
static bool goes_on(const Ending *ending, double value, uint64_t bound)
{
    uint64_t sources[COMPUTE_SOURCES] = {0}, outcome;
    sources[ending->variable] = (uint64_t)(value * ending->ratio);
    sources[1 - ending->variable] = bound;
    return computation_value(&ending->compare, sources, &outcome) && (outcome & 1) == ending->stays;
}

/* Fills in the variable's value in each round. */
static void follow(Arena *arena, const Ending *ending, double value, double ratio, uint64_t bound, Scaled *scaled)
{
    scaled->values = ARENA_ARRAY(arena, uint64_t, MOST_SCALED);
    if (ending->is_first && !goes_on(ending, value, bound))
        return;
    do {
        scaled->values[scaled->rounds++] = (uint64_t)value;
        const double next = floor(value * ratio);
        if (!goes_on(ending, ending->is_first ? next : value, bound))
            return;
        value = next;
    } while (scaled->rounds < MOST_SCALED && value > 0 && value < most_number);
}

static Scaled scaled_by(const Estimate *estimate, const Loop *loop, const Phi *phi)
{
    Scaled scaled = {.phi = phi->dst, .most = INFINITY};
    RegId start = REG_NONE;
    double most;
    Ending ending;
    const double ratio = ratio_of_rounds(estimate, loop, phi, &start, &most);
    if (!(ratio > 0) || !ending_find(estimate, loop, phi->dst, &ending))
        return scaled;
    const double reached = ratio < 1 ? fmax(most, 1) : most_number;
    scaled.most = floor(log(reached) / fabs(log(ratio)) + 1e-9) + 1;
    const ComputeSource *bounding = &ending.compare.sources[1 - ending.variable];
    uint64_t first = 0, bound = bounding->constant;
    const bool is_exact = start != REG_NONE && estimate_value_of_block(estimate, start, &first);
    const bool is_bounded = bounding->is_constant || estimate_value_of_block(estimate, bounding->reg, &bound);
    const double value = is_exact ? (double)first : ratio < 1 ? start_at_threads(estimate, loop, phi->dst) : 0;
    if (value > 0 && is_bounded)
        follow(estimate->arena, &ending, value, ratio, bound, &scaled);
    return scaled;
}

Scaled estimate_scaled(const Estimate *estimate, const Loop *loop)
{
    Scaled found = {.phi = REG_NONE, .most = INFINITY};
    for (size_t i = 0; i < loop->header->phis.count && !found.rounds; i++) {
        const Scaled scaled = scaled_by(estimate, loop, &loop->header->phis.data[i]);
        if (scaled.most < found.most)
            found = scaled;
    }
    return found;
}
