/* Trip counts of loops, and the ways in which threads leave them, estimated without a launch.
 *
 * A loop whose control variable starts at, advances by and is compared with constants has a known trip count; any other
 * has the launch's. */
#include "cost/estimate.h"

#include <math.h>

enum { MOST_COMBINED = 4, MOST_CHAINED = 4, MOST_REPLICAS = 16, MOST_COMPUTED = 4, MOST_DEAD = 8, MOST_REST = 15 };

bool estimate_constant(const Estimate *estimate, RegId reg, int64_t *value)
{
    AffineForm form = affine_of_reg(estimate->values, reg);
    *value = form.constant;
    return form.bits && !form.term_count;
}

/* The constant with which a counter starts, in the mean of a group's threads, if their numbers are subtracted. */
static bool constant_of_group(const Estimate *estimate, RegId reg, int64_t *value)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm rest;
    const AffineForm form = affine_of_reg(estimate->values, reg);
    const unsigned threads = estimate_group(estimate, &form, &rest, terms);
    *value = rest.constant - threads / 2;
    return threads && form.bits && !rest.term_count;
}

/* True if no thread comes along the edge: known values decide the branches that lead there. */
static bool is_dead_edge(const Estimate *estimate, const Block *from, const Block *to, unsigned depth)
{
    const Inst *branch = block_two_way_branch(from);
    bool holds;
    if (branch && estimate_branch_is_decided(estimate, from, &holds) &&
        to != (holds != branch->guard_inverted ? branch->targets[0] : from->fall))
        return true;
    bool is_dead = depth < MOST_DEAD && from->pred_count > 0;
    for (unsigned i = 0; i < from->pred_count && is_dead; i++)
        is_dead = is_dead_edge(estimate, from->preds[i], from, depth + 1);
    return is_dead;
}

/* The constant that comes to a phi where paths meet, along every path that threads take. */
static bool constant_of_paths(const Estimate *estimate, RegId reg, int64_t *value)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = def->inst || !def->block ? NULL : &def->block->phis.data[def->phi];
    bool is_any = false;
    for (size_t i = 0; phi && i < phi->args.count; i++) {
        int64_t constant;
        if (is_dead_edge(estimate, phi->args.data[i].pred, def->block, 0))
            continue;
        if (!estimate_constant(estimate, phi->args.data[i].reg, &constant) || (is_any && constant != *value))
            return false;
        *value = constant;
        is_any = true;
    }
    return is_any;
}

/* The number with which a loop starts that makes what remains of a division by a power of two, in the mean of those
 * that enter it: n & 3 is 1, 2 or 3 there. */
static bool remainder_start(const Estimate *estimate, RegId reg, int64_t *value)
{
    const Bounds bounds = affine_reg_bounds(estimate->values, reg);
    const AffineForm form = affine_of_reg(estimate->values, reg);
    if (form.term_count == 1 && form.terms[0].base == AFFINE_SREG)
        return false; /* the index of a thread in a small block */
    if (bounds.low != 0 || bounds.high < 1 || bounds.high > MOST_REST || (bounds.high & (bounds.high + 1)))
        return false;
    *value = (bounds.high + 1) / 2;
    return true;
}

/* The constant with which a phi of the loop's header starts, or started in the loop that this one continues. */
static bool constant_start(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *start)
{
    for (unsigned i = 0; loop && reg != REG_NONE && i < MOST_CHAINED; i++) {
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
        const Phi *phi = def->inst || def->block != loop->header ? NULL : &def->block->phis.data[def->phi];
        for (size_t k = 0; phi && k < phi->args.count; k++)
            if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[k].pred) &&
                (estimate_constant(estimate, phi->args.data[k].reg, start) ||
                 constant_of_group(estimate, phi->args.data[k].reg, start) ||
                 constant_of_paths(estimate, phi->args.data[k].reg, start) ||
                 (!estimate->continuations[loop->index].first &&
                  remainder_start(estimate, phi->args.data[k].reg, start))))
                return true;
        const Continuation *continuation = &estimate->continuations[loop->index];
        reg = continuation->phi == reg ? continuation->first_phi : REG_NONE;
        loop = continuation->first;
    }
    return false;
}

