/* Replica addresses as one base and differences, where only the kernel's arguments decide whether that is right.
 *
 * The index of replica k is that of the first plus k * width, in 32-bit arithmetic that may wrap; extended to 64 bits,
 * the two are as far apart only if it does not. Compilers know that from the source, PTX does not say. So the indices
 * of a block that differ by a multiple of one value and by constants are compared with the 32-bit range once, and what
 * follows is made twice (opt/common/version.h): as it was, and with one extension from which the others are reached by
 * one multiply-add each. Now rows that two replicas read have one address, and load_reuse loads them once; neighbours
 * can become vectors. The pass is tried on a copy of the body, and kept if that saves accesses. */
#include "opt/common/cleanup.h"
#include "opt/common/sums.h"
#include "opt/common/version.h"
#include "opt/passes.h"
#include "opt/replicas/induction.h"
#include "opt/replicas/reuse.h"
#include "opt/replicas/vectorize.h"

#include <string.h>

enum {
    MOST_SCALE = 4096,        /* bytes of an element */
    MOST_MEMBERS = 256,
    MOST_FOUND = 32,          /* groups of one block, with those of a single index */
    MOST_GROUPS = 6,          /* that are used: each costs a test */
    MOST_COPIED = 4000,       /* instructions that are made twice */
    MOST_TRIED = 6,           /* blocks, each on a copy of the body */
    MOST_CHANGED = 3,         /* of them: each has a slow side */
    MOST_GROWTH = 8,          /* instructions made for each access saved: of later blocks, and where rows are joined
                               * and vectors alone save, which may need a test that cannot be made. conv loses with
                               * 9, depthwise gains with 7 */
    LEAST_SAVED = 2,          /* accesses for each test: fewer do not pay for it */
};

/* The extension of one index: scale * (base + factor * step + constant), with 'base' and 'step' of its group; without
 * a base, scale * (factor * step + constant). */
typedef struct Member {
    Inst *inst; /* cvt, mul.wide or mad.wide */
    int64_t factor, constant;
    int64_t scale;
} Member;

typedef struct Group {
    unsigned number; /* among those of the block */
    AffineForm form; /* of the first member's index */
    RegId base;      /* that index, 32 bits; REG_NONE: the indices are multiples of the step and constants alone */
    bool is_signed;
    bool has_step;
    AffineTerm term; /* the common value */
    RegId step;      /* a register that holds it */
    int64_t factors[2], constants[2]; /* the least and the greatest */
    bool has_ends;
    RegId ends[2];   /* the indices with those factors, if only factors differ */
    VEC(Member) members;
} Group;

typedef struct Widener {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    uint32_t left_out; /* groups that are not to be used, by number */
    VEC(Group) groups;
} Widener;

/* The index that the instruction extends to 64 bits, and the constant that it multiplies it by; REG_NONE: it does not.
 */
static RegId extended_index(const Body *body, const Inst *inst, int64_t *scale, bool *is_signed)
{
    Computation c;
    if (!computation_of(body, inst, &c) || c.reg_bits != 64 || c.bits != 64 || c.sources[0].reg == REG_NONE ||
        c.sources[0].bits != 32 || c.sources[0].reg_bits != 32 || c.saturates)
        return REG_NONE;
    *is_signed = c.sources[0].is_signed;
    *scale = 1;
    if (c.op == COMPUTE_MUL && c.sources[1].is_constant && c.sources[1].constant <= MOST_SCALE)
        *scale = (int64_t)c.sources[1].constant;
    else if (c.op != COMPUTE_CONVERT)
        return REG_NONE;
    return *scale ? c.sources[0].reg : REG_NONE;
}

static void add_bounds(Group *group, const Member *member)
{
    if (member->factor < group->factors[0])
        group->factors[0] = member->factor;
    if (member->factor > group->factors[1])
        group->factors[1] = member->factor;
    if (member->constant < group->constants[0])
        group->constants[0] = member->constant;
    if (member->constant > group->constants[1])
        group->constants[1] = member->constant;
}

