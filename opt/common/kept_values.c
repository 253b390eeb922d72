/* Old values that guarded instructions keep.
 *
 * Some are not read by anything:
 *
 *     @p ld.global.u32 a, [x];    // a keeps its old value where p is false
 *     @p st.shared.u32 [y], a;
 *
 * If everything that reads the result is guarded alike, the old value is never seen, whatever it is: it may as well be
 * undefined, and no copy is needed for it. Others are kept by a copy that the instruction can do without:
 *
 *     @p fma.rn.f32 b, x, y, sum;
 *     @p mov.f32 sum, b;          // becomes @p fma.rn.f32 sum, x, y, sum
 *
 * The assembler does not see that: it selects between both registers, and keeps the old one in a third. */
#include "opt/common/cleanup.h"

static bool is_guarded_alike(const Inst *inst, const Inst *as)
{
    return inst_is_guarded(inst) && insts_guarded_alike(inst, as);
}

/* True if the value is read only where the instruction, which makes it, is executed. */
static bool is_read_alike(const Values *values, const Inst *inst, RegId reg)
{
    for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
        const ValueUse *use = &value_uses(values, reg)[u];
        if (!use->inst || !is_guarded_alike(use->inst, inst) || use->index == use->inst->guard ||
            use->inst->refs[use->index].role != REF_USE)
            return false;
    }
    return true;
}

unsigned forget_kept_values(Body *body, Analyses *analyses)
{
    const Values *values = analyses_values(analyses);
    unsigned forgotten = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            for (unsigned r = 0; r < inst->ref_count && inst_is_guarded(inst); r++) {
                RegRef *kept = &inst->refs[r];
                if (kept->role != REF_TIED || kept->type != TYPE_NONE || kept->reg >= values->reg_count ||
                    value_is_undefined(values, kept->reg) ||
                    !is_read_alike(values, inst, inst->refs[kept->partner].reg))
                    continue;
                kept->reg = body_clone_reg(body, kept->reg);
                forgotten++;
            }
    return forgotten;
}

/* The only register that the instruction has in this role, apart from its guard; NULL: none or several. */
static RegRef *only_ref(const Inst *inst, RefRole role)
{
    RegRef *only = NULL;
    for (unsigned r = 0; r < inst->ref_count; r++) {
        if (inst->refs[r].role != role || r == inst->guard)
            continue;
        if (only)
            return NULL;
        only = &inst->refs[r];
    }
    return only;
}

/* The instruction that makes what the guarded copy copies, if nothing else reads that, and it is executed if the copy
 * is; else NULL. */
static Inst *copied_maker(const Values *values, const Inst *copy)
{
    const RegRef *from = only_ref(copy, REF_USE);
    Inst *maker = from && from->reg < values->reg_count ? value_inst(values, from->reg) : NULL;
    const bool is_alike = maker && maker->block == copy->block && is_guarded_alike(maker, copy);
    const RegRef *made = is_alike ? only_ref(maker, REF_DEF) : NULL, *kept = made ? only_ref(maker, REF_TIED) : NULL;
    const bool is_only_copied = kept && kept->type == TYPE_NONE && value_use_count(values, from->reg) == 1 &&
                                kept->reg < values->reg_count && value_is_undefined(values, kept->reg);
    return is_only_copied ? maker : NULL;
}

/* True if the value is there before the instruction, and nothing reads it after that but the copy, which keeps it. */
static bool is_kept_by_copy(Analyses *analyses, RegId reg, const Inst *inst, const Inst *copy)
{
    const Values *values = analyses_values(analyses);
    const ValueDef *def = reg < values->reg_count ? &values->defs[reg] : NULL;
    if (!def || !def->block || (def->inst && def->block == inst->block && def->inst->id >= inst->id) ||
        live_set_has(live_out(analyses_liveness(analyses), inst->block), reg))
        return false;
    for (uint32_t u = 0; u < value_use_count(values, reg); u++) {
        const Inst *reader = value_uses(values, reg)[u].inst;
        if (reader && reader->block == inst->block && reader != copy && reader->id > inst->id)
            return false;
    }
    return true;
}

static bool copies_if_executed(const Body *body, const Inst *inst)
{
    Computation c;
    return computation_if_executed(body, inst, &c) && c.op == COMPUTE_COPY && !c.sources[0].is_inverted &&
           c.bits == c.reg_bits && c.bits == c.sources[0].reg_bits;
}

/* Makes what is copied where it is copied to; false if that cannot be. */
static bool fold_copy(const Body *body, Analyses *analyses, Inst *copy)
{
    RegRef *to = only_ref(copy, REF_DEF), *old = only_ref(copy, REF_TIED);
    Inst *maker = to && old ? copied_maker(analyses_values(analyses), copy) : NULL;
    if (!maker || !is_kept_by_copy(analyses, old->reg, maker, copy))
        return false;
    RegRef *made = only_ref(maker, REF_DEF);
    const Reg *made_reg = &body->regs.data[made->reg], *to_reg = &body->regs.data[to->reg];
    if (made_reg->vector != to_reg->vector || type_bits(made_reg->type) != type_bits(to_reg->type))
        return false;
    made->reg = to->reg;
    only_ref(maker, REF_TIED)->reg = old->reg;
    inst_remove(copy);
    return true;
}

unsigned fold_kept_copies(Body *body, Analyses *analyses)
{
    unsigned folded = 0;
    for (size_t b = 0; b < body->blocks.count; b++) {
        uint32_t id = 0;
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            inst->id = id++;
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            if (inst_is_guarded(inst) && copies_if_executed(body, inst))
                folded += fold_copy(body, analyses, inst);
        }
    }
    return folded;
}
