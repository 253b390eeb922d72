/* Fits operands to the patterns of a form and gives every register reference its role and type, by the rules of the
 * PTX ISA ("Instruction Operands", "Type Information for Instructions and Operands") as ptxas applies them. */
#include "ir/table/internal.h"

#include <string.h>

static bool fit_sreg(Binder *binder, const Operand *operand, Type type, unsigned vector)
{
    const Sreg *sreg = operand->sreg;
    unsigned bits = type_bits(type), own = type_bits(sreg->type);
    Arch arch;
    if (sreg->vector != vector)
        return binder_refuse(binder, operand->span,
                             sreg->vector > 1 ? "'%s' is a whole vector; did you mean '%s.x'?" : "'%s' is not a vector",
                             sreg->name, sreg->name);
    SregReads reads = sreg_reads(sreg);
    bool width = bits == own || (reads != SREG_EXACT && bits == 16) || (reads == SREG_ANY_WIDTH && bits == 32);
    if (!width || type_class(type) == CLASS_FLOAT)
        return binder_refuse(binder, operand->span, "special register '%s' of type .%s where .%s is expected",
                             sreg->name, type_name(sreg->type), type_name(type));
    if (binder->module->version && binder->module->version < sreg->min_version)
        return binder_refuse(binder, operand->span, "'%s' needs PTX ISA version %u.%u or later, the module has %u.%u",
                             sreg->name, sreg->min_version / 10, sreg->min_version % 10, binder->module->version / 10,
                             binder->module->version % 10);
    if (binder->module->target_count && arch_parse(binder->module->targets[0], &arch) &&
        arch.number < sreg->min_sm)
        return binder_refuse(binder, operand->span, "'%s' is not supported on target '%s': it needs sm_%u or later",
                             sreg->name, binder->module->targets[0], sreg->min_sm);
    return true;
}

/* True for a mov that splits a value: "mov.b32 {%h0, %h1}, SOURCE". */
static bool is_unpack(const Binder *binder)
{
    return opcode_has(binder->signature->op, RULE_UNPACK) && binder->match->form->pattern_count == 2 &&
           form_patterns(binder->match->form)[0].kind == PATTERN_DST_LIST && binder->signature->vector == 1;
}

/* Apart from mov, only conversions between integers read special registers. (The rows of mov that copy a special
 * register say so themselves.) */
static bool takes_sreg(const Binder *binder)
{
    const Signature *signature = binder->signature;
    if (is_unpack(binder))
        return true;
    if (!opcode_has(signature->op, RULE_SPECIAL) || signature->type_count != 2)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (!class_is_integer(type_class(signature->types[i])))
            return false;
    return true;
}

/* "VARIABLE+CONSTANT" is an integer, but not a cache policy. */
static bool takes_variable(const Binder *binder, Type type, const Slot *slot)
{
    TypeClass class = type_class(type);
    if (signature_has(binder->signature, MOD_L2_CACHE_HINT) && strcmp(slot->pattern->name, "cp") == 0)
        return false;
    return (class == CLASS_BITS && !slot->bits_only) || class == CLASS_UNSIGNED || class == CLASS_SIGNED;
}

static bool fit_source(Binder *binder, Operand *operand, const Slot *slot)
{
    Type type = (Type)slot->type;
    bool immediate = slot->pattern->flags & PATTERN_IMMEDIATE;
    switch (operand->kind) {
    case OPERAND_REG: return binder_slot_register(binder, operand, type, slot, REF_USE);
    case OPERAND_CONSTANT:
        if (!immediate)
            return binder_refuse(binder, operand->span, "a register of type .%s is expected, not a constant",
                                 type_name(type));
        return binder_constant(binder, operand, type) && binder_range(binder, operand, slot->pattern);
    case OPERAND_SYMBOL:
        if (operand->symbol.kind == SYMBOL_VARIABLE && takes_variable(binder, type, slot) &&
            (operand->constant || is_unpack(binder)))
            return binder_own_space(binder, operand);
        break;
    case OPERAND_SREG:
        if (takes_sreg(binder))
            return fit_sreg(binder, operand, type, 1);
        return binder_refuse(binder, operand->span,
                             "special register '%s' can only be read by mov and by cvt between integers",
                             operand->sreg->name);
    default: break;
    }
    return binder_refuse(binder, operand->span, "%s of type .%s is expected, not %s",
                         immediate ? "a register or constant" : "a register", type_name(type),
                         operand_describe(operand));
}

