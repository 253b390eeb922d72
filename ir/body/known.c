#include "ir/known.h"

#include "ir/instruction.h"
#include "ir/match.h"

#include <string.h>

bool inst_loads_parameter(const Inst *inst, ParameterPart *out)
{
    Access access;
    if (!inst_access(inst, &access) || access.kind != ACCESS_LOAD || !access.read_only || access.space != SPACE_PARAM ||
        !access.address)
        return false;
    const Operand *at = access.address->items;
    if (!at || at->kind != OPERAND_SYMBOL || at->symbol.kind != SYMBOL_VARIABLE)
        return false;
    *out = (ParameterPart){at->symbol.variable,
                           address_offset(access.address), access.bytes};
    return true;
}

bool known_parameter_value(const KnownParameters *known, const Variable *parameter, uint64_t offset, uint64_t size,
                           uint64_t *value)
{
    for (unsigned i = 0; i < known->count; i++) {
        const KnownParameter *of = &known->of[i];
        if (strcmp(of->variable->name, parameter->name) != 0 || offset > of->size || size > of->size - offset)
            continue;
        *value = 0;
        memcpy(value, (const char *)of->bytes + offset, size);
        return true;
    }
    return false;
}

KnownParameter known_parameter(Arena *arena, const Variable *variable, uint64_t value)
{
    uint64_t *bytes = ARENA_NEW(arena, uint64_t);
    *bytes = value;
    return (KnownParameter){variable, bytes, variable_bytes(variable)};
}

KnownParameters known_in_both(Arena *arena, const KnownParameters *a, const KnownParameters *b)
{
    KnownParameter *both = ARENA_ARRAY(arena, KnownParameter, a->count + 1);
    unsigned count = 0;
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned j = 0; j < b->count; j++)
            if (strcmp(a->of[i].variable->name, b->of[j].variable->name) == 0 && a->of[i].size == b->of[j].size &&
                memcmp(a->of[i].bytes, b->of[j].bytes, a->of[i].size) == 0)
                both[count++] = a->of[i];
    return (KnownParameters){both, count};
}

const KnownExtent *known_extent(const KnownExtents *known, const Variable *parameter)
{
    for (unsigned i = 0; i < known->count; i++)
        if (strcmp(known->of[i].variable->name, parameter->name) == 0)
            return &known->of[i];
    return NULL;
}

KnownExtents known_extents_of_both(Arena *arena, const KnownExtents *a, const KnownExtents *b)
{
    KnownExtent *both = ARENA_ARRAY(arena, KnownExtent, a->count + 1);
    unsigned count = 0;
    for (unsigned i = 0; i < a->count; i++) {
        const KnownExtent *other = known_extent(b, a->of[i].variable);
        if (other)
            both[count++] = other->bytes > a->of[i].bytes ? *other : a->of[i];
    }
    return (KnownExtents){both, count};
}
