/* Launches of coarsened kernels without an adapter: the check that stops them, and launches that it must not stop. */
#include "parsed.h"

#include <stdio.h>

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "engine/report/contract_words.h"
#include "opt/opt.h"

/* The costs of directives and calls in the judge's figures. */
typedef struct Cost {
    unsigned registers, spills, stack;
    bool is_unknown;
} Cost;

typedef struct Costs {
    Cost of_directives, of_calls;
    unsigned registers; /* without either; 0: 60 */
    bool is_unknown;    /* everything else is unknown too */
    bool predicts;
    unsigned longer_with_directives; /* that prediction, in cycles */
} Costs;

static void add_cost(Figures *figures, const Cost *cost)
{
    figures->registers += cost->registers;
    figures->spill_loads += cost->spills;
    figures->stack += cost->stack;
    figures->known &= !cost->is_unknown;
}

static bool measure(void *context, const FunctionForm *form, Figures *out)
{
    const Costs *costs = context;
    const Tuning *tuning = form->tuning ? form->tuning : form->body ? &form->body->tuning : &form->function->tuning;
    *out = (Figures){
        .known = !costs->is_unknown, .registers = costs->registers ? costs->registers : 60, .instructions = 100};
    if (tuning->reqntid_count || tuning->maxntid_count)
        add_cost(out, &costs->of_directives);
    for (size_t i = 0; form->body && i < form->body->blocks.count; i++)
        if (form->body->blocks.data[i]->is_never)
            add_cost(out, &costs->of_calls);
    return true;
}

static Prediction predict(void *context, const FunctionForm *form, const Figures *figures, const LaunchChange *change)
{
    const Costs *costs = context;
    const Tuning *tuning = form->tuning ? form->tuning : &form->body->tuning;
    assert_true(figures->known && change->block[0] * change->block[1] * change->block[2] > 1);
    bool has_directives = tuning->reqntid_count || tuning->maxntid_count;
    return (Prediction){.known = true, .cycles = 1000 + (has_directives ? costs->longer_with_directives : 0)};
}

typedef struct Checked {
    Arena *arena;
    Module *module;
    Buf text;
    Unadapted unadapted;
} Checked;

/* A kernel in a module with other items before and after it. */
typedef struct Sources {
    const char *before, *tuning, *after;
    const unsigned *block, *factor; /* of three */
} Sources;

/* The check must be in an entry that a right launch never takes, once. */
static void expect_never(const Body *body, bool has_check)
{
    unsigned never = 0;
    for (size_t i = 0; i < body->blocks.count; i++) {
        assert_int_equal(body->blocks.data[i]->is_cold, body->blocks.data[i]->is_never);
        never += body->blocks.data[i]->is_never;
    }
    assert_int_equal(never, has_check);
}

