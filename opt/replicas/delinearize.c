/* Replicas whose places in a flattened grid have a row or a column in common.
 *
 *     i0 = ...; i1 = i0 + d                 row0 = i0 / n; row1 = i1 / n; column0 = i0 % n; column1 = i1 % n
 *     row0 = i0 / n; column0 = i0 % n   ->  if (column1 == column0)
 *     row1 = i1 / n; column1 = i1 % n           both, with column0 for column1; what was computed twice is merged
 *                                           else
 *                                               both, as before
 *
 * How far replicas are apart, and how long a row is, is known when the kernel runs: so the quotients and remainders are
 * computed first, compared, and code in which they are one value, or a constant apart, is executed where the
 * comparison holds. Nothing has to be shown about indices that wrap or are negative. Replicas a constant apart,
 * neighbours of a thread, are taken to be in one row, and others, of merged blocks, in one column.
 *
 * Blocks that are counted along an axis of their own, as the channels of images, are neighbours if they are a constant
 * apart, and what divides their remainders, as groups of channels, is compared too, even if it is computed later.
 *
 * Neighbours need not divide to be compared: if none is in another row than the first of them, there is room for all of
 * them in what is left of its row. So only one of them divides, unless there is none.
 *
 * The code is made twice only if its loads or its divisions become fewer. */
#include "opt/common/cleanup.h"
#include "opt/common/early.h"
#include "opt/common/version.h"
#include "opt/passes.h"
#include "opt/replicas/reuse.h"

enum {
    MOST_MEMBERS = 64,   /* replicas of one instruction */
    MOST_COPIED = 8192,  /* instructions of what is made twice */
    MOST_APART = 1 << 16, /* neighbours that one division is made for */
    LEAST_SAVED = 2,     /* divisions */
    MOST_HOISTED = 256,  /* divisions of later blocks */
};

typedef enum Role { ROLE_NONE, ROLE_QUOTIENT, ROLE_REMAINDER } Role;

/* One replica's instruction of a group. */
typedef struct Member {
    Inst *inst;
    RegId reg, dividend;
    unsigned cluster; /* members whose dividends are a constant apart */
    int64_t offset;   /* of the dividend from that of the cluster's first */
} Member;

/* The replicas of one division, or of what gives its remainder, in one block. */
typedef struct Group {
    Role role;
    bool is_part; /* of the instructions of another group: nothing else is made of its results */
    bool is_outer; /* some remainders of it are dividends of an inner group */
    bool is_inner; /* the dividends are remainders: how far they are apart is only a guess */
    bool has_room; /* the members are not compared: those that are divided are alike, or there is room for them */
    unsigned count, clusters;
    Member members[MOST_MEMBERS];
} Group;

/* 'reg' is taken to be 'leader' plus a constant. */
typedef struct Guess {
    RegId reg, leader;
    int64_t offset;
    bool follows;      /* from what is tested; else the two are compared */
    RegId replacement; /* the sum, where the guess is right */
} Guess;

/* One division for several dividends, the first and others that are up to 'reach' greater. */
typedef struct Room {
    Role role;
    Computation division; /* of the first */
    int64_t reach;
} Room;

typedef struct Delinearizer {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Values *values;
    const Affine *affine;
    unsigned threads; /* of the original's blocks that one does the work of */
    Block *block;
    Group **group_of;       /* by RegId: the group of which it is a result; NULL: none */
    PointerMap by_operands; /* the trees that clones share -> Group */
    VEC(Group *) groups;
    VEC(Guess) guesses;
    VEC(Room) rooms;
    unsigned saved;         /* divisions, by these */
} Delinearizer;

/* Whether the register is a result of 32 or 64 bits. */
static bool computed_by(const Delinearizer *d, RegId reg, Computation *c)
{
    const Inst *inst = reg == REG_NONE ? NULL : value_inst(d->values, reg);
    return inst && inst_is_plain(inst) && inst->effects == EFFECT_PURE && computation_of(d->body, inst, c) &&
           (c->bits == 32 || c->bits == 64) && c->reg_bits == c->bits && !c->saturates;
}

/* The 32 bits that are extended to the register's 64; REG_NONE: it is not made so. */
static RegId narrow_of(const Delinearizer *d, RegId reg)
{
    Computation c;
    const bool extends = computed_by(d, reg, &c) && c.op == COMPUTE_CONVERT && c.bits == 64 && c.sources[0].bits == 32;
    return extends ? c.sources[0].reg : REG_NONE;
}

