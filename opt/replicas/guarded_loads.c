/* Loads of one place under conditions of several replicas.
 *
 *     @!p ld u, [a]                @!both ld u, [a]          both = p && q
 *     @!q ld v, [a]           ->
 *     @!p fma s, u, x, s           @!p fma s, u, x, s
 *     @!q fma t, v, y, t           @!q fma t, u, y, t
 *
 * Replicas with conditions of their own, as in "if (a == 0) continue; sum += a * b[i]", load what they share once, if
 * any of them does. The load is made where one of them would have made its own, within a block and before anything that
 * may write memory, so it faults and reads as theirs would have. Each result is read under its own condition only, so
 * nothing depends on it elsewhere.
 *
 * Requires and keeps SSA form; blocks and edges stay. */
#include "opt/passes.h"

/* The second of two loads mostly hits L1, and takes no longer than waiting for both conditions. */
enum { LEAST_MEMBERS = 3, MOST_MEMBERS = 32 };

typedef struct GuardedLoads {
    Body *body;
    const Values *values;
    const Dominance *dominance;
} GuardedLoads;

/* A plain load under a guard, of one register, which the guarded instruction alone keeps. */
static bool is_candidate(const Inst *inst)
{
    Access access;
    return inst_is_guarded(inst) && !inst_is_opaque(inst) && inst->sync == SYNC_NONE && inst_access(inst, &access) &&
           access.kind == ACCESS_LOAD && access.weak && !access.awaited && inst_destination(inst) != REG_NONE &&
           inst->tied_count <= 1;
}

/* Whether it may change memory, or what a load reads. */
static bool is_boundary(const Inst *inst)
{
    const unsigned changes =
        EFFECT_WRITE | EFFECT_SYNC | EFFECT_CONTROL | EFFECT_VOLATILE | EFFECT_ASYNC | EFFECT_STACK;
    return inst_is_opaque(inst) || inst->sync != SYNC_NONE || inst->effects & changes;
}

static bool reads_same_place(const Inst *a, const Inst *b)
{
    if (a->operands != b->operands || a->signature != b->signature || a->ref_count != b->ref_count ||
        a->guard != b->guard || a->guard_inverted != b->guard_inverted || a->tied_count != b->tied_count)
        return false;
    for (unsigned r = 0; r < (unsigned)a->ref_count - a->tied_count; r++)
        if (r != a->guard && !ref_writes(&a->refs[r]) && a->refs[r].reg != b->refs[r].reg)
            return false;
    return true;
}

/* Whether the result is read only by instructions under the load's own condition. */
static bool is_read_alike(const GuardedLoads *g, const Inst *load)
{
    const RegId reg = inst_destination(load);
    for (uint32_t u = 0; u < value_use_count(g->values, reg); u++) {
        const ValueUse *use = &value_uses(g->values, reg)[u];
        if (!use->inst || inst_predicate(use->inst) != inst_predicate(load) ||
            use->inst->guard_inverted != load->guard_inverted ||
            use->index >= (unsigned)use->inst->ref_count - use->inst->tied_count)
            return false;
    }
    return true;
}

static bool is_known_at(const GuardedLoads *g, RegId reg, const Inst *at)
{
    const ValueDef *def = &g->values->defs[reg];
    if (!def->block)
        return false;
    if (def->block != at->block)
        return dominance_has(g->dominance, def->block, at->block);
    if (!def->inst)
        return true;
    for (const Inst *inst = at->prev; inst; inst = inst->prev)
        if (inst == def->inst)
            return true;
    return false;
}

/* The loads of the same place that follow before memory may change, and whose conditions are known at the first one. */
static unsigned members_find(const GuardedLoads *g, Inst *first, Inst *members[MOST_MEMBERS])
{
    unsigned count = 0;
    members[count++] = first;
    for (Inst *inst = first->next; inst && !is_boundary(inst) && count < MOST_MEMBERS; inst = inst->next)
        if (is_candidate(inst) && reads_same_place(first, inst) && is_read_alike(g, inst) &&
            is_known_at(g, inst_predicate(inst), first))
            members[count++] = inst;
    return count;
}

static bool loads_merge(const GuardedLoads *g, Inst *first)
{
    Inst *members[MOST_MEMBERS];
    if (!is_candidate(first) || !is_read_alike(g, first))
        return false;
    const unsigned count = members_find(g, first, members);
    if (count < LEAST_MEMBERS)
        return false;
    RegId all = inst_predicate(first);
    for (unsigned m = 1; m < count; m++) {
        const RegId more = body_add_reg(g->body, TYPE_PRED, intern(g->body->module->names, "%wanted"));
        inst_insert_before(first, inst_build(g->body, first->guard_inverted ? "and.pred" : "or.pred", "drr", more, all,
                                             inst_predicate(members[m])));
        all = more;
        value_replace_uses(g->values, inst_destination(members[m]), inst_destination(first));
        inst_remove(members[m]);
    }
    first->refs[first->guard].reg = all;
    return true;
}

bool pass_guarded_loads(PassContext *context)
{
    bool changed = false;
    GuardedLoads g = {.body = context->body,
                      .values = analyses_values(context->analyses),
                      .dominance = analyses_dominance(context->analyses)};
    for (size_t b = 0; b < g.body->blocks.count; b++)
        for (Inst *inst = g.body->blocks.data[b]->first; inst; inst = inst->next) {
            if (!loads_merge(&g, inst))
                continue;
            changed = true;
            analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
            g.values = analyses_values(context->analyses);
        }
    return changed;
}
