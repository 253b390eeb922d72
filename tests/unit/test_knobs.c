/* Options of the assembler as dimensions of the register search: those that are tried, those that are kept, and cases
 * in which none is. */
#include "tests/unit/test_registers_model.h"

#include "opt/registers/moves/knobs.h"
#include "opt/passes.h"

enum { SAVED = 3 }; /* registers, by each option that helps */

/* A model of an assembler with these options; those of one name are never given together. */
static unsigned helpful, given;

static bool knobs_measure(void *context, const FunctionForm *form, Figures *out)
{
    const unsigned knobs = form->body->tuning.knobs;
    assert_false(knobs >> KNOB_USAGE_LOW & 1 && knobs >> KNOB_USAGE_HIGH & 1);
    given |= knobs;
    if (!model_measure(context, form, out))
        return false;
    for (unsigned i = 0; i < KNOB_COUNT; i++)
        for (unsigned k = 0; (knobs & helpful) >> i & 1 && k < SAVED && out->spill_stores; k++) {
            out->spill_stores -= 4;
            out->spill_loads -= 4;
        }
    return true;
}

/* Nothing but options helps the kernel. */
static void knobs_case(Case *test, unsigned helps, unsigned allowed)
{
    static const PassId off[] = {PASS_SCHEDULE, PASS_REMATERIALIZE, PASS_RECOMPUTE, PASS_SINK,
                                 PASS_HOIST,    PASS_OFFSETS,       PASS_SPILLING};
    case_start(test, values_read_late(text_arena, 60), HONEST);
    for (size_t i = 0; i < COUNT_OF(off); i++)
        test->passes.enabled[off[i]] = false;
    test->judge.judge.measure = knobs_measure;
    test->request.knobs = allowed;
    helpful = helps;
    given = 0;
}

static void those_that_help_are_combined(void **state)
{
    (void)state;
    Case test;
    knobs_case(&test, 1u << KNOB_LEVEL_1 | 1u << KNOB_USAGE_LOW, KNOBS_ALL);
    case_run(&test);
    assert_int_equal(given, KNOBS_ALL);
    assert_int_equal(test.body->tuning.knobs, 1u << KNOB_LEVEL_1 | 1u << KNOB_USAGE_LOW);
    assert_int_equal(figures_spills(&test.result.after), figures_spills(&test.result.capped) - 2 * 8 * SAVED);
    case_end(&test);
}

static void none_is_tried_without_a_request(void **state)
{
    (void)state;
    Case test;
    knobs_case(&test, KNOBS_ALL, 0);
    case_run(&test);
    assert_int_equal(given, 0);
    assert_int_equal(test.body->tuning.knobs, 0);
    case_end(&test);
    knobs_case(&test, KNOBS_ALL, KNOBS_ALL);
    test.passes.enabled[PASS_KNOBS] = false;
    case_run(&test);
    assert_int_equal(given, 0);
    case_end(&test);
}

static void those_that_the_user_has_set_are_not_tried(void **state)
{
    (void)state;
    Case test;
    knobs_case(&test, KNOBS_ALL, KNOBS_ALL & ~(1u << KNOB_LEVEL_1));
    case_run(&test);
    assert_int_equal(given, KNOBS_ALL & ~(1u << KNOB_LEVEL_1));
    assert_true(test.body->tuning.knobs);
    assert_false(test.body->tuning.knobs >> KNOB_LEVEL_1 & 1);
    case_end(&test);
}

static void a_kernel_that_fits_needs_none(void **state)
{
    (void)state;
    Case test;
    knobs_case(&test, KNOBS_ALL, KNOBS_ALL);
    test.request.target = 128;
    case_run(&test);
    assert_int_equal(given, 0);
    assert_false(test.result.changed);
    case_end(&test);
}

static void what_does_not_help_is_dropped(void **state)
{
    (void)state;
    Case test;
    knobs_case(&test, 0, KNOBS_ALL);
    case_run(&test);
    assert_int_equal(given, KNOBS_ALL);
    assert_int_equal(test.body->tuning.knobs, 0);
    case_end(&test);
}

/* A model of an assembler under which the second file of controls helps, more than the option does. */
static const char *const controls_given[] = {"first.acf", "second.acf", "third.acf", NULL};
static unsigned controls_seen;

static bool controls_measure(void *context, const FunctionForm *form, Figures *out)
{
    const char *controls = form->body->tuning.controls;
    if (!knobs_measure(context, form, out))
        return false;
    for (unsigned i = 0; controls_given[i]; i++)
        controls_seen |= (unsigned)(controls == controls_given[i]) << i;
    for (unsigned k = 0; controls == controls_given[1] && k < 2 * SAVED && out->spill_stores; k++) {
        out->spill_stores -= 4;
        out->spill_loads -= 4;
    }
    return true;
}