/* Compilers divide 64-bit values by 32-bit division where they fit, and select one of two results then: the one of 64
 * bits; REG_NONE: the computation is not that selection. */
static RegId selected_wide(const Delinearizer *d, const Computation *c)
{
    for (unsigned s = 0; s < 2 && c->op == COMPUTE_SELECT && c->bits == 64; s++)
        if (c->sources[s].reg != REG_NONE && narrow_of(d, c->sources[1 - s].reg) != REG_NONE)
            return c->sources[s].reg;
    return REG_NONE;
}

/* The value that the register's is a quotient of, by any divisor; REG_NONE: it is none. Divisions by constants are
 * multiplications and shifts; those of signed integers by powers of two add a bias first, and by others the sign of the
 * product. */
static RegId dividend_of(const Delinearizer *d, RegId reg)
{
    Computation c, inner, bias;
    if (!computed_by(d, reg, &c))
        return REG_NONE;
    if (c.op == COMPUTE_DIV || (c.op == COMPUTE_MUL_HIGH && c.sources[1].is_constant))
        return c.sources[0].reg;
    const RegId wide = selected_wide(d, &c);
    if (wide != REG_NONE)
        return computed_by(d, wide, &inner) && inner.op == COMPUTE_DIV ? inner.sources[0].reg : REG_NONE;
    if (c.op == COMPUTE_ADD && computed_by(d, c.sources[0].reg, &inner) && computed_by(d, c.sources[1].reg, &bias) &&
        inner.op == COMPUTE_SHIFT_RIGHT && bias.op == COMPUTE_SHIFT_RIGHT) {
        const RegId dividend = dividend_of(d, c.sources[0].reg);
        return dividend_of(d, c.sources[1].reg) == dividend ? dividend : REG_NONE;
    }
    if (c.op != COMPUTE_SHIFT_RIGHT || !c.sources[1].is_constant || c.sources[0].reg == REG_NONE)
        return REG_NONE;
    if (!computed_by(d, c.sources[0].reg, &inner))
        return c.sources[0].reg;
    if (inner.op == COMPUTE_MUL_HIGH && inner.sources[1].is_constant)
        return inner.sources[0].reg;
    if (inner.op == COMPUTE_ADD && computed_by(d, inner.sources[1].reg, &bias) && bias.op == COMPUTE_SHIFT_RIGHT)
        return inner.sources[0].reg;
    return c.sources[0].reg;
}

/* Whether the register is one of those that have been found to be quotients. */
static bool is_quotient(const Delinearizer *d, RegId reg)
{
    return d->group_of[reg] && d->group_of[reg]->role == ROLE_QUOTIENT;
}

/* Whether the register is a multiple of a quotient of the dividend, which may have been computed in another way there,
 * or the dividend without its low bits. */
static bool is_multiple(const Delinearizer *d, RegId reg, RegId dividend)
{
    Computation c, inner;
    if (!computed_by(d, reg, &c))
        return false;
    if (c.op == COMPUTE_AND && c.sources[1].is_constant)
        return c.sources[0].reg == dividend ||
               (computed_by(d, c.sources[0].reg, &inner) && inner.op == COMPUTE_ADD &&
                inner.sources[0].reg == dividend);
    if (c.op != COMPUTE_MUL && c.op != COMPUTE_SHIFT_LEFT)
        return false;
    for (unsigned s = 0; s < 2; s++) {
        const RegId factor = c.sources[s].reg;
        if (factor != REG_NONE && (dividend_of(d, factor) == dividend || is_quotient(d, factor)))
            return true;
    }
    return false;
}

static Role role_of(const Delinearizer *d, RegId reg, RegId *dividend)
{
    Computation c;
    *dividend = dividend_of(d, reg);
    if (*dividend != REG_NONE)
        return ROLE_QUOTIENT;
    if (!computed_by(d, reg, &c))
        return ROLE_NONE;
    const RegId wide = selected_wide(d, &c);
    if (wide != REG_NONE)
        return role_of(d, wide, dividend) == ROLE_REMAINDER ? ROLE_REMAINDER : ROLE_NONE;
    *dividend = c.sources[0].reg;
    if (*dividend == REG_NONE)
        return ROLE_NONE;
    const uint64_t mask = c.sources[1].constant;
    if (c.op == COMPUTE_REM || (c.op == COMPUTE_AND && c.sources[1].is_constant && !(mask & (mask + 1))) ||
        (c.op == COMPUTE_SUB && is_multiple(d, c.sources[1].reg, *dividend)))
        return ROLE_REMAINDER;
    return ROLE_NONE;
}

