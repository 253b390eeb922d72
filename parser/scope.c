/* Names and their scopes.
 *
 * A name leads to its entry; an entry's bindings form a stack, the innermost scope's on top, so that a look-up
 * costs the same however deep scopes nest. A range NAME<count> is kept as such under its prefix; a register of it
 * becomes a binding, in the range's scope, when it is first used. */
#include <string.h>

#include "parser/scope.h"

/* Registers NAME<count> with larger counts do not exist. */
#define RANGE_DIGITS 10

static NameEntry *find_entry(Name name)
{
    return name_head(name)->slot;
}

NameEntry *scope_entry(ScopeTable *table, Name name)
{
    NameHead *head = name_head(name);
    if (head->slot)
        return head->slot;
    NameEntry *entry = ARENA_NEW(table->arena, NameEntry);
    entry->name = name;
    head->slot = entry;
    *table->last_entry = entry;
    table->last_entry = &entry->next;
    return entry;
}

RareEntry *scope_rare(ScopeTable *table, NameEntry *entry)
{
    if (!entry->rare)
        entry->rare = ARENA_NEW(table->arena, RareEntry);
    return entry->rare;
}

void scope_table_init(ScopeTable *table, Arena *arena, Interner *names, Diag *diag)
{
    *table = (ScopeTable){.arena = arena, .names = names, .diag = diag};
    table->last_entry = &table->entries;
    VEC_PUSH(arena, table->stack, (Scope){0});
}

void scope_push(ScopeTable *table, Span open)
{
    Scope scope = {.position = ++table->position, .open = open, .range_depth = VEC_LAST(table->stack).range_depth};
    VEC_PUSH(table->arena, table->stack, scope);
}

void scope_pop(ScopeTable *table)
{
    Scope *scope = &VEC_LAST(table->stack);
    for (Binding *binding = scope->bindings, *next; binding; binding = next) {
        next = binding->scope_next;
        binding->entry->top = binding->hidden;
        binding->scope_next = table->free_bindings;
        table->free_bindings = binding;
    }
    for (RangeBinding *range = scope->ranges; range; range = range->scope_next)
        range->entry->range = range->hidden;
    (void)VEC_POP(table->stack);
}

/* The number of digits at the name's end. */
static size_t digit_count(Name name, size_t length)
{
    size_t digits = 0;
    while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
        digits++;
    return digits;
}

/* The digits at the name's end that may be a register's number. Leading zeros do not count: %r007 is %r7. */
static size_t number_digits(Name name, size_t length)
{
    size_t digits = digit_count(name, length), zeros = 0;
    while (zeros < digits && name[length - digits + zeros] == '0')
        zeros++;
    return digits - zeros > RANGE_DIGITS ? RANGE_DIGITS : digits;
}

/* The next number to try. A longer one begins with all of its zeros, so that a long name is not split at each. */
static size_t shorter_number(size_t digits)
{
    return digits > RANGE_DIGITS ? RANGE_DIGITS : digits - 1;
}

static uint64_t number_at(Name digits)
{
    uint64_t number = 0;
    for (size_t i = 0; digits[i]; i++)
        number = number >= UINT64_MAX / 10 - 9 ? UINT64_MAX : number * 10 + (uint64_t)(digits[i] - '0');
    return number;
}

