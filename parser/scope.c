/* Names and their scopes.
 *
 * A name leads to its entry; an entry's bindings form a stack, the innermost scope's on top, so that a look-up
 * costs the same however deep scopes nest.  A range NAME<count> is kept as such under its prefix; a register of it
 * becomes a binding, in the range's scope, when it is first used.
 *
 * Labels may be used before they are defined, and a label defined later in a nearer scope wins over an outer one
 * that is already known.  A use is numbered by its place in the text; a definition takes those uses whose number is
 * not below that of its scope's beginning, and which no nearer label has taken. */
#include <string.h>

#include "parser/internal.h"

struct PendingLabel {
    Label **place;
    Span span;
    NameEntry *entry;
    uint32_t position;
    uint32_t depth; /* of the label in *place; 0: none */
    PendingLabel *earlier; /* the same name's use before this one */
};

/* Registers NAME<count> with larger counts do not exist. */
#define RANGE_DIGITS 10

static NameEntry *find_entry(Name name)
{
    return name_head(name)->slot;
}

NameEntry *scope_entry(Parser *parser, Name name)
{
    NameHead *head = name_head(name);
    if (head->slot)
        return head->slot;
    NameEntry *entry = ARENA_NEW(parser->scratch, NameEntry);
    entry->name = name;
    head->slot = entry;
    *parser->scope_table.last_entry = entry;
    parser->scope_table.last_entry = &entry->next;
    return entry;
}

void scope_table_init(Parser *parser)
{
    Scope module = {0};
    VEC_PUSH(parser->scratch, parser->scope_table.scopes, module);
    parser->scope_table.last_entry = &parser->scope_table.entries;
}

void scope_push(Parser *parser, Span open)
{
    ScopeTable *table = &parser->scope_table;
    Scope scope = {.position = ++table->position, .open = open, .range_depth = VEC_LAST(table->scopes).range_depth};
    VEC_PUSH(parser->scratch, table->scopes, scope);
}

void scope_pop(Parser *parser)
{
    Scope *scope = &VEC_LAST(parser->scope_table.scopes);
    for (Binding *binding = scope->bindings, *next; binding; binding = next) {
        next = binding->scope_next;
        binding->entry->top = binding->hidden;
        binding->scope_next = parser->scope_table.free_bindings;
        parser->scope_table.free_bindings = binding;
    }
    for (RangeBinding *range = scope->ranges; range; range = range->scope_next)
        range->entry->range = range->hidden;
    (void)VEC_POP(parser->scope_table.scopes);
}

/* ---- Numbered names ---------------------------------------------------------------------------------------------- */

/* How many digits end the name. */
static size_t digit_count(Name name, size_t length)
{
    size_t digits = 0;
    while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
        digits++;
    return digits;
}

static uint64_t number_at(Name digits)
{
    uint64_t number = 0;
    for (size_t i = 0; digits[i]; i++)
        number = number >= UINT64_MAX / 10 - 9 ? UINT64_MAX : number * 10 + (uint64_t)(digits[i] - '0');
    return number;
}

/* Enters a binding into its scope and on top of its entry. */
static Binding *push_binding(Parser *parser, NameEntry *entry, uint32_t depth, BindingKind kind, Span span)
{
    Binding *binding = parser->scope_table.free_bindings;
    if (binding)
        parser->scope_table.free_bindings = binding->scope_next;
    else
        binding = ARENA_NEW(parser->scratch, Binding);
    Scope *scope = &parser->scope_table.scopes.data[depth];
    *binding = (Binding){.entry = entry, .hidden = entry->top, .scope_next = scope->bindings, .depth = depth,
                         .kind = kind, .span = span};
    scope->bindings = binding;
    entry->top = binding;
    return binding;
}

/* The range of that prefix that holds the number, in a scope deeper than 'above'; NULL if there is none. */
static RangeBinding *find_range(const NameEntry *prefix, uint64_t number, uint32_t above)
{
    RangeBinding *range = prefix->range;
    while (range && number >= range->count)
        range = range->hidden;
    return range && range->depth > above ? range : NULL;
}

