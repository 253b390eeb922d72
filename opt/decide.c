/* Conditions whose outcome the ranges of their operands tell.
 *
 * Requires SSA form. Preserves SSA form and the launch; edges, blocks and phis go.
 *
 * With a known block size, the index of a replica is a constant more than the thread's: of "if (tid < 3)" for a halo,
 * only the first replica's is a question. Comparisons of sums whose bounds decide them become constants, and so do
 * their conjunctions; branches on those are taken always or never, and what is left without a path to it goes. */
#include "opt/cleanup.h"
#include "opt/pass.h"

/* What a predicate is known to be. */
typedef enum Decision { OPEN, NEVER, ALWAYS } Decision;

typedef struct Decider {
    Body *body;
    const Affine *affine;
    uint8_t *known; /* by RegId: Decision */
} Decider;

/* The values that a 32-bit operand can have, as integers of the comparison's kind. */
static bool operand_range(const Decider *decider, const Inst *inst, const Operand *operand, bool is_signed,
                          int64_t range[2])
{
    if (operand->negated || operand->selector)
        return false;
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT) {
        uint32_t bits = (uint32_t)operand->constant->bits;
        range[0] = range[1] = is_signed ? (int64_t)(int32_t)bits : (int64_t)bits;
        return true;
    }
    if (operand->kind != OPERAND_REG || operand->constant)
        return false;
    const AffineForm *form = &decider->affine->forms[inst->refs[operand->ref].reg];
    return affine_bounds(form, &range[0], &range[1]) && (is_signed || range[0] >= 0);
}

static Decision outcome_if(bool always, bool never)
{
    return always ? ALWAYS : never ? NEVER : OPEN;
}

static Decision compare(const Decider *decider, const Inst *inst)
{
    int64_t a[2], b[2];
    if (inst->operand_count != 3 || inst->signature->type_count != 1 || type_bits(inst->signature->types[0]) != 32 ||
        type_class(inst->signature->types[0]) == CLASS_FLOAT)
        return OPEN;
    bool is_signed = inst->signature->types[0] == TYPE_S32;
    if (!operand_range(decider, inst, &inst->operands[1], is_signed, a) ||
        !operand_range(decider, inst, &inst->operands[2], is_signed, b))
        return OPEN;
    if (inst_has(inst, MOD_LT))
        return outcome_if(a[1] < b[0], a[0] >= b[1]);
    if (inst_has(inst, MOD_LE))
        return outcome_if(a[1] <= b[0], a[0] > b[1]);
    if (inst_has(inst, MOD_GT))
        return outcome_if(a[0] > b[1], a[1] <= b[0]);
    if (inst_has(inst, MOD_GE))
        return outcome_if(a[0] >= b[1], a[1] < b[0]);
    bool apart = a[1] < b[0] || a[0] > b[1], same = a[0] == a[1] && b[0] == b[1] && a[0] == b[0];
    if (inst_has(inst, MOD_EQ))
        return outcome_if(same, apart);
    return inst_has(inst, MOD_NE) ? outcome_if(apart, same) : OPEN;
}

static Decision operand_outcome(const Decider *decider, const Inst *inst, const Operand *operand)
{
    if (operand->kind != OPERAND_REG || operand->negated || operand->inverted)
        return OPEN;
    return (Decision)decider->known[inst->refs[operand->ref].reg];
}

/* A conjunction or disjunction of predicates; 'decisive': what decides it alone. */
static Decision combine(const Decider *decider, const Inst *inst, Decision decisive)
{
    Decision a = operand_outcome(decider, inst, &inst->operands[1]);
    Decision b = operand_outcome(decider, inst, &inst->operands[2]);
    return a == decisive || b == decisive ? decisive : a == b ? a : OPEN;
}

static Decision decide(const Decider *decider, const Inst *inst)
{
    bool joins = inst->operand_count == 3 && inst->signature->type_count && inst->signature->types[0] == TYPE_PRED;
    if (inst_is_opaque(inst) || inst->guard != REF_NONE || inst->effects != EFFECT_PURE || inst->tied_count ||
        !inst->operand_count || inst->operands[0].kind != OPERAND_REG)
        return OPEN;
    switch (inst_op(inst)) {
    case OP_SETP: return compare(decider, inst);
    case OP_AND: return joins ? combine(decider, inst, NEVER) : OPEN;
    case OP_OR: return joins ? combine(decider, inst, ALWAYS) : OPEN;
    default: return OPEN;
    }
}

