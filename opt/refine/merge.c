/* Refinement: values that sum up what the rounds of a loop add. */
#include "opt/refine/internal.h"

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

Merge merge_find(const Refine *r, const Loop *loop, const Phi *phi, RegId next, const char **spelling)
{
    const Values *values = analyses_values(r->analyses);
    const LoopForest *loops = analyses_loops(r->analyses);
    const unsigned bits = type_bits(r->body->regs.data[phi->dst].type);
    Merge merge = MERGE_NONE;
    for (RegId value = phi->dst; value != next;) {
        const Inst *link = only_link(values, loops, loop, value);
        const char *text = NULL;
        const Merge one = link ? link_merge(link, bits, &text) : MERGE_NONE;
        if (one == MERGE_NONE || (merge != MERGE_NONE && (one != merge || strcmp(text, *spelling) != 0)))
            return MERGE_NONE;
        merge = one;
        *spelling = text;
        value = inst_destination(link);
        if (value == REG_NONE)
            return MERGE_NONE;
    }
    return is_read_by_phi_alone(values, loops, loop, next) ? merge : MERGE_NONE;
}
