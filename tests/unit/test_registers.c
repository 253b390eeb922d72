/* The register search, judged by models and, where one is installed, by a real assembler. */
#include "tests/unit/test_registers_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/judge/judge.h"
#include "emulator/emulator.h"
#include "opt/registers/registers.h"
#include "opt/passes.h"

static void a_target_is_reached(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    case_run(&test);
    assert_true(test.result.before.registers > 40);
    assert_true(figures_spills(&test.result.capped) > 0);
    assert_true(test.result.reached && test.result.changed);
    assert_true(test.result.after.registers <= 32);
    assert_int_equal(figures_spills(&test.result.after), 0);
    assert_int_equal(test.body->tuning.maxnreg, 32);
    assert_true(test.result.step_count > 1);
    case_end(&test);
}

static void what_fits_stays_as_it_is(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 10), HONEST);
    Body *body = test.body;
    case_run(&test);
    assert_true(test.result.reached);
    assert_false(test.result.changed);
    assert_ptr_equal(body, test.body);
    assert_int_equal(test.body->tuning.maxnreg, 0);
    assert_int_equal(test.judge.calls, 1);
    case_end(&test);
}

static void without_bounds_no_directive_is_added(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    test.passes.enabled[PASS_BOUNDS] = false;
    test.block_threads = 64;
    case_run(&test);
    assert_int_equal(test.body->tuning.maxnreg, 0);
    assert_int_equal(test.body->tuning.maxntid_count, 0);
    assert_true(test.result.after.registers < test.result.before.registers);
    case_end(&test);
}

static void low_targets_are_capped_at_24(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 60), HONEST);
    test.request.target = 8;
    test.passes.enabled[PASS_REMATERIALIZE] = test.passes.enabled[PASS_SINK] = test.passes.enabled[PASS_SCHEDULE] =
        test.passes.enabled[PASS_RECOMPUTE] = false;
    case_run(&test);
    assert_int_equal(test.body->tuning.maxnreg, 24);
    assert_false(test.result.reached);
    assert_non_null(strstr(explanation_text(&test), "below 24"));
    case_end(&test);
}

static void passes_can_be_left_out(void **state)
{
    (void)state;
    static const char *const words[] = {"schedule", "rematerialize", "sink", ".maxn", "recompute"};
    for (unsigned off = 0; off < COUNT_OF(words); off++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.passes.enabled[PASS_SCHEDULE] = off != 0;
        test.passes.enabled[PASS_REMATERIALIZE] = off != 1;
        test.passes.enabled[PASS_SINK] = off != 2;
        test.passes.enabled[PASS_BOUNDS] = off != 3;
        test.passes.enabled[PASS_RECOMPUTE] = off != 4;
        case_run(&test);
        for (unsigned i = 0; i < test.result.step_count; i++)
            assert_null(strstr(step_text(&test, i), words[off]));
        case_end(&test);
    }
}

static void an_ssa_body_leaves_ssa_form(void **state)
{
    (void)state;
    for (int count = 5; count <= 40; count += 35) {
        Case test;
        case_start(&test, values_read_late(text_arena, count), HONEST);
        body_to_ssa(test.body);
        case_run(&test);
        case_end(&test);
    }
}

static bool is_worse(const Figures *a, const Figures *b, unsigned target)
{
    unsigned x = a->registers > target ? a->registers - target : 0,
             y = b->registers > target ? b->registers - target : 0;
    if (x != y)
        return x > y;
    if (figures_spills(a) != figures_spills(b))
        return figures_spills(a) > figures_spills(b);
    return a->instructions > b->instructions;
}

static void the_result_is_never_worse(void **state)
{
    (void)state;
    for (int count = 8; count < 40; count += 3) {
        Case test;
        case_start(&test, values_read_late(text_arena, count), ERRATIC);
        test.request.target = 24;
        case_run(&test);
        if (test.result.changed)
            assert_false(is_worse(&test.result.after, &test.result.capped, 24));
        /* The reported figures are those measured on the body. */
        Figures figures;
        const FunctionForm form = {.function = test.kernel, .body = test.body};
        assert_true(test.judge.judge.measure(&test.judge, &form, &figures));
        case_end(&test);
    }
}

