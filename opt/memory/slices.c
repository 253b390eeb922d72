/* Values for another thread and another round: the instructions that compute them, cloned.
 *
 * Nothing is approximated: the clones compute, with the arithmetic of the original, what the other thread computes in
 * that round. Only a phi that grows by the same sum each round is replaced: by a phi of its own, which begins with the
 * other thread's first value and advances by a tile's rounds at a time; sums modulo 2^32 and 2^64 do not depend on the
 * order of their terms. */
#include "opt/memory/internal.h"

#include <stdlib.h>

/* A value that has been computed for a thread and a round. */
typedef struct Known {
    Elsewhere at; /* of the indices that the value depends on */
    RegId value;
    struct Known *next;
} Known;

/* A definition that a value needs. */
typedef struct Part {
    uint32_t order;
    Inst *inst; /* NULL: a phi of the header */
    uint32_t phi;
} Part;

typedef VEC(Part) PartVec;

struct Slices {
    Staging *s;
    Block *setup, *top, *tail;
    const RegId *strides; /* by phi of the header */
    unsigned rounds;
    Known **known;        /* by RegId */
};

Slices *slices_new(Staging *s, Block *setup, Block *top, Block *tail, const RegId *strides, unsigned rounds)
{
    Slices *slices = ARENA_NEW(s->scratch, Slices);
    *slices = (Slices){s, setup, top, tail, strides, rounds, ARENA_ARRAY(s->scratch, Known *, s->body->regs.count)};
    return slices;
}

static bool is_common(const Staging *s, RegId reg)
{
    const ValueDef *def = &s->values->defs[reg];
    return def->block && !loop_contains(s->loops, s->loop, def->block) && !s->patterns[reg].depends;
}

static int compare_parts(const void *a, const void *b)
{
    const Part *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : (x->phi > y->phi) - (x->phi < y->phi);
}

static void push_part(const Staging *s, RegId reg, BitSet *seen, PartVec *parts, RegIdVec *pending)
{
    const ValueDef *def = &s->values->defs[reg];
    if (bitset_has(seen, reg))
        return;
    bitset_add(seen, reg);
    if (def->inst) {
        VEC_PUSH(s->scratch, *parts, ((Part){def->inst->id, def->inst, 0}));
        for (unsigned r = 0; r < def->inst->ref_count; r++)
            if (ref_reads(&def->inst->refs[r]))
                VEC_PUSH(s->scratch, *pending, def->inst->refs[r].reg);
    } else {
        VEC_PUSH(s->scratch, *parts, ((Part){s->order[def->block->id], NULL, def->phi}));
        VEC_PUSH(s->scratch, *pending, loop_start(s->loop, &def->block->phis.data[def->phi]));
    }
}

/* The definitions that the value needs, in the order in which they can be computed. */
static PartVec find_parts(const Staging *s, RegId reg)
{
    BitSet seen = bitset_new(s->scratch, s->values->reg_count);
    PartVec parts = {0};
    RegIdVec pending = {0};
    VEC_PUSH(s->scratch, pending, reg);
    while (pending.count) {
        RegId next = VEC_POP(pending);
        if (!is_common(s, next))
            push_part(s, next, &seen, &parts, &pending);
    }
    if (parts.count)
        qsort(parts.data, parts.count, sizeof *parts.data, compare_parts);
    return parts;
}

/* The place without the indices that the value does not depend on. */
static Elsewhere restricted(const Staging *s, const Elsewhere *at, RegId reg)
{
    Elsewhere own = *at;
    for (unsigned i = 0; i < INDEX_COUNT; i++)
        if (!(s->patterns[reg].depends & 1 << i))
            own.index[i] = REG_NONE;
    return own;
}

static RegId known_value(const Slices *slices, const Elsewhere *at, RegId reg)
{
    if (is_common(slices->s, reg))
        return reg;
    const Elsewhere own = restricted(slices->s, at, reg);
    for (const Known *known = slices->known[reg]; known; known = known->next) {
        bool same = true;
        for (unsigned i = 0; i < INDEX_COUNT; i++)
            same &= known->at.index[i] == own.index[i];
        if (same)
            return known->value;
    }
    return REG_NONE;
}

static RegId make_known(Slices *slices, const Elsewhere *at, RegId reg)
{
    Known *known = ARENA_NEW(slices->s->scratch, Known);
    *known = (Known){restricted(slices->s, at, reg), body_clone_reg(slices->s->body, reg), slices->known[reg]};
    slices->known[reg] = known;
    return known->value;
}