/* Whether 'to' is 'from' plus a constant. */
static bool is_apart(const Delinearizer *d, RegId from, RegId to, int64_t *offset)
{
    const AffineForm *a = &d->affine->forms[from], *b = &d->affine->forms[to];
    AffineForm moved = *a;
    moved.constant = b->constant;
    *offset = (int64_t)((uint64_t)b->constant - (uint64_t)a->constant);
    if (a->bits == 32)
        *offset = (int32_t)*offset;
    return a->bits && a->bits == b->bits && affine_compare(&moved, 1, b, 1) == ALIAS_SAME;
}

static bool has_index(const AffineForm *form, bool is_threads)
{
    for (unsigned i = 0; i < form->term_count; i++) {
        const Sreg *sreg = form->terms[i].base == AFFINE_SREG ? form->terms[i].sreg : NULL;
        if (sreg && (sreg->role == SREG_ROLE_TID || (!is_threads && sreg->role == SREG_ROLE_CTAID)))
            return true;
    }
    return false;
}

/* Whether the dividends are a constant apart, and those of threads of one block of the original, or of blocks as a
 * whole. */
static bool are_neighbours(const Delinearizer *d, const Member *from, const Member *to, int64_t *offset)
{
    return (from->inst->replica / d->threads == to->inst->replica / d->threads ||
            !has_index(&d->affine->forms[from->dividend], true)) &&
           is_apart(d, from->dividend, to->dividend, offset);
}

static const Member *member_of(const Group *group, RegId reg)
{
    for (unsigned m = 0; m < group->count; m++)
        if (group->members[m].reg == reg)
            return &group->members[m];
    return NULL;
}

/* The group that all dividends are results of; NULL: none. */
static Group *outer_group(const Delinearizer *d, const Group *group)
{
    Group *outer = d->group_of[group->members[0].dividend];
    for (unsigned m = 1; m < group->count; m++)
        if (d->group_of[group->members[m].dividend] != outer)
            return NULL;
    return outer;
}

static void form_clusters(const Delinearizer *d, Group *group)
{
    Group *outer = outer_group(d, group);
    for (unsigned m = 0; m < group->count; m++) {
        Member *member = &group->members[m];
        if (outer) {
            const Member *dividend = member_of(outer, member->dividend);
            member->cluster = dividend->cluster;
            member->offset = outer->role == ROLE_REMAINDER ? dividend->offset : 0;
            group->clusters = outer->clusters;
            group->is_inner = outer->role == ROLE_REMAINDER;
            outer->is_outer |= group->is_inner;
            continue;
        }
        unsigned first = 0;
        while (first < m && !are_neighbours(d, &group->members[first], member, &member->offset))
            first++;
        member->cluster = first < m ? group->members[first].cluster : group->clusters++;
        member->offset = first < m ? member->offset : 0;
    }
}

/* Whether the value is a sum with the thread's or the block's index: a place in the grid, not loaded data. */
static bool is_place(const Delinearizer *d, RegId reg)
{
    const AffineForm *form = &d->affine->forms[reg];
    bool is_place = has_index(form, false);
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        const AffineFactors *factors = term->base == AFFINE_VALUE ? d->affine->factors[term->reg] : NULL;
        is_place |= factors && has_index(&factors->forms[2], false);
    }
    return is_place;
}

static void part_mark(const Delinearizer *d, RegId reg, RegId dividend)
{
    Group *group = reg == REG_NONE ? NULL : d->group_of[reg];
    if (group && (dividend == REG_NONE || group->members[group->count - 1].dividend == dividend))
        group->is_part = true;
}

