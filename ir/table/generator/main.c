/* Prints what the build generates from the instruction table:
 *
 *     make_ops enums TABLE NOTES    the enums Opcode, ModId and FormId (ops_enum.h)
 *     make_ops tables TABLE NOTES   the compiled tables (ops_tables.inc)
 *     make_ops run TABLE NOTES      the function that executes each row (ops_run.inc) */
#include "ir/table/generator/generator.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "PURE|CC_WRITE" -> "EFFECT_PURE | EFFECT_CC_WRITE"; the compiler checks the names. */
static const char *effect_text(const char *text)
{
    List list = split(text, '|');
    char *out = "";
    for (size_t i = 0; i < list.count; i++)
        out = format_text("%s%sEFFECT_%s", out, i ? " | " : "", list.items[i]);
    return out;
}

/* A row's versions as numbers: the first, the last, and the target from which on that end applies (0: none). */
typedef struct Span {
    int version, last_version, last_from;
    const char *targets;
} Span;

static Span parse_span(const Row *row)
{
    Span span = {0};
    const char *rest;
    char suffix;
    span.version = parse_version(row->place, row->since, &rest);
    if (*rest != '/')
        fail(row->place, "'%s' has no target", row->since);
    span.targets = rest + 1;
    if (!row->until)
        return span;
    span.last_version = parse_version(row->place, row->until, &rest);
    if (*rest == '/')
        span.last_from = parse_target(row->place, rest + 1, &suffix, &rest);
    if (*rest)
        fail(row->place, "malformed end '%s'", row->until);
    return span;
}

static void print_row(Tables *tables, const Row *row)
{
    Span span = parse_span(row);
    size_t first_element = tables->elements.rows, first_pattern = tables->patterns.rows;
    size_t first_order, order_count, first_target, target_count;
    emit_elements(tables, row);
    emit_order(tables, row, &first_order, &order_count);
    emit_targets(tables, row->place, span.targets, &first_target, &target_count);
    size_t pattern_count = emit_patterns(tables, row);
    printf("    {.id = \"%s\",\n", row->id);
    printf("     .op = %s, .category = CATEGORY_%s, .sync = SYNC_%s, .guarded = %d,\n",
           enum_name("OP_", row->opcode, &tables->names->opcodes), row->category, row->sync, row->guarded);
    printf("     .effects = %s,\n", effect_text(row->effects));
    printf("     .elements = %zu, .element_count = %d, .patterns = %zu, .pattern_count = %zu,\n", first_element,
           row->element_count, first_pattern, pattern_count);
    printf("     .order = ORDER_%s, .orders = %zu, .order_count = %zu,\n", row->fixed ? "FIXED" : "ANY", first_order,
           order_count);
    printf("     .version = %d, .last_version = %d, .last_from = %d, .targets = %zu, .target_count = %zu,\n",
           span.version, span.last_version, span.last_from, first_target, target_count);
    printf("     .mods = %s,\n", mod_set(tables, row));
    printf("     .emulated = %d, .note = \"", strcmp(row->run, "-") != 0);
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

static void print_table(const char *type, const char *name, const Output *table)
{
    if (table->rows > 65535)
        fail((Place){.file = "ir/table/ops.def"}, "the table '%s' is too long", name);
    printf("static const %s %s[] = {\n%s};\n\n", type, name, table->text ? table->text : "    {0}\n");
}

/* The forms are the rows by opcode; those of an opcode are in the table's order, in which they are tried. */
static void print_forms(Tables *tables, const Rows *rows)
{
    const List *opcodes = &tables->names->opcodes;
    size_t *first = must(calloc(opcodes->count + 1, sizeof *first)), done = 0;
    printf("static const Form forms[] = {\n");
    for (size_t i = 0; i < opcodes->count; i++) {
        first[i] = done;
        for (size_t j = 0; j < rows->count; j++)
            if (!strcmp(rows->items[j]->opcode, opcodes->items[i])) {
                print_row(tables, rows->items[j]);
                done++;
            }
    }
    first[opcodes->count] = done;
    printf("};\n\n/* The forms of opcode OP are from opcode_forms[OP] to before opcode_forms[OP + 1]. */\n");
    printf("static const uint16_t opcode_forms[] = {\n    0,\n");
    for (size_t i = 0; i <= opcodes->count; i++)
        printf("    %zu,\n", first[i]);
    printf("};\n\n");
}

static void print_rules(const Names *names, const Rows *rows)
{
    printf("static const uint32_t rules_of_opcodes[OP_COUNT] = {\n");
    for (size_t i = 0; i < rows->ruled.count; i++) {
        if (list_search(&names->opcodes, rows->ruled.items[i]) < 0)
            fail((Place){.file = "ir/table/ops.def"}, "rules for '%s', which is not an opcode", rows->ruled.items[i]);
        printf("    [%s] = %s,\n", enum_name("OP_", rows->ruled.items[i], &names->opcodes), rows->rules.items[i]);
    }
    printf("};\n\n");
}

static void print_tables(const Names *names, const Rows *rows)
{
    Tables tables = {.names = names};
    print_names("opcode_names", "OP_", &names->opcodes);
    print_names("mod_names", "MOD_", &names->mods);
    print_rules(names, rows);
    print_forms(&tables, rows);
    print_table("ModId", "mod_pool", &tables.mod_pool);
    print_table("Alternative", "alternatives", &tables.alternatives);
    print_table("Element", "elements", &tables.elements);
    print_table("Pattern", "patterns", &tables.patterns);
    print_table("TargetRange", "target_ranges", &tables.targets);
    print_table("OrderPair", "order_pairs", &tables.orders);
}

static void print_enums(const Names *names)
{
    printf("#ifndef PTXOPT_OPS_ENUM_H\n#define PTXOPT_OPS_ENUM_H\n\n");
    print_enum("Opcode", "OP_", &names->opcodes);
    print_enum("ModId", "MOD_", &names->mods);
    printf("/* The rows of the table, in the order of their opcodes. */\ntypedef enum FormId {\n");
    for (size_t i = 0; i < names->ids.count; i++)
        printf("    %s, /* %s */\n", enum_name("FORM_", names->ids.items[i], &names->ids), names->ids.items[i]);
    printf("    FORM_COUNT\n} FormId;\n\n#endif\n");
}

/* "add" gives OPERATION(FORM_ADD_INT, add), "decode:load" DECODE(FORM_LD_SCALAR, load). */
static void print_run(const Names *names, const Rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const Row *row = rows->items[i];
        const char *colon = strchr(row->run, ':'), *name = colon ? colon + 1 : row->run;
        char *kind = colon ? copy_n(row->run, (size_t)(colon - row->run)) : copy("operation");
        if (!strcmp(row->run, "-"))
            continue;
        for (char *p = kind; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        printf("%s(%s, %s)\n", kind, enum_name("FORM_", row->id, &names->ids), name);
    }
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: make_ops enums|tables|run TABLE NOTES\n");
        return 2;
    }
    Rows rows = read_rows(arguments[2], arguments[3]);
    Names names = collect_names(&rows);
    printf("/* Generated from %s. */\n", arguments[2]);
    if (!strcmp(arguments[1], "enums"))
        print_enums(&names);
    else if (!strcmp(arguments[1], "tables"))
        print_tables(&names, &rows);
    else
        print_run(&names, &rows);
    return fflush(stdout) == 0 ? 0 : 1;
}
