/* Loops that end by themselves, because they count.
 *
 * A loop that is left at the latest when a counter reaches a bound cannot wait for ever, whatever it reads in between:
 * "for (i = 0; i < *tries; i++)" ends after 2^32 rounds, even if another value is read each time.  It does if
 *   - each round passes one exit, at which it goes on only while the counter is on one side of the bound;
 *   - the counter comes nearer in every round, by at most so much that it cannot wrap before it is on the other side.
 *     With steps of one, the last integer is on the other side of every bound.  Longer steps need a bound that is away
 *     from the last integer; so does "<=".
 * A bound that is compared for inequality must not change, and the steps must be of one, so that none is left out.
 * Counters of 64 bits count if their bound has 32 at most: 2^64 rounds are no end.
 *
 * Requires SSA form, dominators and loops.  Changes nothing. */
#include "opt/coarsen_internal.h"

/* How far an expression may go, and the most that a value may add to a counter. */
enum { MOST_DEPTH = 16, MOST_STEP_BITS = 20 };

typedef struct Counting {
    Coarsening *c;
    const Values *values;
    const uint8_t *bits; /* by RegId: significant_bits() */
    const Loop *loop;
    RegId counter;       /* the phi of the header at hand */
    unsigned width;      /* its bits */
} Counting;

/* The least and the most that a value has over the counter. */
typedef struct Growth {
    int64_t least, most;
} Growth;

static bool is_plain_register(const Operand *operand)
{
    return operand->kind == OPERAND_REG && !operand->constant && !operand->negated && !operand->selector &&
           !operand->inverted;
}

static bool find_growth(const Counting *w, RegId reg, unsigned depth, Growth *out);

/* What an operand of a sum adds: a constant, or a value of few bits. */
static bool find_summand(const Counting *w, const Inst *inst, const Operand *operand, Growth *out)
{
    const int64_t most = INT64_C(1) << MOST_STEP_BITS;
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT) {
        int64_t value = (int64_t)(operand->constant->bits << (64 - w->width)) >> (64 - w->width);
        *out = (Growth){value, value};
        return value > -most && value < most;
    }
    if (!is_plain_register(operand) || w->bits[inst->refs[operand->ref].reg] > MOST_STEP_BITS)
        return false;
    *out = (Growth){0, (INT64_C(1) << w->bits[inst->refs[operand->ref].reg]) - 1};
    return true;
}

static bool find_sum(const Counting *w, const Inst *inst, unsigned depth, Growth *out)
{
    bool subtracts = inst_op(inst) == OP_SUB;
    for (unsigned i = 1; i <= (subtracts ? 1u : 2u); i++) {
        const Operand *operand = &inst->operands[i];
        Growth base, more;
        if (!is_plain_register(operand) || !find_summand(w, inst, &inst->operands[3 - i], &more) ||
            !find_growth(w, inst->refs[operand->ref].reg, depth + 1, &base))
            continue;
        *out = subtracts ? (Growth){base.least - more.most, base.most - more.least}
                         : (Growth){base.least + more.least, base.most + more.most};
        return true;
    }
    return false;
}

static bool join_growth(const Counting *w, RegId reg, unsigned depth, bool first, Growth *out)
{
    Growth one;
    if (!find_growth(w, reg, depth + 1, &one))
        return false;
    out->least = first || one.least < out->least ? one.least : out->least;
    out->most = first || one.most > out->most ? one.most : out->most;
    return true;
}

/* Where paths of one round meet. */
static bool find_meeting(const Counting *w, const ValueDef *def, unsigned depth, Growth *out)
{
    if (!def->block || loop_of(w->c->loops, def->block) != w->loop || def->block == w->loop->header)
        return false;
    const Phi *phi = &def->block->phis.data[def->phi];
    bool found = phi->args.count > 0;
    for (size_t a = 0; a < phi->args.count && found; a++)
        found = join_growth(w, phi->args.data[a].reg, depth, a == 0, out);
    return found;
}

static bool find_growth(const Counting *w, RegId reg, unsigned depth, Growth *out)
{
    const ValueDef *def = &w->values->defs[reg];
    *out = (Growth){0, 0};
    if (reg == w->counter)
        return true;
    if (depth > MOST_DEPTH)
        return false;
    if (!def->inst)
        return find_meeting(w, def, depth, out);
    const Inst *inst = def->inst;
    if (inst_is_opaque(inst) || inst->effects != EFFECT_PURE || inst->guard != REF_NONE || inst->tied_count ||
        !inst->signature->type_count || type_bits(inst->signature->types[0]) != w->width ||
        loop_of(w->c->loops, inst->block) != w->loop)
        return false;
    switch (inst_op(inst)) {
    case OP_ADD:
    case OP_SUB:
        return inst->operand_count == 3 && !inst_has(inst, MOD_SAT) &&
               type_class(inst->signature->types[0]) != CLASS_FLOAT && find_sum(w, inst, depth, out);
    case OP_MOV:
        return inst->operand_count == 2 && is_plain_register(&inst->operands[1]) &&
               find_growth(w, inst->refs[inst->operands[1].ref].reg, depth + 1, out);
    case OP_SELP:
        return inst->operand_count == 4 && is_plain_register(&inst->operands[1]) &&
               is_plain_register(&inst->operands[2]) &&
               join_growth(w, inst->refs[inst->operands[1].ref].reg, depth, true, out) &&
               join_growth(w, inst->refs[inst->operands[2].ref].reg, depth, false, out);
    default: return false;
    }
}

