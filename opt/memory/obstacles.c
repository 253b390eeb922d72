#include "opt/memory/obstacles.h"

#include "opt/demands.h"
#include "opt/memory/atomics.h"

/* bar.sync 0, for all threads of the block. */
static bool is_plain_barrier(const Inst *inst)
{
    uint64_t number;
    return inst->sync == SYNC_BLOCK_BARRIER && inst->operand_count == 1 &&
           operand_is_integer(&inst->operands[0], &number) && !number;
}

static RefusalReason inst_obstacle(const Inst *inst)
{
    const Sreg *sreg = inst_is_opaque(inst) ? NULL : inst_sreg(inst);
    if (inst_is_opaque(inst) || inst_is_call(inst))
        return REFUSAL_STAGE_CALL;
    if (inst->sync == SYNC_BLOCK_BARRIER && !is_plain_barrier(inst))
        return REFUSAL_STAGE_BARRIER;
    if (inst->sync == SYNC_BLOCK_COUNT || inst->sync == SYNC_REGISTERS)
        return REFUSAL_STAGE_WAITS;
    if (sreg && (sreg->role == SREG_ROLE_TOTAL_SMEM_SIZE || sreg->role == SREG_ROLE_DYNAMIC_SMEM_SIZE))
        return REFUSAL_STAGE_SIZE;
    return REFUSAL_NONE;
}

/* The variable in shared memory that the operand names; NULL: none. */
static const Variable *shared_variable(const Operand *operand)
{
    const Operand *item = operand->kind == OPERAND_ADDRESS ? &operand->items[0] : operand;
    bool is_variable = item->kind == OPERAND_SYMBOL && item->symbol.kind == SYMBOL_VARIABLE;
    return is_variable && item->symbol.variable->space == SPACE_SHARED ? item->symbol.variable : NULL;
}

/* Adds the shared variables that the instruction names to the set, and their bytes; false if one has no size. */
static bool add_shared(const Inst *inst, PointerMap *seen, uint64_t *bytes)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const Variable *variable = shared_variable(&inst->operands[i]);
        if (!variable || pointer_map_get(seen, variable))
            continue;
        if (!variable_bytes(variable))
            return false;
        pointer_map_put(seen, variable, (void *)variable);
        *bytes += variable_bytes(variable) + (variable->align > 16 ? variable->align : 16);
    }
    return true;
}

Obstacle kernel_obstacle(Arena *scratch, const Body *body, uint64_t *shared)
{
    if (demands_find(body->function).has_clusters)
        return (Obstacle){NULL, REFUSAL_STAGE_CLUSTERS};
    PointerMap seen = {.arena = scratch};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            RefusalReason reason = inst_obstacle(inst);
            if (!reason && !add_shared(inst, &seen, shared))
                reason = REFUSAL_STAGE_DYNAMIC;
            if (reason)
                return (Obstacle){inst, reason};
        }
    return (Obstacle){NULL, REFUSAL_NONE};
}

bool inst_orders_blocks(const Inst *inst)
{
    Access access;
    const bool is_access = inst_access(inst, &access);
    const bool is_apart = is_access && (access.space == SPACE_SHARED || access.space == SPACE_LOCAL);
    switch (inst->sync) {
    case SYNC_NONE:
    case SYNC_CONVERGED: return inst->effects & EFFECT_VOLATILE && inst->effects & EFFECT_READ && !is_apart;
    case SYNC_BLOCK_BARRIER:
    case SYNC_WARP: return false;
    case SYNC_STRONG: return !(is_apart || (is_access && access.kind == ACCESS_ATOMIC)) || inst_is_ordered(inst);
    default: return true;
    }
}
