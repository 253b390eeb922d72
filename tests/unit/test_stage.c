/* Nests of loops whose rows are staged in shared memory, with an inner loop of which several rounds become one. */
#include "parsed.h"

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "tests/tools/form_difference.h"

/* A window of 32 rows and as many columns as the launch says, from each thread's element on. */
static const char nest[] =
    SM_90 ".visible .entry k(.param .u64 image, .param .u64 mask, .param .u64 out, .param .u32 columns)\n{\n"
    "\t.reg .b32 %r<24>, %x, %y, %j, %i, %n;\n\t.reg .b64 %image, %mask, %out, %d<8>, %p<2>;\n"
    "\t.reg .f32 %f<4>, %sum;\n\t.reg .pred %q<4>;\n"
    "\tld.param.u64 %image, [image];\n\tld.param.u64 %mask, [mask];\n\tld.param.u64 %out, [out];\n"
    "\tld.param.u32 %n, [columns];\n\tmov.u32 %x, %tid.x;\n\tmov.u32 %y, %tid.y;\n"
    "\tmov.f32 %sum, 0f00000000;\n\tmov.u32 %j, 0;\n"
    "ROW:\n"
    "\tadd.s32 %r1, %y, %j;\n\tmad.lo.s32 %r2, %r1, 64, %x;\n\tmul.wide.s32 %d1, %r2, 4;\n"
    "\tadd.s64 %p0, %image, %d1;\n\tmul.lo.s32 %r3, %j, 32;\n\tmul.wide.s32 %d2, %r3, 4;\n"
    "\tadd.s64 %p1, %mask, %d2;\n\tmov.u32 %i, 0;\n"
    "COLUMN:\n"
    "\tld.global.f32 %f1, [%p1];\n\tld.global.f32 %f2, [%p0];\n\tfma.rn.f32 %sum, %f1, %f2, %sum;\n"
    "\tadd.s64 %p0, %p0, 4;\n\tadd.s64 %p1, %p1, 4;\n\tadd.s32 %i, %i, 1;\n"
    "\tsetp.lt.s32 %q1, %i, %n;\n\t@%q1 bra COLUMN;\n"
    "\tadd.s32 %j, %j, 1;\n\tsetp.lt.s32 %q2, %j, 32;\n\t@%q2 bra ROW;\n"
    "\tmad.lo.s32 %r4, %y, 16, %x;\n\tmul.wide.s32 %d3, %r4, 4;\n\tadd.s64 %d4, %out, %d3;\n"
    "\tst.global.f32 [%d4], %sum;\n\tret;\n}\n";

/* The factor by which the inner loop is unrolled. Fails unless the results are the original's with this number of
 * columns, and tiles are used if 'staged', else not: they are for a multiple of the factor. */
static unsigned check(uint32_t columns, bool staged)
{
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "image", .type = TYPE_F32, .count = 40 * 64, .fill = FILL_UNIFORM,
         .low = -1, .high = 1, .seed = 1},
        {.kind = ARGUMENT_BUFFER, .name = "mask", .type = TYPE_F32, .count = 32 * 32, .fill = FILL_UNIFORM,
         .low = -1, .high = 1, .seed = 2},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_F32, .count = 128, .fill = FILL_ZERO},
        {.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .bytes = &columns, .size = sizeof columns},
    };
    const Launch launch = {.kernel = "k", .grid = {1, 1, 1}, .block = {16, 8, 1}, .arguments = arguments,
                           .argument_count = COUNT_OF(arguments)};
    const EmulatorOptions checks = {.check_races = true, .check_unwritten = true, .check_registers = true};
    PipelineOptions options = {.no_figures = true};
    const KernelRequest request = {.staging = {.wanted = true, .unrolls = true}, .block = {16, 8, 1}};
    Arena *arena = arena_new();
    Module *module = module_from(nest);
    const EmulatorResult *expected = emulator_run(arena, module, &launch, &checks);
    KernelResult result = {0};
    Buf text = {0};
    EmulatorCounters counters = {0};
    options.passes.enabled[PASS_STAGE] = options.passes.enabled[PASS_CLEANUP] = true;
    pipeline_run(arena, module_find_function(module, "k"), &request, &options, &result);
    assert_int_equal(result.staging, OUTCOME_DONE);
    assert_true(result.staged.loops.data[0].is_nest);
    const unsigned unrolled = result.staged.loops.data[0].unrolled;
    kernel_install(&result);
    emit_module(module, &text);
    const LaunchChange change = kernel_launch_change(&result);
    const char *message = form_difference(arena, &text, &launch, &change, expected, &checks, &counters);
    if (message)
        fail_msg("%u columns: %s", columns, message);
    assert_int_equal(counters.barriers > 0, staged);
    function_set_body(module_find_function(module, "k"), NULL);
    buf_free(&text);
    arena_free(module->arena);
    arena_free(arena);
    return unrolled;
}

static void test_nest_rounds(void **state)
{
    (void)state;
    assert_int_equal(check(32, true), 32);
    check(31, false);
    check(1, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nest_rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