/* How much the counter grows in a round.  *next: its next value, if that is one register; else REG_NONE. */
static bool find_step(const Counting *w, const Phi *phi, Growth *step, RegId *next)
{
    bool first = true;
    *next = REG_NONE;
    for (size_t a = 0; a < phi->args.count; a++) {
        RegId reg = phi->args.data[a].reg;
        if (!loop_contains(w->c->loops, w->loop, phi->args.data[a].pred))
            continue;
        if (!join_growth(w, reg, 0, first, step))
            return false;
        *next = first || *next == reg ? reg : REG_NONE;
        first = false;
    }
    return !first;
}

/* The integers that an operand of a comparison can be, within those of its type; those above INT64_MAX count as it. */
typedef struct Bounds {
    int64_t low, high;
} Bounds;

static Bounds type_bounds(Type type)
{
    unsigned width = type_bits(type);
    bool is_signed = type_class(type) == CLASS_SIGNED;
    if (width == 64)
        return (Bounds){is_signed ? INT64_MIN : 0, INT64_MAX};
    return is_signed ? (Bounds){-(INT64_C(1) << (width - 1)), (INT64_C(1) << (width - 1)) - 1}
                     : (Bounds){0, (INT64_C(1) << width) - 1};
}

static Bounds operand_bounds(const Counting *w, const Inst *compare, const Operand *operand)
{
    Type type = compare->signature->types[0];
    unsigned width = type_bits(type);
    Bounds all = type_bounds(type);
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT && !operand->negated) {
        int64_t value = type_class(type) == CLASS_SIGNED || width == 64
                            ? (int64_t)(operand->constant->bits << (64 - width)) >> (64 - width)
                            : (int64_t)(operand->constant->bits & (uint64_t)all.high);
        return value < 0 && width == 64 && type_class(type) != CLASS_SIGNED ? all : (Bounds){value, value};
    }
    if (!is_plain_register(operand))
        return all;
    unsigned bits = w->bits[compare->refs[operand->ref].reg];
    return bits < width && bits < 63 ? (Bounds){0, (INT64_C(1) << bits) - 1} : all;
}

/* Whether the counter begins with an integer of 32 bits. */
static bool starts_small(const Counting *w)
{
    const Phi *phi = &w->loop->header->phis.data[w->values->defs[w->counter].phi];
    for (size_t a = 0; a < phi->args.count; a++)
        if (!loop_contains(w->c->loops, w->loop, phi->args.data[a].pred) && w->bits[phi->args.data[a].reg] > 32)
            return false;
    return true;
}

typedef enum Side { SIDE_NONE, SIDE_BELOW, SIDE_ABOVE, SIDE_APART } Side;

/* Where the left operand is while the comparison is as given.  *meets: it may also be equal. */
static Side side_of(const Inst *compare, bool holds, bool *meets)
{
    bool below = inst_has(compare, MOD_LT) || inst_has(compare, MOD_LO);
    bool most = inst_has(compare, MOD_LE) || inst_has(compare, MOD_LS);
    bool above = inst_has(compare, MOD_GT) || inst_has(compare, MOD_HI);
    bool least = inst_has(compare, MOD_GE) || inst_has(compare, MOD_HS);
    if (inst_has(compare, holds ? MOD_NE : MOD_EQ))
        return SIDE_APART;
    if (!below && !most && !above && !least)
        return SIDE_NONE;
    *meets = holds == (most || least);
    return (below || most) == holds ? SIDE_BELOW : SIDE_ABOVE;
}

static bool is_invariant(const Counting *w, const Inst *compare, const Operand *operand)
{
    if (operand->kind == OPERAND_CONSTANT)
        return true;
    if (!is_plain_register(operand))
        return false;
    const ValueDef *def = &w->values->defs[compare->refs[operand->ref].reg];
    return def->block && !loop_contains(w->c->loops, w->loop, def->block);
}

