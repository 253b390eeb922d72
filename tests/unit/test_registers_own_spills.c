/* Spills that a kernel has under its own bounds: with 33 registers instead of 48, 60 bytes of stores and of loads. They
 * move to shared memory where nothing else changes, and where that costs neither registers, nor code, nor time. */
#include "tests/unit/test_registers_model.h"

#include "opt/passes.h"
#include "opt/registers/registers.h"

enum { OWN_CAP = 33, THREADS = 128 };
/* All but one block of slots of what a kernel may declare: no values can be demoted, but the assembler has places. */
enum { MUCH_SHARED = 48700, FEW_PLACES = 4 };

static void own_start(Case *test, unsigned target)
{
    case_start(test, values_read_late(text_arena, 40), HONEST);
    memset(test->passes.enabled, false, sizeof test->passes.enabled);
    test->passes.enabled[PASS_BOUNDS] = test->passes.enabled[PASS_SPILLING] = true;
    test->body->tuning.maxnreg = OWN_CAP;
    test->block_threads = THREADS;
    test->judge.shared = MUCH_SHARED;
    test->judge.places = FEW_PLACES;
    test->judge.places_with = OWN_CAP;
    test->request = (RegistersRequest){.target = target, .effort = 40};
}

static void assert_moved(const Case *test)
{
    assert_true(test->result.changed);
    assert_int_equal(test->result.after.registers, OWN_CAP);
    assert_int_equal(figures_spills(&test->result.after), 0);
    assert_int_equal(test->body->tuning.maxnreg, OWN_CAP);
    assert_int_equal(test->body->blocks.data[0]->pragmas.count, 1);
    assert_non_null(strstr(explanation_text(test), "of 120 bytes that it spills itself, 0 are left"));
}

static void assert_stays(const Case *test)
{
    assert_false(test->result.changed);
    assert_int_equal(test->body->tuning.maxnreg, OWN_CAP);
    assert_int_equal(test->body->blocks.data[0]->pragmas.count, 0);
}

/* The search for 24 registers takes all assemblies that are not kept. */
static void own_spills_move_whatever_the_goal(void **state)
{
    (void)state;
    static const struct {
        RegistersGoal goal;
        unsigned target, effort;
    } cases[] = {{GOAL_COUNT, 64, 40}, {GOAL_COUNT, 24, 40}, {GOAL_COUNT, 24, 8}, {GOAL_AUTO, 0, 40},
                 {GOAL_FEWEST, 0, 40}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        own_start(&test, cases[i].target);
        test.request.goal = cases[i].goal;
        test.request.effort = cases[i].effort;
        case_run(&test);
        assert_moved(&test);
        case_end(&test);
    }
}

/* Most assemblies are for the search, and what it finds is not given up. */
static void other_forms_come_first(void **state)
{
    (void)state;
    Case test;
    own_start(&test, 24);
    memset(test.passes.enabled, true, sizeof test.passes.enabled);
    case_run(&test);
    assert_true(test.result.changed && test.result.reached);
    assert_true(test.result.after.registers <= 24);
    case_end(&test);
}

static void forms_with_more_of_anything_are_not_taken(void **state)
{
    (void)state;
    static const Figures more[] = {{.registers = 1}, {.instructions = 100}, {.spill_loads = 150}};
    for (size_t i = 0; i < COUNT_OF(more); i++)
        for (unsigned target = 24; target <= 64; target += 40) {
            Case test;
            own_start(&test, target);
            test.judge.at_places = more[i];
            case_run(&test);
            assert_stays(&test);
            case_end(&test);
        }
}

/* Nothing is kept for spills that cannot move. */
static void what_is_switched_off_or_unknown_takes_no_assemblies(void **state)
{
    (void)state;
    unsigned calls[2];
    for (unsigned i = 0; i < COUNT_OF(calls); i++) {
        Case test;
        own_start(&test, 24);
        test.passes.enabled[PASS_SPILLING] = i;
        test.block_threads = i ? 0 : THREADS;
        test.request.effort = 8;
        case_run(&test);
        assert_stays(&test);
        calls[i] = test.judge.calls;
        case_end(&test);
    }
    assert_int_equal(calls[0], 8);
    assert_int_equal(calls[1], 8);
}

static double moved_time;

/* The cap of the search is slow, and so may be spills in shared memory. */
static Prediction moved_predict(void *context, const FunctionForm *form, const Figures *figures,
                                const LaunchChange *change)
{
    (void)context;
    (void)change;
    bool is_moved = form->body && form->body->blocks.data[0]->pragmas.count;
    return (Prediction){.known = true, .cycles = figures->registers < OWN_CAP ? 2000 : is_moved ? moved_time : 1000,
                        .instructions = 100, .path = 500, .warps = 64};
}

/* The input under a cap that was tried in vain is not what they are compared with. A little may be lost if the user
 * accepts spills, which cost more for the target. */
static void moved_spills_are_as_fast_as_the_input(void **state)
{
    (void)state;
    static const struct {
        double time;
        bool spill, moves;
    } cases[] = {{1000, false, true}, {1010, false, false}, {1010, true, true}, {1030, true, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        own_start(&test, cases[i].spill ? OWN_CAP : 24);
        test.judge.judge.predict = moved_predict;
        test.request.spill = cases[i].spill;
        moved_time = cases[i].time;
        case_run(&test);
        if (cases[i].moves)
            assert_moved(&test);
        else
            assert_stays(&test);
        case_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_spills_move_whatever_the_goal),
        cmocka_unit_test(other_forms_come_first),
        cmocka_unit_test(forms_with_more_of_anything_are_not_taken),
        cmocka_unit_test(what_is_switched_off_or_unknown_takes_no_assemblies),
        cmocka_unit_test(moved_spills_are_as_fast_as_the_input),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
