/* Registers and variables in the order in which the text first names them.
 *
 * The parser numbers them in this order too, so the listing of a body whose vector registers were split stays the same
 * when it is parsed again. */
#include "ir/body/build.h"

typedef struct Order {
    Body *body;
    RegVec regs;
    RegId *places; /* indexed by the old number */
    PointerMap seen;
    size_t variable_count;
} Order;

static void reference_number(Order *order, RegRef *ref)
{
    if (order->places[ref->reg] == REG_NONE) {
        Reg reg = order->body->regs.data[ref->reg];
        order->places[ref->reg] = reg.origin = (RegId)order->regs.count;
        VEC_PUSH(order->body->arena, order->regs, reg);
    }
    ref->reg = order->places[ref->reg];
}

/* Variables that represent vector registers in calls (ir/body/formals.c); the parser treats them as registers. */
static void variables_find(Order *order, const Operand *operand, Variable **variables)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        Variable *variable = operand->symbol.variable;
        if (variable->space == SPACE_REG && !variable->is_parameter && !pointer_map_get(&order->seen, variable)) {
            pointer_map_put(&order->seen, variable, variable);
            variables[order->variable_count++] = variable;
        }
    }
    for (unsigned i = 0; i < operand->item_count; i++)
        variables_find(order, &operand->items[i], variables);
}

void body_order(Body *body)
{
    Arena *scratch = arena_new();
    Order order = {.body = body, .places = ARENA_ARRAY(scratch, RegId, body->regs.count), .seen.arena = scratch};
    Variable **variables = ARENA_ARRAY(scratch, Variable *, body->variables.count);
    for (size_t i = 0; i < body->regs.count; i++)
        order.places[i] = REG_NONE;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            if (inst_is_guarded(inst))
                reference_number(&order, &inst->refs[inst->guard]);
            for (unsigned i = 0; i < inst->ref_count; i++)
                if (i != inst->guard)
                    reference_number(&order, &inst->refs[i]);
            for (unsigned i = 0; i < inst->operand_count; i++)
                variables_find(&order, &inst->operands[i], variables);
        }
    body->regs = order.regs;
    for (size_t i = 0; i < body->variables.count; i++)
        if (body->variables.data[i]->space != SPACE_REG)
            variables[order.variable_count++] = body->variables.data[i];
    body->variables.count = order.variable_count;
    for (size_t i = 0; i < order.variable_count; i++)
        body->variables.data[i] = variables[i];
    arena_free(scratch);
}
