#include "opt/common/refusal.h"

#include <string.h>

RefusalOperand refusal_axis(unsigned dimension)
{
    static const char *const names[] = {"x", "y", "z"};
    return refusal_name(names[dimension]);
}

void refusal_set(Refusal *refusal, const Body *body, const Inst *inst, RefusalReason reason,
                 const RefusalOperand *operands)
{
    Arena *arena = body->module->arena;
    *refusal = (Refusal){.reason = reason,
                         .inst = inst ? inst_spelling(arena, inst) : NULL,
                         .has_span = inst && inst->span.end > 0,
                         .span = inst ? inst->span : (Span){0, 0}};
    for (unsigned i = 0; operands && i < REFUSAL_OPERANDS; i++) {
        RefusalOperand *operand = &refusal->operands[i];
        *operand = operands[i];
        if (operand->kind == REFUSAL_NAME)
            operand->name = arena_strndup(arena, operand->name, strlen(operand->name));
    }
}

unsigned inst_line(const Body *body, const Inst *inst)
{
    const Source *source = body->module->source;
    return source ? source_position(source, inst->span.begin).line : 0;
}