static void the_search_is_deterministic(void **state)
{
    (void)state;
    Buf texts[2] = {{0}, {0}};
    for (unsigned i = 0; i < 2; i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 50), HONEST);
        test.request.target = 24;
        case_run(&test);
        body_dump(test.body, &texts[i]);
        case_end(&test);
    }
    assert_string_equal(buf_text(&texts[0]), buf_text(&texts[1]));
    buf_free(&texts[0]);
    buf_free(&texts[1]);
}

/* However many forms the judge assembles at once, the same are considered, in the same order. */
static void width_changes_nothing(void **state)
{
    (void)state;
    static const unsigned widths[] = {0, 1, 2, 3, 8, 64};
    for (Temper temper = HONEST; temper <= ERRATIC; temper++) {
        Buf first = {0};
        unsigned calls = 0;
        for (size_t i = 0; i < COUNT_OF(widths); i++) {
            Case test;
            Buf text = {0};
            case_start(&test, values_read_late(text_arena, 40), temper);
            test.request.target = 24;
            test.judge.judge.prepare = model_prepare;
            test.judge.judge.width = widths[i];
            case_run(&test);
            body_dump(test.body, &text);
            if (i == 0) {
                buf_puts(&first, buf_text(&text));
                calls = test.judge.calls;
            }
            assert_string_equal(buf_text(&text), buf_text(&first));
            assert_int_equal(test.judge.calls, calls);
            assert_int_equal(test.judge.prepared > 0, widths[i] > 1);
            buf_free(&text);
            case_end(&test);
        }
        buf_free(&first);
    }
}

static void the_best_until_the_end_of_time_is_taken(void **state)
{
    (void)state;
    uint64_t spills = UINT64_MAX;
    for (unsigned ends_after = 2; ends_after < 40; ends_after += 3) {
        Case test;
        case_start(&test, values_read_late(text_arena, 60), HONEST);
        test.request.target = 24;
        test.judge.ends_after = ends_after;
        case_run(&test);
        assert_true(test.judge.calls <= ends_after + 1);
        assert_true(figures_spills(&test.result.after) <= spills);
        spills = figures_spills(&test.result.after);
        case_end(&test);
    }
}

static void serialized_forms_are_not_kept(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    test.request.target = 24;
    test.judge.serializes = true;
    case_run(&test);
    assert_int_equal(figures_spills(&test.result.after), figures_spills(&test.result.capped));
    assert_false(test.result.after.serialized);
    case_end(&test);
}

static void effort_is_a_limit(void **state)
{
    (void)state;
    for (unsigned effort = 0; effort < 30; effort += 3) {
        Case test;
        case_start(&test, values_read_late(text_arena, 60), ERRATIC);
        test.request.effort = effort;
        test.request.target = 16;
        case_run(&test);
        case_end(&test);
    }
}

/* Assemblies of longer forms take longer, so there are fewer of them. */
static void long_forms_count_for_more(void **state)
{
    (void)state;
    unsigned before = 61;
    for (unsigned added = 0; added <= 4000; added += 1000) {
        Case test;
        case_start(&test, values_read_late(text_arena, 60), ERRATIC);
        test.request.target = 16;
        test.judge.added = added;
        case_run(&test);
        assert_true(test.judge.calls < before);
        before = test.judge.calls;
        case_end(&test);
    }
    assert_true(before < 20);
}

/* Forms that the judge remembers take no time, and the search ends nevertheless. */
static void repeated_forms_do_not_count(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 60), ERRATIC);
    test.request = (RegistersRequest){.target = 16, .spill = true, .effort = 10};
    test.judge.repeats = true;
    case_run(&test);
    assert_true(test.judge.calls > 20);
    case_end(&test);
}

static unsigned predictions; /* requested */

static Prediction counted_predict(void *context, const FunctionForm *form, const Figures *figures,
                                  const LaunchChange *change)
{
    (void)context;
    (void)form;
    (void)change;
    predictions++;
    return (Prediction){.known = true, .is_new = true, .cycles = 100, .instructions = (double)figures->instructions,
                        .warps = 256 - figures->registers};
}

