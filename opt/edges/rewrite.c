/* The code that lets threads beyond the edge go along: see edges.c. */
#include "opt/edges/internal.h"

#include "opt/common/early.h"
#include "opt/common/version.h"

/* Whether the thread itself passes: along each axis, and as a whole. */
static RegId build_within(Edges *e, Block *first, RegId within[3])
{
    Remake own = remake_new(e, PLACE_ORIGIN, AXES_ALL, first);
    const EarlyPlace place = {
        .scratch = e->scratch, .body = e->body, .at = first, .values = e->values, .dominance = e->dominance};
    RegId all = REG_NONE;
    unsigned done = 0;
    for (unsigned t = 0; t < e->term_count; t++) {
        own.known[e->terms[t].predicate] = value_hoist(&place, e->terms[t].predicate);
        if (!e->terms[t].axes)
            all = remake_both(&own, all, own.known[e->terms[t].predicate], e->terms[t].passes_if);
    }
    for (unsigned d = 0; d < 3; d++) {
        if (!e->groups[d] || done & 1 << d)
            continue;
        RegId holds = remake_condition(&own, REG_NONE, e->groups[d]);
        for (unsigned other = 0; other < 3; other++)
            within[other] = e->groups[d] & 1 << other ? holds : within[other];
        done |= e->groups[d];
        all = remake_both(&own, all, holds, true);
    }
    return all;
}

/* Moves the reads of indices in the region to before the first guard. */
static void gather_reads(Edges *e)
{
    Block *first = e->guards[0];
    for (size_t b = 0; b < e->body->blocks.count; b++) {
        Block *block = e->body->blocks.data[b];
        Inst *next;
        for (Inst *inst = block->first; inst && bitset_has(&e->region, block->id); inst = next) {
            next = inst->next;
            if (edges_axis(inst) == 3)
                continue;
            inst_remove(inst);
            inst_insert_before(first->last, inst);
        }
    }
}

/* True if the region uses the value, which is made before it and depends on an axis with a condition. */
static bool is_replaced(const Edges *e, RegId reg)
{
    const ValueDef *def = &e->values->defs[reg];
    const bool is_read = def->inst && edges_axis(def->inst) < 3;
    if (!def->block || (bitset_has(&e->region, def->block->id) && !is_read))
        return false;
    for (uint32_t u = 0; u < value_use_count(e->values, reg); u++)
        if (bitset_has(&e->region, value_use_block(&value_uses(e->values, reg)[u])->id))
            return true;
    return false;
}

static void replace_uses(const Edges *e, RegId reg, RegId other)
{
    for (uint32_t u = 0; u < value_use_count(e->values, reg); u++) {
        const ValueUse *use = &value_uses(e->values, reg)[u];
        if (!bitset_has(&e->region, value_use_block(use)->id))
            continue;
        if (use->inst)
            use->inst->refs[use->index].reg = other;
        else
            use->block->phis.data[use->index].args.data[use->arg].reg = other;
    }
}

/* The region gets the values of the place that the thread takes. */
static bool replace_values(Edges *e, Remake *origin, const RegId within[3])
{
    Remake choice = remake_new(e, PLACE_ORIGIN, AXES_ALL, e->inside);
    choice.before = e->inside->first;
    choice.origin = origin;
    choice.within = within;
    for (RegId reg = 0; reg < e->values->reg_count; reg++) {
        if (!e->axes[reg] || !is_replaced(e, reg))
            continue;
        const Inst *inst = value_inst(e->values, reg);
        if (e->axes[reg] & AXES_UNKNOWN)
            return edges_refuse(e, inst, inst ? REFUSAL_EDGES_VALUE : REFUSAL_EDGES_WAY);
        RegId other = edges_bounded(e, reg) ? remade(&choice, reg) : reg;
        replace_uses(e, reg, other);
    }
    return true;
}

void edges_set_branch(Edges *e, Block *block, RegId predicate, Block *inside)
{
    const Span span = block->last->span;
    inst_remove(block->last);
    if (predicate != REG_NONE) {
        inst_append(block, inst_build_branch(e->body, e->outside, predicate, true));
        block->last->span = span;
    }
    block->fall = inside;
}

void edges_guard_stored(Edges *e, RegId within)
{
    for (size_t i = 0; i < e->stored.count; i++) {
        Inst *load = e->stored.data[i];
        const RegId result = inst_destination(load), none = body_clone_reg(e->body, result);
        const unsigned bits = type_bits(e->body->regs.data[result].type);
        inst_insert_before(load, inst_build(e->body, bits == 16 ? "mov.b16" : bits == 32 ? "mov.b32" : "mov.b64", "di",
                                            none, (int64_t)0));
        inst_guard(e->body, load, within, false, none);
    }
}

void edges_leave(Edges *e, RegId within)
{
    Inst *last = e->last->last;
    Inst *at = e->effect ? e->effect : last && inst_is_terminator(last) ? last : NULL;
    Block *rest = at ? body_split(e->body, at) : body_split_end(e->body, e->last);
    inst_append(e->last, inst_build_branch(e->body, e->outside, within, true));
    e->last->fall = rest;
}

bool edges_rewrite(Edges *e)
{
    Block *first = e->guards[0];
    RegId within[3] = {REG_NONE, REG_NONE, REG_NONE};
    gather_reads(e);
    const RegId passes = build_within(e, first, within);
    Remake origin = remake_new(e, PLACE_ORIGIN, AXES_ALL, first), block = remake_new(e, PLACE_FIRST, AXES_ALL, first);
    const RegId joins = remake_condition(&block, remake_condition(&origin, REG_NONE, 0), 0);
    const RegId enters = remake_reg(&origin, TYPE_PRED, "%enters");
    remake_put(&origin, inst_build(e->body, "or.pred", "drr", enters, passes, joins));
    if (!replace_values(e, &origin, within))
        return false;
    for (unsigned g = 0; g < e->guard_count; g++)
        edges_set_branch(e, e->guards[g], g ? REG_NONE : enters, g + 1 < e->guard_count ? e->guards[g + 1] : e->inside);
    edges_guard_stored(e, passes);
    edges_leave(e, passes);
    body_renumber(e->body);
    body_update_preds(e->body);
    return true;
}
