/* Refinement: values that sum up what the rounds of a loop add. */
#include "opt/refine/internal.h"

#include <string.h>

/* The operands of a link, the instruction that adds to the value, which may be the value: a bit each. */
static unsigned value_operands(const Inst *inst)
{
    switch (inst_op(inst)) {
    case OP_ADD:
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return inst->operand_count == 3 ? 1 << 1 | 1 << 2 : 0;
    case OP_SUB: return 1 << 1;
    case OP_MAD:
    case OP_FMA:
    case OP_DP4A: return 1 << 3;
    default: return 0;
    }
}

static bool is_exact_rounding(const Inst *inst)
{
    return !inst_has(inst, MOD_RZ) && !inst_has(inst, MOD_RM) && !inst_has(inst, MOD_RP);
}

/* How a link combines; the spelling is that of the same operation on two parts, of the register's width. */
static Merge link_merge(const Inst *inst, unsigned bits, const char **spelling)
{
    const Opcode op = inst_op(inst);
    const TypeClass class = inst->signature->type_count ? type_class(inst->signature->types[0]) : CLASS_NONE;
    const bool is_wide = bits == 64;
    if ((bits != 32 && !is_wide) || inst_has(inst, MOD_SAT) || inst_has(inst, MOD_XORSIGN) ||
        inst->effects & (EFFECT_CC_READ | EFFECT_CC_WRITE))
        return MERGE_NONE;
    switch (op) {
    case OP_MIN:
    case OP_MAX:
    case OP_AND:
    case OP_OR:
        *spelling = inst->signature->spelling;
        return type_bits(inst->signature->types[0]) == bits && !inst_has(inst, MOD_RELU) ? MERGE_IDEMPOTENT
                                                                                         : MERGE_NONE;
    case OP_XOR: *spelling = is_wide ? "xor.b64" : "xor.b32"; return MERGE_XOR;
    default: break;
    }
    if (class != CLASS_FLOAT) {
        *spelling = is_wide ? "add.s64" : "add.s32";
        /* A product of 32 bits that a wider register holds is not a sum of that width. */
        const bool fits = op == OP_DP4A || inst_has(inst, MOD_WIDE) || type_bits(inst->signature->types[0]) == bits;
        return fits ? MERGE_SUM : MERGE_NONE;
    }
    if (type_bits(inst->signature->types[0]) != bits || !is_exact_rounding(inst) ||
        (inst->signature->types[0] != TYPE_F32 && inst->signature->types[0] != TYPE_F64))
        return MERGE_NONE;
    *spelling = is_wide ? "add.f64" : inst_has(inst, MOD_FTZ) ? "add.ftz.f32" : "add.f32";
    return MERGE_FLOAT_SUM;
}

/* The only use of the value, by a link in the loop; NULL: there is another. */
static Inst *only_link(const Values *values, const LoopForest *loops, const Loop *loop, RegId value)
{
    if (value_use_count(values, value) != 1)
        return NULL;
    const ValueUse *use = value_uses(values, value);
    Inst *inst = use->inst;
    if (!inst || !inst_is_plain(inst) || !loop_contains(loops, loop, use->block))
        return NULL;
    const unsigned operands = value_operands(inst);
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst_reg(inst, i) == value)
            return operands & 1u << i ? inst : NULL;
    return NULL;
}

/* True if nothing in the loop reads the value but the header's phi. */
static bool is_read_by_phi_alone(const Values *values, const LoopForest *loops, const Loop *loop, RegId value)
{
    for (uint32_t u = 0; u < value_use_count(values, value); u++) {
        const ValueUse *use = &value_uses(values, value)[u];
        const bool is_of_header = !use->inst && use->block == loop->header;
        if (!is_of_header && loop_contains(loops, loop, use->block))
            return false;
    }
    return true;
}

static bool has_bits(const Inst *inst, unsigned bits)
{
    return inst->signature->type_count && type_bits(inst->signature->types[0]) == bits;
}

