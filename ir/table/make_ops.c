/* make_ops: compiles ir/table/ops.def.  Runs on the build machine.
 *
 *     make_ops --enum   the enums Opcode and ModId (build/ir/table/ops_enum.h)
 *     make_ops          the tables (build/ir/table/ops_tables.inc), in the types of ir/table/ops_internal.h
 *
 * A row that breaks the notation stops it with the row's name and exit status 1.
 *
 * One long file, because it is built alone and before everything else. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row {
    const char *id, *opcode, *modifiers, *types, *operands;
    int ndst;
    const char *guard, *category, *effects, *sync, *versions, *min_sm, *targets, *alternatives, *order, *note;
} Row;

typedef struct Set {
    const char *name, *text;
} Set;

#define SET(name, text)
#define OP(id, opcode, modifiers, types, operands, ndst, guard, category, effects, sync, versions, min_sm, targets,    \
           alternatives, order, note)                                                                                  \
    {id,       opcode, modifiers, types,  operands, ndst,         #guard, #category,                                   \
     #effects, #sync,  versions,  min_sm, targets,  alternatives, order,  note},
static const Row rows[] = {
#include "ir/table/ops.def"
};
#undef SET
#undef OP

#define SET(name, text) {#name, text},
#define OP(...)
static const Set sets[] = {
#include "ir/table/ops.def"
};
#undef SET
#undef OP

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define ROW_COUNT COUNT_OF(rows)

static const Row *current; /* the row at work, for messages */

_Noreturn static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "ir/table/ops.def: %s: ", current ? current->id : "table");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *must(void *memory)
{
    if (!memory)
        fail("out of memory");
    return memory;
}

static char *copy_n(const char *text, size_t length)
{
    char *copy = must(malloc(length + 1));
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* ---- Growing lists ---- */

typedef struct List {
    char **items;
    size_t count, capacity;
} List;

static size_t list_add(List *list, char *item)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = must(realloc(list->items, list->capacity * sizeof *list->items));
    }
    list->items[list->count] = item;
    return list->count++;
}

static long list_find(const List *list, const char *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], item))
            return (long)i;
    return -1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The index of 'item' in a sorted list, or -1. */
static long list_search(const List *list, const char *item)
{
    char **found = bsearch(&item, list->items, list->count, sizeof *list->items, by_name);
    return found ? found - list->items : -1;
}

static List split(const char *text, char separator)
{
    List list = {0};
    while (*text) {
        const char *end = strchr(text, separator);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        const char *from = text;
        text += length + (end != NULL);
        while (length && *from == ' ')
            from++, length--;
        while (length && from[length - 1] == ' ')
            length--;
        list_add(&list, copy_n(from, length));
    }
    return list;
}

/* Splits at commas outside brackets. */
static List split_operands(const char *text)
{
    List list = {0};
    int depth = 0;
    const char *from = text;
    for (const char *p = text;; p++) {
        if (*p && strchr("([{<", *p))
            depth++;
        if (*p && strchr(")]}>", *p))
            depth--;
        if (*p && (*p != ',' || depth))
            continue;
        while (from < p && *from == ' ')
            from++;
        if (from < p)
            list_add(&list, copy_n(from, (size_t)(p - from)));
        if (!*p)
            return list;
        from = p + 1;
    }
}

/* ---- Opcodes and modifiers ---- */

static List opcodes, mods;

/* Replaces "@name" by the set's alternatives. */
static char *expand_sets(const char *text)
{
    size_t size = 1;
    char *out = must(malloc(size));
    size_t length = 0;
    while (*text) {
        const char *piece = text;
        size_t piece_length = 1;
        if (*text == '@') {
            size_t name = 1;
            while (isalnum((unsigned char)text[name]) || text[name] == '_')
                name++;
            piece = NULL;
            for (size_t i = 0; i < COUNT_OF(sets); i++)
                if (strlen(sets[i].name) == name - 1 && !strncmp(sets[i].name, text + 1, name - 1))
                    piece = sets[i].text;
            if (!piece)
                fail("unknown set in '%s'", text);
            piece_length = strlen(piece);
            text += name;
        } else {
            text++;
        }
        while (length + piece_length + 1 > size) {
            size *= 2;
            out = must(realloc(out, size));
        }
        memcpy(out + length, piece, piece_length);
        length += piece_length;
    }
    out[length] = 0;
    return out;
}

static bool is_mod_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':';
}

/* The modifiers of ".a.b::c"; anything else is malformed. */
static List split_mods(const char *text)
{
    List list = {0};
    while (*text) {
        size_t length = 1;
        while (is_mod_char(text[length]))
            length++;
        if (*text != '.' || length == 1)
            fail("malformed modifiers '%s'", text);
        list_add(&list, copy_n(text, length));
        text += length;
    }
    if (!list.count)
        fail("empty modifier");
    return list;
}

