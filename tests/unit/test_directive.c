/* Directives in the source: their recognition, their content, and the agreement of two. */
#include "parsed.h"

#include "engine/directive.h"

static Module *module;

/* The directive of a kernel with this body, between two that have their own. */
static Directive find(const char *code)
{
    Buf text = {0};
    buf_printf(&text, HEADER ".visible .entry before()\n{\n\t// ptxopt: coarsen 8\n\tret;\n}\n"
                      "// ptxopt: coarsen 16\n.visible .entry k()\n{\n\t.reg .b32 %%r;\n%s\tret;\n}\n"
                      ".visible .entry after()\n{\n\t// ptxopt: coarsen 32\n\tret;\n}\n", code);
    if (module)
        release(module);
    module = module_from(buf_text(&text));
    buf_free(&text);
    return directive_find(module->arena, module_find_function(module, "k"));
}

static void check_factors(const char *code, unsigned x, unsigned y, unsigned merged_x)
{
    const Directive directive = find(code);
    if (directive.error)
        fail_msg("%s: %s", code, directive.error);
    assert_int_equal(directive.coarsen.shape.threads[0], x);
    assert_int_equal(directive.coarsen.shape.threads[1], y);
    assert_int_equal(directive.coarsen.shape.blocks[0], merged_x);
    assert_true(directive.span.end > directive.span.begin);
}

static void check_none(const char *code)
{
    const Directive directive = find(code);
    assert_null(directive.error);
    assert_int_equal(directive.span.end, 0);
}

/* The loops of a kernel with these statements between two labels, A, which a branch leads back to, and B. */
static unsigned find_loops(const char *code, LoopDirective **loops)
{
    Buf text = {0};
    buf_printf(&text, "\t.reg .pred %%p;\nA:\n%s\t@%%p bra A;\nB:\n", code);
    find(buf_text(&text));
    buf_free(&text);
    return directive_loops(module->arena, module_find_function(module, "k"), loops);
}

static void check_loop_wrong(const char *code, const char *error)
{
    LoopDirective *loops;
    unsigned count = find_loops(code, &loops);
    assert_in_range(count, 1, 2);
    if (!loops[count - 1].error || !strstr(loops[count - 1].error, error))
        fail_msg("%s: '%s', not '%s'", code, loops[count - 1].error ? loops[count - 1].error : "", error);
}

static void loops(void **state)
{
    LoopDirective *found;
    (void)state;
    assert_int_equal(find_loops("\tmov.u32 %r, 1;\n", &found), 0);
    assert_int_equal(find_loops("\t// ptxopt: uj 4\n\tmov.u32 %r, 1;\n\t// ptxopt: uj 4\n", &found), 1);
    assert_null(found[0].error);
    assert_string_equal(found[0].jam.loop, "A");
    assert_int_equal(found[0].jam.factor, 4);
    /* The inner loop's comment is its own. */
    assert_int_equal(find_loops("\tmov.u32 %r, 1;\n\t// ptxopt: uj 2\nI:\t// ptxopt: uj 8\n\t@%p bra I;\n", &found), 2);
    assert_string_equal(found[0].jam.loop, "A");
    assert_string_equal(found[1].jam.loop, "I");
    assert_int_equal(find_loops("\tmov.u32 %r, 1;\nI:\tmov.u32 %r, 1;\n\t@%p bra I;\n\t// ptxopt: uj 8\n", &found), 1);
    assert_string_equal(found[0].jam.loop, "A");
    assert_int_equal(find_loops("\t// ptxopt: coarsen 2\n", &found), 0);
    check_none("\t// ptxopt: uj 4\n");
    check_loop_wrong("\t// ptxopt: uj\n", "expected a number");
    check_loop_wrong("\t// ptxopt: uj 1\n", "expected a number");
    check_loop_wrong("\t// ptxopt: uj 17\n", "expected a number");
    check_loop_wrong("\t// ptxopt: uj 4 5\n", "expected a number");
    check_loop_wrong("\t// ptxopt: uj 4\n\t// ptxopt: uj 2\n", "something else");
    check_loop_wrong("\t@%p bra A;\nC:\t// ptxopt: uj 4\n\tret;\nD:\n", "it is in no loop");
}

static void check_wrong(const char *code, const char *error)
{
    const Directive directive = find(code);
    if (!directive.error || !strstr(directive.error, error))
        fail_msg("%s: '%s', not '%s'", code, directive.error ? directive.error : "", error);
}

static void what_is_one(void **state)
{
    (void)state;
    check_factors("\t// ptxopt: coarsen x2,y4\n", 2, 4, 1);
    check_factors("\tmov.u32 %r, 1; // ptxopt:\tcoarsen \t3,bx2\r\n", 3, 1, 2);
    check_factors("\t/* // ptxopt: coarsen 4 */ // ptxopt: coarsen 2\n", 2, 1, 1);
    check_factors("\t/* \" */ // ptxopt: coarsen 2\n", 2, 1, 1);
    check_factors("\t// \"\n\t// ptxopt: coarsen 2\n", 2, 1, 1);
    check_factors("\t.pragma \"/*\";\n\t// ptxopt: coarsen 2\n\t.pragma \"*/\";\n", 2, 1, 1);
    check_factors("\t.pragma \"// ptxopt: coarsen 4\"; // ptxopt: coarsen 2\n", 2, 1, 1);
    check_none("");
    check_none("\t.pragma \"// ptxopt: coarsen 4\";\n");
    check_none("\t/* ptxopt: coarsen 4 */\n");
    check_none("\t/* // ptxopt: coarsen 4 */\n");
    check_none("\t//ptxopt: coarsen 4\n");
    check_none("\t// see // ptxopt: coarsen 4\n");
    assert_true(find("\t// ptxopt: coarsen auto\n").coarsen.is_auto);
    const Directive directive = find("\t// ptxopt: coarsen 2 stride 16\n");
    assert_true(directive.stride_given && directive.stride.kind == STRIDE_NUMBER && directive.stride.number == 16);
    assert_false(find("\t// ptxopt: coarsen 2\n").stride_given);
}

static void what_is_wrong(void **state)
{
    (void)state;
    check_wrong("\t// ptxopt:\n", "expected 'coarsen'");
    check_wrong("\t// ptxopt: coarsen\n", "expected a factor");
    check_wrong("\t// ptxopt: coarsen k:2\n", "expected a factor");
    check_wrong("\t// ptxopt: coarsen 2 unit\n", "instead of 'unit'");
    check_wrong("\t// ptxopt: coarsen 2 stride\n", "after 'stride'");
    check_wrong("\t// ptxopt: coarsen 2 stride unit block\n", "instead of 'block'");
}

static void when_two_agree(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "2",      "x4",     "y2",     "x2,y2", "x2,bx2", "x2,by2", "bx2", "auto", "2 stride unit", "2 stride 8",
        "2 stride 16", "2 stride block",
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        for (size_t k = 0; k < COUNT_OF(forms); k++) {
            Buf code = {0};
            buf_printf(&code, "\t// ptxopt: coarsen %s\n\t// ptxopt: coarsen  %s \n", forms[i], forms[k]);
            const Directive directive = find(buf_text(&code));
            if (!directive.error != (i == k))
                fail_msg("'%s' and '%s': %s", forms[i], forms[k], directive.error ? directive.error : "the same");
            buf_free(&code);
        }
    /* The first error is reported. */
    check_wrong("\t// ptxopt: coarsen 2\n\t// ptxopt: coarsen 4\n\t// ptxopt: coarsen 4\n", "something else");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_one),
        cmocka_unit_test(loops),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(when_two_agree),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (module)
        release(module);
    return failed;
}
