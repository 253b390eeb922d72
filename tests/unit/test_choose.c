/* -coarsen auto with figures chosen by the test, and outputs that are written together or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/choose/choose.h"
#include "engine/output.h"
#include "engine/report/refusal_words.h"
#include "engine/report/report.h"
#include "engine/report/trial_words.h"
#include "parser/parser.h"
#include "opt/passes.h"

static const char scale_text[] = ".version 8.0\n"
                                 ".target sm_90\n"
                                 ".address_size 64\n"
                                 ".visible .entry scale(.param .u64 data)\n"
                                 "%s"
                                 "{\n"
                                 "\t.reg .pred %%p<2>;\n"
                                 "\t.reg .b32 %%r<3>;\n"
                                 "\t.reg .b64 %%rd<4>;\n"
                                 "\tld.param.u64 %%rd1, [data];\n"
                                 "\tmov.u32 %%r1, %%tid.x;\n"
                                 "\tmul.wide.u32 %%rd2, %%r1, 4;\n"
                                 "\tadd.s64 %%rd3, %%rd1, %%rd2;\n"
                                 "\t%s;\n"
                                 "\tst.global.u32 [%%rd3], %%r2;\n"
                                 "\tret;\n"
                                 "}\n";

/* The figures that the assembler would report: 0 for the original kernel, 1 for every other form. */
typedef struct Script {
    unsigned registers[2], spills[2];
    bool broken; /* the original kernel does not assemble */
    unsigned assembled, most; /* other forms until now; after these the time is over, 0: it never is */
} Script;

static bool script_measure(void *context, const FunctionForm *measured, Figures *out)
{
    Script *script = context;
    unsigned form = measured->body != NULL;
    script->assembled += form;
    *out = (Figures){.message = "the script says so"};
    if (script->broken)
        return false;
    *out = (Figures){.known = true, .registers = script->registers[form], .spill_stores = script->spills[form]};
    return true;
}

static bool script_is_over(void *context)
{
    const Script *script = context;
    return script->most && script->assembled >= script->most;
}

typedef struct Setup {
    Arena *arena;
    Module *module;
    Script script;
    Judge judge;
    PipelineOptions options;
    KernelReport report;
} Setup;

static Setup *setup_new(const char *tuning, const char *instruction, unsigned block_x, const Script *script)
{
    Arena *arena = arena_new();
    Setup *setup = ARENA_NEW(arena, Setup);
    setup->arena = arena;
    Arena *text_arena = arena_new();
    const char *text = arena_printf(text_arena, scale_text, tuning, instruction);
    Source *source = source_from_memory(arena, "scale.ptx", text, strlen(text));
    arena_free(text_arena);
    Diag diag;
    diag_init(&diag, source, stderr);
    setup->module = parse_module(arena, source, &diag);
    assert_non_null(setup->module);
    setup->script = *script;
    setup->judge = (Judge){.context = &setup->script, .measure = script_measure, .is_over = script_is_over};
    setup->options =
        (PipelineOptions){.sm = sm_limits_for("sm_90"), .judge = &setup->judge, .level = 2};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        setup->options.passes.enabled[i] = true;
    KernelRequest *request = &setup->report.request;
    request->block[0] = block_x;
    request->block[1] = request->block[2] = block_x ? 1 : 0;
    setup->report.is_auto = true;
    setup->report.result.kernel = module_find_function(setup->module, "scale");
    return setup;
}

/* The kernel and the module are unchanged. */
static void setup_free(Setup *setup)
{
    assert_null(setup->report.result.kernel->body);
    assert_null(module_find_variable(setup->module, "__ptxopt_launch_scale"));
    arena_free(setup->arena);
}

static const char plain[] = "ld.global.u32 %r2, [%rd3]";

static void choose(Setup *setup, const ChoiceContext *context)
{
    const KernelRequest before = setup->report.request;
    setup->report.choice = choose_factor(setup->arena, setup->report.result.kernel, &setup->report.request,
                                         &setup->options, context);
    assert_memory_equal(&setup->report.request, &before, sizeof before);
    setup->report.request = setup->report.choice.request;
}

