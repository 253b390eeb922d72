/* Loops that the assembler must not unroll. */
#include "tests/unit/test_registers_model.h"
#include "opt/passes.h"

/* Two loops of eight rounds, with their own pragmas. */
static const char *two_loops(Arena *arena, const char *first, const char *second)
{
    return arena_printf(
        arena, KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n"
                           ".reg .b32 %%r<9>;\n.reg .b64 %%rd<2>;\n.reg .pred %%p<3>;\n"
                           "ld.param.u64 %%rd1, [out];\nmov.u32 %%r1, 0;\nA:\n%s"
                           "ld.volatile.global.u32 %%r2, [%%rd1];\nst.volatile.global.u32 [%%rd1+4], %%r2;\n"
                           "add.u32 %%r1, %%r1, 1;\nsetp.lt.u32 %%p1, %%r1, 8;\n@%%p1 bra A;\nmov.u32 %%r3, 0;\nB:\n%s"
                           "ld.volatile.global.u32 %%r4, [%%rd1+8];\nst.volatile.global.u32 [%%rd1+12], %%r4;\n"
                           "add.u32 %%r3, %%r3, 1;\nsetp.lt.u32 %%p2, %%r3, 8;\n@%%p2 bra B;\nret;\n}\n",
        first, second);
}

/* Bytes that each loop spills under a cap, without the pragma and with it. */
static unsigned costs[2], costs_with[2];

static bool loops_measure(void *context, const FunctionForm *form, Figures *out)
{
    ModelJudge *judge = context;
    unsigned loop = 0;
    judge->calls++;
    *out = (Figures){.known = true, .registers = form->body->tuning.maxnreg ? 24 : 30, .instructions = 100};
    for (size_t b = 0; b < form->body->blocks.count; b++) {
        const Block *block = form->body->blocks.data[b];
        bool is_header = block->last && block->last->target_count && block->last->targets[0] == block;
        if (is_header && form->body->tuning.maxnreg)
            out->spill_stores += block->pragmas.count ? costs_with[loop] : costs[loop];
        loop += is_header;
    }
    assert_int_equal(loop, 2);
    return true;
}

static void loops_case(Case *test, const char *text, unsigned first, unsigned second)
{
    static const PassId off[] = {PASS_SCHEDULE, PASS_REMATERIALIZE, PASS_RECOMPUTE, PASS_SINK,
                                 PASS_HOIST,    PASS_OFFSETS,       PASS_SPILLING};
    case_start(test, text, HONEST);
    for (size_t i = 0; i < COUNT_OF(off); i++)
        test->passes.enabled[off[i]] = false;
    test->judge.judge.measure = loops_measure;
    test->request.target = 24;
    costs[0] = first;
    costs[1] = second;
    case_run(test);
}

/* The loops with the pragma, as bits. */
static unsigned loops_kept(const Case *test)
{
    unsigned loop = 0, kept = 0;
    for (size_t b = 0; b < test->body->blocks.count; b++) {
        const Block *block = test->body->blocks.data[b];
        if (block->last && block->last->target_count && block->last->targets[0] == block)
            kept |= (unsigned)(block->pragmas.count > 0) << loop++;
    }
    return kept;
}

static void both_get_the_pragma(void **state)
{
    (void)state;
    Case test;
    loops_case(&test, two_loops(text_arena, "", ""), 40, 40);
    assert_int_equal(loops_kept(&test), 3);
    assert_int_equal(figures_spills(&test.result.after), 0);
    assert_string_equal(step_text(&test, 1), "2 loops not unrolled");
    case_end(&test);
}

/* The second loop is better unrolled. */
static void one_alone_is_better(void **state)
{
    (void)state;
    Case test;
    costs_with[1] = 8;
    loops_case(&test, two_loops(text_arena, "", ""), 40, 4);
    assert_int_equal(loops_kept(&test), 1);
    assert_int_equal(figures_spills(&test.result.after), 4);
    costs_with[1] = 0;
    case_end(&test);
}

static void what_does_not_help_is_dropped(void **state)
{
    (void)state;
    Case test;
    loops_case(&test, two_loops(text_arena, "", ""), 0, 0);
    assert_int_equal(loops_kept(&test), 0);
    case_end(&test);
}

static void a_loop_keeps_its_own_pragma(void **state)
{
    (void)state;
    Case test;
    loops_case(&test, two_loops(text_arena, ".pragma \"nounroll\";\n", ""), 40, 40);
    assert_int_equal(loops_kept(&test), 3);
    assert_string_equal(step_text(&test, 1), "1 loop not unrolled");
    case_end(&test);
    loops_case(&test, two_loops(text_arena, ".pragma \"nounroll\";\n", ".pragma \"nounroll\";\n"), 40, 40);
    for (unsigned i = 0; i < test.result.step_count; i++)
        assert_null(strstr(step_text(&test, i), "unrolled"));
    case_end(&test);
}

static void the_pass_can_be_left_out(void **state)
{
    (void)state;
    Case test;
    case_start(&test, two_loops(text_arena, "", ""), HONEST);
    test.passes.enabled[PASS_NOUNROLL] = false;
    test.judge.judge.measure = loops_measure;
    test.request.target = 24;
    costs[0] = costs[1] = 40;
    case_run(&test);
    assert_int_equal(loops_kept(&test), 0);
    case_end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_get_the_pragma),
        cmocka_unit_test(one_alone_is_better),
        cmocka_unit_test(what_does_not_help_is_dropped),
        cmocka_unit_test(a_loop_keeps_its_own_pragma),
        cmocka_unit_test(the_pass_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
