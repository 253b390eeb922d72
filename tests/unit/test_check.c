/* Launches of coarsened kernels that nobody adapts: what stops them, and that nothing else is stopped. */
#include "parsed.h"

#include <stdio.h>

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "opt/opt.h"

/* What directives and calls cost, as the judge has it. */
typedef struct Costs {
    unsigned of_directives, of_calls; /* registers */
} Costs;

static bool measure(void *context, const FunctionForm *form, Figures *out)
{
    const Costs *costs = context;
    const Tuning *tuning = form->tuning ? form->tuning : form->body ? &form->body->tuning : &form->function->tuning;
    *out = (Figures){.known = true, .registers = 60, .instructions = 100};
    if (tuning->reqntid_count || tuning->maxntid_count)
        out->registers += costs->of_directives;
    if (form->body && form->body->declared.count)
        out->registers += costs->of_calls;
    return true;
}

typedef struct Checked {
    Arena *arena;
    Module *module;
    Buf text;
    const char *unadapted;
} Checked;

/* The elements of each block in reverse order, coarsened along x and perhaps along y. */
static Checked check(const char *tuning, const unsigned block[3], unsigned factor_y, const Costs *costs)
{
    Checked it = {.arena = arena_new()};
    Buf source = {0};
    buf_printf(&source,
               ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".visible .entry k(.param .u64 out)%s\n{\n"
               "\t.reg .b32 %%r<9>;\n\t.reg .b64 %%d<4>;\n"
               "\tld.param.u64 %%d1, [out];\n"
               "\tmov.u32 %%r1, %%ntid.x;\n\tmov.u32 %%r2, %%tid.x;\n\tmov.u32 %%r3, %%tid.y;\n"
               "\tmad.lo.u32 %%r4, %%r3, %%r1, %%r2;\n\tmul.wide.u32 %%d2, %%r4, 4;\n\tadd.s64 %%d3, %%d1, %%d2;\n"
               "\tmov.u32 %%r5, %%ntid.y;\n\tmad.lo.u32 %%r6, %%r1, 1000, %%r5;\n"
               "\tst.global.u32 [%%d3], %%r6;\n\tret;\n}\n",
               tuning);
    Module *module = module_from(buf_text(&source));
    buf_free(&source);
    Judge judge = {.context = (void *)costs, .measure = measure};
    PipelineOptions options = {.machine = machine_for("sm_90"), .judge = costs ? &judge : NULL};
    memset(options.passes.enabled, true, sizeof options.passes.enabled);
    const KernelRequest request = {.coarsen = true,
                                   .factor = {factor_y > 1 ? 1 : 2, factor_y, 1},
                                   .block = {block[0], block[1], block[2]}};
    KernelResult result;
    pipeline_run(it.arena, module_find_function(module, "k"), &request, &options, &result);
    assert_int_equal(result.coarsening, OUTCOME_DONE);
    it.unadapted = result.unadapted;
    kernel_install(&result);
    emit_module_as_written(module, &it.text);
    it.module = module_from(buf_text(&it.text));
    Buf again = {0};
    emit_module_as_written(it.module, &again);
    assert_string_equal(buf_text(&again), buf_text(&it.text));
    buf_free(&again);
    release(module);
    return it;
}

static void done(Checked *it)
{
    release(it->module);
    buf_free(&it->text);
    arena_free(it->arena);
}

/* Launches the coarsened kernel with this very block. 'fault': what stops it; FAULT_NONE: it computes as the original
 * does in a block larger by the factor. */
static void expect(const Checked *it, unsigned x, unsigned y, FaultKind fault, const char *word)
{
    enum { WORDS = 2048 };
    LaunchArgument out = {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_ZERO};
    Launch launch = {.kernel = "k", .grid = {3, 1, 1}, .block = {x, y, 1}, .arguments = &out, .argument_count = 1};
    EmulatorResult *result = emulator_run(it->arena, it->module, &launch, &(EmulatorOptions){0});
    if (result->fault.kind != fault || (word && !strstr(result->fault.message, word)))
        fail_msg("%s: %s\n%s", fault_name(result->fault.kind), result->fault.message, it->text.data);
    if (fault == FAULT_LAUNCH)
        return; /* nothing ran */
    const uint32_t *words = (const uint32_t *)emulator_buffer(result, "out")->bytes;
    for (unsigned i = 0; i < WORDS && fault != FAULT_NONE; i++)
        assert_int_equal(words[i], 0);
}

