/* -memory auto with figures chosen by the test, and launches that the emulator counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/choose/memory.h"
#include "engine/judge/judge.h"
#include "engine/report/trial_words.h"
#include "opt/passes.h"
#include "parser/parser.h"

/* The figures that the assembler would report: of the original kernel, and of other forms. */
typedef struct Script {
    unsigned spills;       /* bytes, of other forms */
    unsigned most_threads; /* only those whose block may have more spill */
    bool fits_if_told;     /* none spills if it says how many of its blocks are resident */
    unsigned assembled;    /* other forms until now */
    unsigned most;         /* after these the time is over; 0: it never is */
} Script;

static bool script_measure(void *context, const FunctionForm *measured, Figures *out)
{
    Script *script = context;
    const bool is_other = measured->body != NULL;
    const unsigned *most = form_tuning(measured)->maxntid, *exact = form_tuning(measured)->reqntid;
    const bool spills = is_other && (most[0] * most[1] > script->most_threads ||
                                     exact[0] * exact[1] > script->most_threads || !script->most_threads);
    const bool fits = script->fits_if_told && form_tuning(measured)->minnctapersm;
    script->assembled += is_other;
    *out = (Figures){
        .known = true, .registers = fits ? 48 : 32, .spill_stores = spills && !fits ? script->spills : 0};
    return true;
}

/* Spills take as long as the rest. */
static Prediction script_predict(void *context, const FunctionForm *form, const Figures *figures,
                                 const LaunchChange *change)
{
    (void)context, (void)form, (void)change;
    return (Prediction){.known = true, .cycles = figures->spill_stores ? 2000 : 1000};
}

static bool script_is_over(void *context)
{
    const Script *script = context;
    return script->most && script->assembled >= script->most;
}

typedef struct Setup {
    Arena *arena;
    Function *kernel;
    Script script;
    Judge judge;
    PipelineOptions options;
    const Launch *launch;
    ChoiceContext context;
    KernelRequest request;
} Setup;

/* A kernel of the file; 'launch': the file of its launch, NULL: there is none. */
static Setup *setup_of(const char *path, const char *name, const char *launch)
{
    Arena *arena = arena_new();
    Setup *setup = ARENA_NEW(arena, Setup);
    const char *error = NULL;
    Diag diag;
    Source *source = source_read(arena, path, &error);
    assert_non_null(source);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    *setup = (Setup){.arena = arena, .kernel = module_find_function(module, name)};
    setup->launch = launch ? launch_read(arena, launch, &error) : NULL;
    assert_true(!launch || setup->launch);
    setup->judge = (Judge){.context = &setup->script, .measure = script_measure, .is_over = script_is_over};
    setup->options = (PipelineOptions){.sm = sm_limits_for("sm_90"), .judge = &setup->judge, .level = 2};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        setup->options.passes.enabled[i] = true;
    setup->context =
        (ChoiceContext){.device = *device_for(90), .launches = &setup->launch, .launch_count = launch != NULL};
    setup->context.device.multiprocessors = 2;
    return setup;
}

/* A kernel of the corpus with its small launch. */
static Setup *setup_new(const char *name)
{
    Arena *words = arena_new();
    Setup *setup = setup_of(arena_printf(words, "corpus/%s/%s.sm_90.ptx", name, name), name,
                            arena_printf(words, "corpus/%s/%s.launch.json", name, name));
    arena_free(words);
    return setup;
}

/* Whatever was chosen, the trials say so, and the kernel is as it was. */
static void check_choice(const Setup *setup, const MemoryChoice *choice)
{
    const MemoryTrial *chosen = NULL;
    for (unsigned i = 0; i < choice->trial_count; i++) {
        assert_int_not_equal(choice->trials[i].verdict.state, TRIAL_MADE);
        if (choice->trials[i].chosen) {
            assert_null(chosen);
            chosen = &choice->trials[i];
        }
    }
    assert_int_equal(choice->outcome == MEMORY_CHOSEN, chosen != NULL);
    assert_int_equal(choice->request.staging.wanted, chosen && chosen->stages);
    assert_int_equal(choice->request.vectors, chosen && chosen->vectors);
    assert_int_equal(choice->request.edges, chosen && chosen->edges);
    assert_null(setup->kernel->body);
    if (chosen) {
        assert_true(chosen->speedup >= 1.03);
        assert_ptr_equal(choice->best, chosen);
        assert_int_equal(choice->request.staging.depth, chosen->depth);
        assert_int_equal(choice->request.coarsen, chosen->coarsens);
    } else { /* other launches may have other blocks */
        assert_memory_equal(choice->request.block, setup->request.block, sizeof setup->request.block);
    }
}