/* Marks the groups whose results are only steps to this one. */
static void parts_mark(const Delinearizer *d, RegId reg, RegId dividend)
{
    Computation c;
    const bool computed = computed_by(d, reg, &c);
    require(computed);
    const bool selects = selected_wide(d, &c) != REG_NONE;
    for (unsigned s = 0; s < c.source_count && s < 2; s++) {
        if (selects)
            part_mark(d, narrow_of(d, c.sources[s].reg), REG_NONE);
        part_mark(d, c.sources[s].reg, dividend);
    }
}

static void inst_enter(Delinearizer *d, Inst *inst)
{
    RegId dividend;
    const RegId reg = inst_destination(inst);
    const Role role = reg == REG_NONE ? ROLE_NONE : role_of(d, reg, &dividend);
    if (role == ROLE_NONE || !(is_place(d, dividend) || is_quotient(d, dividend)))
        return;
    Group *group = pointer_map_get(&d->by_operands, inst->operands);
    if (!group) {
        group = ARENA_NEW(d->scratch, Group);
        group->role = role;
        pointer_map_put(&d->by_operands, inst->operands, group);
        VEC_PUSH(d->scratch, d->groups, group);
    }
    if (group->role != role || group->count == MOST_MEMBERS)
        return;
    group->members[group->count++] = (Member){.inst = inst, .reg = reg, .dividend = dividend};
    d->group_of[reg] = group;
    parts_mark(d, reg, dividend);
}

/* Finds the groups of a block, without those that only one replica has, and those that are parts of others. */
static void groups_find(Delinearizer *d)
{
    d->groups.count = d->guesses.count = d->rooms.count = 0;
    d->saved = 0;
    d->by_operands = (PointerMap){.arena = d->scratch};
    for (Inst *inst = d->block->first; inst; inst = inst->next)
        if (inst->operand_count)
            inst_enter(d, inst);
    size_t kept = 0;
    for (size_t g = 0; g < d->groups.count; g++)
        if (d->groups.data[g]->count > 1 && !d->groups.data[g]->is_part)
            d->groups.data[kept++] = d->groups.data[g];
    d->groups.count = kept;
    for (size_t g = 0; g < d->groups.count; g++)
        form_clusters(d, d->groups.data[g]);
}

/* How far the last dividend of the group is from the first, if all are divided by one value, and the others are between
 * these two; 0: they are not. */
static int64_t reach_of(const Delinearizer *d, const Group *group, Computation *first)
{
    int64_t reach = 0;
    Computation c;
    if (!computed_by(d, group->members[0].reg, first) || (first->op != COMPUTE_DIV && first->op != COMPUTE_REM) ||
        first->bits != 32 || group->clusters > 1)
        return 0;
    const ComputeSource *by = &first->sources[1];
    for (unsigned m = 0; m < group->count; m++) {
        const Member *member = &group->members[m];
        if (!computed_by(d, member->reg, &c) || c.op != first->op || c.is_signed != first->is_signed ||
            c.sources[1].reg != by->reg || c.sources[1].is_constant != by->is_constant ||
            c.sources[1].constant != by->constant || member->offset < 0 || member->offset > MOST_APART)
            return 0;
        reach = member->offset > reach ? member->offset : reach;
    }
    return first->sources[0].reg == REG_NONE || (by->reg == REG_NONE && !by->is_constant) ? 0 : reach;
}

/* Whether the instruction is computed of quotients that are one, and otherwise of what is a constant apart. */
static bool follows_from_room(const Delinearizer *d, const Member *member)
{
    Computation c, product;
    const Group *of = d->group_of[member->dividend];
    if (of && of->has_room && of->role == ROLE_QUOTIENT)
        return true;
    if (!computed_by(d, member->reg, &c) || c.op != COMPUTE_SUB || !computed_by(d, c.sources[1].reg, &product))
        return false;
    for (unsigned s = 0; s < 2 && product.op == COMPUTE_MUL; s++) {
        of = product.sources[s].reg == REG_NONE ? NULL : d->group_of[product.sources[s].reg];
        if (of && of->has_room && of->role == ROLE_QUOTIENT)
            return true;
    }
    return false;
}

/* Makes a test for all members of the group together, where that is possible, or none, where one follows from such a
 * test; true if they need not be compared. */
