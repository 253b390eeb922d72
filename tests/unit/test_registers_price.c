/* Forms that reach the target, and their price. */
#include "tests/unit/test_registers_model.h"
#include "opt/passes.h"

static uint64_t slow_forms[64]; /* by their texts */
static unsigned slow_count, slow_most;

/* The first forms under a cap that spill nothing are slow. */
static Prediction first_are_slow(void *context, const FunctionForm *form, const Figures *figures,
                                 const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool is_slow = false;
    if (form->body->tuning.maxnreg && !figures_spills(figures)) {
        uint64_t hash = text_hash(form->body);
        for (unsigned i = 0; i < slow_count && !is_slow; i++)
            is_slow = slow_forms[i] == hash;
        if (!is_slow && slow_count < slow_most) {
            slow_forms[slow_count++] = hash;
            is_slow = true;
        }
    }
    return (Prediction){.known = true, .cycles = is_slow ? 200 : 100, .instructions = 100,
                        .warps = 256 - figures->registers};
}

/* A form that reaches the target but is not worth its price does not end the search. */
static void slow_forms_do_not_end_the_search(void **state)
{
    (void)state;
    static const unsigned counts[] = {0, 1, 2, COUNT_OF(slow_forms)};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        Case test;
        slow_most = counts[i];
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.block_threads = 128;
        test.judge.judge.predict = first_are_slow;
        test.request.spill = false;
        slow_count = 0;
        case_run(&test);
        assert_int_equal(test.result.changed, slow_most < COUNT_OF(slow_forms));
        assert_int_equal(figures_spills(&test.result.after), 0);
        if (test.result.changed)
            assert_true(test.result.reached);
        else
            assert_non_null(strstr(explanation_text(&test), "predicted to be slower"));
        case_end(&test);
    }
}

static size_t length_of(const Body *body)
{
    size_t count = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            count++;
    return count;
}

static size_t input_length;
static bool longer_are_slow; /* forms that spill nothing and are longer than the input are slow; else those that are not
                              * longer */

static Prediction slow_by_length(void *context, const FunctionForm *form, const Figures *figures,
                                 const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool has_pragma = form->body->blocks.data[0]->pragmas.count;
    bool is_slow = form->body->tuning.maxnreg && !figures_spills(figures) && !has_pragma &&
                   (length_of(form->body) > input_length) == longer_are_slow;
    return (Prediction){.known = true, .cycles = is_slow ? 200 : 100, .instructions = 100,
                        .warps = 256 - figures->registers};
}

/* After a form that is not worth its price, whether longer or not, the search goes on without it, and values that would
 * be spilled without it may go to shared memory. */
static void slow_forms_are_not_built_upon(void **state)
{
    (void)state;
    static const struct {
        PassId first, second;
        bool longer_are_slow;
    } cases[] = {{PASS_RECOMPUTE, PASS_SCHEDULE, true},
                 {PASS_SCHEDULE, PASS_REMATERIALIZE, false},
                 {PASS_RECOMPUTE, PASS_SPILLING, true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        memset(test.passes.enabled, false, sizeof test.passes.enabled);
        test.passes.enabled[PASS_BOUNDS] = true;
        test.passes.enabled[cases[i].first] = test.passes.enabled[cases[i].second] = true;
        test.block_threads = 128;
        test.judge.places = 64;
        test.judge.judge.predict = slow_by_length;
        input_length = length_of(test.body);
        longer_are_slow = cases[i].longer_are_slow;
        case_run(&test);
        assert_true(test.result.changed && test.result.reached);
        assert_int_equal(figures_spills(&test.result.after), 0);
        assert_true(test.result.steps[1].move.is_objected);
        const RegistersStep *last = &test.result.steps[test.result.step_count - 1];
        assert_true(last->kept && !last->move.is_objected);
        case_end(&test);
    }
}

static double searched_cycles;

/* The input takes 100 cycles, and 80 under the cap, where it spills. */
static Prediction capped_is_fast(void *context, const FunctionForm *form, const Figures *figures,
                                 const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool is_capped = form->body->tuning.maxnreg != 0;
    double cycles = !is_capped ? 100 : figures_spills(figures) ? 80 : searched_cycles;
    return (Prediction){.known = true, .cycles = cycles, .instructions = 100, .warps = 256 - figures->registers};
}

/* The cap alone is taken if it is predicted to be much faster and spills are allowed. */
static void spills_that_pay_are_taken(void **state)
{
    (void)state;
    static const struct {
        double cycles;
        bool spill, is_taken;
    } cases[] = {{81, true, false}, {90, true, true}, {90, false, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        case_start(&test, values_read_late(text_arena, 40), HONEST);
        test.request.spill = cases[i].spill;
        test.block_threads = 128;
        test.judge.judge.predict = capped_is_fast;
        searched_cycles = cases[i].cycles;
        case_run(&test);
        assert_true(test.result.changed && test.result.reached);
        assert_int_equal(figures_spills(&test.result.after),
                         cases[i].is_taken ? figures_spills(&test.result.capped) : 0);
        assert_true(!strstr(explanation_text(&test), "predicted to be slower (0.889x)") == !cases[i].is_taken);
        case_end(&test);
    }
}

static uint64_t capped_text;  /* its hash, of the input under the cap */
static double executed_more; /* spills of every other form, as a factor */

static Prediction more_is_executed(void *context, const FunctionForm *form, const Figures *figures,
                                   const LaunchChange *change)
{
    (void)context;
    (void)figures;
    (void)change;
    bool is_input = text_hash(form->body) == capped_text;
    return (Prediction){.known = true, .is_machine = true, .cycles = 100, .instructions = 100, .warps = 16,
                        .spills = 1000 * (is_input ? 1 : executed_more)};
}

/* Forms that spill fewer bytes, but execute more spills, are not taken. */
static void executed_spills_do_not_grow(void **state)
{
    (void)state;
    static const double factors[] = {0.5, 1.004, 1.01};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        unsigned fewer = 0;
        for (unsigned count = 30; count < 70; count++) {
            Case test;
            case_start(&test, values_read_late(text_arena, (int)count), ERRATIC);
            test.request.target = 28;
            test.request.effort = 6;
            test.judge.judge.predict = more_is_executed;
            test.body->tuning.maxnreg = test.request.target;
            capped_text = text_hash(test.body);
            test.body->tuning.maxnreg = 0;
            executed_more = factors[i];
            case_run(&test);
            const Figures *capped = &test.result.capped, *after = &test.result.after;
            fewer += test.result.changed && capped->registers <= 28 && figures_spills(after) &&
                     figures_spills(after) < figures_spills(capped);
            case_end(&test);
        }
        assert_true((fewer > 0) == (factors[i] < 1.005));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_forms_do_not_end_the_search),
        cmocka_unit_test(slow_forms_are_not_built_upon),
        cmocka_unit_test(spills_that_pay_are_taken),
        cmocka_unit_test(executed_spills_do_not_grow),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