static Binding *push_range_register(Parser *parser, NameEntry *entry, const RangeBinding *range)
{
    Binding *binding = push_binding(parser, entry, range->depth, BINDING_REGISTER, range->span);
    binding->reg = REG_NONE;
    binding->type = range->type;
    binding->vector = range->vector;
    return binding;
}

/* The register 'name' of a range in a scope deeper than 'above', or NULL. */
static Binding *find_in_ranges(Parser *parser, Name name, uint32_t above)
{
    size_t length = name_length(name);
    size_t digits = digit_count(name, length);
    if (digits > RANGE_DIGITS)
        digits = RANGE_DIGITS;
    RangeBinding *best = NULL;
    uint64_t number = 0;
    bool plain = true; /* no needless zero before the number: %r007 is %r7 */
    for (size_t tail = digits < length ? digits : length - 1; tail > 0; tail--) {
        Name text = intern_find(parser->names, name, length - tail);
        NameEntry *prefix = text ? find_entry(text) : NULL;
        uint64_t candidate_number = prefix && prefix->range ? number_at(name + length - tail) : 0;
        RangeBinding *range = prefix ? find_range(prefix, candidate_number, above) : NULL;
        if (range && (best == NULL || range->depth > best->depth)) {
            best = range;
            number = candidate_number;
            plain = tail == 1 || name[length - tail] != '0';
        }
        if (!parser->scope_table.has_digit_prefix)
            break;
    }
    if (best == NULL)
        return NULL;
    if (!plain)
        return scope_find(parser, intern(parser->names, arena_printf(parser->scratch, "%s%llu", best->entry->name,
                                                                     (unsigned long long)number)));
    NameEntry *entry = scope_entry(parser, name);
    entry->prefix = best->entry;
    entry->number = number;
    return push_range_register(parser, entry, best);
}

Binding *scope_find_in_ranges(Parser *parser, Name name, Binding *binding)
{
    NameEntry *entry = find_entry(name);
    uint32_t depth = binding ? binding->depth : 0;
    /* Each function uses the same names; one that no prefix with digits can split in another way need not be split
     * again. */
    if (entry && entry->prefix && !parser->scope_table.has_digit_prefix) {
        const RangeBinding *range = find_range(entry->prefix, entry->number, depth);
        return range ? push_range_register(parser, entry, range) : binding;
    }
    Binding *in_range = find_in_ranges(parser, name, depth);
    return in_range ? in_range : binding;
}

/* Remembers the numbers that end an exact name, for ranges declared later in the same scope; reports a clash with one
 * declared earlier. */
static bool check_against_ranges(Parser *parser, Name name, Span span)
{
    uint32_t depth = scope_depth(parser);
    uint32_t serial = VEC_LAST(parser->scope_table.scopes).position;
    size_t length = name_length(name);
    size_t digits = digit_count(name, length);
    if (digits > RANGE_DIGITS)
        digits = RANGE_DIGITS;
    for (size_t tail = digits < length ? digits : length - 1; tail > 0; tail--) {
        NameEntry *prefix = scope_entry(parser, intern_n(parser->names, name, length - tail));
        uint64_t number = number_at(name + length - tail);
        if (prefix->range && prefix->range->depth == depth && number < prefix->range->count) {
            diag_error(parser->diag, span, "'%s' is already declared", name);
            diag_note(parser->diag, prefix->range->span, "by this range");
            return false;
        }
        if (prefix->exact_depth != depth || prefix->exact_serial != serial || number < prefix->exact_number) {
            prefix->exact_depth = depth;
            prefix->exact_serial = serial;
            prefix->exact_number = number;
        }
    }
    return true;
}

/* ---- Declarations ------------------------------------------------------------------------------------------------ */

static Binding *declare_at(Parser *parser, uint32_t depth, Name name, Span span, BindingKind kind)
{
    NameEntry *entry = scope_entry(parser, name);
    if (entry->top && entry->top->depth == depth) {
        if (entry->top->kind != BINDING_BAD) {
            diag_error(parser->diag, span, "'%s' is already declared", name);
            diag_note(parser->diag, entry->top->span, "it was declared here");
        }
        return NULL;
    }
    return push_binding(parser, entry, depth, kind, span);
}

