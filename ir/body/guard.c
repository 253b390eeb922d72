/* Guards of instructions. */
#include "ir/ir.h"

#include <string.h>

void inst_set_guard(Body *body, Inst *inst, RegId predicate, bool inverted)
{
    require(!inst_is_guarded(inst));
    unsigned operands = inst->ref_count - inst->tied_count;
    bool defines = false;
    for (unsigned i = 0; i < operands; i++)
        defines |= inst->refs[i].role == REF_DEF;
    require(!(body->ssa && defines));
    require(inst->tied_count == 0 && inst->ref_count < REF_NONE - 1);
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, inst->ref_count + 1u);
    if (inst->ref_count)
        memcpy(refs, inst->refs, inst->ref_count * sizeof *refs);
    refs[inst->ref_count] = (RegRef){.reg = predicate, .role = REF_USE, .type = TYPE_PRED, .partner = REF_NONE};
    inst->refs = refs;
    inst->guard = inst->ref_count++;
    inst->guard_inverted = inverted;
}

void inst_guard(Body *body, Inst *inst, RegId predicate, bool inverted, RegId old)
{
    require(body->ssa && !inst_is_guarded(inst) && !inst->tied_count);
    unsigned results = 0, place = inst->ref_count;
    for (unsigned i = 0; i < inst->ref_count; i++)
        results += inst->refs[i].role == REF_DEF && inst->refs[i].reg != REG_NONE;
    require(place + 1 + results < REF_NONE && (old == REG_NONE || results == 1));
    RegRef *refs = ARENA_ARRAY(body->arena, RegRef, place + 1 + results);
    if (place)
        memcpy(refs, inst->refs, place * sizeof *refs);
    inst->guard = (uint16_t)place;
    inst->guard_inverted = inverted;
    refs[place++] = (RegRef){.reg = predicate, .role = REF_USE, .type = TYPE_PRED, .partner = REF_NONE};
    for (unsigned i = 0; i < inst->guard; i++) {
        if (refs[i].role != REF_DEF || refs[i].reg == REG_NONE)
            continue;
        RegId kept = old == REG_NONE ? body_clone_reg(body, refs[i].reg) : old;
        refs[i].partner = (uint16_t)place;
        refs[place++] = (RegRef){.reg = kept, .role = REF_TIED, .type = TYPE_NONE, .partner = (uint16_t)i};
    }
    inst->refs = refs;
    inst->ref_count = (uint16_t)place;
    inst->tied_count = (uint16_t)results;
}

bool inst_unguard(Inst *inst)
{
    require(inst_is_guarded(inst) && inst->guard + 1u + inst->tied_count == inst->ref_count);
    for (unsigned i = inst->guard + 1u; i < inst->ref_count; i++)
        if (inst->refs[i].type != TYPE_NONE)
            return false;
    for (unsigned i = 0; i < inst->guard; i++)
        if (inst->refs[i].role == REF_DEF)
            inst->refs[i].partner = REF_NONE;
    inst->ref_count = inst->guard;
    inst->guard = REF_NONE;
    inst->guard_inverted = false;
    inst->tied_count = 0;
    return true;
}