/* The input's prediction is an assembly too, and there is room for it at the end; others need none. */
static void predictions_count(void **state)
{
    (void)state;
    for (unsigned effort = 8; effort <= 60; effort += 4) {
        Case test;
        case_start(&test, values_read_late(text_arena, 60), ERRATIC);
        test.request.target = 16;
        test.request.effort = effort;
        test.block_threads = 128;
        test.judge.judge.predict = counted_predict;
        predictions = 0;
        case_run(&test);
        assert_true(predictions > 0);
        assert_true(test.judge.calls <= effort);
        case_end(&test);
    }
}

static void a_judge_that_fails_changes_nothing(void **state)
{
    (void)state;
    for (Temper temper = REFUSING; temper <= REFUSING_CAPS; temper++)
        for (unsigned is_auto = 0; is_auto < 2; is_auto++) {
            Case test;
            case_start(&test, values_read_late(text_arena, 40), temper);
            test.request.goal = is_auto ? GOAL_AUTO : GOAL_COUNT;
            case_run(&test);
            assert_false(test.result.changed);
            assert_int_equal(test.body->tuning.maxnreg, 0);
            assert_false(test.result.reached);
            case_end(&test);
        }
}

static void auto_takes_the_next_boundary(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    test.request.goal = GOAL_AUTO;
    test.block_threads = 256;
    case_run(&test);
    unsigned before = test.result.before.registers;
    assert_true(test.result.changed && test.result.reached);
    assert_true(test.result.target < before);
    Occupancy was = sm_occupancy(sm_limits_for("sm_90"), 256, before, 0);
    Occupancy now = sm_occupancy(sm_limits_for("sm_90"), 256, test.result.after.registers, 0);
    assert_true(now.blocks > was.blocks);
    assert_int_equal(figures_spills(&test.result.after), 0);
    assert_non_null(strstr(explanation_text(&test), "256 threads"));
    case_end(&test);
}

/* Predictions by the number of instructions in the form; more warps if 'gains_warps'. The first is the input's. */
static bool gains_warps;
static double cycles_each;

static Prediction model_predict(void *context, const FunctionForm *form, const Figures *figures,
                                const LaunchChange *change)
{
    (void)context;
    (void)change;
    registers_before = registers_before ? registers_before : figures->registers;
    bool is_changed = form->body->tuning.maxnreg != 0 || figures->registers < registers_before;
    double instructions = (double)figures->instructions * (is_changed ? 1.5 : 1);
    return (Prediction){
        .known = true,
        .cycles = is_changed ? instructions * cycles_each : instructions,
        .instructions = instructions,
        .warps = is_changed && gains_warps ? 32 : 16,
    };
}

static void instructions_without_warps_are_not_worth_it(void **state)
{
    (void)state;
    cycles_each = 0.5;
    for (unsigned is_auto = 0; is_auto < 2; is_auto++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.request.goal = is_auto ? GOAL_AUTO : GOAL_COUNT;
        test.block_threads = 256;
        test.judge.judge.predict = model_predict;
        gains_warps = false;
        case_run(&test);
        if (!strstr(explanation_text(&test), "times the instructions"))
            fail_msg("%s", explanation_text(&test));
        assert_true(figures_spills(&test.result.after) <= figures_spills(&test.result.before));
        case_end(&test);
    }
}

static void time_decides(void **state)
{
    (void)state;
    static const double factors[] = {0.5, 2};
    for (unsigned i = 0; i < 2; i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.request.goal = GOAL_AUTO;
        test.block_threads = 256;
        test.judge.judge.predict = model_predict;
        gains_warps = true;
        cycles_each = factors[i];
        case_run(&test);
        assert_int_equal(test.result.changed, i == 0);
        if (i)
            assert_non_null(strstr(explanation_text(&test), "even at no cost"));
        case_end(&test);
    }
}

/* Cycles by the boundary that the form's cap is: the table's first is the input's. */
static double cycles_at[256];

static Prediction boundary_predict(void *context, const FunctionForm *form, const Figures *figures,
                                   const LaunchChange *change)
{
    (void)context;
    (void)form;
    (void)change;
    return (Prediction){.known = true,
                        .cycles = cycles_at[figures->registers] ? cycles_at[figures->registers] : 1000,
                        .instructions = 100,
                        .warps = 256 - figures->registers};
}

