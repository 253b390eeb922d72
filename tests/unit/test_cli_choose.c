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

#include "cli/choose.h"
#include "cli/output.h"
#include "parser/parser.h"

static const char scale_text[] = ".version 8.0\n"
                                 ".target sm_90\n"
                                 ".address_size 64\n"
                                 ".visible .entry scale(.param .u64 data)\n"
                                 "%s"
                                 "{\n"
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

/* The figures that the assembler would report for each form: 0 the original kernel, 1 eight threads merged, 2 four, 3
 * two. */
typedef struct Script {
    unsigned registers[4], spills[4];
    unsigned last; /* this form and later ones get its figures */
    bool broken;   /* the original kernel does not assemble */
} Script;

/* Each merged thread has its own store. */
static unsigned form_of(const Body *candidate)
{
    unsigned stores = 0;
    for (size_t b = 0; candidate && b < candidate->blocks.count; b++)
        for (const Inst *inst = candidate->blocks.data[b]->first; inst; inst = inst->next)
            stores += (inst->effects & EFFECT_WRITE) != 0;
    return stores == 8 ? 1 : stores == 4 ? 2 : stores == 2 ? 3 : 0;
}

static bool script_measure(void *context, const FunctionForm *measured, Figures *out)
{
    const Script *script = context;
    unsigned form = form_of(measured->body);
    *out = (Figures){.message = "the script says so"};
    if (script->broken)
        return false;
    form = form > script->last ? script->last : form;
    *out = (Figures){.known = true, .registers = script->registers[form], .spill_stores = script->spills[form]};
    return true;
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
    setup->judge = (Judge){&setup->script, script_measure};
    setup->options =
        (PipelineOptions){.machine = machine_for("sm_90"), .judge = &setup->judge, .level = 2};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        setup->options.passes.enabled[i] = true;
    KernelRequest *request = &setup->report.request;
    request->factor[0] = request->factor[1] = request->factor[2] = 1;
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

static void test_largest(void **state)
{
    (void)state;
    Setup *setup = setup_new("", plain, 256, &(Script){.registers = {16, 20}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_true(setup->report.request.coarsen);
    assert_int_equal(setup->report.request.factor[0], 8);
    assert_int_equal(setup->report.trial_count, 1);
    assert_true(setup->report.trials[0].chosen);
    assert_null(setup->report.refusal.reason);
    setup_free(setup);
}

static void test_spills_and_blocks(void **state)
{
    (void)state;
    /* x8 spills, x4 uses so many registers that fewer blocks fit. */
    Script script = {.registers = {32, 40, 255, 24}, .spills = {0, 8, 0, 0}, .last = 3};
    Setup *setup = setup_new("", plain, 1024, &script);
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_true(setup->report.request.coarsen);
    assert_int_equal(setup->report.trial_count, 3);
    assert_non_null(strstr(setup->report.trials[0].verdict, "8 bytes spilled instead of 0"));
    assert_non_null(strstr(setup->report.trials[1].verdict, "blocks on an SM instead of"));
    assert_int_equal(setup->report.request.factor[0], 2);
    setup_free(setup);
}

static void test_none_good(void **state)
{
    (void)state;
    Setup *setup = setup_new("", plain, 256, &(Script){.registers = {16, 16}, .spills = {0, 4}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_false(setup->report.request.coarsen);
    assert_null(setup->report.refusal.reason);
    assert_non_null(strstr(setup->report.choice, "no factor"));
    setup_free(setup);
}

static void test_lanes(void **state)
{
    (void)state;
    Setup *setup = setup_new("", plain, 64, &(Script){.registers = {16, 20}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_int_equal(setup->report.request.factor[0], 2);
    assert_non_null(strstr(setup->report.trials[0].verdict, "lanes idle"));
    setup_free(setup);
    setup = setup_new("", plain, 7, &(Script){.registers = {16, 20}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_false(setup->report.request.coarsen);
    assert_int_equal(setup->report.trial_count, 0);
    assert_non_null(strstr(setup->report.choice, "not divisible"));
    setup_free(setup);
}

static void test_block_of_module(void **state)
{
    (void)state;
    Setup *setup = setup_new(".reqntid 128\n", plain, 0, &(Script){.registers = {16, 20}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_int_equal(setup->report.request.factor[0], 4);
    setup_free(setup);
    setup = setup_new(".maxntid 256\n", plain, 0, &(Script){.registers = {16, 20}, .last = 1});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_int_equal(setup->report.request.factor[0], 8);
    setup_free(setup);
}

static void test_nothing_to_weigh(void **state)
{
    (void)state;
    Script script = {.registers = {16, 20}, .last = 1};
    Setup *setup = setup_new("", plain, 0, &script);
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_non_null(strstr(setup->report.refusal.reason, "block size"));
    setup_free(setup);

    setup = setup_new("", plain, 256, &script);
    setup->options.judge = NULL;
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_non_null(strstr(setup->report.refusal.reason, "no assembler"));
    setup_free(setup);

    setup = setup_new("", plain, 256, &(Script){.broken = true});
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_non_null(strstr(setup->report.refusal.reason, "the script says so"));
    setup_free(setup);

    setup = setup_new("", "activemask.b32 %r2", 256, &script);
    choose_factor(setup->arena, &setup->report, &setup->options);
    assert_false(setup->report.request.coarsen);
    assert_non_null(strstr(setup->report.refusal.reason, "activemask"));
    assert_true(setup->report.refusal.has_span);
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
        cmocka_unit_test(test_largest),         cmocka_unit_test(test_spills_and_blocks),
        cmocka_unit_test(test_none_good),       cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_block_of_module), cmocka_unit_test(test_nothing_to_weigh),
        cmocka_unit_test(test_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
