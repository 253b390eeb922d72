/* The frequencies of blocks, estimated without a launch.
 *
 * A loop whose control variable starts at, advances by and is compared with constants has a known trip count; any other
 * has the launch's. A bounds check, which compares a thread's index with a size, is nearly always passed. A warp
 * usually takes both sides of a branch on loaded data that differs between threads, and either side of a branch that
 * does not differ. */
#include "cost/estimate.h"

#include <math.h>

enum { MOST_COMBINED = 4 };
static const double in_bounds = 0.97, both_sides = 0.9, either_side = 0.5;

/* The instruction that computes the condition of the block's branch; NULL if it has none. */
static const Inst *condition_of(const Estimate *estimate, const Block *block)
{
    const Inst *last = block->last;
    if (!last || !inst_is_terminator(last) || !inst_is_guarded(last))
        return NULL;
    return value_inst(analyses_values(estimate->analyses), inst_predicate(last));
}

/* Trip counts. */

/* The constant that a register holds. */
static bool constant_of(const Estimate *estimate, RegId reg, int64_t *value)
{
    AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    *value = form.constant;
    return form.bits && !form.term_count;
}

/* Start and step of a phi of the loop's header, if both are constants. */
static bool induction(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *start, int64_t *step)
{
    const Affine *affine = analyses_affine(estimate->analyses);
    const Block *header = loop->header;
    for (size_t i = 0; i < header->phis.count; i++) {
        const Phi *phi = &header->phis.data[i];
        if (phi->dst != reg || phi->args.count != 2)
            continue;
        for (unsigned k = 0; k < 2; k++) {
            AffineForm next = affine_of_reg(affine, phi->args.data[k].reg);
            bool advances = next.term_count == 1 && next.terms[0].coefficient == 1 && next.terms[0].reg == reg &&
                            (next.terms[0].base == AFFINE_VALUE || next.terms[0].base == AFFINE_SIGNED);
            if (advances && constant_of(estimate, phi->args.data[1 - k].reg, start)) {
                *step = next.constant;
                return *step != 0;
            }
        }
    }
    return false;
}

/* True if the register is a variable of the loop plus a constant. */
static bool loop_variable(const Estimate *estimate, const Loop *loop, RegId reg, int64_t *start, int64_t *step)
{
    AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    if (form.term_count != 1 || form.terms[0].coefficient != 1 ||
        (form.terms[0].base != AFFINE_VALUE && form.terms[0].base != AFFINE_SIGNED) ||
        !induction(estimate, loop, form.terms[0].reg, start, step))
        return false;
    *start += form.constant;
    return true;
}

/* The number of times that a comparison of the loop's variable with a constant is made before it ends the loop; 0 if it
 * is not such a comparison. */
static double comparisons(const Estimate *estimate, const Loop *loop, const Inst *compare)
{
    int64_t start = 0, step = 0, bound = 0;
    if (!compare || inst_op(compare) != OP_SETP || compare->operand_count < 3)
        return 0;
    RegId left = inst_reg(compare, 1), right = inst_reg(compare, 2);
    uint64_t constant;
    if (left == REG_NONE || !loop_variable(estimate, loop, left, &start, &step))
        return 0;
    if (operand_is_integer(&compare->operands[2], &constant))
        bound = (int64_t)constant;
    else if (right == REG_NONE || !constant_of(estimate, right, &bound))
        return 0;
    bool is_reached = inst_has(compare, MOD_LE) || inst_has(compare, MOD_GE);
    double passes = ceil((double)(bound - start) / (double)step) + (is_reached && (bound - start) % step == 0);
    return passes >= 0 && passes < 1e9 ? passes + 1 : 0;
}

static double loop_trips(Estimate *estimate, const Loop *loop)
{
    for (unsigned i = 0; i < loop->latch_count; i++) {
        double trips = comparisons(estimate, loop, condition_of(estimate, loop->latches[i]));
        if (trips > 0)
            return trips;
    }
    /* The header of a loop that is left there runs once more than the rest. */
    double trips = comparisons(estimate, loop, condition_of(estimate, loop->header));
    estimate->assumes_trips |= !(trips > 0);
    return trips > 0 ? trips : estimate->assumed_trips;
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
            is_shared = form.terms[t].base == AFFINE_SREG || !variance_reg(variance, form.terms[t].reg) ||
                        advances(estimate, loop, form.terms[t].reg);
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

static LoopExits loop_exits(const Estimate *estimate, const Loop *loop)
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
        exits.count += leaving;
        if (leaving && bitset_has(&variance->branches, block->id))
            judge_condition(estimate, loop, condition_of(estimate, block), 0, &exits);
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

/* Gives loops that continue another one its remaining trips: the last one, if any, if all threads count to the same
 * bound; half of them if each thread has its own reason to leave. */
static void share_trips(Estimate *estimate)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    BitSet shared = bitset_new(estimate->arena, loops->loop_count + 1);
    for (uint32_t i = 0; i < loops->loop_count; i++) {
        const Loop *first = estimate_continued(estimate, &loops->loops[i]);
        if (!first)
            continue;
        const bool is_counted = estimate->exits[i].counted;
        double *trips = &estimate->trips[first->index];
        if (!bitset_has(&shared, first->index))
            *trips = fmax(1, is_counted ? *trips - either_side : *trips / 2);
        bitset_add(&shared, first->index);
        estimate->trips[i] = is_counted ? 1 : *trips;
    }
}

