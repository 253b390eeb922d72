/* The opcodes, modifiers and rows of the table as C enums. */
#include "ir/table/generator/generator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds an item unless the sorted list has it already. */
static void add_once(List *sorted, char *item)
{
    size_t low = 0, high = sorted->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(item, sorted->items[middle]);
        if (!order)
            return;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    list_add(sorted, item);
    memmove(&sorted->items[low + 1], &sorted->items[low], (sorted->count - 1 - low) * sizeof *sorted->items);
    sorted->items[low] = item;
}

static void collect_row(Names *names, const Row *row)
{
    add_once(&names->opcodes, row->opcode);
    for (int i = 0; i < row->element_count; i++)
        for (size_t j = 0; j < row->elements[i].choice_count; j++) {
            const List *mods = &row->elements[i].choices[j].mods;
            for (size_t k = 0; k < mods->count; k++)
                add_once(&names->mods, mods->items[k]);
        }
}

static void check_distinct(const char *prefix, const List *names)
{
    List made = {0};
    for (size_t i = 0; i < names->count; i++)
        list_add(&made, enum_name(prefix, names->items[i], names));
    list_sort(&made);
    for (size_t i = 1; i < made.count; i++)
        if (!strcmp(made.items[i - 1], made.items[i]))
            fail((Place){.file = "ir/table/ops.def"}, "two names give %s", made.items[i]);
}

Names collect_names(const Rows *rows)
{
    Names names = {0};
    for (size_t i = 0; i < rows->count; i++)
        collect_row(&names, rows->items[i]);
    for (size_t i = 0; i < names.opcodes.count; i++)
        for (size_t j = 0; j < rows->count; j++)
            if (!strcmp(rows->items[j]->opcode, names.opcodes.items[i]))
                list_add(&names.ids, rows->items[j]->id);
    check_distinct("OP_", &names.opcodes);
    check_distinct("MOD_", &names.mods);
    check_distinct("FORM_", &names.ids);
    return names;
}

/* True if another name differs from this one only in case. */
static bool differs_in_case(const char *text, const List *names)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->items[i], *p = text;
        for (; *p && tolower((unsigned char)*p) == tolower((unsigned char)*other); p++)
            other++;
        if (!*p && !*other && strcmp(names->items[i], text) != 0)
            return true;
    }
    return false;
}

char *enum_name(const char *prefix, const char *text, const List *names)
{
    const char *spelling = *text == '.' ? text + 1 : text;
    bool capitals = false;
    for (const char *p = spelling; *p; p++)
        capitals |= isupper((unsigned char)*p) != 0;
    bool keep = capitals && differs_in_case(text, names);
    char *name = must(malloc(strlen(prefix) + strlen(spelling) + 1));
    char *out = name + sprintf(name, "%s", prefix);
    for (const char *p = spelling; *p; p++) {
        if (isalnum((unsigned char)*p))
            *out++ = keep ? *p : (char)toupper((unsigned char)*p);
        else if (out[-1] != '_')
            *out++ = '_';
    }
    *out = 0;
    return name;
}

void print_enum(const char *type, const char *prefix, const List *names)
{
    printf("typedef enum %s {\n    %sUNKNOWN,\n", type, prefix);
    for (size_t i = 0; i < names->count; i++)
        printf("    %s, /* %s */\n", enum_name(prefix, names->items[i], names), names->items[i]);
    printf("    %sCOUNT\n} %s;\n\n", prefix, type);
}