static bool find_room(Delinearizer *d, Group *group)
{
    Room room = {.role = group->role};
    bool follows = true;
    for (unsigned m = 0; m < group->count; m++)
        follows &= follows_from_room(d, &group->members[m]);
    if (!follows) {
        room.reach = group->is_inner ? 0 : reach_of(d, group, &room.division);
        if (!room.reach)
            return false;
        VEC_PUSH(d->scratch, d->rooms, room);
        d->saved += group->count - 1;
    }
    group->has_room = true;
    for (unsigned m = 1; m < group->count && (!follows || group->is_outer); m++)
        VEC_PUSH(d->scratch, d->guesses,
                 ((Guess){.reg = group->members[m].reg, .leader = group->members[0].reg,
                          .offset = group->role == ROLE_QUOTIENT ? 0 : group->members[m].offset, .follows = true}));
    return true;
}

/* The first member of each cluster is compared with the group's first, the others with it. */
static void guesses_make(Delinearizer *d, Group *group)
{
    if (find_room(d, group))
        return;
    for (unsigned m = 1; m < group->count; m++) {
        const Member *member = &group->members[m], *leader = group->members;
        if (group->role == ROLE_QUOTIENT)
            while (leader->cluster != member->cluster)
                leader++;
        if (leader != member)
            VEC_PUSH(d->scratch, d->guesses,
                     ((Guess){.reg = member->reg, .leader = leader->reg,
                              .offset = group->role == ROLE_QUOTIENT ? 0 : member->offset}));
    }
}

/* Marks what the block computes to get at the guessed values; false if that is more than arithmetic. */
static bool needed_find(const Delinearizer *d, Inst *from, PointerMap *needed)
{
    VEC(const Inst *) work = {0};
    for (size_t i = 0; i < d->guesses.count; i++) {
        if (!d->guesses.data[i].follows)
            VEC_PUSH(d->scratch, work, value_inst(d->values, d->guesses.data[i].reg));
        VEC_PUSH(d->scratch, work, value_inst(d->values, d->guesses.data[i].leader));
    }
    while (work.count) {
        const Inst *inst = work.data[--work.count];
        if (pointer_map_get(needed, inst) || inst->id < from->id)
            continue;
        if (!inst_is_computation(inst))
            return false;
        pointer_map_put(needed, inst, inst);
        for (unsigned r = 0; r < inst->ref_count; r++) {
            const Inst *source = ref_reads(&inst->refs[r]) ? value_inst(d->values, inst->refs[r].reg) : NULL;
            if (source && source->block == d->block)
                VEC_PUSH(d->scratch, work, source);
        }
    }
    return true;
}

/* Moves what is not needed for the comparison after it. Gives the first instruction of that; NULL: the block ends with
 * what is needed. */
static Inst *rest_separate(Inst *from, const PointerMap *needed)
{
    Inst *rest = NULL;
    for (Inst *inst = from, *next; inst; inst = next) {
        next = inst->next;
        if (!pointer_map_get(needed, inst)) {
            rest = rest ? rest : inst;
        } else if (rest) {
            inst_remove(inst);
            inst_insert_before(rest, inst);
        }
    }
    return rest;
}

static void put(const Delinearizer *d, Inst *at, Inst *inst)
{
    if (at)
        inst_insert_before(at, inst);
    else
        inst_append(d->block, inst);
}

/* result = a 'op' b; 'with', the last of the instruction's operands, may be a constant. */
static RegId put_sum(const Delinearizer *d, Inst *at, const char *op, RegId a, const ComputeSource *with)
{
    RegId result = body_add_reg(d->body, TYPE_B32, intern(d->body->module->names, "%room"));
    put(d, at, with->is_constant ? inst_build(d->body, op, "dri", result, a, (int64_t)with->constant)
                                 : inst_build(d->body, op, "drr", result, a, with->reg));
    return result;
}

/* 'holds', and the comparison with a constant; holds REG_NONE: the comparison alone. */
static RegId put_test(const Delinearizer *d, Inst *at, const char *ops[2], RegId a, int64_t b, RegId holds)
{
    RegId result = body_add_reg(d->body, TYPE_PRED, intern(d->body->module->names, "%alike"));
    put(d, at, holds == REG_NONE ? inst_build(d->body, ops[0], "dri", result, a, b)
                                 : inst_build(d->body, ops[1], "drir", result, a, b, holds));
    return result;
}

/* 'holds', and there is room for the others: the first dividend is not negative, and so are the others, the divisor is
 * positive, and the remainder of the first is smaller than that by more than they are greater. */