static MemoryChoice choose_in(Setup *setup, const MemoryScope *scope)
{
    const MemoryChoice choice = choose_memory(setup->arena, setup->kernel, &setup->request, &setup->options,
                                              &setup->context, scope);
    check_choice(setup, &choice);
    return choice;
}

static MemoryChoice choose(Setup *setup, const FactorChoice *factors)
{
    const bool shrinks = setup->request.coarsening.shrinks_grid;
    return choose_in(setup, &(MemoryScope){.loads = true, .shrinks_grid = shrinks, .factors = factors});
}

static void expect_words(const MemoryChoice *choice, const char *expected)
{
    Buf words = {0};
    memory_choice_print(choice, &words);
    if (!strstr(buf_text(&words), expected))
        fail_msg("'%s' is not in '%s'", expected, buf_text(&words));
    buf_free(&words);
}

/* mv reads rows that are far apart: vectors and tiles both gain. */
static void rows_are_staged_or_joined(void **state)
{
    (void)state;
    Setup *setup = setup_new("mv");
    const MemoryChoice choice = choose(setup, NULL);
    assert_int_equal(choice.outcome, MEMORY_CHOSEN);
    assert_true(choice.counted.is_counted && !choice.coarsens_otherwise);
    assert_int_equal(choice.request.block[0], setup->launch->block[0]);
    expect_words(&choice, "predicted (counted)");
    arena_free(setup->arena);
}

static unsigned holding_trials(const MemoryChoice *choice)
{
    unsigned count = 0;
    for (unsigned i = 0; i < choice->trial_count; i++)
        count += choice->trials[i].holds_rows && choice->trials[i].verdict.state != TRIAL_UNCHANGED;
    return count;
}

/* Rows stay in shared memory where loops read them again, and forms without such rows are not listed. */
static void rows_are_held(void **state)
{
    (void)state;
    Setup *setup = setup_of("tests/cases/memory/held-rows.ptx", "k", "tests/cases/memory/held-rows.launch.json");
    MemoryChoice choice = choose(setup, NULL);
    assert_int_equal(holding_trials(&choice), 2);
    arena_free(setup->arena);
    setup = setup_new("mv");
    choice = choose(setup, NULL);
    for (unsigned i = 0; i < choice.trial_count; i++)
        assert_false(choice.trials[i].holds_rows);
    arena_free(setup->arena);
}

/* The product needs both: 2 x 2 results for a thread, and tiles. */
static void coarsening_is_chosen_together(void **state)
{
    (void)state;
    Setup *setup = setup_new("matmul_naive");
    CoarsenTrial trials[] = {{.shape = {{1, 1, 1}, {2, 2, 1}}, .sound = true, .is_compared = true, .speedup = 1.5},
                             {.shape = {{1, 1, 1}, {3, 1, 1}}, .sound = true, .verdict = {.state = TRIAL_UNMET}},
                             {.shape = {{1, 1, 1}, {1, 1, 2}}, .sound = false}};
    const FactorChoice factors = {.trials = trials, .trial_count = COUNT_OF(trials)};
    const MemoryChoice choice = choose(setup, &factors);
    bool tried[COUNT_OF(trials)] = {false};
    for (unsigned i = 0; i < choice.trial_count; i++)
        for (unsigned t = 0; t < COUNT_OF(trials); t++)
            tried[t] |= choice.trials[i].coarsens &&
                        memcmp(&choice.trials[i].coarsening.shape, &trials[t].shape, sizeof trials[t].shape) == 0;
    assert_true(tried[0] && !tried[1] && !tried[2]);
    assert_int_equal(choice.coarsens_otherwise, choice.request.coarsen);
    arena_free(setup->arena);
}