/* Work that coarsening shares: a loop that is the same for all threads. */
static const char shared_work[] = "mov.u32 %r2, 0;\n"
                                  "again:\n"
                                  "mad.lo.u32 %r2, %r2, 5, 7;\n"
                                  "setp.lt.u32 %p1, %r2, 100000;\n"
                                  "@%p1 bra again;\n"
                                  "add.u32 %r2, %r2, %r1";

static const ChoiceContext *context(void)
{
    static ChoiceContext context;
    context = (ChoiceContext){.device = *device_for(90), .risk = RISK_HIGH};
    return &context;
}

static void expect_words(const FactorChoice *choice, const char *expected)
{
    Buf words = {0};
    factor_choice_print(choice, &words);
    assert_non_null(strstr(buf_text(&words), expected));
    buf_free(&words);
}

/* An invariant: the chosen form, if any, is the fastest of those that were weighed, and by enough. */
static void check_choice(const Setup *setup)
{
    const KernelReport *report = &setup->report;
    const CoarsenTrial *chosen = NULL;
    for (unsigned i = 0; i < report->choice.trial_count; i++) {
        const CoarsenTrial *trial = &report->choice.trials[i];
        assert_int_not_equal(trial->verdict.state, TRIAL_MADE);
        assert_int_equal(trial->sound, trial->verdict.state > TRIAL_UNMET);
        assert_true(!trial->is_compared || trial->verdict.state >= TRIAL_FORBIDDEN);
        if (!trial->chosen)
            continue;
        assert_null(chosen);
        chosen = trial;
    }
    assert_int_equal(report->request.coarsen, chosen != NULL);
    assert_int_equal(report->choice.outcome == FACTOR_CHOSEN, chosen != NULL);
    if (!chosen)
        return;
    assert_true(chosen->speedup >= 1.03);
    assert_memory_equal(&report->request.coarsening.shape, &chosen->shape, sizeof chosen->shape);
    assert_ptr_equal(report->choice.best, chosen);
    assert_int_equal(chosen->verdict.state, TRIAL_COMPARED);
    assert_true(chosen->verdict.cost.speedup == chosen->speedup);
    expect_words(&report->choice, "predicted");
}

static void test_shared_work(void **state)
{
    (void)state;
    Setup *setup = setup_new("", shared_work, 256, &(Script){.registers = {16, 20}});
    choose(setup, context());
    check_choice(setup);
    assert_true(setup->report.request.coarsen);
    assert_false(is_refusal(&setup->report.request.refused));
    setup_free(setup);
}

/* The same loop in blocks of one warp, each of which writes its own part. */
static const char shared_by_blocks[] = "mov.u32 %r1, %ctaid.x;\n"
                                       "mul.wide.u32 %rd2, %r1, 128;\n"
                                       "add.s64 %rd3, %rd3, %rd2;\n"
                                       "mov.u32 %r2, 0;\n"
                                       "again:\n"
                                       "mad.lo.u32 %r2, %r2, 5, 7;\n"
                                       "setp.lt.u32 %p1, %r2, 100000;\n"
                                       "@%p1 bra again;\n"
                                       "add.u32 %r2, %r2, %r1";