static void controls_are_combined_with_options(void **state)
{
    (void)state;
    static const unsigned allowed[] = {0, KNOBS_ALL};
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        Case test;
        bool says_so = false;
        knobs_case(&test, 1u << KNOB_LEVEL_1, allowed[i]);
        test.request.controls = controls_given;
        test.judge.judge.measure = controls_measure;
        controls_seen = 0;
        case_run(&test);
        assert_int_equal(controls_seen, 7);
        assert_ptr_equal(test.body->tuning.controls, controls_given[1]);
        assert_int_equal(test.body->tuning.knobs, allowed[i] & 1u << KNOB_LEVEL_1);
        for (unsigned step = 0; step < test.result.step_count; step++)
            says_so |= strstr(step_text(&test, step), "--apply-controls=second.acf") != NULL;
        assert_true(says_so);
        case_end(&test);
    }
}

/* At -O1 the kernel is slower, so the other option is taken alone. */
static Prediction slow_level(void *context, const FunctionForm *form, const Figures *figures,
                             const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool is_slow = form->body->tuning.knobs >> KNOB_LEVEL_1 & 1;
    return (Prediction){.known = true,
                        .cycles = is_slow ? 2000 : 1000,
                        .instructions = (double)figures->instructions,
                        .warps = form->body->tuning.maxnreg ? 32 : 16};
}

static void slower_forms_are_not_taken(void **state)
{
    (void)state;
    Case test;
    bool says_so = false;
    knobs_case(&test, 1u << KNOB_LEVEL_1 | 1u << KNOB_USAGE_LOW, KNOBS_ALL);
    test.block_threads = 64;
    test.judge.judge.predict = slow_level;
    case_run(&test);
    assert_int_equal(test.body->tuning.knobs, 1u << KNOB_USAGE_LOW);
    for (unsigned i = 0; i < test.result.step_count; i++)
        says_so |= strstr(step_text(&test, i), "--opt-level=1, predicted to be slower") != NULL;
    assert_true(says_so);
    case_end(&test);
}

/* Effort limits options too, whatever it is: case_run() checks it. */
static void effort_limits_options(void **state)
{
    (void)state;
    for (unsigned effort = 0; effort < 30; effort++) {
        Case test;
        knobs_case(&test, KNOBS_ALL, KNOBS_ALL);
        test.request.effort = effort;
        test.judge.judge.prepare = model_prepare;
        test.judge.judge.width = 3;
        case_run(&test);
        case_end(&test);
    }
}

static void options_have_words(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    assert_null(knobs_words(arena, 0, NULL));
    assert_string_equal(knobs_text(arena, 0, NULL), "");
    assert_string_equal(knobs_text(arena, 1u << KNOB_FAST_COMPILE | 1u << KNOB_USAGE_HIGH, NULL),
                        "--Ofast-compile=min --register-usage-level=10");
    assert_string_equal(knobs_text(arena, 1u << KNOB_LEVEL_1, "/c/a.acf"), "--opt-level=1 --apply-controls=/c/a.acf");
    assert_string_equal(knobs_text(arena, 0, "/c/a.acf"), "--apply-controls=/c/a.acf");
    arena_free(arena);
}

static void options_of_the_user_are_recognized(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        unsigned taken;
    } cases[] = {
        {"-O1", 1u << KNOB_LEVEL_1},
        {"-O", 1u << KNOB_LEVEL_1},
        {"--opt-level=2", 1u << KNOB_LEVEL_1},
        {"-opt-level", 1u << KNOB_LEVEL_1},
        {"-Ofc", 1u << KNOB_FAST_COMPILE},
        {"--Ofast-compile=0", 1u << KNOB_FAST_COMPILE},
        {"-regUsageLevel=3", 1u << KNOB_USAGE_LOW | 1u << KNOB_USAGE_HIGH},
        {"--register-usage-level", 1u << KNOB_USAGE_LOW | 1u << KNOB_USAGE_HIGH},
        {"--options-file=x", KNOBS_ALL},
        {"-optf", KNOBS_ALL},
        {"--opt-levels", 0},
        {"--optimize-float-atomics", 0},
        {"-maxrregcount=32", 0},
        {"1", 0},
        {"", 0},
    };
    assert_int_equal(knobs_open(NULL), KNOBS_ALL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *const words[] = {"-v", cases[i].word, NULL};
        assert_int_equal(knobs_open(words), KNOBS_ALL & ~cases[i].taken);
        assert_int_equal(knobs_set_controls(words), cases[i].taken == KNOBS_ALL);
    }
    static const char *const controls[] = {"--apply-controls", "a.acf", NULL};
    assert_true(knobs_set_controls(controls));
    assert_int_equal(knobs_open(controls), KNOBS_ALL);
    assert_false(knobs_set_controls(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_help_are_combined),
        cmocka_unit_test(none_is_tried_without_a_request),
        cmocka_unit_test(those_that_the_user_has_set_are_not_tried),
        cmocka_unit_test(a_kernel_that_fits_needs_none),
        cmocka_unit_test(what_does_not_help_is_dropped),
        cmocka_unit_test(controls_are_combined_with_options),
        cmocka_unit_test(slower_forms_are_not_taken),
        cmocka_unit_test(effort_limits_options),
        cmocka_unit_test(options_have_words),
        cmocka_unit_test(options_of_the_user_are_recognized),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