static void collect_mods(const char *text)
{
    for (const char *p = text; *p;) {
        if (*p != '.' || !is_mod_char(p[1])) {
            p++;
            continue;
        }
        size_t length = 1;
        while (is_mod_char(p[length]))
            length++;
        char *mod = copy_n(p, length);
        if (list_find(&mods, mod) < 0)
            list_add(&mods, mod);
        p += length;
    }
}

static void collect_names(void)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        current = &rows[i];
        for (size_t j = 0; j < i; j++)
            if (!strcmp(rows[j].id, rows[i].id))
                fail("the name is used twice");
        if (list_find(&opcodes, rows[i].opcode) < 0)
            list_add(&opcodes, copy_n(rows[i].opcode, strlen(rows[i].opcode)));
        collect_mods(expand_sets(rows[i].modifiers));
        collect_mods(expand_sets(rows[i].types));
    }
    current = NULL;
    qsort(opcodes.items, opcodes.count, sizeof *opcodes.items, by_name);
    qsort(mods.items, mods.count, sizeof *mods.items, by_name);
}

static unsigned mod_id(const char *mod)
{
    long found = list_search(&mods, mod);
    if (found < 0)
        fail("unknown modifier '%s'", mod);
    return (unsigned)found + 1;
}

/* "OP_ADD", "MOD_SHARED_CTA".  Of two modifiers that differ in case only, the one with capitals keeps its spelling. */
static char *enum_name(const char *prefix, const char *text, const List *names)
{
    const char *spelling = *text == '.' ? text + 1 : text;
    bool capitals = false, clash = false;
    for (const char *p = spelling; *p; p++)
        capitals |= isupper((unsigned char)*p) != 0;
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->items[i], *p = text;
        for (; *p && tolower((unsigned char)*p) == tolower((unsigned char)*other); p++)
            other++;
        clash |= !*p && !*other && strcmp(names->items[i], text) != 0;
    }
    char *name = must(malloc(strlen(prefix) + strlen(spelling) + 1));
    char *out = name + sprintf(name, "%s", prefix);
    for (const char *p = spelling; *p; p++) {
        if (!isalnum((unsigned char)*p)) {
            if (out[-1] != '_')
                *out++ = '_';
        } else {
            *out++ = clash && capitals ? *p : (char)toupper((unsigned char)*p);
        }
    }
    *out = 0;
    return name;
}

static void check_distinct(const char *prefix, const List *names)
{
    List made = {0};
    for (size_t i = 0; i < names->count; i++) {
        char *name = enum_name(prefix, names->items[i], names);
        if (list_find(&made, name) >= 0)
            fail("two names give %s", name);
        list_add(&made, name);
    }
}

static void print_enum(const char *type, const char *prefix, const List *names)
{
    printf("typedef enum %s {\n    %sUNKNOWN,\n", type, prefix);
    for (size_t i = 0; i < names->count; i++)
        printf("    %s, /* %s */\n", enum_name(prefix, names->items[i], names), names->items[i]);
    printf("    %sCOUNT\n} %s;\n\n", prefix, type);
}

/* ---- Tables: each is collected as lines of text ---- */

typedef struct Table {
    char *text;
    size_t length, capacity, rows;
} Table;

static Table mod_pool, alternatives, elements, patterns, targets, orders;

static void table_print(Table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    while (table->length + (size_t)needed + 1 > table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 4096;
        table->text = must(realloc(table->text, table->capacity));
    }
    va_start(arguments, format);
    vsnprintf(table->text + table->length, table->capacity - table->length, format, arguments);
    va_end(arguments);
    table->length += (size_t)needed;
}

/* "8.6" -> 86 */
static int parse_version(const char *text, const char **end)
{
    char *stop;
    long major = strtol(text, &stop, 10);
    if (stop == text || *stop != '.' || !isdigit((unsigned char)stop[1]))
        fail("malformed version '%s'", text);
    *end = stop + 2;
    return (int)(10 * major + stop[1] - '0');
}

/* "sm_90a" -> 90 and 'a' */
static int parse_target(const char *text, char *suffix, const char **end)
{
    if (strncmp(text, "sm_", 3) != 0)
        fail("malformed target '%s'", text);
    char *stop;
    long number = strtol(text + 3, &stop, 10);
    if (stop == text + 3 || number < 1 || number > 999)
        fail("malformed target '%s'", text);
    *suffix = *stop == 'a' || *stop == 'f' ? *stop++ : 0;
    *end = stop;
    return (int)number;
}

