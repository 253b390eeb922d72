/* Dead code: removes instructions and phis whose results have no readers.
 *
 * Requires SSA form.
 *
 * Mark and sweep from the instructions with effects, after Cytron and others (TOPLAS 1991, section 7.1), without the
 * removal of branches. */
#include "opt/common/cleanup.h"

/* True if only the readers of its results can tell that it is executed. Refs do not show who reads the carry flag. */
static bool is_removable(const Inst *inst)
{
    const unsigned harmless = EFFECT_PURE | EFFECT_READ | EFFECT_THREAD | EFFECT_TRAP | EFFECT_HINT | EFFECT_CC_READ;
    if (inst_is_opaque(inst) || inst->sync != SYNC_NONE || inst->effects & ~harmless || inst->pragma)
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]))
            return true;
    return false;
}

typedef struct Liver {
    const Values *values;
    BitSet live; /* by RegId */
    VEC(RegId) pending;
    Arena *scratch;
} Liver;

static void mark_value(Liver *liver, RegId reg)
{
    if (bitset_has(&liver->live, reg))
        return;
    bitset_add(&liver->live, reg);
    VEC_PUSH(liver->scratch, liver->pending, reg);
}

static void mark_operands(Liver *liver, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]))
            mark_value(liver, inst->refs[r].reg);
}

static void mark_live(Liver *liver, const Body *body)
{
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            if (!is_removable(inst))
                mark_operands(liver, inst);
    while (liver->pending.count) {
        ValueDef def = liver->values->defs[VEC_POP(liver->pending)];
        if (!def.block)
            continue;
        if (def.inst) {
            mark_operands(liver, def.inst);
            continue;
        }
        const Phi *phi = &def.block->phis.data[def.phi];
        for (size_t a = 0; a < phi->args.count; a++)
            mark_value(liver, phi->args.data[a].reg);
    }
}

static bool has_live_result(const Liver *liver, const Inst *inst)
{
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_writes(&inst->refs[r]) && bitset_has(&liver->live, inst->refs[r].reg))
            return true;
    return false;
}

unsigned remove_dead_code(Body *body, Analyses *analyses)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Liver liver = {
        .values = analyses_values(analyses), .live = bitset_new(scratch, body->regs.count), .scratch = scratch};
    unsigned removed = 0;
    mark_live(&liver, body);
    for (size_t b = 0; b < body->blocks.count; b++) {
        Block *block = body->blocks.data[b];
        size_t kept = 0;
        for (size_t p = 0; p < block->phis.count; p++)
            if (bitset_has(&liver.live, block->phis.data[p].dst))
                block->phis.data[kept++] = block->phis.data[p];
        removed += (unsigned)(block->phis.count - kept);
        block->phis.count = kept;
        for (Inst *inst = block->first, *next; inst; inst = next) {
            next = inst->next;
            if (!is_removable(inst) || has_live_result(&liver, inst))
                continue;
            inst_remove(inst);
            removed++;
        }
    }
    arena_free(scratch);
    return removed;
}
