/* Fits operands to the patterns of the instruction table (ops.def) and gives every register reference its role and
 * type. The typing rules are those of the PTX ISA, "Instruction Operands" and "Type Information for Instructions and
 * Operands", as ptxas applies them. */
#include "ir/table/ops_internal.h"

#include <string.h>

bool binder_refuse(Binder *binder, Span where, const char *format, ...)
{
    if (!binder->why)
        return false;
    va_list arguments;
    va_start(arguments, format);
    buf_clear(binder->why);
    binder->where = where;
    if (binder->operand) {
        buf_printf(binder->why, "operand %u of '", binder->operand);
        signature_print(binder->signature, binder->why);
        buf_puts(binder->why, "': ");
    }
    buf_vprintf(binder->why, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- Registers -------------------------------------------------------------------------------------------------- */

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
    case TYPE_S16X2: return reg == TYPE_B32 || reg == TYPE_F16X2;
    default: break;
    }
    if (bits != type_bits(want) && !(wider && bits > type_bits(want)))
        return false;
    switch (type_class(want)) {
    case CLASS_BITS: return true;
    case CLASS_UNSIGNED:
    case CLASS_SIGNED:
        /* ptxas counts f16x2 registers as untyped where a type that the instruction spells asks for an integer. */
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

static const Reg *operand_reg(const Binder *binder, const Operand *operand)
{
    return &binder->regs->data[binder->inst->refs[operand->ref].reg];
}

unsigned element_index(const char *selector)
{
    static const char names[] = "xyzwrgba";
    const char *found = selector[1] && !selector[2] ? strchr(names, selector[1]) : NULL;
    return found ? (unsigned)(found - names) % 4 : 4;
}

static bool fit_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role)
{
    const Reg *reg = operand_reg(binder, operand);
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
    return fit_register(binder, operand, type, NULL, role);
}

/* ---- Constants -------------------------------------------------------------------------------------------------- */

static bool constant_fits(const Constant *constant, Type type)
{
    switch (type_class(type)) {
    case CLASS_PRED: return constant->kind == CONSTANT_INT;
    case CLASS_BITS:
        return constant->kind == CONSTANT_INT || (constant->kind == CONSTANT_F32 && type == TYPE_B32) ||
               (constant->kind != CONSTANT_F32 && type == TYPE_B64);
    case CLASS_UNSIGNED:
    case CLASS_SIGNED: return constant->kind == CONSTANT_INT && type != TYPE_U16X2 && type != TYPE_S16X2;
    case CLASS_FLOAT:
        /* ptxas takes the brain formats for their bits. */
        if (type == TYPE_BF16 || type == TYPE_BF16X2)
            return constant->kind == (type == TYPE_BF16 ? CONSTANT_INT : CONSTANT_F32);
        return constant->kind != CONSTANT_INT && (type == TYPE_F32 || type == TYPE_F64);
    default: return false;
    }
}

bool binder_constant(Binder *binder, const Operand *operand, Type type)
{
    if (constant_fits(operand->constant, type))
        return true;
    bool half = type_class(type) == CLASS_FLOAT && type != TYPE_F32 && type != TYPE_F64;
    if (half || type == TYPE_U16X2 || type == TYPE_S16X2)
        return binder_refuse(binder, operand->span, "type .%s has no immediates; move the bits into a register first",
                             type_name(type));
    return binder_refuse(binder, operand->span, "%s where .%s is expected",
                         operand->constant->kind == CONSTANT_INT ? "an integer" : "a floating-point constant",
                         type_name(type));
}

static double constant_double(const Constant *constant)
{
    double value = 0;
    float single;
    uint32_t bits = (uint32_t)constant->bits;
    switch (constant->kind) {
    case CONSTANT_INT: return constant->is_unsigned ? (double)constant->bits : (double)(int64_t)constant->bits;
    case CONSTANT_F32: memcpy(&single, &bits, sizeof single); return single;
    case CONSTANT_F64:
    case CONSTANT_DECIMAL: memcpy(&value, &constant->bits, sizeof value); break;
    }
    return value;
}

static bool fit_range(Binder *binder, const Operand *operand, const Pattern *pattern)
{
    const Constant *constant = operand->constant;
    int64_t value = (int64_t)constant->bits;
    bool large = constant->is_unsigned && value < 0;
    switch ((RangeKind)pattern->range) {
    case RANGE_ANY: return true;
    case RANGE_INTERVAL:
        if (large || value < pattern->values[0] || value > pattern->values[1])
            return binder_refuse(binder, operand->span, "the value is out of range: %d to %d is expected",
                                 (int)pattern->values[0], (int)pattern->values[1]);
        if (value % pattern->values[2])
            return binder_refuse(binder, operand->span, "the value must be a multiple of %d", (int)pattern->values[2]);
        return true;
    case RANGE_VALUES: {
        Buf list = {0};
        for (unsigned i = 0; i < pattern->value_count; i++) {
            if (!large && value == pattern->values[i]) {
                buf_free(&list);
                return true;
            }
            buf_printf(&list, "%s%d", i ? " or " : "", (int)pattern->values[i]);
        }
        binder_refuse(binder, operand->span, "the value must be %s", buf_text(&list));
        buf_free(&list);
        return false;
    }
    case RANGE_POWER_OF_TWO:
        if (!constant->bits || constant->bits & (constant->bits - 1))
            return binder_refuse(binder, operand->span, "the value must be a power of two");
        return true;
    case RANGE_F32_BITS:
        return constant->kind != CONSTANT_INT ||
               binder_refuse(binder, operand->span, "a register or a 0f literal is expected, not an integer");
    case RANGE_FRACTION: {
        double fraction = constant_double(constant);
        if (!(fraction > 0 && fraction <= 1))
            return binder_refuse(binder, operand->span, "the value must be above 0.0 and at most 1.0");
        return true;
    }
    }
    return true;
}

/* ---- Special registers ------------------------------------------------------------------------------------------ */

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

/* A mov that takes a value apart: "mov.b32 {%h0, %h1}, SOURCE". */
static bool is_unpack(const Binder *binder)
{
    return opcode_has(binder->signature->op, RULE_UNPACK) && binder->match->form->pattern_count == 2 &&
           form_patterns(binder->match->form)[0].kind == PATTERN_DST_LIST && binder->signature->vector == 1;
}

/* Outside mov, a special register may only be the source of a conversion between integers.  (The rows of mov that copy
 * a special register say so themselves.) */
static bool takes_sreg(const Binder *binder)
{
    const Signature *signature = binder->signature;
    if (is_unpack(binder))
        return true;
    if (!opcode_has(signature->op, RULE_SPECIAL) || signature->type_count != 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        TypeClass class = type_class(signature->types[i]);
        if (class != CLASS_UNSIGNED && class != CLASS_SIGNED && class != CLASS_BITS)
            return false;
    }
    return true;
}

/* ---- Sources and destinations ----------------------------------------------------------------------------------- */

const char *operand_describe(const Operand *operand)
{
    switch (operand->kind) {
    case OPERAND_REG: return "a register";
    case OPERAND_SREG: return "a special register";
    case OPERAND_CONSTANT: return "a constant";
    case OPERAND_SYMBOL:
        switch (operand->symbol.kind) {
        case SYMBOL_VARIABLE: return "a variable";
        case SYMBOL_FUNCTION: return "a function";
        case SYMBOL_LABEL: return "a label";
        case SYMBOL_TABLE: return "a table of targets";
        }
        return "a symbol";
    case OPERAND_SINK: return "the sink '_'";
    case OPERAND_VECTOR: return "a list in braces";
    case OPERAND_PAIR: return "a pair of destinations";
    case OPERAND_ADDRESS: return operand->indexed ? "an indexed variable" : "an address";
    case OPERAND_COMPOSITE: return "an address with coordinates";
    case OPERAND_LIST: return "a list in parentheses";
    }
    return "an operand";
}

/* "VARIABLE+CONSTANT" is an integer, but no cache policy. */
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
    case OPERAND_REG: return fit_register(binder, operand, type, slot, REF_USE);
    case OPERAND_CONSTANT:
        if (!immediate)
            return binder_refuse(binder, operand->span, "a register of type .%s is expected, not a constant",
                                 type_name(type));
        return binder_constant(binder, operand, type) && fit_range(binder, operand, slot->pattern);
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
        return fit_register(binder, operand, type, slot, REF_DEF);
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
        return fit_register(binder, operand, TYPE_PRED, NULL, REF_USE);
    if (operand->kind == OPERAND_CONSTANT)
        return binder_constant(binder, operand, TYPE_PRED);
    return binder_refuse(binder, operand->span, "a predicate is expected, not %s", operand_describe(operand));
}

