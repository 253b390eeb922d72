/* Loops that continue another one.
 *
 * Compilers unroll a loop and run the remaining iterations in a second one; coarsening runs a loop for all replicas
 * together and then for each of those that stay longer (opt/coarsen/joint.c), and unroll-and-jam several iterations
 * side by side and then the rest (opt/jam/copy.c). Such loops together make as many iterations as the original. A loop
 * continues another if a value that decides when it ends starts with a value that decided when the other ended; or, as
 * the rest of a loop continues its tiles (opt/memory/), if a term of the start is the number of the other's rounds. */
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

RegId estimate_header_phi(const Estimate *estimate, const Loop *loop, RegId value, AffineForm *form)
{
    *form = value == REG_NONE ? (AffineForm){0} : affine_of_reg(analyses_affine(estimate->analyses), value);
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if (term->coefficient != 1 || (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED))
            continue;
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[term->reg];
        if (def->block == loop->header && !def->inst)
            return term->reg;
    }
    return REG_NONE;
}

/* True if the value decided when the loop ended, or would have decided in the next round. */
static bool decides(const Estimate *estimate, const Loop *loop, RegId reg)
{
    AffineForm form;
    const Walk walk = deciding_values(estimate, loop);
    const RegId phi = estimate_header_phi(estimate, loop, reg, &form);
    return walk_has(&walk, reg) || (phi != REG_NONE && walk_has(&walk, phi));
}

/* The loop whose end the value decided, possibly through phis; *value: what it is there. NULL: none, or a loop around
 * 'block'. */
static const Loop *decided_loop(const Estimate *estimate, RegId reg, const Block *block, unsigned depth, RegId *value)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = def->block ? loop_of(loops, def->block) : NULL;
    if (loop && !loop_contains(loops, loop, block)) {
        *value = reg;
        return decides(estimate, loop, reg) ? loop : NULL;
    }
    if (!def->block || depth >= DEEPEST)
        return NULL;
    if (def->inst) {
        RegId from = inst_op(def->inst) == OP_MOV ? operand_reg(def->inst, &def->inst->operands[1]) : REG_NONE;
        return from == REG_NONE ? NULL : decided_loop(estimate, from, block, depth + 1, value);
    }
    if (loop && loop->header == def->block)
        return NULL;
    /* The last one of several loops. */
    const Phi *phi = &def->block->phis.data[def->phi];
    const Dominance *dominance = analyses_dominance(estimate->analyses);
    const Loop *found = NULL;
    for (size_t i = 0; i < phi->args.count; i++) {
        RegId there = REG_NONE;
        const Loop *other = decided_loop(estimate, phi->args.data[i].reg, block, depth + 1, &there);
        if (!other || (found && !dominance_has(dominance, found->header, other->header)))
            continue;
        found = other;
        *value = there;
    }
    return found;
}

/* The same for the initial value of a phi in the loop's header. */
static const Loop *start_decided(const Estimate *estimate, const Loop *loop, const ValueDef *def, RegId *value)
{
    const Phi *phi = &def->block->phis.data[def->phi];
    const Loop *found = NULL;
    for (size_t i = 0; i < phi->args.count && !found; i++)
        if (!loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            found = decided_loop(estimate, phi->args.data[i].reg, loop->header, 0, value);
    return found;
}

/* The coefficient of the register in the sum; 0: it is not a term. */
static int64_t coefficient_of(const AffineForm *form, RegId reg)
{
    for (unsigned i = 0; i < form->term_count; i++)
        if ((form->terms[i].base == AFFINE_VALUE || form->terms[i].base == AFFINE_SIGNED) && form->terms[i].reg == reg)
            return form->terms[i].coefficient;
    return 0;
}

/* The sum by which a phi of the loop's header advances, with the phi itself as one of the terms; bits 0: unknown. */
static AffineForm advanced(const Estimate *estimate, const Loop *loop, RegId reg)
{
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    if (def->inst || def->block != loop->header)
        return (AffineForm){0};
    const Phi *phi = &def->block->phis.data[def->phi];
    for (size_t i = 0; i < phi->args.count; i++) {
        AffineForm next = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[i].reg);
        if (loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred) && next.bits &&
            coefficient_of(&next, reg) == 1)
            return next;
    }
    return (AffineForm){0};
}

