/* Prints modules, functions and, in the parsed form, bodies. Instructions and the like are printed by
 * ir/text/print.c. */
#include "emit/emit.h"

#include "emit/internal.h"

#include <inttypes.h>
#include <string.h>

enum { DEEPEST_INDENTATION = 16 }; /* nesting is unbounded, lines should not be */

static void indent(size_t depth, Buf *out)
{
    for (size_t i = 0; i < depth && i < DEEPEST_INDENTATION; i++)
        buf_putc(out, '\t');
}

static void registers_emit(const RegDecl *decl, Buf *out)
{
    buf_puts(out, ".reg");
    if (decl->align)
        buf_printf(out, " .align %" PRIu64, decl->align);
    if (decl->vector > 1)
        buf_printf(out, " .v%u", decl->vector);
    buf_puts(out, " .");
    buf_puts(out, type_name(decl->type));
    for (unsigned i = 0; i < decl->item_count; i++) {
        buf_puts(out, i ? ", " : " ");
        buf_puts(out, decl->items[i].name);
        if (decl->items[i].is_range) {
            buf_putc(out, '<');
            buf_unsigned(out, decl->items[i].count);
            buf_putc(out, '>');
        }
    }
    buf_putc(out, ';');
}

static void statement_emit(const Function *function, const Stmt *stmt, bool locations, size_t *depth, Buf *out)
{
    switch (stmt->kind) {
    case STMT_LABEL:
        buf_name(out, stmt->label->name);
        buf_puts(out, ":\n");
        return;
    case STMT_LOC:
        if (locations)
            loc_print(stmt->loc, out);
        return;
    case STMT_CLOSE:
        if (*depth > 1)
            --*depth;
        break;
    default: break;
    }
    indent(*depth, out);
    switch (stmt->kind) {
    case STMT_INST: inst_print(stmt->inst, &function->regs, out); break;
    case STMT_OPEN:
        buf_putc(out, '{');
        ++*depth;
        break;
    case STMT_CLOSE: buf_putc(out, '}'); break;
    case STMT_REGISTERS: registers_emit(stmt->registers, out); break;
    case STMT_VARIABLE:
        variable_print(stmt->variable, out);
        buf_putc(out, ';');
        break;
    case STMT_PRAGMA: pragma_print(stmt->pragma, out); break;
    case STMT_TABLE: table_print(stmt->table, out); break;
    case STMT_LABEL:
    case STMT_LOC: break;
    }
    buf_putc(out, '\n');
}

static void span_emit(const Module *module, Span span, Buf *out)
{
    buf_write(out, module->source->text + span.begin, span.end - span.begin);
}

static void function_emit(const FunctionForm *form, bool locations, Buf *out)
{
    const Function *function = form->function;
    const Body *body = form->body;
    size_t depth = 1;
    for (size_t i = 0; body && i < body->declared.count; i++) {
        const Function *declared = body->declared.data[i];
        function_print_header(declared, &declared->tuning, out);
        buf_puts(out, ";\n");
    }
    function_print_header(function, form_tuning(form), out);
    if (!function->has_body) {
        buf_puts(out, ";\n");
        return;
    }
    buf_putc(out, '\n');
    if (function->is_text) {
        require(!body);
        span_emit(function->module, function->braces, out);
        buf_putc(out, '\n');
        return;
    }
    buf_puts(out, "{\n");
    if (body)
        body_print(body, locations, out);
    else
        for (size_t i = 0; i < function->stmts.count; i++)
            statement_emit(function, &function->stmts.data[i], locations, &depth, out);
    buf_puts(out, "}\n");
}

static void section_emit(const char *name, const char *text, Buf *out)
{
    size_t length = strlen(text), begin = strspn(text, "\r\n");
    while (length > begin && strchr(" \t\r\n\f", text[length - 1]))
        length--;
    buf_printf(out, ".section %s\n{\n", name);
    if (length > begin) {
        buf_write(out, text + begin, length - begin);
        buf_putc(out, '\n');
    }
    buf_puts(out, "}\n");
}

static void variable_emit(const Variable *variable, Buf *out)
{
    variable_print(variable, out);
    buf_puts(out, ";\n");
}

