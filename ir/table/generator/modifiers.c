/* Parses the modifiers of a row and emits them: elements, their alternatives, and the elements that keep their
 * order. */
#include "ir/table/generator/generator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_mod_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

static size_t mod_length(const char *text)
{
    size_t length = 1;
    while (is_mod_char(text[length]))
        length++;
    return length;
}

List split_mods(Place place, const char *text)
{
    List list = {0};
    while (*text) {
        size_t length = mod_length(text);
        if (*text != '.' || length == 1)
            fail(place, "malformed modifiers '%s'", text);
        list_add(&list, copy_n(text, length));
        text += length;
    }
    if (!list.count)
        fail(place, "empty modifier");
    return list;
}

int parse_version(Place place, const char *text, const char **end)
{
    char *stop;
    long major = strtol(text, &stop, 10);
    if (stop == text || *stop != '.' || !isdigit((unsigned char)stop[1]))
        fail(place, "malformed version '%s'", text);
    *end = stop + 2;
    return (int)(10 * major + stop[1] - '0');
}

int parse_target(Place place, const char *text, char *suffix, const char **end)
{
    char *stop = NULL;
    long number = strncmp(text, "sm_", 3) ? 0 : strtol(text + 3, &stop, 10);
    if (number < 1 || number > 999)
        fail(place, "malformed target '%s'", text);
    *suffix = *stop == 'a' || *stop == 'f' ? *stop++ : 0;
    *end = stop;
    return (int)number;
}

/* Reads "[7.8/sm_90]", "[7.8]" or "[sm_90]" at *text, if present, into the choices that have no requirement yet. */
static void parse_need(const Row *row, const char **text, Choice *choices, size_t count)
{
    if (**text != '[')
        return;
    const char *end = strchr(*text, ']');
    if (!end)
        fail(row->place, "unclosed '%s'", *text);
    const char *need = copy_n(*text + 1, (size_t)(end - *text - 1));
    *text = end + 1;
    int version = 0;
    if (isdigit((unsigned char)*need)) {
        version = parse_version(row->place, need, &need);
        if (*need == '/')
            need++;
    }
    for (size_t i = 0; i < count; i++) {
        if (choices[i].version || choices[i].targets)
            continue;
        choices[i].version = version;
        choices[i].targets = *need ? need : NULL;
    }
}

static void parse_choices(const Row *row, RowElement *element, const char *text)
{
    List texts = split(text, '|');
    if (!texts.count || texts.count > MOST_ALTERNATIVES)
        fail(row->place, "no or too many alternatives in '%s'", text);
    element->choices = must(calloc(texts.count, sizeof *element->choices));
    element->choice_count = texts.count;
    for (size_t i = 0; i < texts.count; i++) {
        Choice *choice = &element->choices[i];
        const char *rest = texts.items[i] + strcspn(texts.items[i], "[");
        choice->text = copy_n(texts.items[i], (size_t)(rest - texts.items[i]));
        choice->mods = split_mods(row->place, choice->text);
        parse_need(row, &rest, choice, 1);
        if (*rest)
            fail(row->place, "unexpected '%s'", rest);
    }
}

static RowElement *add_element(Row *row, ElementKind kind)
{
    if (row->element_count == MOST_ELEMENTS)
        fail(row->place, "too many modifiers");
    RowElement *element = &row->elements[row->element_count++];
    element->kind = kind;
    element->same_as = -1;
    return element;
}

/* "<T:.u16|.u32>" defines the slot T, "<T>" makes the same choice again. */
static void parse_slot(Row *row, const char *text)
{
    RowElement *element = add_element(row, ONE);
    if (!isupper((unsigned char)text[0]) || (text[1] && text[1] != ':'))
        fail(row->place, "malformed slot '<%s>'", text);
    element->slot = text[0];
    for (int i = 0; i < row->element_count - 1 && element->same_as < 0; i++)
        if (row->elements[i].slot == element->slot)
            element->same_as = i;
    if ((element->same_as < 0) != (text[1] == ':'))
        fail(row->place, "slot '<%c>' must be defined once, where it is first used", element->slot);
    if (element->same_as < 0) {
        parse_choices(row, element, text + 2);
    } else {
        element->choices = row->elements[element->same_as].choices;
        element->choice_count = row->elements[element->same_as].choice_count;
    }
}

