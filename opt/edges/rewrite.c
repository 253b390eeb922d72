/* The code that lets threads beyond the edge go along: see edges.c. */
#include "opt/edges/internal.h"

#include "opt/common/early.h"
#include "opt/common/version.h"

/* Whose index the reads of an axis become. */
typedef enum Place {
    PLACE_ORIGIN, /* the first thread's of the first block */
    PLACE_FIRST,  /* the first thread's of the block, or of the first of those that become one */
} Place;

/* The values that are made of others, in one way. */
typedef struct Remake {
    Edges *e;
    Place place;
    Block *at;
    Inst *before;  /* an instruction of the block; NULL: at its end, before a branch */
    RegId *known;  /* by RegId: the value made of it; REG_NONE: not yet */
    struct Remake *origin; /* NULL: all values that depend on an axis are made of the place's indices; else those that
                            * depend on axes with a condition are chosen between the thread's and the origin's */
    const RegId *within;   /* by axis: whether the thread keeps its indices */
} Remake;

static Remake remake_new(Edges *e, Place place, Block *at)
{
    Remake remake = {.e = e, .place = place, .at = at};
    remake.known = ARENA_ARRAY(e->scratch, RegId, e->values->reg_count);
    for (RegId r = 0; r < e->values->reg_count; r++)
        remake.known[r] = REG_NONE;
    return remake;
}

static void put(const Remake *m, Inst *inst)
{
    if (m->before)
        inst_insert_before(m->before, inst);
    else if (m->at->last && inst_is_terminator(m->at->last))
        inst_insert_before(m->at->last, inst);
    else
        inst_append(m->at, inst);
}

static RegId new_reg(const Remake *m, Type type, const char *base)
{
    return body_add_reg(m->e->body, type, intern(m->e->body->module->names, base));
}

/* The index that a read of %tid or %ctaid gives in the place. */
static RegId index_there(const Remake *m, const Inst *read)
{
    Body *body = m->e->body;
    const Sreg *sreg = inst_sreg(read);
    const unsigned blocks = m->e->request->blocks[edges_axis(read)];
    RegId index = new_reg(m, TYPE_B32, "%first");
    if (sreg->role == SREG_ROLE_TID || m->place == PLACE_ORIGIN) {
        put(m, inst_build(body, "mov.u32", "di", index, (int64_t)0));
        return index;
    }
    put(m, inst_build(body, "mov.u32", "ds", index, sreg->name));
    if (blocks < 2)
        return index;
    RegId first = new_reg(m, TYPE_B32, "%first");
    if (m->e->request->are_neighbours) {
        RegId past = new_reg(m, TYPE_B32, "%past");
        put(m, inst_build(body, "rem.u32", "dri", past, index, (int64_t)blocks));
        put(m, inst_build(body, "sub.u32", "drr", first, index, past));
        return first;
    }
    /* Those that become one are a part of the grid apart, rounded up. */
    RegId size = new_reg(m, TYPE_B32, "%nctaid"), more = new_reg(m, TYPE_B32, "%nctaid");
    RegId apart = new_reg(m, TYPE_B32, "%apart");
    put(m, inst_build(body, "mov.u32", "ds", size, sreg_component(sreg_find("%nctaid"), edges_axis(read))->name));
    put(m, inst_build(body, "add.u32", "dri", more, size, (int64_t)blocks - 1));
    put(m, inst_build(body, "div.u32", "dri", apart, more, (int64_t)blocks));
    put(m, inst_build(body, "rem.u32", "drr", first, index, apart));
    return first;
}

static RegId remade(Remake *m, RegId reg);

/* The instruction that makes the value, with its operands remade. */
static RegId remake_inst(Remake *m, RegId reg)
{
    const Inst *inst = value_inst(m->e->values, reg);
    Inst *own = inst_clone_renamed(m->e->body, inst, m->known);
    if (edges_axis(inst) < 3)
        inst_replace_special(m->e->body, own, inst_sreg(inst), index_there(m, inst));
    put(m, own);
    return m->known[reg];
}

/* The axes with a condition that the value depends on. */
static unsigned bounded_axes(const Edges *e, RegId reg)
{
    unsigned axes = 0;
    for (unsigned d = 0; d < 3; d++)
        axes |= e->groups[d] ? 1U << d : 0;
    return e->axes[reg] & axes;
}

/* Chooses between the thread's value and the origin's; REG_NONE if it depends on axes that are not kept together, or is
 * a predicate. */
static RegId choose(Remake *m, RegId reg)
{
    Edges *e = m->e;
    const unsigned bits = type_bits(e->body->regs.data[reg].type), axis = (unsigned)__builtin_ctz(e->axes[reg]);
    if (e->axes[reg] & ~e->groups[axis] || e->body->regs.data[reg].type == TYPE_PRED)
        return REG_NONE;
    const char *spelling = bits == 16 ? "selp.b16" : bits == 32 ? "selp.b32" : bits == 64 ? "selp.b64" : NULL;
    if (!spelling)
        return REG_NONE;
    RegId other = remade(m->origin, reg), own = body_clone_reg(e->body, reg);
    put(m, inst_build(e->body, spelling, "drrr", own, reg, other, m->within[axis]));
    return own;
}