static void test_merged_blocks(void **state)
{
    (void)state;
    Setup *setup = setup_new("", shared_by_blocks, 32, &(Script){.registers = {16, 20}});
    setup->report.request.coarsening.shrinks_grid = true;
    choose(setup, context());
    check_choice(setup);
    assert_true(setup->report.request.coarsen);
    assert_true(shape_is_of_blocks(&setup->report.request.coarsening.shape));
    expect_words(&setup->report.choice, "blocks of the grid");
    setup_free(setup);
    /* Not of a grid that is too small, and not if only threads may be merged. */
    LaunchArgument argument = {.kind = ARGUMENT_BUFFER, .name = "data", .type = TYPE_U32, .count = 32};
    const Launch launch = {.kernel = "scale", .grid = {1, 1, 1}, .block = {32, 1, 1}, .arguments = &argument,
                           .argument_count = 1};
    const Launch *const launches[] = {&launch};
    for (unsigned i = 0; i < 2; i++) {
        ChoiceContext only_threads = *context();
        only_threads.threads_only = i == 0;
        only_threads.launches = launches;
        only_threads.launch_count = i;
        setup = setup_new("", shared_by_blocks, 32, &(Script){.registers = {16, 20}});
        choose(setup, &only_threads);
        check_choice(setup);
        assert_true(setup->report.choice.trial_count > 0);
        for (unsigned k = 0; k < setup->report.choice.trial_count; k++)
            assert_false(merges_any(setup->report.choice.trials[k].shape.blocks));
        setup_free(setup);
    }
}

/* Blocks are merged besides threads, unless only one of the two was requested; the choice becomes the request. */
static void test_products(void **state)
{
    (void)state;
    for (unsigned given = 0; given < 2; given++) {
        ChoiceContext one_level = *context();
        one_level.threads_only = given;
        Setup *setup = setup_new("", shared_by_blocks, 128, &(Script){.registers = {16, 20}});
        setup->report.request.coarsening.shrinks_grid = true;
        choose(setup, &one_level);
        check_choice(setup);
        unsigned products = 0;
        for (unsigned i = 0; i < setup->report.choice.trial_count; i++) {
            const Shape *shape = &setup->report.choice.trials[i].shape;
            unsigned total = shape->threads[0] * shape->blocks[0];
            assert_int_equal(shape_replicas(shape), total);
            assert_true(total >= 2 && total <= 16);
            products += shape->threads[0] > 1 && shape->blocks[0] > 1;
        }
        assert_int_equal(products > 0, !given);
        setup_free(setup);
    }
}

/* The same with blocks in two dimensions, which give more products than are compared. */
static const char shared_by_planes[] = "mov.u32 %r1, %ctaid.x;\n"
                                       "mul.wide.u32 %rd2, %r1, 512;\n"
                                       "add.s64 %rd3, %rd3, %rd2;\n"
                                       "mov.u32 %r1, %ctaid.y;\n"
                                       "mul.wide.u32 %rd2, %r1, 65536;\n"
                                       "add.s64 %rd3, %rd3, %rd2;\n"
                                       "mov.u32 %r2, 0;\n"
                                       "again:\n"
                                       "mad.lo.u32 %r2, %r2, 5, 7;\n"
                                       "setp.lt.u32 %p1, %r2, 100000;\n"
                                       "@%p1 bra again;\n"
                                       "add.u32 %r2, %r2, %r1";

/* A product is not compared because the form that it is made of was. */
static void test_outranked_products(void **state)
{
    (void)state;
    Setup *setup = setup_new("", shared_by_planes, 128, &(Script){.registers = {16, 20}});
    setup->report.request.coarsening.shrinks_grid = true;
    choose(setup, context());
    check_choice(setup);
    unsigned outranked = 0;
    for (unsigned i = 0; i < setup->report.choice.trial_count; i++) {
        const CoarsenTrial *trial = &setup->report.choice.trials[i];
        const bool is_product = merges_any(trial->shape.threads) && merges_any(trial->shape.blocks);
        outranked += is_product && trial->verdict.state == TRIAL_OUTRANKED;
    }
    assert_true(outranked > 0);
    setup_free(setup);
}

/* If there is time for one form alone, it is not the smallest but the one that estimates rank first. */
static void test_first(void **state)
{
    (void)state;
    ChoiceContext blocks = *context();
    blocks.blocks_only = true;
    Setup *setup = setup_new("", shared_by_planes, 128, &(Script){.registers = {16, 20}, .most = 1});
    setup->report.request.coarsening.shrinks_grid = true;
    choose(setup, &blocks);
    check_choice(setup);
    const FactorChoice *choice = &setup->report.choice;
    assert_int_equal(choice->outcome, FACTOR_CHOSEN);
    assert_true(shape_replicas(&choice->best->shape) > 2);
    for (unsigned i = 0; i < choice->trial_count; i++)
        assert_true(choice->trials[i].speedup <= 1.05 * choice->best->speedup);
    setup_free(setup);
}

