/* The counts of a run beyond its totals: by instruction, by block, and of reuse by blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

/* Every thread of block b runs a loop b + 1 times, in which it loads its word of 'in' and, in all blocks, word 0; then
 * it stores its word of 'out'. */
static const char *const text =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\n"
    "mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nmov.u32 %r4, 0;\n"
    "loop:\n"
    "ld.global.u32 %r5, [%rd4];\n"
    "ld.global.u32 %r6, [%rd1];\n"
    "add.u32 %r4, %r4, 1;\nsetp.le.u32 %p, %r4, %r2;\n@%p bra loop;\n"
    "st.global.u32 [%rd5], %r5;\nret;\n}\n";

enum { BLOCKS = 3, THREADS = 64, WARPS = THREADS / 32, BEFORE = 9, LOOP = 5, AFTER = 2, EXECUTIONS = 1 + 2 + 3 };

static EmulatorResult *run(Arena *arena, const FunctionForm *form, Module *module, unsigned jobs)
{
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = BLOCKS * THREADS, .fill = FILL_IOTA},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = BLOCKS * THREADS},
    };
    Launch launch = {.kernel = "k",
                     .grid = {BLOCKS, 1, 1},
                     .block = {THREADS, 1, 1},
                     .arguments = arguments,
                     .argument_count = 2};
    EmulatorOptions options = {.count_memory = true,
                               .count_reuse = true,
                               .count_blocks = true,
                               .count_instructions = true,
                               .jobs = jobs,
                               .forms = form,
                               .form_count = form ? 1 : 0};
    EmulatorResult *result = emulator_run(arena, module, &launch, &options);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", fault_text(arena, module, &result->fault));
    return result;
}

static Module *parse(Arena *arena)
{
    Diag diag;
    Source *source = source_from_memory(arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    return parse_module(arena, source, &diag);
}

/* Sectors hold 8 words. */
static void check_counts(const EmulatorResult *result)
{
    const EmulatorCounters *counters = &result->counters;
    assert_int_equal(result->block_count, BLOCKS);
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t before = i ? result->blocks[i - 1].longest_warp : 0;
        assert_in_range(result->blocks[i].longest_warp - before, LOOP, i ? LOOP + 1 : BEFORE + LOOP + AFTER + 4);
        assert_int_equal(result->blocks[i].all_warps, WARPS * result->blocks[i].longest_warp);
    }
    assert_int_equal(counters->load_sectors, WARPS * EXECUTIONS * (4 + 1));
    assert_int_equal(counters->block_load_sectors, BLOCKS * (THREADS / 8) + BLOCKS - 1);
    assert_int_equal(counters->load_footprint, BLOCKS * THREADS / 8);
    assert_int_equal(counters->block_store_sectors, BLOCKS * THREADS / 8);
    assert_int_equal(counters->store_footprint, BLOCKS * THREADS / 8);
    assert_int_equal(counters->unread_footprint, BLOCKS * THREADS / 8);
    assert_int_equal(counters->stored, BLOCKS * THREADS * 4);
    assert_int_equal(result->instruction_count, BEFORE + LOOP + AFTER);
    const EmulatorInst *load = &result->instructions[BEFORE];
    assert_string_equal(load->function->name, "k");
    assert_int_equal(load->warps, WARPS * EXECUTIONS);
    assert_int_equal(load->threads, THREADS * EXECUTIONS);
    assert_int_equal(load->sectors, WARPS * EXECUTIONS * 4);
    assert_int_equal(load->fresh, BLOCKS * (THREADS / 8));
    assert_int_equal(result->instructions[0].warps, WARPS * BLOCKS);
}

static void counts_by_instruction_and_block(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = parse(arena);
    const EmulatorResult *result = run(arena, NULL, module, 1);
    check_counts(result);
    assert_null(result->instructions[0].inst);
    assert_memory_equal(text + result->instructions[BEFORE].span.begin, "ld.global.u32 %r5", 17);
    arena_free(arena);
}

static void several_cores_count_the_same(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    check_counts(run(arena, NULL, parse(arena), 2));
    arena_free(arena);
}

static bool is_over_at_once(void *context, double share)
{
    assert_true(share >= 0 && share <= 1);
    ++*(unsigned *)context;
    return true;
}

static bool is_never_over(void *context, double share)
{
    return !is_over_at_once(context, share);
}

/* This holds also if several cores would begin again on one. */
static void a_run_can_be_stopped(void **state)
{
    (void)state;
    unsigned asked = 0;
    const EmulatorPoll ends = {.is_over = is_over_at_once, .context = &asked};
    const EmulatorPoll stays = {.is_over = is_never_over, .context = &asked};
    const uint64_t zero = 0;
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = BLOCKS * THREADS, .fill = FILL_IOTA},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = BLOCKS * THREADS, .fill = FILL_ZERO},
    };
    Launch launch = {.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .arguments = arguments,
                     .argument_count = 2};
    for (unsigned jobs = 1; jobs <= 2; jobs++) {
        Arena *arena = arena_new();
        asked = 0;
        EmulatorOptions options = {.jobs = jobs, .poll = &ends};
        const EmulatorResult *result = emulator_run(arena, parse(arena), &launch, &options);
        assert_int_equal(result->fault.kind, FAULT_STOPPED);
        assert_memory_equal(emulator_buffer(result, "out")->bytes + 4 * THREADS, &zero, sizeof zero);
        options.poll = &stays;
        assert_int_equal(emulator_run(arena, parse(arena), &launch, &options)->fault.kind, FAULT_NONE);
        assert_true(asked > 1);
        arena_free(arena);
    }
}

static void a_form_runs_in_place_of_the_function(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Module *module = parse(arena);
    Function *kernel = module_find_function(module, "k");
    const char *reason;
    Body *body = body_build(kernel, &reason);
    const FunctionForm form = {.function = kernel, .body = body};
    const EmulatorResult *result = run(arena, &form, module, 1);
    check_counts(result);
    assert_ptr_equal(result->instructions[0].inst, body->blocks.data[0]->first);
    assert_null(kernel->body);
    body_free(body);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_instruction_and_block),
        cmocka_unit_test(several_cores_count_the_same),
        cmocka_unit_test(a_run_can_be_stopped),
        cmocka_unit_test(a_form_runs_in_place_of_the_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
