/* The message for an unknown name: it suggests the closest known one. */
#include "parser/internal.h"

#define CANDIDATE_LIMIT 4096

static const char *suggestion(ScopeTable *table, Name name, unsigned wanted)
{
    const char **candidates = ARENA_ARRAY(table->arena, const char *, CANDIDATE_LIMIT);
    size_t count = 0;
    for (NameEntry *entry = table->entries; entry && count < CANDIDATE_LIMIT; entry = entry->next) {
        if (entry->top && (wanted >> entry->top->kind & 1))
            candidates[count++] = entry->name;
        if (entry->range && (wanted >> BINDING_REGISTER & 1) && count < CANDIDATE_LIMIT)
            candidates[count++] =
                arena_printf(table->arena, "%s%llu", entry->name, (unsigned long long)(entry->range->count - 1));
    }
    return closest_word(name, candidates, count);
}

/* "%r3" for "r3", "%tid.x" for "tid"; NULL if there is no such register. */
static const char *with_percent(ScopeTable *table, Name name)
{
    Name other = intern(table->names, arena_printf(table->arena, "%%%s", name));
    const Binding *binding = scope_find(table, other);
    if (binding && binding->kind == BINDING_REGISTER)
        return other;
    const Sreg *sreg = sreg_find(other);
    return !sreg ? NULL : sreg->vector > 1 ? arena_printf(table->arena, "%s.x", other) : other;
}

void scope_report_unknown(ScopeTable *table, Name name, Span span, const char *what, unsigned wanted)
{
    const char *closest = NULL;
    if (table->diag->errors < table->diag->error_limit) {
        if (name[0] != '%' && (wanted >> BINDING_REGISTER & 1))
            closest = with_percent(table, name);
        if (!closest)
            closest = suggestion(table, name, wanted);
        if (!closest && name[0] == '%')
            closest = sreg_closest(name);
    }
    if (closest)
        diag_error(table->diag, span, "unknown %s '%s'; did you mean '%s'?", what, name, closest);
    else
        diag_error(table->diag, span, "unknown %s '%s'", what, name);
}

void parser_report_unknown(Parser *parser, Name name, Span span, const char *what)
{
    unsigned wanted = 1u << BINDING_REGISTER;
    if (name[0] != '%') {
        wanted |= 1u << BINDING_VARIABLE | 1u << BINDING_LABEL | 1u << BINDING_TABLE;
        if (parser->inst.is_call) /* only calls name functions, except for a rare mov */
            wanted |= 1u << BINDING_FUNCTION;
    }
    if (!parser->recovery.lost_in_function && !parser->recovery.lost_in_module)
        scope_report_unknown(&parser->scopes, name, span, what, wanted);
    scope_bind_bad(&parser->scopes, name, span);
}
