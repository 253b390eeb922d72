/* Compares the tables of tests/isa, row by row, with the program's own: every instruction form is matched with each of
 * its modifiers, in every order that ptxas accepts; every directive and special register is accepted at the lowest
 * version that has it, and refused, with a message that names that version, at the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/table/internal.h"
#include "parser/parser.h"

enum { MOST_FIELDS = 20 };

typedef struct Sheet {
    Arena *arena;
    char *text;
    char *next;
    const char *columns[MOST_FIELDS];
    const char *fields[MOST_FIELDS];
    unsigned column_count;
} Sheet;

/* Splits 'line' at its tabs. */
static unsigned split_fields(char *line, const char **fields)
{
    unsigned count = 0;
    for (char *field = line; field; count++) {
        char *tab = strchr(field, '\t');
        assert_true(count < MOST_FIELDS);
        fields[count] = field;
        if (tab)
            *tab++ = 0;
        field = tab;
    }
    return count;
}

static bool table_next(Sheet *table)
{
    while (*table->next) {
        char *line = table->next, *end = strchr(line, '\n');
        table->next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = 0;
        if (*line == '#' || !*line)
            continue;
        unsigned count = split_fields(line, table->fields);
        for (unsigned i = count; i < MOST_FIELDS; i++)
            table->fields[i] = "";
        return true;
    }
    return false;
}

static Sheet table_open(Arena *arena, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    Sheet table = {.arena = arena};
    table.text = table.next = arena_strndup(arena, source->text, source->size);
    assert_true(table_next(&table));
    memcpy(table.columns, table.fields, sizeof table.columns);
    while (table.column_count < MOST_FIELDS && *table.columns[table.column_count])
        table.column_count++;
    return table;
}

static const char *cell(const Sheet *table, const char *column)
{
    for (unsigned i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i], column))
            return table->fields[i];
    fail_msg("no column %s", column);
    return "";
}

/* "7.8" is 78. */
static unsigned version_number(const char *text)
{
    unsigned major = 0, minor = 0;
    sscanf(text, "%u.%u", &major, &minor);
    return 10 * major + minor;
}

enum { MOST_CHOICES = 128, MOST_PLACES = MOST_ELEMENTS };

typedef struct Place {
    const char *choices[MOST_CHOICES];
    unsigned count;
    bool optional;
    int twin; /* an earlier place of the same slot; -1 */
} Place;

typedef struct Modifiers {
    Place places[MOST_PLACES];
    unsigned count;
} Modifiers;

static void read_modifiers(Arena *arena, const Form *form, Modifiers *modifiers)
{
    modifiers->count = form->element_count;
    for (unsigned i = 0; i < form->element_count; i++) {
        const Element *element = &form_elements(form)[i];
        Place *place = &modifiers->places[i];
        *place = (Place){.optional = element->kind == ELEMENT_OPTIONAL, .twin = element->same_as};
        for (unsigned j = 0; j < element->alternative_count; j++) {
            const Alternative *alternative = &element_alternatives(element)[j];
            const char *text = "";
            for (unsigned k = 0; k < alternative->mod_count; k++)
                text = arena_printf(arena, "%s%s", text, mod_name(alternative_mods(alternative)[k]));
            assert_true(place->count < MOST_CHOICES);
            place->choices[place->count++] = text;
        }
    }
}

/* The spelling with alternative 'choice' at place 'special', the first alternative at every other place, and no
 * optional ones. */
static void spell(const char *opcode, const Modifiers *modifiers, unsigned special, unsigned choice, Buf *out)
{
    buf_clear(out);
    buf_puts(out, opcode);
    for (unsigned i = 0; i < modifiers->count; i++) {
        const Place *place = &modifiers->places[i];
        unsigned leader = place->twin >= 0 ? (unsigned)place->twin : i;
        if (place->optional && i != special)
            continue;
        buf_puts(out, place->choices[leader == special || i == special ? choice : 0]);
    }
}

static bool is_spelling(Module *module, const char *spelling, const Form *form)
{
    const Signature *signature = signature_parse(module, spelling);
    for (unsigned i = 0; i < signature->match_count; i++)
        if (signature->matches[i].form == form)
            return true;
    return false;
}

/* A pair ".a.b" of the column names two places by an alternative of each: the last part of one, the first of the other.
 */
static bool order_keeps(const char *order, const Place *before, const Place *after)
{
    for (unsigned i = 0; i < before->count; i++) {
        for (unsigned j = 0; j < after->count; j++) {
            const char *a = strrchr(before->choices[i], '.'), *b = after->choices[j];
            size_t a_length = strlen(a), b_length = 1 + strcspn(b + 1, ".");
            for (const char *pair = strchr(order, ' '); pair; pair = strchr(pair + 1, ' '))
                if (!strncmp(pair + 1, a, a_length) && !strncmp(pair + 1 + a_length, b, b_length) &&
                    strchr(" ", pair[1 + a_length + b_length]))
                    return true;
        }
    }
    return false;
}

