/* The recomputations that are proposed to the register search, and their order: the pass by itself, with a judge whose
 * answers the test chooses. */
#include "tests/unit/test_registers_support.h"

#include <stdio.h>
#include <stdlib.h>

#include "opt/registers/search/search.h"

/* Takes every form for as good as the first, or from the form number 'better_from' on, each for a little better; from
 * 'reached_from' on they spill nothing. */
typedef struct Stub {
    Judge judge;
    unsigned calls, better_from, reached_from;
    unsigned longest;     /* instructions of PTX in a form */
    uint64_t hashes[256]; /* of the forms */
    uint64_t prepared[256];
    unsigned prepared_count, ahead; /* ahead: since the last call */
} Stub;

static bool stub_measure(void *context, const FunctionForm *form, Figures *out)
{
    Stub *stub = context;
    unsigned call = stub->calls++, count = (unsigned)body_inst_count(form->body);
    assert_true(call < COUNT_OF(stub->hashes));
    stub->ahead = 0;
    stub->hashes[call] = text_hash(form->body);
    stub->longest = count > stub->longest ? count : stub->longest;
    *out = (Figures){.known = true, .registers = 32, .spill_loads = 2000, .instructions = 100};
    if (stub->better_from && call >= stub->better_from)
        out->spill_loads -= 4 * call;
    if (stub->reached_from && call >= stub->reached_from)
        out->spill_loads = 0;
    return true;
}

static void stub_prepare(void *context, const FunctionForm *form)
{
    Stub *stub = context;
    assert_true(++stub->ahead <= stub->judge.width && stub->prepared_count < COUNT_OF(stub->prepared));
    stub->prepared[stub->prepared_count++] = text_hash(form->body);
}

typedef struct Run {
    Arena *arena;
    Module *module;
    Stub stub;
    PassOptions options;
    RegistersRequest request;
    RegistersResult result;
    Search search;
    unsigned assemblies, begun;
    bool changed;
} Run;

static void run_start(Run *run, const char *text)
{
    *run = (Run){.arena = arena_new(), .module = module_of_text(text), .assemblies = 60};
    run->request = (RegistersRequest){.target = 32, .spill = true, .effort = 200};
    memset(run->options.enabled, true, sizeof run->options.enabled);
    run->stub.judge = (Judge){.context = &run->stub, .measure = stub_measure};
}

/* Runs the pass on the kernel in SSA form, as the search does. */
static void run_pass(Run *run)
{
    const char *reason;
    Function *kernel = module_find_function(run->module, "k");
    Body *input = body_build(kernel, &reason), *body = body_in_ssa(kernel);
    Search *search = &run->search;
    *search = (Search){
        .passes = pass_context_new(run->arena, &run->options, kernel, body),
        .request = &run->request, .result = &run->result, .input = input,
        .target = {.registers = run->request.target, .most_instructions = UINT64_MAX},
        .turn = {.stage = STAGE_COARSE, .assemblies = run->assemblies, .budget = {.effort = run->request.effort}},
        .spent = {.used = run->begun, .work = 64 * run->begun},
    };
    search->passes.sm = sm_limits_for("sm_90");
    search->passes.judge = &run->stub.judge;
    search->passes.search = search;
    run->result.before = (Figures){.known = true, .registers = 60, .instructions = 100};
    search->best.body = body_clone(body);
    search->current = search->best.figures =
        (Figures){.known = true, .registers = 32, .spill_loads = 2000, .instructions = 100};
    run->changed = pass_rematerialize(&search->passes);
    body_free(input);
}

static void run_end(Run *run)
{
    body_free(run->search.best.body);
    pass_context_free(&run->search.passes);
    arena_free(run->module->arena);
    arena_free(run->arena);
}

/* "40 20 10p": the numbers of values of the steps, 'p' for plain recomputations. */
static const char *batches(const Run *run)
{
    const char *text = "";
    for (size_t i = 0; i < run->search.record.steps.count; i++) {
        const Move *move = &run->search.record.steps.data[i].move;
        const bool is_plain = move->kind == MOVE_REMATERIALIZE;
        assert_true(is_plain || move->kind == MOVE_OPAQUE);
        text = arena_printf(run->arena, "%s%s%u%s", text, *text ? " " : "", move->count, is_plain ? "p" : "");
    }
    return text;
}

static Arena *text_arena;

/* As many sums of two loads. */
static const char *late_sums(Arena *arena, unsigned count)
{
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<300>;\n.reg .b64 %rd<2>;\n"
                                   "ld.param.u64 %rd1, [out];\nmov.u32 %r200, %tid.x;\n";
    for (unsigned i = 0; i < count; i++)
        text = arena_printf(arena, "%sld.global.v2.u32 {%%r%u, %%r%u}, [%%rd1+%u];\nadd.s32 %%r%u, %%r%u, %%r%u;\n",
                            text, 50 + i, 100 + i, 8 * i, i, 50 + i, 100 + i);
    return arena_printf(arena, "%sret;\n}\n", values_stored_late(arena, text, (int)count));
}