Binding *scope_declare(Parser *parser, Name name, Span span, BindingKind kind)
{
    if (scope_depth(parser) > 0 && !check_against_ranges(parser, name, span))
        return NULL;
    return declare_at(parser, scope_depth(parser), name, span, kind);
}

Binding *scope_find_global(Name name)
{
    NameEntry *entry = find_entry(name);
    Binding *binding = entry ? entry->top : NULL;
    while (binding && binding->depth > 0)
        binding = binding->hidden;
    return binding;
}

bool scope_declare_range(Parser *parser, Name prefix, uint64_t count, Type type, unsigned vector, Span span)
{
    Scope *scope = &VEC_LAST(parser->scope_table.scopes);
    uint32_t depth = scope_depth(parser);
    NameEntry *entry = scope_entry(parser, prefix);
    if (entry->range && entry->range->depth == depth) {
        diag_error(parser->diag, span, "the range '%s<>' is already declared", prefix);
        diag_note(parser->diag, entry->range->span, "it was declared here");
        return false;
    }
    if (entry->exact_depth == depth && entry->exact_serial == scope->position && entry->exact_number < count) {
        diag_error(parser->diag, span, "'%s%llu' is already declared", prefix, (unsigned long long)entry->exact_number);
        return false;
    }
    if (count == 0)
        return true;
    size_t length = name_length(prefix);
    parser->scope_table.has_digit_prefix |= digit_count(prefix, length) > 0;
    RangeBinding *range = ARENA_NEW(parser->scratch, RangeBinding);
    *range = (RangeBinding){.entry = entry, .hidden = entry->range, .scope_next = scope->ranges, .depth = depth,
                            .count = count, .type = type, .vector = (uint8_t)vector, .span = span};
    entry->range = range;
    scope->ranges = range;
    scope->range_depth = depth;
    return true;
}

RegId scope_new_register(Parser *parser, Binding *binding)
{
    RegVec *regs = &parser->function->regs;
    binding->reg = (RegId)regs->count;
    VEC_PUSH(parser->scratch, *regs,
             (Reg){.name = binding->entry->name, .type = binding->type, .vector = binding->vector,
                   .origin = binding->reg, .span = binding->span});
    return binding->reg;
}

/* ---- Unknown names ----------------------------------------------------------------------------------------------- */

#define CANDIDATE_LIMIT 4096

static const char *suggestion(Parser *parser, Name name, BindingKind wanted, bool any)
{
    const char **candidates = ARENA_ARRAY(parser->scratch, const char *, CANDIDATE_LIMIT);
    size_t count = 0;
    bool calls = parser->is_call; /* only calls name functions, but for the rare mov */
    for (NameEntry *entry = parser->scope_table.entries; entry && count < CANDIDATE_LIMIT; entry = entry->next) {
        if (entry->top && entry->top->kind != BINDING_BAD &&
            (any ? entry->top->kind != BINDING_FUNCTION || calls : entry->top->kind == wanted))
            candidates[count++] = entry->name;
        if (entry->range && (any || wanted == BINDING_REGISTER) && count < CANDIDATE_LIMIT)
            candidates[count++] = arena_printf(parser->scratch, "%s%llu", entry->name,
                                               (unsigned long long)(entry->range->count - 1));
    }
    return closest_word(name, candidates, count);
}

/* "r3" for "%r3", "tid" for "%tid.x". */
static const char *with_percent(Parser *parser, Name name)
{
    Name other = intern(parser->names, arena_printf(parser->scratch, "%%%s", name));
    const Binding *binding = scope_find(parser, other);
    if (binding && binding->kind == BINDING_REGISTER)
        return other;
    const Sreg *sreg = sreg_find(other);
    return !sreg ? NULL : sreg->vector > 1 ? arena_printf(parser->scratch, "%s.x", other) : other;
}

