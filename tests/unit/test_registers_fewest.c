/* -target-regs fewest: the fewest registers at a price. */
#include "tests/unit/test_registers_model.h"
#include "opt/passes.h"

/* The fewest registers: predictions as the test wants them, by the registers of the form. */
static unsigned cheap_registers;             /* fewer than these cost */
static double cycles_more, instructions_more; /* for each register fewer, of 1000 */
static double looped_more;                    /* of the instructions, in loops */
static double path_more;                      /* of the path of a warp */
static bool counts_machine; /* machine instructions, of forms that cost nothing */

static Prediction predict_by_registers(void *context, const FunctionForm *form, const Figures *figures,
                                       const LaunchChange *change)
{
    (void)context;
    (void)form;
    (void)change;
    double fewer = figures->registers < cheap_registers ? cheap_registers - figures->registers : 0;
    return (Prediction){
        .known = true,
        .is_new = true,
        .warps = 16,
        .is_machine = counts_machine && figures->registers >= cheap_registers,
        .cycles = 1000 + fewer * cycles_more,
        .instructions = 1000 + fewer * instructions_more,
        .looped = 500 + fewer * looped_more,
        .path = 1000 + fewer * path_more,
    };
}

static void fewest_start(Case *test, Temper temper)
{
    case_start(test, values_read_late(text_arena, 40), temper);
    test->request.goal = GOAL_FEWEST;
    /* An erratic judge's figures depend on each form that it sees. */
    test->passes.enabled[PASS_RECOMPUTE] = temper != ERRATIC;
    cheap_registers = 0;
    cycles_more = instructions_more = looped_more = path_more = 0;
    counts_machine = false;
}

static void fewest_is_as_low_as_nothing_is_spilled(void **state)
{
    (void)state;
    for (unsigned predicts = 0; predicts < 2; predicts++) {
        Case test;
        fewest_start(&test, HONEST);
        test.judge.judge.predict = predicts ? predict_by_registers : NULL;
        case_run(&test);
        const RegistersResult *result = &test.result;
        assert_true(result->changed && result->reached);
        assert_true(result->after.registers < 24 && result->before.registers > 40);
        assert_int_equal(result->target, result->after.registers);
        assert_int_equal(figures_spills(&result->after), 0);
        assert_true(predicts || result->after.instructions * 100 <= result->before.instructions * 103);
        case_end(&test);
    }
}

/* The form that is taken costs no more than is allowed, in percent, and each lower form that the report lists costs
 * more. With an erratic judge there are forms of many counts; each register fewer than 31 costs that many of 1000. */
static unsigned check_fewest_path(double price, double cycles, double instructions, double looped, double path)
{
    Case test;
    fewest_start(&test, ERRATIC);
    test.judge.judge.predict = predict_by_registers;
    test.request.price = price;
    test.request.effort = 120;
    cycles_more = cycles;
    instructions_more = instructions;
    looped_more = looped;
    path_more = path;
    cheap_registers = 31;
    case_run(&test);
    const RegistersResult *result = &test.result;
    unsigned after = result->after.registers, lowest = after;
    double executed = price > 3 ? price : 3;
    assert_true(result->changed && result->before.registers == 32 && !figures_spills(&result->after));
    for (unsigned i = 0; i < result->step_count; i++)
        if (!figures_spills(&result->steps[i].figures) && result->steps[i].figures.registers < lowest)
            lowest = result->steps[i].figures.registers;
    for (unsigned registers = lowest; registers <= after; registers++) {
        double fewer = registers < 31 ? 31 - registers : 0;
        bool is_allowed = fewer * cycles <= price * 10 + 5.02 * (1 + price / 100) &&
                          fewer * instructions <= (price > 10 ? price : 10) * 10 && fewer * looped <= executed * 5 &&
                          fewer * path <= 20 + 10.2 * price;
        assert_true(registers == after ? is_allowed : registers > lowest || !is_allowed);
    }
    assert_true(lowest == after || strstr(explanation_text(&test), "; "));
    case_end(&test);
    return after;
}