/* Adds a target list to the table; 'minimum': a plain name stands for it and everything newer. */
static void add_targets(const char *text, bool minimum, size_t *first, size_t *count)
{
    static List known;
    static size_t firsts[256], counts[256];
    char *key = must(malloc(strlen(text) + 2));
    sprintf(key, "%s%s", text, minimum ? "+" : "");
    long found = list_find(&known, key);
    *first = found < 0 ? targets.rows : firsts[found];
    *count = found < 0 ? 0 : counts[found];
    if (found >= 0 || !strcmp(text, "none"))
        return;
    if (known.count == COUNT_OF(firsts))
        fail("too many target lists");
    List list = split(expand_sets(text), ',');
    for (size_t i = 0; i < list.count; i++) {
        char suffix;
        const char *end;
        int low = parse_target(list.items[i], &suffix, &end), high = low;
        if (!suffix && (!strcmp(end, "+") || (minimum && !*end))) {
            high = 999;
        } else if (!suffix && !strncmp(end, "..", 2)) {
            char high_suffix;
            high = parse_target(end + 2, &high_suffix, &end);
            if (high_suffix || *end)
                fail("malformed target '%s'", list.items[i]);
        } else if (*end) {
            fail("malformed target '%s'", list.items[i]);
        }
        char quoted[8] = "0";
        if (suffix)
            sprintf(quoted, "'%c'", suffix);
        table_print(&targets, "    {%d, %d, %s},\n", low, high, quoted);
        targets.rows++;
        ++*count;
    }
    if (!*count)
        fail("no targets");
    size_t index = list_add(&known, key);
    firsts[index] = *first;
    counts[index] = *count;
}

/* ---- Modifiers of a row ---- */

enum { MOST_ELEMENTS = 32, MOST_ALTERNATIVES = 128 };

typedef struct RowElement {
    const char *kind; /* LITERAL, ONE, OPTIONAL */
    char slot;        /* 0: none */
    int same_as;      /* the earlier element with the same slot, or -1 */
    List texts;       /* the alternatives */
    size_t first;     /* among the alternatives */
} RowElement;

typedef struct RowMods {
    RowElement elements[MOST_ELEMENTS];
    int count;
} RowMods;

static RowElement *add_element(RowMods *list, const char *kind)
{
    if (list->count == MOST_ELEMENTS)
        fail("too many modifiers");
    RowElement *element = &list->elements[list->count++];
    memset(element, 0, sizeof *element);
    element->kind = kind;
    element->same_as = -1;
    return element;
}

static void parse_mods(const Row *row, RowMods *out)
{
    char *text = expand_sets(row->modifiers);
    out->count = 0;
    for (const char *p = text; *p;) {
        if (*p == '(' || *p == '{') {
            const char *end = strchr(p, *p == '(' ? ')' : '}');
            if (!end)
                fail("unclosed group in '%s'", p);
            add_element(out, *p == '(' ? "ONE" : "OPTIONAL")->texts = split(copy_n(p + 1, (size_t)(end - p - 1)), '|');
            p = end + 1;
        } else if (*p == '<') {
            if (!isupper((unsigned char)p[1]))
                fail("malformed slot in '%s'", p);
            size_t name = 1;
            while (isupper((unsigned char)p[name]))
                name++;
            if (p[name] != '>')
                fail("malformed slot in '%s'", p);
            RowElement *element = add_element(out, "ONE");
            element->slot = p[1];
            List parts = split(expand_sets(row->types), ';');
            bool found = false;
            for (size_t i = 0; i < parts.count && !found; i++)
                if (!strncmp(parts.items[i], p + 1, name - 1) && parts.items[i][name - 1] == '=') {
                    element->texts = split(parts.items[i] + name, '|');
                    found = true;
                }
            if (!found)
                fail("slot '%.*s' is not defined", (int)name + 1, p);
            /* A name of two letters is only used where no operand asks for it. */
            if (name > 2)
                element->slot = 0;
            for (int i = 0; element->slot && i < out->count - 1; i++)
                if (out->elements[i].slot == element->slot) {
                    element->same_as = i;
                    break;
                }
            p += name + 1;
        } else {
            size_t length = 1;
            while (is_mod_char(p[length]))
                length++;
            if (*p != '.' || length == 1)
                fail("malformed modifiers '%s'", p);
            list_add(&add_element(out, "LITERAL")->texts, copy_n(p, length));
            p += length;
        }
    }
    for (int i = 0; i < out->count; i++)
        if (!out->elements[i].texts.count || out->elements[i].texts.count > MOST_ALTERNATIVES)
            fail("an element with no or too many alternatives");
}

/* Returns true if 'list' (".rm,.rp") names the alternative. */
static bool names_alternative(const char *list, size_t length, const char *alternative)
{
    List names = split(copy_n(list, length), ',');
    return list_find(&names, alternative) >= 0;
}

/* Runs of modifiers and lists of alternatives recur from row to row; each is emitted once. */
static List pooled_runs, pooled_lists;
static size_t pooled_run_starts[4096], pooled_list_starts[4096];