int64_t estimate_advance(const Affine *affine, RegId phi, RegId next)
{
    const AffineForm form = affine_of_reg(affine, next);
    const bool advances = form.term_count == 1 && form.terms[0].coefficient == 1 && form.terms[0].reg == phi &&
                          (form.terms[0].base == AFFINE_VALUE || form.terms[0].base == AFFINE_SIGNED);
    return advances ? form.constant : 0;
}

/* The same for a phi of the loop's header, along all paths on which the loop goes on, as on the fast side of a test and
 * on the slow one. A loop that is entered twice, with rounds of its own each time, has the step of the first. */
static int64_t advance_of_phi(const Estimate *estimate, const Loop *loop, const Phi *phi)
{
    const bool is_entered_twice = estimate->continuations && estimate->continuations[loop->index].is_counted;
    int64_t step = 0;
    for (size_t k = 0; k < phi->args.count && !(is_entered_twice && step); k++) {
        if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[k].pred))
            continue;
        const int64_t along = estimate_advance(estimate->values, phi->dst, phi->args.data[k].reg);
        if (!is_entered_twice && (!along || (step && along != step)))
            return 0;
        step = along;
    }
    return step;
}

/* Start and step of a phi of the loop's header, if both are constants. */
static bool induction(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *start, int64_t *step)
{
    const Block *header = loop->header;
    for (size_t i = 0; i < header->phis.count; i++)
        if (header->phis.data[i].dst == reg) {
            *step = advance_of_phi(estimate, loop, &header->phis.data[i]);
            return *step && constant_start(estimate, loop, reg, start);
        }
    return false;
}

/* True if the register is a variable of the loop plus a constant. */
static bool loop_variable(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *start, int64_t *step)
{
    AffineForm form = affine_of_reg(estimate->values, reg);
    if (form.term_count != 1 || form.terms[0].coefficient != 1 ||
        (form.terms[0].base != AFFINE_VALUE && form.terms[0].base != AFFINE_SIGNED) ||
        !induction(estimate, loop, form.terms[0].reg, start, step))
        return false;
    *start += form.constant;
    return true;
}

bool estimate_may_leave(const Estimate *estimate, const Loop *loop, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Inst *last = block_two_way_branch(block);
    return last && loop_contains(loops, loop, last->targets[0]) != loop_contains(loops, loop, block->fall);
}

bool estimate_stays_if_true(const Estimate *estimate, const Loop *loop, const Block *block)
{
    const Inst *last = block_two_way_branch(block);
    return last && loop_contains(analyses_loops(estimate->analyses), loop, last->targets[0]) != last->guard_inverted;
}

/* True if one operand of the comparison is a variable of the loop and the other, its bound, a constant. */
static bool compares_variable(const Estimate *estimate, const Loop *loop, const Inst *compare, unsigned variable,
                              int64_t *start, int64_t *step, int64_t *bound)
{
    const unsigned other = variable == 1 ? 2 : 1;
    const RegId reg = inst_reg(compare, variable), bounding = inst_reg(compare, other);
    uint64_t constant;
    if (reg == REG_NONE || !loop_variable(estimate, loop, reg, start, step))
        return false;
    if (!operand_is_integer(&compare->operands[other], &constant))
        return bounding != REG_NONE && estimate_constant(estimate, bounding, bound);
    *bound = (int64_t)constant;
    return true;
}

/* The number of times that the loop's variable is compared with a constant before that ends the loop, which goes on
 * while the comparison 'stays_if_true'; 0 if it compares anything else. */
static double comparisons_by(const Estimate *estimate, const Loop *loop, const Inst *compare, bool stays_if_true)
{
    int64_t start = 0, step = 0, bound = 0;
    if (!compare || inst_op(compare) != OP_SETP || compare->operand_count < 3 ||
        (!compares_variable(estimate, loop, compare, 1, &start, &step, &bound) &&
         !compares_variable(estimate, loop, compare, 2, &start, &step, &bound)))
        return 0;
    const bool includes = inst_has(compare, MOD_LE) || inst_has(compare, MOD_GE);
    const bool excludes = inst_has(compare, MOD_LT) || inst_has(compare, MOD_GT);
    const bool is_reached = stays_if_true ? includes : excludes;
    double passes = ceil((double)(bound - start) / (double)step) + (is_reached && (bound - start) % step == 0);
    return passes >= 0 && passes < 1e9 ? passes + 1 : 0;
}