static unsigned check_fewest(double price, double cycles, double instructions, double looped)
{
    return check_fewest_path(price, cycles, instructions, looped, 0);
}

/* A warp may hardly wait longer, although the predicted time is the same; a price raises that. */
static void fewest_waits_no_longer(void **state)
{
    (void)state;
    unsigned free = check_fewest_path(0, 0, 0, 0, 5);
    assert_in_range(free, 27, 30);
    assert_int_equal(check_fewest_path(0, 0, 0, 0, 30), 31);
    assert_in_range(check_fewest_path(5, 0, 0, 0, 5), 24, free - 1);
}

static void fewest_costs_what_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(check_fewest(0, 8, 0, 0), 31);
    assert_int_equal(check_fewest(1, 8, 0, 0), 31); /* there is none with 30 or 29 */
    assert_in_range(check_fewest(2.5, 5, 0, 0), 25, 30);
    assert_in_range(check_fewest(50, 5, 0, 0), 24, 27);
    /* Nearly the same time is the same. */
    assert_in_range(check_fewest(0, 1, 0, 0), 26, 30);
}

/* The executed instructions are limited too, whatever the time, and more so in loops; only a higher price raises the
 * limit. */
static void fewest_executes_little_more(void **state)
{
    (void)state;
    unsigned free = check_fewest(0, 0, 10, 5);
    assert_in_range(free, 28, 30);
    assert_int_equal(check_fewest(2, 0, 10, 5), free);
    assert_in_range(check_fewest(5, 0, 10, 5), 26, free - 1);
    assert_in_range(check_fewest(0, 0, 10, 0), 24, free - 1);
    assert_in_range(check_fewest(0, 0, 40, 0), 29, 31);
}

/* Without predicted times, code that grows by more than a quarter is not taken. */
static void longer_code_has_an_unknown_cost(void **state)
{
    (void)state;
    const RegistersResult result = {
        .explanation = {.outcome = REGISTERS_TOO_DEAR,
                        .objection = {.verdict = VERDICT_TOO_LONG,
                                      .registers = 24,
                                      .instructions = 130,
                                      .instructions_before = 100}}};
    Buf words = {0};
    explanation_print(&result, NULL, &words);
    assert_string_equal(buf_text(&words),
                        "24 registers would need 30.0% more instructions, at a cost that is unknown");
    buf_free(&words);
}

static void fewest_leaves_alone_what_costs(void **state)
{
    (void)state;
    Case test;
    fewest_start(&test, HONEST);
    test.judge.judge.predict = predict_by_registers;
    cheap_registers = 255;
    cycles_more = 5;
    case_run(&test);
    assert_false(test.result.changed || test.result.reached);
    assert_int_equal(test.result.target, 0);
    assert_int_equal(test.body->tuning.maxnreg, 0);
    assert_non_null(strstr(explanation_text(&test), "would take"));
    case_end(&test);
    for (Temper temper = REFUSING; temper <= REFUSING_CAPS; temper++) {
        fewest_start(&test, temper);
        case_run(&test);
        assert_false(temper == REFUSING && test.result.changed);
        assert_int_equal(test.body->tuning.maxnreg, 0);
        case_end(&test);
    }
}

static unsigned late_predictions; /* after the time is over */

static Prediction predict_in_time(void *context, const FunctionForm *form, const Figures *figures,
                                  const LaunchChange *change)
{
    late_predictions += model_is_over(context);
    return predict_by_registers(context, form, figures, change);
}

/* The best form found before the time is over is taken, after few more predictions. */
static void fewest_ends_in_time(void **state)
{
    (void)state;
    for (unsigned ends_after = 2; ends_after < 60; ends_after += 6)
        for (unsigned costs = 0; costs < 2; costs++) {
            Case test;
            fewest_start(&test, ERRATIC);
            test.judge.judge.predict = predict_in_time;
            test.judge.ends_after = ends_after;
            test.request.effort = 120;
            cheap_registers = 40;
            cycles_more = costs ? 10 : 0;
            late_predictions = 0;
            case_run(&test);
            assert_true(test.judge.calls <= ends_after + 1);
            assert_true(late_predictions <= 4);
            assert_true(costs ? !test.result.changed : ends_after < 8 || test.result.changed);
            case_end(&test);
        }
}