/* Branches. */

/* True if nothing but the exit follows from this block on. */
static bool only_leaves(const Block *block)
{
    const Inst *last = block->last;
    return block->first == last && last && !last->target_count && !inst_falls_through(last);
}

static bool is_equality(const Inst *condition)
{
    return condition && (inst_has(condition, MOD_EQ) || inst_has(condition, MOD_NE));
}

/* The probability that a warp executes the part of an if-then that the branch guards. */
static double guarded_share(const Estimate *estimate, const Block *block)
{
    const Inst *last = block->last;
    unsigned sources = value_sources(estimate, inst_predicate(last));
    if (sources & SOURCE_MEMORY)
        return both_sides;
    if (sources & SOURCE_THREAD)
        return is_equality(condition_of(estimate, block)) ? 1 / estimate_warps(estimate) : in_bounds;
    return sources & SOURCE_LOOP ? either_side : in_bounds;
}

/* True if a register is one special register plus a constant. */
static bool is_special(const Estimate *estimate, RegId reg, unsigned role)
{
    AffineForm form = affine_of_reg(analyses_affine(estimate->analyses), reg);
    return form.term_count == 1 && form.terms[0].base == AFFINE_SREG && form.terms[0].coefficient == 1 &&
           form.terms[0].sreg->role == role;
}

/* The instruction that makes the value, if it is of the opcode and its second source is a constant; else NULL. */
static const Inst *made_with_constant(const Estimate *estimate, RegId reg, Opcode op, uint64_t *constant)
{
    const Inst *inst = reg == REG_NONE ? NULL : value_inst(analyses_values(estimate->analyses), reg);
    return inst && inst_op(inst) == op && operand_is_integer(&inst->operands[2], constant) ? inst : NULL;
}

/* The k for which the register is the thread block's index modulo k: its low bits, or the index less a multiple of k;
 * 0: it is anything else. */
static double block_modulus(const Estimate *estimate, RegId reg)
{
    uint64_t bits;
    const Inst *low = made_with_constant(estimate, reg, OP_AND, &bits);
    const Inst *less = made_with_constant(estimate, reg, OP_MAD, &bits);
    RegId index = low ? inst_reg(low, 1) : less ? inst_reg(less, 3) : REG_NONE;
    if (index == REG_NONE || !is_special(estimate, index, SREG_ROLE_CTAID))
        return 0;
    return low ? (double)(uint32_t)bits + 1 : -(double)(int32_t)bits;
}

/* The share of the thread blocks that go on after a conditional exit. If k blocks of the grid are merged into one, one
 * of each k blocks goes on (opt/coarsen/index.c): the one whose index modulo k equals the chosen number. */
static double staying_share(const Estimate *estimate, const Block *block)
{
    const Inst *compare = condition_of(estimate, block);
    if (!compare || inst_op(compare) != OP_SETP || !inst_has(compare, MOD_NE) || compare->operand_count != 3)
        return 1;
    RegId works = inst_reg(compare, 2);
    const Inst *chosen = works == REG_NONE ? NULL : value_inst(analyses_values(estimate->analyses), works);
    if (!chosen || inst_op(chosen) != OP_SELP || value_sources(estimate, works))
        return 1;
    double merged = block_modulus(estimate, inst_reg(compare, 1));
    return merged > 1 ? 1 / merged : 1;
}

/* The share of the warps that go to one side of a test whether replicas agree: as many as each of them would alone. If
 * data decide, a warp has threads whose replicas agree and others. A test for equality checks an assumption, such as
 * alignment. */
static double agreement_share(const Estimate *estimate, const Block *block, bool is_agreed)
{
    unsigned sources = value_sources(estimate, inst_predicate(block->last));
    if (sources & SOURCE_MEMORY)
        return both_sides;
    if (!is_agreed)
        return 1 - in_bounds;
    bool is_of_round = sources & SOURCE_LOOP && !(sources & SOURCE_THREAD);
    return is_of_round && !is_equality(condition_of(estimate, block)) ? either_side : in_bounds;
}

/* The probability of the edge to successor 'taken' of the block's two. */
static double edge_share(const Estimate *estimate, const Block *block, const Block *taken, const Block *other)
{
    const Dominance *postdominance = analyses_postdominance(estimate->analyses);
    if (!inst_is_guarded(block->last))
        return either_side;
    if (taken->is_never != other->is_never)
        return other->is_never;
    if (taken->is_cold != other->is_cold && !block->is_cold)
        return agreement_share(estimate, block, other->is_cold);
    double staying = staying_share(estimate, block);
    double guarded = staying < 1 ? staying : guarded_share(estimate, block);
    if (only_leaves(other) || dominance_has(postdominance, other, taken))
        return guarded;
    /* All warps meet again here: those that skipped the guarded part and, at its end, the others. */
    if (only_leaves(taken) || dominance_has(postdominance, taken, other))
        return 1 - guarded;
    return guarded == both_sides ? both_sides : either_side;
}