/* The same for the block's branch; merged threads go on together while all of their comparisons say so. 0 as well if
 * the block does not leave the loop. */
static double comparisons(const Estimate *estimate, const Loop *loop, const Block *block)
{
    const Inst *condition = estimate_condition(estimate, block);
    if (!condition || !estimate_may_leave(estimate, loop, block))
        return 0;
    const bool stays = estimate_stays_if_true(estimate, loop, block);
    if (inst_op(condition) != (stays ? OP_AND : OP_OR))
        return comparisons_by(estimate, loop, condition, stays);
    double fewest = INFINITY;
    for (unsigned i = 0; i < condition->ref_count; i++) {
        const RegId each = condition->refs[i].reg;
        if (ref_reads(&condition->refs[i]))
            fewest = fmin(fewest, comparisons_by(estimate, loop, estimate_maker(estimate, each), stays));
    }
    return isfinite(fewest) ? fewest : 0;
}

bool estimate_tests_first(const Estimate *estimate, const Loop *loop)
{
    bool leaves = false, works = false;
    FOR_EACH_SUCC(loop->header, succ)
        leaves |= loop->header->last && loop->header->last->target_count &&
                  !loop_contains(analyses_loops(estimate->analyses), loop, succ);
    for (uint32_t i = 0; leaves && i < loop->block_count; i++)
        for (const Inst *inst = loop->blocks[i]->first; inst && loop->blocks[i] != loop->header; inst = inst->next)
            works |= !inst_is_terminator(inst) && inst_op(inst) != OP_MOV;
    return works;
}

const Block *estimate_decider(const Loop *loop, const Block *latch)
{
    while (!block_two_way_branch(latch) && latch->pred_count == 1 && latch->preds[0] != loop->header)
        latch = latch->preds[0];
    return latch;
}

static double find_iterations(const Estimate *estimate, const Loop *loop)
{
    for (unsigned i = 0; i < loop->latch_count; i++) {
        double trips = comparisons(estimate, loop, estimate_decider(loop, loop->latches[i]));
        if (trips > 0)
            return trips;
    }
    double trips = comparisons(estimate, loop, loop->header);
    return trips > 0 && estimate_tests_first(estimate, loop) ? trips - 1 : trips;
}

/* True if a phi of the loop's header advances by an amount that is added to it. */
static bool advances(const Estimate *estimate, const Loop *loop, RegId reg)
{
    const Affine *affine = analyses_affine(estimate->analyses);
    for (size_t i = 0; i < loop->header->phis.count; i++) {
        const Phi *phi = &loop->header->phis.data[i];
        for (size_t k = 0; phi->dst == reg && k < phi->args.count; k++) {
            AffineForm next = affine_of_reg(affine, phi->args.data[k].reg);
            for (unsigned t = 0; t < next.term_count; t++)
                if (next.terms[t].reg == reg && next.terms[t].coefficient == 1 && phi->args.data[k].reg != reg)
                    return true;
        }
    }
    return false;
}

/* True if the condition compares an induction variable of the loop. */
static bool compares_induction(const Estimate *estimate, const Loop *loop, const Inst *compare)
{
    for (unsigned i = 0; compare && i < compare->ref_count; i++) {
        if (!ref_reads(&compare->refs[i]))
            continue;
        AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), compare->refs[i].reg);
        for (unsigned t = 0; t < form.term_count; t++)
            if ((form.terms[t].base == AFFINE_VALUE || form.terms[t].base == AFFINE_SIGNED) &&
                advances(estimate, loop, form.terms[t].reg))
                return true;
    }
    return false;
}

