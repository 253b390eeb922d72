/* Replica addresses as one base and differences, where only the kernel's arguments decide whether that is right.
 *
 * Requires SSA form. Preserves SSA form and the launch; makes new blocks.
 *
 * The index of replica k is that of the first plus k * width, in 32-bit arithmetic that may wrap; extended to 64 bits,
 * the two are as far apart only if it does not. Compilers know that from the source, PTX does not say. So the indices
 * of a block that differ by a multiple of one value and by constants are compared with the 32-bit range once, and what
 * follows is made twice (opt/version.h): as it was, and with one extension from which the others are reached by one
 * multiply-add each. Now rows that two replicas read have one address, and load_reuse loads them once; neighbours
 * can become vectors. The pass is tried on a copy of the body, and kept if that saves accesses. */
#include "opt/cleanup.h"
#include "opt/induction.h"
#include "opt/pass.h"
#include "opt/sums.h"
#include "opt/vectorize.h"
#include "opt/version.h"

enum {
    MOST_FACTOR = 64,         /* of the common value in a difference */
    MOST_SCALE = 4096,        /* bytes of an element */
    MOST_CONSTANT = 1 << 20,
    MOST_MEMBERS = 256,
    MOST_GROUPS = 6,          /* of one block: each costs a test */
    MOST_COPIED = 4000,       /* instructions that are made twice */
    MOST_TRIED = 6,           /* blocks, each on a copy of the body */
    LEAST_SAVED = 2,          /* accesses for each test: fewer do not pay for it */
};

/* The extension of one index: scale * (base + factor * step + constant), with 'base' and 'step' of its group. */
typedef struct Member {
    Inst *inst; /* cvt, mul.wide or mad.wide */
    int64_t factor, constant;
    int64_t scale;
} Member;

typedef struct Group {
    AffineForm form; /* of the first member's index */
    RegId base;      /* that index, 32 bits */
    bool is_signed;
    bool has_step;
    AffineTerm term; /* the common value */
    RegId step;      /* a register that holds it */
    int64_t factors[2], constants[2]; /* the least and the greatest */
    VEC(Member) members;
} Group;

typedef struct Widener {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    VEC(Group) groups;
} Widener;

/* The index that the instruction extends to 64 bits, and the constant that it multiplies it by; REG_NONE: it does not.
 */
static RegId extended_index(const Body *body, const Inst *inst, int64_t *scale, bool *is_signed)
{
    const Signature *signature = inst->signature;
    Opcode op = inst_op(inst);
    if (inst_is_opaque(inst) || inst->guard != REF_NONE || inst->tied_count || inst->operand_count < 2 ||
        inst->operands[0].kind != OPERAND_REG || inst->operands[1].kind != OPERAND_REG ||
        inst->operands[1].constant || inst->operands[1].negated || inst->operands[1].selector)
        return REG_NONE;
    RegId reg = inst->refs[inst->operands[1].ref].reg;
    Type from = signature->types[signature->type_count ? signature->type_count - 1 : 0];
    *scale = 1;
    *is_signed = type_class(from) == CLASS_SIGNED;
    if (type_bits(body->regs.data[reg].type) != 32 || !signature->type_count)
        return REG_NONE;
    if (op == OP_CVT)
        return signature->type_count == 2 && type_bits(signature->types[0]) == 64 && type_bits(from) == 32 &&
                       type_class(from) != CLASS_FLOAT && type_class(signature->types[0]) != CLASS_FLOAT &&
                       !inst_has(inst, MOD_SAT)
                   ? reg : REG_NONE;
    if (op != OP_MUL || !inst_has(inst, MOD_WIDE) || type_bits(from) != 32)
        return REG_NONE;
    const Operand *by = &inst->operands[2];
    if (by->kind != OPERAND_CONSTANT || by->constant->kind != CONSTANT_INT || (int64_t)by->constant->bits <= 0 ||
        (int64_t)by->constant->bits > MOST_SCALE)
        return REG_NONE;
    *scale = (int64_t)by->constant->bits;
    return reg;
}

/* The terms of a - b, which are 32-bit sums. */
static unsigned difference_find(const AffineForm *a, const AffineForm *b, AffineTerm *terms, int64_t *constant)
{
    unsigned count = 0;
    for (unsigned i = 0; i < a->term_count + b->term_count; i++) {
        bool from_b = i >= a->term_count;
        AffineTerm term = from_b ? b->terms[i - a->term_count] : a->terms[i];
        if (from_b)
            term.coefficient = (int32_t)-(uint32_t)term.coefficient;
        unsigned k = 0;
        while (k < count && !affine_base_equal(&terms[k], &term))
            k++;
        if (k == count)
            terms[count++] = term;
        else
            terms[k].coefficient = (int32_t)((uint32_t)terms[k].coefficient + (uint32_t)term.coefficient);
        if (k < count && !terms[k].coefficient)
            terms[k] = terms[--count];
    }
    *constant = (int32_t)((uint32_t)a->constant - (uint32_t)b->constant);
    return count;
}

