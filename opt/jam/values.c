/* The values of the loop: where they are made, and what becomes of them in the next iteration. */
#include "opt/jam/internal.h"

const Phi *jam_phi(const Jam *jam, RegId reg)
{
    const Block *header = jam->loop->header;
    for (size_t p = 0; p < header->phis.count; p++)
        if (header->phis.data[p].dst == reg)
            return &header->phis.data[p];
    return NULL;
}

bool jam_is_inside(const Jam *jam, RegId reg)
{
    const Block *block = reg == REG_NONE ? NULL : jam->values->defs[reg].block;
    return block && loop_contains(jam->loops, jam->loop, block);
}

RegId jam_next(const Jam *jam, const Phi *phi)
{
    const RegId next = phi_argument(phi, jam->latch);
    require(next != REG_NONE);
    return next;
}

bool jam_is_copied(const Jam *jam, const Inst *inst)
{
    if (inst_is_relaxed_red(inst))
        return true;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (inst->refs[r].reg != REG_NONE && bitset_has(&jam->variant, inst->refs[r].reg))
            return true;
    return false;
}

bool jam_is_computation(const Inst *inst)
{
    return !inst_is_terminator(inst) && !(inst->effects & ~(unsigned)(EFFECT_PURE | EFFECT_THREAD)) &&
           !inst->pragma;
}

bool jam_reads_late(const Jam *jam, const BitSet *early, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && jam_is_inside(jam, inst->refs[r].reg) &&
            !bitset_has(early, inst->refs[r].reg))
            return true;
    return false;
}