static RegId room_test(const Delinearizer *d, Inst *at, const Room *room, RegId leader, RegId holds)
{
    static const char *at_most[2] = {"setp.le.u32", "setp.le.and.u32"};
    static const char *signed_more[2] = {"setp.gt.s32", "setp.gt.and.s32"};
    static const char *more[2] = {"setp.gt.u32", "setp.gt.and.u32"};
    const Computation *c = &room->division;
    const ComputeSource *by = &c->sources[1], first = {.reg = c->sources[0].reg};
    RegId rest = leader, divisor = by->reg;
    if (room->role == ROLE_QUOTIENT) {
        const RegId product = put_sum(d, at, "mul.lo.s32", leader, by);
        rest = body_add_reg(d->body, TYPE_B32, intern(d->body->module->names, "%room"));
        put(d, at, inst_build(d->body, "sub.s32", "drr", rest, first.reg, product));
    }
    if (by->is_constant) {
        divisor = body_add_reg(d->body, TYPE_B32, intern(d->body->module->names, "%room"));
        put(d, at, inst_build(d->body, "mov.b32", "di", divisor, (int64_t)by->constant));
    }
    const ComputeSource used = {.reg = rest};
    const RegId left = put_sum(d, at, "sub.s32", divisor, &used);
    const int64_t most = c->is_signed ? INT32_MAX : (int64_t)UINT32_MAX;
    holds = put_test(d, at, at_most, first.reg, most - room->reach, holds);
    if (c->is_signed)
        holds = put_test(d, at, signed_more, divisor, 0, holds);
    return put_test(d, at, c->is_signed ? signed_more : more, left, room->reach, holds);
}

static RegId comparison_build(Delinearizer *d, Inst *at)
{
    Body *body = d->body;
    RegId holds = REG_NONE;
    for (size_t i = 0; i < d->rooms.count; i++)
        holds = room_test(d, at, &d->rooms.data[i], d->rooms.data[i].division.result, holds);
    for (size_t i = 0; i < d->guesses.count; i++) {
        Guess *guess = &d->guesses.data[i];
        RegId next = body_add_reg(body, TYPE_PRED, "%alike");
        const bool is_wide = type_bits(body->regs.data[guess->reg].type) == 64;
        guess->replacement = guess->leader;
        if (guess->offset) {
            guess->replacement = body_clone_reg(body, guess->reg);
            put(d, at, inst_build(body, is_wide ? "add.s64" : "add.s32", "dri", guess->replacement, guess->leader,
                                  guess->offset));
        }
        if (guess->follows)
            continue;
        put(d, at, holds == REG_NONE
                       ? inst_build(body, is_wide ? "setp.eq.s64" : "setp.eq.s32", "drr", next, guess->reg,
                                    guess->replacement)
                       : inst_build(body, is_wide ? "setp.eq.and.s64" : "setp.eq.and.s32", "drrr", next, guess->reg,
                                    guess->replacement, holds));
        holds = next;
    }
    return holds;
}

static void replace_in(const Delinearizer *d, const Dominance *dominance, const Block *head)
{
    RegId *replacement = ARENA_ARRAY(d->scratch, RegId, d->body->regs.count);
    for (size_t i = 0; i < d->guesses.count; i++)
        replacement[d->guesses.data[i].reg] = d->guesses.data[i].replacement + 1;
    for (size_t b = 0; b < d->body->blocks.count; b++) {
        Block *block = d->body->blocks.data[b];
        for (size_t p = 0; p < block->phis.count; p++)
            for (size_t a = 0; a < block->phis.data[p].args.count; a++) {
                PhiArg *arg = &block->phis.data[p].args.data[a];
                if (replacement[arg->reg] && dominance_has(dominance, head, arg->pred))
                    arg->reg = replacement[arg->reg] - 1;
            }
        if (!dominance_has(dominance, head, block))
            continue;
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]) && replacement[inst->refs[r].reg])
                    inst->refs[r].reg = replacement[inst->refs[r].reg] - 1;
    }
}

static unsigned loads_count(const Body *body, const Dominance *dominance, const Block *head)
{
    unsigned count = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        const Block *block = body->blocks.data[b];
        if (!dominance_has(dominance, head, block))
            continue;
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            Access access;
            count += inst_access(inst, &access) && access.kind == ACCESS_LOAD && access.space == SPACE_GLOBAL;
        }
    }
    return count;
}

