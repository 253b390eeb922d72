/* The instruction table against ptxas: every example module that ptxas accepts binds without a message and without an
 * opaque instruction, each generated entry uses the row it is named after, and instructions that ptxas refuses are
 * refused at the same line. The modules are in tests/isa; the first line of a refused one quotes ptxas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/table/internal.h"
#include "parser/parser.h"

typedef struct Names {
    char **items;
    size_t count;
} Names;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static Names list_folder(const char *folder)
{
    Names names = {0};
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".ptx") != 0)
            continue;
        names.items = realloc(names.items, (names.count + 1) * sizeof *names.items);
        size_t size = strlen(folder) + length + 2;
        names.items[names.count] = malloc(size);
        snprintf(names.items[names.count++], size, "%s/%s", folder, entry->d_name);
    }
    closedir(directory);
    assert_true(names.count > 0);
    qsort(names.items, names.count, sizeof *names.items, compare_names);
    return names;
}

static void free_names(Names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

/* A module read from a file, and the messages about it. */
typedef struct Reading {
    Arena *arena;
    Module *module;
    Diag diag;
    char *messages;
    size_t messages_size;
} Reading;

static void reading_open(Reading *reading, const char *path)
{
    const char *error = NULL;
    FILE *out = open_memstream(&reading->messages, &reading->messages_size);
    reading->arena = arena_new();
    Source *source = source_read(reading->arena, path, &error);
    assert_non_null(source);
    diag_init(&reading->diag, source, out);
    reading->module = parse_module(reading->arena, source, &reading->diag);
    fclose(out);
}

static void reading_close(Reading *reading)
{
    free(reading->messages);
    arena_free(reading->arena);
}

/* The name of the entry that shows a row: "add.f32" -> "r_add_f32". */
static void entry_name(const char *id, char *out, size_t size)
{
    snprintf(out, size, "r_%s", id);
    for (char *p = out; *p; p++)
        if (*p == '.' || *p == ':')
            *p = '_';
}

/* Marks the rows of the function's instructions, and those that it is named after ("r_ld_vec", "r_ld_vec_cg2", or the
 * name of a row that this one was split from). Returns the number of opaque instructions. */
static unsigned check_function(const Function *function, BitSet *shown, BitSet *named, const Form *first)
{
    unsigned opaque = 0;
    for (size_t i = 0; i < function->stmts.count; i++) {
        if (function->stmts.data[i].kind != STMT_INST)
            continue;
        const Inst *inst = function->stmts.data[i].inst;
        char name[128];
        if (!inst->form) {
            opaque++;
            continue;
        }
        for (unsigned j = 0; j < inst->ref_count; j++)
            assert_int_not_equal(inst->refs[j].type, TYPE_NONE);
        bitset_add(shown, (size_t)(inst->form - first));
        entry_name(form_name(inst->form), name, sizeof name);
        size_t length = strlen(name) < strlen(function->name) ? strlen(name) : strlen(function->name);
        if (!strncmp(name, function->name, length))
            bitset_add(named, (size_t)(inst->form - first));
    }
    return opaque;
}

static void test_accepted(void **state)
{
    (void)state;
    unsigned count, rows = 0;
    const Form *first = opcode_first_form((Opcode)(OP_UNKNOWN + 1), &count);
    for (unsigned op = OP_UNKNOWN + 1; op < OP_COUNT; op++) {
        opcode_first_form((Opcode)op, &count);
        rows += count;
    }
    Arena *arena = arena_new();
    BitSet shown = bitset_new(arena, rows), named = bitset_new(arena, rows);
    Names names = list_folder("tests/isa/examples");
    for (size_t i = 0; i < names.count; i++) {
        Reading reading;
        reading_open(&reading, names.items[i]);
        if (!reading.module || reading.diag.errors)
            fail_msg("%s", reading.messages);
        for (size_t k = 0; k < reading.module->items.count; k++) {
            const Item *item = &reading.module->items.data[k];
            if (item->kind == ITEM_FUNCTION && check_function(item->function, &shown, &named, first))
                fail_msg("%s: an instruction is opaque", names.items[i]);
        }
        reading_close(&reading);
    }
    unsigned unshown = 0;
    for (unsigned i = 0; i < rows; i++) {
        bool generated = form_category(&first[i]) != CATEGORY_CONTROL; /* the others share their entries */
        if (!first[i].target_count || bitset_has(generated ? &named : &shown, i))
            continue;
        print_message("row %s is not shown\n", form_name(&first[i]));
        unshown++;
    }
    assert_int_equal(unshown, 0);
    free_names(&names);
    arena_free(arena);
}

/* The line that ptxas names in "// ptxas 13.0: line 13: ...", or 0. */
static unsigned refused_line(const char *path)
{
    char text[512] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    if (!fgets(text, sizeof text, file))
        *text = 0;
    fclose(file);
    const char *line = strstr(text, "line ");
    return line ? (unsigned)strtoul(line + 5, NULL, 10) : 0;
}

/* The line of the first message, "PATH:LINE:COLUMN: ...". */
static unsigned reported_line(const Reading *reading, const char *path)
{
    const char *found = reading->messages ? strstr(reading->messages, path) : NULL;
    return found && found[strlen(path)] == ':' ? (unsigned)strtoul(found + strlen(path) + 1, NULL, 10) : 0;
}

static void test_refused(void **state)
{
    static const char *const groups[] = {"op-", "arg-", "guard-", "reg-", "call-", "bra-", "brx-"};
    (void)state;
    unsigned wrong = 0;
    Names names = list_folder("tests/isa/examples-invalid");
    for (size_t i = 0; i < names.count; i++) {
        const char *base = strrchr(names.items[i], '/') + 1;
        bool concerns = false;
        for (size_t j = 0; j < COUNT_OF(groups); j++)
            concerns |= !strncmp(base, groups[j], strlen(groups[j]));
        if (!concerns)
            continue;
        Reading reading;
        reading_open(&reading, names.items[i]);
        unsigned expected = refused_line(names.items[i]), line = reported_line(&reading, names.items[i]);
        /* An opcode that is not in the table is kept, with a warning. */
        bool refused =
            strcmp(base, "op-unknown.ptx") ? !reading.module && reading.diag.errors : reading.diag.warnings == 1;
        if (!refused || (expected && line != expected)) {
            print_message("%s: expected line %u, got %u: %s\n", base, expected, line, reading.messages);
            wrong++;
        }
        reading_close(&reading);
    }
    free_names(&names);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
