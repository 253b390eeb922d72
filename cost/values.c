/* The sources that a value is computed from, found by a bounded walk over its definitions. */
#include "cost/estimate.h"

enum { MOST_VALUES = 64 };

typedef struct Walk {
    RegId work[MOST_VALUES];
    unsigned count, next;
    bool goes_round; /* through what a loop's header joins: a walk ends there otherwise */
} Walk;

static void walk_add(Walk *walk, RegId reg)
{
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->work[i] == reg)
            return;
    if (walk->count < MOST_VALUES)
        walk->work[walk->count++] = reg;
}

/* Adds the values that a phi joins; true if it is one of a loop's header, where most walks end. If it is a
 * loop over merged threads, the first values are added: they tell apart the threads that it executes. */
static bool walk_add_phi(Walk *walk, const Estimate *estimate, RegId reg)
{
    const LoopForest *loops = analyses_loops(estimate->analyses);
    const ValueDef *def = &analyses_values(estimate->analyses)->defs[reg];
    const Loop *loop = loop_headed(loops, def->block);
    const Phi *phi = &def->block->phis.data[def->phi];
    const bool is_joint = loop && estimate_has_few_rounds(estimate, loop);
    for (size_t i = 0; i < phi->args.count; i++)
        if (!loop || walk->goes_round || (is_joint && !loop_contains(loops, loop, phi->args.data[i].pred)))
            walk_add(walk, phi->args.data[i].reg);
    return loop != NULL;
}

static unsigned instruction_sources(const Inst *inst)
{
    Access access;
    unsigned sources = 0;
    if (inst_access(inst, &access) && access.space != SPACE_PARAM)
        sources |= SOURCE_MEMORY;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg && sreg->dependence == SREG_THREAD)
        sources |= SOURCE_THREAD;
    return sources;
}

static unsigned sources_along(Walk *walk, const Estimate *estimate)
{
    const Values *values = analyses_values(estimate->analyses);
    unsigned sources = 0;
    while (walk->next < walk->count) {
        RegId value = walk->work[walk->next++];
        const Inst *inst = value_inst(values, value);
        if (!inst) {
            if (!value_is_undefined(values, value) && walk_add_phi(walk, estimate, value))
                sources |= SOURCE_LOOP;
            continue;
        }
        unsigned own = instruction_sources(inst);
        sources |= own;
        for (unsigned i = 0; i < inst->ref_count && !(own & SOURCE_MEMORY); i++)
            if (ref_reads(&inst->refs[i]))
                walk_add(walk, inst->refs[i].reg);
    }
    return sources;
}

unsigned value_sources(const Estimate *estimate, RegId reg)
{
    Walk walk = {.work = {reg}, .count = 1};
    return sources_along(&walk, estimate);
}

bool value_is_place(const Estimate *estimate, RegId reg)
{
    Walk walk = {.work = {reg}, .count = 1, .goes_round = true};
    const unsigned sources = sources_along(&walk, estimate);
    return walk.count < MOST_VALUES && sources & SOURCE_THREAD && !(sources & SOURCE_MEMORY);
}

static bool is_of_grid(const Sreg *sreg)
{
    return sreg->role == SREG_ROLE_CTAID || sreg->role == SREG_ROLE_NCTAID || sreg->role == SREG_ROLE_NTID;
}

bool value_is_of_grid(const Estimate *estimate, RegId reg)
{
    const Values *values = analyses_values(estimate->analyses);
    Walk walk = {.work = {reg}, .count = 1};
    bool reads = false;
    while (walk.next < walk.count) {
        const RegId value = walk.work[walk.next++];
        const ValueDef *def = &values->defs[value];
        const Sreg *sreg = def->inst ? inst_sreg(def->inst) : NULL;
        if (!def->block || walk.count == MOST_VALUES || (sreg && !is_of_grid(sreg)) ||
            (def->inst && (def->inst->effects & (EFFECT_READ | EFFECT_WRITE) || inst_is_opaque(def->inst))))
            return false;
        reads |= sreg != NULL;
        if (!def->inst)
            for (size_t i = 0; i < def->block->phis.data[def->phi].args.count; i++)
                walk_add(&walk, def->block->phis.data[def->phi].args.data[i].reg);
        for (unsigned i = 0; def->inst && i < def->inst->ref_count; i++)
            if (ref_reads(&def->inst->refs[i]))
                walk_add(&walk, def->inst->refs[i].reg);
    }
    return reads;
}