bool binder_no_element(Binder *binder, const Operand *operand)
{
    if (operand->kind != OPERAND_REG || !operand->selector)
        return true;
    return binder_refuse(binder, operand->span,
                         "an element of a vector register cannot stand here; move it to a register");
}

/* A register declared .v2 or .v4 in the place of a list. */
static bool is_vector_register(const Binder *binder, const Operand *operand, unsigned count)
{
    return operand->kind == OPERAND_REG && !operand->selector && !operand->constant && count > 1 &&
           operand_reg(binder, operand)->vector == count;
}

static bool fit_vector_register(Binder *binder, Operand *operand, Type type, const Slot *slot, RefRole role)
{
    const Reg *reg = operand_reg(binder, operand);
    if (operand->negated || operand->inverted)
        return binder_refuse(binder, operand->span, "a vector register cannot be negated");
    if (!type_fits(reg->type, type, slot))
        return binder_refuse(binder, operand->span, "vector register '%s' of type .%s where .%s is expected", reg->name,
                             type_name(reg->type), type_name(type));
    set_ref(binder, operand, role, type);
    return true;
}

/* Have the registers of a list more than one type? */
static bool list_is_mixed(const Binder *binder, const Operand *list)
{
    Type first = TYPE_NONE;
    for (unsigned i = 0; i < list->item_count; i++) {
        if (list->items[i].kind != OPERAND_REG)
            continue;
        Type type = operand_reg(binder, &list->items[i])->type;
        if (first && type != first)
            return true;
        first = type;
    }
    return false;
}