/* The value there, where it does not take other values of the place; REG_NONE otherwise. */
static RegId known_value(Remake *m, RegId reg)
{
    if (m->known[reg] != REG_NONE)
        return m->known[reg];
    if (m->origin)
        return bounded_axes(m->e, reg) ? choose(m, reg) : reg;
    if (m->e->axes[reg])
        return REG_NONE;
    const EarlyPlace place = {.scratch = m->e->scratch, .body = m->e->body, .at = m->at, .values = m->e->values,
                              .dominance = m->e->dominance};
    return value_hoist(&place, reg);
}

/* An operand of the instruction that is not known there; REG_NONE: all are. */
static RegId find_missing(Remake *m, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && m->known[inst->refs[r].reg] == REG_NONE)
            return inst->refs[r].reg;
    return REG_NONE;
}

/* The value there. All that it comes from has known axes. */
static RegId remade(Remake *m, RegId reg)
{
    RegIdVec pending = {0};
    VEC_PUSH(m->e->scratch, pending, reg);
    while (pending.count) {
        const RegId next = pending.data[pending.count - 1];
        m->known[next] = known_value(m, next);
        if (m->known[next] == REG_NONE) {
            const Inst *inst = value_inst(m->e->values, next);
            const RegId missing = find_missing(m, inst);
            if (missing != REG_NONE) {
                VEC_PUSH(m->e->scratch, pending, missing);
                continue;
            }
            remake_inst(m, next);
        }
        (void)VEC_POP(pending);
    }
    return m->known[reg];
}

/* Adds "and the predicate has this value" to a condition; REG_NONE is one that always holds. */
static RegId both(const Remake *m, RegId condition, RegId predicate, bool value)
{
    RegId result = new_reg(m, TYPE_PRED, "%within");
    put(m, inst_build_conjunction(m->e->body, result, condition, predicate, !value));
    return result;
}

/* Whether all conditions hold in the place, along the axes of 'group'; all of them if that is 0. */
static RegId condition_there(Remake *m, RegId condition, unsigned group)
{
    for (unsigned t = 0; t < m->e->term_count; t++) {
        const EdgeTerm *term = &m->e->terms[t];
        if (!group || term->axes & group)
            condition = both(m, condition, remade(m, term->predicate), term->passes_if);
    }
    return condition;
}

/* Whether the thread itself passes: along each axis, and as a whole. */
static RegId build_within(Edges *e, Block *first, RegId within[3])
{
    Remake own = remake_new(e, PLACE_ORIGIN, first);
    const EarlyPlace place = {
        .scratch = e->scratch, .body = e->body, .at = first, .values = e->values, .dominance = e->dominance};
    RegId all = REG_NONE;
    unsigned done = 0;
    for (unsigned t = 0; t < e->term_count; t++) {
        own.known[e->terms[t].predicate] = value_hoist(&place, e->terms[t].predicate);
        if (!e->terms[t].axes)
            all = both(&own, all, own.known[e->terms[t].predicate], e->terms[t].passes_if);
    }
    for (unsigned d = 0; d < 3; d++) {
        if (!e->groups[d] || done & 1 << d)
            continue;
        RegId holds = condition_there(&own, REG_NONE, e->groups[d]);
        for (unsigned other = 0; other < 3; other++)
            within[other] = e->groups[d] & 1 << other ? holds : within[other];
        done |= e->groups[d];
        all = both(&own, all, holds, true);
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
    Remake choice = remake_new(e, PLACE_ORIGIN, e->inside);
    choice.before = e->inside->first;
    choice.origin = origin;
    choice.within = within;
    for (RegId reg = 0; reg < e->values->reg_count; reg++) {
        if (!e->axes[reg] || !is_replaced(e, reg))
            continue;
        const Inst *inst = value_inst(e->values, reg);
        if (e->axes[reg] & AXES_UNKNOWN)
            return edges_refuse(e, inst, inst ? REFUSAL_EDGES_VALUE : REFUSAL_EDGES_WAY);
        RegId other = bounded_axes(e, reg) ? remade(&choice, reg) : reg;
        replace_uses(e, reg, other);
    }
    return true;
}

static void set_branch(Edges *e, Block *block, RegId predicate, Block *inside)
{
    inst_remove(block->last);
    if (predicate != REG_NONE)
        inst_append(block, inst_build_branch(e->body, e->outside, predicate, true));
    block->fall = inside;
}

/* Threads beyond the edge get 0 in the place of what only the thread itself may load. */
static void guard_stored(Edges *e, RegId within)
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

/* Before the first effect, threads beyond the edge leave. */
static void leave(Edges *e, RegId within)
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
    Remake origin = remake_new(e, PLACE_ORIGIN, first), block = remake_new(e, PLACE_FIRST, first);
    const RegId joins = condition_there(&block, condition_there(&origin, REG_NONE, 0), 0);
    const RegId enters = new_reg(&origin, TYPE_PRED, "%enters");
    put(&origin, inst_build(e->body, "or.pred", "drr", enters, passes, joins));
    if (!replace_values(e, &origin, within))
        return false;
    for (unsigned g = 0; g < e->guard_count; g++)
        set_branch(e, e->guards[g], g ? REG_NONE : enters, g + 1 < e->guard_count ? e->guards[g + 1] : e->inside);
    guard_stored(e, passes);
    leave(e, passes);
    body_renumber(e->body);
    body_update_preds(e->body);
    return true;
}
