/* Operands. Each action pushes one operand or folds the last ones into one. Registers are numbered in the order in
 * which they appear, which is the order of the instruction's refs. */
#include <string.h>

#include "parser/internal.h"

static inline Operand *push(InstructionState *inst, OperandKind kind, Span span)
{
    VEC_PUSH(inst->scratch, inst->operands, (Operand){.kind = kind, .ref = REF_NONE, .span = span});
    return &VEC_LAST(inst->operands);
}

/* A placeholder for an operand that has been reported; the instruction will not be bound. */
static void push_bad(InstructionState *inst, Span span)
{
    inst->bad = true;
    push(inst, OPERAND_SINK, span);
}

static inline void push_register(Parser *parser, Binding *binding, Span span)
{
    InstructionState *inst = &parser->inst;
    RegRef ref = {.reg = function_register(parser, binding), .role = REF_USE, .type = TYPE_NONE, .partner = REF_NONE};
    Operand *operand = push(inst, OPERAND_REG, span);
    operand->ref = (uint16_t)inst->refs.count;
    VEC_PUSH(inst->scratch, inst->refs, ref);
}

static void push_symbol(InstructionState *inst, Symbol symbol, Span span)
{
    push(inst, OPERAND_SYMBOL, span)->symbol = symbol;
}

/* ".r .g .b .a" are aliases of ".x .y .z .w". */
static const Sreg *find_element(Parser *parser, Name name, Name selector)
{
    static const char colors[] = "rgba", axes[] = "xyzw";
    const char *color = selector[1] && selector[2] == 0 ? strchr(colors, selector[1]) : NULL;
    char element = color ? axes[color - colors] : 0;
    const Sreg *sreg = sreg_find(arena_printf(parser->scratch, "%s%s", name, selector));
    if (sreg == NULL && element)
        sreg = sreg_find(arena_printf(parser->scratch, "%s.%c", name, element));
    return sreg;
}

static const Sreg *find_sreg(Parser *parser, Name name, Name selector)
{
    if (name[0] != '%')
        return NULL;
    NameEntry *entry = scope_entry(&parser->scopes, name);
    if (entry->rare && entry->rare->sreg && entry->rare->sreg_selector == selector)
        return entry->rare->sreg;
    const Sreg *sreg = selector ? find_element(parser, name, selector) : sreg_find(name);
    if (sreg) {
        RareEntry *rare = scope_rare(&parser->scopes, entry);
        rare->sreg = sreg;
        rare->sreg_selector = selector;
    }
    return sreg;
}

/* The label itself is filled in later: see use_labels. */
static void push_label(InstructionState *inst, Name name, Span span)
{
    Label *label = ARENA_NEW(inst->scratch, Label);
    label->name = name;
    push_symbol(inst, (Symbol){.kind = SYMBOL_LABEL, .label = label}, span);
}

static void push_unknown(Parser *parser, Name name, Name selector, Span name_span, Span span)
{
    InstructionState *inst = &parser->inst;
    const Sreg *sreg = find_sreg(parser, name, selector);
    if (sreg) {
        push(inst, OPERAND_SREG, span)->sreg = sreg;
        return;
    }
    if (inst->uses_labels && selector == NULL) {
        push_label(inst, name, span);
        return;
    }
    if (find_sreg(parser, name, NULL)) {
        diag_error(parser->diag, span, "the special register '%s' has no element '%s'", name, selector);
    } else {
        const char *what = name[0] == '%'      ? "register"
                           : inst->is_call     ? "function or variable"
                           : inst->uses_tables ? "table"
                                               : "name";
        parser_report_unknown(parser, name, name_span, what);
    }
    push_bad(inst, span);
}

/* A name that is not a register of the function. */
static void push_meaning(Parser *parser, Name name, Name selector, Binding *binding, Span name_span, Span span)
{
    InstructionState *inst = &parser->inst;
    /* A label that is defined later hides the module's meaning of this name. */
    if (inst->is_branch && binding && binding->depth == 0)
        binding = NULL;
    if (binding == NULL) {
        push_unknown(parser, name, selector, name_span, span);
        return;
    }
    switch (binding->kind) {
    case BINDING_REGISTER: push_register(parser, binding, span); break;
    case BINDING_VARIABLE:
        push_symbol(inst, (Symbol){.kind = SYMBOL_VARIABLE, .variable = binding->variable}, span);
        break;
    case BINDING_FUNCTION:
        push_symbol(inst, (Symbol){.kind = SYMBOL_FUNCTION, .function = binding->function}, span);
        break;
    case BINDING_TABLE: push_symbol(inst, (Symbol){.kind = SYMBOL_TABLE, .table = binding->table}, span); break;
    case BINDING_LABEL:
        if (inst->uses_labels)
            push_label(inst, name, span);
        else
            push_symbol(inst, (Symbol){.kind = SYMBOL_LABEL, .label = binding->label}, span);
        break;
    case BINDING_BAD: push_bad(inst, span); break;
    }
    VEC_LAST(inst->operands).selector = selector;
}

