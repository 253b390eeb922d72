/* The slots of a form: its operand patterns with the chosen modifiers filled in. */
#include "ir/table/internal.h"

#include <ctype.h>
#include <stdlib.h>

static ModId chosen_mod(const Form *form, const int16_t *choice, unsigned element, unsigned part)
{
    if (choice[element] < 0)
        return MOD_UNKNOWN;
    const Alternative *alternative = &element_alternatives(&form_elements(form)[element])[choice[element]];
    return part < alternative->mod_count ? alternative_mods(alternative)[part] : MOD_UNKNOWN;
}

static unsigned digits_in(const char *text)
{
    while (*text && !isdigit((unsigned char)*text))
        text++;
    return (unsigned)strtoul(text, NULL, 10);
}

/* .2dms and .a2dms have two dimensions and the number of the sample. */
static const Geometry geometries[] = {
    {MOD_1D, .dimensions = 1},
    {MOD_2D, .dimensions = 2},
    {MOD_3D, .dimensions = 3},
    {MOD_CUBE, .dimensions = 3, .cube = true},
    {MOD_2DMS, .dimensions = 2, .samples = true},
    {MOD_A1D, .dimensions = 1, .layered = true},
    {MOD_A2D, .dimensions = 2, .layered = true},
    {MOD_ACUBE, .dimensions = 3, .layered = true, .cube = true},
    {MOD_A2DMS, .dimensions = 2, .layered = true, .samples = true},
};

const Geometry *geometry_of(ModId mod)
{
    for (size_t i = 0; i < COUNT_OF(geometries); i++)
        if (geometries[i].mod == mod)
            return &geometries[i];
    return NULL;
}

static unsigned padded(unsigned count)
{
    return count == 3 ? 4 : count;
}

static unsigned pattern_count(const Pattern *pattern, ModId mod, const Geometry *geometry)
{
    unsigned count = 0;
    switch ((CountFunction)pattern->count_function) {
    case COUNT_CONSTANT: return pattern->count;
    case COUNT_NUMBER: count = digits_in(mod_name(mod)); break;
    case COUNT_N: {
        const char *n = strchr(mod_name(mod), 'n');
        count = n ? digits_in(n) : 0;
        break;
    }
    case COUNT_COORDINATES:
        count = padded(geometry->dimensions + geometry->layered + geometry->samples);
        break;
    case COUNT_DIMENSIONS: count = padded(geometry->dimensions); break;
    case COUNT_IM2COL_OFFSETS: count = digits_in(mod_name(mod)) - 2; break;
    }
    return (count * pattern->count_times + pattern->count_over - 1) / pattern->count_over;
}

static Type doubled(Type type)
{
    switch (type) {
    case TYPE_U16: return TYPE_U32;
    case TYPE_S16: return TYPE_S32;
    case TYPE_U32: return TYPE_U64;
    case TYPE_S32: return TYPE_S64;
    default: return type_bits_of_width(2 * type_bits(type));
    }
}

/* True if a matrix instruction has scale factors; its last operands are then lists. */
static bool form_is_scaled(const Form *form)
{
    return form->pattern_count > 1 && form_patterns(form)[form->pattern_count - 1].kind == PATTERN_SRC_LIST &&
           form_patterns(form)[form->pattern_count - 2].kind == PATTERN_SRC;
}

/* True for the rows of cvt.pack, whose registers are those of integer conversions, packed or not. */
static bool form_is_pack(const Form *form)
{
    return form->op == OP_CVT && form->element_count &&
           alternative_mods(element_alternatives(form_elements(form)))[0] == MOD_PACK;
}

/* True if the row writes a packed format as bits, which only untyped registers hold. */
static bool takes_bits_only(const Form *form, const Pattern *pattern, Type type)
{
    if (pattern->type_element >= 0 || type_class(type) != CLASS_BITS || form_is_pack(form))
        return false;
    return opcode_has(form->op, RULE_PACKED) || (type == TYPE_B64 && opcode_has(form->op, RULE_PACKED_64)) ||
           (type == TYPE_B32 && pattern->kind == PATTERN_SRC_LIST && opcode_has(form->op, RULE_PACKED_SCALED) &&
            form_is_scaled(form));
}

/* True if the row converts to or from a format that ptxas knows only as packed bits: bf16, tf32, 8 and fewer bits. */
static bool form_has_packed(const Form *form)
{
    for (unsigned i = 0; i < form->element_count; i++) {
        const Element *element = &form_elements(form)[i];
        for (unsigned j = 0; j < element->alternative_count; j++) {
            const Alternative *alternative = &element_alternatives(element)[j];
            for (unsigned k = 0; k < alternative->mod_count; k++) {
                ModId mod = alternative_mods(alternative)[k];
                Type type = mod_type(mod);
                const char *name = mod_name(mod) + 1;
                name += *name == 'u';
                if (type == TYPE_BF16 || type == TYPE_BF16X2 || type == TYPE_TF32 ||
                    (name[0] == 'e' && name[1] >= '0' && name[1] <= '9'))
                    return true;
            }
        }
    }
    return false;
}

/* True if registers may be wider than their type (PTX ISA, "Operand Size Exceeding Instruction-Type Size"), which
 * conversions of packed formats do not allow. */
static bool takes_wider(const Form *form, const Pattern *pattern, Type type)
{
    return opcode_has(form->op, RULE_WIDER) &&
           !(opcode_has(form->op, RULE_PACKED) && (takes_bits_only(form, pattern, type) || form_has_packed(form)));
}

/* True if the instruction spells the type, not only the row. Matrix instructions spell the type of a matrix element,
 * never that of a register. */
static bool spells_type(const Form *form, const int16_t *choice, Type type)
{
    if (opcode_has(form->op, RULE_ELEMENTS))
        return false;
    for (unsigned i = 0; i < form->element_count; i++) {
        if (choice[i] < 0)
            continue;
        const Alternative *alternative = &element_alternatives(&form_elements(form)[i])[choice[i]];
        for (unsigned j = 0; j < alternative->mod_count; j++)
            if (mod_type(alternative_mods(alternative)[j]) == type)
                return true;
    }
    return false;
}

const Slot *form_slots(Arena *arena, const Form *form, const int16_t *choice)
{
    Slot *slots = ARENA_ARRAY(arena, Slot, form->pattern_count);
    for (unsigned i = 0; i < form->pattern_count; i++) {
        const Pattern *pattern = &form_patterns(form)[i];
        Type type = (Type)pattern->type;
        if (pattern->type_element >= 0)
            type = mod_operand_type(chosen_mod(form, choice, (unsigned)pattern->type_element, pattern->type_part));
        if (pattern->flags & PATTERN_DOUBLE)
            type = doubled(type);
        ModId counted = MOD_UNKNOWN;
        if (pattern->count_function != COUNT_CONSTANT)
            counted = chosen_mod(form, choice, pattern->count_element, pattern->count_part);
        const Geometry *geometry = geometry_of(counted);
        slots[i] = (Slot){.pattern = pattern,
                          .type = (uint8_t)type,
                          .wider = takes_wider(form, pattern, type),
                          .implied = pattern->type_element < 0 && !spells_type(form, choice, type) &&
                                     !form_is_pack(form),
                          .bits_only = takes_bits_only(form, pattern, type),
                          .layered = geometry && geometry->layered,
                          .count = (uint16_t)pattern_count(pattern, counted, geometry)};
        slots[i].takes = slot_takes(&slots[i]);
    }
    return slots;
}
