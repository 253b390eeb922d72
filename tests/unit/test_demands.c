/* The demands of kernels at run time, and the forms that do not meet them. */
#include "engine/report/verdicts.h"
#include "tests/unit/test_registers_support.h"

#include "opt/demands.h"

#define HEAD_90A ".version 9.0\n.target sm_90a\n.address_size 64\n"
#define HEAD_100A ".version 8.7\n.target sm_100a\n.address_size 64\n"

typedef struct Case {
    Module *module;
    Demands demands;
    Residency residency;
    Figures input;
} Case;

static Case start(const char *head, const char *directives, const char *code, unsigned block)
{
    Arena *arena = arena_new();
    const char *text = arena_printf(arena,
                                    "%s.extern .func unknown(); .func later();\n"
                                    ".func grow() { setmaxnreg.inc.sync.aligned.u32 200; ret; }\n"
                                    ".func again() { call grow; call again; ret; }\n"
                                    ".visible .entry k(.param .u64 p) %s {\n.reg .b32 %%r<4>;\n.reg .b64 %%rd<4>;\n"
                                    "ld.param.u64 %%rd1, [p];\n%s\nret;\n}\n"
                                    ".func later() { setmaxnreg.inc.sync.aligned.u32 216; ret; }\n"
                                    ".visible .entry other() { setmaxnreg.inc.sync.aligned.u32 224; ret; }\n",
                                    head, directives, code);
    Case test = {.module = module_of_text(text)};
    test.demands = demands_find(module_find_function(test.module, "k"));
    test.residency.sm = sm_limits_for("sm_90");
    if (block)
        test.residency.block = (BlockSize){BLOCK_GIVEN, {block, 1, 1}};
    test.input = (Figures){.known = true, .registers = 64};
    arena_free(arena);
    return test;
}

/* The words for an objection; NULL if there is none. */
static const char *words(Case *test, DemandObjection objection)
{
    if (objection.kind == DEMAND_MET)
        return NULL;
    Buf words = {0};
    demand_print(&objection, &words);
    const char *text = arena_strndup(test->module->arena, buf_text(&words), words.length);
    buf_free(&words);
    return text;
}

static const char *objection(Case *test, unsigned registers, uint64_t shared)
{
    const Figures form = {.known = true, .registers = registers, .shared = shared};
    return words(test, demands_objection(&test->demands, &test->residency, &test->input, &form));
}

/* The words for why no form may have other registers. */
static const char *fixed(Case *test)
{
    return words(test, demands_fix_registers(&test->demands, &test->input));
}

static void end(Case *test)
{
    arena_free(test->module->arena);
}

static void most_registers_that_warps_ask_for_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *directives, *code;
        unsigned most;
        bool is_given;
    } cases[] = {
        {".maxnreg 128", "mov.u32 %r1, 0;", 0, true},
        {".maxnreg 128", "setmaxnreg.dec.sync.aligned.u32 24;\nsetmaxnreg.inc.sync.aligned.u32 160;", 160, true},
        {"", "setmaxnreg.dec.sync.aligned.u32 24;", 24, false},
        {".minnctapersm 2", "setmaxnreg.dec.sync.aligned.u32 24;", 24, false},
        {".maxntid 64 .minnctapersm 2", "setmaxnreg.dec.sync.aligned.u32 24;", 24, true},
        {".reqntid 64 .minnctapersm 2", "setmaxnreg.dec.sync.aligned.u32 24;", 24, true},
        {".reqntid 64", "setmaxnreg.dec.sync.aligned.u32 24;", 24, false},
        {".maxnreg 128", "setmaxnreg.dec.sync.aligned.u32 24;\ncall again;", 200, true},
        {".maxnreg 128", "P: .callprototype ()_ ();\ncall %rd1, (), P;", 216, true},
        {".maxnreg 128", "call unknown;", 0, true},
        {".maxnreg 128", "call later;", 216, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test = start(HEAD_90A, cases[i].directives, cases[i].code, 0);
        assert_int_equal(test.demands.pool != NULL, cases[i].most != 0);
        assert_int_equal(test.demands.pool_most, cases[i].most);
        assert_int_equal(test.demands.pool_is_given, cases[i].is_given);
        end(&test);
    }
}

static void registers_at_launch_stay_enough(void **state)
{
    (void)state;
    Case test = start(HEAD_90A, ".maxnreg 64", "setmaxnreg.dec.sync.aligned.u32 40;", 64);
    assert_int_equal(demands_fewest_registers(&test.demands, &test.input), 40);
    assert_null(fixed(&test));
    assert_null(objection(&test, 64, 0));
    assert_null(objection(&test, 40, 0));
    assert_non_null(strstr(objection(&test, 39, 0), "with 39 registers at launch instead of 64, 'setmaxnreg.dec.sync."
                                                    "aligned.u32' on line 11 could wait forever for registers"));
    assert_non_null(objection(&test, 65, 0));
    end(&test);

    test = start(HEAD_90A, ".maxnreg 64", "setmaxnreg.inc.sync.aligned.u32 64;", 64);
    assert_non_null(strstr(fixed(&test), "fewer than 64"));
    assert_null(objection(&test, 64, 0));
    assert_non_null(objection(&test, 56, 0));
    end(&test);

    test = start(HEAD_90A, "", "setmaxnreg.dec.sync.aligned.u32 24;", 64);
    assert_non_null(strstr(fixed(&test), "has no effect"));
    end(&test);
}