static bool is_near(int64_t value, int64_t most)
{
    return value >= -most && value <= most;
}

static bool group_join(Widener *widener, Group *group, const AffineForm *form, Member member)
{
    AffineTerm terms[2 * AFFINE_TERMS];
    unsigned count = difference_find(form, &group->form, terms, &member.constant);
    if (count > 1 || !is_near(member.constant, MOST_CONSTANT) || group->members.count >= MOST_MEMBERS)
        return false;
    if (count && (!is_near(terms[0].coefficient, MOST_FACTOR) ||
                  (group->has_step && !affine_base_equal(&terms[0], &group->term))))
        return false;
    if (count) {
        group->has_step = true;
        group->term = terms[0];
        member.factor = terms[0].coefficient;
    }
    if (member.factor < group->factors[0])
        group->factors[0] = member.factor;
    if (member.factor > group->factors[1])
        group->factors[1] = member.factor;
    if (member.constant < group->constants[0])
        group->constants[0] = member.constant;
    if (member.constant > group->constants[1])
        group->constants[1] = member.constant;
    VEC_PUSH(widener->scratch, group->members, member);
    return true;
}

/* The block's indices, in groups whose extensions may be far apart. */
static void groups_find(Widener *widener, const Block *block)
{
    const Affine *affine = analyses_affine(widener->analyses);
    for (Inst *inst = block->first; inst; inst = inst->next) {
        Member member = {.inst = inst};
        bool is_signed, joined = false;
        RegId index = extended_index(widener->body, inst, &member.scale, &is_signed);
        if (index == REG_NONE)
            continue;
        const AffineForm *form = &affine->forms[index];
        if (form->bits != 32 || !form->term_count)
            continue;
        for (size_t g = 0; g < widener->groups.count && !joined; g++)
            joined = widener->groups.data[g].is_signed == is_signed &&
                     group_join(widener, &widener->groups.data[g], form, member);
        if (joined || widener->groups.count >= MOST_GROUPS)
            continue;
        Group group = {.form = *form, .base = index, .is_signed = is_signed, .step = REG_NONE};
        VEC_PUSH(widener->scratch, group.members, member);
        VEC_PUSH(widener->scratch, widener->groups, group);
    }
}

static bool precedes(const Inst *a, const Inst *b)
{
    return a->id < b->id;
}

/* Whether the instruction may be moved up its block. */
static bool is_movable(const Inst *inst)
{
    return !inst_is_opaque(inst) && inst->sync == SYNC_NONE && inst->guard == REF_NONE && !inst->tied_count &&
           !(inst->effects & ~(unsigned)(EFFECT_PURE | EFFECT_THREAD)) && !inst->pragma;
}

/* Moves what computes the register before 'at', where it is computed later in that block. False if it cannot be. */
static bool make_available(Widener *widener, RegId reg, Inst *at)
{
    const Values *values = analyses_values(widener->analyses);
    const Dominance *dominance = analyses_dominance(widener->analyses);
    VEC(Inst *) moved = {0};
    VEC(RegId) pending = {0};
    VEC_PUSH(widener->scratch, pending, reg);
    while (pending.count) {
        RegId next = VEC_POP(pending);
        const ValueDef *def = &values->defs[next];
        if (!def->block || !dominance_has(dominance, def->block, at->block))
            return false;
        if (def->block != at->block || !def->inst || precedes(def->inst, at))
            continue;
        if (!is_movable(def->inst) || moved.count > MOST_MEMBERS)
            return false;
        VEC_PUSH(widener->scratch, moved, def->inst);
        for (unsigned r = 0; r < def->inst->ref_count; r++)
            if (ref_reads(&def->inst->refs[r]))
                VEC_PUSH(widener->scratch, pending, def->inst->refs[r].reg);
    }
    /* In the order of the block. */
    for (const Inst *inst = at->next, *next; inst; inst = next) {
        next = inst->next;
        for (size_t i = 0; i < moved.count; i++)
            if (moved.data[i] == inst) {
                inst_remove(moved.data[i]);
                inst_insert_before(at, moved.data[i]);
                moved.data[i]->id = at->id ? at->id - 1 : 0;
                break;
            }
    }
    return true;
}

