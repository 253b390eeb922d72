/* Instructions: collected operand by operand, then bound to a row of the instruction table. */
#include <string.h>

#include "parser/internal.h"

void instruction_guard(Parser *parser, Name name, bool inverted, Span span)
{
    InstructionState *state = &parser->inst;
    state->guarded = true;
    state->guard_inverted = inverted;
    state->guard_span = span;
    state->guard = REG_NONE;
    Binding *binding = scope_find(&parser->scopes, name);
    if (binding == NULL)
        parser_report_unknown(parser, name, span, "predicate register");
    else if (binding->kind == BINDING_REGISTER && binding->type == TYPE_PRED && binding->vector == 1)
        state->guard = function_register(parser, binding);
    else if (binding->kind != BINDING_BAD)
        diag_error(parser->diag, span, "'%s' is not a predicate register", name);
}

void instruction_begin(InstructionState *inst, Name opcode, Span span)
{
    inst->opcode = opcode;
    inst->opcode_span = span;
    inst->mods.count = 0;
    inst->operands.count = 0;
    inst->refs.count = 0;
    inst->bad = false;
}

/* Splits "add.s32" into its parts and appends the modifiers that were set apart. */
static const Signature *find_signature(Parser *parser)
{
    InstructionState *state = &parser->inst;
    const char *text = state->opcode, *dot = strchr(text, '.');
    VEC(Name) mods = {0};
    Name opcode = dot ? intern_n(parser->names, text, (size_t)(dot - text)) : state->opcode;
    while (dot) {
        const char *next = strchr(dot + 1, '.');
        size_t length = next ? (size_t)(next - dot) : strlen(dot);
        VEC_PUSH(parser->scratch, mods, intern_n(parser->names, dot, length));
        dot = next;
    }
    for (size_t i = 0; i < state->mods.count; i++)
        VEC_PUSH(parser->scratch, mods, state->mods.data[i]);
    return signature_intern(parser->module, opcode, mods.data, (unsigned)mods.count);
}

void instruction_signature(Parser *parser)
{
    InstructionState *state = &parser->inst;
    NameEntry *entry = scope_entry(&parser->scopes, state->opcode);
    if (state->mods.count > 0)
        state->signature = find_signature(parser);
    else if (entry->signature)
        state->signature = entry->signature;
    else
        state->signature = entry->signature = find_signature(parser);
    Opcode op = state->signature->op;
    state->is_branch = op == OP_BRA;
    state->is_call = op == OP_CALL;
    state->uses_tables = op == OP_BRX || op == OP_CALL;
    state->uses_labels = op == OP_BRA || op == OP_UNKNOWN;
    /* An operand that waits for its label must remain; any other instruction of a function that is not kept is checked
     * and forgotten, so that the same memory is reused and stays in the cache. */
    state->arena = parser->function->is_text && !state->uses_labels ? parser->loose_arena : parser->arena;
}

/* "call f, (5)": the operand was read as an expression but is a list of one. */
static void make_lists(Parser *parser)
{
    InstructionState *state = &parser->inst;
    for (size_t i = 0; i < state->operands.count; i++) {
        Operand *operand = &state->operands.data[i];
        const char *text = parser->source->text + operand->span.begin;
        if (operand->kind != OPERAND_CONSTANT || *text != '(')
            continue;
        Operand *item = ARENA_NEW(state->arena, Operand);
        *item = *operand;
        *operand =
            (Operand){.kind = OPERAND_LIST, .ref = REF_NONE, .item_count = 1, .items = item, .span = operand->span};
    }
}

/* Notes the uses of labels, now that the operands have their final addresses. */
static void use_labels(Parser *parser, Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_LABEL)
            scope_use_label(&parser->scopes, operand->symbol.label->name, operand->span, &operand->symbol.label);
    }
}

/* Gives the instruction its operands and references: copies or, if it is loose, those collected. */
static void take_operands(Parser *parser, Inst *inst, bool loose)
{
    InstructionState *state = &parser->inst;
    inst->operand_count = (uint16_t)state->operands.count;
    inst->ref_count = (uint16_t)state->refs.count;
    inst->operands = state->operands.data;
    inst->refs = state->refs.data;
    if (loose)
        return;
    if (inst->operand_count > 0) {
        inst->operands = ARENA_ARRAY(state->arena, Operand, inst->operand_count);
        memcpy(inst->operands, state->operands.data, inst->operand_count * sizeof *inst->operands);
    }
    if (inst->ref_count > 0) {
        inst->refs = ARENA_ARRAY(state->arena, RegRef, inst->ref_count);
        memcpy(inst->refs, state->refs.data, inst->ref_count * sizeof *inst->refs);
    }
}

void instruction_end(Parser *parser, Span span)
{
    InstructionState *state = &parser->inst;
    bool loose = state->arena == parser->loose_arena, guarded = state->guarded;
    Inst loose_inst = {0}, *inst = loose ? &loose_inst : ARENA_NEW(state->arena, Inst);
    state->guarded = false;
    if (state->operands.count > REF_NONE - 1 || state->refs.count > REF_NONE - 2) {
        diag_error(parser->diag, state->opcode_span, "this instruction has too many operands");
        return;
    }
    if (state->is_call)
        make_lists(parser);
    inst->signature = state->signature;
    inst->span = span;
    inst->loc = parser->locations.last;
    inst->guard = REF_NONE;
    if (guarded) {
        inst->guard = (uint16_t)state->refs.count;
        inst->guard_inverted = state->guard_inverted;
        state->bad |= state->guard == REG_NONE;
        RegRef guard = {.reg = state->guard, .role = REF_USE, .type = TYPE_PRED, .partner = REF_NONE};
        VEC_PUSH(parser->scratch, state->refs, guard);
    }
    take_operands(parser, inst, loose);
    if (state->uses_labels)
        use_labels(parser, inst);
    if (!state->bad && control_check(parser, inst))
        inst_bind(parser->module, parser->function, inst, parser->diag);
    if (loose)
        arena_clear(parser->loose_arena);
    else
        statement_add(parser, (Stmt){.kind = STMT_INST, .span = span, .inst = inst});
}

static void add_plain(Parser *parser, const PlainInst *plain, Span span)
{
    if (plain->guard)
        instruction_guard(parser, plain->guard, plain->guard_inverted, plain->guard_span);
    instruction_begin(&parser->inst, plain->opcode, plain->opcode_span);
    instruction_signature(parser);
    for (unsigned i = 0; i < plain->count; i++)
        operand_plain(parser, &plain->operands[i]);
    instruction_end(parser, span);
}

static bool next_plain(Parser *parser, Span *span)
{
    TokenValue label;
    while (!lexer_plain(parser->lexer, &parser->tokens.plain, span))
        if (lexer_inner_label(parser->lexer, &label, span))
            statement_label(parser, label.name, *span);
        else if (!location_plain(parser))
            return false;
    return true;
}

uint32_t instruction_plain(Parser *parser, Span span)
{
    do
        add_plain(parser, &parser->tokens.plain, span);
    while (next_plain(parser, &span));
    return span.end;
}
