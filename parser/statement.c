/* Statements of a body other than instructions and locations: labels, tables and pragmas. */
#include <stdlib.h>
#include <string.h>

#include "parser/internal.h"

void statement_add(Parser *parser, Stmt stmt)
{
    if (parser->function->is_text)
        return;
    VEC_PUSH(parser->scratch, parser->body.stmts, stmt);
}

void statement_label(Parser *parser, Name name, Span span)
{
    Label *label = ARENA_NEW(parser->arena, Label);
    label->name = name;
    label->span = (Span){span.begin, span.begin + (uint32_t)strlen(name)};
    scope_define_label(&parser->scopes, label);
    statement_add(parser, (Stmt){.kind = STMT_LABEL, .span = label->span, .label = label});
}

static Function *call_target(Parser *parser, const Token *name)
{
    Binding *binding = scope_find(&parser->scopes, name->value.name);
    if (binding == NULL) {
        parser_report_unknown(parser, name->value.name, name->span, "function");
        return NULL;
    }
    /* ptxas accepts an entry in the list; only a call of it is an error. */
    if (binding->kind == BINDING_FUNCTION)
        return binding->function;
    if (binding->kind != BINDING_BAD)
        diag_error(parser->diag, name->span, "'%s' is not a function", name->value.name);
    return NULL;
}

void statement_table(Parser *parser, TableKind kind, Name name, Span name_span, Span span)
{
    Table *table = ARENA_NEW(parser->arena, Table);
    table->kind = kind;
    table->name = name;
    table->span = (Span){name_span.begin, name_span.begin + (uint32_t)strlen(name)};
    size_t count = kind == TABLE_CALL_PROTOTYPE ? 0 : parser->lists.names.count;
    if (count > UINT32_MAX) {
        diag_error(parser->diag, span, "this table is too large");
        return;
    }
    table->count = (unsigned)count;
    if (kind == TABLE_CALL_PROTOTYPE) {
        table->prototype = parser->prototypes.of_table;
    } else if (kind == TABLE_CALL_TARGETS) {
        table->functions = ARENA_ARRAY(parser->arena, Function *, count);
        for (size_t i = 0; i < count; i++)
            table->functions[i] = call_target(parser, &parser->lists.names.data[i]);
    } else {
        table->labels = ARENA_ARRAY(parser->arena, Label *, count);
        for (size_t i = 0; i < count; i++) {
            const Token *label = &parser->lists.names.data[i];
            scope_use_label(&parser->scopes, label->value.name, label->span, &table->labels[i]);
        }
    }
    parser->prototypes.at_hand = &parser->function->prototype;
    parser->decl.open = false;
    Binding *binding = scope_declare(&parser->scopes, name, table->span, BINDING_TABLE);
    if (binding)
        binding->table = table;
    statement_add(parser, (Stmt){.kind = STMT_TABLE, .span = span, .table = table});
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
    for (size_t i = 0; i < parser->lists.strings.count; i++) {
        Name text = parser->lists.strings.data[i];
        if (strncmp(text, mask, strlen(mask)) == 0 && !is_bytes_mask(text + strlen(mask)))
            diag_error(parser->diag, span, "the pragma \"%s\" needs a number, as in \"used_bytes_mask 0xff\"",
                       mask);
    }
    statement_add(parser, (Stmt){.kind = STMT_PRAGMA, .span = span, .pragma = pragma_new(parser)});
}
