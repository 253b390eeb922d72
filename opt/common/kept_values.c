/* Old values that guarded instructions keep, and nothing reads.
 *
 *     @p ld.global.u32 a, [x];    // a keeps its old value where p is false
 *     @p st.shared.u32 [y], a;
 *
 * If everything that reads the result is guarded alike, the old value is never seen, whatever it is: it may as well be
 * undefined, and no copy is needed for it. */
#include "opt/common/cleanup.h"

static bool is_guarded_alike(const Inst *inst, const Inst *as)
{
    return inst_is_guarded(inst) && inst_predicate(inst) == inst_predicate(as) &&
           inst->guard_inverted == as->guard_inverted;
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