/* ptxas takes registers of one type in the place of floats also if they are integers, except in matrix fragments, mov
 * and cvt; registers of several types count as untyped, except where .f32 or .f64 is wanted. */
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

static bool element_fits(Binder *binder, Operand *item, Type type, const Slot *slot, RefRole role, const Reg *first,
                         bool mixed)
{
    const Reg *reg = operand_reg(binder, item);
    bool plain = reg->vector == 1 && !item->selector && !item->negated && !item->inverted;
    bool same_width = type_bits(reg->type) == (first ? type_bits(first->type) : type_bits(type));
    if (plain && same_width && element_counts(binder, reg->type, type, mixed)) {
        set_ref(binder, item, role, type);
        return true;
    }
    if (!fit_register(binder, item, type, slot, role))
        return false;
    if (!same_width && first)
        return binder_refuse(binder, item->span, "'%s' has %u bits, '%s' %u; the registers of a list have one width",
                             reg->name, type_bits(reg->type), first->name, type_bits(first->type));
    return true;
}

/* The two numbers behind a scale of a matrix say which of its bytes, and which lanes of four, hold the scales; PTX ISA,
 * "Block Scaling for mma.sync". */
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
    return binder_refuse(binder, item->span, "the %s of a scale is below %u%s", index == 0 ? "byte" : "lane", end,
                         steps[step]);
}