static bool fit_destination(Binder *binder, Operand *operand, const Slot *slot, Type type)
{
    if (operand->kind == OPERAND_REG) {
        if (operand->inverted)
            return binder_refuse(binder, operand->span, "a destination cannot be inverted");
        return binder_slot_register(binder, operand, type, slot, REF_DEF);
    }
    if (operand->kind == OPERAND_SINK && slot->pattern->flags & PATTERN_SINK)
        return true;
    if (operand->kind == OPERAND_SINK)
        return binder_refuse(binder, operand->span, "the result cannot be discarded with '_'");
    if (operand->kind == OPERAND_SREG)
        return binder_refuse(binder, operand->span, "special register '%s' cannot be written", operand->sreg->name);
    return binder_refuse(binder, operand->span, "a destination register of type .%s is expected, not %s",
                         type_name(type), operand_describe(operand));
}

static bool fit_predicate(Binder *binder, Operand *operand)
{
    if (operand->kind == OPERAND_REG && !operand->constant)
        return binder_slot_register(binder, operand, TYPE_PRED, NULL, REF_USE);
    if (operand->kind == OPERAND_CONSTANT)
        return binder_constant(binder, operand, TYPE_PRED);
    return binder_refuse(binder, operand->span, "a predicate is expected, not %s", operand_describe(operand));
}

/* True for a register declared .v2 or .v4 that replaces a list. */
static bool is_vector_register(const Binder *binder, const Operand *operand, unsigned count)
{
    return operand->kind == OPERAND_REG && !operand->selector && !operand->constant && count > 1 &&
           binder_reg(binder, operand)->vector == count;
}

/* The two numbers after a scale of a matrix select its byte, and the lanes of four that hold the scales (PTX ISA,
 * "Block Scaling for mma.sync"). */
static bool fit_scale_selector(Binder *binder, const Operand *item, const Slot *slot, unsigned index)
{
    const Signature *signature = binder->signature;
    if (slot->type != TYPE_U16 || !signature_has(signature, MOD_BLOCK_SCALE))
        return true;
    unsigned bytes = 1;
    if (signature_has(signature, MOD_SCALE_VEC_4X))
        bytes = 4;
    else if (signature_has(signature, MOD_SCALE_VEC_2X) || signature_has(signature, MOD_KIND_MXF4))
        bytes = 2;
    unsigned step = index == 0 ? bytes : 1, end = index == 1 && strcmp(slot->pattern->name, "ia") == 0 ? 2 : 4;
    if (item->constant->bits < end && item->constant->bits % step == 0)
        return true;
    static const char *const steps[] = {"", "", " and even", "", " and a multiple of 4"};
    return binder_refuse(binder, item->span, "the %s of a scale must be below %u%s", index == 0 ? "byte" : "lane", end,
                         steps[step]);
}

static bool fit_list(Binder *binder, Operand *operand, const Slot *slot, RefRole role)
{
    const Pattern *pattern = slot->pattern;
    Type type = (Type)slot->type;
    const Reg *first = NULL;
    const Operand *element = NULL;
    bool constant = false, sinks_only = true;
    bool mixed = operand->kind == OPERAND_VECTOR && binder_list_is_mixed(binder, operand);
    if (is_vector_register(binder, operand, slot->count))
        return binder_vector_register(binder, operand, type, slot, role);
    if (operand->kind != OPERAND_VECTOR)
        return binder_refuse(binder, operand->span, "a list of %u in braces is expected, not %s", slot->count,
                             operand_describe(operand));
    if (operand->item_count != slot->count)
        return binder_refuse(binder, operand->span, "a list of %u is expected, not of %u", slot->count,
                             operand->item_count);
    for (unsigned i = 0; i < operand->item_count; i++) {
        Operand *item = &operand->items[i];
        sinks_only &= item->kind == OPERAND_SINK;
        if (item->kind == OPERAND_REG && !item->constant) {
            if (!binder_element(binder, item, type, slot, role, first, mixed))
                return false;
            first = first ? first : binder_reg(binder, item);
            element = item->selector ? item : element;
        } else if (item->kind == OPERAND_CONSTANT && pattern->flags & PATTERN_IMMEDIATE) {
            if (!binder_constant(binder, item, type) || !fit_scale_selector(binder, item, slot, i))
                return false;
            constant = true;
        } else if (item->kind != OPERAND_SINK || !(pattern->flags & PATTERN_SINK)) {
            return binder_refuse(binder, item->span, "a register of type .%s is expected in the list, not %s",
                                 type_name(type), operand_describe(item));
        }
    }
    if (constant && element)
        return binder_no_element(binder, element);
    if (sinks_only)
        return binder_refuse(binder, operand->span, "at least one element of the list must not be '_'");
    return true;
}