static void report_unknown(Parser *parser, Name name, Span span, const char *what, BindingKind wanted, bool any)
{
    const char *closest = NULL;
    if (parser->diag->errors < parser->diag->error_limit) {
        if (name[0] != '%' && any)
            closest = with_percent(parser, name);
        if (!closest)
            closest = suggestion(parser, name, wanted, any);
        if (!closest && name[0] == '%')
            closest = sreg_closest(name);
    }
    if (closest)
        diag_error(parser->diag, span, "unknown %s '%s'; did you mean '%s'?", what, name, closest);
    else
        diag_error(parser->diag, span, "unknown %s '%s'", what, name);
}

void scope_report_unknown(Parser *parser, Name name, Span span, const char *what)
{
    if (!parser->lost_in_function && !parser->lost_in_module)
        report_unknown(parser, name, span, what, BINDING_REGISTER, name[0] != '%');
    /* Further uses in this function are the same mistake. */
    uint32_t depth = scope_depth(parser) > 0 ? 1 : 0;
    NameEntry *entry = scope_entry(parser, name);
    if (entry->top == NULL || entry->top->depth < depth)
        push_binding(parser, entry, depth, BINDING_BAD, span);
}

/* ---- Labels ------------------------------------------------------------------------------------------------------ */

void scope_use_label(Parser *parser, Name name, Span span, Label **place)
{
    ScopeTable *table = &parser->scope_table;
    NameEntry *entry = scope_entry(parser, name);
    Binding *binding = entry->top;
    uint32_t known = 0;
    if (binding && binding->kind == BINDING_LABEL) {
        *place = binding->label;
        known = binding->depth;
        if (known == scope_depth(parser))
            return;
    } else {
        /* Until it is known which: a label of that name. */
        if (*place == NULL)
            *place = ARENA_NEW(parser->scratch, Label);
        (*place)->name = name;
        (*place)->span = span;
    }
    PendingLabel *use = table->free_pending;
    if (use)
        table->free_pending = use->earlier;
    else
        use = ARENA_NEW(parser->scratch, PendingLabel);
    *use = (PendingLabel){.place = place, .span = span, .entry = entry, .position = table->position, .depth = known,
                          .earlier = entry->uses};
    if (entry->uses == NULL)
        VEC_PUSH(parser->scratch, table->used_labels, entry);
    entry->uses = use;
}

void scope_define_label(Parser *parser, Label *label)
{
    ScopeTable *table = &parser->scope_table;
    Binding *binding = scope_declare(parser, label->name, label->span, BINDING_LABEL);
    if (binding == NULL)
        return;
    binding->label = label;
    uint32_t depth = scope_depth(parser);
    uint32_t begin = VEC_LAST(table->scopes).position;
    NameEntry *entry = binding->entry;
    while (entry->uses && entry->uses->position >= begin) {
        PendingLabel *use = entry->uses;
        if (depth > use->depth)
            *use->place = label;
        entry->uses = use->earlier;
        use->earlier = table->free_pending;
        table->free_pending = use;
    }
}

static void free_use(ScopeTable *table, PendingLabel *use)
{
    use->earlier = table->free_pending;
    table->free_pending = use;
}

void scope_resolve_labels(Parser *parser)
{
    ScopeTable *table = &parser->scope_table;
    for (size_t i = 0; i < table->used_labels.count; i++) {
        NameEntry *entry = table->used_labels.data[i];
        PendingLabel *first = NULL; /* the first use that found no label: the others are the same mistake */
        while (entry->uses) {
            PendingLabel *use = entry->uses;
            if (use->depth == 0)
                first = use;
            entry->uses = use->earlier;
            if (first != use)
                free_use(table, use);
        }
        if (first)
            report_unknown(parser, entry->name, first->span, "label", BINDING_LABEL, false);
    }
    table->used_labels.count = 0;
}

void scope_forget_labels(Parser *parser)
{
    ScopeTable *table = &parser->scope_table;
    for (size_t i = 0; i < table->used_labels.count; i++)
        table->used_labels.data[i]->uses = NULL;
    table->used_labels.count = 0;
}
