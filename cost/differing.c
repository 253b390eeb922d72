/* Finds the values that differ between the lanes of a warp that compute them together.
 *
 * Variance finds the values that may differ between any threads. An access, however, is executed by lanes that are at
 * the same place: even if a bounds check decides which lanes those are, a loop's counter, or a value computed from it,
 * is the same in all of them. So a value that varies only because of control is examined again: it differs if it is
 * computed from values that differ, if it joins paths that a differing condition has separated, or if it comes out of a
 * loop that lanes leave at different times. The result is the least solution, found by repeated passes over the
 * body. */
#include "cost/estimate.h"

typedef struct Solver {
    const Estimate *estimate;
    const Variance *variance;
    const Values *values;
    const LoopForest *loops;
    Differing *result;
    bool changed;
} Solver;

static bool differs_in(const Differing *differing, const Values *values, const LoopForest *loops, RegId reg,
                       const Block *block)
{
    const Block *made = values->defs[reg].block;
    if (bitset_has(&differing->values, reg))
        return true;
    for (const Loop *loop = made ? loop_of(loops, made) : NULL; loop && !loop_contains(loops, loop, block);
         loop = loop->parent)
        if (bitset_has(&differing->uneven_loops, loop->index))
            return true;
    return false;
}

static bool operand_differs(const Solver *solver, RegId reg, const Block *block)
{
    return differs_in(solver->result, solver->values, solver->loops, reg, block);
}

/* True if lanes may part at the end of the block. */
static bool branch_differs(const Solver *solver, const Block *block)
{
    const Inst *last = block->last;
    bool result = false;
    for (unsigned i = 0; last && inst_is_branch(last) && i < last->ref_count && !result; i++)
        result = ref_reads(&last->refs[i]) && operand_differs(solver, last->refs[i].reg, block);
    return result;
}

/* True if the instruction makes different values from equal ones. */
static bool makes_difference(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    if (sreg && (sreg->dependence == SREG_THREAD || sreg->dependence == SREG_BLOCK))
        return true;
    return inst->sync || (inst->effects & EFFECT_WRITE);
}

static bool is_derived(VarianceCause cause)
{
    return cause == VARIANCE_OPERAND || cause == VARIANCE_CONTROL || cause == VARIANCE_ARGUMENT ||
           cause == VARIANCE_JOIN;
}

static bool result_differs(const Solver *solver, const Inst *inst, const Block *block)
{
    bool result = makes_difference(inst);
    for (unsigned i = 0; i < inst->ref_count && !result; i++)
        result = ref_reads(&inst->refs[i]) && operand_differs(solver, inst->refs[i].reg, block);
    return result;
}

/* True if an argument of the phi differs, or if lanes may reach it from different blocks, which the branch of the
 * immediate dominator is assumed to decide. */
static bool phi_differs(const Solver *solver, const Phi *phi, const Block *block)
{
    for (size_t i = 0; i < phi->args.count; i++)
        if (operand_differs(solver, phi->args.data[i].reg, phi->args.data[i].pred))
            return true;
    const Loop *loop = loop_of(solver->loops, block);
    if (loop && loop->header == block)
        return false;
    const Block *decider = dominance_parent(analyses_dominance(solver->estimate->analyses), block);
    return !decider || branch_differs(solver, decider);
}

static void consider(Solver *solver, RegId reg, const Inst *inst, const Phi *phi, const Block *block)
{
    BitSet *values = &solver->result->values;
    if (!bitset_has(&solver->variance->regs, reg) || bitset_has(values, reg))
        return;
    bool differs = !is_derived(solver->variance->reasons[reg].cause) ||
                   (phi ? phi_differs(solver, phi, block) : result_differs(solver, inst, block));
    if (differs) {
        bitset_add(values, reg);
        solver->changed = true;
    }
}

static void consider_block(Solver *solver, const Block *block)
{
    for (size_t i = 0; i < block->phis.count; i++)
        consider(solver, block->phis.data[i].dst, NULL, &block->phis.data[i], block);
    for (const Inst *inst = block->first; inst; inst = inst->next)
        for (unsigned i = 0; i < inst->ref_count; i++)
            if (ref_writes(&inst->refs[i]))
                consider(solver, inst->refs[i].reg, inst, NULL, block);
}

/* True if all lanes, except those at the end of the data, leave the loop at the same time. */
static bool is_even(const Estimate *estimate, const Loop *loop)
{
    const LoopExits *exits = &estimate->exits[loop->index];
    return exits->counted && !exits->uneven;
}

/* Marks the loops that lanes leave by the end of this block at different times. */
static void consider_exits(Solver *solver, const Block *block)
{
    const FlowGraph *graph = &analyses_dominance(solver->estimate->analyses)->graph;
    if (!loop_of(solver->loops, block) || !branch_differs(solver, block))
        return;
    for (uint32_t k = graph->succ_start[block->id]; k < graph->succ_start[block->id + 1]; k++) {
        const Block *to = graph->succs[k] < solver->estimate->body->blocks.count
                              ? solver->estimate->body->blocks.data[graph->succs[k]]
                              : NULL;
        for (const Loop *loop = loop_of(solver->loops, block);
             loop && !(to && loop_contains(solver->loops, loop, to)); loop = loop->parent)
            if (!is_even(solver->estimate, loop) && !bitset_has(&solver->result->uneven_loops, loop->index)) {
                bitset_add(&solver->result->uneven_loops, loop->index);
                solver->changed = true;
            }
    }
}

static void solve(Estimate *estimate, const Variance *variance, Differing *result)
{
    const Body *body = estimate->body;
    Solver solver = {.estimate = estimate,
                     .variance = variance,
                     .values = analyses_values(estimate->analyses),
                     .loops = analyses_loops(estimate->analyses),
                     .result = result};
    result->values = bitset_new(estimate->arena, body->regs.count + 1);
    result->uneven_loops = bitset_new(estimate->arena, solver.loops->loop_count + 1);
    do {
        solver.changed = false;
        for (size_t b = 0; b < body->blocks.count; b++) {
            consider_block(&solver, body->blocks.data[b]);
            consider_exits(&solver, body->blocks.data[b]);
        }
    } while (solver.changed);
    result->is_known = true;
}

bool estimate_differs(Estimate *estimate, unsigned along, RegId reg, const Block *block)
{
    const VarianceOptions by_block = {.blocks = true};
    Differing *differing = &estimate->differing[along];
    if (!differing->is_known)
        solve(estimate,
              along == ALONG_BLOCKS ? analyses_variance(estimate->analyses, VARIANCE_ANY, &by_block)
                                    : analyses_variance(estimate->analyses, along, NULL),
              differing);
    return differs_in(differing, analyses_values(estimate->analyses), analyses_loops(estimate->analyses), reg, block);
}
