/* Fits the operands of textures, surfaces and tensor maps: handles with coordinates. */
#include "ir/table/internal.h"

#include <string.h>

/* True if the module has samplers separate from textures. */
static bool has_samplers(const Module *module)
{
    for (unsigned i = 0; i < module->target_count; i++)
        if (strcmp(module->targets[i], "texmode_independent") == 0)
            return true;
    return false;
}

/* In the unified mode, the sampler of a pair has no meaning, and any variable of the size of a handle will do. */
static bool handle_fits(const Variable *variable, Type type)
{
    if (type == TYPE_NONE)
        return true;
    if (variable->is_array || variable->vector > 1)
        return false;
    if (variable->space == SPACE_TEX) /* before PTX 1.5 */
        return type == TYPE_TEXREF;
    return type == TYPE_B64 ? type_bits(variable->type) == 64 : variable->type == type;
}

bool binder_handle(Binder *binder, Operand *operand, Type type)
{
    if (operand->kind == OPERAND_REG)
        return binder_no_element(binder, operand) && binder_slot_register(binder, operand, TYPE_U64, NULL, REF_USE);
    if (operand->constant && type != TYPE_NONE)
        return binder_refuse(binder, operand->span, "a texture, sampler or surface has no offset");
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        const Variable *variable = operand->symbol.variable;
        return handle_fits(variable, type) ||
               binder_refuse(binder, operand->span, "'%s' is %s .%s where a .%s or a 64-bit register is expected",
                             variable->name, variable->is_array ? "an array of" : "a", type_name(variable->type),
                             type_name(type));
    }
    return binder_refuse(binder, operand->span, "a 64-bit register or a variable is expected, not %s",
                         operand_describe(operand));
}

static bool fit_coordinate(Binder *binder, Operand *operand, Type type)
{
    if (operand->kind == OPERAND_REG && !operand->constant)
        return binder_slot_register(binder, operand, type, NULL, REF_USE);
    if (operand->kind == OPERAND_CONSTANT)
        return binder_constant(binder, operand, type);
    return binder_refuse(binder, operand->span, "a coordinate of type .%s is expected, not %s", type_name(type),
                         operand_describe(operand));
}

/* Textures and surfaces accept two or four coordinates even if they use fewer. */
static bool coordinates_suffice(const Slot *slot, unsigned given)
{
    bool pads = slot->pattern->kind != PATTERN_TENSOR;
    return given == slot->count || (pads && given > slot->count && (given == 2 || given == 4));
}

static bool fit_coordinates(Binder *binder, Operand *operand, const Slot *slot, Type type)
{
    bool plain = operand->kind == OPERAND_REG && !operand->selector && !operand->constant;
    unsigned width = plain ? binder_reg(binder, operand)->vector : 0;
    if (!binder_no_element(binder, operand))
        return false;
    if (width > 1 && coordinates_suffice(slot, width))
        return binder_vector_register(binder, operand, type, NULL, REF_USE);
    if (slot->pattern->flags & PATTERN_SCALAR)
        return fit_coordinate(binder, operand, type);
    if (operand->kind != OPERAND_VECTOR)
        return binder_refuse(binder, operand->span, "a list of %u coordinates is expected, not %s", slot->count,
                             operand_describe(operand));
    unsigned given = operand->item_count;
    if (!coordinates_suffice(slot, given))
        return binder_refuse(binder, operand->span, "%u coordinates are expected, not %u", slot->count, given);
    bool mixed = binder_list_is_mixed(binder, operand);
    for (unsigned i = 0; i < given; i++) {
        Operand *item = &operand->items[i];
        bool register_alone = item->kind == OPERAND_REG && !item->constant && !slot->layered;
        if (register_alone ? !binder_element(binder, item, type, NULL, REF_USE, NULL, mixed)
                           : !fit_coordinate(binder, item, i == 0 && slot->layered ? TYPE_U32 : type))
            return false;
    }
    return true;
}

/* The type of a handle's variable. A tensor map is memory of any type. */
static Type handle_type(const Binder *binder, const Slot *slot, unsigned index)
{
    switch (slot->pattern->kind) {
    case PATTERN_SURFACE: return TYPE_SURFREF;
    case PATTERN_TEXTURE: return TYPE_TEXREF;
    case PATTERN_TEXTURE_SAMPLER:
        return index == 0 ? TYPE_TEXREF : has_samplers(binder->module) ? TYPE_SAMPLERREF : TYPE_B64;
    default: return TYPE_NONE;
    }
}