static void test_copy(void **state)
{
    (void)state;
    /* At full bandwidth either way, and no fewer accesses. */
    Setup *setup = setup_new("", plain, 256, &(Script){.registers = {16, 20}});
    setup->options.passes.enabled[PASS_VECTORIZE] = false;
    setup->report.request.coarsening.stride = (Stride){.kind = STRIDE_UNIT};
    ChoiceContext only_unit = *context();
    only_unit.stride_given = true;
    choose(setup, &only_unit);
    check_choice(setup);
    assert_false(setup->report.request.coarsen);
    assert_int_equal(setup->report.choice.outcome, FACTOR_LOSES);
    expect_words(&setup->report.choice, "not coarsened: the best form");
    for (unsigned i = 0; i < setup->report.choice.trial_count; i++)
        assert_int_equal(setup->report.choice.trials[i].stride.kind, STRIDE_UNIT);
    setup_free(setup);
}

static void test_spills(void **state)
{
    (void)state;
    Script script = {.registers = {16, 20}, .spills = {0, 8}};
    Setup *setup = setup_new("", shared_work, 256, &script);
    choose(setup, context());
    check_choice(setup);
    assert_false(setup->report.request.coarsen);
    assert_false(is_refusal(&setup->report.request.refused));
    assert_int_equal(setup->report.choice.outcome, FACTOR_FORBIDDEN); /* large factors, as they are estimated */
    const TrialVerdict *verdict = &setup->report.choice.trials[0].verdict;
    Buf words = {0};
    assert_int_equal(verdict->state, TRIAL_SPILLS);
    assert_int_equal(verdict->spills, 8);
    trial_verdict_print(verdict, &words);
    assert_non_null(strstr(buf_text(&words), "8 bytes spilled instead of 0"));
    buf_free(&words);
    setup_free(setup);
}

static void test_lost_warps(void **state)
{
    (void)state;
    /* With 255 registers, two blocks of 128 threads are on an SM instead of 16. */
    Setup *setup = setup_new("", plain, 128, &(Script){.registers = {32, 255}});
    choose(setup, context());
    check_choice(setup);
    assert_false(setup->report.request.coarsen);
    setup_free(setup);
}

static void test_small_blocks(void **state)
{
    (void)state;
    Setup *setup = setup_new("", plain, 32, &(Script){.registers = {16, 20}});
    choose(setup, context());
    check_choice(setup);
    assert_false(setup->report.request.coarsen);
    setup_free(setup);
    setup = setup_new("", plain, 7, &(Script){.registers = {16, 20}});
    choose(setup, context());
    assert_false(setup->report.request.coarsen);
    assert_int_equal(setup->report.choice.trial_count, 0);
    assert_int_equal(setup->report.choice.outcome, FACTOR_NONE_FITS);
    expect_words(&setup->report.choice, "not divisible");
    setup_free(setup);
}

static void test_block_of_module(void **state)
{
    (void)state;
    Setup *setup = setup_new(".reqntid 2\n", shared_work, 0, &(Script){.registers = {16, 20}});
    choose(setup, context());
    check_choice(setup);
    assert_int_equal(setup->report.choice.trial_count, 2); /* by 2, with two strides */
    setup_free(setup);
}

/* It takes longer than the start of a block, even of a small one. */
static const char much_shared_work[] = "mov.u32 %r2, 0;\n"
                                       "again:\n"
                                       "add.u32 %r2, %r2, 1;\n"
                                       "setp.lt.u32 %p1, %r2, 300;\n"
                                       "@%p1 bra again;\n"
                                       "add.u32 %r2, %r2, %r1";

static void test_unknown_block(void **state)
{
    (void)state;
    Setup *setup = setup_new("", much_shared_work, 0, &(Script){.registers = {16, 20}});
    choose(setup, context());
    check_choice(setup);
    assert_true(setup->report.request.coarsen);
    setup_free(setup);
}