static bool group_join(Widener *widener, Group *group, const AffineForm *form, Member member)
{
    AffineTerm terms[2 * AFFINE_TERMS];
    unsigned count = row_difference(form, &group->form, terms, &member.constant);
    if (count > 1 || !row_is_near(member.constant, ROW_CONSTANT_MOST) || group->members.count >= MOST_MEMBERS)
        return false;
    if (count && (!row_is_near(terms[0].coefficient, ROW_FACTOR_MOST) ||
                  (group->has_step && !affine_base_equal(&terms[0], &group->term))))
        return false;
    if (count) {
        group->has_step = true;
        group->term = terms[0];
        member.factor = terms[0].coefficient;
    }
    add_bounds(group, &member);
    VEC_PUSH(widener->scratch, group->members, member);
    return true;
}

static bool is_step_of(const Group *group, const AffineTerm *term)
{
    return group->has_step && affine_base_equal(&group->term, term);
}

/* Counts the indices of a group from zero where each is a multiple of a group's step and a constant: only then have the
 * offsets of the rows above and below, "-width" and "width - 1", to do with those of the replicas' rows. */
static void count_from_zero(Widener *widener, Group *group)
{
    const AffineForm *form = &group->form;
    bool is_known = false;
    if (form->term_count != 1 || !row_is_near(form->terms[0].coefficient, ROW_FACTOR_MOST) ||
        !row_is_near((int32_t)form->constant, ROW_CONSTANT_MOST) ||
        (group->has_step && !is_step_of(group, &form->terms[0])))
        return;
    for (size_t g = 0; g < widener->groups.count; g++)
        is_known |= is_step_of(&widener->groups.data[g], &form->terms[0]);
    if (!is_known)
        return;
    group->base = REG_NONE;
    group->has_step = true;
    group->term = form->terms[0];
    for (size_t m = 0; m < group->members.count; m++) {
        Member *member = &group->members.data[m];
        member->factor += form->terms[0].coefficient;
        member->constant += (int32_t)form->constant;
        if (!m) {
            group->factors[0] = group->factors[1] = member->factor;
            group->constants[0] = group->constants[1] = member->constant;
        }
        add_bounds(group, member);
    }
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
        if (joined || widener->groups.count >= MOST_FOUND)
            continue;
        Group group = {.number = (unsigned)widener->groups.count, .form = *form, .base = index,
                       .is_signed = is_signed, .step = REG_NONE};
        VEC_PUSH(widener->scratch, group.members, member);
        VEC_PUSH(widener->scratch, widener->groups, group);
    }
    for (size_t g = 0; g < widener->groups.count; g++)
        count_from_zero(widener, &widener->groups.data[g]);
}

static bool precedes(const Inst *a, const Inst *b)
{
    return a->id < b->id;
}