/* The value's use in the loop by an instruction of this operation, which has one result; NULL: there is none. */
static Inst *use_by(const Values *values, const LoopForest *loops, const Loop *loop, RegId value, Opcode op)
{
    for (uint32_t u = 0; u < value_use_count(values, value); u++) {
        const ValueUse *use = &value_uses(values, value)[u];
        if (use->inst && inst_op(use->inst) == op && inst_is_plain(use->inst) &&
            loop_contains(loops, loop, use->block) && inst_destination(use->inst) != REG_NONE)
            return use->inst;
    }
    return NULL;
}

/* Whether the comparison orders its operands, and the value is kept if 'keeps' says so. An element that is not a number
 * must never replace the value: it would not be replaced by others, or by all, and the next rounds would begin anew. */
static bool chooses_alike(const Inst *compare, bool keeps)
{
    static const ModId ordered[] = {MOD_LT, MOD_LE, MOD_GT, MOD_GE}, unordered[] = {MOD_LTU, MOD_LEU, MOD_GTU, MOD_GEU};
    const ModId *relations = type_class(compare->signature->types[0]) == CLASS_FLOAT && keeps ? unordered : ordered;
    for (unsigned i = 0; i < COUNT_OF(ordered); i++)
        if (inst_has(compare, relations[i]))
            return true;
    return false;
}

/* The selection of the value or an element, by their comparison, which are the value's only uses; NULL: none. */
static Inst *choice_link(const Refine *r, const Loop *loop, RegId value, unsigned bits, Merge *merge, MergeWith *with)
{
    const Values *values = analyses_values(r->analyses);
    const LoopForest *loops = analyses_loops(r->analyses);
    Inst *compare = use_by(values, loops, loop, value, OP_SETP), *select = use_by(values, loops, loop, value, OP_SELP);
    if (value_use_count(values, value) != 2 || !compare || !select || compare->operand_count != 3 ||
        (bits != 32 && bits != 64) || !has_bits(compare, bits) || !has_bits(select, bits))
        return NULL;
    const RegId predicate = inst_destination(compare);
    with->first = inst_reg(compare, 1) == value;
    with->keeps = inst_reg(select, 1) == value;
    with->spelling = inst_spelling(r->scratch, compare);
    const RegId element = inst_reg(compare, with->first ? 2 : 1);
    if (element == REG_NONE || element == value || inst_reg(select, with->keeps ? 2 : 1) != element ||
        inst_reg(select, 3) != predicate || value_use_count(values, predicate) != 1 ||
        !chooses_alike(compare, with->keeps))
        return NULL;
    *merge = type_class(compare->signature->types[0]) == CLASS_FLOAT ? MERGE_FLOAT_CHOICE : MERGE_CHOICE;
    return select;
}

static bool merge_is_equal(const MergeWith *a, const MergeWith *b)
{
    return a->first == b->first && a->keeps == b->keeps && strcmp(a->spelling, b->spelling) == 0;
}

Merge merge_find(const Refine *r, const Loop *loop, const Phi *phi, RegId next, MergeWith *with)
{
    const Values *values = analyses_values(r->analyses);
    const LoopForest *loops = analyses_loops(r->analyses);
    const unsigned bits = type_bits(r->body->regs.data[phi->dst].type);
    Merge merge = MERGE_NONE;
    for (RegId value = phi->dst; value != next;) {
        const Inst *link = only_link(values, loops, loop, value);
        MergeWith own = {0};
        Merge one = link ? link_merge(link, bits, &own.spelling) : MERGE_NONE;
        if (!link)
            link = choice_link(r, loop, value, bits, &one, &own);
        if (one == MERGE_NONE || (merge != MERGE_NONE && (one != merge || !merge_is_equal(&own, with))))
            return MERGE_NONE;
        merge = one;
        *with = own;
        value = inst_destination(link);
        if (value == REG_NONE)
            return MERGE_NONE;
    }
    return is_read_by_phi_alone(values, loops, loop, next) ? merge : MERGE_NONE;
}
