/* Figures that are kept on disk, and several assemblies at once. */
#include "tests/unit/parsed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/judge/judge.h"
#include "engine/spilled.h"

static const Figures some = {
    .known = true,
    .serialized = true,
    .registers = 40,
    .barriers = 1,
    .spill_stores = 8,
    .spill_loads = 12,
    .stack = 16,
    .shared = 1024,
    .constant = 380,
    .instructions = 77,
};

static const char *cache_folder(void)
{
    static char folder[4096];
    const char *base = getenv("TEST_TMP");
    snprintf(folder, sizeof folder, "%s/cache-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    return folder;
}

static void figures_are_kept(void **state)
{
    (void)state;
    char deep[5000];
    snprintf(deep, sizeof deep, "%s/a/b", cache_folder());
    setenv("PTXOPT_CACHE", deep, 1);
    const TextKey key = {1000, 11, 22}, other = {1000, 11, 23}, longer = {1001, 11, 22};
    FiguresCache cache = figures_cache_open();
    Figures figures;
    assert_true(cache.file >= 0);
    assert_false(figures_cache_find(&cache, &key, &figures));
    figures_cache_store(&cache, &key, &some);
    figures_cache_close(&cache);
    cache = figures_cache_open();
    assert_true(figures_cache_find(&cache, &key, &figures));
    assert_memory_equal(&figures, &some, sizeof figures);
    assert_false(figures_cache_find(&cache, &other, &figures));
    assert_false(figures_cache_find(&cache, &longer, &figures));
    /* A failure is not kept, because it may be the machine's fault. */
    Figures failed = {.message = "no"};
    figures_cache_store(&cache, &other, &failed);
    assert_false(figures_cache_find(&cache, &other, &figures));
    figures_cache_close(&cache);
    setenv("PTXOPT_CACHE", "none", 1);
}

/* Every byte of the file is changed in turn: the record is then not found, or unharmed. */
static void damage_is_noticed(void **state)
{
    (void)state;
    const char *folder = cache_folder();
    char path[5000];
    const TextKey key = {9, 0, 0}; /* the first place of the file */
    setenv("PTXOPT_CACHE", folder, 1);
    FiguresCache cache = figures_cache_open();
    figures_cache_store(&cache, &key, &some);
    snprintf(path, sizeof path, "%s/figures-1", folder);
    int file = open(path, O_RDWR);
    struct stat status;
    assert_true(file >= 0 && fstat(file, &status) == 0 && status.st_size > 0 && status.st_size < 1000);
    for (off_t at = 0; at < status.st_size; at++) {
        unsigned char byte, changed;
        Figures figures;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        changed = byte ^ 0x40;
        assert_int_equal(pwrite(file, &changed, 1, at), 1);
        assert_false(figures_cache_find(&cache, &key, &figures));
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        assert_true(figures_cache_find(&cache, &key, &figures));
    }
    assert_int_equal(ftruncate(file, status.st_size - 1), 0);
    Figures figures;
    assert_false(figures_cache_find(&cache, &key, &figures));
    close(file);
    figures_cache_close(&cache);
    setenv("PTXOPT_CACHE", "none", 1);
}

static void without_a_folder_there_is_no_cache(void **state)
{
    (void)state;
    const char *const names[] = {"none", "", "/dev/null/x"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        setenv("PTXOPT_CACHE", names[i], 1);
        FiguresCache cache = figures_cache_open();
        Figures figures;
        assert_int_equal(cache.file, -1);
        figures_cache_store(&cache, &(TextKey){1, 2, 3}, &some);
        assert_false(figures_cache_find(&cache, &(TextKey){1, 2, 3}, &figures));
        figures_cache_close(&cache);
    }
    setenv("PTXOPT_CACHE", "none", 1);
}

static FunctionForm form_of(Module *module, Tuning *tuning, unsigned cap)
{
    Function *kernel = function_of(module, "k");
    *tuning = kernel->tuning;
    tuning->maxnreg = cap;
    return (FunctionForm){.function = kernel, .tuning = tuning};
}

/* Frees what a test has used, which is skipped without an assembler. */
static void test_end(Arena *arena, Module *module, Assembler *assembler)
{
    assembler_close(assembler);
    release(module);
    arena_free(arena);
    if (!assembler)
        skip();
}

/* Forms that are prepared get the figures that they get one by one, with every assembler that is installed; one of
 * them is wrong. */
static void prepared_forms_are_answered(void **state)
{
    (void)state;
    enum { FORMS = 5 };
    Arena *arena = arena_new();
    const char *error, *folder = cache_folder();
    Module *module = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<3>;\n.reg .f32 %f<3>;\n"
                                        "ld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, %f1;\n"
                                        "st.global.f32 [%d1], %f2;\nret;\n}\n");
    Module *large = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<3>;\n"
                                       ".shared .b8 s[500000];\nmov.u64 %d1, s;\nld.param.u64 %d2, [p];\n"
                                       "st.global.u64 [%d2], %d1;\nret;\n}\n");
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Assembler *assembler = assembler_open(arena, kind, "sm_90", &error);
        if (!assembler)
            continue;
        setenv("PTXOPT_CACHE", folder, 1);
        AssemblerJudge alone, together, later;
        Tuning tunings[FORMS];
        FunctionForm forms[FORMS];
        Arena *passing = arena_new(); /* the assembler outlives the first judge and its arena */
        assembler_judge_init(&together, passing, assembler);
        setenv("PTXOPT_CACHE", "none", 1);
        assembler_judge_init(&alone, arena, assembler);
        for (unsigned i = 0; i < FORMS; i++)
            forms[i] = form_of(i < 4 ? module : large, &tunings[i], i == 3 ? 32 : 24 + 8 * i); /* 3 repeats 1 */
        for (unsigned i = 0; i < FORMS; i++)
            together.judge.prepare(&together, &forms[i]);
        assert_int_equal(together.calls, FORMS - 1);
        for (unsigned i = 0; i < FORMS; i++) {
            Figures one, other;
            assert_int_equal(alone.judge.measure(&alone, &forms[i], &one),
                             together.judge.measure(&together, &forms[i], &other));
            assert_int_equal(one.known, i < 4);
            assert_int_equal(one.registers, other.registers);
            assert_int_equal(one.instructions, other.instructions);
        }
        assert_int_equal(together.calls, FORMS - 1);
        /* The next run finds the correct figures on disk. */
        setenv("PTXOPT_CACHE", folder, 1);
        assembler_judge_close(&together);
        arena_free(passing);
        assembler_judge_init(&later, arena, assembler);
        setenv("PTXOPT_CACHE", "none", 1);
        for (unsigned i = 0; i < FORMS; i++)
            later.judge.prepare(&later, &forms[i]);
        assert_int_equal(later.calls, 1);
        Figures again;
        forms[0].tuning = NULL; /* not seen before */
        forms[1].tuning = NULL;
        for (unsigned i = 0; i < 2; i++)
            later.judge.prepare(&later, &forms[i]);
        assert_int_equal(later.calls, 2);
        assert_true(later.judge.measure(&later, &forms[1], &again));
        assembler_judge_close(&alone);
        assembler_judge_close(&later);
        assembler_close(assembler);
    }
    release(module);
    release(large);
    arena_free(arena);
}