/* The trials of one kind that make blocks larger along x or y. */
static unsigned count_larger(const MemoryChoice *choice, unsigned axis, TrialState state)
{
    unsigned count = 0;
    for (unsigned i = 0; i < choice->trial_count; i++)
        count += choice->trials[i].coarsens && choice->trials[i].coarsening.shape.grown[axis] > 1 &&
                 choice->trials[i].verdict.state == state;
    return count;
}

/* The grid is 3 x 2 blocks: those along y can be joined. */
static void larger_blocks_are_tried(void **state)
{
    (void)state;
    const FactorChoice factors = {.trial_count = 0};
    for (unsigned shrinks = 0; shrinks < 2; shrinks++) {
        Setup *setup = setup_new("conv");
        setup->request.coarsening.shrinks_grid = shrinks;
        const MemoryChoice choice = choose(setup, &factors);
        assert_int_equal(count_larger(&choice, 0, TRIAL_COMPARED), 0);
        assert_int_equal(count_larger(&choice, 1, TRIAL_COMPARED), shrinks);
        arena_free(setup->arena);
    }
}

/* A form that spills is tried with single elements as well. */
static void single_elements_are_tried(void **state)
{
    (void)state;
    const FactorChoice factors = {.trial_count = 0};
    Setup *setup = setup_new("conv");
    setup->request.coarsening.shrinks_grid = true;
    setup->script.spills = 8;
    setup->script.most_threads = 128;
    const MemoryChoice choice = choose(setup, &factors);
    const MemoryTrial *spilling = NULL;
    for (unsigned i = 0; i < choice.trial_count && !spilling; i++)
        spilling = choice.trials[i].verdict.state == TRIAL_SPILLS ? &choice.trials[i] : NULL;
    assert_non_null(spilling);
    assert_false(spilling->before_vectors);
    assert_true(spilling[1].before_vectors);
    assert_memory_equal(&spilling->coarsening.shape, &spilling[1].coarsening.shape, sizeof spilling->coarsening.shape);
    arena_free(setup->arena);
}

/* 128 rows fill no SM: several threads are given each. Its sums are of floating point. */
static void rows_are_given_to_groups(void **state)
{
    (void)state;
    Setup *setup = setup_new("mv");
    MemoryScope scope = {.refines = true, .reassociates = true};
    MemoryChoice choice = choose_in(setup, &scope);
    bool apart = false;
    assert_int_equal(choice.outcome, MEMORY_CHOSEN);
    assert_true(choice.request.refining.threads > 1 && choice.request.refining.reassociates);
    assert_true(choice.coarsens_otherwise && !choice.request.coarsen);
    for (unsigned i = 0; i < choice.trial_count; i++) {
        assert_true(choice.trials[i].refining.threads && !choice.trials[i].vectors);
        apart |= choice.trials[i].refining.is_apart;
    }
    assert_true(apart);
    expect_words(&choice, "in the place of one, predicted (counted)");
    scope.loads = true;
    choice = choose_in(setup, &scope);
    assert_true(choice.trials[0].refining.threads && choice.trials[0].vectors);
    assert_false(choice.trials[choice.trial_count - 1].refining.threads);
    scope.loads = scope.reassociates = false;
    choice = choose_in(setup, &scope);
    assert_int_equal(choice.outcome, MEMORY_NONE);
    setup->context.launch_count = 0;
    setup->request.block[0] = setup->request.block[1] = setup->request.block[2] = 1;
    scope.reassociates = true;
    assert_int_equal(choose_in(setup, &scope).trial_count, 0);
    arena_free(setup->arena);
}

static void spilling_forms_are_rejected(void **state)
{
    (void)state;
    Setup *setup = setup_new("mv");
    setup->script.spills = 64;
    const MemoryChoice choice = choose(setup, NULL);
    assert_int_equal(choice.outcome, MEMORY_NO_GAIN);
    assert_null(choice.best);
    expect_words(&choice, "rejected: 64 bytes spilled instead of 0");
    arena_free(setup->arena);
}