static void directives_stop_them(void **state)
{
    (void)state;
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 32, 4\n"));
    assert_string_equal(it.unadapted, "the driver refuses it (.reqntid)");
    expect(&it, 32, 4, FAULT_NONE, NULL);
    expect(&it, 64, 4, FAULT_LAUNCH, ".reqntid 32");
    done(&it);
    it = check("", (const unsigned[3]){0}, 2, NULL);
    assert_true(buf_has(&it.text, ".maxntid 512\n"));
    expect(&it, 256, 2, FAULT_NONE, NULL);
    expect(&it, 256, 3, FAULT_LAUNCH, "768");
    done(&it);
    /* .maxntid instead of which there is .reqntid now, and that of the input. */
    it = check(" .maxntid 256", (const unsigned[3]){64, 2, 1}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 32, 2\n"));
    assert_false(buf_has(&it.text, ".maxntid"));
    done(&it);
    it = check(" .maxntid 256", (const unsigned[3]){0}, 1, NULL);
    assert_true(buf_has(&it.text, ".maxntid 128\n"));
    assert_string_equal(it.unadapted, "the driver refuses blocks of more than 128 threads (.maxntid)");
    expect(&it, 256, 1, FAULT_LAUNCH, NULL);
    done(&it);
    it = check(" .reqntid 256", (const unsigned[3]){0}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 128\n"));
    done(&it);
}

static void the_kernel_stops_where_directives_cost_blocks(void **state)
{
    (void)state;
    const Costs costs = {.of_directives = 30};
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, &costs);
    assert_false(buf_has(&it.text, "ntid 32"));
    assert_string_equal(it.unadapted, "the kernel stops, with a message");
    expect(&it, 32, 4, FAULT_NONE, NULL);
    expect(&it, 64, 4, FAULT_TRAP, "launched by its launch contract, with blocks of 32,4,1 threads and not 64,4,1");
    done(&it);
    it = check("", (const unsigned[3]){64, 4, 1}, 4, &costs);
    expect(&it, 64, 1, FAULT_NONE, NULL);
    expect(&it, 64, 4, FAULT_TRAP, "with blocks of 64,1,1 threads and not 64,4,1");
    done(&it);
    it = check("", (const unsigned[3]){0}, 2, &costs);
    expect(&it, 32, 16, FAULT_NONE, NULL);
    expect(&it, 32, 17, FAULT_TRAP, "with blocks of at most 512 threads");
    done(&it);
}

static void nothing_stops_them_where_all_costs(void **state)
{
    (void)state;
    const Costs costs = {.of_directives = 30, .of_calls = 30};
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, &costs);
    assert_null(it.unadapted);
    assert_false(buf_has(&it.text, "__assertfail"));
    expect(&it, 64, 4, FAULT_NONE, NULL);
    done(&it);
}

static void a_known_block_is_the_only_one(void **state)
{
    (void)state;
    const LaunchContract contract = {.factor = {2, 1, 1}, .stride_unit = 1, .block = {64, 32, 1}};
    static const unsigned others[][3] = {{32, 32, 1}, {64, 64, 1}, {64, 32, 2}};
    const char *conditions[8];
    Arena *arena = arena_new();
    assert_int_equal(contract_conditions(arena, &contract, conditions), 1);
    assert_string_equal(conditions[0], "the block is 64,32,1");
    for (unsigned i = 0; i < COUNT_OF(others); i++)
        assert_non_null(contract_unmet(arena, &contract, others[i], NULL));
    assert_null(contract_unmet(arena, &contract, contract.block, NULL));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_stop_them),
        cmocka_unit_test(the_kernel_stops_where_directives_cost_blocks),
        cmocka_unit_test(a_known_block_is_the_only_one),
        cmocka_unit_test(nothing_stops_them_where_all_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