/* One text under other options is another form, for the figures here and for those on disk. */
static void options_make_another_form(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error, *folder = cache_folder();
    const char *text = HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n"
                              ".reg .pred %q<2>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, 0;\nL:\n"
                              "ld.volatile.global.u32 %r2, [%d1];\nadd.u32 %r3, %r2, %r1;\n"
                              "st.volatile.global.u32 [%d1], %r3;\nadd.u32 %r1, %r1, 1;\n"
                              "setp.lt.u32 %q1, %r1, 12;\n@%q1 bra L;\nret;\n}\n";
    Module *module = module_from(text);
    for (AssemblerKind kind = ASSEMBLER_PTXAS; kind <= ASSEMBLER_NVJITLINK; kind++) {
        Assembler *assembler = assembler_open(arena, kind, "sm_90", &error);
        if (!assembler)
            continue;
        uint64_t instructions[2];
        for (unsigned round = 0; round < 2; round++) { /* the second is answered from the disk */
            AssemblerJudge judge;
            setenv("PTXOPT_CACHE", folder, 1);
            assembler_judge_init(&judge, arena, assembler);
            setenv("PTXOPT_CACHE", "none", 1);
            for (unsigned k = 0; k < 2; k++) {
                Tuning tuning;
                FunctionForm form = form_of(module, &tuning, 0);
                Figures figures;
                tuning.knobs = k << KNOB_LEVEL_1;
                assert_true(judge.judge.measure(&judge, &form, &figures));
                assert_false(figures.repeated);
                if (!round)
                    instructions[k] = figures.instructions;
                assert_int_equal(figures.instructions, instructions[k]);
            }
            assert_int_equal(judge.calls, round ? 0 : 2);
            assembler_judge_close(&judge);
        }
        assert_int_not_equal(instructions[0], instructions[1]); /* the loop is unrolled, or not */
        assembler_close(assembler);
    }
    release(module);
    arena_free(arena);
}