static void auto_takes_the_fastest_boundary(void **state)
{
    (void)state;
    static const struct {
        double at[4]; /* cycles at 40, 38 ... below: with 256 threads on sm_90 boundaries are 40 and 32 */
        unsigned target;
    } cases[] = {
        {{1000, 900, 800}, 32},  /* the lower one is faster */
        {{1000, 800, 900}, 40},  /* the higher one is */
        {{1000, 900, 900}, 40},  /* as fast, but no fewer registers than needed */
        {{1000, 1100, 900}, 32}, /* the next boundary is slower than none */
        {{1000, 1100, 1200}, 0}, /* both are */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.request.goal = GOAL_AUTO;
        test.block_threads = 256;
        test.judge.judge.predict = boundary_predict;
        for (unsigned r = 0; r < COUNT_OF(cycles_at); r++)
            cycles_at[r] = r > 40 ? cases[i].at[0] : r > 32 ? cases[i].at[1] : cases[i].at[2];
        case_run(&test);
        assert_true(test.result.before.registers > 40);
        assert_int_equal(test.result.target, cases[i].target);
        assert_int_equal(test.result.changed, cases[i].target != 0);
        assert_true(test.result.boundary_count >= 2);
        assert_int_equal(test.result.boundaries[0].registers, 40);
        for (unsigned b = 0; b < test.result.boundary_count; b++)
            assert_int_equal(test.result.boundaries[b].is_chosen,
                             test.result.boundaries[b].registers == cases[i].target);
        if (cases[i].target)
            assert_non_null(strstr(explanation_text(&test), "predicted 1."));
        case_end(&test);
    }
}

/* If every form under a cap spills, only a large gain is worth it. */
static void spills_need_a_large_gain(void **state)
{
    (void)state;
    static const double gains[] = {1.01, 1.04, 1.2};
    for (size_t i = 0; i < COUNT_OF(gains); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.request.goal = GOAL_AUTO;
        test.block_threads = 256;
        test.passes.enabled[PASS_REMATERIALIZE] = test.passes.enabled[PASS_SINK] =
            test.passes.enabled[PASS_SCHEDULE] = test.passes.enabled[PASS_SPILLING] =
                test.passes.enabled[PASS_RECOMPUTE] = false;
        test.judge.judge.predict = boundary_predict;
        for (unsigned r = 0; r < COUNT_OF(cycles_at); r++)
            cycles_at[r] = r > 40 ? 1000 : 1000 / gains[i];
        case_run(&test);
        assert_int_equal(test.result.changed, gains[i] > 1.05);
        assert_non_null(strstr(explanation_text(&test), "spills"));
        case_end(&test);
    }
}

static void auto_says_when_nothing_is_to_be_gained(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 8), HONEST);
    test.request.goal = GOAL_AUTO;
    case_run(&test);
    assert_false(test.result.changed);
    assert_int_equal(test.result.target, 0);
    assert_non_null(strstr(explanation_text(&test), "assumed"));
    assert_non_null(strstr(explanation_text(&test), "would not add one"));
    case_end(&test);
}

static void auto_counts_shared_memory(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    test.request.goal = GOAL_AUTO;
    test.block_threads = 256;
    test.judge.shared = 100 * 1024;
    case_run(&test);
    assert_false(test.result.changed);
    assert_non_null(strstr(explanation_text(&test), "shared memory"));
    case_end(&test);
}

static void auto_gives_up_where_spills_would_stay(void **state)
{
    (void)state;
    Case test;
    case_start(&test, values_read_late(text_arena, 40), HONEST);
    test.request.goal = GOAL_AUTO;
    test.block_threads = 256;
    test.passes.enabled[PASS_REMATERIALIZE] = test.passes.enabled[PASS_SINK] = test.passes.enabled[PASS_SCHEDULE] =
        test.passes.enabled[PASS_RECOMPUTE] = false;
    case_run(&test);
    assert_false(test.result.changed);
    assert_int_equal(test.body->tuning.maxnreg, 0);
    assert_non_null(strstr(explanation_text(&test), "spills"));
    case_end(&test);
}

