/* Every launch of the corpus: the emulator against the plain C references, with all checks on. */
#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus/reference.h"
#include "emulator/emulator.h"
#include "parser/parser.h"

typedef void Reference(const RefLaunch *launch, void **args);

/* The references, which the Makefile has compiled into one library. */
static void *references;

static int open_references(void **state)
{
    const char *build = getenv("BUILD");
    char path[512];
    (void)state;
    snprintf(path, sizeof path, "%s/corpus-references.so", build ? build : "build");
    references = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!references)
        fprintf(stderr, "%s\n", dlerror());
    return references ? 0 : -1;
}

static int close_references(void **state)
{
    (void)state;
    return dlclose(references);
}

static Module *read_module(const char *path)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    Diag diag;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    if (!module)
        arena_free(arena);
    return module;
}

/* Fills the launch's buffers, runs the reference on them, and compares with what the emulator left. */
static bool agrees(Arena *arena, const char *name, const Launch *launch, const EmulatorResult *result)
{
    char symbol[256];
    RefLaunch shape;
    void **args = ARENA_ARRAY(arena, void *, launch->argument_count);
    snprintf(symbol, sizeof symbol, "%s_reference", launch->kernel);
    Reference *reference;
    *(void **)&reference = dlsym(references, symbol);
    if (!reference) {
        print_message("%s: no %s\n", name, symbol);
        return false;
    }
    memcpy(shape.grid, launch->grid, sizeof shape.grid);
    memcpy(shape.block, launch->block, sizeof shape.block);
    EmulatorResult expected = {.buffers = ARENA_ARRAY(arena, EmulatorBuffer, launch->argument_count)};
    for (unsigned i = 0; i < launch->argument_count; i++) {
        const LaunchArgument *argument = &launch->arguments[i];
        if (argument->kind == ARGUMENT_SCALAR) {
            args[i] = arena_alloc(arena, (size_t)argument->size);
            memcpy(args[i], argument->bytes, (size_t)argument->size);
            continue;
        }
        args[i] = launch_fill(arena, argument);
        expected.buffers[expected.buffer_count++] = (EmulatorBuffer){
            .name = argument->name,
            .type = argument->type,
            .count = argument->count,
            .bytes = args[i],
            .size = argument->count * type_bits(argument->type) / 8,
        };
    }
    reference(&shape, args);
    const char *difference = emulator_difference(arena, launch, &expected, result, launch->reference_tolerance);
    if (difference)
        print_message("%s: %s\n", name, difference);
    return difference == NULL;
}

static bool launch_agrees(const char *ptx, const char *json)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    EmulatorOptions options = {
        .check_unwritten = true, .check_registers = true, .check_races = true, .count_memory = true};
    Launch *launch = launch_read(arena, json, &error);
    Module *module = read_module(ptx);
    bool fine = false;
    if (!launch) {
        print_message("%s\n", error);
    } else if (module) {
        EmulatorResult *result = emulator_run(arena, module, launch, &options);
        if (result->fault.kind != FAULT_NONE)
            print_message("%s: %s\n", json, fault_text(arena, module, &result->fault));
        else
            fine = agrees(arena, json, launch, result);
    }
    if (module)
        arena_free(module->arena);
    arena_free(arena);
    return fine;
}

/* Every folder has PTX for sm_75 and sm_90; some have it for other targets and from another compiler. */
static void corpus_agrees(void **state)
{
    const char *target = *state;
    glob_t found;
    unsigned wrong = 0, count = 0;
    assert_int_equal(glob("corpus/*/*.launch.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char folder[256], ptx[600];
        const char *json = found.gl_pathv[i];
        if (strstr(json, ".large."))
            continue; /* for a real GPU */
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(json, '/') - json), json);
        snprintf(ptx, sizeof ptx, "%s/%s.%s.ptx", folder, strrchr(folder, '/') + 1, target);
        if (strcmp(target, "sm_75") != 0 && strcmp(target, "sm_90") != 0 && access(ptx, R_OK) != 0)
            continue;
        count++;
        if (!launch_agrees(ptx, json)) {
            print_message("not equal: %s of %s\n", json, ptx);
            wrong++;
        }
    }
    assert_true(count >= 8);
    globfree(&found);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(corpus_agrees, "sm_75"),
        cmocka_unit_test_prestate(corpus_agrees, "sm_90"),
        cmocka_unit_test_prestate(corpus_agrees, "sm_120"),
        cmocka_unit_test_prestate(corpus_agrees, "clang.sm_75"),
    };
    return cmocka_run_group_tests(tests, open_references, close_references);
}
