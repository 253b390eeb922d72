/* The lists that are filled while a block is lowered: the registers that machine code reads instead of those that the
 * body reads, and instructions. */
#include "analysis/lowered/internal.h"

enum { FUSED_DEPTH = 3 }; /* instructions that one operand may represent */

void reads_add(Lowering *lowering, RegId reg)
{
    for (unsigned i = 0; i < lowering->read_count; i++)
        if (lowering->reads[i] == reg)
            return;
    if (lowering->read_count < READS_MOST)
        lowering->reads[lowering->read_count++] = reg;
}

void reads_resolve(Lowering *lowering, RegId reg, unsigned depth)
{
    if (value_is_undefined(lowering->values, reg))
        return;
    ValueKind kind = (ValueKind)lowering->kinds[reg];
    if (kind == VALUE_FREE || kind == VALUE_UNIFORM) {
        const Inst *free = value_inst(lowering->values, reg);
        if (kind == VALUE_FREE && free && reads_constant(free) &&
            type_bits(lowering->out->body->regs.data[reg].type) == 64) {
            lowering->loaded++;
            lowering->loaded_last = reg;
        }
        return;
    }
    if (kind == VALUE_OWN || depth > FUSED_DEPTH) {
        reads_add(lowering, reg);
        return;
    }
    const Inst *inst = value_inst(lowering->values, reg);
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            reads_resolve(lowering, inst->refs[r].reg, kind == VALUE_ALIAS ? depth : depth + 1);
}

RegId *reads_take(Lowering *lowering, uint16_t *count)
{
    RegId *reads = ARENA_ARRAY(lowering->arena, RegId, lowering->read_count);
    *count = (uint16_t)lowering->read_count;
    for (unsigned i = 0; i < lowering->read_count; i++)
        reads[i] = lowering->reads[i];
    return reads;
}

void insts_take(Lowering *lowering, LoweredBlock *block)
{
    block->insts = lowering->insts.data;
    block->count = (uint32_t)lowering->insts.count;
    lowering->insts.data = NULL;
    lowering->insts.count = lowering->insts.capacity = 0;
}