static bool fit_list(Binder *binder, Operand *operand, const Slot *slot, RefRole role)
{
    const Pattern *pattern = slot->pattern;
    Type type = (Type)slot->type;
    const Reg *first = NULL;
    const Operand *element = NULL;
    bool constant = false, sinks_only = true, mixed = operand->kind == OPERAND_VECTOR && list_is_mixed(binder, operand);
    if (is_vector_register(binder, operand, slot->count))
        return fit_vector_register(binder, operand, type, slot, role);
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
            if (!element_fits(binder, item, type, slot, role, first, mixed))
                return false;
            first = first ? first : operand_reg(binder, item);
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

/* ---- Handles and coordinates ------------------------------------------------------------------------------------ */

/* A texture, sampler, surface or tensor map: a 64-bit register or a variable, which has the type if it is not
 * TYPE_NONE. */
static bool fit_handle(Binder *binder, Operand *operand, Type type)
{
    if (operand->kind == OPERAND_REG)
        return binder_no_element(binder, operand) && fit_register(binder, operand, TYPE_U64, NULL, REF_USE);
    if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE) {
        const Variable *variable = operand->symbol.variable;
        if (type == TYPE_NONE || variable->type == type || type_class(variable->type) != CLASS_OPAQUE)
            return true;
        return binder_refuse(binder, operand->span, "'%s' is a .%s where a .%s is expected", variable->name,
                             type_name(variable->type), type_name(type));
    }
    return binder_refuse(binder, operand->span, "a 64-bit register or a variable is expected, not %s",
                         operand_describe(operand));
}

static bool fit_coordinate(Binder *binder, Operand *operand, Type type)
{
    if (operand->kind == OPERAND_REG && !operand->constant)
        return fit_register(binder, operand, type, NULL, REF_USE);
    if (operand->kind == OPERAND_CONSTANT)
        return binder_constant(binder, operand, type);
    return binder_refuse(binder, operand->span, "a coordinate of type .%s is expected, not %s", type_name(type),
                         operand_describe(operand));
}

/* Coordinates of textures and surfaces may be two or four where fewer are looked at. */
static bool coordinates_suffice(const Slot *slot, unsigned given)
{
    bool pads = slot->pattern->kind != PATTERN_TENSOR;
    return given == slot->count || (pads && given > slot->count && (given == 2 || given == 4));
}

static bool fit_coordinates(Binder *binder, Operand *operand, const Slot *slot, Type type)
{
    bool plain = operand->kind == OPERAND_REG && !operand->selector && !operand->constant;
    unsigned width = plain ? operand_reg(binder, operand)->vector : 0;
    if (!binder_no_element(binder, operand))
        return false;
    if (width > 1 && coordinates_suffice(slot, width))
        return fit_vector_register(binder, operand, type, NULL, REF_USE);
    if (slot->pattern->flags & PATTERN_SCALAR)
        return fit_coordinate(binder, operand, type);
    if (operand->kind != OPERAND_VECTOR)
        return binder_refuse(binder, operand->span, "a list of %u coordinates is expected, not %s", slot->count,
                             operand_describe(operand));
    unsigned given = operand->item_count;
    if (!coordinates_suffice(slot, given))
        return binder_refuse(binder, operand->span, "%u coordinates are expected, not %u", slot->count, given);
    bool mixed = list_is_mixed(binder, operand);
    for (unsigned i = 0; i < given; i++) {
        Operand *item = &operand->items[i];
        bool register_alone = item->kind == OPERAND_REG && !item->constant && !slot->layered;
        if (register_alone ? !element_fits(binder, item, type, NULL, REF_USE, NULL, mixed)
                           : !fit_coordinate(binder, item, i == 0 && slot->layered ? TYPE_U32 : type))
            return false;
    }
    return true;
}

static bool fit_composite(Binder *binder, Operand *operand, const Slot *slot)
{
    unsigned handles = slot->pattern->kind == PATTERN_TEXTURE_SAMPLER ? 2 : 1;
    Type type = slot->pattern->kind == PATTERN_TENSOR ? TYPE_S32 : (Type)slot->type;
    if (operand->kind != OPERAND_COMPOSITE || operand->item_count != handles + 1)
        return binder_refuse(binder, operand->span, "%s with coordinates in brackets is expected",
                             handles == 2 ? "a texture and a sampler" : "a handle");
    for (unsigned i = 0; i < handles; i++)
        if (!fit_handle(binder, &operand->items[i], TYPE_NONE))
            return false;
    return fit_coordinates(binder, &operand->items[handles], slot, type);
}

