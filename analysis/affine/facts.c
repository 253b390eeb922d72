/* Facts that branches prove about 32-bit values: in a block that only 'i < n' leads to, i is not the greatest integer,
 * so i + 1 does not wrap. Facts are kept per block, each block's after those of its immediate dominator. */
#include "analysis/affine/internal.h"

enum {
    CONDITIONS = 16, /* of one branch: a condition that combines more is ignored */
    LOOKED_AT = 64,  /* facts examined for one question: code may have thousands of nested branches */
};

static void add_fact(Evaluator *evaluator, const Block *block, const AffineForm *form, int64_t from, int64_t to)
{
    AffineFact *fact = ARENA_NEW(evaluator->scratch, AffineFact);
    *fact = (AffineFact){form, (uint32_t)from, (uint32_t)to, evaluator->facts[block->id]};
    evaluator->facts[block->id] = fact;
}

/* Adds the fact that the source of a comparison is in this relation to something with these bounds. */
static void compare_fact(Evaluator *evaluator, const Block *block, const ComputeSource *source, bool is_signed,
                         Relation relation, const Bounds *other)
{
    const Bounds any = bounds_any(32);
    int64_t least = is_signed ? any.least : (int64_t)any.low, most = is_signed ? any.most : (int64_t)any.high;
    int64_t low = is_signed ? other->least : (int64_t)other->low, high = is_signed ? other->most : (int64_t)other->high;
    if (source->reg == REG_NONE)
        return;
    const AffineForm *form = &evaluator->affine->forms[source->reg];
    if (form->bits != 32 || !form->term_count)
        return;
    switch (relation) {
    case RELATION_LESS: high--; /* fall through */
    case RELATION_LESS_EQUAL: low = least; break;
    case RELATION_GREATER: low++; /* fall through */
    case RELATION_GREATER_EQUAL: high = most; break;
    case RELATION_EQUAL: break;
    case RELATION_NOT_EQUAL:
        if (low == high)
            add_fact(evaluator, block, form, low + 1, low - 1);
        return;
    case RELATION_NONE: return;
    }
    /* An empty range: the block is never executed. */
    if (low <= high)
        add_fact(evaluator, block, form, low, high);
}

static void compare_facts(Evaluator *evaluator, const Block *block, const Computation *c, bool holds)
{
    Relation relation = holds ? c->relation : relation_negated(c->relation);
    Bounds bounds[2];
    for (unsigned i = 0; i < 2; i++)
        bounds[i] = c->sources[i].is_constant       ? bounds_point(32, c->sources[i].constant)
                    : c->sources[i].reg != REG_NONE ? affine_reg_bounds(evaluator->affine, c->sources[i].reg)
                                                    : bounds_any(32);
    compare_fact(evaluator, block, &c->sources[0], c->is_signed, relation, &bounds[1]);
    compare_fact(evaluator, block, &c->sources[1], c->is_signed, relation_swapped(relation), &bounds[0]);
}

/* A predicate register that is known to be true or false. */
typedef struct Condition {
    RegId reg;
    bool holds;
} Condition;

/* Splits a condition: both operands of 'a and b' hold if it does, and neither of 'a or b' holds if it does not. */
static unsigned condition_split(const Computation *c, Condition condition, Condition *parts)
{
    bool is_opposite = c->op == COMPUTE_NOT;
    bool splits = c->bits == 1 && ((c->op == COMPUTE_AND && condition.holds) ||
                                   (c->op == COMPUTE_OR && !condition.holds) || c->op == COMPUTE_COPY || is_opposite);
    unsigned count = 0;
    for (unsigned i = 0; i < c->source_count && splits; i++)
        if (c->sources[i].reg != REG_NONE)
            parts[count++] =
                (Condition){c->sources[i].reg, condition.holds ^ c->sources[i].is_inverted ^ is_opposite};
    return count;
}

void affine_facts_enter(Evaluator *evaluator, const Dominance *dominance, const Block *block)
{
    const Block *parent = dominance_parent(dominance, block);
    evaluator->facts[block->id] = parent ? evaluator->facts[parent->id] : NULL;
    evaluator->here = evaluator->facts[block->id];
    const Block *from = block->pred_count == 1 ? block->preds[0] : NULL;
    const Inst *branch = from ? from->last : NULL;
    if (!branch || !inst_is_terminator(branch) || !inst_is_guarded(branch) || branch->target_count > 1)
        return;
    bool jumps = branch->target_count && branch->targets[0] == block;
    if (jumps && from->fall == block)
        return;
    Condition pending[CONDITIONS];
    unsigned count = 0;
    pending[count++] = (Condition){inst_predicate(branch), jumps != branch->guard_inverted};
    while (count) {
        Condition condition = pending[--count];
        const Inst *maker = evaluator->makers[condition.reg];
        Computation c;
        if (!maker || !computation_of(evaluator->body, maker, &c))
            continue;
        if (computation_is_comparison(&c, 32))
            compare_facts(evaluator, block, &c, condition.holds);
        else if (count + 2 < CONDITIONS)
            count += condition_split(&c, condition, &pending[count]);
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
            /* The values that the fact allows: 'size' + 1 of them, from 'first' on. */
            uint32_t shift = (uint32_t)value->constant - (uint32_t)fact->form->constant;
            uint32_t first = fact->from + shift, size = fact->to - fact->from;
            uint32_t at = from - first, end = from + (uint32_t)(left - 1) - first;
            /* The excluded values lie after the last allowed one, up to the one before 'first'. */
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
