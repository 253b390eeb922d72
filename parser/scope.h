/* Names and their scopes, without the rest of the parser: scope.c, label.c. */
#ifndef PTXOPT_PARSER_SCOPE_H
#define PTXOPT_PARSER_SCOPE_H

#include "ir/ir.h"

typedef enum BindingKind {
    BINDING_REGISTER,
    BINDING_VARIABLE,
    BINDING_FUNCTION,
    BINDING_LABEL,
    BINDING_TABLE,
    BINDING_BAD, /* an unknown name that has been reported: further uses are silent */
} BindingKind;

typedef struct NameEntry NameEntry;

/* The meaning of a name in one scope. */
typedef struct Binding {
    NameEntry *entry;
    struct Binding *hidden;     /* the same name's meaning in an outer scope */
    struct Binding *scope_next; /* the scope's other bindings */
    uint32_t depth;
    BindingKind kind;
    bool aliased;    /* FUNCTION: .alias defines it */
    bool from_range; /* REGISTER: of a range, so not declared by itself */
    Span span;
    union {
        struct {
            RegId reg; /* REG_NONE until it is used */
            Type type;
            uint8_t vector;
        };
        Variable *variable;
        Function *function;
        Label *label;
        Table *table;
    };
} Binding;

/* A range PREFIX<count> of registers. */
typedef struct RangeBinding {
    NameEntry *entry;
    struct RangeBinding *hidden;
    struct RangeBinding *scope_next;
    uint32_t depth;
    uint64_t count;
    Type type;
    uint8_t vector;
    Span span;
} RangeBinding;

typedef struct PendingLabel PendingLabel;

/* The fields that few names need. */
typedef struct RareEntry {
    PendingLabel *uses; /* latest first */
    /* The special register NAME, or NAME SELECTOR, that was found last. */
    const Sreg *sreg;
    Name sreg_selector;
    /* The lowest number N, and the scope, for which PREFIX N was declared by itself: a later range may not cover it. */
    uint32_t exact_depth;
    uint32_t exact_serial; /* of the scope */
    uint64_t exact_number;
} RareEntry;

/* Everything known about one name; NameHead.slot points to it. Most names are registers of ranges, and there are many:
 * an entry is as long as a cache line. */
struct NameEntry {
    Name name;
    NameEntry *next; /* in the order in which names were first met */
    Binding *top;
    RangeBinding *range; /* with this name as its prefix */
    NameEntry *prefix;   /* of the range in which this name was last found, and its number there; NULL: none so far */
    uint64_t number;
    const Signature *signature; /* of the instruction with this spelling; NULL: not looked up yet */
    RareEntry *rare;            /* NULL: nothing of it */
};

typedef struct Scope {
    Binding *bindings;      /* latest first */
    const Binding *noted;   /* the latest one whose number is noted in NameEntry.exact_*; NULL: none */
    RangeBinding *ranges;
    uint32_t range_depth; /* the depth of the innermost scope, up to this one, that declares ranges; 0: none */
    uint32_t position;    /* uses of labels with this number or a higher one lie in this scope */
    Span open;            /* its brace */
} Scope;

typedef struct ScopeTable {
    Arena *arena;
    Interner *names;
    Diag *diag;
    NameEntry *entries, **last_entry;
    bool has_digit_prefix;      /* some range's prefix ended with a digit: "%r1<5>" */
    bool range_initials[256];   /* bytes with which the prefix of some range began: most names begin otherwise */
    VEC(Scope) stack;           /* stack.data[0] is the module */
    uint32_t position;
    VEC(NameEntry *) used_labels; /* names with uses that wait for a label, some of them more than once */
    PendingLabel *free_pending;   /* for reuse */
    Binding *free_bindings;
} ScopeTable;

/* Everything is allocated in the arena, which must outlive the table. */
void scope_table_init(ScopeTable *table, Arena *arena, Interner *names, Diag *diag);
/* The name's entry, made on first use. */
NameEntry *scope_entry(ScopeTable *table, Name name);
RareEntry *scope_rare(ScopeTable *table, NameEntry *entry);
void scope_push(ScopeTable *table, Span open);
void scope_pop(ScopeTable *table);

static inline uint32_t scope_depth(const ScopeTable *table)
{
    return (uint32_t)table->stack.count - 1;
}

/* Looks the name up in the ranges of scopes nearer than that of its innermost binding (NULL: it has none). */
Binding *scope_find_in_ranges(ScopeTable *table, Name name, Binding *binding);

/* NULL if the name has no meaning here; special registers are not bindings. */
static inline Binding *scope_find(ScopeTable *table, Name name)
{
    const NameEntry *entry = name_head(name)->slot;
    Binding *binding = entry ? entry->top : NULL;
    if (VEC_LAST(table->stack).range_depth <= (binding ? binding->depth : 0))
        return binding;
    return scope_find_in_ranges(table, name, binding);
}

/* The name's meaning at module scope, hidden or not. */
Binding *scope_find_global(Name name);
/* Binds a name in the innermost scope. NULL, reported, if it is already declared there. */
Binding *scope_declare(ScopeTable *table, Name name, Span span, BindingKind kind);
bool scope_declare_range(ScopeTable *table, Name prefix, uint64_t count, Type type, unsigned vector, Span span);
/* Binds an unknown name, for the rest of the function or, outside of one, of the module: it is not reported again. */
void scope_bind_bad(ScopeTable *table, Name name, Span span);

/* A use of the label 'name'. Its Label goes to *place as soon as it is known which label of that name is meant; until
 * then *place (or a new Label, if that is NULL) holds its place. */
void scope_use_label(ScopeTable *table, Name name, Span span, Label **place);
void scope_define_label(ScopeTable *table, Label *label);
/* At the end of a function: reports labels that were never defined. */
void scope_resolve_labels(ScopeTable *table);
void scope_forget_labels(ScopeTable *table);

/* unknown_name.c: reports an unknown name, with the closest known one of a kind in the set 'wanted' (of 1u << KIND). */
void scope_report_unknown(ScopeTable *table, Name name, Span span, const char *what, unsigned wanted);

#endif
