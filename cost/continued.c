/* Loops that continue another one.
 *
 * Compilers unroll a loop and run the remaining iterations in a second one; coarsening runs a loop for all replicas
 * together and then for each of those that stay longer (opt/coarsen/joint.c). Such loops together make as many trips as
 * the original. A loop continues another if a value that decides when it ends starts with a value that decided when the
 * other ended. */
#include "cost/estimate.h"

enum { MOST_VALUES = 64, DEEPEST = 4 };

/* The values in a loop that decide when it ends, as far as a bounded walk finds them. */
typedef struct Walk {
    RegId values[MOST_VALUES];
    unsigned count;
} Walk;

static bool walk_has(const Walk *walk, RegId reg)
{
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->values[i] == reg)
            return true;
    return false;
}

static void walk_add(Walk *walk, RegId reg)
{
    if (!walk_has(walk, reg) && walk->count < MOST_VALUES)
        walk->values[walk->count++] = reg;
}

/* Adds the conditions of the branches that leave the loop. */
static void add_conditions(const Estimate *estimate, const Loop *loop, Walk *walk)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const Block *block = loop->blocks[i];
        const Inst *last = block->last;
        bool leaves = false;
        FOR_EACH_SUCC(block, succ)
            leaves |= !loop_contains(loops, loop, succ);
        if (leaves && last && inst_is_terminator(last) && inst_is_guarded(last))
            walk_add(walk, inst_predicate(last));
    }
}

/* Adds the values that it is computed from in this iteration of the loop. */
static void add_operands(const Loop *loop, const ValueDef *def, Walk *walk)
{
    for (unsigned i = 0; def->inst && i < def->inst->ref_count; i++)
        if (ref_reads(&def->inst->refs[i]))
            walk_add(walk, def->inst->refs[i].reg);
    const Phi *phi = def->inst || def->block == loop->header ? NULL : &def->block->phis.data[def->phi];
    for (size_t i = 0; phi && i < phi->args.count; i++)
        walk_add(walk, phi->args.data[i].reg);
}

static Walk deciding_values(const Estimate *estimate, const Loop *loop)
{
    Walk walk = {.count = 0};
    add_conditions(estimate, loop, &walk);
    for (unsigned next = 0; next < walk.count; next++) {
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[walk.values[next]];
        if (def->block && loop_contains(analyses_loops(estimate->analyses), loop, def->block))
            add_operands(loop, def, &walk);
    }
    return walk;
}

/* The loop whose end the value decided, possibly through phis; NULL: none, or a loop around 'block'. */
static const Loop *decided_loop(const Estimate *estimate, RegId reg, const Block *block, unsigned depth)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block ? loop_of(loops, def->block) : NULL;
    if (loop && !loop_contains(loops, loop, block)) {
        const Walk walk = deciding_values(estimate, loop);
        return walk_has(&walk, reg) ? loop : NULL;
    }
    if (!def->block || depth >= DEEPEST)
        return NULL;
    if (def->inst) {
        RegId from = inst_op(def->inst) == OP_MOV ? operand_reg(def->inst, &def->inst->operands[1]) : REG_NONE;
        return from == REG_NONE ? NULL : decided_loop(estimate, from, block, depth + 1);
    }
    if (loop && loop->header == def->block)
        return NULL;
    const Phi *phi = &def->block->phis.data[def->phi];
    const Loop *found = NULL;
    for (size_t i = 0; i < phi->args.count && !found; i++)
        found = decided_loop(estimate, phi->args.data[i].reg, block, depth + 1);
    return found;
}

/* The same for the initial value of a phi in the loop's header. */
static const Loop *start_decided(const Estimate *estimate, const Loop *loop, const ValueDef *def)
{
    const Phi *phi = &def->block->phis.data[def->phi];
    const Loop *found = NULL;
    for (size_t i = 0; i < phi->args.count && !found; i++)
        if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            found = decided_loop(estimate, phi->args.data[i].reg, loop->header, 0);
    return found;
}

const Loop *estimate_continued(const Estimate *estimate, const Loop *loop)
{
    const Walk walk = deciding_values(estimate, loop);
    const Loop *found = NULL;
    for (unsigned i = 0; i < walk.count && !found; i++) {
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[walk.values[i]];
        if (!def->inst && def->block == loop->header)
            found = start_decided(estimate, loop, def);
    }
    return found;
}