static inline void reference(Parser *parser, Name name, Span name_span, Name selector, Span span)
{
    InstructionState *inst = &parser->inst;
    if (inst->refs.count >= REF_NONE - 2) {
        push_bad(inst, span);
        return;
    }
    Binding *binding = scope_find(&parser->scopes, name);
    if (binding == NULL || binding->kind != BINDING_REGISTER || binding->depth == 0) {
        push_meaning(parser, name, selector, binding, name_span, span);
        return;
    }
    push_register(parser, binding, span);
    VEC_LAST(inst->operands).selector = selector;
}

void operand_reference(Parser *parser, Name name, Span name_span, Name selector, Span span)
{
    reference(parser, name, name_span, selector, span);
}

void operand_qualified(Parser *parser, Name name, Span span)
{
    const char *dot = strchr(name, '.');
    uint32_t length = (uint32_t)(dot - name);
    operand_reference(parser, intern_n(parser->names, name, length), (Span){span.begin, span.begin + length},
                      intern(parser->names, dot), span);
}

void operand_sum(Parser *parser, Name name, Span name_span, ConstantValue offset, Span offset_span, Span span)
{
    InstructionState *inst = &parser->inst;
    operand_reference(parser, name, name_span, NULL, span);
    if (inst->bad)
        return;
    Operand *operand = &VEC_LAST(inst->operands);
    if (!constant_is_integer(parser->diag, offset, offset_span)) {
        inst->bad = true;
        return;
    }
    bool address = operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_VARIABLE;
    if (operand->kind != OPERAND_REG && !address) {
        diag_error(parser->diag, span, "a constant can be added only to a register or a variable's address");
        inst->bad = true;
        return;
    }
    operand->constant = constant_new(parser, offset, offset_span);
}

void operand_constant(Parser *parser, ConstantValue value, Span span)
{
    InstructionState *inst = &parser->inst;
    Operand *operand = push(inst, OPERAND_CONSTANT, span);
    if (value.bad) {
        inst->bad = true;
        return;
    }
    if (inst->is_call && value.parenthesised) {
        Span inner = {span.begin + 1, span.end - 1};
        const char *text = parser->source->text;
        while (inner.begin < inner.end && (unsigned char)text[inner.begin] <= ' ')
            inner.begin++;
        while (inner.end > inner.begin && (unsigned char)text[inner.end - 1] <= ' ')
            inner.end--;
        operand->constant = constant_new(parser, value, inner);
        return;
    }
    operand->constant = constant_new(parser, value, span);
}

void operand_sink(InstructionState *inst, Span span)
{
    push(inst, OPERAND_SINK, span);
}

void operand_negate(Parser *parser, Span span)
{
    InstructionState *inst = &parser->inst;
    Operand *operand = &VEC_LAST(inst->operands);
    if (operand->kind != OPERAND_REG && !inst->bad) {
        diag_error(parser->diag, span, "only a register can be negated");
        inst->bad = true;
    }
    operand->negated = true;
    operand->span = span;
}

void operand_invert(Parser *parser, Span span)
{
    InstructionState *inst = &parser->inst;
    Operand *operand = &VEC_LAST(inst->operands);
    if (operand->kind != OPERAND_REG && !inst->bad) {
        diag_error(parser->diag, span, "only a predicate register can be inverted");
        inst->bad = true;
    }
    operand->inverted = true;
    operand->span = span;
}

void operand_fold(Parser *parser, OperandKind kind, unsigned count, Span span)
{
    InstructionState *inst = &parser->inst;
    Operand folded = {.kind = kind, .ref = REF_NONE, .span = span};
    if (count > UINT16_MAX) {
        diag_error(parser->diag, span, "this list is too long");
        inst->bad = true;
    } else if (count > 0) {
        folded.item_count = (uint16_t)count;
        folded.items = ARENA_ARRAY(inst->arena, Operand, count);
        memcpy(folded.items, inst->operands.data + inst->operands.count - count, count * sizeof(Operand));
    }
    inst->operands.count -= count;
    VEC_PUSH(inst->scratch, inst->operands, folded);
}

void operand_bracketed(Parser *parser, unsigned count, Span span)
{
    InstructionState *inst = &parser->inst;
    if (count > 1) {
        operand_fold(parser, OPERAND_COMPOSITE, count, span);
        return;
    }
    const Operand *base = &VEC_LAST(inst->operands);
    bool good = base->kind == OPERAND_REG || base->kind == OPERAND_CONSTANT ||
                (base->kind == OPERAND_SYMBOL && base->symbol.kind == SYMBOL_VARIABLE);
    if (!good && !inst->bad) {
        diag_error(parser->diag, base->span, "an address must be a register, a variable or a constant");
        inst->bad = true;
    }
    operand_fold(parser, OPERAND_ADDRESS, 1, span);
    Operand *address = &VEC_LAST(inst->operands);
    if (address->items[0].kind != OPERAND_CONSTANT) {
        address->constant = address->items[0].constant;
        address->items[0].constant = NULL;
    }
}