/* Steps that a block's threads have in common, so coarsening shares them: enough to gain a tenth. */
#define STEP "mad.lo.u32 %r2, %r2, %r2, 7;\nxor.b32 %r2, %r2, 99;\n"
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP STEP
static const char some_work[] = "mov.u32 %r2, %ctaid.x;\n" STEPS STEPS STEPS "add.u32 %r2, %r2, %r1";

/* True if a form is taken at a risk if the speedup to rely on at that risk is no loss, and the words say so. */
static void test_risk(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (Risk risk = RISK_NORMAL; risk <= RISK_HIGH; risk++)
        for (unsigned work = 0; work < 2; work++) {
            Setup *setup = setup_new("", work ? shared_work : some_work, 256, &(Script){.registers = {16, 20}});
            ChoiceContext risky = *context();
            risky.risk = risk;
            risky.launch_decides = true; /* so that no small grid forbids a form before */
            choose(setup, &risky);
            check_choice(setup);
            const FactorChoice *choice = &setup->report.choice;
            assert_int_equal(choice->risk, risk);
            if (choice->outcome == FACTOR_CHOSEN)
                assert_true(sure_speedup(&choice->best->verdict.cost, risk) >= 1);
            else if (choice->best && promise_is_unsure(&choice->promise, choice->plain_speedup)) {
                expect_words(choice, risk == RISK_LOW ? "one such change in twenty" : "one such change in five");
                refused++;
            }
            assert_true(risk != RISK_HIGH || !choice->best || !promise_is_unsure(&choice->promise, 1));
            setup_free(setup);
        }
    assert_true(refused > 0);
}

/* Many such steps, and each block of the grid has data of its own. */
#define MORE_STEPS STEPS STEPS STEPS STEPS STEPS STEPS
#define MANY_STEPS MORE_STEPS MORE_STEPS MORE_STEPS
static const char grid_work[] = "mov.u32 %r2, %ctaid.x;\n"
                                "mad.wide.u32 %rd3, %r2, 4096, %rd3;\n" MANY_STEPS "add.u32 %r2, %r2, %r1";

static Setup *setup_several(unsigned block_x, bool keeps_several)
{
    Setup *setup = setup_new("", grid_work, block_x, &(Script){.registers = {16, 20}});
    ChoiceContext deciding = *context();
    deciding.launch_decides = true;
    deciding.keeps_several = keeps_several;
    setup->report.request.coarsening.shrinks_grid = true;
    choose(setup, &deciding);
    return setup;
}

/* The forms that are kept gain enough, and pay in grids of a certain size; those that merge blocks do not in few of
 * them. */
static void check_preferred(const FactorChoice *choice, unsigned block)
{
    for (unsigned i = 0; i < choice->preferred_count; i++) {
        const FormPays *pays = &choice->preferred[i].pays;
        const CoarsenRequest *form = &choice->preferred[i].request.coarsening;
        assert_true(choice->preferred[i].speedup >= 1.03);
        assert_in_range(pays->from, merges_any(form->shape.blocks) ? block : 0, 64 * block);
        assert_int_equal(pays->factors, form->shape.threads[0] > 1 ? form->shape.threads[0] : 0);
        assert_int_equal(pays->most_block, 0);
    }
}

/* If each launch decides, a form with a smaller grid comes first, and one for all other grids last. */
static void test_several(void **state)
{
    (void)state;
    enum { BLOCK = 256, USUAL = 256 };
    Setup *setup = setup_several(BLOCK, true);
    const FactorChoice *choice = &setup->report.choice;
    assert_int_equal(choice->preferred_count, 2);
    const PreferredForm *first = &choice->preferred[0], *last = &choice->preferred[1];
    check_preferred(choice, BLOCK);
    assert_true(first->request.coarsening.shrinks_grid && merges_any(first->request.coarsening.shape.blocks));
    assert_false(merges_any(last->request.coarsening.shape.blocks));
    assert_int_equal(first->pays.least_block, 0);
    setup_free(setup);
    setup = setup_several(0, true); /* several sizes are assumed */
    check_preferred(&setup->report.choice, USUAL);
    setup_free(setup);
    setup = setup_several(BLOCK, false);
    assert_int_equal(setup->report.choice.preferred_count, 0);
    setup_free(setup);
}

