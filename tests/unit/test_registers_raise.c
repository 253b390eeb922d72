/* Registers that are free: a kernel declares the number of blocks on an SM, if that pays. */
#include "tests/unit/test_registers_model.h"
#include "opt/passes.h"

enum { BLOCK = 32, BLOCKS = 32 }; /* threads of a block, and the blocks that an SM holds of such on sm_90 */

/* The figures of the assembler and the model for the kernel: unchanged, raised, and under a cap. */
typedef struct Answers {
    unsigned registers, raised;
    uint64_t spilled;            /* bytes, of the raised form */
    double cycles, path, capped; /* of the raised form, and cycles under a cap; the input's are 1000 each */
    bool rejects;                /* the assembler rejects the raised form */
} Answers;

static Answers answers;

static bool answered_measure(void *context, const FunctionForm *form, Figures *out)
{
    const Tuning *tuning = &form->body->tuning;
    ModelJudge *judge = context;
    judge->calls++;
    *out = (Figures){.known = true, .registers = answers.registers, .instructions = 100};
    if (tuning->maxnreg && tuning->maxnreg < out->registers)
        out->registers = tuning->maxnreg;
    if (!tuning->minnctapersm)
        return true;
    assert_true(tuning->maxntid_count || tuning->reqntid_count);
    out->registers = answers.raised;
    out->instructions = answers.raised == answers.registers ? 100 : 110;
    out->spill_stores = answers.spilled;
    out->known = !answers.rejects;
    return out->known;
}

static Prediction answered_predict(void *context, const FunctionForm *form, const Figures *figures,
                                   const LaunchChange *change)
{
    (void)context;
    (void)change;
    Prediction prediction = {.known = true, .cycles = 1000, .instructions = 100, .path = 1000, .warps = 32};
    if (form->body && form->body->tuning.minnctapersm) {
        prediction.cycles = answers.cycles;
        prediction.path = answers.path;
    } else if (figures->registers < answers.registers) {
        prediction.cycles = answers.capped;
    }
    return prediction;
}

static void start(Case *test, Answers say)
{
    case_start(test, values_read_late(text_arena, 10), HONEST);
    answers = say;
    test->request.goal = GOAL_AUTO;
    test->block_threads = BLOCK;
    test->judge.judge.measure = answered_measure;
    test->judge.judge.predict = answered_predict;
}

static void free_registers_are_taken_where_that_is_faster(void **state)
{
    (void)state;
    Case test;
    start(&test, (Answers){.registers = 40, .raised = 56, .cycles = 900, .path = 900, .capped = 1000});
    case_run(&test);
    assert_true(test.result.changed && test.result.reached);
    assert_int_equal(test.body->tuning.minnctapersm, BLOCKS);
    assert_int_equal(test.body->tuning.maxntid[0], BLOCK);
    assert_int_equal(test.result.after.registers, 56);
    assert_int_equal(test.result.target, 64);
    assert_int_equal(test.result.boundary_count, 1);
    assert_true(test.result.boundaries[0].is_chosen);
    assert_int_equal(test.result.boundaries[0].blocks, BLOCKS);
    assert_string_equal(explanation_text(&test), "56 registers: with 32 threads per block an SM holds 32 blocks, as it "
                                                 "does with 40 registers, for 10 more instructions; predicted 1.111x");
    case_end(&test);
}

/* Runs it and expects that nothing changes, for this reason. */
static void stays(Case *test, const char *reason)
{
    case_run(test);
    assert_false(test->result.changed);
    assert_int_equal(test->body->tuning.minnctapersm, 0);
    assert_non_null(strstr(explanation_text(test), reason));
    assert_false(test->result.boundaries[0].is_chosen);
    case_end(test);
}

