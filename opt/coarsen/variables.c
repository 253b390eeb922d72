/* The variables that replicas have copies of.
 *
 * Changes nothing. */
#include "opt/coarsen/internal.h"

bool coarsening_is_private(const Coarsening *c, const Variable *variable)
{
    if (c->step.merges_blocks && variable->space == SPACE_SHARED)
        return !pointer_map_get(&c->common.users, variable);
    return variable->function && !variable->is_parameter &&
           (variable->space == SPACE_LOCAL || variable->space == SPACE_PARAM || variable->space == SPACE_REG);
}

static bool tree_uses_private(const Coarsening *c, const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE &&
        coarsening_is_private(c, operand->symbol.variable))
        return true;
    for (unsigned i = 0; i < operand->item_count; i++)
        if (tree_uses_private(c, &operand->items[i]))
            return true;
    return false;
}

bool coarsening_uses_private(const Coarsening *c, const Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (tree_uses_private(c, &inst->operands[i]))
            return true;
    return false;
}

bool coarsening_is_dynamic(const Variable *variable)
{
    return variable->space == SPACE_SHARED && !variable_bytes(variable);
}