static void test_launch(void **state)
{
    (void)state;
    /* One block on a device for hundreds: fewer threads only make it longer. */
    LaunchArgument argument = {.kind = ARGUMENT_BUFFER, .name = "data", .type = TYPE_U32, .count = 256};
    const Launch launch = {.kernel = "scale", .grid = {1, 1, 1}, .block = {256, 1, 1}, .arguments = &argument,
                           .argument_count = 1};
    const Launch *const launches[] = {&launch};
    ChoiceContext counted = *context();
    counted.launches = launches;
    counted.launch_count = 1;
    Setup *setup = setup_new("", plain, 0, &(Script){.registers = {16, 20}});
    choose(setup, &counted);
    check_choice(setup);
    assert_false(setup->report.request.coarsen);
    assert_true(setup->report.choice.counted.is_counted);
    expect_words(&setup->report.choice, "counted");
    setup_free(setup);
}

static void test_nothing_to_weigh(void **state)
{
    (void)state;
    Script script = {.registers = {16, 20}};
    Setup *setup = setup_new("", plain, 256, &script);
    setup->options.judge = NULL;
    choose(setup, context());
    assert_int_equal(setup->report.choice.outcome, FACTOR_IMPOSSIBLE);
    assert_int_equal(setup->report.request.refused.reason, REFUSAL_NO_FIGURES);
    setup_free(setup);

    setup = setup_new("", plain, 256, &(Script){.broken = true});
    choose(setup, context());
    assert_int_equal(setup->report.request.refused.reason, REFUSAL_INPUT_BROKEN);
    expect_words(&setup->report.choice, "the input does not assemble: the script says so");
    setup_free(setup);

    setup = setup_new("", "mbarrier.inval.b64 [%rd1]", 256, &script);
    choose(setup, context());
    assert_false(setup->report.request.coarsen);
    assert_int_equal(setup->report.request.refused.reason, REFUSAL_MBARRIER);
    assert_non_null(strstr(refusal_text(setup->arena, &setup->report.request.refused), "mbarrier.inval"));
    assert_true(setup->report.request.refused.has_span);
    setup_free(setup);
}

static void test_outputs(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/ptxopt-outputs.XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *old = arena_printf(arena, "%s/old", folder), *fresh = arena_printf(arena, "%s/fresh", folder);
    assert_null(output_check(arena, fresh));
    assert_null(output_check(arena, "-"));
    assert_non_null(output_check(arena, folder));
    assert_non_null(output_check(arena, arena_printf(arena, "%s/nosuch/file", folder)));

    const Output first = {old, "one", 3};
    assert_null(outputs_write(arena, &first, 1));
    const Output all[] = {{old, "two", 3}, {fresh, "two", 3}, {folder, "two", 3}};
    const char *error = outputs_write(arena, all, 3);
    assert_non_null(error);
    assert_non_null(strstr(error, folder));
    assert_int_equal(access(fresh, F_OK), -1);
    assert_int_equal(access(old, F_OK), 0); /* it existed before: it is kept, unchanged */
    unlink(old);
    assert_int_equal(rmdir(folder), 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_work), cmocka_unit_test(test_merged_blocks), cmocka_unit_test(test_first),
        cmocka_unit_test(test_copy), cmocka_unit_test(test_products), cmocka_unit_test(test_outranked_products),
        cmocka_unit_test(test_spills), cmocka_unit_test(test_lost_warps), cmocka_unit_test(test_small_blocks),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_launch), cmocka_unit_test(test_risk), cmocka_unit_test(test_block_of_module),
        cmocka_unit_test(test_unknown_block), cmocka_unit_test(test_nothing_to_weigh), cmocka_unit_test(test_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
