/* Fits registers, alone and in lists, to the types of operands. */
#include "ir/table/internal.h"

#include <string.h>

static bool type_fits(Type reg, Type want, const Slot *slot)
{
    bool wider = slot && slot->wider;
    unsigned bits = type_bits(reg);
    TypeClass class = type_class(reg);
    if (want == TYPE_PRED || class == CLASS_PRED || class == CLASS_OPAQUE)
        return reg == want;
    if (slot && slot->bits_only)
        return class == CLASS_BITS && bits == type_bits(want);
    switch (want) {
    case TYPE_BF16:
    case TYPE_BF16X2:
    case TYPE_TF32:
    case TYPE_F32X2: return class == CLASS_BITS && bits == type_bits(want);
    case TYPE_U16X2:
    case TYPE_S16X2:
    case TYPE_U8X4:
    case TYPE_S8X4: return reg == TYPE_B32 || reg == TYPE_F16X2;
    default: break;
    }
    if (bits != type_bits(want) && !(wider && bits > type_bits(want)))
        return false;
    switch (type_class(want)) {
    case CLASS_BITS: return true;
    case CLASS_UNSIGNED:
    case CLASS_SIGNED:
        /* ptxas accepts f16x2 registers as integers if the instruction spells the type. */
        return class != CLASS_FLOAT || (reg == TYPE_F16X2 && slot && !slot->implied);
    case CLASS_FLOAT: return class == CLASS_BITS || reg == want;
    default: return false;
    }
}

_Static_assert(TYPE_COUNT <= 32, "Slot.takes has a bit for each type");

uint32_t slot_takes(const Slot *slot)
{
    uint32_t takes = 0;
    if (slot->pattern->flags & PATTERN_PAIR ||
        (slot->pattern->kind != PATTERN_DST && slot->pattern->kind != PATTERN_SRC))
        return 0;
    for (unsigned type = TYPE_NONE + 1; type < TYPE_COUNT; type++)
        if (type_fits((Type)type, (Type)slot->type, slot))
            takes |= UINT32_C(1) << type;
    return takes;
}

static void set_ref(Binder *binder, const Operand *operand, RefRole role, Type type)
{
    RegRef *ref = &binder->inst->refs[operand->ref];
    ref->role = (uint8_t)role;
    ref->type = (uint8_t)type;
}

unsigned element_index(const char *selector)
{
    static const char names[] = "xyzwrgba";
    const char *found = selector[1] && !selector[2] ? strchr(names, selector[1]) : NULL;
    return found ? (unsigned)(found - names) % 4 : 4;
}

bool binder_slot_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role)
{
    const Reg *reg = binder_reg(binder, operand);
    if (operand->negated && !(slot && slot->pattern->flags & PATTERN_NEGATE))
        return binder_refuse(binder, operand->span, "'%s' cannot be negated here", reg->name);
    if (operand->inverted && type != TYPE_PRED)
        return binder_refuse(binder, operand->span, "only a predicate can be inverted");
    if (operand->constant && role != REF_USE)
        return binder_refuse(binder, operand->span, "a destination has no offset");
    if (operand->selector) {
        if (element_index(operand->selector) >= reg->vector || reg->vector == 1)
            return binder_refuse(binder, operand->span, "register '%s' has no element '%s'", reg->name,
                                 operand->selector);
        if (role == REF_DEF)
            role = REF_BOTH;
    } else if (reg->vector > 1) {
        return binder_refuse(binder, operand->span, "'%s' is a vector register; one register of type .%s is expected",
                             reg->name, type_name(type));
    }
    if (!type_fits(reg->type, type, slot))
        return binder_refuse(binder, operand->span, "register '%s' of type .%s where .%s is expected", reg->name,
                             type_name(reg->type), type_name(type));
    set_ref(binder, operand, role, type);
    return true;
}

bool binder_register(Binder *binder, Operand *operand, Type type, RefRole role)
{
    return binder_slot_register(binder, operand, type, NULL, role);
}

bool binder_vector_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role)
{
    const Reg *reg = binder_reg(binder, operand);
    if (operand->negated || operand->inverted)
        return binder_refuse(binder, operand->span, "a vector register cannot be negated");
    if (!type_fits(reg->type, type, slot))
        return binder_refuse(binder, operand->span, "vector register '%s' of type .%s where .%s is expected", reg->name,
                             type_name(reg->type), type_name(type));
    set_ref(binder, operand, role, type);
    return true;
}

/* True if the registers of a list have more than one type. */
bool binder_list_is_mixed(const Binder *binder, const Operand *list)
{
    Type first = TYPE_NONE;
    for (unsigned i = 0; i < list->item_count; i++) {
        if (list->items[i].kind != OPERAND_REG)
            continue;
        Type type = binder_reg(binder, &list->items[i])->type;
        if (first && type != first)
            return true;
        first = type;
    }
    return false;
}

/* ptxas accepts integer registers instead of floats if all registers of the list have one type, except in matrix
 * fragments, mov and cvt. It treats registers of several types as untyped, except if .f32 or .f64 is expected. */
static bool element_counts(const Binder *binder, Type reg, Type want, bool mixed)
{
    Opcode op = binder->signature->op;
    TypeClass class = type_class(reg);
    if (mixed)
        return want != TYPE_F32 && want != TYPE_F64 && class != CLASS_PRED && class != CLASS_OPAQUE;
    bool exact =
        opcode_has(op, RULE_EXACT_LIST) || (want != TYPE_F64 && opcode_has(op, RULE_EXACT_FRAGMENT));
    return !exact && type_class(want) == CLASS_FLOAT && (class == CLASS_UNSIGNED || class == CLASS_SIGNED);
}

bool binder_element(Binder *binder, Operand *item, Type type, const Slot *slot, RefRole role, const Reg *first,
                         bool mixed)
{
    const Reg *reg = binder_reg(binder, item);
    bool plain = reg->vector == 1 && !item->selector && !item->negated && !item->inverted;
    bool same_width = type_bits(reg->type) == (first ? type_bits(first->type) : type_bits(type));
    if (plain && same_width && element_counts(binder, reg->type, type, mixed)) {
        set_ref(binder, item, role, type);
        return true;
    }
    if (!binder_slot_register(binder, item, type, slot, role))
        return false;
    if (!same_width && first)
        return binder_refuse(
            binder, item->span, "'%s' has %u bit%s but '%s' has %u; the registers of a list must have the same width",
            reg->name, type_bits(reg->type), plural(type_bits(reg->type)), first->name, type_bits(first->type));
    return true;
}
