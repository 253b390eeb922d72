/* Places in JSON texts, and in the sources of PTX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_place.h"
#include "support/support.h"

static void expect_place(const char *text, const JsonStep *steps, unsigned count, bool of_key, unsigned line,
                         unsigned column)
{
    Position place = json_place(text, strlen(text), steps, count, of_key);
    if (place.line != line || place.column != column)
        fail_msg("%u:%u, not %u:%u, in %s", place.line, place.column, line, column, text);
}

static void json_values_are_found(void **state)
{
    (void)state;
    static const char text[] = "\n {\"a b\": {\"ab\": [1, {\"x\": \"}],\\\"\"},\n  [3, 4]], \"b\": 5},\n\"b\" : 6}";
    static const JsonStep deep[] = {{"a b", 0}, {"ab", 0}, {NULL, 2}, {NULL, 1}};
    static const JsonStep inner[] = {{"a b", 0}, {"b", 0}}, outer[] = {{"b", 0}};
    static const JsonStep nowhere[] = {{"a b", 0}, {"ab", 0}, {NULL, 3}}, other[] = {{"a", 0}};
    expect_place(text, NULL, 0, false, 2, 2);
    expect_place(text, deep, 1, false, 2, 10);
    expect_place(text, deep, 1, true, 2, 3);
    expect_place(text, deep, 2, false, 2, 17);
    expect_place(text, deep, 2, true, 2, 11);
    expect_place(text, deep, 3, false, 3, 3);
    expect_place(text, deep, 4, false, 3, 7);
    expect_place(text, inner, 2, false, 3, 17);
    expect_place(text, outer, 1, false, 4, 7);
    expect_place(text, outer, 1, true, 4, 1);
    expect_place(text, nowhere, 3, false, 2, 17);
    expect_place(text, other, 1, false, 2, 2);
}

/* A key is named in the last step only, and is that key, not one that begins like it. */
static void json_keys_are_found(void **state)
{
    (void)state;
    static const char text[] = "{\"ab\": 1, \"\\\"a\": 2, \"a\": {\"c\": 3}}";
    static const JsonStep missing[] = {{"a", 0}, {"d", 0}}, found[] = {{"a", 0}, {"c", 0}};
    expect_place(text, found, 1, true, 1, 21);
    expect_place(text, found, 2, true, 1, 27);
    expect_place(text, missing, 2, true, 1, 26);
}

/* $ marks the place that is looked up. */
static void expect_compiled(const char *text, const char *name, unsigned line, unsigned column)
{
    Arena *arena = arena_new();
    const char *mark = strchr(text, '$');
    Source *source = source_from_memory(arena, "input.ptx", text, strlen(text));
    source_compiled_from(arena, source, name);
    Position place = {0, 0};
    bool found = compiled_position(source, (uint32_t)(mark - text), &place);
    if (found != (line != 0) || (found && (place.line != line || place.column != column)))
        fail_msg("%s%u:%u, not %u:%u, in\n%s", found ? "" : "nothing, ", place.line, place.column, line, column, text);
    arena_free(arena);
}

static void compiled_places_are_found(void **state)
{
    (void)state;
#define FILES ".file 1 \"/home/app.cu\"\n.file 2 \"/home/my_app.cu\"\n"
    static const char in_one[] = ".entry a()\n{\n .loc 1 3 4\n add;\n .loc 1 9 0\n $sub;\n}\n" FILES;
    static const char inlined[] = ".entry a()\n{\n .loc 1 3 4\n .loc 2 7 7, function_name N, inlined_at 1 5 6\n"
                                  " $sub;\n}\n" FILES;
    static const char of_function[] = ".entry $a()\n{\n ret;\n .loc 1 8 2\n}\n.entry b()\n{\n .loc 1 20 1\n}\n" FILES;
    static const char without[] = ".entry $a()\n{\n ret;\n}\n.entry b()\n{\n .loc 1 20 1\n}\n" FILES;
    static const char declared[] = ".func $a();\n.entry b()\n{\n .loc 1 20 1\n}\n" FILES;
    static const char between[] = ".entry b()\n{\n .loc 1 20 1\n}\n$.global .u32 x;\n" FILES;
    expect_compiled(in_one, "app.cu", 9, 1);
    expect_compiled(inlined, "app.cu", 5, 6);
    expect_compiled(inlined, "my_app.cu", 7, 7);
    expect_compiled(of_function, "app.cu", 8, 2);
    expect_compiled(without, "app.cu", 0, 0);
    expect_compiled(declared, "app.cu", 0, 0);
    expect_compiled(between, "app.cu", 0, 0);
}

static void the_source_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {".entry a()\n{\n .loc 1 3 4\n}\n.file 1 \"app.cu\"\n", "app.cu"},
        {".entry a()\n{\n .loc 1 3 4\n}\n.file 1 \"/home/app.cu\"\n", "app.cu"},
        {".entry a()\n{\n .loc 1 3 4\n}\n.file 1 \"my_app.cu\"\n", "PTX of app.cu"},
        {".entry a()\n{\n}\n.file 1 \"app.cu\"\n", "PTX of app.cu"},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        Arena *arena = arena_new();
        Source *source = source_from_memory(arena, "input.ptx", cases[i][0], strlen(cases[i][0]));
        source_compiled_from(arena, source, "app.cu");
        assert_string_equal(source->path, cases[i][1]);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_values_are_found),
        cmocka_unit_test(json_keys_are_found),
        cmocka_unit_test(compiled_places_are_found),
        cmocka_unit_test(the_source_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