/* Takes a branch that is decided; false if it is not. */
static bool branch_settle(Decider *decider, Block *block)
{
    Inst *last = block->last;
    if (!last || !inst_is_branch(last) || last->guard == REF_NONE || last->target_count != 1 || !block->fall)
        return false;
    Decision outcome = (Decision)decider->known[last->refs[last->guard].reg];
    if (outcome == OPEN)
        return false;
    Block *target = last->targets[0];
    inst_remove(last);
    if ((outcome == ALWAYS) != last->guard_inverted) {
        inst_append(block, inst_build_branch(decider->body, target, REG_NONE, false));
        block->fall = NULL;
    }
    return true;
}

/* A guarded instruction that is always executed loses its guard.  One that never is goes, if it has no results: a store
 * of a predicated region.  What computes its operands is dead then. */
static bool guarded_settle(const Decider *decider, Inst *inst)
{
    if (inst->guard == REF_NONE || inst_is_opaque(inst) || inst_is_terminator(inst))
        return false;
    Decision outcome = (Decision)decider->known[inst->refs[inst->guard].reg];
    if (outcome == OPEN)
        return false;
    if ((outcome == ALWAYS) != inst->guard_inverted)
        return inst_unguard(inst);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return false;
    inst_remove(inst);
    return true;
}

/* "and" and "or" of a predicate that is known and one that is not are the other one. */
static bool joined_settle(const Decider *decider, Inst *inst)
{
    bool joins = !inst_is_opaque(inst) && (inst_op(inst) == OP_AND || inst_op(inst) == OP_OR) &&
                 inst->operand_count == 3 && inst->operands[0].kind == OPERAND_REG && inst->guard == REF_NONE &&
                 inst->signature->type_count && inst->signature->types[0] == TYPE_PRED;
    if (!joins || decider->known[inst->refs[inst->operands[0].ref].reg] != OPEN)
        return false;
    for (unsigned i = 1; i <= 2; i++) {
        const Operand *other = &inst->operands[3 - i];
        if (operand_outcome(decider, inst, &inst->operands[i]) == OPEN || other->kind != OPERAND_REG ||
            other->negated || other->inverted)
            continue;
        Inst *copy = inst_build(decider->body, "mov.pred", "dr", inst->refs[inst->operands[0].ref].reg,
                                inst->refs[other->ref].reg);
        inst_insert_before(inst, copy);
        inst_remove(inst);
        return true;
    }
    return false;
}

static bool has_cold_side_only(const Block *block)
{
    bool any = false;
    FOR_EACH_SUCC(block, succ)
    {
        if (!succ->is_cold)
            return false;
        any = true;
    }
    return any;
}

/* A slow side whose other side is gone is where all go: it is slow no longer, and neither is what follows in it. */
static void slow_sides_check(const Body *body, Arena *scratch)
{
    VEC(Block *) warm = {0};
    for (size_t b = 0; b < body->blocks.count; b++)
        if (!body->blocks.data[b]->is_cold && has_cold_side_only(body->blocks.data[b]))
            VEC_PUSH(scratch, warm, body->blocks.data[b]);
    while (warm.count) {
        const Block *block = warm.data[--warm.count];
        FOR_EACH_SUCC(block, succ)
        {
            if (!succ->is_cold || succ->is_never)
                continue;
            succ->is_cold = false;
            VEC_PUSH(scratch, warm, succ);
        }
    }
}

bool pass_decide(PassContext *context)
{
    Arena *scratch = arena_new();
    Body *body = context->body;
    Decider decider = {.body = body,
                       .affine = analyses_affine(context->analyses),
                       .known = ARENA_ARRAY(scratch, uint8_t, body->regs.count)};
    /* Definitions come before their uses but in loops, whose conditions are not decided through phis anyway. */
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            Decision outcome = decide(&decider, inst);
            if (outcome != OPEN)
                decider.known[inst->refs[inst->operands[0].ref].reg] = (uint8_t)outcome;
        }
    unsigned settled = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            settled += guarded_settle(&decider, inst) || joined_settle(&decider, inst);
        }
        settled += branch_settle(&decider, body->blocks.data[b]);
    }
    if (settled) {
        body_update_preds(body);
        body_remove_unreachable(body);
        slow_sides_check(body, scratch);
        analyses_invalidate(context->analyses, ANALYSES_ALL);
        remove_dead_code(body, context->analyses);
    }
    arena_free(scratch);
    return settled > 0;
}