/* True if the instruction may be moved up its block. */
static bool is_movable(const Inst *inst)
{
    return inst_is_plain(inst) && inst->sync == SYNC_NONE &&
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

/* Finds the indices with the least and the greatest factor, if they can be there before 'at'. */
static void ends_find(Widener *widener, Group *group, Inst *at)
{
    int64_t scale;
    bool is_signed;
    group->has_ends = group->base != REG_NONE && !group->constants[0] && !group->constants[1];
    for (unsigned i = 0; i < 2 && group->has_ends; i++) {
        group->ends[i] = REG_NONE;
        for (size_t m = 0; m < group->members.count && group->ends[i] == REG_NONE; m++)
            if (group->members.data[m].factor == group->factors[i])
                group->ends[i] = extended_index(widener->body, group->members.data[m].inst, &scale, &is_signed);
        group->has_ends = group->ends[i] != REG_NONE && make_available(widener, group->ends[i], at);
    }
}

/* Keeps the groups that say something: more than one index, and all that they need can be there before 'at'. */
static Inst *groups_prepare(Widener *widener)
{
    Inst *at = NULL;
    size_t kept = 0;
    for (size_t g = 0; g < widener->groups.count; g++) {
        const Group *group = &widener->groups.data[g];
        bool differs = group->factors[0] != group->factors[1] || group->constants[0] != group->constants[1];
        bool is_step = group->base == REG_NONE && group->factors[0] == 1 && !group->constants[0];
        if (kept == MOST_GROUPS || widener->left_out & UINT32_C(1) << group->number ||
            (!differs && (group->base != REG_NONE || is_step)))
            continue;
        if (!at || precedes(group->members.data[0].inst, at))
            at = group->members.data[0].inst;
        widener->groups.data[kept++] = *group;
    }
    widener->groups.count = kept;
    kept = 0;
    for (size_t g = 0; g < widener->groups.count; g++) {
        Group group = widener->groups.data[g];
        if ((group.base == REG_NONE || make_available(widener, group.base, at)) && step_find(widener, &group, at)) {
            ends_find(widener, &group, at);
            widener->groups.data[kept++] = group;
        }
    }
    widener->groups.count = kept;
    return at;
}

static void new_reg(Widener *widener, Type type, const char *name, RegId *reg)
{
    *reg = body_add_reg(widener->body, type, name);
}

static const char *extension_of(const Group *group)
{
    return group->is_signed ? "cvt.s64.s32" : "cvt.u64.u32";
}

/* A place for tests, all of which have to hold. */
typedef struct Tests {
    Widener *widener;
    Inst *at;    /* before which they are */
    RegId holds; /* those until now; REG_NONE: there is none */
} Tests;

static void tests_add(Tests *tests, const char *comparison, RegId a, RegId b, int64_t constant)
{
    Body *body = tests->widener->body;
    RegId both;
    new_reg(tests->widener, TYPE_PRED, "%fits", &both);
    bool first = tests->holds == REG_NONE;
    const char *spelling = arena_printf(tests->widener->scratch, "setp.%s", comparison);
    if (!first) {
        const char *type = strrchr(comparison, '.');
        spelling = arena_printf(tests->widener->scratch, "setp.%.*s.and%s", (int)(type - comparison), comparison, type);
    }
    Inst *inst = b != REG_NONE ? first ? inst_build(body, spelling, "drr", both, a, b)
                                       : inst_build(body, spelling, "drrr", both, a, b, tests->holds)
                 : first       ? inst_build(body, spelling, "dri", both, a, constant)
                               : inst_build(body, spelling, "drir", both, a, constant, tests->holds);
    inst_insert_before(tests->at, inst);
    tests->holds = both;
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b && (a < 0) != (b < 0));
}

/* The steps for which all indices of a group that is counted from zero fit in 32 bits. */
static void step_range(const Group *group, int64_t range[2])
{
    int64_t least = group->is_signed ? INT32_MIN : 0, most = group->is_signed ? INT32_MAX : UINT32_MAX;
    range[0] = INT32_MIN;
    range[1] = INT32_MAX;
    for (unsigned i = 0; i < 2; i++) {
        int64_t factor = group->factors[i], low = least - group->constants[0], high = most - group->constants[1];
        if (!factor) {
            if (low > 0 || high < 0)
                range[1] = INT64_MIN; /* none */
            continue;
        }
        int64_t first = factor > 0 ? -divide_down(-low, factor) : -divide_down(-high, factor);
        int64_t last = divide_down(factor > 0 ? high : low, factor);
        if (first > range[0])
            range[0] = first;
        if (last < range[1])
            range[1] = last;
    }
}

static void test_from_zero(Tests *tests, const Group *group)
{
    Widener *widener = tests->widener;
    int64_t range[2];
    RegId shifted;
    step_range(group, range);
    new_reg(widener, TYPE_B32, "%first", &shifted);
    inst_insert_before(tests->at, inst_build(widener->body, "add.s32", "dri", shifted, group->step, -range[0]));
    tests_add(tests, "lt.u32", shifted, REG_NONE, range[1] < range[0] ? 0 : range[1] - range[0] + 1);
}

/* The two indices that are furthest from the first, against what they should be: the others lie in between. */
static void test_ends(Tests *tests, const Group *group, RegId wide)
{
    Widener *widener = tests->widener;
    for (unsigned i = 0; i < 2; i++) {
        RegId sum, own;
        if (!group->factors[i])
            continue;
        new_reg(widener, TYPE_B64, "%row", &sum);
        new_reg(widener, TYPE_B64, "%wide", &own);
        inst_insert_before(tests->at, inst_build(widener->body, "mad.wide.s32", "drir", sum, group->step,
                                                 group->factors[i], wide));
        inst_insert_before(tests->at, inst_build(widener->body, extension_of(group), "dr",
                                                 own, group->ends[i]));
        tests_add(tests, "eq.s64", sum, own, 0);
    }
}