/* True if all threads that compute the value compute the same, although control may decide which of them do. */
static bool is_computed_alike(const Estimate *estimate, const Variance *variance, RegId reg, unsigned depth)
{
    if (!variance_reg(variance, reg))
        return true;
    const VarianceCause cause = variance_reason(variance, reg).cause;
    const Inst *inst = value_inst(analyses_values(estimate->analyses), reg);
    if (!inst || depth >= MOST_COMPUTED || (cause != VARIANCE_CONTROL && cause != VARIANCE_OPERAND))
        return false;
    for (unsigned i = 0; i < inst->ref_count; i++)
        if (ref_reads(&inst->refs[i]) && !is_computed_alike(estimate, variance, inst->refs[i].reg, depth + 1))
            return false;
    return true;
}

/* True if it does so with a bound that all threads share. */
static bool compares_shared(const Estimate *estimate, const Loop *loop, const Inst *compare)
{
    const Variance *variance = analyses_variance(estimate->analyses, VARIANCE_ANY, NULL);
    bool is_shared = compares_induction(estimate, loop, compare);
    for (unsigned i = 0; is_shared && i < compare->ref_count; i++) {
        if (!ref_reads(&compare->refs[i]) || !variance_reg(variance, compare->refs[i].reg))
            continue;
        AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), compare->refs[i].reg);
        for (unsigned t = 0; is_shared && t < form.term_count; t++)
            is_shared = form.terms[t].base == AFFINE_SREG || advances(estimate, loop, form.terms[t].reg) ||
                        is_computed_alike(estimate, variance, form.terms[t].reg, 0);
    }
    return is_shared;
}

/* Judges a condition on which the loop is left, or those that it combines. */
static void judge_condition(const Estimate *estimate, const Loop *loop, const Inst *condition, unsigned depth,
                            LoopExits *exits)
{
    bool combines = condition && (inst_op(condition) == OP_AND || inst_op(condition) == OP_OR);
    if (!combines || depth >= MOST_COMBINED) {
        exits->uneven |= !compares_induction(estimate, loop, condition);
        exits->counted |= compares_shared(estimate, loop, condition);
        return;
    }
    for (unsigned i = 0; i < condition->ref_count; i++)
        if (ref_reads(&condition->refs[i]))
            judge_condition(estimate, loop, value_inst(analyses_values(estimate->analyses), condition->refs[i].reg),
                            depth + 1, exits);
}

double estimate_known_iterations(const Estimate *estimate, const Loop *loop)
{
    double *known = &estimate->known_iterations[loop->index];
    const double of_threads = estimate->thread_iterations[loop->index];
    if (*known < 0)
        *known = find_iterations(estimate, loop);
    return of_threads > 0 ? of_threads : *known > 0 ? *known : estimate->scaled[loop->index].rounds;
}

double estimate_chain_iterations(const Estimate *estimate, const Loop *loop)
{
    double ratio;
    const Loop *last = estimate_last_of_chain(estimate, loop, &ratio);
    const double known = estimate_known_iterations(estimate, last);
    return (known > 0 ? known : fmin(estimate->assumed_trips, estimate->scaled[last->index].most)) / ratio;
}

bool estimate_has_few_rounds(const Estimate *estimate, const Loop *loop)
{
    const double rounds = estimate_known_iterations(estimate, loop);
    return rounds > 0 && rounds <= MOST_REPLICAS && rounds == estimate->known_iterations[loop->index];
}

LoopExits estimate_exits(const Estimate *estimate, const Loop *loop)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Variance *variance = analyses_variance(estimate->analyses, VARIANCE_ANY, NULL);
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    LoopExits exits = {0};
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const Block *block = loop->blocks[i];
        unsigned leaving = 0;
        for (uint32_t k = graph->succ_start[block->id]; k < graph->succ_start[block->id + 1]; k++)
            leaving += !loop_contains(loops, loop, estimate->body->blocks.data[graph->succs[k]]);
        leaving += estimate_may_exit(block);
        exits.count += leaving;
        if (leaving && bitset_has(&variance->branches, block->id))
            judge_condition(estimate, loop, estimate_condition(estimate, block), 0, &exits);
        else
            exits.counted |= leaving > 0;
    }
    return exits;
}

bool estimate_is_uneven(const Estimate *estimate)
{
    bool uneven = false;
    for (uint32_t i = 0; i < analyses_loops(estimate->analyses)->loop_count; i++)
        uneven |= estimate->exits[i].uneven;
    return uneven;
}

