/* Conditions on the variable of a loop whose number of rounds is assumed: the share of the rounds in which they hold.
 *
 * A loop that counts from a constant in constant steps has a known variable in each round, and the bound that ends it
 * has the value at which it makes as many rounds as assumed. So "the first row", "the last one but three" and "every
 * fourth" are evaluated, like conditions on the thread's index (threads.c). */
#include "cost/formula.h"

#include <math.h>

enum { DEEPEST_LOOP = 3, EDGE_ROUNDS = 64, RUNS = 8, RUN_ROUNDS = 16 };

static const double most_rounds = 0x1p30;

/* The register, not computed in the loop, with which the block's branch compares a variable to end the loop, and its
 * value if that ends after the assumed rounds. */
static bool bound_at(const Estimate *estimate, const Loop *loop, const Block *block, AssumedRounds *assumed)
{
    Computation c;
    const Inst *condition = estimate_may_leave(estimate, loop, block) ? estimate_condition(estimate, block) : NULL;
    if (!condition || !computation_of(estimate->body, condition, &c) || c.op != COMPUTE_COMPARE ||
        c.combination != COMBINE_NOTHING)
        return false;
    const Relation stays = estimate_stays_if_true(estimate, loop, block) ? c.relation : relation_negated(c.relation);
    const bool includes = stays == RELATION_LESS_EQUAL || stays == RELATION_GREATER_EQUAL;
    const bool is_first = block == loop->header && estimate_tests_first(estimate, loop);
    for (unsigned i = 0; i < 2; i++) {
        AffineForm form;
        int64_t advance, first;
        RegId start;
        const RegId variable = estimate_header_phi(estimate, loop, c.sources[i].reg, &form), bound = c.sources[!i].reg;
        if (variable == REG_NONE || form.term_count != 1 || bound == REG_NONE ||
            !formula_counter(estimate, loop, variable, &start, &advance) ||
            !estimate_constant(estimate, start, &first))
            continue;
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[bound];
        if (def->block && loop_contains(analyses_loops(estimate->analyses), loop, def->block))
            continue;
        const int64_t rounds = (int64_t)assumed->count - !is_first - includes;
        assumed->bound = bound;
        assumed->end = (uint64_t)first + (uint64_t)form.constant + (uint64_t)rounds * (uint64_t)advance;
        return true;
    }
    return false;
}

/* Assumes how many rounds the loop makes; false if they are too many. */
static bool rounds_assume(const Estimate *estimate, const Loop *loop, AssumedRounds *assumed)
{
    const double count = floor(estimate_chain_iterations(estimate, loop) + 0.5);
    *assumed = (AssumedRounds){.loop = loop, .count = count, .bound = REG_NONE};
    if (!(count >= 1) || count > most_rounds)
        return false;
    for (uint32_t i = 0; i < loop->block_count; i++)
        if (bound_at(estimate, loop, loop->blocks[i], assumed))
            break;
    return true;
}

/* Adds up the rounds of a run in which the condition holds. */
static bool count_run(const Formula *formula, uint64_t first, uint64_t rounds, double weight, double *sum)
{
    static const unsigned any_thread[3] = {0};
    for (uint64_t i = first; i < first + rounds; i++) {
        uint64_t holds;
        if (!formula_run(formula, any_thread, i, &holds))
            return false;
        *sum += (double)(holds & 1) * weight;
    }
    return true;
}

/* The share of the rounds: the first and the last ones are all evaluated, and a part of many in the middle. */
static double share_of_rounds(const Formula *formula, uint64_t rounds)
{
    double sum = 0;
    if (rounds <= 2 * EDGE_ROUNDS + RUNS * RUN_ROUNDS)
        return count_run(formula, 0, rounds, 1, &sum) ? sum / (double)rounds : -1;
    const uint64_t middle = rounds - 2 * EDGE_ROUNDS;
    bool is_known = count_run(formula, 0, EDGE_ROUNDS, 1, &sum) &&
                    count_run(formula, rounds - EDGE_ROUNDS, EDGE_ROUNDS, 1, &sum);
    for (uint64_t i = 0; i < RUNS && is_known; i++)
        is_known = count_run(formula, EDGE_ROUNDS + i * middle / RUNS, RUN_ROUNDS,
                             (double)middle / (RUNS * RUN_ROUNDS), &sum);
    return is_known ? sum / (double)rounds : -1;
}

double estimate_count_rounds(const Estimate *estimate, RegId condition)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[condition];
    const Loop *loop = estimate->continuations && def->block ? loop_of(loops, def->block) : NULL;
    for (unsigned i = 0; loop && i < DEEPEST_LOOP; loop = loop->parent, i++) {
        Formula formula = {.estimate = estimate};
        if (rounds_assume(estimate, loop, &formula.assumed) && formula_make(&formula, condition) && formula.loop &&
            !formula_reads_thread(&formula))
            return share_of_rounds(&formula, (uint64_t)formula.assumed.count);
    }
    return -1;
}