/* The kernel, in which each thread writes what it knows about its block. */
static Checked check_sources(const Sources *sources, const Costs *costs)
{
    Checked it = {.arena = arena_new()};
    Buf source = {0};
    buf_printf(&source,
               ".version 8.0\n.target sm_90\n.address_size 64\n%s"
               ".visible .entry k(.param .u64 out)%s\n{\n"
               "\t.reg .b32 %%r<12>;\n\t.reg .b64 %%d<4>;\n"
               "\tld.param.u64 %%d1, [out];\n"
               "\tmov.u32 %%r1, %%ntid.x;\n\tmov.u32 %%r2, %%tid.x;\n\tmov.u32 %%r3, %%tid.y;\n"
               "\tmov.u32 %%r5, %%ntid.y;\n\tmov.u32 %%r7, %%tid.z;\n\tmad.lo.u32 %%r8, %%r7, %%r5, %%r3;\n"
               "\tmad.lo.u32 %%r4, %%r8, %%r1, %%r2;\n\tmul.wide.u32 %%d2, %%r4, 4;\n\tadd.s64 %%d3, %%d1, %%d2;\n"
               "\tmad.lo.u32 %%r6, %%r1, 1000, %%r5;\n"
               "\tst.global.u32 [%%d3], %%r6;\n\tret;\n}\n%s",
               sources->before, sources->tuning, sources->after);
    Module *module = module_from(buf_text(&source));
    buf_free(&source);
    Judge judge = {
        .context = (void *)costs, .measure = measure, .predict = costs && costs->predicts ? predict : NULL};
    PipelineOptions options = {.sm = sm_limits_for("sm_90"), .judge = costs ? &judge : NULL};
    memset(options.passes.enabled, true, sizeof options.passes.enabled);
    KernelRequest request = {.coarsen = true};
    memcpy(request.coarsening.shape.threads, sources->factor, sizeof request.coarsening.shape.threads);
    memcpy(request.block, sources->block, sizeof request.block);
    KernelResult result;
    pipeline_run(it.arena, module_find_function(module, "k"), &request, &options, &result);
    assert_int_equal(result.coarsening, OUTCOME_DONE);
    it.unadapted = result.unadapted;
    expect_never(result.body, it.unadapted.effect >= UNADAPTED_STOPPED);
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

static Checked check(const char *tuning, const unsigned block[3], unsigned factor_y, const Costs *costs)
{
    const unsigned factor[3] = {factor_y > 1 ? 1 : 2, factor_y, 1};
    return check_sources(&(Sources){"", tuning, "", block, factor}, costs);
}

static void done(Checked *it)
{
    release(it->module);
    buf_free(&it->text);
    arena_free(it->arena);
}

/* Launches the coarsened kernel with this very block. 'fault': the fault that stops it. */
static void expect_in(const Checked *it, const unsigned block[3], FaultKind fault, const char *word)
{
    enum { WORDS = 2048 };
    LaunchArgument out = {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_ZERO};
    Launch launch = {.kernel = "k", .grid = {3, 2, 2}, .arguments = &out, .argument_count = 1};
    memcpy(launch.block, block, sizeof launch.block);
    EmulatorResult *result = emulator_run(it->arena, it->module, &launch, &(EmulatorOptions){0});
    if (result->fault.kind != fault || (word && !strstr(result->fault.message, word)))
        fail_msg("%s: %s\n%s", fault_name(result->fault.kind), result->fault.message, it->text.data);
    if (fault == FAULT_LAUNCH)
        return; /* nothing ran */
    const uint32_t *words = (const uint32_t *)emulator_buffer(result, "out")->bytes;
    for (unsigned i = 0; i < WORDS && fault != FAULT_NONE; i++)
        assert_int_equal(words[i], 0);
}

static void expect(const Checked *it, unsigned x, unsigned y, FaultKind fault, const char *word)
{
    expect_in(it, (const unsigned[3]){x, y, 1}, fault, word);
}

static void directives_stop_them(void **state)
{
    (void)state;
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 32, 4\n"));
    assert_int_equal(it.unadapted.effect, UNADAPTED_REFUSED);
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
    assert_int_equal(it.unadapted.effect, UNADAPTED_LARGER_REFUSED);
    assert_int_equal(it.unadapted.most, 128);
    expect(&it, 256, 1, FAULT_LAUNCH, NULL);
    done(&it);
    it = check(" .reqntid 256", (const unsigned[3]){0}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 128\n"));
    done(&it);
    it = check(" .maxntid 16, 16", (const unsigned[3]){0}, 1, NULL);
    assert_int_equal(it.unadapted.effect, UNADAPTED_LARGER_REFUSED);
    assert_int_equal(it.unadapted.most, 128);
    done(&it);
    /* A factor that does not divide the block, and three dimensions. */
    it = check("", (const unsigned[3]){65, 1, 1}, 1, NULL);
    assert_true(buf_has(&it.text, ".reqntid 33\n"));
    expect(&it, 33, 1, FAULT_NONE, NULL);
    done(&it);
    static const unsigned block[] = {8, 4, 4}, unknown[] = {0, 0, 0}, factor[] = {1, 1, 2};
    it = check_sources(&(Sources){"", "", "", block, factor}, NULL);
    assert_true(buf_has(&it.text, ".reqntid 8, 4, 2\n"));
    expect_in(&it, (const unsigned[]){8, 4, 2}, FAULT_NONE, NULL);
    expect_in(&it, block, FAULT_LAUNCH, ".reqntid 2");
    done(&it);
    it = check_sources(&(Sources){"", "", "", unknown, factor}, NULL);
    assert_true(buf_has(&it.text, ".maxntid 512\n"));
    done(&it);
}

static void the_kernel_stops_where_directives_cost_blocks(void **state)
{
    (void)state;
    const Costs costs = {.of_directives = {.registers = 30}};
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, &costs);
    assert_false(buf_has(&it.text, "ntid 32"));
    assert_int_equal(it.unadapted.effect, UNADAPTED_STOPPED);
    expect(&it, 32, 4, FAULT_NONE, NULL);
    expect(&it, 64, 4, FAULT_TRAP, "launched by its launch contract, with blocks of 32,4,1 threads and not 64,4,1");
    expect(&it, 16, 4, FAULT_TRAP, "and not 64,4,1");
    assert_true(buf_has(&it.text, ".b8 check_file[7] = {112, 116, 120, 111, 112, 116, 0};"));
    done(&it);
    /* If the input has a directive, another costs nothing more. */
    it = check(" .maxntid 256", (const unsigned[3]){64, 4, 1}, 1, &costs);
    expect(&it, 64, 4, FAULT_LAUNCH, ".reqntid 32");
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

static void blocks_of_three_dimensions(void **state)
{
    (void)state;
    static const unsigned block[] = {8, 4, 4}, unknown[] = {0, 0, 0}, factor[] = {1, 1, 2};
    const Costs costs = {.of_directives = {.registers = 30}};
    Checked it = check_sources(&(Sources){"", "", "", block, factor}, &costs);
    expect_in(&it, (const unsigned[]){8, 4, 2}, FAULT_NONE, NULL);
    expect_in(&it, block, FAULT_TRAP, "with blocks of 8,4,2 threads and not 8,4,4");
    done(&it);
    it = check_sources(&(Sources){"", "", "", unknown, factor}, &costs);
    expect_in(&it, (const unsigned[]){8, 8, 8}, FAULT_NONE, NULL);
    expect_in(&it, (const unsigned[]){8, 8, 9}, FAULT_TRAP, "at most 512 threads");
    done(&it);
}

/* The directives and the check that are worth their cost. */
static void what_costs(void **state)
{
    (void)state;
    static const unsigned unknown[3] = {0, 0, 0}, known[3] = {256, 1, 1};
    static const struct {
        Costs costs;
        const unsigned *block;
        char result; /* directive, check or none */
    } rows[] = {
        {{.of_directives = {0}}, unknown, 'd'},
        {{.of_directives = {.registers = 1}}, unknown, 'c'},
        {{.of_directives = {.registers = 1}}, known, 'd'}, /* as many blocks fit */
        {{.of_directives = {.registers = 30}}, known, 'c'},
        {{.of_directives = {.spills = 4}}, known, 'c'},
        {{.of_directives = {.stack = 4}}, unknown, 'c'},
        {{.of_directives = {.is_unknown = true}}, unknown, 'c'},
        {{.of_directives = {.registers = 30}, .of_calls = {.is_unknown = true}}, known, 'n'},
        {{.is_unknown = true}, unknown, 'd'},
        {{.registers = 20, .of_directives = {.registers = 5}, .of_calls = {.registers = 4}}, unknown, 'c'},
        {{.registers = 20, .of_directives = {.registers = 4}}, unknown, 'd'},
        {{.registers = 20, .of_directives = {.registers = 5}, .of_calls = {.registers = 5}}, unknown, 'n'},
        {{.registers = 60, .of_directives = {.registers = 5}, .of_calls = {.registers = 1}}, unknown, 'n'},
        {{.of_directives = {.registers = 30}, .of_calls = {.registers = 1}}, known, 'c'},
        {{.of_directives = {.registers = 30}, .of_calls = {.spills = 4}}, known, 'n'},
        {{.of_directives = {.registers = 30}, .of_calls = {.stack = 4}}, known, 'n'},
        /* fewer blocks matter only if they take longer, and spills in any case */
        {{.of_directives = {.registers = 30}, .predicts = true}, known, 'd'},
        {{.of_directives = {.registers = 30}, .predicts = true}, unknown, 'd'},
        {{.of_directives = {.registers = 30}, .predicts = true, .longer_with_directives = 1}, known, 'c'},
        {{.of_directives = {.registers = 30}, .predicts = true, .longer_with_directives = 1}, unknown, 'c'},
        {{.of_directives = {.spills = 4}, .predicts = true}, known, 'c'},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Checked it = check("", rows[i].block, 1, &rows[i].costs);
        char result = buf_has(&it.text, "__assertfail") ? 'c' : buf_has(&it.text, "ntid ") ? 'd' : 'n';
        if (result != rows[i].result)
            fail_msg("row %zu: %c\n%s", i, result, it.text.data);
        done(&it);
    }
}

/* A function of the module's own, which counts calls and keeps their arguments. */
static const char counting[] =
    ".visible .global .align 4 .u32 calls;\n.visible .global .align 4 .u32 seen[5];\n"
    ".visible .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s)\n{\n"
    "\t.reg .b32 %r<7>;\n\t.reg .b64 %d<5>;\n"
    "\tld.param.b64 %d1, [m];\n\tld.param.b64 %d2, [f];\n\tld.param.b32 %r3, [l];\n"
    "\tld.param.b64 %d3, [n];\n\tld.param.b64 %d4, [s];\n"
    "\tld.u8 %r1, [%d1];\n\tld.u8 %r2, [%d2];\n\tld.u8 %r4, [%d3];\n\tcvt.u32.u64 %r5, %d4;\n"
    "\tst.global.u32 [seen], %r1;\n\tst.global.u32 [seen+4], %r2;\n\tst.global.u32 [seen+8], %r3;\n"
    "\tst.global.u32 [seen+12], %r4;\n\tst.global.u32 [seen+16], %r5;\n"
    "\tatom.global.add.u32 %r6, [calls], 1;\n\tret;\n}\n";

static void one_thread_says_so(void **state)
{
    (void)state;
    enum { WORDS = 2048 };
    static const unsigned block[] = {8, 4, 4}, factor[] = {2, 1, 1};
    const Costs costs = {.of_directives = {.registers = 30}};
    Checked it = check_sources(&(Sources){counting, "", "", block, factor}, &costs);
    LaunchArgument out = {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_ZERO};
    const Launch launch = {
        .kernel = "k", .grid = {3, 2, 2}, .block = {8, 4, 4}, .arguments = &out, .argument_count = 1};
    EmulatorResult *result = emulator_run(it.arena, it.module, &launch, &(EmulatorOptions){0});
    assert_int_equal(result->fault.kind, FAULT_NONE);
    const uint32_t *calls = (const uint32_t *)emulator_buffer(result, "calls")->bytes;
    const uint32_t *seen = (const uint32_t *)emulator_buffer(result, "seen")->bytes;
    const uint32_t *words = (const uint32_t *)emulator_buffer(result, "out")->bytes;
    assert_int_equal(*calls, 1);
    assert_int_equal(seen[0], 'l');
    assert_int_equal(seen[1], 'p');
    assert_int_equal(seen[2], 0);
    assert_int_equal(seen[3], 'k');
    assert_int_equal(seen[4], 1);
    for (unsigned i = 0; i < WORDS; i++)
        assert_int_equal(words[i], 0);
    done(&it);
}

/* The function that the check calls may exist already, or something else of that name. */
static void functions_of_that_name(void **state)
{
    (void)state;
    static const char fitting[] =
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n";
    static const char shorter[] = ".extern .func __assertfail(.param .b64 a, .param .b64 b);\n";
    static const char entry[] = ".visible .entry __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, "
                                ".param .b64 d, .param .b64 e) { ret; }\n";
    static const struct {
        const char *before, *after;
        bool stops;
    } rows[] = {{"", "", true}, {fitting, "", true}, {"", fitting, false}, {shorter, "", false}, {entry, "", false}};
    static const unsigned block[] = {64, 4, 1}, factor[] = {2, 1, 1};
    const Costs costs = {.of_directives = {.registers = 30}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Checked it = check_sources(&(Sources){rows[i].before, "", rows[i].after, block, factor}, &costs);
        assert_int_equal(it.unadapted.effect != UNADAPTED_UNNOTICED, rows[i].stops);
        expect(&it, 64, 4, rows[i].stops ? FAULT_TRAP : FAULT_NONE, NULL);
        done(&it);
    }
}

static void nothing_stops_them_where_all_costs(void **state)
{
    (void)state;
    const Costs costs = {.of_directives = {.registers = 30}, .of_calls = {.registers = 30}};
    Checked it = check("", (const unsigned[3]){64, 4, 1}, 1, &costs);
    assert_int_equal(it.unadapted.effect, UNADAPTED_UNNOTICED);
    assert_false(buf_has(&it.text, "__assertfail"));
    expect(&it, 64, 4, FAULT_NONE, NULL);
    done(&it);
}

static void a_known_block_is_the_only_one(void **state)
{
    (void)state;
    const LaunchContract contract = {.shape = {{2, 1, 1}, {1, 1, 1}}, .stride_unit = 1, .block = {64, 32, 1}};
    static const unsigned others[][3] = {{32, 32, 1}, {64, 64, 1}, {64, 32, 2}};
    LaunchCondition conditions[CONTRACT_CONDITIONS];
    LaunchUnmet unmet;
    Arena *arena = arena_new();
    assert_int_equal(contract_conditions(&contract, conditions), 1);
    assert_string_equal(condition_text(arena, &conditions[0]), "the block is 64,32,1");
    for (unsigned i = 0; i < COUNT_OF(others); i++)
        assert_false(contract_is_met(&contract, others[i], NULL, &unmet));
    assert_true(contract_is_met(&contract, contract.block, NULL, &unmet));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_stop_them),
        cmocka_unit_test(the_kernel_stops_where_directives_cost_blocks),
        cmocka_unit_test(blocks_of_three_dimensions),
        cmocka_unit_test(what_costs),
        cmocka_unit_test(one_thread_says_so),
        cmocka_unit_test(functions_of_that_name),
        cmocka_unit_test(a_known_block_is_the_only_one),
        cmocka_unit_test(nothing_stops_them_where_all_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