void operand_unified(Parser *parser, Name word, Span span)
{
    Operand *address = &VEC_LAST(parser->inst.operands);
    if (strcmp(word, ".unified") != 0 || address->kind != OPERAND_ADDRESS) {
        diag_error(parser->diag, span, "only '.unified' may follow an address");
        parser->inst.bad = true;
        return;
    }
    address->unified = true;
    address->span.end = span.end;
}

/* The bytes of one element, by which a constant index is multiplied. */
static uint64_t element_bytes(const Variable *variable)
{
    uint64_t bytes = type_bits(variable->type) / 8 * variable->vector;
    return bytes ? bytes : 1;
}

void operand_indexed(Parser *parser, Name name, Span name_span, bool has_register, const ConstantValue *offset,
                     Span offset_span, Span span)
{
    InstructionState *inst = &parser->inst;
    operand_reference(parser, name, name_span, NULL, name_span);
    Operand *base = &VEC_LAST(inst->operands);
    bool good = base->kind == OPERAND_SYMBOL && base->symbol.kind == SYMBOL_VARIABLE;
    if (!good && !inst->bad) {
        diag_error(parser->diag, name_span, "only a variable can be indexed");
        inst->bad = true;
    }
    if (good && !base->symbol.variable->is_array && !inst->bad) {
        diag_error(parser->diag, name_span, "'%s' is not an array", name);
        inst->bad = true;
    }
    uint64_t bytes = good ? element_bytes(base->symbol.variable) : 1;
    if (has_register) {
        /* The index was pushed before the variable. */
        Operand variable = VEC_POP(inst->operands);
        Operand index = VEC_POP(inst->operands);
        if (index.kind != OPERAND_REG && !inst->bad) {
            diag_error(parser->diag, index.span, "an index must be a register or a constant");
            inst->bad = true;
        }
        VEC_PUSH(inst->scratch, inst->operands, variable);
        VEC_PUSH(inst->scratch, inst->operands, index);
    }
    operand_fold(parser, OPERAND_ADDRESS, has_register ? 2 : 1, span);
    Operand *address = &VEC_LAST(inst->operands);
    address->indexed = true;
    if (offset == NULL)
        return;
    if (!constant_is_integer(parser->diag, *offset, offset_span)) {
        inst->bad = true;
    } else if (has_register) {
        address->constant = constant_new(parser, *offset, offset_span);
    } else {
        address->constant = ARENA_NEW(inst->arena, Constant);
        *address->constant = (Constant){.kind = CONSTANT_INT, .bits = offset->bits * bytes};
    }
}

static ConstantValue plain_integer(Parser *parser, const PlainOperand *plain, Span span)
{
    ConstantValue value = constant_integer(plain->bits, false);
    return plain->negative ? constant_unary(parser->diag, '-', value, span) : value;
}

void operand_plain(Parser *parser, const PlainOperand *plain)
{
    Span span = plain->span, name = {span.begin, span.end};
    switch ((PlainKind)plain->kind) {
    case PLAIN_NAME:
        if (plain->selector)
            name.end = span.begin + (uint32_t)name_length(plain->name);
        reference(parser, plain->name, name, plain->selector, span);
        break;
    case PLAIN_INTEGER: operand_constant(parser, plain_integer(parser, plain, span), span); break;
    case PLAIN_F32: operand_constant(parser, constant_literal(CONSTANT_F32, plain->bits), span); break;
    case PLAIN_F64: operand_constant(parser, constant_literal(CONSTANT_F64, plain->bits), span); break;
    case PLAIN_SINK: operand_sink(&parser->inst, span); break;
    case PLAIN_ADDRESS:
        name = (Span){span.begin + 1, span.end - 1};
        operand_reference(parser, plain->name, name, NULL, name);
        operand_bracketed(parser, 1, span);
        break;
    case PLAIN_SUM_ADDRESS: {
        name = (Span){span.begin + 1, span.begin + 1 + (uint32_t)name_length(plain->name)};
        Span offset = {name.end + 1, span.end - 1};
        operand_sum(parser, plain->name, name, plain_integer(parser, plain, offset), offset,
                    (Span){name.begin, offset.end});
        operand_bracketed(parser, 1, span);
        break;
    }
    case PLAIN_VECTOR: operand_fold(parser, OPERAND_VECTOR, (unsigned)plain->bits, span); break;
    case PLAIN_LIST: operand_fold(parser, OPERAND_LIST, (unsigned)plain->bits, span); break;
    case PLAIN_PAIR: operand_fold(parser, OPERAND_PAIR, 2, span); break;
    }
}