void parse_elements(Row *row, const char *text)
{
    bool tied = false, front = false;
    while (*text) {
        if (*text == '/') {
            if (front)
                fail(row->place, "more than one '/'");
            front = true;
            row->front = row->element_count;
            text++;
            continue;
        }
        if (*text == '+') {
            tied = true;
            text++;
            continue;
        }
        static const char openers[] = "({<", closers[] = ")}>";
        const char *opener = strchr(openers, *text);
        if (opener) {
            const char *end = strchr(text, closers[opener - openers]);
            if (!end)
                fail(row->place, "unclosed '%s'", text);
            char *body = copy_n(text + 1, (size_t)(end - text - 1));
            if (*text == '<')
                parse_slot(row, body);
            else
                parse_choices(row, add_element(row, *text == '(' ? ONE : OPTIONAL), body);
            text = end + 1;
        } else {
            size_t length = mod_length(text);
            parse_choices(row, add_element(row, LITERAL), copy_n(text, length));
            text += length;
        }
        RowElement *element = &row->elements[row->element_count - 1];
        parse_need(row, &text, element->choices, element->choice_count);
        element->tied = tied;
        tied = false;
    }
}

/* The index of the text in a pool, or -1. */
static long pool_find(const struct Pool *pool, const char *key)
{
    return list_find(&pool->keys, key);
}

static void pool_add(struct Pool *pool, const char *key, size_t start, size_t count)
{
    size_t index = list_add(&pool->keys, copy(key));
    pool->starts = must(realloc(pool->starts, (index + 1) * sizeof *pool->starts));
    pool->counts = must(realloc(pool->counts, (index + 1) * sizeof *pool->counts));
    pool->starts[index] = start;
    pool->counts[index] = count;
}

/* One line for "sm_90" (it and everything newer), "sm_10..sm_13" or "sm_90a" (just it). */
static void emit_range(Tables *tables, Place place, const char *text)
{
    char suffix, high_suffix = 0;
    const char *end;
    int low = parse_target(place, text, &suffix, &end), high = suffix ? low : 999;
    if (!strncmp(end, "..", 2))
        high = parse_target(place, end + 2, &high_suffix, &end);
    if (*end || high_suffix || (suffix && high != low))
        fail(place, "malformed target '%s'", text);
    char *quoted = suffix ? format_text("'%c'", suffix) : "0";
    output_add(&tables->targets, "    {%d, %d, %s},\n", low, high, quoted);
    tables->targets.rows++;
}

void emit_targets(Tables *tables, Place place, const char *text, size_t *first, size_t *count)
{
    long known = pool_find(&tables->ranges, text);
    *first = known < 0 ? tables->targets.rows : tables->ranges.starts[known];
    *count = known < 0 ? 0 : tables->ranges.counts[known];
    if (known >= 0 || !strcmp(text, "none"))
        return;
    List list = split(text, ',');
    for (size_t i = 0; i < list.count; i++)
        emit_range(tables, place, list.items[i]);
    *count = list.count;
    if (!*count)
        fail(place, "no targets");
    pool_add(&tables->ranges, text, *first, *count);
}

/* The start, in the pool, of the modifiers of the choice, which are added if they are new. */
static size_t pool_run(Tables *tables, const Choice *choice)
{
    long known = pool_find(&tables->runs, choice->text);
    if (known >= 0)
        return tables->runs.starts[known];
    size_t start = tables->mod_pool.rows;
    pool_add(&tables->runs, choice->text, start, choice->mods.count);
    for (size_t i = 0; i < choice->mods.count; i++) {
        output_add(&tables->mod_pool, "    %s,\n", enum_name("MOD_", choice->mods.items[i], &tables->names->mods));
        tables->mod_pool.rows++;
    }
    return start;
}

/* The start of these lines among the alternatives, which they join if they are new. */
static size_t pool_list(Tables *tables, const Output *lines, size_t count)
{
    long known = pool_find(&tables->lists, lines->text);
    if (known >= 0)
        return tables->lists.starts[known];
    size_t start = tables->alternatives.rows;
    pool_add(&tables->lists, lines->text, start, count);
    output_add(&tables->alternatives, "%s", lines->text);
    tables->alternatives.rows += count;
    return start;
}

