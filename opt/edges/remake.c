/* The values that threads at other places have: clones of the code that computes them, with the indices replaced. */
#include "opt/edges/internal.h"

#include "opt/common/early.h"

Remake remake_new(Edges *e, Place place, unsigned axes, Block *at)
{
    Remake remake = {.e = e, .place = place, .axes = axes, .at = at};
    remake.known = ARENA_ARRAY(e->scratch, RegId, e->values->reg_count);
    for (RegId r = 0; r < e->values->reg_count; r++)
        remake.known[r] = REG_NONE;
    return remake;
}

void remake_put(const Remake *m, Inst *inst)
{
    if (m->before)
        inst_insert_before(m->before, inst);
    else if (m->at->last && inst_is_terminator(m->at->last))
        inst_insert_before(m->at->last, inst);
    else
        inst_append(m->at, inst);
}

RegId remake_reg(const Remake *m, Type type, const char *base)
{
    return body_add_reg(m->e->body, type, intern(m->e->body->module->names, base));
}

/* The first of the blocks along the axis that become one with the thread's. */
static RegId first_block(const Remake *m, unsigned axis, RegId own, RegId *apart)
{
    Body *body = m->e->body;
    const unsigned blocks = m->e->request->blocks[axis];
    RegId first = remake_reg(m, TYPE_B32, "%first");
    *apart = REG_NONE;
    if (m->e->request->are_neighbours) {
        RegId past = remake_reg(m, TYPE_B32, "%past");
        remake_put(m, inst_build(body, "rem.u32", "dri", past, own, (int64_t)blocks));
        remake_put(m, inst_build(body, "sub.u32", "drr", first, own, past));
        return first;
    }
    /* They are a part of the grid apart, rounded up. */
    RegId size = remake_reg(m, TYPE_B32, "%nctaid"), more = remake_reg(m, TYPE_B32, "%nctaid");
    *apart = remake_reg(m, TYPE_B32, "%apart");
    remake_put(m, inst_build(body, "mov.u32", "ds", size, sreg_component(sreg_find("%nctaid"), axis)->name));
    remake_put(m, inst_build(body, "add.u32", "dri", more, size, (int64_t)blocks - 1));
    remake_put(m, inst_build(body, "div.u32", "dri", *apart, more, (int64_t)blocks));
    remake_put(m, inst_build(body, "rem.u32", "drr", first, own, *apart));
    return first;
}

/* The last index of a thread in its block, or of a block that becomes one with the thread's and is in the grid. */
static RegId last_there(const Remake *m, const Inst *read)
{
    Body *body = m->e->body;
    const Sreg *sreg = inst_sreg(read);
    const unsigned axis = edges_axis(read), blocks = m->e->request->blocks[axis];
    const bool is_thread = sreg->role == SREG_ROLE_TID;
    RegId index = remake_reg(m, TYPE_B32, "%last"), size = remake_reg(m, TYPE_B32, "%size");
    if (!is_thread && blocks < 2) {
        remake_put(m, inst_build(body, "mov.u32", "ds", index, sreg->name));
        return index;
    }
    const char *of = is_thread ? "%ntid" : "%nctaid";
    remake_put(m, inst_build(body, "mov.u32", "ds", size, sreg_component(sreg_find(of), axis)->name));
    remake_put(m, inst_build(body, "add.u32", "dri", index, size, (int64_t)-1));
    if (is_thread)
        return index;
    RegId own = remake_reg(m, TYPE_B32, "%own"), past = remake_reg(m, TYPE_B32, "%past"), apart;
    RegId last = remake_reg(m, TYPE_B32, "%last");
    remake_put(m, inst_build(body, "mov.u32", "ds", own, sreg->name));
    const RegId first = first_block(m, axis, own, &apart);
    if (apart == REG_NONE)
        remake_put(m, inst_build(body, "add.u32", "dri", past, first, (int64_t)blocks - 1));
    else
        remake_put(m, inst_build(body, "mad.lo.u32", "drir", past, apart, (int64_t)blocks - 1, first));
    remake_put(m, inst_build(body, "min.u32", "drr", last, past, index));
    return last;
}