/* Whether what the instruction computes differs between rounds. */
static bool changes(const Staging *s, const Inst *inst)
{
    bool changes = false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        changes |= ref_writes(&inst->refs[r]) && s->patterns[inst->refs[r].reg].depends & 1 << INDEX_ROUND;
    return changes;
}

static void clone_inst(Slices *slices, const Elsewhere *at, const Inst *inst)
{
    Staging *s = slices->s;
    Inst *own = inst_clone(s->body, inst);
    bool is_made = false;
    for (unsigned r = 0; r < own->ref_count; r++)
        if (ref_reads(&own->refs[r]))
            own->refs[r].reg = known_value(slices, at, own->refs[r].reg);
    for (unsigned r = 0; r < own->ref_count; r++)
        if (ref_writes(&own->refs[r])) {
            is_made |= known_value(slices, at, own->refs[r].reg) != REG_NONE;
            own->refs[r].reg = is_made ? own->refs[r].reg : make_known(slices, at, own->refs[r].reg);
        }
    if (is_made)
        return;
    Index index = stage_index(inst);
    if (index != INDEX_COUNT && at->index[index] != REG_NONE)
        inst_replace_special(s->body, own, inst_sreg(inst), at->index[index]);
    inst_append(changes(s, inst) ? slices->top : slices->setup, own);
}

/* start + round * step, in the setup. */
static RegId first_value(Slices *slices, const Elsewhere *at, uint32_t phi, RegId start)
{
    Body *body = slices->s->body;
    const Induction *induction = &slices->s->inductions[phi];
    RegId round = at->index[INDEX_ROUND], first = body_clone_reg(body, start);
    bool is_wide = type_bits(body->regs.data[start].type) == 64;
    if (round == REG_NONE)
        return start;
    if (is_wide) {
        RegId wide = body_add_reg(body, TYPE_B64, intern(body->module->names, "%round"));
        inst_append(slices->setup, inst_build(body, "cvt.u64.u32", "dr", wide, round));
        round = wide;
    }
    const char *spelling = is_wide ? "mad.lo.s64" : "mad.lo.s32";
    inst_append(slices->setup,
                induction->reg == REG_NONE
                    ? inst_build(body, spelling, "drir", first, round, induction->step.constant, start)
                    : inst_build(body, spelling, "drrr", first, round, induction->reg, start));
    return first;
}

static void clone_phi(Slices *slices, const Elsewhere *at, uint32_t p)
{
    Staging *s = slices->s;
    Body *body = s->body;
    const Phi *old = &s->loop->header->phis.data[p];
    if (known_value(slices, at, old->dst) != REG_NONE)
        return;
    RegId first = first_value(slices, at, p, known_value(slices, at, loop_start(s->loop, old)));
    if (!slices->tail) {
        RegId value = make_known(slices, at, old->dst);
        const bool is_wide = type_bits(body->regs.data[value].type) == 64;
        inst_append(slices->setup, inst_build(body, is_wide ? "mov.b64" : "mov.b32", "dr", value, first));
        return;
    }
    Phi phi = {.dst = make_known(slices, at, old->dst)};
    RegId next = body_clone_reg(body, old->dst);
    const char *spelling = type_bits(body->regs.data[phi.dst].type) == 64 ? "add.s64" : "add.s32";
    VEC_PUSH(body->arena, phi.args, ((PhiArg){slices->setup, first}));
    VEC_PUSH(body->arena, phi.args, ((PhiArg){slices->tail, next}));
    VEC_PUSH(body->arena, slices->top->phis, phi);
    inst_append(slices->tail, slices->strides[p] == REG_NONE
                                  ? inst_build(body, spelling, "dri", next, phi.dst,
                                               s->inductions[p].step.constant * (int64_t)slices->rounds)
                                  : inst_build(body, spelling, "drr", next, phi.dst, slices->strides[p]));
}

RegId slices_value(Slices *slices, const Elsewhere *at, RegId reg)
{
    RegId value = known_value(slices, at, reg);
    if (value != REG_NONE)
        return value;
    const PartVec parts = find_parts(slices->s, reg);
    for (size_t i = 0; i < parts.count; i++) {
        if (parts.data[i].inst)
            clone_inst(slices, at, parts.data[i].inst);
        else
            clone_phi(slices, at, parts.data[i].phi);
    }
    return known_value(slices, at, reg);
}