/* The indices are linear in factor and constant, so the outermost ones decide. */
static void test_corners(Tests *tests, const Group *group, RegId wide)
{
    Widener *widener = tests->widener;
    int64_t least = group->is_signed ? INT32_MIN : 0;
    int64_t room = (INT64_C(1) << 32) - (group->constants[1] - group->constants[0]);
    RegId first;
    new_reg(widener, TYPE_B64, "%first", &first);
    inst_insert_before(tests->at,
                       inst_build(widener->body, "add.s64", "dri", first, wide, group->constants[0] - least));
    for (unsigned i = 0; i < 2; i++) {
        RegId value = first;
        if (i && group->factors[0] == group->factors[1])
            break;
        if (group->factors[i]) {
            new_reg(widener, TYPE_B64, "%first", &value);
            inst_insert_before(tests->at, inst_build(widener->body, "mad.wide.s32", "drir", value, group->step,
                                                     group->factors[i], first));
        }
        tests_add(tests, "lt.u64", value, REG_NONE, room);
    }
}

/* Tests that none of the group's indices has wrapped. */
static void group_test(Tests *tests, const Group *group)
{
    Widener *widener = tests->widener;
    RegId wide;
    if (group->base == REG_NONE) {
        test_from_zero(tests, group);
        return;
    }
    new_reg(widener, TYPE_B64, "%wide", &wide);
    inst_insert_before(tests->at, inst_build(widener->body, extension_of(group), "dr",
                                             wide, group->base));
    if (group->has_ends)
        test_ends(tests, group, wide);
    else
        test_corners(tests, group, wide);
}

/* Appends "sum = start + factor * step + constant", and gives the register; REG_NONE stands for a start of 0. */
static RegId build_distance(Widener *widener, const Group *group, const Member *member, RegId start, Inst *place)
{
    Body *body = widener->body;
    RegId reg = start, sum;
    if (member->factor) {
        new_reg(widener, TYPE_B64, "%row", &sum);
        int64_t factor = member->factor * member->scale;
        inst_insert_before(place, start == REG_NONE
                                      ? inst_build(body, "mul.wide.s32", "dri", sum, group->step, factor)
                                      : inst_build(body, "mad.wide.s32", "drir", sum, group->step, factor, reg));
        reg = sum;
    }
    if (reg == REG_NONE) {
        new_reg(widener, TYPE_B64, "%row", &reg);
        inst_insert_before(place, inst_build(body, "mov.b64", "di", reg, member->constant * member->scale));
    } else if (member->constant) {
        new_reg(widener, TYPE_B64, "%row", &sum);
        inst_insert_before(place, inst_build(body, "add.s64", "dri", sum, reg, member->constant * member->scale));
        reg = sum;
    }
    return reg;
}

/* Makes the instruction's only result a copy of the register. */
static void result_replace(Widener *widener, Inst *inst, RegId with)
{
    RegId dst = inst_reg(inst, 0);
    inst_insert_before(inst, inst_build(widener->body, "mov.b64", "dr", dst, with));
    inst_remove(inst);
}

/* In the block where no index has wrapped: the member's extension, and the sums that it is added to, from those of the
 * group's first index. */
