/* Definitions and uses of the values of a body in SSA form. */
#include "analysis/values.h"

#include "analysis/evaluate/evaluate.h"

Values *values_compute(Arena *arena, const Body *body)
{
    require(body->ssa);
    size_t regs = body->regs.count, total = 0;
    Values *values = ARENA_NEW(arena, Values);
    values->body = body;
    values->reg_count = regs;
    values->defs = ARENA_ARRAY(arena, ValueDef, regs);
    values->use_start = ARENA_ARRAY(arena, uint32_t, regs + 2);
    /* Counts are stored two places ahead, so that filling moves each start to where it belongs. */
    uint32_t *start = values->use_start;
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++) {
            const Phi *phi = &block->phis.data[p];
            values->defs[phi->dst] = (ValueDef){.block = block, .phi = (uint32_t)p, .ref = REF_NONE};
            for (size_t a = 0; a < phi->args.count; a++, total++)
                start[phi->args.data[a].reg + 2]++;
        }
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++) {
                if (ref_writes(&inst->refs[r]))
                    values->defs[inst->refs[r].reg] = (ValueDef){.block = block, .inst = inst, .ref = (uint16_t)r};
                if (ref_reads(&inst->refs[r])) {
                    start[inst->refs[r].reg + 2]++;
                    total++;
                }
            }
    }
    require(total < UINT32_MAX);
    for (size_t i = 2; i <= regs; i++)
        start[i] += start[i - 1];
    values->uses = ARENA_ARRAY(arena, ValueUse, total + 1);
    for (size_t i = 0; i < body->blocks.count; i++) {
        Block *block = body->blocks.data[i];
        for (size_t p = 0; p < block->phis.count; p++) {
            const Phi *phi = &block->phis.data[p];
            for (size_t a = 0; a < phi->args.count; a++)
                values->uses[start[phi->args.data[a].reg + 1]++] =
                    (ValueUse){.block = block, .index = (uint32_t)p, .arg = (uint32_t)a};
        }
        for (Inst *inst = block->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count; r++)
                if (ref_reads(&inst->refs[r]))
                    values->uses[start[inst->refs[r].reg + 1]++] = (ValueUse){.block = block, .inst = inst, .index = r};
    }
    return values;
}

void value_replace_uses(const Values *values, RegId old, RegId replacement)
{
    for (uint32_t u = 0; u < value_use_count(values, old); u++) {
        const ValueUse *use = &value_uses(values, old)[u];
        if (use->inst)
            use->inst->refs[use->index].reg = replacement;
        else
            use->block->phis.data[use->index].args.data[use->arg].reg = replacement;
    }
}

static bool phi_may_be_undefined(const BitSet *undefined, const Phi *phi)
{
    for (size_t a = 0; a < phi->args.count; a++)
        if (bitset_has(undefined, phi->args.data[a].reg))
            return true;
    return false;
}

/* If the guard is false, the results are the old values, or undefined if there are none. */
static bool results_may_be_undefined(const BitSet *undefined, const Inst *inst)
{
    bool keeps = false;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        keeps |= inst->refs[r].role == REF_TIED;
        if (inst->refs[r].role == REF_TIED && bitset_has(undefined, inst->refs[r].reg))
            return true;
    }
    return inst_is_guarded(inst) && !keeps;
}

static bool undefined_add(BitSet *undefined, RegId reg)
{
    bool is_new = !bitset_has(undefined, reg);
    bitset_add(undefined, reg);
    return is_new;
}

bool value_is_available(const Values *values, const Dominance *dominance, RegId reg, const Inst *at)
{
    const ValueDef *def = &values->defs[reg];
    if (!def->block || def->block != at->block)
        return def->block && dominance_has(dominance, def->block, at->block);
    const Inst *before = at->prev;
    while (before && def->inst && before != def->inst)
        before = before->prev;
    return !def->inst || before;
}

BitSet values_maybe_undefined(Arena *arena, const Values *values)
{
    const Body *body = values->body;
    BitSet undefined = bitset_new(arena, values->reg_count);
    for (size_t r = 0; r < values->reg_count; r++)
        if (value_is_undefined(values, (RegId)r))
            bitset_add(&undefined, r);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < body->blocks.count; b++) {
            const Block *block = body->blocks.data[b];
            for (size_t p = 0; p < block->phis.count; p++)
                if (phi_may_be_undefined(&undefined, &block->phis.data[p]))
                    changed |= undefined_add(&undefined, block->phis.data[p].dst);
            for (const Inst *inst = block->first; inst; inst = inst->next)
                for (unsigned r = 0; r < inst->ref_count; r++)
                    if (ref_writes(&inst->refs[r]) && results_may_be_undefined(&undefined, inst))
                        changed |= undefined_add(&undefined, inst->refs[r].reg);
        }
    }
    return undefined;
}

bool inst_is_computation(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    return inst_is_plain(inst) && !inst_is_terminator(inst) && !inst->pragma && inst->sync == SYNC_NONE &&
           !(inst->effects & ~(unsigned)(EFFECT_PURE | EFFECT_THREAD)) &&
           !(sreg && sreg->dependence == SREG_VOLATILE);
}

bool sreg_is_common(const Sreg *sreg)
{
    return sreg->dependence == SREG_BLOCK || sreg->dependence == SREG_LAUNCH || sreg->dependence == SREG_CONSTANT;
}

RegId value_copied_from(const Values *values, RegId reg)
{
    for (const Inst *inst; reg != REG_NONE && (inst = value_inst(values, reg));) {
        const RegId from = computation_copied(values->body, inst);
        if (from == REG_NONE)
            break;
        reg = from;
    }
    return reg;
}