static void they_stay_free_where_nothing_is_gained(void **state)
{
    (void)state;
    static const struct {
        Answers say;
        const char *reason;
    } cases[] = {
        {{.registers = 40, .raised = 56, .cycles = 995, .path = 900}, "the 64 that are free are not used: with 56"},
        {{.registers = 40, .raised = 56, .cycles = 900, .path = 1030}, "with 56 a warp takes 1.03 times as long"},
        {{.registers = 40, .raised = 56, .cycles = 900, .path = 900, .spilled = 8}, "the assembler spills 8 bytes"},
        {{.registers = 40, .raised = 72, .cycles = 900, .path = 900}, "the assembler takes 72"},
        {{.registers = 40, .raised = 40, .cycles = 900, .path = 900}, "the assembler has no use for more"},
        {{.registers = 40, .raised = 56, .cycles = 900, .path = 900, .rejects = true}, "not assemble"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        start(&test, cases[i].say);
        stays(&test, cases[i].reason);
    }
}

/* With 64 threads, 72 registers leave 14 blocks; 16 fit with 64. */
static void the_faster_of_more_and_fewer_is_taken(void **state)
{
    (void)state;
    static const struct {
        double raised, capped;
        unsigned target;
    } cases[] = {{800, 900, 72}, {900, 800, 64}, {900, 900, 72}, {1000, 900, 64}, {1000, 1100, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        start(&test, (Answers){.registers = 68, .raised = 70, .cycles = cases[i].raised, .path = 900,
                               .capped = cases[i].capped});
        test.block_threads = 64;
        case_run(&test);
        assert_int_equal(test.result.target, cases[i].target);
        assert_int_equal(test.body->tuning.minnctapersm, cases[i].target == 72 ? 14 : 0);
        assert_int_equal(test.result.boundaries[0].registers, 72);
        if (!cases[i].target)
            assert_non_null(strstr(explanation_text(&test), "the next boundary, 64 registers"));
        case_end(&test);
    }
}

static void what_the_user_says_stays(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        Case test;
        start(&test, (Answers){.registers = 40, .raised = 56, .cycles = 900, .path = 900, .capped = 1000});
        if (i == 0)
            test.block_threads = 0;
        else if (i == 1)
            test.body->tuning.maxnreg = 48;
        else if (i == 2)
            test.passes.enabled[PASS_BOUNDS] = false;
        else if (i == 3)
            test.judge.judge.predict = NULL;
        else
            test.body->tuning = (Tuning){.maxntid = {BLOCK}, .maxntid_count = 1, .minnctapersm = 4};
        unsigned blocks = test.body->tuning.minnctapersm;
        if (i == 4)
            answers.raised = answers.registers;
        case_run(&test);
        for (unsigned b = 0; b < test.result.boundary_count; b++)
            assert_true(test.result.boundaries[b].registers < test.result.before.registers);
        assert_int_equal(test.body->tuning.minnctapersm, blocks);
        case_end(&test);
    }
}

static void what_the_user_declares_is_kept(void **state)
{
    (void)state;
    Case test;
    start(&test, (Answers){.registers = 40, .raised = 56, .cycles = 900, .path = 900, .capped = 1000});
    test.body->tuning = (Tuning){.reqntid = {BLOCK}, .reqntid_count = 1};
    case_run(&test);
    assert_int_equal(test.body->tuning.minnctapersm, BLOCKS);
    assert_int_equal(test.body->tuning.maxntid_count, 0);
    assert_int_equal(test.body->tuning.reqntid[0], BLOCK);
    case_end(&test);
}

/* A launch that is counted gives the size if nothing else does, but the size is not declared, because other launches
 * may differ. */
static void the_launch_gives_the_block_size(void **state)
{
    (void)state;
    Case test;
    start(&test, (Answers){.registers = 68, .raised = 70, .cycles = 900, .path = 900, .capped = 900});
    test.block_threads = 0;
    test.request.launch_threads = 64;
    case_run(&test);
    assert_int_equal(test.result.target, 64);
    assert_int_equal(test.body->tuning.maxntid_count, 0);
    assert_non_null(strstr(explanation_text(&test), "with 64 threads per block (in the launch) an SM holds 16 blocks"));
    case_end(&test);
}

/* A launch of few blocks leaves registers free: the next boundary has 8 blocks of 2 warps, instead of 14. */
static void a_launch_of_few_blocks_leaves_registers(void **state)
{
    (void)state;
    Case test;
    start(&test, (Answers){.registers = 68, .raised = 120, .cycles = 800, .path = 900, .capped = 900});
    test.block_threads = 64;
    test.request.launch_blocks = 7;
    case_run(&test);
    assert_int_equal(test.result.target, 128);
    assert_int_equal(test.body->tuning.minnctapersm, 8);
    assert_int_equal(test.body->tuning.maxntid[0], 64);
    assert_non_null(strstr(explanation_text(&test), "gets 7 blocks at launch, and could hold 8 with 128 registers"));
    case_end(&test);
}

/* If other launches may have larger blocks, .maxntid is the largest size, with which 64 registers are possible. */
static void blocks_of_any_size_can_be_launched(void **state)
{
    (void)state;
    static const struct {
        unsigned registers, blocks, target, declared;
    } cases[] = {
        {40, 7, 64, 1024}, {40, 16, 64, 1024}, {40, 17, 56, 1024}, {56, 18, 0, 0}, {65, 7, 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test;
        start(&test, (Answers){.registers = cases[i].registers, .raised = cases[i].registers + 16, .cycles = 800,
                               .path = 900, .capped = 1100});
        test.block_threads = 0;
        test.request.launch_threads = 64;
        test.request.launch_blocks = cases[i].blocks;
        case_run(&test);
        assert_int_equal(test.result.target, cases[i].target);
        assert_int_equal(test.body->tuning.maxntid[0], cases[i].declared);
        assert_int_equal(test.body->tuning.minnctapersm, cases[i].declared ? 1 : 0);
        case_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_of_few_blocks_leaves_registers),
        cmocka_unit_test(blocks_of_any_size_can_be_launched),
        cmocka_unit_test(free_registers_are_taken_where_that_is_faster),
        cmocka_unit_test(they_stay_free_where_nothing_is_gained),
        cmocka_unit_test(the_faster_of_more_and_fewer_is_taken),
        cmocka_unit_test(what_the_user_says_stays),
        cmocka_unit_test(what_the_user_declares_is_kept),
        cmocka_unit_test(the_launch_gives_the_block_size),
    };
    return cmocka_run_group_tests(tests, texts_start, texts_end);
}