/* 16 blocks of 64 threads with 64 registers each fit on an SM. */
static void blocks_that_others_wait_for_stay_on_the_sm(void **state)
{
    (void)state;
    static const struct {
        const char *directives, *code;
        bool waits;
    } cases[] = {
        {"", "ld.volatile.global.u32 %r1, [%rd1];", true},
        {"", "ld.volatile.u32 %r1, [%rd1];", true},
        {"", "ld.acquire.gpu.global.u32 %r1, [%rd1];", true},
        {"", "atom.global.add.u32 %r1, [%rd1], 1;\nst.global.u32 [%rd1], %r1;", true},
        {"", "atom.global.add.u32 %r1, [%rd1], 1;", false},
        {"", "atom.global.add.u32 %r1, [%rd1], %r1;", true},
        {"", "atom.global.or.b32 %r1, [%rd1], 1;\nmov.b32 %r2, %r1;", true},
        {"", "red.global.add.u32 [%rd1], 1;", false},
        {"", "ld.volatile.shared.u32 %r1, [%r2];", false},
        {"", "ld.global.u32 %r1, [%rd1];", false},
        {"", "st.volatile.global.u32 [%rd1], %r1;", false},
        {"", "mov.u32 %r1, %clock;", false},
        {"", "griddepcontrol.wait;", false},
        {"", "barrier.cluster.arrive;\nbarrier.cluster.wait;", true},
        {"", "mapa.u64 %rd2, %rd1, 0;", true},
        {".reqnctapercluster 4", "", true},
        {".maxclusterrank 8", "", true},
        {".reqntid 64 .reqnctapercluster 2 .blocksareclusters", "", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test = start(HEAD_90A, cases[i].directives, cases[i].code, 64);
        const char *falls = objection(&test, 72, 0), *shared = objection(&test, 64, 40000);
        assert_int_equal(falls != NULL, cases[i].waits);
        assert_int_equal(shared != NULL, cases[i].waits);
        if (falls)
            assert_non_null(strstr(falls, "an SM would hold 14 blocks of 64 threads instead of 16, and "));
        assert_null(objection(&test, 24, 0));
        assert_null(objection(&test, 64, 1024));
        end(&test);
    }
}

static void tensor_memory_is_not_shared_with_more_blocks(void **state)
{
    (void)state;
    Case test = start(HEAD_100A, "", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 512;", 64);
    assert_non_null(strstr(objection(&test, 56, 0), "may wait for tensor memory that other blocks of the SM have"));
    assert_null(objection(&test, 64, 0));
    assert_null(objection(&test, 72, 0));
    end(&test);
}

/* True if the form keeps fewer blocks on an SM, for a block that the directives of 'tuning' leave open. */
static bool falls(const BlockSize *block, bool whole_warps, unsigned factor, unsigned before, unsigned after,
                  ResidencyChange *change)
{
    const Residency residency = {.sm = sm_limits_for("sm_90"),
                                 .block = *block,
                                 .change = {.block = {factor, 1, 1}},
                                 .whole_warps = whole_warps};
    const Figures a = {.known = true, .registers = before}, b = {.known = true, .registers = after};
    return residency_falls(&residency, &a, &b, change);
}

static void blocks_are_compared_for_all_sizes_that_a_launch_may_have(void **state)
{
    (void)state;
    ResidencyChange change;
    const BlockSize unknown = {0}, bounded = {BLOCK_BOUNDED, {96, 1, 1}}, given = {BLOCK_GIVEN, {64, 2, 1}},
                    odd = {BLOCK_REQUIRED, {33, 1, 1}};
    /* 40 and 48 registers: 24 and 20 blocks of 64 threads, but 32 of 32 threads. */
    assert_true(falls(&unknown, false, 0, 40, 48, &change));
    assert_int_equal(change.threads, 64);
    assert_int_equal(change.before, 24);
    assert_int_equal(change.after, 20);
    assert_true(falls(&bounded, false, 0, 40, 48, &change));
    assert_false(falls(&unknown, false, 0, 48, 40, &change));
    assert_false(falls(&unknown, false, 0, 41, 48, &change)); /* registers are allocated in eights */
    /* Twice the registers for half the threads keep the blocks; but half a warp needs as many as a whole one. */
    assert_false(falls(&unknown, true, 2, 32, 64, &change));
    assert_false(falls(&given, false, 2, 32, 64, &change));
    assert_true(falls(&given, false, 2, 32, 72, &change));
    assert_true(falls(&unknown, false, 2, 64, 72, &change));
    assert_int_equal(change.threads, 32);
    assert_true(falls(&unknown, true, 2, 64, 136, &change));
    assert_int_equal(change.threads, 64);
    /* 33 threads are two warps; 17 are one. */
    assert_false(falls(&odd, false, 2, 64, 128, &change));
    assert_true(falls(&odd, false, 2, 64, 136, &change));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_registers_that_warps_ask_for_are_found),
        cmocka_unit_test(registers_at_launch_stay_enough),
        cmocka_unit_test(blocks_that_others_wait_for_stay_on_the_sm),
        cmocka_unit_test(tensor_memory_is_not_shared_with_more_blocks),
        cmocka_unit_test(blocks_are_compared_for_all_sizes_that_a_launch_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
