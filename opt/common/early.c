#include "opt/common/early.h"

#include "opt/common/cleanup.h"

bool inst_can_move(const Inst *inst)
{
    Access access;
    return inst_is_computation(inst) ||
           (inst_is_plain(inst) && !inst->pragma && inst_access(inst, &access) && access.kind == ACCESS_LOAD &&
            access.read_only && !access.awaited && access.space == SPACE_PARAM);
}

static bool is_available(const EarlyPlace *place, RegId reg)
{
    const ValueDef *def = &place->values->defs[reg];
    return def->block && place->dominance && dominance_has(place->dominance, def->block, place->at);
}

/* The value with which a phi of the place's loop starts; REG_NONE: the register is something else. */
static RegId first_value(const EarlyPlace *place, RegId reg)
{
    const ValueDef *def = &place->values->defs[reg];
    if (!place->loop || def->inst || def->block != place->loop->header)
        return REG_NONE;
    return phi_argument(&def->block->phis.data[def->phi], place->loop->preheader);
}

/* Whether the value comes from instructions that 'allows' does; with 'place', or from values that are available. */
static bool comes_from(Arena *scratch, const Values *values, const EarlyPlace *place, RegId reg,
                       bool (*allows)(const Inst *))
{
    BitSet seen = bitset_new(scratch, values->reg_count);
    RegIdVec pending = {0};
    VEC_PUSH(scratch, pending, reg);
    while (pending.count) {
        RegId next = VEC_POP(pending);
        const Inst *inst = value_inst(values, next);
        if (bitset_has(&seen, next) || (place && (is_available(place, next) || first_value(place, next) != REG_NONE)))
            continue;
        bitset_add(&seen, next);
        if (!inst || !allows(inst))
            return false;
        for (unsigned r = 0; r < inst->ref_count; r++)
            if (ref_reads(&inst->refs[r]))
                VEC_PUSH(scratch, pending, inst->refs[r].reg);
    }
    return true;
}

bool value_is_early(const EarlyPlace *place, RegId reg)
{
    return comes_from(place->scratch, place->values, place, reg, inst_can_move);
}

static bool is_common(const Inst *inst)
{
    const Sreg *sreg = inst_sreg(inst);
    return inst_can_move(inst) && !(inst->effects & EFFECT_THREAD) && (!sreg || sreg_is_common(sreg));
}

bool value_is_common(Arena *scratch, const Values *values, RegId reg)
{
    return comes_from(scratch, values, NULL, reg, is_common);
}

static bool reads_x(const Inst *inst)
{
    return inst_index_axis(inst, SREG_ROLE_TID) == 0;
}

static bool is_common_or_x(const Inst *inst)
{
    return is_common(inst) || reads_x(inst);
}

bool value_has_x_alone(Arena *scratch, const Values *values, RegId reg)
{
    return comes_from(scratch, values, NULL, reg, is_common_or_x);
}

static void clone(const EarlyPlace *place, const Inst *inst, RegId *names)
{
    Inst *own = inst_clone_renamed(place->body, inst, names);
    Inst *last = place->at->last;
    if (last && inst_is_terminator(last))
        inst_insert_before(last, own);
    else
        inst_append(place->at, own);
    if (place->is_first && reads_x(own))
        inst_become_constant(place->body, own, inst_result(own), 0);
}

/* A register that the instruction reads and that is not there yet; REG_NONE: there is none. */
static RegId find_missing(const Inst *inst, const RegId *names)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && names[inst->refs[r].reg] == REG_NONE)
            return inst->refs[r].reg;
    return REG_NONE;
}

RegId value_hoist(const EarlyPlace *place, RegId reg)
{
    RegId *names = ARENA_ARRAY(place->scratch, RegId, place->values->reg_count);
    RegIdVec pending = {0};
    for (RegId r = 0; r < place->values->reg_count; r++)
        names[r] = is_available(place, r) ? r : first_value(place, r);
    VEC_PUSH(place->scratch, pending, reg);
    while (pending.count) {
        const RegId next = pending.data[pending.count - 1];
        const Inst *inst = value_inst(place->values, next);
        const RegId missing = names[next] == REG_NONE ? find_missing(inst, names) : REG_NONE;
        if (missing != REG_NONE) {
            VEC_PUSH(place->scratch, pending, missing);
            continue;
        }
        if (names[next] == REG_NONE)
            clone(place, inst, names);
        (void)VEC_POP(pending);
    }
    return names[reg];
}