/* The index that a read of %tid or %ctaid gives in the place. */
static RegId index_there(const Remake *m, const Inst *read)
{
    Body *body = m->e->body;
    const Sreg *sreg = inst_sreg(read);
    const unsigned blocks = m->e->request->blocks[edges_axis(read)];
    if (m->place == PLACE_LAST)
        return last_there(m, read);
    RegId index = remake_reg(m, TYPE_B32, "%first");
    if (sreg->role == SREG_ROLE_TID || m->place == PLACE_ORIGIN) {
        remake_put(m, inst_build(body, "mov.u32", "di", index, (int64_t)0));
        return index;
    }
    remake_put(m, inst_build(body, "mov.u32", "ds", index, sreg->name));
    if (blocks < 2)
        return index;
    RegId apart;
    return first_block(m, edges_axis(read), index, &apart);
}

/* The instruction that makes the value, with its operands remade. */
static RegId remake_inst(Remake *m, RegId reg)
{
    const Inst *inst = value_inst(m->e->values, reg);
    Inst *own = inst_clone_renamed(m->e->body, inst, m->known);
    if (edges_axis(inst) < 3)
        inst_replace_special(m->e->body, own, inst_sreg(inst), index_there(m, inst));
    remake_put(m, own);
    return m->known[reg];
}

/* The axes with a condition that the value depends on. */
unsigned edges_bounded(const Edges *e, RegId reg)
{
    unsigned axes = 0;
    for (unsigned d = 0; d < 3; d++)
        axes |= e->groups[d] ? 1U << d : 0;
    return e->axes[reg] & axes;
}

const char *edges_select(Type type)
{
    const unsigned bits = type == TYPE_PRED ? 0 : type_bits(type);
    return bits == 16 ? "selp.b16" : bits == 32 ? "selp.b32" : bits == 64 ? "selp.b64" : NULL;
}

/* Chooses between the thread's value and the origin's; REG_NONE if it depends on axes that are not kept together, or is
 * a predicate. */
static RegId choose(Remake *m, RegId reg)
{
    Edges *e = m->e;
    const unsigned axis = (unsigned)__builtin_ctz(e->axes[reg]);
    const char *spelling = edges_select(e->body->regs.data[reg].type);
    if (e->axes[reg] & ~e->groups[axis] || !spelling)
        return REG_NONE;
    RegId other = remade(m->origin, reg), own = body_clone_reg(e->body, reg);
    remake_put(m, inst_build(e->body, spelling, "drrr", own, reg, other, m->within[axis]));
    return own;
}

/* The value there, where it does not take other values of the place; REG_NONE otherwise. */
static RegId known_value(Remake *m, RegId reg)
{
    if (m->known[reg] != REG_NONE)
        return m->known[reg];
    if (m->origin)
        return edges_bounded(m->e, reg) ? choose(m, reg) : reg;
    if (m->e->axes[reg] & m->axes)
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
RegId remade(Remake *m, RegId reg)
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
RegId remake_both(const Remake *m, RegId condition, RegId predicate, bool value)
{
    RegId result = remake_reg(m, TYPE_PRED, "%within");
    remake_put(m, inst_build_conjunction(m->e->body, result, condition, predicate, !value));
    return result;
}

/* Whether all conditions hold in the place, along the axes of 'group'; all of them if that is 0. */
RegId remake_condition(Remake *m, RegId condition, unsigned group)
{
    for (unsigned t = 0; t < m->e->term_count; t++) {
        const EdgeTerm *term = &m->e->terms[t];
        if (!group || term->axes & group)
            condition = remake_both(m, condition, remade(m, term->predicate), term->passes_if);
    }
    return condition;
}

