/* Uses and definitions of labels.
 *
 * Labels may be used before they are defined, and a label defined later in a nearer scope wins over an outer one
 * that is already known. Uses are numbered in the order of the text; a definition binds the uses whose number is
 * not below that of its scope's beginning and which no nearer label has taken. */
#include "parser/scope.h"

struct PendingLabel {
    Label **place;
    Span span;
    NameEntry *entry;
    uint32_t position;
    uint32_t depth;        /* of the label in *place; 0: none */
    PendingLabel *earlier; /* the same name's use before this one */
};

static void free_use(ScopeTable *table, PendingLabel *use)
{
    use->earlier = table->free_pending;
    table->free_pending = use;
}

void scope_use_label(ScopeTable *table, Name name, Span span, Label **place)
{
    NameEntry *entry = scope_entry(table, name);
    Binding *binding = entry->top;
    uint32_t known = 0;
    if (binding && binding->kind == BINDING_LABEL) {
        *place = binding->label;
        known = binding->depth;
        if (known == scope_depth(table))
            return;
    } else {
        /* Until it is known which one is meant: some label of that name. */
        if (*place == NULL)
            *place = ARENA_NEW(table->arena, Label);
        (*place)->name = name;
        (*place)->span = span;
    }
    RareEntry *rare = scope_rare(table, entry);
    PendingLabel *use = table->free_pending;
    if (use)
        table->free_pending = use->earlier;
    else
        use = ARENA_NEW(table->arena, PendingLabel);
    *use = (PendingLabel){.place = place,
                          .span = span,
                          .entry = entry,
                          .position = table->position,
                          .depth = known,
                          .earlier = rare->uses};
    if (rare->uses == NULL)
        VEC_PUSH(table->arena, table->used_labels, entry);
    rare->uses = use;
}

void scope_define_label(ScopeTable *table, Label *label)
{
    Binding *binding = scope_declare(table, label->name, label->span, BINDING_LABEL);
    if (binding == NULL)
        return;
    binding->label = label;
    uint32_t depth = scope_depth(table);
    uint32_t begin = VEC_LAST(table->stack).position;
    RareEntry *rare = binding->entry->rare;
    while (rare && rare->uses && rare->uses->position >= begin) {
        PendingLabel *use = rare->uses;
        if (depth > use->depth)
            *use->place = label;
        rare->uses = use->earlier;
        free_use(table, use);
    }
}

void scope_resolve_labels(ScopeTable *table)
{
    for (size_t i = 0; i < table->used_labels.count; i++) {
        NameEntry *entry = table->used_labels.data[i];
        PendingLabel *first = NULL; /* the first use that found no label: the others are the same mistake */
        while (entry->rare->uses) {
            PendingLabel *use = entry->rare->uses;
            if (use->depth == 0)
                first = use;
            entry->rare->uses = use->earlier;
            if (first != use)
                free_use(table, use);
        }
        if (first)
            scope_report_unknown(table, entry->name, first->span, "label", 1u << BINDING_LABEL);
    }
    table->used_labels.count = 0;
}

void scope_forget_labels(ScopeTable *table)
{
    for (size_t i = 0; i < table->used_labels.count; i++)
        table->used_labels.data[i]->rare->uses = NULL;
    table->used_labels.count = 0;
}