static void an_assembler_judges(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *reason, *error;
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    if (!assembler) {
        arena_free(arena);
        skip();
    }
    Module *original = module_of_file("corpus/nlm/nlm.sm_90.ptx"), *module = module_of_file("corpus/nlm/nlm.sm_90.ptx");
    Function *kernel = module_find_function(module, "nlm");
    Body *body = body_build(kernel, &reason);
    AssemblerJudge judge;
    RegistersResult result;
    assembler_judge_init(&judge, arena, assembler);
    RegistersRequest request = {.target = 24, .spill = true, .effort = 25};
    PassOptions passes = {0};
    memset(passes.enabled, true, sizeof passes.enabled);
    PassContext context = pass_context_new(arena, &passes, kernel, body);
    context.sm = sm_limits_for("sm_90");
    context.judge = &judge.judge;
    registers_reduce(&context, &request, &result);
    body = pass_take_body(&context);
    assert_true(result.before.known && result.capped.known && result.after.known);
    assert_true(judge.calls <= 25);
    assert_false(is_worse(&result.after, &result.capped, 24));
    function_set_body(kernel, body);
    /* The figures are those of the text that is finally printed. */
    Figures figures;
    const FunctionForm form = {.function = kernel, .body = body};
    assert_true(judge.judge.measure(&judge, &form, &figures));
    assert_int_equal(figures.registers, result.after.registers);
    assert_int_equal(figures_spills(&figures), figures_spills(&result.after));
    assert_ptr_equal(kernel->body, body);
    Launch *launch = launch_read(arena, "corpus/nlm/nlm.launch.json", &error);
    EmulatorOptions options = {0};
    assert_true(emulator_compare(arena, original, module, "nlm", launch, NULL, &options)->equal);
    function_set_body(kernel, NULL);
    assembler_close(assembler);
    arena_free(original->arena);
    arena_free(module->arena);
    arena_free(arena);
}

/* The model spills under every cap below what a form needs, and forms differ in what they need. */
static void spills_are_not_a_way_to_reach_a_target(void **state)
{
    (void)state;
    for (unsigned effort = 10; effort <= 60; effort += 10) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        memset(test.passes.enabled, false, sizeof test.passes.enabled);
        test.passes.enabled[PASS_BOUNDS] = true;
        test.request = (RegistersRequest){.target = 24, .effort = effort};
        case_run(&test);
        const RegistersResult *result = &test.result;
        assert_false(result->reached);
        assert_int_equal(figures_spills(&result->after), 0);
        assert_true(result->after.registers <= result->before.registers);
        if (result->changed) {
            assert_true(test.body->tuning.maxnreg >= result->after.registers);
            assert_non_null(strstr(explanation_text(&test), "the fewest found without more spills"));
        }
        assert_non_null(strstr(explanation_text(&test), "-spill allows them"));
        case_end(&test);
    }
}

/* With 24 registers, 16 blocks of 128 threads are on an SM. Each may then use 13 KiB. If the assembler would take more,
 * or has no places, values are demoted instead. */
