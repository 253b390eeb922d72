/* One kernel for each row of the instruction table (tests/isa/examples): the emulator runs it to its end or to a fault,
 * or refuses it before it runs. tests/emulator-refused.txt lists the refused ones; UPDATE=1
 * build/tests/test_emulator_examples rewrites the file. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

#define FOLDER "tests/isa/examples"
#define REFUSED "tests/emulator-refused.txt"

/* A launch of one warp with zeros for arguments. */
static EmulatorResult *run_entry(Arena *arena, const Module *module, const Function *entry)
{
    unsigned count = entry->prototype.param_count;
    LaunchArgument *arguments = ARENA_ARRAY(arena, LaunchArgument, count + 1);
    for (unsigned i = 0; i < count; i++) {
        uint64_t size = variable_bytes(entry->prototype.params[i]);
        arguments[i] = (LaunchArgument){
            .kind = ARGUMENT_SCALAR, .name = "zero", .size = size, .bytes = arena_alloc(arena, (size_t)size + 1)};
    }
    Launch launch = {.kernel = entry->name,
                     .grid = {1, 1, 1},
                     .block = {32, 1, 1},
                     .arguments = arguments,
                     .argument_count = count};
    for (unsigned i = 0; i < entry->tuning.reqntid_count; i++)
        launch.block[i] = entry->tuning.reqntid[i];
    for (unsigned i = 0; i < entry->tuning.reqnctapercluster_count; i++)
        launch.grid[i] = entry->tuning.reqnctapercluster[i];
    EmulatorOptions options = {.max_steps = 20000, .hang_steps = 1000, .check_races = true, .check_unwritten = true};
    return emulator_run(arena, module, &launch, &options);
}

/* Appends a line "FILE ENTRY: what is refused" for each refused entry of a file; returns how many entries ran. */
static unsigned run_file(const char *name, Buf *refused)
{
    Arena *arena = arena_new();
    const char *error;
    char path[512];
    Diag diag;
    unsigned ran = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    snprintf(path, sizeof path, FOLDER "/%s", name);
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    diag_init(&diag, source, nowhere);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    for (size_t i = 0; i < module->items.count; i++) {
        const Item *item = &module->items.data[i];
        if (item->kind != ITEM_FUNCTION || !item->function->is_entry || !item->function->has_body)
            continue;
        EmulatorResult *result = run_entry(arena, module, item->function);
        assert_int_not_equal(result->fault.kind, FAULT_LAUNCH);
        if (result->fault.kind == FAULT_UNSUPPORTED)
            buf_printf(refused, "%s %s: %s\n", name, item->function->name, result->fault.message);
        else
            ran++;
    }
    fclose(nowhere);
    arena_free(arena);
    return ran;
}

static int is_example(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ptx") == 0;
}

/* Prints the lines of a text that another text does not have; returns their number. */
static unsigned report_missing(const char *text, const char *other, const char *what)
{
    unsigned missing = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        size_t length = (size_t)(end - line) + 1;
        const char *found = other;
        while (found && strncmp(found, line, length) != 0) {
            found = strchr(found, '\n');
            found = found ? found + 1 : NULL;
        }
        if (!found && ++missing < 20)
            print_message("%s: %.*s", what, (int)length, line);
    }
    return missing;
}

static void examples_run_or_are_refused(void **state)
{
    (void)state;
    struct dirent **names;
    Buf refused = {0}, expected = {0};
    unsigned ran = 0;
    int count = scandir(FOLDER, &names, is_example, alphasort);
    assert_true(count > 100);
    for (int i = 0; i < count; i++) {
        ran += run_file(names[i]->d_name, &refused);
        free(names[i]);
    }
    free(names);
    print_message("%u kernels ran\n", ran);
    const char *update = getenv("UPDATE");
    FILE *file = fopen(REFUSED, update && *update ? "w+" : "r");
    assert_non_null(file);
    if (update && *update)
        fputs(buf_text(&refused), file);
    rewind(file);
    for (int c; (c = getc(file)) != EOF;)
        buf_putc(&expected, (char)c);
    fclose(file);
    unsigned differences = report_missing(buf_text(&refused), buf_text(&expected), "refused, but not in the list") +
                           report_missing(buf_text(&expected), buf_text(&refused), "in the list, but not refused");
    if (differences)
        fail_msg("%u lines of " REFUSED " differ; UPDATE=1 writes it anew", differences);
    buf_free(&refused);
    buf_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_run_or_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