/* 'form' is printed in place of its function's own (NULL: none). */
static void item_emit(const Item *item, const FunctionForm *form, bool locations, Buf *out)
{
    FunctionForm printed;
    switch (item->kind) {
    case ITEM_VARIABLE: variable_emit(item->variable, out); break;
    case ITEM_FUNCTION:
        if (item->function->has_body)
            buf_putc(out, '\n');
        printed = form_of(form, item->function);
        function_emit(&printed, locations, out);
        break;
    case ITEM_FILE:
        buf_printf(out, ".file %" PRIu32 " \"%s\"", item->file.index, item->file.path);
        if (item->file.has_stamp)
            buf_printf(out, ", %" PRIu64 ", %" PRIu64, item->file.timestamp, item->file.size);
        buf_putc(out, '\n');
        break;
    case ITEM_SECTION: section_emit(item->section.name, item->section.text, out); break;
    case ITEM_PRAGMA:
        pragma_print(item->pragma, out);
        buf_putc(out, '\n');
        break;
    case ITEM_ALIAS: buf_printf(out, ".alias %s, %s;\n", item->alias.alias->name, item->alias.aliasee->name); break;
    case ITEM_VERBATIM: buf_printf(out, "%s\n", item->verbatim); break;
    }
}

static void header_emit(const Module *module, Buf *out)
{
    buf_printf(out, ".version %u.%u\n.target ", module->version / 10, module->version % 10);
    for (unsigned i = 0; i < module->target_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", module->targets[i]);
    buf_putc(out, '\n');
    if (module->address_size)
        buf_printf(out, ".address_size %u\n", module->address_size);
    buf_putc(out, '\n');
}

/* The output is about as long as the source: with room for it the buffer need not grow, and be copied, on the way. */
static void reserve(const Module *module, Buf *out)
{
    if (!module->source)
        return;
    buf_reserve(out, module->source->size + module->source->size / 16);
    memory_prefault(out->data + out->length, module->source->size);
}

void emit_module(const Module *module, Buf *out)
{
    reserve(module, out);
    header_emit(module, out);
    for (size_t i = 0; i < module->items.count; i++)
        item_emit(&module->items.data[i], NULL, true, out);
}

static bool is_changed(const Item *item)
{
    return item->kind == ITEM_FUNCTION && (item->function->body || item->function->is_retuned);
}

/* Items that passes add have no place in the source. */
static bool is_added(const Item *item)
{
    return item->span.end == 0;
}

bool module_is_as_written(const Module *module)
{
    for (size_t i = 0; i < module->items.count; i++)
        if (is_changed(&module->items.data[i]) || is_added(&module->items.data[i]))
            return false;
    return true;
}

/* A new header before the body as it is in the source. */
static void header_replace(const Function *function, Buf *out)
{
    function_print_header(function, &function->tuning, out);
    buf_putc(out, '\n');
    span_emit(function->module, function->braces, out);
}

void emit_module_as_written(const Module *module, Buf *out)
{
    reserve(module, out);
    uint32_t at = 0;
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (!is_changed(item))
            continue;
        const Function *function = item->function;
        require(function->text.begin >= at && function->text.end > function->text.begin);
        span_emit(module, (Span){at, function->text.begin}, out);
        at = function->text.end;
        if (!function->body) {
            header_replace(function, out);
            continue;
        }
        const FunctionForm own = form_of(NULL, function);
        function_emit(&own, true, out);
        if (module->source->text[at] == '\n' || module->source->text[at] == '\r')
            out->data[--out->length] = 0; /* the source's own line end follows */
    }
    span_emit(module, (Span){at, (uint32_t)module->source->size}, out);
    bool begun = false;
    for (size_t i = 0; i < module->items.count; i++) {
        if (!is_added(&module->items.data[i]))
            continue;
        if (!begun && out->length && out->data[out->length - 1] != '\n')
            buf_putc(out, '\n');
        begun = true;
        item_emit(&module->items.data[i], NULL, true, out);
    }
}

static bool item_is_wanted(const Item *item, const Reached *reached, bool debug)
{
    switch (item->kind) {
    case ITEM_FUNCTION: return reached_has(reached, item->function->name);
    case ITEM_ALIAS: return reached_has(reached, item->alias.alias->name);
    case ITEM_FILE:
    case ITEM_SECTION:
    case ITEM_VERBATIM: return debug;
    case ITEM_VARIABLE:
    case ITEM_PRAGMA: break;
    }
    return true;
}

void emit_module_with(const Module *module, const FunctionForm *form, Buf *out)
{
    Arena *scratch = arena_new();
    Reached *reached = reached_find(module, form, scratch);
    bool debug = module_is_debug(module);
    header_emit(module, out);
    for (size_t i = 0; i < module->items.count; i++)
        if (item_is_wanted(&module->items.data[i], reached, debug))
            item_emit(&module->items.data[i], form, debug, out);
    if (form && form->added)
        variable_emit(form->added, out);
    arena_free(scratch);
}

void emit_form(const FunctionForm *form, Buf *out)
{
    function_emit(form, true, out);
    if (form->added)
        variable_emit(form->added, out);
}