/* A register that holds the group's common value before 'at'. */
static bool step_find(Widener *widener, Group *group, Inst *at)
{
    const Affine *affine = analyses_affine(widener->analyses);
    const Values *values = analyses_values(widener->analyses);
    for (RegId reg = 0; reg < affine->reg_count && group->has_step; reg++) {
        const AffineForm *form = &affine->forms[reg];
        if (form->bits != 32 || form->term_count != 1 || form->constant || form->terms[0].coefficient != 1 ||
            !affine_base_equal(&form->terms[0], &group->term) || value_is_undefined(values, reg))
            continue;
        if (make_available(widener, reg, at)) {
            group->step = reg;
            return true;
        }
    }
    return !group->has_step;
}

/* Keeps the groups that say something: more than one index, and all that they need can be there before 'at'. */
static Inst *groups_prepare(Widener *widener)
{
    Inst *at = NULL;
    size_t kept = 0;
    for (size_t g = 0; g < widener->groups.count; g++) {
        const Group *group = &widener->groups.data[g];
        bool differs = group->factors[0] != group->factors[1] || group->constants[0] != group->constants[1];
        if (!differs)
            continue;
        if (!at || precedes(group->members.data[0].inst, at))
            at = group->members.data[0].inst;
        widener->groups.data[kept++] = *group;
    }
    widener->groups.count = kept;
    kept = 0;
    for (size_t g = 0; g < widener->groups.count; g++) {
        Group group = widener->groups.data[g];
        if (make_available(widener, group.base, at) && step_find(widener, &group, at))
            widener->groups.data[kept++] = group;
    }
    widener->groups.count = kept;
    return at;
}

static void new_reg(Widener *widener, Type type, const char *name, RegId *reg)
{
    *reg = body_add_reg(widener->body, type, name);
}

/* Tests before 'at' that none of the group's indices has wrapped. The indices are linear in factor and constant, so
 * the outermost ones decide. Gives the predicate that joins 'before' (REG_NONE: none) and the test. */
static RegId group_test(Widener *widener, const Group *group, Inst *at, RegId before)
{
    Body *body = widener->body;
    int64_t least = group->is_signed ? INT32_MIN : 0;
    int64_t room = (INT64_C(1) << 32) - (group->constants[1] - group->constants[0]);
    RegId wide, first;
    new_reg(widener, TYPE_B64, "%wide", &wide);
    new_reg(widener, TYPE_B64, "%first", &first);
    inst_insert_before(at, inst_build(body, group->is_signed ? "cvt.s64.s32" : "cvt.u64.u32", "dr", wide, group->base));
    inst_insert_before(at, inst_build(body, "add.s64", "dri", first, wide, group->constants[0] - least));
    for (unsigned i = 0; i < 2; i++) {
        RegId value = first, fits;
        if (i && group->factors[0] == group->factors[1])
            break;
        if (group->factors[i]) {
            new_reg(widener, TYPE_B64, "%first", &value);
            inst_insert_before(at, inst_build(body, "mad.wide.s32", "drir", value, group->step, group->factors[i],
                                              first));
        }
        new_reg(widener, TYPE_PRED, "%fits", &fits);
        inst_insert_before(at, before == REG_NONE
                                   ? inst_build(body, "setp.lt.u64", "dri", fits, value, room)
                                   : inst_build(body, "setp.lt.and.u64", "drir", fits, value, room, before));
        before = fits;
    }
    return before;
}

/* Appends "sum = start + factor * step + constant", and gives the register. */
static RegId build_distance(Widener *widener, const Group *group, const Member *member, RegId start, Inst *place)
{
    Body *body = widener->body;
    RegId reg = start, sum;
    if (member->factor) {
        new_reg(widener, TYPE_B64, "%row", &sum);
        inst_insert_before(place, inst_build(body, "mad.wide.s32", "drir", sum, group->step,
                                             member->factor * member->scale, reg));
        reg = sum;
    }
    if (member->constant) {
        new_reg(widener, TYPE_B64, "%row", &sum);
        inst_insert_before(place, inst_build(body, "add.s64", "dri", sum, reg, member->constant * member->scale));
        reg = sum;
    }
    return reg;
}

/* Makes the instruction's only result a copy of the register. */
static void result_replace(Widener *widener, Inst *inst, RegId with)
{
    RegId dst = inst->refs[inst->operands[0].ref].reg;
    inst_insert_before(inst, inst_build(widener->body, "mov.b64", "dr", dst, with));
    inst_remove(inst);
}

/* In the block where no index has wrapped: the member's extension, and the sums that it is added to, from those of the
 * group's first index. */
