/* Instructions that are not in the table: they give one warning and are printed as written, and no memory access or
 * other such instruction moves across them, in whatever order the block is scheduled. */
#include "tests/unit/test_registers_support.h"

#include <stdio.h>
#include <stdlib.h>

static const char kernel_text[] =
    KERNEL_HEAD ".visible .entry k(.param .u64 in)\n{\n"
                ".reg .b64 %rd<4>;\n.reg .b32 %r<12>;\n.reg .pred %p;\n"
                "ld.param.u64 %rd1, [in];\n"
                "add.u64 %rd2, %rd1, 64;\n"
                "setp.eq.u64 %p, %rd1, 0;\n"
                "ld.global.b32 %r1, [%rd1];\n"
                "ld.global.b32 %r2, [%rd1+4];\n"
                "add.u32 %r3, %r1, %r2;\n"
                "frobnicate.sync.b32 %r4, [%rd2], {%r1, %r2, 0x1F, _}, 0f3F800000, WARP_SZ+1;\n"
                "@!%p frobnicate.sync.b32 %r5|%p, [%rd2+8], -7, 2.50;\n"
                "ld.global.b32 %r6, [%rd1+8];\n"
                "ld.global.b32 %r7, [%rd1+12];\n"
                "add.u32 %r8, %r6, %r7;\n"
                "add.u32 %r9, %r4, %r5;\n"
                "add.u32 %r10, %r8, %r9;\n"
                "add.u32 %r11, %r10, %r3;\n"
                "st.global.b32 [%rd1], %r11;\n"
                "quuxify;\n"
                "st.global.b32 [%rd1+4], %r3;\n"
                "ret;\n}\n";

/* The instructions that may not move across each other, in text order. */
static const char order_text[] = "ld ld ld frobnicate frobnicate ld ld st quuxify st ret";

static const char *effects_in_order(Arena *arena, const Body *body)
{
    const char *text = "";
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const char *name = inst->signature->opcode;
            if (!inst->form || !strcmp(name, "ld") || !strcmp(name, "st") || !strcmp(name, "ret"))
                text = arena_printf(arena, "%s%s%s", text, *text ? " " : "", name);
        }
    return text;
}

static void expect_verbatim(const Body *body)
{
    static const char *const wanted[] = {
        "\tfrobnicate.sync.b32 %r4, [%rd2], {%r1, %r2, 0x1F, _}, 0f3F800000, WARP_SZ+1;\n",
        "\t@!%p frobnicate.sync.b32 %r5|%p, [%rd2+8], -7, 2.50;\n",
        "\tquuxify;\n",
    };
    Buf out = {0};
    body_print(body, true, &out);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(buf_text(&out), wanted[i]))
            fail_msg("not kept: %s in\n%s", wanted[i], buf_text(&out));
    buf_free(&out);
}

static void nothing_passes_them(void **state)
{
    (void)state;
    Module *module = module_of_text(kernel_text);
    for (unsigned r = 0; r < schedule_rule_count; r++) {
        Body *body = body_in_ssa(module_find_function(module, "k"));
        Arena *arena = arena_new();
        one_schedule(body, &schedule_rules[r]);
        body_verify(body, schedule_rules[r].name);
        assert_string_equal(effects_in_order(arena, body), order_text);
        body_from_ssa(body);
        body_verify(body, "leaving SSA");
        assert_string_equal(effects_in_order(arena, body), order_text);
        expect_verbatim(body);
        arena_free(arena);
        body_free(body);
    }
    arena_free(module->arena);
}

/* One warning for each spelling, however often it occurs in the module. */
static void one_warning(void **state)
{
    (void)state;
    char *messages = NULL;
    size_t size, count = 0;
    FILE *out = open_memstream(&messages, &size);
    Arena *arena = arena_new();
    const char *text = arena_printf(arena, "%s%s", kernel_text, strchr(strstr(kernel_text, "64\n"), '.'));
    char *second = strstr(strstr(text, "entry k") + 1, "entry k");
    second[6] = 'm';
    Source *source = source_from_memory(arena, "test", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, out);
    assert_non_null(parse_module(arena, source, &diag));
    fclose(out);
    for (const char *at = messages; (at = strstr(at, "warning: unknown instruction")); at++)
        count++;
    assert_int_equal(count, 2);
    assert_int_equal(diag.warnings, 2);
    free(messages);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_passes_them), cmocka_unit_test(one_warning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
