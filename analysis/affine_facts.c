/* What branches say about 32-bit values: in a block that only 'i < n' leads to, i is not the greatest integer, so
 * i + 1 does not wrap. Facts are kept per block, each block's after those of its immediate dominator. */
#include "analysis/affine_internal.h"

enum {
    CONDITIONS = 16, /* of one branch: a condition that combines more is not looked into */
    LOOKED_AT = 64,  /* facts for one question: code may have thousands of nested branches */
};

/* The least and the greatest value of an operand of a comparison, as signed or as unsigned 32-bit integers. */
static bool operand_range(const Evaluator *evaluator, const Inst *inst, const Operand *operand, bool is_signed,
                          int64_t *low, int64_t *high)
{
    int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    if (operand->negated || operand->selector || operand->inverted)
        return false;
    *low = least;
    *high = most;
    if (operand->kind == OPERAND_CONSTANT && operand->constant->kind == CONSTANT_INT) {
        uint32_t bits = (uint32_t)operand->constant->bits;
        *low = *high = is_signed ? (int64_t)(int32_t)bits : (int64_t)bits;
        return true;
    }
    if (operand->kind != OPERAND_REG || operand->constant)
        return false;
    const AffineForm *form = &evaluator->affine->forms[inst->refs[operand->ref].reg];
    __int128 a, b;
    if (form->bits == 32 && affine_terms_bounds(form->terms, form->term_count, form->constant, &a, &b) &&
        a >= least && b <= most) {
        *low = (int64_t)a;
        *high = (int64_t)b;
    }
    return true;
}

static void add_fact(Evaluator *evaluator, const Block *block, const AffineForm *form, int64_t from, int64_t to)
{
    AffineFact *fact = ARENA_NEW(evaluator->scratch, AffineFact);
    *fact = (AffineFact){form, (uint32_t)from, (uint32_t)to, evaluator->facts[block->id]};
    evaluator->facts[block->id] = fact;
}

typedef enum Relation { RELATION_NONE, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL } Relation;

static Relation relation_of(const Inst *inst)
{
    static const struct {
        ModId mod;
        Relation relation;
    } spellings[] = {
        {MOD_LT, LESS},          {MOD_LE, LESS_EQUAL},    {MOD_GT, GREATER}, {MOD_GE, GREATER_EQUAL}, {MOD_LO, LESS},
        {MOD_LS, LESS_EQUAL},    {MOD_HI, GREATER},       {MOD_HS, GREATER_EQUAL},
        {MOD_EQ, EQUAL},         {MOD_NE, NOT_EQUAL},
    };
    for (size_t i = 0; i < COUNT_OF(spellings); i++)
        if (inst_has(inst, spellings[i].mod))
            return spellings[i].relation;
    return RELATION_NONE;
}

static Relation relation_negated(Relation relation)
{
    static const Relation negated[] = {RELATION_NONE, GREATER_EQUAL, GREATER, LESS_EQUAL, LESS, NOT_EQUAL, EQUAL};
    return negated[relation];
}

static Relation relation_swapped(Relation relation)
{
    static const Relation swapped[] = {RELATION_NONE, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, EQUAL, NOT_EQUAL};
    return swapped[relation];
}

/* Operand 'index' of the comparison is in this relation to the other one. */
static void compare_fact(Evaluator *evaluator, const Block *block, const Inst *inst, unsigned index, bool is_signed,
                         Relation relation)
{
    const Operand *operand = &inst->operands[index];
    int64_t low, high, least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    if (operand->kind != OPERAND_REG || operand->constant || operand->negated || operand->selector ||
        !operand_range(evaluator, inst, &inst->operands[3 - index], is_signed, &low, &high))
        return;
    const AffineForm *form = &evaluator->affine->forms[inst->refs[operand->ref].reg];
    if (form->bits != 32 || !form->term_count)
        return;
    switch (relation) {
    case LESS: high--; /* fall through */
    case LESS_EQUAL: low = least; break;
    case GREATER: low++; /* fall through */
    case GREATER_EQUAL: high = most; break;
    case EQUAL: break;
    case NOT_EQUAL:
        if (low == high)
            add_fact(evaluator, block, form, low + 1, low - 1);
        return;
    case RELATION_NONE: return;
    }
    /* An empty range: the block is never executed. */
    if (low <= high)
        add_fact(evaluator, block, form, low, high);
}