/* The assembler may leave registers free, and so make a form spill. */
static void free_registers_are_used(void **state)
{
    (void)state;
    Setup *setup = setup_new("mv");
    AssemblerJudge judge = {.poll = assembler_judge_poll(&judge)};
    setup->script = (Script){.spills = 64, .fits_if_told = true};
    setup->judge.predict = script_predict;
    setup->context.judge = &judge;
    for (unsigned reduces = 0; reduces < 2; reduces++) {
        setup->request.reduce = reduces;
        setup->request.registers.goal = GOAL_AUTO;
        setup->request.launch_blocks = 1;
        const MemoryChoice choice = choose(setup, NULL);
        assert_int_equal(choice.outcome, reduces ? MEMORY_CHOSEN : MEMORY_NO_GAIN);
        if (reduces)
            assert_int_equal(choice.best->verdict.registers, 48);
    }
    arena_free(setup->arena);
}

static void time_limit_is_kept(void **state)
{
    (void)state;
    Setup *setup = setup_new("mv");
    setup->script.most = 1;
    const MemoryChoice choice = choose(setup, NULL);
    assert_int_equal(choice.trial_count - choice.left_out, 1);
    expect_words(&choice, "left out, because the time was over (-search)");
    arena_free(setup->arena);
}

/* Without a launch, forms must not lose in small grids, where barriers cost more than tiles save. */
static void small_grids_are_asked(void **state)
{
    (void)state;
    Setup *setup = setup_of("tests/rows/rolled.sm_90.ptx", "row_dot", NULL);
    setup->request.block[0] = 128;
    setup->request.block[1] = setup->request.block[2] = 1;
    const MemoryChoice choice = choose(setup, NULL);
    unsigned forbidden = 0;
    assert_false(choice.counted.is_counted);
    for (unsigned i = 0; i < choice.trial_count; i++)
        if (choice.trials[i].verdict.state == TRIAL_FORBIDDEN) {
            assert_true(choice.trials[i].verdict.elsewhere != ELSEWHERE_NONE && !choice.trials[i].chosen);
            forbidden++;
        }
    assert_true(forbidden > 0);
    arena_free(setup->arena);
}

/* Loops of five rounds are too short for tiles, and vectors do not pay. */
static void little_gain_is_declined(void **state)
{
    (void)state;
    Setup *setup = setup_new("conv");
    const MemoryChoice choice = choose(setup, NULL);
    assert_non_null(choice.best);
    assert_true(choice.best->speedup < 1.03);
    assert_int_equal(choice.outcome, MEMORY_NO_GAIN);
    expect_words(&choice, "not done: ");
    arena_free(setup->arena);
}

static void nothing_to_do(void **state)
{
    (void)state;
    Setup *setup = setup_new("vectoradd");
    expect_words(&(MemoryChoice){.outcome = MEMORY_NO_BLOCK}, "-block or -launch");
    MemoryChoice choice = choose(setup, NULL);
    assert_true(choice.outcome == MEMORY_NONE || choice.outcome == MEMORY_NO_GAIN);
    setup->context.launch_count = 0;
    choice = choose(setup, NULL);
    assert_int_equal(choice.outcome, MEMORY_NO_BLOCK);
    setup->options.judge = NULL;
    choice = choose(setup, NULL);
    assert_int_equal(choice.outcome, MEMORY_NO_ASSEMBLER);
    expect_words(&choice, "there is no assembler");
    arena_free(setup->arena);
}

/* A coarsening that was asked for stays. */
static void given_coarsening_stays(void **state)
{
    (void)state;
    Setup *setup = setup_new("matmul_naive");
    setup->request.coarsen = true;
    setup->request.coarsening.shape = (Shape){.threads = {1, 1, 1}, .blocks = {2, 2, 1}};
    const MemoryChoice choice = choose(setup, NULL);
    assert_true(choice.request.coarsen && !choice.coarsens_otherwise);
    for (unsigned i = 0; i < choice.trial_count; i++)
        assert_true(choice.trials[i].coarsens);
    arena_free(setup->arena);
}

