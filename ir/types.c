/* The fundamental types and state spaces of the PTX ISA. */
#include "ir/ir.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t bits, class;
} types[TYPE_COUNT] = {[TYPE_NONE] = {"", 0, CLASS_NONE},
#define X(id, spelling, bits, class) [TYPE_##id] = {spelling, bits, CLASS_##class},
                       TYPE_LIST(X)
#undef X
};

const char *type_name(Type type)
{
    return types[type].name;
}

unsigned type_bits(Type type)
{
    return types[type].bits;
}

TypeClass type_class(Type type)
{
    return types[type].class;
}

Type type_from_name(const char *name)
{
    for (unsigned type = TYPE_NONE + 1; type < TYPE_COUNT; type++)
        if (!strcmp(types[type].name, name))
            return (Type)type;
    return TYPE_NONE;
}

Type type_bits_of_width(unsigned bits)
{
    switch (bits) {
    case 1: return TYPE_PRED;
    case 8: return TYPE_B8;
    case 16: return TYPE_B16;
    case 32: return TYPE_B32;
    case 64: return TYPE_B64;
    case 128: return TYPE_B128;
    default: return TYPE_NONE;
    }
}

unsigned type_registers(Type type)
{
    return type == TYPE_PRED ? 0 : (types[type].bits + 31u) / 32;
}

const char *space_name(Space space)
{
    static const char *const names[SPACE_COUNT] = {
        [SPACE_NONE] = "",       [SPACE_REG] = "reg",     [SPACE_CONST] = "const",   [SPACE_GLOBAL] = "global",
        [SPACE_LOCAL] = "local", [SPACE_PARAM] = "param", [SPACE_SHARED] = "shared", [SPACE_TEX] = "tex",
    };
    return names[space];
}