static void emit_element(Tables *tables, const Row *row, const RowElement *element)
{
    static const char *const kinds[] = {[LITERAL] = "LITERAL", [ONE] = "ONE", [OPTIONAL] = "OPTIONAL"};
    Output lines = {0};
    for (size_t i = 0; i < element->choice_count; i++) {
        const Choice *choice = &element->choices[i];
        size_t first_target = 0, target_count = 0;
        if (choice->targets)
            emit_targets(tables, row->place, choice->targets, &first_target, &target_count);
        output_add(&lines, "    {%zu, %zu, %d, %zu, %zu},\n", pool_run(tables, choice), choice->mods.count,
                   choice->version, first_target, target_count);
    }
    output_add(&tables->elements, "    {ELEMENT_%s, %d, %zu, %zu},\n", kinds[element->kind], element->same_as,
               pool_list(tables, &lines, element->choice_count), element->choice_count);
    tables->elements.rows++;
}

void emit_elements(Tables *tables, const Row *row)
{
    for (int i = 0; i < row->element_count; i++)
        emit_element(tables, row, &row->elements[i]);
}

char *mod_set(const Tables *tables, const Row *row)
{
    List mods = {0};
    char *out = "0";
    for (int e = 0; e < row->element_count; e++)
        for (size_t i = 0; i < row->elements[e].choice_count; i++) {
            const List *choice = &row->elements[e].choices[i].mods;
            for (size_t j = 0; j < choice->count; j++)
                if (list_find(&mods, choice->items[j]) < 0)
                    list_add(&mods, choice->items[j]);
        }
    for (size_t i = 0; i < mods.count; i++)
        out = format_text("%s | MOD_BIT(%s)", out, enum_name("MOD_", mods.items[i], &tables->names->mods));
    return out;
}

bool is_type_name(const char *mod)
{
    static const char *const prefixes[] = {"bf", "tf", "b", "u", "s", "f"};
    const char *p = mod + 1;
    int digits;
    if (sscanf(p, "e%*1dm%*1d%n", (digits = 0, &digits)) == 0 && digits > 0)
        return true;
    if (sscanf(p, "ue%*1dm%*1d%n", (digits = 0, &digits)) == 0 && digits > 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(p, prefixes[i], length) != 0 || !isdigit((unsigned char)p[length]))
            continue;
        const char *q = p + length;
        if (strtoul(q, NULL, 10) > 128)
            return false; /* .b1024 is the size of a tensor map */
        while (isdigit((unsigned char)*q))
            q++;
        if (*q == 'x' && isdigit((unsigned char)q[1])) {
            q++;
            while (isdigit((unsigned char)*q))
                q++;
        }
        return !*q;
    }
    return false;
}

static bool element_has(const RowElement *element, const char *mod)
{
    for (size_t i = 0; i < element->choice_count; i++)
        if (list_find(&element->choices[i].mods, mod) >= 0)
            return true;
    return false;
}

/* Only their positions tell apart two elements that may have the same modifier. */
static bool elements_share(const RowElement *a, const RowElement *b)
{
    for (size_t i = 0; i < a->choice_count; i++)
        for (size_t j = 0; j < a->choices[i].mods.count; j++)
            if (element_has(b, a->choices[i].mods.items[j]))
                return true;
    return false;
}

static bool element_is_type(const RowElement *element)
{
    for (size_t i = 0; i < element->choice_count; i++)
        for (size_t j = 0; j < element->choices[i].mods.count; j++)
            if (is_type_name(element->choices[i].mods.items[j]))
                return true;
    return false;
}

static bool stays_before(const Row *row, int i, int j)
{
    const RowElement *a = &row->elements[i], *b = &row->elements[j];
    return i < row->front || (j == i + 1 && b->tied) || (element_is_type(a) && element_is_type(b)) ||
           elements_share(a, b);
}

void emit_order(Tables *tables, const Row *row, size_t *first, size_t *count)
{
    *first = tables->orders.rows;
    for (int i = 0; i < row->element_count && !row->fixed; i++)
        for (int j = i + 1; j < row->element_count; j++)
            if (stays_before(row, i, j)) {
                output_add(&tables->orders, "    {%d, %d},\n", i, j);
                tables->orders.rows++;
            }
    *count = tables->orders.rows - *first;
}