/* Whether a counter with such steps gets to the other side of the bound without wrapping. */
static bool arrives(const Counting *w, const Inst *compare, const Operand *bound, Side side, bool meets, Growth step)
{
    Bounds all = type_bounds(compare->signature->types[0]), at = operand_bounds(w, compare, bound);
    const int64_t far = INT64_C(1) << 40; /* from the ends of 64 bits */
    if (w->width == 64 && (side == SIDE_APART || !starts_small(w) || (side == SIDE_BELOW ? at.high > far
                                                                                        : at.low < -far)))
        return false;
    switch (side) {
    case SIDE_BELOW: /* the last value that it goes on with, and the next step */
        return step.least >= 1 && at.high - !meets <= all.high - step.most;
    case SIDE_ABOVE:
        return step.most <= -1 && at.low + !meets >= all.low - step.least;
    case SIDE_APART:
        return step.least == step.most && (step.least == 1 || step.least == -1) && is_invariant(w, compare, bound);
    default: return false;
    }
}

static Side mirrored(Side side)
{
    return side == SIDE_BELOW ? SIDE_ABOVE : side == SIDE_ABOVE ? SIDE_BELOW : side;
}

/* Whether the comparison's operand is the counter, or its next value, or that with a constant. */
static bool follows_counter(const Counting *w, RegId reg, RegId next)
{
    Growth offset;
    return reg == next || (find_growth(w, reg, 0, &offset) && offset.least == offset.most);
}

/* Whether a loop ends that goes on only while the comparison holds (or does not). */
static bool ends_by(Counting *w, const Inst *compare, bool holds)
{
    Type type = compare->signature->types[0];
    bool meets = false;
    Side side = side_of(compare, holds, &meets);
    if (type_class(type) == CLASS_FLOAT || type_bits(type) < 16 || type_bits(type) > 64 || side == SIDE_NONE)
        return false;
    w->width = type_bits(type);
    for (size_t p = 0; p < w->loop->header->phis.count; p++) {
        const Phi *phi = &w->loop->header->phis.data[p];
        Growth step;
        RegId next;
        w->counter = phi->dst;
        if (type_bits(w->c->body->regs.data[phi->dst].type) != w->width || !find_step(w, phi, &step, &next))
            continue;
        for (unsigned i = 1; i <= 2; i++)
            if (is_plain_register(&compare->operands[i]) &&
                follows_counter(w, compare->refs[compare->operands[i].ref].reg, next) &&
                arrives(w, compare, &compare->operands[3 - i], i == 1 ? side : mirrored(side), meets, step))
                return true;
    }
    return false;
}

/* Whether a loop ends that goes on only while the predicate is as given. */
static bool ends_while(Counting *w, RegId predicate, bool holds, unsigned depth)
{
    const Inst *inst = value_inst(w->values, predicate);
    if (!inst || depth > MOST_DEPTH || inst_is_opaque(inst) || inst->guard != REF_NONE || inst->tied_count ||
        loop_of(w->c->loops, inst->block) != w->loop || inst->operands[0].kind != OPERAND_REG)
        return false;
    bool joins = inst->operand_count == 3 && (inst_op(inst) == OP_AND || inst_op(inst) == OP_OR);
    if (inst_op(inst) == OP_SETP && (inst->operand_count == 3 || (inst->operand_count == 4 && inst_has(inst, MOD_AND))))
        return (inst->operand_count == 3 || holds) && ends_by(w, inst, holds);
    if (inst_op(inst) == OP_NOT && is_plain_register(&inst->operands[1]))
        return ends_while(w, inst->refs[inst->operands[1].ref].reg, !holds, depth + 1);
    for (unsigned i = 1; joins && i <= 2 && holds == (inst_op(inst) == OP_AND); i++)
        if (is_plain_register(&inst->operands[i]) &&
            ends_while(w, inst->refs[inst->operands[i].ref].reg, holds, depth + 1))
            return true;
    return false;
}

/* Whether every round passes the exit. */
static bool is_passed(const Counting *w, const Block *exit)
{
    if (loop_of(w->c->loops, exit) != w->loop)
        return false;
    for (uint32_t l = 0; l < w->loop->latch_count; l++)
        if (!dominance_has(w->c->dominance, exit, w->loop->latches[l]))
            return false;
    return true;
}

bool coarsening_counts_to_end(Coarsening *c, const Loop *loop)
{
    Counting w = {.c = c, .values = analyses_values(c->analyses), .loop = loop};
    w.bits = significant_bits(c->scratch, w.values);
    for (uint32_t b = 0; b < loop->block_count; b++) {
        const Block *exit = loop->blocks[b];
        const Inst *last = exit->last;
        if (!block_chooses(exit) || !last || last->target_count != 1 || last->guard == REF_NONE || !exit->fall ||
            !is_passed(&w, exit))
            continue;
        bool taken_stays = loop_contains(c->loops, loop, last->targets[0]);
        if (taken_stays == loop_contains(c->loops, loop, exit->fall))
            continue;
        if (ends_while(&w, last->refs[last->guard].reg, taken_stays != last->guard_inverted, 0))
            return true;
    }
    return false;
}
