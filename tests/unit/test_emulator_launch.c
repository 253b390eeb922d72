/* Launch files: those that are accepted, and the messages about those that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

/* Writes the text to a file of the given name and returns its path, which the caller frees. */
static char *write_temporary(const char *name, const char *text)
{
    const char *folder = getenv("TEST_TMP");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%ld-%s", folder ? folder : "/tmp", (long)getpid(), name) > 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static Launch *read_text(Arena *arena, const char *text, const char **error)
{
    char *path = write_temporary("launch.json", text);
    Launch *launch = launch_read(arena, path, error);
    unlink(path);
    free(path);
    return launch;
}

static void all_kinds_of_arguments(void **state)
{
    (void)state;
    static const char ptx[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n.const .u32 c[4];\n.global .f32 g;\n"
        ".visible .entry k(.param .u64 out, .param .align 4 .b8 pair[8], .param .u64 inside, .param .f32 f, .param "
        ".u64 list)\n"
        "{ .reg .b64 %rd<6>; .reg .b32 %r<8>; .reg .f32 %f<4>; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [pair+4];\n"
        "ld.param.u64 %rd2, [inside]; ld.const.u32 %r2, [c+8]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;\n"
        "st.global.u32 [%rd2], 7; ld.param.f32 %f1, [f]; ld.global.f32 %f2, [g]; add.f32 %f1, %f1, %f2;\n"
        "st.global.f32 [%rd1+4], %f1; ld.param.u64 %rd3, [list]; ld.global.u16 %r3, [%rd3+2]; st.global.u32 [%rd1+8], "
        "%r3;\n"
        "ret; }\n";
    char *data = write_temporary("data.bin", "ABCDEFGH");
    char text[1200];
    snprintf(text, sizeof text,
             "{\"kernel\": \"k\", \"grid\": [1], \"block\": [1, 1], \"args\": ["
             "{\"buffer\": \"out\", \"type\": \"u32\", \"count\": 8, \"init\": \"zero\"},"
             "{\"scalar\": \"s32\", \"value\": [1, -5]}, {\"pointer\": \"out\", \"offset\": 16},"
             "{\"scalar\": \"f32\", \"value\": \"0x40000000\"}, {\"symbol\": \"c\", \"type\": \"u32\", \"values\": [1, "
             "2, 30, 4]},"
             "{\"buffer\": \"list\", \"type\": \"u16\", \"count\": 4, \"init\": \"file\", \"file\": \"%s\"},"
             "{\"symbol\": \"g\", \"type\": \"f32\", \"count\": 1, \"init\": \"iota\", \"start\": 0.5}],"
             "\"check\": [\"out\"], \"tolerance\": {\"kind\": \"close\", \"relative\": 0.5}}",
             strrchr(data, '/') + 1);
    Arena *arena = arena_new(), *modules = arena_new();
    const char *error = NULL;
    Diag diag;
    Launch *launch = read_text(arena, text, &error);
    unlink(data);
    free(data);
    if (!launch)
        fail_msg("%s", error);
    assert_int_equal(launch->tolerance.kind, TOLERANCE_CLOSE);
    assert_int_equal(launch->check_count, 1);
    Source *source = source_from_memory(modules, "k.ptx", ptx, strlen(ptx));
    diag_init(&diag, source, stderr);
    Module *module = parse_module(modules, source, &diag);
    assert_non_null(module);
    EmulatorResult *result = emulator_run(arena, module, launch, NULL);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", fault_text(arena, module, &result->fault));
    const uint32_t *out = (const uint32_t *)emulator_buffer(result, "out")->bytes;
    static const uint32_t expected[] = {25, 0x40200000, 'C' | 'D' << 8, 0, 7};
    assert_memory_equal(out, expected, sizeof expected);
    arena_free(modules);
    arena_free(arena);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{", "expected"},
        {"[]", "must be an object"},
        {"{}", "\"kernel\" is missing"},
        {"{\"kernel\": \"k\",\n \"blok\": [1]}", ":2:2: a launch has no member \"blok\"; did you mean \"block\"?"},
        {"{\"kernel\": \"k\"}", "-template"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [\n{\"scalar\": \"u32\", \"value\": 1},\n"
         " {\"buffer\": \"b\", \"type\": \"u32\", \"count\": 1, \"init\": \"unifrom\"}]}",
         ":3:53: argument 2: unknown init \"unifrom\"; did you mean \"uniform\"?"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\", "
         "\"count\": 1, \"init\": \"q\"}]}",
         "expected \"zero\", \"poison\", \"uniform\", \"iota\" or \"file\""},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"bufer\": \"b\"}]}",
         "did you mean \"buffer\"?"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"pointer\": \"b\", \"ofset\": 4}]}",
         "a pointer has no member \"ofset\"; did you mean \"offset\"?"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\", "
         "\"count\": 1, \"init\": \"uniform\", \"low\": \"1\"}]}",
         "\"low\" is not a number"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"tolerance\": {\"kind\": \"exact\", \"abs\": 1}}",
         "a tolerance has no member \"abs\""},
        {"{\"kernel\": \"k\"}", "\"grid\""},
        {"{\"kernel\": \"k\", \"grid\": [1, 0], \"block\": [1]}", "from 1 to"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{}]}", "an argument must be"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"dynamic_shared\": -1}", "dynamic_shared"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [], \"check\": [\"b\"]}", "not a buffer"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [], \"ignore\": \"b\"}", "array"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"scalar\": \"u33\", \"value\": 1}]}", "u33"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"scalar\": \"u32\"}]}", "no \"value\""},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\"}]}",
         "no count"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\", "
         "\"count\": -1}]}",
         "\"count\" is not a whole number"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\", "
         "\"count\": 1, "
         "\"init\": \"random\"}]}",
         "random"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [{\"buffer\": \"b\", \"type\": \"u32\", "
         "\"count\": 1, "
         "\"init\": \"file\", \"file\": \"no such file\"}]}",
         "cannot open"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"tolerance\": {\"kind\": \"vague\"}}",
         "expected \"exact\" or \"close\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        const char *error = NULL;
        assert_null(read_text(arena, cases[i][0], &error));
        if (!strstr(error, cases[i][1]))
            fail_msg("'%s' does not say '%s'", error, cases[i][1]);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_arguments),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
