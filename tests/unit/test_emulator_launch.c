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
             "{\"kernel\": \"k\", \"comment\": \"all kinds\", \"grid\": [1], \"block\": [1, 1], \"args\": ["
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

/* A launch's values of a variable are all of it: zeros follow those that are given. */
static void values_replace_those_of_a_variable(void **state)
{
    (void)state;
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .global .align 4 .u32 c[4] = {1, 2, 3, 4};\n.visible .entry k()\n{\nret;\n}\n";
    Arena *arena = arena_new();
    const char *error = NULL;
    Diag diag;
    Launch *launch = read_text(arena, "{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": ["
                                      "{\"symbol\": \"c\", \"type\": \"u32\", \"count\": 3, \"values\": [9]}]}",
                               &error);
    if (!launch)
        fail_msg("%s", error);
    Source *source = source_from_memory(arena, "k.ptx", ptx, strlen(ptx));
    diag_init(&diag, source, stderr);
    const EmulatorResult *result = emulator_run(arena, parse_module(arena, source, &diag), launch, NULL);
    static const uint32_t expected[] = {9, 0, 0, 4};
    assert_memory_equal(emulator_buffer(result, "c")->bytes, expected, sizeof expected);
    arena_free(arena);
}

#define ARGUMENT(text) "{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": [" text "]}"

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
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [2147483648]}", "from 1 to"},
        {"{\"kernel\": \"k\", \"threads\": [0], \"block\": [1]}", "from 1 to"},
        {"{\"kernel\": \"k\", \"threads\": [10]}", "\"block\" is missing"},
        {"{\"kernel\": \"k\", \"grid\": [2], \"block\": [4],\n \"threads\": [9]}",
         ":2:13: 9 threads along x are 3 blocks of 4, but \"grid\" says 2"},
        {"{\"kernel\": \"k\", \"grid\": [2], \"block\": [4], \"threads\": [8, 2]}",
         "2 threads along y are 2 blocks of 1, but \"grid\" says 1"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"dynamic_shared_per_thread\": -4}",
         "from 0 to 2097151"},
        {"{\"kernel\": \"k\", \"grid\": [], \"block\": [1]}", "\"grid\" must be an array of one to three"},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1, 1, 1, 1]}", "\"block\" must be an array of one to three"},
        {ARGUMENT("{\"scalar\": \"u32\", \"value\": \"12x\"}"), "argument 1: \"12x\" is not a number"},
        {ARGUMENT("{\"scalar\": \"u64\", \"value\": 18446744073709551616.0}"), "does not fit in 64 bits"},
        {ARGUMENT("{\"scalar\": \"s64\", \"value\": -1e19}"), "-1e+19 does not fit in 64 bits"},
        {ARGUMENT("{\"scalar\": \"pred\", \"value\": 1}"), "unknown type \"pred\""},
        {"{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"tolerance\": {\"kind\": \"vague\"}}",
         ":1:66: unknown kind \"vague\""},
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

/* A file is read from the folder of the launch file unless its path is absolute, and must have all bytes. The values of
 * a buffer may be fewer than its count. */
static void contents_are_complete(void **state)
{
    (void)state;
    char *data = write_temporary("data.bin", "ABCDEFGH");
    for (unsigned count = 8; count <= 9; count++) {
        char text[400];
        const char *error = NULL;
        Arena *arena = arena_new();
        snprintf(text, sizeof text,
                 ARGUMENT("{\"buffer\": \"b\", \"type\": \"u8\", \"count\": %u, \"init\": \"file\", \"file\": \"%s\"},"
                          "{\"buffer\": \"c\", \"type\": \"u16\", \"count\": 3, \"values\": [7, 1.5]}"),
                 count, data);
        const Launch *launch = read_text(arena, text, &error);
        assert_int_equal(launch != NULL, count == 8);
        if (launch) {
            assert_memory_equal(launch->arguments[0].bytes, "ABCDEFGH", 8);
            assert_int_equal(launch->arguments[1].count, 3);
            assert_int_equal(launch->arguments[1].size, 4);
        } else {
            assert_non_null(strstr(error, "has only 8 of the 9 bytes that the buffer needs"));
        }
        arena_free(arena);
    }
    unlink(data);
    free(data);
}

/* A last block, or a last thread, may do less than the others. */
static void changed_launches_leave_nothing_out(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Launch launch = {.kernel = "k", .grid = {5, 4, 0}, .block = {33, 0, 2}, .dynamic_shared = 20};
    const LaunchChange change = {.grid = {2, 4, 0}, .block = {2, 1, 0}, .shared_factor = 2, .shared_unit = 16};
    const Launch *changed = launch_changed(arena, &launch, &change), *same = launch_changed(arena, &launch, NULL);
    static const unsigned grid[] = {3, 1, 1}, block[] = {17, 1, 2};
    assert_memory_equal(changed->grid, grid, sizeof grid);
    assert_memory_equal(changed->block, block, sizeof block);
    assert_int_equal(changed->dynamic_shared, 64);
    assert_int_equal(same->grid[0], 5);
    assert_int_equal(same->block[0], 33);
    assert_int_equal(same->dynamic_shared, 20);
    arena_free(arena);
}

/* The grid follows from the threads and the block, as does the part of the shared memory that is each thread's. */
static void blocks_can_be_changed(void **state)
{
    (void)state;
    static const char text[] = "{\"kernel\": \"k\", \"threads\": [1000, 10], \"block\": [128, 2], \"args\": [], "
                               "\"dynamic_shared\": 16, \"dynamic_shared_per_thread\": 4}";
    static const unsigned grid[] = {8, 5, 1}, block[] = {96, 4, 1}, grid_of_block[] = {11, 3, 1};
    Arena *arena = arena_new();
    const char *error = NULL;
    const Launch *launch = read_text(arena, text, &error);
    if (!launch)
        fail_msg("%s", error);
    assert_memory_equal(launch->grid, grid, sizeof grid);
    assert_int_equal(launch->dynamic_shared, 16 + 4 * 128 * 2);
    const Launch *other = launch_with_block(arena, launch, block);
    assert_memory_equal(other->grid, grid_of_block, sizeof grid_of_block);
    assert_memory_equal(other->block, block, sizeof block);
    assert_int_equal(other->dynamic_shared, 16 + 4 * 96 * 4);
    assert_int_equal(launch_with_block(arena, other, launch->block)->dynamic_shared, launch->dynamic_shared);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_arguments),
        cmocka_unit_test(blocks_can_be_changed),
        cmocka_unit_test(changed_launches_leave_nothing_out),
        cmocka_unit_test(contents_are_complete),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(values_replace_those_of_a_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