/* A register alone, as the parts of a composite are: no element, no offset. */
static bool fit_part(Binder *binder, Operand *operand, Type type)
{
    if (operand->kind == OPERAND_REG && !operand->constant)
        return binder_no_element(binder, operand) && binder_register(binder, operand, type, REF_USE);
    return binder_refuse(binder, operand->span, "a register of type .%s is expected, not %s", type_name(type),
                         operand_describe(operand));
}

bool binder_endpoint(Binder *binder, Operand *operand, const Slot *slot)
{
    if (operand->kind != OPERAND_COMPOSITE || operand->item_count != slot->count)
        return binder_refuse(binder, operand->span, "an endpoint and %s in brackets expected",
                             slot->count == 2 ? "an offset are" : "two offsets are");
    for (unsigned i = 0; i < slot->count; i++)
        if (!fit_part(binder, &operand->items[i], i ? TYPE_U64 : TYPE_U32))
            return false;
    return true;
}

/* A list of sizes, each in 8 bits, which a register of 16 bits may hold, or of the strides' lower 32 bits. */
static bool fit_override(Binder *binder, Operand *list, unsigned count, bool sizes)
{
    if (list->kind != OPERAND_VECTOR || list->item_count != count)
        return binder_refuse(binder, list->span, "a list of %u %s is expected, not %s", count,
                             sizes ? "sizes" : "strides", operand_describe(list));
    for (unsigned i = 0; i < count; i++) {
        Operand *item = &list->items[i];
        if (sizes && item->kind == OPERAND_CONSTANT) {
            if (!binder_constant(binder, item, TYPE_B16))
                return false;
            continue;
        }
        bool byte = item->kind == OPERAND_REG && type_bits(binder_reg(binder, item)->type) == 8;
        if (!fit_part(binder, item, !sizes ? TYPE_B32 : byte ? TYPE_B8 : TYPE_B16))
            return false;
    }
    return true;
}

/* The items between a handle and its coordinates. */
static unsigned override_count(const Slot *slot)
{
    unsigned flags = slot->pattern->flags;
    if (!(flags & PATTERN_OVERRIDE))
        return 0;
    return (flags & PATTERN_FABRIC ? 2 : 1) + (!(flags & PATTERN_SIZES) ? 0 : slot->count == 1 ? 1 : 3);
}

/* The replacements for parts of a tensor map: the address, which may be an endpoint's, then sizes, then the strides,
 * whose upper bits are in one register. One dimension has no stride. */
static bool fit_overrides(Binder *binder, Operand *items, const Slot *slot)
{
    unsigned flags = slot->pattern->flags;
    if (flags & PATTERN_FABRIC && !fit_part(binder, items++, TYPE_U32))
        return false;
    if (flags & PATTERN_OVERRIDE && !fit_part(binder, items++, TYPE_U64))
        return false;
    if (!(flags & PATTERN_SIZES))
        return true;
    return fit_override(binder, &items[0], slot->count, true) &&
           (slot->count == 1 ||
            (fit_override(binder, &items[1], slot->count - 1, false) && fit_part(binder, &items[2], TYPE_B16)));
}

bool binder_composite(Binder *binder, Operand *operand, const Slot *slot)
{
    unsigned overrides = override_count(slot);
    unsigned handles = slot->pattern->kind == PATTERN_TEXTURE_SAMPLER ? 2 : 1;
    Type type = slot->pattern->kind == PATTERN_TENSOR ? TYPE_S32 : (Type)slot->type;
    if (operand->kind != OPERAND_COMPOSITE || operand->item_count != handles + overrides + 1)
        return binder_refuse(binder, operand->span, "%s with coordinates in brackets is expected",
                             handles == 2 ? "a texture and a sampler"
                             : overrides  ? "a tensor map, what replaces parts of it,"
                                          : "a handle");
    for (unsigned i = 0; i < handles; i++)
        if (!binder_handle(binder, &operand->items[i], handle_type(binder, slot, i)))
            return false;
    return fit_overrides(binder, &operand->items[handles], slot) &&
           fit_coordinates(binder, &operand->items[handles + overrides], slot, type);
}