/* Where in the pool the modifiers stand. */
static size_t pool_run(const char *text, const List *parts)
{
    long known = list_find(&pooled_runs, text);
    if (known >= 0)
        return pooled_run_starts[known];
    size_t start = mod_pool.rows;
    if (pooled_runs.count == COUNT_OF(pooled_run_starts))
        fail("too many runs of modifiers");
    pooled_run_starts[list_add(&pooled_runs, copy_n(text, strlen(text)))] = start;
    for (size_t i = 0; i < parts->count; i++) {
        table_print(&mod_pool, "    %s,\n", enum_name("MOD_", parts->items[i], &mods));
        mod_pool.rows++;
    }
    return start;
}

/* Where among the alternatives the list of 'count' lines stands. */
static size_t pool_list(Table *lines, size_t count)
{
    long known = list_find(&pooled_lists, lines->text);
    if (known >= 0)
        return pooled_list_starts[known];
    size_t start = alternatives.rows;
    if (pooled_lists.count == COUNT_OF(pooled_list_starts))
        fail("too many lists of alternatives");
    pooled_list_starts[list_add(&pooled_lists, lines->text)] = start;
    table_print(&alternatives, "%s", lines->text);
    alternatives.rows += count;
    return start;
}

static void emit_elements(const Row *row, RowMods *list)
{
    List needs = split(row->alternatives, ';');
    bool used[64] = {false};
    if (needs.count > 64)
        fail("too many alternatives");
    for (int i = 0; i < list->count; i++) {
        RowElement *element = &list->elements[i];
        Table lines = {0};
        for (size_t j = 0; j < element->texts.count; j++) {
            List parts = split_mods(element->texts.items[j]);
            int version = 0;
            size_t first_target = 0, target_count = 0;
            for (size_t k = 0; k < needs.count; k++) {
                const char *colon = strstr(needs.items[k], ": ");
                if (!colon)
                    fail("malformed alternative '%s'", needs.items[k]);
                if (!names_alternative(needs.items[k], (size_t)(colon - needs.items[k]), element->texts.items[j]))
                    continue;
                used[k] = true;
                const char *rest = colon + 2;
                if (isdigit((unsigned char)*rest))
                    version = parse_version(rest, &rest);
                while (*rest == ' ')
                    rest++;
                if (*rest)
                    add_targets(rest, true, &first_target, &target_count);
            }
            table_print(&lines, "    {%zu, %zu, %d, %zu, %zu},\n", pool_run(element->texts.items[j], &parts),
                        parts.count, version, first_target, target_count);
        }
        element->first = pool_list(&lines, element->texts.count);
        table_print(&elements, "    {ELEMENT_%s, %d, %zu, %zu},\n", element->kind, element->same_as, element->first,
                    element->texts.count);
        elements.rows++;
    }
    for (size_t k = 0; k < needs.count; k++)
        if (!used[k])
            fail("no modifier is named by '%s'", needs.items[k]);
}

/* Is it the name of a data type, whose order among others carries meaning? */
static bool is_type_name(const char *mod)
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
            return false; /* .b1024 says how large a tensor map is */
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
    for (size_t i = 0; i < element->texts.count; i++) {
        List parts = split_mods(element->texts.items[i]);
        if (list_find(&parts, mod) >= 0)
            return true;
    }
    return false;
}

/* Two elements that may bear the same modifier tell theirs apart by position only. */
static bool elements_share(const RowElement *a, const RowElement *b)
{
    for (size_t i = 0; i < a->texts.count; i++) {
        List parts = split_mods(a->texts.items[i]);
        for (size_t j = 0; j < parts.count; j++)
            if (element_has(b, parts.items[j]))
                return true;
    }
    return false;
}

static bool element_is_type(const RowElement *element)
{
    for (size_t i = 0; i < element->texts.count; i++) {
        List parts = split_mods(element->texts.items[i]);
        for (size_t j = 0; j < parts.count; j++)
            if (is_type_name(parts.items[j]))
                return true;
    }
    return false;
}