/* How many times as far a phi of one loop's header advances as a phi of another's; 1 if that is not known. */
static double steps_ratio(const AffineForm *first, RegId first_phi, const AffineForm *second, RegId second_phi)
{
    double ratio = 0;
    if (!first->bits || !second->bits || first->term_count != second->term_count)
        return 1;
    if (second->constant)
        ratio = (double)first->constant / (double)second->constant;
    else if (first->constant)
        return 1;
    for (unsigned i = 0; i < second->term_count; i++) {
        const AffineTerm *term = &second->terms[i];
        double factor = 0;
        if ((term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED) && term->reg == second_phi)
            continue;
        for (unsigned k = 0; k < first->term_count; k++)
            if (affine_base_equal(term, &first->terms[k]) && first->terms[k].reg != first_phi)
                factor = (double)first->terms[k].coefficient / (double)term->coefficient;
        if (ratio != 0 && factor != ratio)
            return 1;
        ratio = factor;
    }
    return ratio >= 1 ? ratio : 1;
}

/* True if a phi of the loop's header that decides when it ends counts from this number of rounds, or one more, down to
 * 0. */
static bool counts_down(const Estimate *estimate, const Loop *loop, RegId rounds)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const Walk walk = deciding_values(estimate, loop);
    for (unsigned i = 0; i < walk.count; i++) {
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[walk.values[i]];
        if (def->inst || def->block != loop->header || advanced(estimate, loop, walk.values[i]).constant != -1)
            continue;
        const Phi *phi = &def->block->phis.data[def->phi];
        for (size_t k = 0; k < phi->args.count; k++) {
            const AffineForm start = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[k].reg);
            if (!loop_contains(loops, loop, phi->args.data[k].pred) && start.term_count == 1 &&
                (start.constant == 0 || start.constant == 1) && coefficient_of(&start, rounds) == 1)
                return true;
        }
    }
    return false;
}

/* The loop beside this one that makes this number of rounds, where control comes first; NULL: none. */
static const Loop *counted_loop(const Estimate *estimate, const Loop *loop, RegId rounds)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++) {
        const Loop *other = &loops->loops[i];
        if (other != loop && other->parent == loop->parent && counts_down(estimate, other, rounds))
            return other;
    }
    return NULL;
}

/* The loop whose number of rounds is a term of a phi's initial value; *step: the rounds of this loop in one of its. */
static const Loop *start_counted(const Estimate *estimate, const Loop *loop, RegId reg, double *step)
{
    const AffineForm next = advanced(estimate, loop, reg);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Phi *phi = &def->block->phis.data[def->phi];
    if (next.term_count != 1 || !next.constant)
        return NULL;
    for (size_t i = 0; i < phi->args.count; i++) {
        if (loop_contains(analyses_loops(estimate->analyses), loop, phi->args.data[i].pred))
            continue;
        const AffineForm start = affine_of_reg(analyses_affine(estimate->analyses), phi->args.data[i].reg);
        for (unsigned t = 0; t < start.term_count; t++) {
            const AffineTerm *term = &start.terms[t];
            const bool is_value = term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED;
            *step = (double)term->coefficient / (double)next.constant;
            const Loop *first = is_value && *step >= 1 ? counted_loop(estimate, loop, term->reg) : NULL;
            if (first)
                return first;
        }
    }
    return NULL;
}

Continuation estimate_continuation(const Estimate *estimate, const Loop *loop)
{
    const Walk walk = deciding_values(estimate, loop);
    AffineForm form;
    Continuation found = {.step = 1, .phi = REG_NONE, .first_phi = REG_NONE, .value = REG_NONE};
    for (unsigned i = 0; i < walk.count && !found.first; i++) {
        const RegId phi = walk.values[i];
        const ValueDef *def = &analyses_values(estimate->analyses)->defs[phi];
        RegId value = REG_NONE;
        if (def->inst || def->block != loop->header)
            continue;
        found.first = start_counted(estimate, loop, phi, &found.step);
        found.is_counted = found.first != NULL;
        if (found.is_counted)
            return found;
        found.step = 1;
        found.first = start_decided(estimate, loop, def, &value);
        if (!found.first)
            continue;
        found.phi = phi;
        found.value = value;
        found.first_phi = estimate_header_phi(estimate, found.first, value, &form);
        if (found.first_phi == REG_NONE)
            continue;
        const AffineForm far = advanced(estimate, found.first, found.first_phi), near = advanced(estimate, loop, phi);
        found.step = steps_ratio(&far, found.first_phi, &near, phi);
    }
    return found;
}

const Loop *estimate_continued(const Estimate *estimate, const Loop *loop)
{
    return estimate->continuations ? estimate->continuations[loop->index].first
                                   : estimate_continuation(estimate, loop).first;
}

const Loop *estimate_continuer(const Estimate *estimate, const Loop *loop)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (estimate->continuations[i].first == loop)
            return &loops->loops[i];
    return NULL;
}

const Loop *estimate_last_of_chain(const Estimate *estimate, const Loop *loop, double *ratio)
{
    *ratio = 1;
    for (const Loop *next; (next = estimate_continuer(estimate, loop)) != NULL; loop = next)
        *ratio *= estimate->continuations[next->index].step;
    return loop;
}