static void member_rewrite(Widener *widener, const Group *group, const Member *member, const Values *values)
{
    Body *body = widener->body;
    RegId dst = member->inst->refs[member->inst->operands[0].ref].reg, start;
    const char *spelling = group->is_signed ? "mul.wide.s32" : "mul.wide.u32";
    new_reg(widener, TYPE_B64, "%row", &start);
    inst_insert_before(member->inst, inst_build(body, spelling, "dri", start, group->base, member->scale));
    for (uint32_t u = 0; u < value_use_count(values, dst); u++) {
        Inst *use = value_uses(values, dst)[u].inst;
        RegId other = sum_other(use, dst), base;
        if (other == REG_NONE || use->block != member->inst->block)
            continue;
        new_reg(widener, TYPE_B64, "%base", &base);
        inst_insert_before(use, inst_build(body, "add.s64", "drr", base, other, start));
        result_replace(widener, use, build_distance(widener, group, member, base, use));
    }
    result_replace(widener, member->inst, build_distance(widener, group, member, start, member->inst));
}

/* Makes two versions of what follows the block's indices. False if there is nothing to gain or a version cannot be
 * made; then the body may have been changed, but means the same. */
static bool widen_block(Widener *widener, Block *block)
{
    Body *body = widener->body;
    uint32_t number = 0;
    for (Inst *inst = block->first; inst; inst = inst->next)
        inst->id = number += 2;
    groups_find(widener, block);
    Inst *at = groups_prepare(widener);
    if (!widener->groups.count || !body_may_version(body, analyses_dominance(widener->analyses), block, at,
                                                          MOST_COPIED))
        return false;
    RegId fits = REG_NONE;
    for (size_t g = 0; g < widener->groups.count; g++)
        fits = group_test(widener, &widener->groups.data[g], at, fits);
    body_version(body, block, at, fits);
    analyses_invalidate(widener->analyses, ANALYSES_ALL);
    const Values *values = analyses_values(widener->analyses);
    for (size_t g = 0; g < widener->groups.count; g++) {
        const Group *group = &widener->groups.data[g];
        for (size_t m = 0; m < group->members.count; m++) {
            const Member *member = &group->members.data[m];
            if (member->factor || member->constant)
                member_rewrite(widener, group, member, values);
        }
    }
    analyses_invalidate(widener->analyses, ANALYSES_ALL);
    return true;
}

/* Accesses that vectors could save in the copy and not before. What was possible before is so in both versions. */
static unsigned wider_count(PassContext *context, Body *copy, Analyses *analyses)
{
    if (!pass_is_enabled(context->options, PASS_VECTORIZE))
        return 0;
    unsigned before = 2 * vectors_count(context->body, context->analyses), after = vectors_count(copy, analyses);
    return after > before ? after - before : 0;
}

/* Tries the block on a copy of the body, which becomes the body if that saves loads. */
static bool try_block(PassContext *context, size_t block)
{
    Arena *scratch = arena_new();
    Body *copy = body_clone(context->body);
    Analyses *analyses = analyses_new(copy);
    Widener widener = {.scratch = scratch, .body = copy, .analyses = analyses};
    ReuseList list = {0};
    bool pays = false;
    if (widen_block(&widener, copy->blocks.data[block])) {
        merge_equal_values(copy, analyses);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        join_inductions(copy, analyses);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        unsigned saved = reuse_values(scratch, copy, analyses, LOCATION_LOADS, &list);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        pays = saved + wider_count(context, copy, analyses) >= LEAST_SAVED * widener.groups.count;
    }
    analyses_free(analyses);
    if (!pays) {
        body_free(copy);
        arena_free(scratch);
        return false;
    }
    for (size_t i = 0; i < list.items.count; i++)
        VEC_PUSH(context->arena, context->reuse.items, list.items.data[i]);
    arena_free(scratch);
    pass_set_body(context, copy);
    return true;
}

/* Whether the block extends more than one index and loads something. */
static bool is_candidate(const Body *body, const Block *block)
{
    unsigned extensions = 0;
    int64_t scale;
    bool is_signed;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        extensions += extended_index(body, inst, &scale, &is_signed) != REG_NONE;
    return extensions > 1;
}

bool pass_addresses(PassContext *context)
{
    bool changed = false;
    unsigned tried = 0;
    for (size_t b = 0; b < context->body->blocks.count && tried < MOST_TRIED && !changed; b++)
        if (is_candidate(context->body, context->body->blocks.data[b])) {
            tried++;
            changed = try_block(context, b);
        }
    return changed;
}