/* The order column as pairs of elements, of which the first stays before the second. */
static const char *emit_order(const Row *row, const RowMods *list, size_t *first, size_t *count)
{
    bool before[MOST_ELEMENTS][MOST_ELEMENTS] = {{false}};
    *first = orders.rows;
    *count = 0;
    if (!*row->order)
        return list->count < 2 ? "ANY" : "FIXED";
    if (strcmp(row->order, "any") != 0) {
        if (strncmp(row->order, "keep ", 5) != 0)
            fail("malformed order '%s'", row->order);
        List pairs = split(row->order + 5, ' ');
        for (size_t k = 0; k < pairs.count; k++) {
            List pair = split_mods(pairs.items[k]);
            bool found = false;
            if (pair.count != 2)
                fail("malformed order '%s'", pairs.items[k]);
            for (int i = 0; i < list->count; i++) {
                if (!element_has(&list->elements[i], pair.items[0]))
                    continue;
                found |= element_has(&list->elements[i], pair.items[1]); /* both within one alternative */
                for (int j = i + 1; j < list->count; j++) {
                    if (element_has(&list->elements[j], pair.items[1])) {
                        before[i][j] = found = true;
                        break;
                    }
                    if (strcmp(list->elements[j].kind, "OPTIONAL") != 0)
                        break;
                }
            }
            if (!found)
                fail("'%s' are no neighbours", pairs.items[k]);
        }
    }
    /* The names of a sub-operation stand in front: where the first modifier keeps its place before another, it does so
     * before all, and so does each that follows it in such a chain. */
    for (int i = 0; i + 1 < list->count && !element_is_type(&list->elements[i]); i++) {
        bool kept = false;
        for (int j = i + 1; j < list->count; j++)
            kept |= before[i][j];
        if (!kept)
            break;
        for (int j = i + 1; j < list->count; j++)
            before[i][j] = true;
    }
    for (int i = 0; i < list->count; i++)
        for (int j = i + 1; j < list->count; j++)
            if (before[i][j] || (element_is_type(&list->elements[i]) && element_is_type(&list->elements[j])) ||
                elements_share(&list->elements[i], &list->elements[j])) {
                table_print(&orders, "    {%d, %d},\n", i, j);
                orders.rows++;
                ++*count;
            }
    return "ANY";
}

/* ---- Operands of a row ---- */

typedef struct Cursor {
    const char *at;
    const char *whole;
} Cursor;

