/* The items of a module other than functions and variables, and the checks at its end. */
#include <string.h>

#include "parser/internal.h"

Item *module_add_item(Parser *parser, ItemKind kind, Span span)
{
    VEC_PUSH(parser->arena, parser->module->items, (Item){.kind = kind, .span = span});
    return &VEC_LAST(parser->module->items);
}

void module_file(Parser *parser, const Token *index, Name path, unsigned stamps, uint64_t time, uint64_t size,
                 Span span)
{
    uint64_t number = index->value.bits;
    if (number > UINT32_MAX) {
        diag_error(parser->diag, index->span, "this file index is too large");
        return;
    }
    Map *files = &parser->module_items.files;
    const uint64_t *earlier = map_get(files, number + 1);
    if (earlier) {
        Span earlier_span = {(uint32_t)(*earlier >> 32), (uint32_t)*earlier};
        diag_error(parser->diag, index->span, "file index %llu is already used", (unsigned long long)number);
        diag_note(parser->diag, earlier_span, "it was used here");
        return;
    }
    map_put(files, number + 1, (uint64_t)span.begin << 32 | span.end);
    Item *item = module_add_item(parser, ITEM_FILE, span);
    item->file.index = (uint32_t)number;
    item->file.path = path;
    item->file.has_stamp = stamps > 0;
    item->file.timestamp = time;
    item->file.size = size;
}

void module_section(Parser *parser, Name name, Span body, Span span)
{
    const char *text = parser->source->text + body.begin;
    size_t length = body.end - body.begin;
    /* Whole lines: the rest of the opening brace's line and the start of the closing one's are usually blank. */
    size_t start = 0;
    while (start < length && (text[start] == ' ' || text[start] == '\t' || text[start] == '\r'))
        start++;
    if (start < length && text[start] == '\n') {
        text += start + 1;
        length -= start + 1;
    }
    while (length > 0 && (text[length - 1] == ' ' || (text[length - 1] >= '\t' && text[length - 1] <= '\r')))
        length--;
    Item *item = module_add_item(parser, ITEM_SECTION, span);
    item->section.name = name;
    item->section.text = arena_strndup(parser->arena, text, length);
    parser->module_items.has_section = true;
}

Pragma *pragma_new(Parser *parser)
{
    Pragma *pragma = ARENA_NEW(parser->arena, Pragma);
    pragma->count = (unsigned)parser->lists.strings.count;
    pragma->strings = ARENA_ARRAY(parser->arena, Name, parser->lists.strings.count);
    if (pragma->count > 0)
        memcpy(pragma->strings, parser->lists.strings.data, parser->lists.strings.count * sizeof(Name));
    return pragma;
}

void module_pragma(Parser *parser, Span span)
{
    /* ptxas ignores unknown strings in functions but rejects them here. */
    for (size_t i = 0; i < parser->lists.strings.count; i++) {
        Name text = parser->lists.strings.data[i];
        if (strcmp(text, "nounroll") != 0)
            diag_error(parser->diag, span, "the pragma \"%s\" is not allowed at module scope", text);
    }
    module_add_item(parser, ITEM_PRAGMA, span)->pragma = pragma_new(parser);
}

static Binding *find_function(Parser *parser, const Token *name)
{
    Binding *binding = scope_find_global(name->value.name);
    if (binding && binding->kind == BINDING_FUNCTION)
        return binding;
    if (binding == NULL)
        parser_report_unknown(parser, name->value.name, name->span, "function");
    else if (binding->kind != BINDING_BAD)
        diag_error(parser->diag, name->span, "'%s' is not a function", name->value.name);
    return NULL;
}

void module_alias(Parser *parser, const Token *alias, const Token *aliasee, Span span)
{
    header_require(parser, span, "'.alias'", 63, 30);
    Binding *new_name = find_function(parser, alias);
    Binding *old_name = find_function(parser, aliasee);
    if (new_name == NULL || old_name == NULL)
        return;
    if (new_name->function->has_body) {
        diag_error(parser->diag, alias->span, "the alias '%s' cannot have a definition", alias->value.name);
        return;
    }
    if (new_name->function->is_entry || old_name->function->is_entry) {
        diag_error(parser->diag, span, "an entry cannot have an alias");
        return;
    }
    prototype_check(parser, new_name->function, old_name->function, alias->span);
    new_name->aliased = true;
    Item *item = module_add_item(parser, ITEM_ALIAS, span);
    item->alias.alias = new_name->function;
    item->alias.aliasee = old_name->function;
}

void module_dwarf_line(Parser *parser, Span span)
{
    if (parser->module->version >= 20)
        diag_error(parser->diag, span, "@@DWARF lines were removed in PTX 2.0; use .section");
    const char *text = parser->source->text + span.begin;
    size_t length = span.end - span.begin;
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    module_add_item(parser, ITEM_VERBATIM, span)->verbatim = intern_n(parser->names, text, length);
    parser->module_items.has_section = true;
}

void module_end(Parser *parser)
{
    Module *module = parser->module;
    for (size_t i = 0; i < module->items.count; i++) {
        Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || item->function->has_body)
            continue;
        Function *declared = item->function;
        Binding *binding = scope_find_global(declared->name);
        if (binding == NULL || binding->kind != BINDING_FUNCTION)
            continue;
        if (binding->function->has_body) {
            declared->definition = binding->function;
        } else if (declared->linkage != LINKAGE_EXTERN && declared->linkage != LINKAGE_WEAK && !binding->aliased) {
            diag_error(parser->diag, declared->span, "'%s' is neither defined nor .extern", declared->name);
            binding->aliased = true; /* do not report its other declarations */
        }
    }
    if (parser->header.debug_span.end > 0 && !parser->module_items.has_section)
        diag_error(parser->diag, parser->header.debug_span,
                   "the target option 'debug' needs DWARF data in .section directives");
}