static void count_run(void *context, bool done)
{
    *(unsigned *)context += done;
}

/* A prediction of a measured form needs no assembly if its machine code is kept. */
static void predictions_use_the_machine_code_at_hand(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error;
    const unsigned block[3] = {128, 1, 1};
    Module *module = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<3>;\n.reg .f32 %f<3>;\n"
                                        "ld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nadd.f32 %f2, %f1, %f1;\n"
                                        "st.global.f32 [%d1], %f2;\nret;\n}\n");
    const CostBasis basis = cost_basis(arena, sm_limits_for("sm_90"), device_for(90), NULL, block, 0);
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    setenv("PTXOPT_CACHE", "none", 1);
    for (unsigned forgets = 0; assembler && forgets < 2; forgets++) {
        unsigned runs = 0;
        AssemblerJudge judge;
        Tuning tuning;
        Figures figures;
        bool is_new;
        const FunctionForm form = form_of(module, &tuning, 32);
        const LaunchChange change = {0};
        assembler_judge_init(&judge, arena, assembler);
        judge.basis = &basis;
        assembler_set_waiting(assembler, count_run, &runs);
        assert_true(judge.judge.measure(&judge, &form, &figures));
        assert_false(figures.repeated);
        assert_int_equal(runs, 1);
        if (forgets)
            assembler_judge_forget(&judge);
        FormCost cost = assembler_judge_cost(&judge, &form, &figures, &change, &is_new);
        assert_true(cost.known && is_new);
        assert_non_null(cost.profile->sm);
        if (!forgets)
            assert_int_equal(runs, 1);
        unsigned before = runs;
        FormCost again = assembler_judge_cost(&judge, &form, &figures, &change, &is_new);
        assert_false(is_new);
        assert_float_equal(again.time.cycles, cost.time.cycles, 0);
        assert_true(judge.judge.measure(&judge, &form, &figures));
        assert_true(figures.repeated);
        assert_int_equal(runs, before);
        assembler_set_waiting(assembler, NULL, NULL);
        assembler_judge_close(&judge);
    }
    test_end(arena, module, assembler);
}

/* Dynamic shared memory limits the blocks of an SM even without a launch. */
static void dynamic_memory_limits_estimates(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const unsigned block[3] = {128, 1, 1};
    Module *module = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<2>;\n"
                                        "ld.param.u64 %d1, [p];\nst.global.u64 [%d1], %d1;\nret;\n}\n");
    const FunctionForm form = {.function = function_of(module, "k")};
    const Figures figures = {.known = true, .registers = 16};
    for (unsigned blocks = 1; blocks <= 4; blocks++) {
        const uint64_t each = 227 * 1024 / blocks;
        const CostBasis basis = cost_basis(arena, sm_limits_for("sm_90"), device_for(90), NULL, block, each - 1024);
        FormCost cost = form_cost(&basis, &form, &figures, NULL);
        assert_true(cost.known);
        assert_int_equal(cost.time.resident_blocks, blocks);
    }
    arena_free(module->arena);
    arena_free(arena);
}