/* Five in nine blocks have threads beyond the edge. */
static void edges_are_tried(void **state)
{
    (void)state;
    Setup *setup = setup_of("tests/naive/naive.sm_90.ptx", "product_nt", "tests/naive/edges.launch.json");
    const MemoryChoice choice = choose(setup, NULL);
    bool both[2] = {false};
    assert_int_equal(choice.outcome, MEMORY_CHOSEN);
    assert_true(choice.best->edges && choice.best->stages && choice.request.edges);
    for (unsigned i = 0; i < choice.trial_count; i++)
        both[choice.trials[i].edges] |= choice.trials[i].stages;
    assert_true(both[0] && both[1]);
    expect_words(&choice, "threads beyond the edge going along");
    arena_free(setup->arena);
}

/* Neighbouring blocks become squares that the diagonal crosses, or does not. */
static void squares_are_tried_at_diagonals(void **state)
{
    (void)state;
    Setup *setup =
        setup_of("tests/naive/more.sm_90.ptx", "scores_causal", "tests/naive/causal.launch.json");
    const FactorChoice factors = {.trial_count = 0};
    const Shape square = {.threads = {1, 1, 1}, .blocks = {4, 4, 1}};
    setup->request.coarsening.shrinks_grid = true;
    const MemoryChoice choice = choose(setup, &factors);
    unsigned found = 0;
    for (unsigned i = 0; i < choice.trial_count; i++) {
        const MemoryTrial *trial = &choice.trials[i];
        found += trial->coarsens && trial->stages && trial->edges && trial->coarsening.stride.kind == STRIDE_UNIT &&
                 memcmp(trial->coarsening.shape.blocks, square.blocks, sizeof square.blocks) == 0;
    }
    assert_true(found);
    arena_free(setup->arena);
}

/* Blocks that count are merged as long as that helps, also in the place of threads, although no such coarsening was
 * tried before, and they become larger. */
static void counting_blocks_are_merged(void **state)
{
    (void)state;
    Setup *setup = setup_of("tests/naive/naive.sm_90.ptx", "histogram", "tests/naive/histogram.launch.json");
    const FactorChoice factors = {.trial_count = 0};
    setup->request.coarsening.shrinks_grid = true;
    MemoryChoice choice = choose(setup, &factors);
    unsigned most = 1, largest = 1;
    for (unsigned i = 0; i < choice.trial_count; i++) {
        const MemoryTrial *trial = &choice.trials[i];
        const bool is_wanted = trial->counts && trial->verdict.state == TRIAL_COMPARED;
        most = is_wanted && trial->coarsening.shape.blocks[0] > most ? trial->coarsening.shape.blocks[0] : most;
        const unsigned grown = trial->coarsening.shape.grown[0];
        largest = trial->counts && grown > largest ? grown : largest;
        assert_true(trial->coarsening.shape.blocks[1] < 2);
    }
    assert_in_range(most, 16, 64);
    assert_in_range(largest, 2, 4);
    setup->request.coarsening.shrinks_grid = false;
    choice = choose(setup, &factors);
    for (unsigned i = 0; i < choice.trial_count; i++)
        assert_true(!choice.trials[i].counts || choice.trials[i].coarsening.shape.blocks[0] < 2);
    arena_free(setup->arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_staged_or_joined), cmocka_unit_test(rows_are_held),
        cmocka_unit_test(rows_are_given_to_groups), cmocka_unit_test(coarsening_is_chosen_together),
        cmocka_unit_test(spilling_forms_are_rejected), cmocka_unit_test(time_limit_is_kept),
        cmocka_unit_test(small_grids_are_asked), cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(given_coarsening_stays),    cmocka_unit_test(little_gain_is_declined),
        cmocka_unit_test(squares_are_tried_at_diagonals), cmocka_unit_test(counting_blocks_are_merged),
        cmocka_unit_test(edges_are_tried),           cmocka_unit_test(larger_blocks_are_tried),
        cmocka_unit_test(single_elements_are_tried),
        cmocka_unit_test(free_registers_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