/* Merges what is one now, pointers that advance alike too; whether the loads of the code from 'head' on are fewer than
 * those of its copy. */
static bool loads_merge(PassContext *context, const Block *head, const Block *copy)
{
    ReuseList list = {0};
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    merge_equal_values(context->body, context->analyses);
    analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    pass_run(context, PASS_INDUCTION);
    reuse_values(context->arena, context->body, context->analyses, LOCATION_LOADS, &list);
    analyses_invalidate(context->analyses, ANALYSES_INSTRUCTIONS);
    const Dominance *dominance = analyses_dominance(context->analyses);
    return loads_count(context->body, dominance, head) < loads_count(context->body, dominance, copy);
}

/* Versions the code that follows the block's divisions. */
static bool block_delinearize(PassContext *context, Delinearizer *d)
{
    Inst *from = d->groups.data[0]->members[0].inst;
    PointerMap needed = {.arena = d->scratch};
    uint32_t id = 0;
    for (Inst *inst = d->block->first; inst; inst = inst->next)
        inst->id = id++;
    if (!needed_find(d, from, &needed))
        return false;
    Inst *rest = rest_separate(from, &needed);
    if (!body_may_version(d->body, analyses_dominance(d->analyses), d->block, rest, MOST_COPIED))
        return false;
    const RegId holds = comparison_build(d, rest);
    Block *head = body_version(d->body, d->block, rest, holds), *copy = d->block->last->targets[0];
    analyses_invalidate(d->analyses, ANALYSES_ALL);
    replace_in(d, analyses_dominance(d->analyses), head);
    return loads_merge(context, head, copy) || d->saved >= LEAST_SAVED;
}

static void facts_find(Delinearizer *d)
{
    d->values = analyses_values(d->analyses);
    d->affine = analyses_affine(d->analyses);
    d->group_of = ARENA_ARRAY(d->scratch, Group *, d->body->regs.count);
}

/* Divides in the block what later ones divide, as the place of a row in its image after a test of the column, if that
 * takes computation alone. */
static void divisions_hoist(Delinearizer *d)
{
    const Dominance *dominance = analyses_dominance(d->analyses);
    const LoopForest *loops = analyses_loops(d->analyses);
    const EarlyPlace place = {.scratch = d->scratch, .body = d->body, .at = d->block, .values = d->values,
                              .dominance = dominance};
    RegIdVec late = {0};
    for (size_t b = 0; b < d->body->blocks.count; b++) {
        const Block *block = d->body->blocks.data[b];
        RegId dividend;
        if (block == d->block || block->is_cold || !dominance_has(dominance, d->block, block) ||
            loop_of(loops, block) != loop_of(loops, d->block))
            continue;
        for (const Inst *inst = block->first; inst; inst = inst->next) {
            const RegId reg = inst_destination(inst);
            if (reg != REG_NONE && late.count < MOST_HOISTED && role_of(d, reg, &dividend) != ROLE_NONE &&
                d->group_of[dividend] && value_is_early(&place, reg))
                VEC_PUSH(d->scratch, late, reg);
        }
    }
    for (size_t i = 0; i < late.count; i++)
        value_hoist(&place, late.data[i]);
    if (!late.count)
        return;
    analyses_invalidate(d->analyses, ANALYSES_INSTRUCTIONS);
    merge_equal_values(d->body, d->analyses);
    analyses_invalidate(d->analyses, ANALYSES_INSTRUCTIONS);
    facts_find(d);
    groups_find(d);
}

bool pass_delinearize(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    Delinearizer d = {.scratch = scratch,
                      .body = body,
                      .analyses = context->analyses,
                      .threads = merged_count(context->coarsening->shape.threads)};
    facts_find(&d);
    for (size_t b = 0; b < body->blocks.count && !d.guesses.count; b++) {
        d.block = body->blocks.data[b];
        if (d.block->is_cold)
            continue;
        groups_find(&d);
        if (d.groups.count)
            divisions_hoist(&d);
        for (size_t g = 0; g < d.groups.count; g++)
            guesses_make(&d, d.groups.data[g]);
    }
    const bool changed = d.guesses.count && block_delinearize(context, &d);
    arena_free(scratch);
    return changed;
}