/* ---- Video operands --------------------------------------------------------------------------------------------- */

static bool all_digits(const char *text, unsigned count, char highest)
{
    for (unsigned i = 0; i < count; i++)
        if (text[i] < '0' || text[i] > highest)
            return false;
    return !text[count];
}

/* Lane masks name each lane at most once, the highest first: ".h10", ".b310". */
static bool is_mask(const char *text, char highest)
{
    if (!*text)
        return false;
    for (char limit = (char)(highest + 1); *text; limit = *text++)
        if (*text < '0' || *text >= limit)
            return false;
    return true;
}

static bool selector_fits(const char *selector, unsigned lanes, bool mask)
{
    char letter = selector[0] == '.' ? selector[1] : 0;
    if (!letter)
        return false;
    const char *rest = selector + 2;
    if (lanes == 1)
        return (letter == 'b' && all_digits(rest, 1, '3')) || (letter == 'h' && all_digits(rest, 1, '1'));
    if (mask)
        return lanes == 2 ? letter == 'h' && is_mask(rest, '1') : letter == 'b' && is_mask(rest, '3');
    return lanes == 2 ? letter == 'h' && all_digits(rest, 2, '3') : letter == 'b' && all_digits(rest, 4, '7');
}

static bool fit_video(Binder *binder, Operand *operand, const Slot *slot)
{
    bool destination = slot->pattern->kind == PATTERN_VIDEO_DST;
    if (operand->kind == OPERAND_CONSTANT && !destination && slot->count == 1)
        return binder_constant(binder, operand, TYPE_U32);
    if (operand->kind != OPERAND_REG || operand->constant)
        return binder_refuse(binder, operand->span, "a 32-bit register is expected, not %s", operand_describe(operand));
    Name selector = operand->selector;
    if (operand_reg(binder, operand)->vector > 1)
        return binder_no_element(binder, operand) && fit_register(binder, operand, TYPE_U32, slot, REF_USE);
    if (!selector && slot->pattern->flags & PATTERN_SELECTED)
        return binder_refuse(binder, operand->span, "a selector such as '.b0' or '.h1' must follow the destination");
    if (selector && !selector_fits(selector, slot->count, destination))
        return binder_refuse(binder, operand->span, "'%s' is not a selector of this instruction", selector);
    Operand plain = *operand;
    plain.selector = NULL;
    return fit_register(binder, &plain, TYPE_U32, slot, destination ? REF_DEF : REF_USE);
}

/* ---- Every kind ------------------------------------------------------------------------------------------------- */

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
        /* The accumulators of wgmma are read and written. */
        return fit_list(binder, operand, slot,
                        opcode_has(binder->signature->op, RULE_ACCUMULATES) ? REF_BOTH : REF_DEF);
    case PATTERN_SRC_LIST: return fit_list(binder, operand, slot, REF_USE);
    case PATTERN_INT:
        if (operand->kind != OPERAND_CONSTANT || operand->constant->kind != CONSTANT_INT)
            return binder_refuse(binder, operand->span, "an integer constant is expected, not %s",
                                 operand_describe(operand));
        return fit_range(binder, operand, pattern);
    case PATTERN_ADDRESS: return binder_address(binder, operand, slot);
    case PATTERN_HANDLE:
        if ((operand->kind == OPERAND_ADDRESS && operand->item_count == 1 && !operand->constant && !operand->indexed) ||
            (operand->kind == OPERAND_COMPOSITE && operand->item_count == 1))
            return fit_handle(binder, &operand->items[0], type);
        return binder_refuse(binder, operand->span, "a handle in brackets is expected, not %s",
                             operand_describe(operand));
    case PATTERN_TENSOR:
    case PATTERN_TEXTURE:
    case PATTERN_TEXTURE_SAMPLER:
    case PATTERN_SURFACE: return fit_composite(binder, operand, slot);
    case PATTERN_VIDEO_DST:
    case PATTERN_VIDEO_SRC: return fit_video(binder, operand, slot);
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