static bool take(Cursor *cursor, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(cursor->at, text, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static void expect(Cursor *cursor, const char *text)
{
    if (!take(cursor, text))
        fail("operand '%s': expected '%s' at '%s'", cursor->whole, text, cursor->at);
}

static int find_slot(const RowMods *list, char slot)
{
    for (int i = 0; i < list->count; i++)
        if (list->elements[i].slot == slot)
            return i;
    fail("slot <%c> is not among the modifiers", slot);
}

/* "<T>", "<O/2>": the element and which of the chosen alternative's modifiers (from 0). */
static void parse_slot(Cursor *cursor, const RowMods *list, int *element, int *part)
{
    expect(cursor, "<");
    *element = find_slot(list, *cursor->at++);
    *part = 0;
    size_t least = 1;
    bool exact = true;
    if (take(cursor, "/")) {
        if (!isdigit((unsigned char)*cursor->at) || *cursor->at == '0')
            fail("operand '%s': malformed part", cursor->whole);
        *part = *cursor->at++ - '1';
        least = (size_t)*part + 1;
        exact = false;
    }
    const List *texts = &list->elements[*element].texts;
    for (size_t i = 0; i < texts->count; i++) {
        List parts = split_mods(texts->items[i]);
        if (parts.count < least || (exact && parts.count != 1))
            fail("operand '%s': alternative '%s' has not the part asked for", cursor->whole, texts->items[i]);
    }
    expect(cursor, ">");
}

/* A type: "<T>", "<O/2>" or ".f32". */
static void parse_type(Cursor *cursor, const RowMods *list, char *out, size_t size)
{
    int element, part;
    if (*cursor->at == '<') {
        parse_slot(cursor, list, &element, &part);
        snprintf(out, size, ".type_element = %d, .type_part = %d", element, part);
        return;
    }
    size_t length = 1;
    while (isalnum((unsigned char)cursor->at[length]))
        length++;
    char *mod = copy_n(cursor->at, length);
    if (*mod != '.' || !is_type_name(mod))
        fail("operand '%s': expected a type at '%s'", cursor->whole, cursor->at);
    cursor->at += length;
    for (char *p = mod; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    snprintf(out, size, ".type_element = -1, .type = TYPE_%s", mod + 1);
}

/* A count: "4", "n<S>/2", "x<N>*2", "c<G>"; empty (of su1) gives 1. */
static void parse_count(Cursor *cursor, const RowMods *list, char *out, size_t size)
{
    static const char *const functions[][2] = {{"off3", "IM2COL_OFFSETS"},
                                               {"off", "OFFSETS"},
                                               {"gr", "GRADIENTS"},
                                               {"c", "COORDINATES"},
                                               {"n", "N"},
                                               {"t", "NUMBER"},
                                               {"v", "NUMBER"},
                                               {"x", "NUMBER"}};
    if (isdigit((unsigned char)*cursor->at)) {
        snprintf(out, size, ".count_function = COUNT_CONSTANT, .count = %ld",
                 strtol(cursor->at, (char **)&cursor->at, 10));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        size_t length = strlen(functions[i][0]);
        if (strncmp(cursor->at, functions[i][0], length) != 0 || cursor->at[length] != '<')
            continue;
        cursor->at += length;
        int element, part, times = 1, over = 1;
        parse_slot(cursor, list, &element, &part);
        while (*cursor->at == '*' || *cursor->at == '/') {
            bool multiply = *cursor->at++ == '*';
            int factor = (int)strtol(cursor->at, (char **)&cursor->at, 10);
            if (factor < 1)
                fail("operand '%s': malformed count", cursor->whole);
            *(multiply ? &times : &over) *= factor;
        }
        snprintf(
            out, size,
            ".count_function = COUNT_%s, .count_element = %d, .count_part = %d, .count_times = %d, .count_over = %d",
            functions[i][1], element, part, times, over);
        return;
    }
    fail("operand '%s': malformed count at '%s'", cursor->whole, cursor->at);
}

/* What an immediate may be: "(0..15)", "(1|-1)", "(24..256%8)", "(pow2)", "(fraction)", "(0f)". */
static void parse_range(Cursor *cursor, char *out, size_t size)
{
    char *end;
    *out = 0;
    if (!take(cursor, "("))
        return;
    if (take(cursor, "pow2")) {
        snprintf(out, size, ", .range = RANGE_POWER_OF_TWO");
    } else if (take(cursor, "fraction")) {
        snprintf(out, size, ", .range = RANGE_FRACTION");
    } else if (take(cursor, "0f")) {
        snprintf(out, size, ", .range = RANGE_F32_BITS");
    } else {
        long values[4], low = strtol(cursor->at, &end, 10);
        size_t count = 0;
        if (end == cursor->at)
            fail("operand '%s': malformed range", cursor->whole);
        cursor->at = end;
        if (take(cursor, "..")) {
            long high = strtol(cursor->at, &end, 10), step = 1;
            cursor->at = end;
            if (take(cursor, "%")) {
                step = strtol(cursor->at, &end, 10);
                cursor->at = end;
            }
            if (high < low || step < 1)
                fail("operand '%s': malformed range", cursor->whole);
            snprintf(out, size, ", .range = RANGE_INTERVAL, .values = {%ld, %ld, %ld}", low, high, step);
        } else {
            values[count++] = low;
            while (take(cursor, "|")) {
                if (count == COUNT_OF(values))
                    fail("operand '%s': too many values", cursor->whole);
                values[count++] = strtol(cursor->at, &end, 10);
                cursor->at = end;
            }
            int length = snprintf(out, size, ", .range = RANGE_VALUES, .value_count = %zu, .values = {", count);
            for (size_t i = 0; i < count; i++)
                length += snprintf(out + length, size - (size_t)length, "%s%ld", i ? ", " : "", values[i]);
            snprintf(out + length, size - (size_t)length, "}");
        }
    }
    expect(cursor, ")");
}

static void emit_pattern(const char *text, const RowMods *list)
{
    char count[160] = "", type[80] = "", range[160] = "", flags[160] = "0";
    const char *kind = NULL;
    Cursor cursor = {text, text};
    bool optional = take(&cursor, "?");
    const char *colon = strchr(cursor.at, ':');
    if (!colon)
        fail("operand '%s' has no kind", text);
    char *name = copy_n(cursor.at, (size_t)(colon - cursor.at));
    cursor.at = colon + 1;
    char *part = copy_n(cursor.at, strlen(cursor.at));

#define FLAG(name) strcat(flags, " | PATTERN_" name)
    if (!strcmp(part, "S") || !strcmp(part, "F") || !strcmp(part, "K") || !strcmp(part, "L") || !strcmp(part, "O") ||
        !strcmp(part, "A") || !strcmp(part, "_") || !strcmp(part, "sreg")) {
        static const char *const kinds[][2] = {{"S", "VARIABLE"}, {"F", "FUNCTION"}, {"K", "KERNEL"},
                                               {"L", "LABEL"},    {"O", "RESULTS"},  {"A", "ARGUMENTS"},
                                               {"_", "SINK"},     {"sreg", "SREG"}};
        for (size_t i = 0; i < COUNT_OF(kinds); i++)
            if (!strcmp(part, kinds[i][0]))
                kind = kinds[i][1];
        cursor.at += strlen(part);
    } else if (!strcmp(part, "mtex") || !strcmp(part, "msmp") || !strcmp(part, "msurf")) {
        kind = "HANDLE";
        cursor.at += strlen(part);
        snprintf(type, sizeof type, ".type_element = -1, .type = TYPE_%s",
                 part[1] == 't'   ? "TEXREF"
                 : part[2] == 'm' ? "SAMPLERREF"
                                  : "SURFREF");
    } else if (take(&cursor, "tm(")) {
        kind = "TENSOR";
        parse_count(&cursor, list, count, sizeof count);
        expect(&cursor, ")");
    } else if (take(&cursor, "tx") || take(&cursor, "ts") || take(&cursor, "su")) {
        kind = cursor.at[-1] == 'x' ? "TEXTURE" : cursor.at[-1] == 's' ? "TEXTURE_SAMPLER" : "SURFACE";
        bool scalar = take(&cursor, "1");
        if (scalar)
            FLAG("SCALAR");
        expect(&cursor, "(");
        if (!scalar)
            parse_count(&cursor, list, count, sizeof count);
        if (strcmp(kind, "SURFACE") != 0) {
            if (!scalar)
                expect(&cursor, ";");
            parse_type(&cursor, list, type, sizeof type);
        } else {
            strcpy(type, ".type_element = -1, .type = TYPE_S32");
        }
        expect(&cursor, ")");
    } else if (take(&cursor, "m")) {
        kind = "ADDRESS";
        if (take(&cursor, "u"))
            FLAG("UNIFIED");
        else if (take(&cursor, ".shared") || take(&cursor, ".mbar"))
            FLAG("NEAR");
        else if (take(&cursor, ".tm"))
            FLAG("TENSOR_MEMORY");
    } else if (take(&cursor, "V") || take(&cursor, "v")) {
        kind = cursor.at[-1] == 'V' ? "DST_LIST" : "SRC_LIST";
        if (take(&cursor, "x"))
            FLAG("IMMEDIATE");
        if (take(&cursor, "_"))
            FLAG("SINK");
        expect(&cursor, "(");
        parse_count(&cursor, list, count, sizeof count);
        expect(&cursor, ",");
        parse_type(&cursor, list, type, sizeof type);
        expect(&cursor, ")");
    } else if (take(&cursor, "!p") || take(&cursor, "p")) {
        kind = "PRED";
        if (part[0] == '!')
            FLAG("INVERT");
    } else if (take(&cursor, "P")) {
        kind = "DST_PRED";
        if (take(&cursor, "_"))
            FLAG("SINK");
    } else if (take(&cursor, "i")) {
        kind = "INT";
        parse_range(&cursor, range, sizeof range);
    } else {
        if (take(&cursor, "-"))
            FLAG("NEGATE");
        char letter = *cursor.at;
        if (letter != 'R' && letter != 'r' && letter != 'x')
            fail("operand '%s': unknown kind", text);
        cursor.at++;
        if ((*cursor.at == '1' || *cursor.at == '2' || *cursor.at == '4') &&
            (cursor.at[1] == 0 || cursor.at[1] == '!')) {
            kind = letter == 'R' ? "VIDEO_DST" : "VIDEO_SRC";
            snprintf(count, sizeof count, ".count_function = COUNT_CONSTANT, .count = %c", *cursor.at++);
            if (take(&cursor, "!"))
                FLAG("SELECTED");
        } else {
            kind = letter == 'R' ? "DST" : "SRC";
            if (letter == 'x')
                FLAG("IMMEDIATE");
            if (take(&cursor, "_"))
                FLAG("SINK");
            if (take(&cursor, "2"))
                FLAG("DOUBLE");
            parse_type(&cursor, list, type, sizeof type);
            parse_range(&cursor, range, sizeof range);
        }
    }
    if (take(&cursor, "[|P"))
        FLAG("MAY_PAIR");
    else if (take(&cursor, "|P"))
        FLAG("PAIR");
    if (strstr(flags, "PAIR")) {
        if (take(&cursor, "_"))
            FLAG("PAIR_SINK");
        if (strstr(flags, "MAY_PAIR"))
            expect(&cursor, "]");
    }
    if (*cursor.at)
        fail("operand '%s': junk at '%s'", text, cursor.at);
    if (optional)
        FLAG("OPTIONAL");
#undef FLAG
    table_print(&patterns, "    {.name = \"%s\", .kind = PATTERN_%s, .flags = %s", name, kind, flags);
    if (*type)
        table_print(&patterns, ", %s", type);
    else
        table_print(&patterns, ", .type_element = -1");
    if (*count)
        table_print(&patterns, ", %s", count);
    table_print(&patterns, "%s},\n", range);
    patterns.rows++;
}

/* ---- Rows ---- */

/* "PURE | CC_WRITE" -> "EFFECT_PURE | EFFECT_CC_WRITE"; the compiler checks the names. */
static char *effect_text(const char *text)
{
    List list = split(text, '|');
    char *out = must(malloc(strlen(text) + 9 * list.count + 8));
    *out = 0;
    for (size_t i = 0; i < list.count; i++)
        sprintf(out + strlen(out), "%sEFFECT_%s", i ? " | " : "", list.items[i]);
    return out;
}

static void emit_row(const Row *row)
{
    RowMods list;
    parse_mods(row, &list);
    size_t first_element = elements.rows, first_pattern = patterns.rows, first_order, order_count;
    emit_elements(row, &list);
    const char *order = emit_order(row, &list, &first_order, &order_count);
    List operands = split_operands(row->operands);
    for (size_t i = 0; i < operands.count; i++)
        emit_pattern(operands.items[i], &list);

    const char *rest;
    int version = parse_version(row->versions, &rest), last_version = 0, last_from = 0;
    char suffix;
    if (*rest == '-') {
        last_version = parse_version(rest + 1, &rest);
        if (*rest == '/')
            last_from = parse_target(rest + 1, &suffix, &rest);
    }
    if (*rest)
        fail("malformed versions '%s'", row->versions);
    size_t first_target, target_count;
    add_targets(row->targets, false, &first_target, &target_count);
    int min_sm = parse_target(row->min_sm, &suffix, &rest);
    if (*rest)
        fail("malformed target '%s'", row->min_sm);
    if (strcmp(row->guard, "GUARDED") != 0 && strcmp(row->guard, "UNGUARDED") != 0)
        fail("malformed guard '%s'", row->guard);
    if (row->ndst < 0 || (size_t)row->ndst > operands.count)
        fail("more destinations than operands");

    printf("    {.id = \"%s\",\n", row->id);
    printf("     .op = %s, .category = CATEGORY_%s, .sync = SYNC_%s, .ndst = %d, .guarded = %s,\n",
           enum_name("OP_", row->opcode, &opcodes), row->category, row->sync, row->ndst,
           strcmp(row->guard, "GUARDED") == 0 ? "true" : "false");
    printf("     .effects = %s,\n", effect_text(row->effects));
    printf("     .elements = %zu, .element_count = %d, .patterns = %zu, .pattern_count = %zu,\n", first_element,
           list.count, first_pattern, operands.count);
    printf("     .order = ORDER_%s, .orders = %zu, .order_count = %zu,\n", order, first_order, order_count);
    printf(
        "     .version = %d, .last_version = %d, .last_from = %d, .min_sm = %d, .targets = %zu, .target_count = %zu,\n",
        version, last_version, last_from, min_sm, first_target, target_count);
    printf("     .note = \"");
    for (const char *p = row->note; *p; p++)
        printf(*p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    printf("\"},\n");
}

static void print_names(const char *name, const char *prefix, const List *names)
{
    printf("static const char *const %s[] = {\n    \"\",\n", name);
    for (size_t i = 0; i < names->count; i++)
        printf("    \"%s\",\n", names->items[i]);
    printf("};\n_Static_assert(COUNT_OF(%s) == %sCOUNT, \"the enum and its names differ\");\n\n", name, prefix);
}

static void print_table(const char *type, const char *name, const Table *table)
{
    if (table->rows > 65535)
        fail("the table '%s' is too long", name);
    printf("static const %s %s[] = {\n%s};\n\n", type, name, table->text ? table->text : "    {0}\n");
}

static void print_tables(void)
{
    printf("/* Generated by ir/table/make_ops.c from ir/table/ops.def. */\n\n");
    print_names("opcode_names", "OP_", &opcodes);
    print_names("mod_names", "MOD_", &mods);
    size_t *first = must(calloc(opcodes.count + 1, sizeof *first)), done = 0;
    printf("static const Form forms[] = {\n");
    for (size_t i = 0; i < opcodes.count; i++) {
        first[i] = done;
        for (size_t j = 0; j < ROW_COUNT; j++)
            if (!strcmp(rows[j].opcode, opcodes.items[i])) {
                current = &rows[j];
                emit_row(current);
                done++;
            }
    }
    current = NULL;
    first[opcodes.count] = done;
    printf("};\n\n/* The forms of opcode OP lie from opcode_forms[OP] to before opcode_forms[OP + 1]. */\n");
    printf("static const uint16_t opcode_forms[] = {\n    0,\n");
    for (size_t i = 0; i <= opcodes.count; i++)
        printf("    %zu,\n", first[i]);
    printf("};\n\n");
    print_table("ModId", "mod_pool", &mod_pool);
    print_table("Alternative", "alternatives", &alternatives);
    print_table("Element", "elements", &elements);
    print_table("Pattern", "patterns", &patterns);
    print_table("TargetRange", "target_ranges", &targets);
    print_table("OrderPair", "order_pairs", &orders);
}

int main(int count, char **arguments)
{
    collect_names();
    check_distinct("OP_", &opcodes);
    check_distinct("MOD_", &mods);
    for (size_t i = 0; i < mods.count; i++)
        mod_id(mods.items[i]);
    if (count == 1) {
        print_tables();
    } else if (count == 2 && !strcmp(arguments[1], "--enum")) {
        printf("/* Generated by ir/table/make_ops.c from ir/table/ops.def. */\n#ifndef PTXOPT_OPS_ENUM_H\n#define "
               "PTXOPT_OPS_ENUM_H\n\n");
        print_enum("Opcode", "OP_", &opcodes);
        print_enum("ModId", "MOD_", &mods);
        printf("#endif\n");
    } else {
        fprintf(stderr, "usage: make_ops [--enum]\n");
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