/* The code for a prediction of the input is assembled in parallel with the caller, once, even if its figures are on
 * disk. */
static void predictions_are_prepared(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error, *folder = cache_folder();
    const unsigned block[3] = {128, 1, 1};
    Module *module = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<2>;\n"
                                        "ld.param.u64 %d1, [p];\nst.global.u64 [%d1], %d1;\nret;\n}\n");
    const CostBasis basis = cost_basis(arena, sm_limits_for("sm_90"), device_for(90), NULL, block, 0);
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    double cycles = 0;
    enum { TOLD, MEASURED, FROM_DISK, ROUNDS };
    for (unsigned round = 0; assembler && round < ROUNDS; round++) {
        AssemblerJudge judge;
        Assembly assembly;
        Figures figures;
        bool is_new;
        const AssemblyRequest request = assembly_request(module->source->text, module->source->size);
        const FunctionForm form = {.function = function_of(module, "k")};
        const LaunchChange change = {0};
        setenv("PTXOPT_CACHE", folder, 1);
        assembler_judge_init(&judge, arena, assembler);
        setenv("PTXOPT_CACHE", "none", 1);
        judge.basis = &basis;
        judge.judge.width = 2;
        if (round == TOLD) {
            assert_true(assembler_run(assembler, arena, &request, &assembly));
            assembler_judge_answer(&judge, &form, &assembly);
        } else if (round == MEASURED) {
            figures_cache_close(&judge.cache);
            judge.cache = figures_cache_open(); /* none */
        }
        judge.judge.prepare_prediction(&judge, &form);
        judge.judge.prepare_prediction(&judge, &form);
        assert_int_equal(judge.calls, 1);
        assert_true(judge.judge.measure(&judge, &form, &figures));
        FormCost cost = assembler_judge_cost(&judge, &form, &figures, &change, &is_new);
        assert_true(cost.known && is_new);
        assert_non_null(cost.profile->sm);
        judge.judge.prepare_prediction(&judge, &form);
        assert_int_equal(judge.calls, 1);
        if (round)
            assert_float_equal(cost.time.cycles, cycles, 0);
        cycles = cost.time.cycles;
        assembler_judge_close(&judge);
    }
    test_end(arena, module, assembler);
}

/* If spills go to shared memory, those to local memory are counted in the code, including helpers: a division calls
 * one, and the log then says too little. */
static void spills_are_counted(void **state)
{
    (void)state;
    enum { VALUES = 30 };
    Arena *arena = arena_new();
    const char *error;
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    if (!assembler) {
        arena_free(arena);
        skip();
    }
    Buf text = {0};
    buf_puts(&text, ".version 8.7\n.target sm_90\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p)\n.maxntid 128\n.maxnreg 24\n{\n"
                    ".pragma \"enable_smem_spilling\";\n.reg .b64 %d<3>;\n.reg .f64 %f<64>;\n"
                    "ld.param.u64 %d1, [p];\nmov.f64 %f0, 0d0000000000000000;\n");
    for (unsigned i = 1; i <= VALUES; i++)
        buf_printf(&text, "ld.global.f64 %%f%u, [%%d1+%u];\nadd.f64 %%f0, %%f0, %%f%u;\n", i, 8 * i, i);
    for (unsigned i = 1; i <= VALUES; i++)
        buf_printf(&text, "div.rn.f64 %%f%u, %%f%u, %%f0;\n", VALUES + i, i);
    for (unsigned i = 1; i <= VALUES; i++)
        buf_printf(&text, "fma.rn.f64 %%f%u, %%f%u, %%f%u, %%f0;\nst.global.f64 [%%d1+%u], %%f%u;\n", VALUES + i,
                   VALUES + i, i, 8 * i, VALUES + i);
    buf_puts(&text, "ret;\n}\n");
    assert_true(spills_need_counting(buf_text(&text), text.length));
    AssemblyRequest request = assembly_request(buf_text(&text), text.length);
    Assembly assembly;
    request.want_cubin = true;
    if (!assembler_run(assembler, arena, &request, &assembly))
        fail_msg("%s", assembly.message);
    const Resources *resources = assembly_find(&assembly, "k");
    Figures logged = figures_of_resources(resources), counted = logged;
    spills_count(&assembly, "k", &counted);
    /* A word that is loaded from the stack was stored there. */
    assert_true(counted.spill_stores > 0 && counted.spill_loads > 0);
    assert_true(counted.stack > 0 && figures_spills(&counted) >= figures_spills(&logged));
    buf_free(&text);
    assembler_close(assembler);
    arena_free(arena);
}