/* Only position distinguishes two places that accept the same modifier. */
static bool places_share(const Place *a, const Place *b)
{
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned j = 0; j < b->count; j++)
            if (!strcmp(a->choices[i], b->choices[j]))
                return true;
    return false;
}

/* A place that must come before one other place must come before all: the name of a sub-operation. */
static bool stays_in_front(const char *order, const Modifiers *modifiers, unsigned place)
{
    for (unsigned i = place + 1; i < modifiers->count; i++)
        if (order_keeps(order, &modifiers->places[place], &modifiers->places[i]))
            return true;
    return false;
}

static bool names_type(const Place *place)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)(1 + strcspn(place->choices[0] + 1, ".")), place->choices[0]);
    return mod_operand_type(mod_from_name(first)) != TYPE_NONE;
}

/* Swaps each two adjacent modifiers, which ptxas accepts, except for the pairs that it rejects. */
static unsigned check_orders(Module *module, const char *id, const char *opcode, const char *order,
                             const Modifiers *modifiers, unsigned special, unsigned choice)
{
    unsigned present[MOST_PLACES], count = 0, wrong = 0;
    for (unsigned i = 0; i < modifiers->count; i++)
        if (!modifiers->places[i].optional || i == special)
            present[count++] = i;
    for (unsigned i = 0; i + 1 < count; i++) {
        const Place *left = &modifiers->places[present[i]], *right = &modifiers->places[present[i + 1]];
        Buf swapped = {0};
        if (stays_in_front(order, modifiers, present[i]) || places_share(left, right) ||
            (names_type(left) && names_type(right)))
            continue;
        buf_puts(&swapped, opcode);
        for (unsigned j = 0; j < count; j++) {
            unsigned at = present[j == i ? i + 1 : j == i + 1 ? i : j];
            const Place *place = &modifiers->places[at];
            unsigned leader = place->twin >= 0 ? (unsigned)place->twin : at;
            buf_puts(&swapped, place->choices[leader == special || at == special ? choice : 0]);
        }
        if (!signature_parse(module, buf_text(&swapped))->match_count) {
            print_message("%s: ptxas takes %s\n", id, buf_text(&swapped));
            wrong++;
        }
        buf_free(&swapped);
    }
    return wrong;
}

/* Each alternative of the form in documented order, and in the orders that ptxas accepted. */
static unsigned check_form(Module *module, const Form *form, const char *order)
{
    const char *opcode = opcode_name(form_op(form));
    Modifiers modifiers;
    Buf spelling = {0};
    unsigned wrong = 0;
    read_modifiers(module->arena, form, &modifiers);
    for (unsigned i = 0; i == 0 || i < modifiers.count; i++) {
        for (unsigned j = 0; j == 0 || j < modifiers.places[i].count; j++) {
            spell(opcode, &modifiers, i, j, &spelling);
            if (!is_spelling(module, buf_text(&spelling), form)) {
                print_message("%s: %s is not a spelling of the row\n", form->id, buf_text(&spelling));
                wrong++;
            } else if (!strcmp(order, "any") || !strncmp(order, "keep ", 5)) {
                wrong += check_orders(module, form->id, opcode, order, &modifiers, i, j);
            }
        }
    }
    buf_free(&spelling);
    return wrong;
}

static const Form *find_form(const char *id)
{
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++)
            if (!strcmp(form->id, id))
                return form;
    }
    fail_msg("no row '%s' in ir/table/ops.def", id);
    return NULL;
}

static void test_instructions(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *text = ".version 9.0\n.target sm_90\n";
    Module *module = module_new(arena, interner_new(arena, 0), source_from_memory(arena, "none", text, strlen(text)));
    Sheet table = table_open(arena, "tests/isa/verdicts.tsv");
    bool seen[FORM_COUNT] = {false};
    unsigned rows = 0, wrong = 0;
    for (; table_next(&table); rows++) {
        const Form *form = find_form(cell(&table, "id"));
        assert_false(seen[form_id(form)]);
        seen[form_id(form)] = true;
        wrong += check_form(module, form, cell(&table, "order13"));
    }
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        unsigned count;
        const Form *first = opcode_first_form((Opcode)op, &count);
        for (const Form *form = first; form < first + count; form++)
            if (!seen[form_id(form)])
                fail_msg("tests/isa/verdicts.tsv has no row for %s", form->id);
    }
    assert_int_equal(rows, FORM_COUNT);
    assert_int_equal(wrong, 0);
    arena_free(arena);
}