/* Flow. */

static void visit(const Block *block, const Loop *loop, const Estimate *estimate, const Block *to, double share,
                  double *frequency)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    double flow = frequency[block->id] * share;
    /* All that enters a loop leaves it: over all trips, an exit is taken once. */
    for (; loop && !loop_contains(loops, loop, to); loop = loop->parent) {
        unsigned exits = estimate->exits[loop->index].count;
        flow = frequency[loop->header->id] / estimate->trips[loop->index] / (exits ? exits : 1);
    }
    frequency[to->id] += flow;
}

/* The blocks in reverse postorder of the graph without its back edges. */
static Block **ordered_blocks(const Estimate *estimate, size_t *count)
{
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    size_t blocks = estimate->body->blocks.count, depth = 0, end = blocks;
    Block **order = ARENA_ARRAY(estimate->arena, Block *, blocks + 1);
    uint32_t *stack = ARENA_ARRAY(estimate->arena, uint32_t, blocks + 1);
    uint32_t *edge = ARENA_ARRAY(estimate->arena, uint32_t, blocks + 1);
    bool *seen = ARENA_ARRAY(estimate->arena, bool, blocks + 1);
    seen[0] = true;
    stack[depth++] = 0;
    while (depth) {
        uint32_t node = stack[depth - 1];
        uint32_t at = graph->succ_start[node] + edge[node];
        if (at == graph->succ_start[node + 1]) {
            order[--end] = estimate->body->blocks.data[node];
            depth--;
            continue;
        }
        edge[node]++;
        uint32_t next = graph->succs[at];
        if (!seen[next]) {
            seen[next] = true;
            stack[depth++] = next;
        }
    }
    *count = blocks - end;
    return order + end;
}

static bool is_back_edge(const LoopForest *loops, const Block *from, const Block *to)
{
    for (const Loop *loop = loop_of(loops, from); loop; loop = loop->parent)
        if (loop->header == to)
            return true;
    return false;
}

static void flow_out(Estimate *estimate, const Block *block)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const FlowGraph *graph = &analyses_dominance(estimate->analyses)->graph;
    uint32_t begin = graph->succ_start[block->id], end = graph->succ_start[block->id + 1];
    const Loop *loop = loop_of(loops, block);
    for (uint32_t i = begin; i < end; i++) {
        const Block *to = estimate->body->blocks.data[graph->succs[i]];
        if (is_back_edge(loops, block, to))
            continue;
        double share = end - begin == 1 ? staying_share(estimate, block) : 1.0 / (end - begin);
        if (end - begin == 2) {
            const Block *other = estimate->body->blocks.data[graph->succs[begin + end - 1 - i]];
            bool leaves_loop = loop && (!loop_contains(loops, loop, to) || !loop_contains(loops, loop, other));
            share = leaves_loop ? 1 : edge_share(estimate, block, to, other);
        }
        visit(block, loop, estimate, to, share, estimate->frequency);
    }
}

/* The frequency of a block at which the paths of an if-then meet: that of the branch, because all of its warps are
 * there again. */
static double joined(const Estimate *estimate, const Block *block, double frequency)
{
    const Block *decider = dominance_parent(analyses_dominance(estimate->analyses), block);
    if (!decider || block->pred_count < 2 ||
        !dominance_has(analyses_postdominance(estimate->analyses), block, decider) ||
        loop_of(analyses_loops(estimate->analyses), decider) != loop_of(analyses_loops(estimate->analyses), block))
        return frequency;
    return estimate->frequency[decider->id];
}

void estimate_frequencies(Estimate *estimate)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    size_t count;
    Block **order = ordered_blocks(estimate, &count);
    estimate->present = ARENA_ARRAY(estimate->arena, double, estimate->body->blocks.count + 1);
    estimate->frequency = ARENA_ARRAY(estimate->arena, double, estimate->body->blocks.count + 1);
    estimate->trips = ARENA_ARRAY(estimate->arena, double, loops->loop_count + 1);
    estimate->exits = ARENA_ARRAY(estimate->arena, LoopExits, loops->loop_count + 1);
    for (uint32_t i = 0; i < loops->loop_count; i++) {
        estimate->trips[i] = loop_trips(estimate, &loops->loops[i]);
        estimate->exits[i] = loop_exits(estimate, &loops->loops[i]);
    }
    share_trips(estimate);
    estimate->frequency[0] = 1;
    for (size_t i = 0; i < count; i++) {
        double *frequency = &estimate->frequency[order[i]->id];
        *frequency = joined(estimate, order[i], *frequency);
        const Block *parent = dominance_parent(analyses_dominance(estimate->analyses), order[i]);
        estimate->present[order[i]->id] =
            parent ? estimate->present[parent->id] * staying_share(estimate, parent) : 1;
        const Loop *loop = loop_of(loops, order[i]);
        if (loop && loop->header == order[i])
            *frequency *= estimate->trips[loop->index];
        flow_out(estimate, order[i]);
    }
}