static void spills_go_to_unused_shared_memory(void **state)
{
    (void)state;
    const struct {
        unsigned threads, places;
        bool by_assembler, by_demotion;
    } cases[] = {{128, 64, true, false}, {128, 128, false, true}, {128, 0, false, true}, {0, 8, false, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        memset(test.passes.enabled, false, sizeof test.passes.enabled);
        test.passes.enabled[PASS_BOUNDS] = test.passes.enabled[PASS_SPILLING] = true;
        test.block_threads = cases[i].threads;
        test.judge.places = cases[i].places;
        test.request.target = 24;
        case_run(&test);
        assert_true(test.result.reached);
        bool expected = cases[i].by_assembler || cases[i].by_demotion;
        assert_true((figures_spills(&test.result.after) == 0) == expected);
        assert_true((test.body->blocks.data[0]->pragmas.count == 1) == cases[i].by_assembler);
        assert_true((test.body->variables.count == 1) == cases[i].by_demotion);
        if (expected)
            assert_int_equal(test.body->tuning.maxntid[0], cases[i].threads);
        else
            assert_non_null(strstr(explanation_text(&test), "shared memory: the block size is not known (-block)"));
        case_end(&test);
    }
}

/* Shared memory for spills leaves fewer blocks of 32 threads on an SM, which .maxntid also allows. */
static void spills_leave_blocks_that_others_wait_for(void **state)
{
    (void)state;
    const char *plain = values_read_late(text_arena, 40), *end = strstr(plain, "ret;");
    const char *waits = arena_printf(text_arena, "%.*sld.volatile.global.u32 %%r0, [%%rd1];\nret;\n}\n",
                                     (int)(end - plain), plain);
    for (int i = 0; i < 2; i++) {
        Case test;
        case_start(&test, i ? waits : plain, HONEST);
        memset(test.passes.enabled, false, sizeof test.passes.enabled);
        test.passes.enabled[PASS_BOUNDS] = test.passes.enabled[PASS_SPILLING] = true;
        test.body->tuning.maxntid[0] = 128;
        test.body->tuning.maxntid_count = 1;
        test.judge.places = 64;
        test.request.target = 24;
        case_run(&test);
        assert_int_equal(test.body->blocks.data[0]->pragmas.count, !i);
        assert_int_equal(test.result.after.shared, i ? 0 : 64 * 128);
        case_end(&test);
    }
}

static double pragma_time, pragma_path; /* of forms with the pragma, as factors */

static Prediction pragma_predict(void *context, const FunctionForm *form, const Figures *figures,
                                 const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool has_pragma = form->body && form->body->blocks.data[0]->pragmas.count;
    return (Prediction){.known = true, .cycles = 1000 * (has_pragma ? pragma_time : 1), .instructions = 100,
                        .path = 500 * (has_pragma ? pragma_path : 1), .warps = 256 - figures->registers};
}

/* Nothing is spilled with the pragma, but if that is predicted to be slower, or if warps wait longer, values are
 * demoted. */
static void forms_that_are_slower_are_not_taken(void **state)
{
    (void)state;
    static const struct {
        double time, path;
        bool is_taken;
    } cases[] = {{2, 1, false}, {1.01, 1, false}, {1, 1.05, false}, {1, 1.01, true}, {1.002, 1, true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        memset(test.passes.enabled, false, sizeof test.passes.enabled);
        test.passes.enabled[PASS_BOUNDS] = test.passes.enabled[PASS_SPILLING] = true;
        test.block_threads = 128;
        test.judge.places = 64;
        test.judge.judge.predict = pragma_predict;
        test.request.spill = false;
        test.request.target = 24;
        pragma_time = cases[i].time;
        pragma_path = cases[i].path;
        case_run(&test);
        assert_true(test.result.reached);
        assert_int_equal(figures_spills(&test.result.after), 0);
        assert_int_equal(test.body->blocks.data[0]->pragmas.count, cases[i].is_taken);
        assert_int_equal(test.body->variables.count, !cases[i].is_taken);
        case_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_reached),
        cmocka_unit_test(what_fits_stays_as_it_is),
        cmocka_unit_test(without_bounds_no_directive_is_added),
        cmocka_unit_test(low_targets_are_capped_at_24),
        cmocka_unit_test(passes_can_be_left_out),
        cmocka_unit_test(an_ssa_body_leaves_ssa_form),
        cmocka_unit_test(the_result_is_never_worse),
        cmocka_unit_test(the_search_is_deterministic),
        cmocka_unit_test(effort_is_a_limit),
        cmocka_unit_test(long_forms_count_for_more),
        cmocka_unit_test(repeated_forms_do_not_count),
        cmocka_unit_test(predictions_count),
        cmocka_unit_test(width_changes_nothing),
        cmocka_unit_test(the_best_until_the_end_of_time_is_taken),
        cmocka_unit_test(serialized_forms_are_not_kept),
        cmocka_unit_test(a_judge_that_fails_changes_nothing),
        cmocka_unit_test(auto_takes_the_next_boundary),
        cmocka_unit_test(instructions_without_warps_are_not_worth_it),
        cmocka_unit_test(time_decides),
        cmocka_unit_test(auto_takes_the_fastest_boundary),
        cmocka_unit_test(spills_need_a_large_gain),
        cmocka_unit_test(auto_says_when_nothing_is_to_be_gained),
        cmocka_unit_test(auto_counts_shared_memory),
        cmocka_unit_test(auto_gives_up_where_spills_would_stay),
        cmocka_unit_test(an_assembler_judges),
        cmocka_unit_test(spills_are_not_a_way_to_reach_a_target),
        cmocka_unit_test(spills_go_to_unused_shared_memory),
        cmocka_unit_test(spills_leave_blocks_that_others_wait_for),
        cmocka_unit_test(forms_that_are_slower_are_not_taken),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