/* Reads a module; the messages go to 'messages' (free() them). */
static bool is_accepted(const char *text, char **messages)
{
    size_t size;
    Arena *arena = arena_new();
    FILE *out = open_memstream(messages, &size);
    Source *source = source_from_memory(arena, "module.ptx", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, out);
    bool accepted = parse_module(arena, source, &diag) != NULL;
    fclose(out);
    arena_free(arena);
    return accepted;
}

static const unsigned versions[] = {10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41, 42, 43, 50, 51, 60,
                                    61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85,
                                    86, 87, 88, 90};

static unsigned version_before(unsigned version)
{
    for (unsigned i = 1; i < COUNT_OF(versions); i++)
        if (versions[i] == version)
            return versions[i - 1];
    return 0;
}

/* "\n" means the end of a line. */
static void unescape(const char *text, Buf *out)
{
    for (; *text; text++)
        if (text[0] == '\\' && text[1] == 'n') {
            buf_putc(out, '\n');
            text++;
        } else {
            buf_putc(out, *text);
        }
}

/* Returns what is wrong with the body text at this version and target: it must be accepted, or refused with 'wanted' in
 * the message. */
static unsigned check_module(const char *row, unsigned version, const char *target, const char *body,
                             const char *wanted)
{
    Buf text = {0};
    char *messages = NULL;
    buf_printf(&text, ".version %u.%u\n.target %s\n%s", version / 10, version % 10, target, body);
    bool accepted = is_accepted(buf_text(&text), &messages);
    bool good = wanted ? !accepted && strstr(messages, wanted) : accepted;
    if (!good)
        print_message("%s at %u.%u %s: %s%s\n", row, version / 10, version % 10, target,
                      accepted ? "accepted" : "", messages);
    free(messages);
    buf_free(&text);
    return !good;
}

static void test_directives(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Sheet table = table_open(arena, "tests/isa/directives.tsv");
    unsigned rows = 0, wrong = 0;
    while (table_next(&table)) {
        Buf body = {0};
        const char *id = cell(&table, "id");
        /* The examples contain the directives of the header. */
        bool header = !strcmp(id, "version") || !strncmp(id, "target", 6) || !strcmp(id, "address_size");
        rows++;
        if (header || !*cell(&table, "min_ptx") || !strncmp(cell(&table, "ptxas13"), "refused", 7))
            continue;
        unescape(cell(&table, "example"), &body);
        const char *target = *cell(&table, "min_sm") ? cell(&table, "min_sm") : "sm_10";
        unsigned version = version_number(cell(&table, "min_ptx"));
        if (!strcmp(id, "samplerref"))
            target = "sm_10, texmode_independent";
        if (!strcmp(id, "entry.params")) { /* the example has a parameter of type .f16 */
            target = "sm_53";
            version = 42;
        }
        wrong += check_module(id, version, target, buf_text(&body), NULL);
        buf_free(&body);
    }
    assert_true(rows > 80);
    assert_int_equal(wrong, 0);
    arena_free(arena);
}

static void test_special_registers(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Sheet table = table_open(arena, "tests/isa/special-registers.tsv");
    unsigned rows = 0, wrong = 0;
    while (table_next(&table)) {
        const char *name = cell(&table, "name"), *types = cell(&table, "types");
        if (name[0] != '%')
            continue;
        rows++;
        unsigned version = version_number(cell(&table, "min_ptx"));
        for (const char *type = types; *type; type += strspn(type, " ")) {
            size_t length = strcspn(type, " ");
            char body[256], wanted[64];
            const char *last = type + length;
            while (*last != '.')
                last--;
            bool vector = !strncmp(type, ".v4", 3);
            snprintf(body, sizeof body, ".entry k\n{\n.reg %.*s d, e, f, g;\nmov%.*s %s, %s;\nret;\n}\n",
                     (int)(type + length - last), last, (int)length, type, vector ? "{d, e, f, g}" : "d", name);
            /* Moves of 64 bits came with 2.0, even for registers that existed before. */
            bool wide = !strncmp(last, ".u64", length) || !strncmp(last, ".b64", length);
            const char *target = wide && version < 20 ? "sm_20" : cell(&table, "min_sm");
            wrong += check_module(name, wide && version < 20 ? 20 : version, target, body, NULL);
            snprintf(wanted, sizeof wanted, "needs PTX ISA version %u.%u", version / 10, version % 10);
            if (version_before(version) >= 20 && version != version_number(cell(&table, "min_sm")))
                wrong += check_module(name, version_before(version), "sm_20", body, wanted);
            type += length;
        }
    }
    assert_true(rows > 100);
    assert_int_equal(wrong, 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instructions), cmocka_unit_test(test_directives),
                                       cmocka_unit_test(test_special_registers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
