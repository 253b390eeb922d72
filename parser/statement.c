/* Statements of a body: instructions, labels, tables, .loc and .pragma. */
#include <string.h>

#include "parser/internal.h"

#define uthash_fatal(message) out_of_memory()
#include <uthash.h>

/* A place that some .loc has named. */
typedef struct Location {
    uint32_t place[3];
    UT_hash_handle hh;
} Location;

void statement_add(Parser *parser, Stmt stmt)
{
    if (parser->function->is_text)
        return;
    VEC_PUSH(parser->scratch, parser->stmts, stmt);
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

void statement_guard(Parser *parser, Name name, bool inverted, Span span)
{
    parser->guarded = true;
    parser->guard_inverted = inverted;
    parser->guard_span = span;
    parser->guard = REG_NONE;
    Binding *binding = scope_find(parser, name);
    if (binding == NULL)
        scope_report_unknown(parser, name, span, "predicate register");
    else if (binding->kind == BINDING_REGISTER && binding->type == TYPE_PRED && binding->vector == 1)
        parser->guard = scope_register(parser, binding);
    else if (binding->kind != BINDING_BAD)
        diag_error(parser->diag, span, "'%s' is no predicate register", name);
}

void statement_begin(Parser *parser, Name opcode, Span span)
{
    parser->opcode = opcode;
    parser->opcode_span = span;
    parser->mods.count = 0;
    parser->operands.count = 0;
    parser->refs.count = 0;
    parser->bad = false;
}

/* "add.s32" and what modifiers stand apart from it, taken apart. */
static const Signature *find_signature(Parser *parser)
{
    const char *text = parser->opcode, *dot = strchr(text, '.');
    NameVec mods = {0};
    Name opcode = dot ? intern_n(parser->names, text, (size_t)(dot - text)) : parser->opcode;
    while (dot) {
        const char *next = strchr(dot + 1, '.');
        size_t length = next ? (size_t)(next - dot) : strlen(dot);
        VEC_PUSH(parser->scratch, mods, intern_n(parser->names, dot, length));
        dot = next;
    }
    for (size_t i = 0; i < parser->mods.count; i++)
        VEC_PUSH(parser->scratch, mods, parser->mods.data[i]);
    return signature_intern(parser->module, opcode, mods.data, (unsigned)mods.count);
}

void statement_signature(Parser *parser)
{
    NameEntry *entry = scope_entry(parser, parser->opcode);
    if (parser->mods.count > 0)
        parser->signature = find_signature(parser);
    else if (entry->signature)
        parser->signature = entry->signature;
    else
        parser->signature = entry->signature = find_signature(parser);
    Opcode op = parser->signature->op;
    parser->is_branch = op == OP_BRA;
    parser->is_call = op == OP_CALL;
    parser->uses_tables = op == OP_BRX || op == OP_CALL;
    parser->uses_labels = op == OP_BRA || op == OP_UNKNOWN;
    /* An operand that waits for its label has to stay; any other instruction of a function that is not kept is looked
     * at and forgotten: its memory, always the same, stays in the cache. */
    parser->inst_arena = parser->function->is_text && !parser->uses_labels ? parser->loose_arena : parser->arena;
}

/* "call f, (5)": what was read as an expression is a list of one. */
static void make_lists(Parser *parser)
{
    for (size_t i = 0; i < parser->operands.count; i++) {
        Operand *operand = &parser->operands.data[i];
        const char *text = parser->source->text + operand->span.begin;
        if (operand->kind != OPERAND_CONSTANT || *text != '(')
            continue;
        Operand *item = ARENA_NEW(parser->inst_arena, Operand);
        *item = *operand;
        *operand =
            (Operand){.kind = OPERAND_LIST, .ref = REF_NONE, .item_count = 1, .items = item, .span = operand->span};
    }
}

/* Labels that operands name, now that the operands stand where they stay. */
static void use_labels(Parser *parser, Inst *inst)
{
    for (unsigned i = 0; i < inst->operand_count; i++) {
        Operand *operand = &inst->operands[i];
        if (operand->kind == OPERAND_SYMBOL && operand->symbol.kind == SYMBOL_LABEL)
            scope_use_label(parser, operand->symbol.label->name, operand->span, &operand->symbol.label);
    }
}

/* The instruction's operands and references, where they stay or, if it is loose, where they were collected. */
static void take_operands(Parser *parser, Inst *inst, bool loose)
{
    inst->operand_count = (uint16_t)parser->operands.count;
    inst->ref_count = (uint16_t)parser->refs.count;
    inst->operands = parser->operands.data;
    inst->refs = parser->refs.data;
    if (loose)
        return;
    if (inst->operand_count > 0) {
        inst->operands = ARENA_ARRAY(parser->inst_arena, Operand, inst->operand_count);
        memcpy(inst->operands, parser->operands.data, inst->operand_count * sizeof *inst->operands);
    }
    if (inst->ref_count > 0) {
        inst->refs = ARENA_ARRAY(parser->inst_arena, RegRef, inst->ref_count);
        memcpy(inst->refs, parser->refs.data, inst->ref_count * sizeof *inst->refs);
    }
}

void statement_end(Parser *parser, Span span)
{
    bool loose = parser->inst_arena == parser->loose_arena, guarded = parser->guarded;
    Inst loose_inst = {0}, *inst = loose ? &loose_inst : ARENA_NEW(parser->inst_arena, Inst);
    parser->guarded = false;
    if (parser->operands.count > REF_NONE - 1 || parser->refs.count > REF_NONE - 2) {
        diag_error(parser->diag, parser->opcode_span, "this instruction has too many operands");
        return;
    }
    if (parser->is_call)
        make_lists(parser);
    inst->signature = parser->signature;
    inst->span = span;
    inst->loc = parser->last_loc;
    inst->guard = REF_NONE;
    if (guarded) {
        inst->guard = (uint16_t)parser->refs.count;
        inst->guard_inverted = parser->guard_inverted;
        parser->bad |= parser->guard == REG_NONE;
        RegRef guard = {.reg = parser->guard, .role = REF_USE, .type = TYPE_PRED, .partner = REF_NONE};
        VEC_PUSH(parser->scratch, parser->refs, guard);
    }
    take_operands(parser, inst, loose);
    if (parser->uses_labels)
        use_labels(parser, inst);
    if (!parser->bad && control_check(parser, inst))
        inst_bind(parser->module, parser->function, inst, parser->diag);
    if (loose)
        arena_clear(parser->loose_arena);
    else
        statement_add(parser, (Stmt){.kind = STMT_INST, .span = span, .inst = inst});
}

static void add_plain(Parser *parser, const PlainInst *plain, Span span)
{
    if (plain->guard)
        statement_guard(parser, plain->guard, plain->guard_inverted, plain->guard_span);
    statement_begin(parser, plain->opcode, plain->opcode_span);
    statement_signature(parser);
    for (unsigned i = 0; i < plain->count; i++)
        operand_plain(parser, &plain->operands[i]);
    statement_end(parser, span);
}

uint32_t statement_plain(Parser *parser, Span span)
{
    do
        add_plain(parser, &parser->plain, span);
    while (lexer_plain(parser->lexer, &parser->plain, &span));
    return span.end;
}

/* ---- Labels and tables ------------------------------------------------------------------------------------------- */

void statement_label(Parser *parser, Name name, Span span)
{
    Label *label = ARENA_NEW(parser->arena, Label);
    label->name = name;
    label->span = (Span){span.begin, span.begin + (uint32_t)strlen(name)};
    scope_define_label(parser, label);
    statement_add(parser, (Stmt){.kind = STMT_LABEL, .span = label->span, .label = label});
}

static Function *call_target(Parser *parser, const Token *name)
{
    Binding *binding = scope_find(parser, name->value.name);
    if (binding == NULL) {
        scope_report_unknown(parser, name->value.name, name->span, "function");
        return NULL;
    }
    /* ptxas takes an entry in the list; only a call of it is refused. */
    if (binding->kind == BINDING_FUNCTION)
        return binding->function;
    if (binding->kind != BINDING_BAD)
        diag_error(parser->diag, name->span, "'%s' is no function", name->value.name);
    return NULL;
}

void statement_table(Parser *parser, TableKind kind, Name name, Span name_span, Span span)
{
    Table *table = ARENA_NEW(parser->arena, Table);
    table->kind = kind;
    table->name = name;
    table->span = (Span){name_span.begin, name_span.begin + (uint32_t)strlen(name)};
    size_t count = kind == TABLE_CALL_PROTOTYPE ? 0 : parser->table_names.count;
    if (count > UINT32_MAX) {
        diag_error(parser->diag, span, "this table is too large");
        return;
    }
    table->count = (unsigned)count;
    if (kind == TABLE_CALL_PROTOTYPE) {
        table->prototype = parser->table_prototype;
    } else if (kind == TABLE_CALL_TARGETS) {
        table->functions = ARENA_ARRAY(parser->arena, Function *, count);
        for (size_t i = 0; i < count; i++)
            table->functions[i] = call_target(parser, &parser->table_names.data[i]);
    } else {
        table->labels = ARENA_ARRAY(parser->arena, Label *, count);
        for (size_t i = 0; i < count; i++) {
            const Token *label = &parser->table_names.data[i];
            scope_use_label(parser, label->value.name, label->span, &table->labels[i]);
        }
    }
    parser->prototype = &parser->function->prototype;
    parser->decl.open = false;
    Binding *binding = scope_declare(parser, name, table->span, BINDING_TABLE);
    if (binding)
        binding->table = table;
    statement_add(parser, (Stmt){.kind = STMT_TABLE, .span = span, .table = table});
}

/* ---- .loc and .pragma -------------------------------------------------------------------------------------------- */

static bool fits_loc(Parser *parser, const uint64_t *place, Span span)
{
    if (place[0] <= UINT32_MAX && place[1] <= UINT32_MAX && place[2] <= UINT32_MAX)
        return true;
    diag_error(parser->diag, span, "a number of this '.loc' is too large");
    return false;
}

static Location *find_location(Parser *parser, const uint64_t *place)
{
    uint32_t key[3] = {(uint32_t)place[0], (uint32_t)place[1], (uint32_t)place[2]};
    Location *location;
    HASH_FIND(hh, parser->locations, key, sizeof key, location);
    return location;
}

static Loc *add_loc(Parser *parser, const uint64_t *place, Span span)
{
    Loc *loc = ARENA_NEW(parser->arena, Loc);
    loc->file = (uint32_t)place[0];
    loc->line = (uint32_t)place[1];
    loc->column = (uint32_t)place[2];
    if (find_location(parser, place) == NULL) {
        Location *location = ARENA_NEW(parser->scratch, Location);
        location->place[0] = loc->file;
        location->place[1] = loc->line;
        location->place[2] = loc->column;
        HASH_ADD(hh, parser->locations, place, sizeof location->place, location);
    }
    parser->last_loc = loc;
    statement_add(parser, (Stmt){.kind = STMT_LOC, .span = span, .loc = loc});
    return loc;
}

void statement_loc(Parser *parser, const uint64_t *place, Span span)
{
    if (fits_loc(parser, place, span))
        add_loc(parser, place, span);
}

void statement_loc_inlined(Parser *parser, const uint64_t *place, const Token *words, uint64_t offset,
                           const uint64_t *at, Span span)
{
    if (!fits_loc(parser, place, span) || !fits_loc(parser, at, span))
        return;
    if (strcmp(words[0].value.name, "function_name") != 0) {
        diag_error(parser->diag, words[0].span, "'function_name' belongs here");
        return;
    }
    if (strcmp(words[2].value.name, "inlined_at") != 0) {
        diag_error(parser->diag, words[2].span, "'inlined_at' belongs here");
        return;
    }
    if (!header_require(parser, words[0].span, "'function_name'", 70, 0))
        return;
    if (find_location(parser, at) == NULL) {
        Span at_span = {words[2].span.begin, span.end};
        diag_error(parser->diag, at_span, "no earlier '.loc' has been at %u %u %u", (unsigned)at[0], (unsigned)at[1],
                   (unsigned)at[2]);
        return;
    }
    Loc *loc = add_loc(parser, place, span);
    loc->inlined = true;
    loc->function_name = words[1].value.name;
    loc->function_offset = offset;
    loc->at_file = (uint32_t)at[0];
    loc->at_line = (uint32_t)at[1];
    loc->at_column = (uint32_t)at[2];
}

/* "used_bytes_mask 0xf0" */
static bool is_bytes_mask(const char *text)
{
    char *end;
    text += strspn(text, " ");
    return *text >= '0' && *text <= '9' && (strtoull(text, &end, 0), *end == 0);
}

void statement_pragma(Parser *parser, Span span)
{
    static const char mask[] = "used_bytes_mask";
    for (size_t i = 0; i < parser->strings.count; i++) {
        Name text = parser->strings.data[i];
        if (strncmp(text, mask, strlen(mask)) == 0 && !is_bytes_mask(text + strlen(mask)))
            diag_error(parser->diag, span, "the pragma \"%s\" needs a number behind it, as in \"used_bytes_mask 0xff\"",
                       mask);
    }
    statement_add(parser, (Stmt){.kind = STMT_PRAGMA, .span = span, .pragma = pragma_new(parser)});
}

void statement_free_tables(Parser *parser)
{
    HASH_CLEAR(hh, parser->locations);
}