static bool fit_main(Binder *binder, Operand *operand, const Slot *slot)
{
    const Pattern *pattern = slot->pattern;
    Type type = (Type)slot->type;
    switch ((PatternKind)pattern->kind) {
    case PATTERN_DST: return fit_destination(binder, operand, slot, type);
    case PATTERN_SRC: return fit_source(binder, operand, slot);
    case PATTERN_SINK_ONLY:
        return operand->kind == OPERAND_SINK ||
               binder_refuse(binder, operand->span, "the sink '_' is expected, not %s", operand_describe(operand));
    case PATTERN_DST_PRED: return fit_destination(binder, operand, slot, TYPE_PRED);
    case PATTERN_PRED: return fit_predicate(binder, operand);
    case PATTERN_DST_LIST:
        return fit_list(binder, operand, slot,
                        opcode_has(binder->signature->op, RULE_ACCUMULATES) ? REF_BOTH : REF_DEF);
    case PATTERN_SRC_LIST: return fit_list(binder, operand, slot, REF_USE);
    case PATTERN_INT:
        if (operand->kind != OPERAND_CONSTANT || operand->constant->kind != CONSTANT_INT)
            return binder_refuse(binder, operand->span, "an integer constant is expected, not %s",
                                 operand_describe(operand));
        return binder_range(binder, operand, pattern);
    case PATTERN_ADDRESS: return binder_address(binder, operand, slot);
    case PATTERN_HANDLE:
        if ((operand->kind == OPERAND_ADDRESS && operand->item_count == 1 && !operand->constant && !operand->indexed) ||
            (operand->kind == OPERAND_COMPOSITE && operand->item_count == 1))
            return binder_handle(binder, &operand->items[0], type);
        return binder_refuse(binder, operand->span, "a handle in brackets is expected, not %s",
                             operand_describe(operand));
    case PATTERN_TENSOR:
    case PATTERN_TEXTURE:
    case PATTERN_TEXTURE_SAMPLER:
    case PATTERN_SURFACE: return binder_composite(binder, operand, slot);
    case PATTERN_ENDPOINT: return binder_endpoint(binder, operand, slot);
    case PATTERN_VIDEO_DST:
    case PATTERN_VIDEO_SRC: return binder_video(binder, operand, slot);
    case PATTERN_VARIABLE: return binder_variable(binder, operand);
    case PATTERN_FUNCTION: return binder_function(binder, operand, false);
    case PATTERN_KERNEL: return binder_function(binder, operand, true);
    case PATTERN_LABEL: return binder_label(binder, operand);
    case PATTERN_SREG:
        if (operand->kind != OPERAND_SREG)
            return binder_refuse(binder, operand->span, "a special register is expected, not %s",
                                 operand_describe(operand));
        return fit_sreg(binder, operand, binder->signature->types[0], binder->signature->vector);
    case PATTERN_RESULTS:
    case PATTERN_ARGUMENTS:
        return operand->kind == OPERAND_LIST ||
               binder_refuse(binder, operand->span, "a list in parentheses is expected, not %s",
                             operand_describe(operand));
    }
    return false;
}

bool binder_operand(Binder *binder, Operand *operand, const Slot *slot)
{
    unsigned flags = slot->pattern->flags;
    if (operand->kind != OPERAND_PAIR) {
        if (flags & PATTERN_PAIR)
            return binder_refuse(binder, operand->span, "a second destination must follow: DESTINATION|PREDICATE");
        return fit_main(binder, operand, slot);
    }
    if (!(flags & (PATTERN_PAIR | PATTERN_MAY_PAIR)))
        return binder_refuse(binder, operand->span, "there is no second destination here");
    Operand *first = &operand->items[0], *second = &operand->items[1];
    if (second->kind == OPERAND_SINK && (first->kind == OPERAND_SINK || !(flags & PATTERN_PAIR_SINK)))
        return binder_refuse(binder, second->span, "a predicate is expected as the second destination, not '_'");
    return binder_no_element(binder, first) && fit_main(binder, first, slot) &&
           (second->kind == OPERAND_SINK || fit_destination(binder, second, slot, TYPE_PRED));
}