/* A form that was assembled elsewhere is not assembled again. */
static void the_judge_is_told(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *error;
    Module *module = module_from(HEADER ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<2>;\n"
                                        "ld.param.u64 %d1, [p];\nst.global.u64 [%d1], %d1;\nret;\n}\n");
    Assembler *assembler = assembler_open(arena, ASSEMBLER_PTXAS, "sm_90", &error);
    setenv("PTXOPT_CACHE", "none", 1);
    if (assembler) {
        AssemblerJudge judge;
        Assembly assembly;
        Figures figures;
        const AssemblyRequest request = assembly_request(module->source->text, module->source->size);
        const FunctionForm form = {.function = function_of(module, "k")};
        assembler_judge_init(&judge, arena, assembler);
        assert_true(assembler_run(assembler, arena, &request, &assembly));
        assembler_judge_answer(&judge, &form, &assembly);
        assert_true(judge.judge.measure(&judge, &form, &figures));
        assert_false(figures.repeated);
        assert_int_equal(judge.calls, 0);
        assert_int_equal(figures.registers, assembly.resources[0].registers);
        assembler_judge_close(&judge);
    }
    test_end(arena, module, assembler);
}

static void time_ends(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    AssemblerJudge judge;
    volatile sig_atomic_t interrupted = 0;
    setenv("PTXOPT_CACHE", "none", 1);
    assembler_judge_init(&judge, arena, NULL);
    assert_false(judge.judge.is_over(&judge));
    assembler_judge_limit(&judge, 1000);
    assert_false(judge.judge.is_over(&judge));
    judge.interrupted = &interrupted;
    interrupted = 1;
    assert_true(judge.judge.is_over(&judge));
    interrupted = 0;
    assembler_judge_limit(&judge, 0);
    assert_true(judge.judge.is_over(&judge));
    assert_true(judge.time.was_late);
    /* A part leaves a share of the whole, and a stage a share of the part. */
    assembler_judge_limit(&judge, 1000);
    assert_true(assembler_judge_part(&judge, 0.75) <= 250);
    assert_false(judge.judge.is_over(&judge));
    assembler_judge_stage(&judge, 0.9);
    assert_false(judge.judge.is_over(&judge));
    assembler_judge_stage(&judge, 1);
    assert_true(judge.judge.is_over(&judge));
    assert_true(assembler_judge_part(&judge, 1) <= 0);
    assert_true(judge.poll.is_over(judge.poll.context, 0.5));
    assert_true(assembler_judge_part(&judge, 0) > 900);
    assert_false(judge.judge.is_over(&judge));
    assert_true(judge.time.was_late);
    /* Parts before it have taken more than their share: half of what is left. */
    assembler_judge_limit(&judge, 1000);
    judge.time.begin -= 900;
    judge.time.end -= 900;
    const double seconds = assembler_judge_part(&judge, 0.25);
    assert_true(seconds > 40 && seconds <= 50);
    assert_false(judge.judge.is_over(&judge));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_kept),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(without_a_folder_there_is_no_cache),
        cmocka_unit_test(prepared_forms_are_answered),
        cmocka_unit_test(options_make_another_form),
        cmocka_unit_test(predictions_use_the_machine_code_at_hand),
        cmocka_unit_test(dynamic_memory_limits_estimates),
        cmocka_unit_test(predictions_are_prepared),
        cmocka_unit_test(spills_are_counted),
        cmocka_unit_test(the_judge_is_told),
        cmocka_unit_test(time_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