static void compare_facts(Evaluator *evaluator, const Block *block, const Inst *inst, bool holds)
{
    const Signature *signature = inst->signature;
    Type type = signature->types[0];
    Relation relation = relation_of(inst);
    if (inst->guard != REF_NONE || inst->operand_count != 3 || inst->operands[0].kind != OPERAND_REG ||
        signature->type_count != 1 || type_bits(type) != 32 || type_class(type) == CLASS_FLOAT)
        return;
    if (!holds)
        relation = relation_negated(relation);
    bool is_signed = type_class(type) == CLASS_SIGNED;
    compare_fact(evaluator, block, inst, 1, is_signed, relation);
    compare_fact(evaluator, block, inst, 2, is_signed, relation_swapped(relation));
}

/* A predicate register that is known to be true or false. */
typedef struct Condition {
    RegId reg;
    bool holds;
} Condition;

/* Both operands of 'a and b' hold where it does, and neither of 'a or b' where it does not. */
static unsigned condition_split(const Evaluator *evaluator, Condition condition, Condition *parts)
{
    const Inst *inst = evaluator->makers[condition.reg];
    Opcode op = inst_op(inst);
    bool splits = (op == OP_AND && condition.holds) || (op == OP_OR && !condition.holds);
    unsigned count = 0;
    if (op == OP_NOT && inst->operand_count == 2)
        splits = true;
    for (unsigned i = 1; i < inst->operand_count && splits; i++) {
        const Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_REG)
            parts[count++] =
                (Condition){inst->refs[operand->ref].reg, condition.holds ^ operand->inverted ^ (op == OP_NOT)};
    }
    return count;
}

void affine_facts_enter(Evaluator *evaluator, const Dominance *dominance, const Block *block)
{
    const Block *parent = dominance_parent(dominance, block);
    evaluator->facts[block->id] = parent ? evaluator->facts[parent->id] : NULL;
    evaluator->here = evaluator->facts[block->id];
    const Block *from = block->pred_count == 1 ? block->preds[0] : NULL;
    const Inst *branch = from ? from->last : NULL;
    if (!branch || !inst_is_terminator(branch) || branch->guard == REF_NONE || branch->target_count > 1)
        return;
    bool jumps = branch->target_count && branch->targets[0] == block;
    if (jumps && from->fall == block)
        return;
    Condition pending[CONDITIONS];
    unsigned count = 0;
    pending[count++] = (Condition){branch->refs[branch->guard].reg, jumps != branch->guard_inverted};
    while (count) {
        Condition condition = pending[--count];
        const Inst *maker = evaluator->makers[condition.reg];
        if (!maker || inst_is_opaque(maker) || maker->guard != REF_NONE)
            continue;
        if (inst_op(maker) == OP_SETP)
            compare_facts(evaluator, block, maker, condition.holds);
        else if (maker->signature->type_count == 1 && maker->signature->types[0] == TYPE_PRED &&
                 count + 2 < CONDITIONS && maker->operand_count <= 3)
            count += condition_split(evaluator, condition, &pending[count]);
    }
    evaluator->here = evaluator->facts[block->id];
}

bool affine_facts_exclude(const Evaluator *evaluator, const AffineForm *value, uint32_t from, uint32_t to)
{
    uint64_t left = (uint64_t)(to - from) + 1; /* candidates: from, from + 1, ... */
    for (bool again = true; again && left;) {
        again = false;
        unsigned looked = 0;
        for (const AffineFact *fact = evaluator->here; fact && left && looked < LOOKED_AT;
             fact = fact->next, looked++) {
            if (!affine_terms_equal(fact->form, value))
                continue;
            /* The values that the fact allows. */
            uint32_t shift = (uint32_t)value->constant - (uint32_t)fact->form->constant;
            uint32_t first = fact->from + shift, size = fact->to - fact->from;
            uint32_t at = from - first, end = from + (uint32_t)(left - 1) - first;
            /* What is not allowed lies after the last allowed value, up to the one before 'first'. */
            if (at > size) {
                uint64_t gone = (UINT64_C(1) << 32) - at;
                from += (uint32_t)gone;
                left = gone < left ? left - gone : 0;
                again = true;
            } else if (end > size) {
                uint64_t gone = (uint64_t)end - size;
                left = gone < left ? left - gone : 0;
                again = true;
            }
        }
    }
    return !left;
}