static void fewest_is_never_worse(void **state)
{
    (void)state;
    for (unsigned effort = 1; effort < 120; effort += 17) {
        Case test;
        fewest_start(&test, ERRATIC);
        test.request.effort = effort;
        test.judge.judge.predict = effort % 2 ? predict_by_registers : NULL;
        counts_machine = true;
        cheap_registers = 32;
        cycles_more = -1;
        case_run(&test);
        const RegistersResult *result = &test.result;
        /* The time of all lower forms is unknown, so their instructions decide. */
        assert_true(result->after.instructions * 100 <= result->before.instructions * 103);
        assert_true(figures_spills(&result->after) <= figures_spills(&result->before));
        assert_true(result->changed ? result->after.registers < result->before.registers
                                    : result->after.registers == result->before.registers);
        case_end(&test);
    }
}

static uint64_t first_instructions; /* of the first form that is predicted, the input; 0: none yet */

/* Forms with one instruction more, three or five are twice as slow. */
static Prediction predict_by_parity(void *context, const FunctionForm *form, const Figures *figures,
                                    const LaunchChange *change)
{
    Prediction prediction = predict_by_registers(context, form, figures, change);
    if (!first_instructions)
        first_instructions = figures->instructions;
    if ((figures->instructions ^ first_instructions) & 1)
        prediction.cycles *= 2;
    return prediction;
}

/* Forms that are too expensive lead nowhere, so later forms do not build on them. */
static void fewest_avoids_what_costs(void **state)
{
    (void)state;
    Case test;
    fewest_start(&test, ERRATIC);
    test.judge.judge.predict = predict_by_parity;
    test.request.effort = 120;
    first_instructions = 0;
    case_run(&test);
    const RegistersResult *result = &test.result;
    unsigned avoided = 0;
    for (unsigned i = 0; i < result->step_count; i++)
        if (result->steps[i].move.is_objected) {
            assert_false(result->steps[i].kept);
            assert_true((result->steps[i].figures.instructions ^ first_instructions) & 1);
            avoided++;
        }
    assert_true(avoided > 0 && result->changed);
    assert_false((result->after.instructions ^ first_instructions) & 1);
    case_end(&test);
}

/* Forms that only the cap makes small are twice as slow. */
static Prediction predict_unchanged(void *context, const FunctionForm *form, const Figures *figures,
                                    const LaunchChange *change)
{
    Prediction prediction = predict_by_registers(context, form, figures, change);
    if (!first_instructions)
        first_instructions = figures->instructions;
    else if (figures->instructions == first_instructions)
        prediction.cycles *= 2;
    return prediction;
}

/* The assembler meets any cap, but slowly: the passes are tried all the same. */
static void fewest_looks_beyond_caps(void **state)
{
    (void)state;
    Case test;
    fewest_start(&test, OBLIGING);
    test.judge.judge.predict = predict_unchanged;
    test.request.effort = 120;
    first_instructions = 0;
    case_run(&test);
    assert_true(test.result.changed && test.result.after.registers < test.result.before.registers);
    assert_true(test.result.after.instructions != first_instructions);
    case_end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewest_is_as_low_as_nothing_is_spilled),
        cmocka_unit_test(fewest_costs_what_is_allowed),
        cmocka_unit_test(fewest_waits_no_longer),
        cmocka_unit_test(fewest_executes_little_more),
        cmocka_unit_test(longer_code_has_an_unknown_cost), cmocka_unit_test(fewest_leaves_alone_what_costs),
        cmocka_unit_test(fewest_ends_in_time),
        cmocka_unit_test(fewest_is_never_worse),
        cmocka_unit_test(fewest_avoids_what_costs),
        cmocka_unit_test(fewest_looks_beyond_caps),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