/* Values of four instructions each, which are read in turn. */
static const char *often_read(Arena *arena, unsigned count, unsigned rounds)
{
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<300>;\n.reg .b64 %rd<2>;\n"
                                   "ld.param.u64 %rd1, [out];\nmov.u32 %r200, %tid.x;\n";
    for (unsigned i = 0; i < count; i++)
        text = arena_printf(arena, "%smad.lo.s32 %%r%u, %%r200, %u, %u;\nxor.b32 %%r%u, %%r%u, 77;\n"
                                   "mul.lo.s32 %%r%u, %%r%u, %%r%u;\nxor.b32 %%r%u, %%r%u, 79;\n", text, 50 + i,
                            2 * i + 3, i, 100 + i, 50 + i, 150 + i, 100 + i, 100 + i, i, 150 + i);
    for (unsigned i = 0; i < count * rounds; i++)
        text = arena_printf(arena, "%sst.global.u32 [%%rd1+%u], %%r%u;\n", text, 4 * i, i % count);
    return arena_printf(arena, "%sst.global.u32 [%%rd1], %%r200;\nret;\n}\n", text);
}

static unsigned occurrences(uint64_t hash, const uint64_t *hashes, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += hashes[i] == hash;
    return found;
}

/* Nothing helps: halves down to one value, and then the next ones, four at once, until the share is used up. */
static void batches_are_halved(void **state)
{
    (void)state;
    for (unsigned begun = 0; begun <= 70; begun += 70) {
        Run run;
        run_start(&run, values_read_late(text_arena, 40));
        run.begun = begun;
        run_pass(&run);
        assert_true(strncmp(batches(&run), "42 21 10 5 2 1 4 2 1 4 2 1 4", 28) == 0);
        assert_false(run.changed);
        assert_int_equal(run.stub.calls, run.assemblies);
        for (unsigned i = 0; i < run.stub.calls; i++)
            assert_int_equal(occurrences(run.stub.hashes[i], run.stub.hashes, run.stub.calls), 1);
        run_end(&run);
    }
}

/* A batch that helps is kept, and equally many of the values after it follow; then those of other requests. */
static void what_helps_is_followed_by_the_next(void **state)
{
    (void)state;
    static const char *const expected[] = {"42 21 21 8p", "42 21 10 10 10 10 2 5p"};
    for (unsigned i = 0; i < COUNT_OF(expected); i++) {
        Run run;
        run_start(&run, values_read_late(text_arena, 40));
        run.stub.better_from = i + 1;
        run_pass(&run);
        assert_string_equal(batches(&run), expected[i]);
        assert_true(run.changed);
        run_end(&run);
    }
}

static void it_ends_when_the_target_is_reached(void **state)
{
    (void)state;
    Run run;
    run_start(&run, values_read_late(text_arena, 40));
    run.stub.reached_from = 2;
    run_pass(&run);
    assert_string_equal(batches(&run), "42 21 10");
    assert_true(run.changed);
    run_end(&run);
}

/* The forms that are assembled ahead are those that come next. */
static void batches_are_prepared(void **state)
{
    (void)state;
    for (unsigned better_from = 0; better_from <= 2; better_from++) {
        Run run;
        run_start(&run, values_read_late(text_arena, 40));
        run.stub.better_from = better_from;
        run.stub.judge.prepare = stub_prepare;
        run.stub.judge.width = 4;
        run_pass(&run);
        for (unsigned i = 0; i < run.stub.calls; i++)
            assert_true(occurrences(run.stub.hashes[i], run.stub.prepared, run.stub.prepared_count));
        assert_true(run.stub.prepared_count <= run.stub.calls + 13);
        run_end(&run);
    }
}

/* Two loads instead of their sum stay live: the model rejects that, except for single values. */
static void what_needs_more_is_not_assembled(void **state)
{
    (void)state;
    Run run;
    run_start(&run, late_sums(text_arena, 40));
    run_pass(&run);
    for (const char *at = batches(&run); at; at = strchr(at + 1, ' '))
        assert_in_range(strtoul(at, NULL, 10), 1, 5);
    run_end(&run);
}

static void code_does_not_explode(void **state)
{
    (void)state;
    Run run;
    run_start(&run, often_read(text_arena, 30, 12));
    run_pass(&run);
    assert_true(run.stub.calls > 0);
    assert_true(run.stub.longest <= 2 * body_inst_count(run.search.passes.body) + 200);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_halved),
        cmocka_unit_test(what_helps_is_followed_by_the_next),
        cmocka_unit_test(it_ends_when_the_target_is_reached),
        cmocka_unit_test(batches_are_prepared),
        cmocka_unit_test(what_needs_more_is_not_assembled),
        cmocka_unit_test(code_does_not_explode),
    };
    text_arena = arena_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(text_arena);
    return failed;
}