/* Enters a binding into its scope and on top of its entry. */
static Binding *push_binding(ScopeTable *table, NameEntry *entry, uint32_t depth, BindingKind kind, Span span)
{
    Binding *binding = table->free_bindings;
    if (binding)
        table->free_bindings = binding->scope_next;
    else
        binding = ARENA_NEW(table->arena, Binding);
    Scope *scope = &table->stack.data[depth];
    *binding = (Binding){.entry = entry,
                         .hidden = entry->top,
                         .scope_next = scope->bindings,
                         .depth = depth,
                         .kind = kind,
                         .span = span};
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

static Binding *push_range_register(ScopeTable *table, NameEntry *entry, const RangeBinding *range)
{
    Binding *binding = push_binding(table, entry, range->depth, BINDING_REGISTER, range->span);
    binding->from_range = true;
    binding->reg = REG_NONE;
    binding->type = range->type;
    binding->vector = range->vector;
    return binding;
}

/* True if the name may be a register of a range. */
static bool begins_like_range(const ScopeTable *table, Name name)
{
    return table->range_initials[(unsigned char)name[0]];
}

/* The register 'name' of a range in a scope deeper than 'above', or NULL. */
static Binding *find_in_ranges(ScopeTable *table, Name name, uint32_t above)
{
    size_t length = name_length(name);
    size_t digits = number_digits(name, length);
    RangeBinding *best = NULL;
    uint64_t number = 0;
    bool plain = true; /* the number has no leading zeros: %r007 is %r7 */
    for (size_t tail = digits < length ? digits : length - 1; tail > 0; tail = shorter_number(tail)) {
        Name text = intern_find(table->names, name, length - tail);
        NameEntry *prefix = text ? find_entry(text) : NULL;
        uint64_t candidate_number = prefix && prefix->range ? number_at(name + length - tail) : 0;
        RangeBinding *range = prefix ? find_range(prefix, candidate_number, above) : NULL;
        if (range && (best == NULL || range->depth > best->depth)) {
            best = range;
            number = candidate_number;
            plain = tail == 1 || name[length - tail] != '0';
        }
        if (!table->has_digit_prefix)
            break;
    }
    if (best == NULL)
        return NULL;
    if (!plain)
        return scope_find(table, intern(table->names, arena_printf(table->arena, "%s%llu", best->entry->name,
                                                                   (unsigned long long)number)));
    NameEntry *entry = scope_entry(table, name);
    entry->prefix = best->entry;
    entry->number = number;
    return push_range_register(table, entry, best);
}

Binding *scope_find_in_ranges(ScopeTable *table, Name name, Binding *binding)
{
    if (!begins_like_range(table, name))
        return binding;
    NameEntry *entry = find_entry(name);
    uint32_t depth = binding ? binding->depth : 0;
    /* Functions use the same names over and over. If no prefix ends with digits, a name can be split in only one way,
     * so it need not be split again. */
    if (entry && entry->prefix && !table->has_digit_prefix) {
        const RangeBinding *range = find_range(entry->prefix, entry->number, depth);
        return range ? push_range_register(table, entry, range) : binding;
    }
    Binding *in_range = find_in_ranges(table, name, depth);
    return in_range ? in_range : binding;
}

/* Reports a clash of a name declared by itself with a range declared earlier in the same scope. */
static bool check_against_ranges(ScopeTable *table, Name name, Span span)
{
    uint32_t depth = scope_depth(table);
    if (VEC_LAST(table->stack).range_depth != depth || !begins_like_range(table, name))
        return true;
    size_t length = name_length(name);
    size_t digits = number_digits(name, length);
    for (size_t tail = digits < length ? digits : length - 1; tail > 0; tail = shorter_number(tail)) {
        Name text = intern_find(table->names, name, length - tail);
        const NameEntry *prefix = text ? find_entry(text) : NULL;
        if (prefix && prefix->range && prefix->range->depth == depth &&
            number_at(name + length - tail) < prefix->range->count) {
            diag_error(table->diag, span, "'%s' is already declared", name);
            diag_note(table->diag, prefix->range->span, "by this range");
            return false;
        }
    }
    return true;
}

static void note_number(ScopeTable *table, Name name, uint32_t depth, uint32_t serial)
{
    size_t length = name_length(name);
    size_t digits = number_digits(name, length);
    for (size_t tail = digits < length ? digits : length - 1; tail > 0; tail = shorter_number(tail)) {
        RareEntry *prefix = scope_rare(table, scope_entry(table, intern_n(table->names, name, length - tail)));
        uint64_t number = number_at(name + length - tail);
        if (prefix->exact_depth != depth || prefix->exact_serial != serial || number < prefix->exact_number) {
            prefix->exact_depth = depth;
            prefix->exact_serial = serial;
            prefix->exact_number = number;
        }
    }
}

/* Notes the numbers that end the names declared by themselves in the innermost scope, for a range that is about to be
 * declared there: ranges are few and come first, so most names need no note. */
static void note_numbers(ScopeTable *table)
{
    Scope *scope = &VEC_LAST(table->stack);
    for (const Binding *binding = scope->bindings; binding != scope->noted; binding = binding->scope_next)
        if (!binding->from_range && binding->kind != BINDING_BAD)
            note_number(table, binding->entry->name, scope_depth(table), scope->position);
    scope->noted = scope->bindings;
}

static Binding *declare_at(ScopeTable *table, uint32_t depth, Name name, Span span, BindingKind kind)
{
    NameEntry *entry = scope_entry(table, name);
    if (entry->top && entry->top->depth == depth) {
        if (entry->top->kind != BINDING_BAD) {
            diag_error(table->diag, span, "'%s' is already declared", name);
            diag_note(table->diag, entry->top->span, "it was declared here");
        }
        return NULL;
    }
    return push_binding(table, entry, depth, kind, span);
}

Binding *scope_declare(ScopeTable *table, Name name, Span span, BindingKind kind)
{
    /* Inside a function, the name hides the special register. */
    if (scope_depth(table) == 0 && kind != BINDING_BAD && name[0] == '%' && sreg_find(name)) {
        diag_error(table->diag, span, "'%s' is the name of a special register", name);
        return NULL;
    }
    if (scope_depth(table) > 0 && !check_against_ranges(table, name, span))
        return NULL;
    return declare_at(table, scope_depth(table), name, span, kind);
}

Binding *scope_find_global(Name name)
{
    NameEntry *entry = find_entry(name);
    Binding *binding = entry ? entry->top : NULL;
    while (binding && binding->depth > 0)
        binding = binding->hidden;
    return binding;
}

bool scope_declare_range(ScopeTable *table, Name prefix, uint64_t count, Type type, unsigned vector, Span span)
{
    Scope *scope = &VEC_LAST(table->stack);
    uint32_t depth = scope_depth(table);
    NameEntry *entry = scope_entry(table, prefix);
    if (entry->range && entry->range->depth == depth) {
        diag_error(table->diag, span, "the range '%s<>' is already declared", prefix);
        diag_note(table->diag, entry->range->span, "it was declared here");
        return false;
    }
    if (depth > 0)
        note_numbers(table);
    const RareEntry *rare = entry->rare;
    if (rare && rare->exact_depth == depth && rare->exact_serial == scope->position && rare->exact_number < count) {
        diag_error(table->diag, span, "'%s%llu' is already declared", prefix, (unsigned long long)rare->exact_number);
        return false;
    }
    if (count == 0)
        return true;
    table->range_initials[(unsigned char)prefix[0]] = true;
    size_t length = name_length(prefix);
    table->has_digit_prefix |= digit_count(prefix, length) > 0;
    RangeBinding *range = ARENA_NEW(table->arena, RangeBinding);
    *range = (RangeBinding){.entry = entry,
                            .hidden = entry->range,
                            .scope_next = scope->ranges,
                            .depth = depth,
                            .count = count,
                            .type = type,
                            .vector = (uint8_t)vector,
                            .span = span};
    entry->range = range;
    scope->ranges = range;
    scope->range_depth = depth;
    return true;
}

void scope_bind_bad(ScopeTable *table, Name name, Span span)
{
    uint32_t depth = scope_depth(table) > 0 ? 1 : 0;
    NameEntry *entry = scope_entry(table, name);
    if (entry->top == NULL || entry->top->depth < depth)
        push_binding(table, entry, depth, BINDING_BAD, span);
}