static void member_rewrite(Widener *widener, const Group *group, const Member *member, const Values *values)
{
    Body *body = widener->body;
    RegId dst = inst_reg(member->inst, 0), start = REG_NONE;
    if (group->base != REG_NONE) {
        const char *product = group->is_signed ? "mul.wide.s32" : "mul.wide.u32";
        new_reg(widener, TYPE_B64, "%row", &start);
        inst_insert_before(member->inst,
                           member->scale == 1 ? inst_build(body, extension_of(group), "dr", start, group->base)
                                              : inst_build(body, product, "dri", start, group->base, member->scale));
    }
    for (uint32_t u = 0; u < value_use_count(values, dst); u++) {
        Inst *use = value_uses(values, dst)[u].inst;
        RegId other = sum_other(body, use, dst), base;
        if (other == REG_NONE || use->block != member->inst->block)
            continue;
        base = other;
        if (start != REG_NONE) {
            new_reg(widener, TYPE_B64, "%base", &base);
            inst_insert_before(use, inst_build(body, "add.s64", "drr", base, other, start));
        }
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
    Tests tests = {widener, at, REG_NONE};
    for (size_t g = 0; g < widener->groups.count; g++)
        group_test(&tests, &widener->groups.data[g]);
    body_version(body, block, at, tests.holds);
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

/* A version of the body, and what it saves. */
typedef struct Trial {
    Arena *scratch;
    Body *body;
    uint32_t groups;    /* that it needs, by number */
    unsigned group_count;
    unsigned saved;     /* accesses */
    unsigned lost;      /* accesses that vectors saved before, and do not on the slow side */
    bool joins_rows;    /* phis have become others' sums, which each round makes */
    ReuseList reuse;
} Trial;

/* Counts the accesses that vectors could save in the copy and not before. */
static void count_vectors(PassContext *context, Trial *trial, Analyses *analyses)
{
    const unsigned before = vectors_count(context->body, context->analyses, false, context->joins_everywhere);
    const unsigned after = vectors_count(trial->body, analyses, false, context->joins_everywhere);
    const unsigned slow = vectors_count(trial->body, analyses, true, context->joins_everywhere);
    trial->saved += after > before ? after - before : 0;
    trial->lost = before > slow ? before - slow : 0;
}

/* Tries the block on a copy of the body, without the groups that are left out. */
static Trial trial_make(PassContext *context, size_t block, uint32_t left_out)
{
    Trial trial = {.scratch = arena_new(), .body = body_clone(context->body)};
    Analyses *analyses = analyses_new(trial.body);
    Widener widener = {.scratch = trial.scratch, .body = trial.body, .analyses = analyses, .left_out = left_out};
    trial.joins_rows = join_row_phis(trial.body, analyses, trial.body->blocks.data[block]) > 0;
    if (widen_block(&widener, trial.body->blocks.data[block])) {
        merge_equal_values(trial.body, analyses);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        join_inductions(trial.body, analyses);
        trial.saved = reuse_values(trial.scratch, trial.body, analyses, LOCATION_LOADS, &trial.reuse);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
        if (pass_is_enabled(context->options, PASS_VECTORIZE))
            count_vectors(context, &trial, analyses);
        trial.group_count = (unsigned)widener.groups.count;
        for (size_t g = 0; g < widener.groups.count; g++)
            trial.groups |= UINT32_C(1) << widener.groups.data[g].number;
    }
    analyses_free(analyses);
    return trial;
}

static void trial_drop(Trial *trial)
{
    body_free(trial->body);
    arena_free(trial->scratch);
}

/* Tries the block with fewer groups: those without which as much is saved are not tested. */
static Trial trial_refine(PassContext *context, size_t block, Trial trial)
{
    for (unsigned g = 0; g < MOST_FOUND && trial.saved && trial.group_count > 1; g++) {
        if (!(trial.groups & UINT32_C(1) << g))
            continue;
        Trial fewer = trial_make(context, block, ~trial.groups | UINT32_C(1) << g);
        Trial *worse = fewer.saved >= trial.saved ? &trial : &fewer;
        trial_drop(worse);
        if (worse == &trial)
            trial = fewer;
    }
    return trial;
}

static size_t count_insts(const Body *body)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            count++;
    return count;
}

/* Whether the trial saves enough for the tests and the code that it takes. */
static bool trial_pays(const PassContext *context, const Trial *trial, bool is_first)
{
    if (!trial->saved || trial->saved < LEAST_SAVED * trial->group_count)
        return false;
    return (is_first && (trial->reuse.items.count || (!trial->joins_rows && trial->saved > trial->lost))) ||
           count_insts(trial->body) <= count_insts(context->body) + MOST_GROWTH * trial->saved;
}

/* Makes the versions of the block if that saves accesses. */
static bool try_block(PassContext *context, size_t block, bool is_first)
{
    Trial trial = trial_refine(context, block, trial_make(context, block, 0));
    if (!trial_pays(context, &trial, is_first)) {
        trial_drop(&trial);
        return false;
    }
    for (size_t i = 0; i < trial.reuse.items.count; i++)
        VEC_PUSH(context->arena, context->reuse.items, trial.reuse.items.data[i]);
    arena_free(trial.scratch);
    pass_set_body(context, trial.body);
    return true;
}

/* True if the block extends more than one index and loads something. */
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
    unsigned tried = 0, changed = 0;
    for (size_t b = 0; b < context->body->blocks.count && tried < MOST_TRIED && changed < MOST_CHANGED; b++)
        if (!context->body->blocks.data[b]->is_cold && is_candidate(context->body, context->body->blocks.data[b])) {
            tried++;
            changed += try_block(context, b, !changed);
        }
    return changed > 0;
}
