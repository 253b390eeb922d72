/* Braces around call sequences.
 *
 * The body form has one scope, but ptxas spends registers on .param variables of the outermost one when it compiles for
 * debugging, and a call reads better with its parameters beside it. So a .param variable that only one block uses is
 * declared in a scope from its first use to its last; scopes that overlap become one. */
#include "ir/text/listing.h"

#include <stdlib.h>

typedef struct Extent {
    const Variable *variable;
    const Block *block;   /* NULL: not used yet */
    bool everywhere;      /* used in several blocks */
    uint32_t first, last; /* positions in the block */
} Extent;

typedef struct Collector {
    PointerMap index; /* Variable to Extent */
    const Block *block;
    uint32_t position;
} Collector;

static void operand_note(Collector *c, const Operand *operand)
{
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        Extent *extent = pointer_map_get(&c->index, operand->symbol.variable);
        if (extent && !extent->block) {
            extent->block = c->block;
            extent->first = c->position;
        }
        if (extent) {
            extent->everywhere |= extent->block != c->block;
            extent->last = c->position;
        }
    }
    for (unsigned i = 0; i < operand->item_count; i++)
        operand_note(c, &operand->items[i]);
}

/* The extents of the .param variables, by index of Body.variables. */
static Extent *extents_collect(Arena *arena, const Body *body)
{
    Collector c = {.index.arena = arena};
    Extent *extents = ARENA_ARRAY(arena, Extent, body->variables.count);
    for (size_t i = 0; i < body->variables.count; i++) {
        extents[i].variable = body->variables.data[i];
        if (extents[i].variable->space == SPACE_PARAM)
            pointer_map_put(&c.index, extents[i].variable, &extents[i]);
    }
    for (size_t b = 0; b < body->blocks.count && c.index.count; b++) {
        c.block = body->blocks.data[b];
        c.position = 0;
        for (const Inst *inst = c.block->first; inst; inst = inst->next, c.position++)
            for (unsigned i = 0; i < inst->operand_count; i++)
                operand_note(&c, &inst->operands[i]);
    }
    return extents;
}

static int extent_compare(const void *a, const void *b)
{
    const Extent *x = a, *y = b;
    if (x->block != y->block)
        return x->block->id < y->block->id ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->last < y->last ? -1 : x->last > y->last;
}

void call_scopes_find(CallScopes *scopes, Arena *arena, const Body *body)
{
    Extent *extents = extents_collect(arena, body);
    size_t count = 0;
    *scopes = (CallScopes){.opens.arena = arena, .closes.arena = arena, .variables.arena = arena};
    for (size_t i = 0; i < body->variables.count; i++)
        if (extents[i].block && !extents[i].everywhere)
            extents[count++] = extents[i];
    if (count)
        qsort(extents, count, sizeof *extents, extent_compare);
    const Inst *inst = NULL;
    uint32_t position = 0;
    for (size_t i = 0, end; i < count; i = end) {
        uint32_t last = extents[i].last;
        for (end = i + 1; end < count && extents[end].block == extents[i].block && extents[end].first <= last; end++)
            if (extents[end].last > last)
                last = extents[end].last;
        if (i == 0 || extents[i].block != extents[i - 1].block) {
            inst = extents[i].block->first;
            position = 0;
        }
        for (; position < extents[i].first; position++)
            inst = inst->next;
        CallScope *scope = ARENA_NEW(arena, CallScope);
        pointer_map_put(&scopes->opens, inst, scope);
        for (; position < last; position++)
            inst = inst->next;
        pointer_map_put(&scopes->closes, inst, scope);
        for (size_t j = i; j < end; j++) {
            VEC_PUSH(arena, scope->variables, extents[j].variable);
            pointer_map_put(&scopes->variables, extents[j].variable, scope);
        }
    }
}
