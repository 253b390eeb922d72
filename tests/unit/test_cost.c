/* The cost model: units, profiles, traffic, makespan and time, on kernels whose figures are known by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost/internal.h"
#include "parser/parser.h"

#define HEADER ".version 8.3\n.target sm_90\n.address_size 64\n"

/* %rd1 is the parameter, %r1 the thread, %r2 the block, %rd3 the address of the thread's word. */
#define ENTRY                                                                                                          \
    ".visible .entry k(.param .u64 data)\n{\n"                                                                         \
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %d<4>;\n"                       \
    ".shared .align 4 .b8 tile[4096];\n"                                                                               \
    "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"                \
    "mad.lo.u32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
enum { ENTRY_INSTRUCTIONS = 7, WORDS = 1 << 16 };

typedef struct Test {
    Arena *arena;
    Module *module;
    Function *kernel;
} Test;

static Test test_new(const char *body)
{
    Test test = {.arena = arena_new()};
    Diag diag;
    const char *text = arena_printf(test.arena, "%s%s%s\nret;\n}\n", HEADER, ENTRY, body);
    Source *source = source_from_memory(test.arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    test.module = parse_module(test.arena, source, &diag);
    assert_non_null(test.module);
    test.kernel = module_find_function(test.module, "k");
    return test;
}

static Profile *count(Test *test, unsigned blocks, unsigned threads)
{
    LaunchArgument argument = {.kind = ARGUMENT_BUFFER, .name = "data", .type = TYPE_U32, .count = WORDS};
    Launch launch = {
        .kernel = "k", .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arguments = &argument, .argument_count = 1};
    const FunctionForm form = {.function = test->kernel};
    const char *error = NULL;
    Profile *profile = profile_count(test->arena, &form, &launch, NULL, &(CountOptions){.jobs = 1}, &error);
    if (!profile)
        fail_msg("%s", error);
    return profile;
}

static Profile *estimate(Test *test, double blocks, unsigned x, unsigned y)
{
    const unsigned block[3] = {x, y, 1};
    const FunctionForm form = {.function = test->kernel};
    const char *error = NULL;
    const AssumedLaunch launch = {.block = {block[0], block[1], block[2]}, .blocks = blocks};
    Profile *profile = profile_estimate(test->arena, &form, &launch, NULL, &error);
    if (!profile)
        fail_msg("%s", error);
    return profile;
}

static Time predict(const Profile *profile, unsigned registers)
{
    const SmUse use = {.registers = registers};
    return time_predict(profile, sm_limits_for("sm_90"), device_for(90), &use);
}

/* The pipe of the first instruction after the entry's. */
static UnitUse unit_of(const char *instruction)
{
    Test test = test_new(instruction);
    Profile *profile = estimate(&test, 1, 32, 1);
    UnitUse unit = profile->instructions[ENTRY_INSTRUCTIONS].unit;
    arena_free(test.arena);
    return unit;
}

static void units(void **state)
{
    (void)state;
    assert_int_equal(unit_of("fma.rn.f32 %f1, %f2, %f3, %f1;").pipe, PIPE_FP32);
    assert_int_equal(unit_of("add.f64 %d1, %d2, %d3;").pipe, PIPE_FP64);
    assert_int_equal(unit_of("xor.b32 %r5, %r1, %r2;").pipe, PIPE_INTEGER);
    assert_int_equal(unit_of("setp.lt.f32 %p1, %f1, %f2;").pipe, PIPE_INTEGER);
    assert_int_equal(unit_of("ex2.approx.f32 %f1, %f2;").pipe, PIPE_SPECIAL);
    assert_true(unit_of("div.rn.f32 %f1, %f2, %f3;").is_slow);
    assert_true(unit_of("div.u32 %r5, %r1, %r2;").is_slow);
    assert_int_equal(unit_of("ld.shared.u32 %r5, [tile];").pipe, PIPE_SHARED);
    assert_true(unit_of("ld.global.u32 %r5, [%rd3];").is_load);
    assert_true(unit_of("st.global.u32 [%rd3], %r1;").is_store);
    assert_false(unit_of("st.global.u32 [%rd3], %r1;").is_load);
    assert_int_equal(unit_of("ld.global.u32 %r5, [%rd3];").pipe, PIPE_GLOBAL);
    assert_int_equal(unit_of("bar.sync 0;").pipe, PIPE_BARRIER);
    assert_int_equal(unit_of("shfl.sync.down.b32 %r5, %r1, 1, 31, -1;").pipe, PIPE_SHARED);
    assert_int_equal(unit_of("mov.u32 %r5, %r1;").pipe, PIPE_MOVE);
    assert_int_equal(unit_of("mad.lo.s32 %r5, %r1, %r2, %r3;").pipe, PIPE_MULTIPLY);
    assert_int_equal(unit_of("add.s32 %r5, %r1, %r2;").pipe, PIPE_INTEGER);
}

/* Counts and estimates agree if everything is known. */
static void known_figures(void **state)
{
    (void)state;
    Test test = test_new("mov.u32 %r5, 0;\nagain:\n"
                         "ld.global.u32 %r6, [%rd3];\nadd.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, 20;\n"
                         "@%p1 bra again;\n"
                         "shl.b32 %r7, %r1, 3;\nmov.u32 %r8, tile;\nadd.u32 %r7, %r7, %r8;\nst.shared.u32 [%r7], %r6;\n"
                         "st.global.u32 [%rd3], %r6;");
    const Profile *both[] = {count(&test, 4, 64), estimate(&test, 4, 64, 1)};
    for (unsigned i = 0; i < 2; i++) {
        const Profile *profile = both[i];
        const double warps = 4 * 64 / 32.0;
        assert_true(profile->counted == (i == 0));
        assert_true(profile->warp_instructions == warps * (ENTRY_INSTRUCTIONS + 1 + 4 * 20 + 6));
        assert_true(profile->load_sectors == warps * 20 * 4);
        assert_true(profile->store_sectors == warps * 4);
        assert_true(profile->block_load_sectors == warps * 4);
        assert_true(profile->load_footprint == warps * 4);
        assert_true(profile->shared_accesses == warps);
        assert_true(profile->bank_conflicts == warps); /* 32 words, 8 bytes apart: two in each bank */
        assert_true(profile->original_threads == 4 * 64);
    }
    arena_free(test.arena);
}

static void estimated_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        unsigned x, y;
        double sectors; /* of each warp's access */
    } cases[] = {
        {"ld.global.u32 %r5, [%rd3];", 128, 1, 4},
        {"ld.global.u32 %r5, [%rd1];", 128, 1, 1},                                                     /* uniform */
        {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r4}];", 128, 1, 4},
        {"shl.b32 %r5, %r1, 3;\ncvt.u64.u32 %rd4, %r5;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "ld.global.u32 %r6, [%rd4];", 128, 1, 8},
        {"shl.b32 %r5, %r1, 7;\ncvt.u64.u32 %rd4, %r5;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "ld.global.u32 %r6, [%rd4];", 128, 1, 32},
        /* Rows of 16: two in a warp, a pitch apart. */
        {"ld.param.u32 %r5, [data];\nmov.u32 %r6, %tid.y;\nmad.lo.u32 %r7, %r6, %r5, %r1;\nmul.wide.u32 %rd4, %r7, 4;\n"
         "add.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 16, 8, 4},
        /* Column-wise: each thread of a row has a row of its own. */
        {"ld.param.u32 %r5, [data];\nmul.lo.u32 %r7, %r1, %r5;\nmul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "ld.global.u32 %r8, [%rd4];", 128, 1, 32},
        /* The same in a block of 4 x 8: lanes with one index along x have neighbouring words. */
        {"ld.param.u32 %r5, [data];\nmov.u32 %r6, %tid.y;\nmad.lo.u32 %r7, %r1, %r5, %r6;\nmul.wide.u32 %rd4, %r7, 4;\n"
         "add.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 4, 8, 4},
        {"ld.param.u32 %r5, [data];\nmov.u32 %r6, %tid.y;\nmad.lo.u32 %r7, %r1, %r5, %r6;\nmul.wide.u32 %rd4, %r7, 4;\n"
         "add.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 16, 2, 16},
        /* 16 bytes of each row, which are aligned. */
        {"ld.param.u32 %r5, [data];\nmul.lo.u32 %r7, %r1, %r5;\nmul.wide.u32 %rd4, %r7, 16;\n"
         "add.s64 %rd4, %rd1, %rd4;\nld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd4];", 128, 1, 32},
        /* Pairs in groups of an unknown size, which is taken to be large. */
        {"ld.param.u32 %r5, [data];\ndiv.u32 %r6, %r4, %r5;\nmul.lo.u32 %r7, %r6, %r5;\nsub.u32 %r8, %r4, %r7;\n"
         "shl.b32 %r9, %r7, 1;\nadd.u32 %r9, %r9, %r8;\nmul.wide.u32 %rd4, %r9, 4;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "ld.global.u32 %r10, [%rd4];", 128, 1, 4},
        /* Groups of eight neighbours, each at its place in a row of 128 bytes. */
        {"rem.u32 %r6, %r1, 8;\ndiv.u32 %r7, %r1, 8;\nshl.b32 %r7, %r7, 5;\nadd.u32 %r6, %r6, %r7;\n"
         "mul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 128, 1, 4},
        /* A neighbour's word: a row begins in one sector and ends in another one. */
        {"ld.global.u32 %r5, [%rd3+4];", 128, 1, 5},
        {"ld.global.u32 %r5, [%rd3+-4];", 16, 1, 3 * 2},
        /* A path that all lanes of most warps take has an index that is further on. */
        {"mov.u32 %r5, %r1;\nsetp.lt.u32 %p1, %r4, 1000;\n@%p1 bra JOIN;\nadd.u32 %r5, %r1, 128;\n"
         "JOIN: mul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 128, 1, 4},
        {"mov.u32 %r5, %r1;\nsetp.lt.u32 %p1, %r4, 1000;\n@%p1 bra JOIN;\nshl.b32 %r5, %r1, 1;\n"
         "JOIN: mul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];", 128, 1, 24},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Test test = test_new(cases[i].code);
        const Profile *profile = estimate(&test, 1, cases[i].x, cases[i].y);
        double warps = cases[i].x * cases[i].y / 32.0;
        if (profile->load_sectors != warps * cases[i].sectors)
            fail_msg("case %zu: %g sectors for each warp", i, profile->load_sectors / warps);
        arena_free(test.arena);
    }
}

/* The words that replicas add to a loop along a row are others: those of the second half of the block's threads. */
static void replicas_share_rows(void **state)
{
    (void)state;
    static const char loop[] = "mov.u32 %r5, %r1;\nagain:\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
                               "ld.global.u32 %r6, [%rd5];\n";
    static const char *const steps[] = {"add.u32 %r5, %r5, 256;\n",
                                        "ld.param.u32 %r8, [data];\nadd.u32 %r5, %r5, %r8;\n"};
    static const struct {
        const char *other;
        double sectors; /* of all rounds of a warp, over those of one load */
    } cases[] = {{"", 1}, {"ld.global.u32 %r7, [%rd5+512];\n", 2}, {"ld.global.u32 %r7, [%rd5+4];\n", 1}};
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "ld.param.u32 %%r9, [data];\n%s%s%ssetp.lt.u32 %%p1, %%r5, %%r9;\n@%%p1 bra again;\n", loop,
                 cases[i / 2].other, steps[i % 2]);
        Test test = test_new(text);
        const Profile *profile = estimate(&test, 1, 128, 1);
        const double sectors = profile->load_footprint / (4 * 4 * 16);
        if (fabs(sectors - cases[i / 2].sectors) > 1e-6)
            fail_msg("case %zu: %g times the sectors", i, sectors);
        arena_free(test.arena);
    }
}

/* The rows of an unknown pitch above and below are those of neighbours, except if they are as far away as the block, or
 * merged blocks, have rows. */
static void neighbours_share_rows(void **state)
{
    (void)state;
    static const char row[] = "ld.param.u32 %r5, [data];\nmov.u32 %r6, %tid.y;\nmov.u32 %r7, %ctaid.y;\n";
    static const char load[] = "mad.lo.u32 %r9, %r8, %r5, %r1;\nmul.wide.u32 %rd4, %r9, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
                               "ld.global.u32 %r10, [%rd5];\n";
    static const char again[] = "mad.lo.u32 %r12, %r11, %r5, %r1;\nmul.wide.u32 %rd6, %r12, 4;\n"
                                "add.s64 %rd7, %rd1, %rd6;\nld.global.u32 %r13, [%rd7];\n";
    static const struct {
        const char *index, *other; /* %r8 and %r11 */
        double rows;               /* different ones, for each thread */
    } cases[] = {
        {"mad.lo.u32 %r8, %r7, 8, %r6;\n", "add.u32 %r11, %r8, 1;\n", 1},
        {"mad.lo.u32 %r8, %r7, 8, %r6;\n", "add.u32 %r11, %r8, -1;\n", 1},
        {"mad.lo.u32 %r8, %r7, 8, %r6;\n", "add.u32 %r11, %r8, 8;\n", 1},
        {"mad.lo.u32 %r8, %r7, 16, %r6;\n", "add.u32 %r11, %r8, 8;\n", 2},
        {"mad.lo.u32 %r8, %r7, 16, %r6;\n", "add.u32 %r11, %r8, 16;\n", 1},
        {"shl.b32 %r8, %r6, 1;\nmad.lo.u32 %r8, %r7, 16, %r8;\n", "add.u32 %r11, %r8, 1;\n", 2},
        {"shl.b32 %r8, %r6, 1;\nmad.lo.u32 %r8, %r7, 16, %r8;\n", "add.u32 %r11, %r8, 2;\n", 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s%s%s", row, cases[i].index, load, cases[i].other, again);
        Test test = test_new(text);
        const Profile *profile = estimate(&test, 1, 32, 8);
        const double rows = profile->load_footprint / (8 * 4);
        if (rows != cases[i].rows || profile->load_lines != 2 * 8)
            fail_msg("case %zu: %g rows, %g lines", i, rows, profile->load_lines);
        arena_free(test.arena);
    }
}

/* Copies that are hidden from the assembler, and values that a thread keeps in shared memory, lead to the same sectors;
 * their instructions count. */
static void copies_are_seen_through(void **state)
{
    (void)state;
    static const char load[] = "ld.global.u32 %r20, [%rd3];\n";
    static const char own_word[] = "shl.b32 %r5, %r1, 2;\nmov.u32 %r6, tile;\nadd.u32 %r5, %r5, %r6;\n";
    static const char by_index[] = "mul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];";
    static const struct {
        const char *first, *second, *third;
        bool is_seen;
        unsigned shared; /* accesses */
    } cases[] = {
        {"prmt.b32 %r7, %r4, %r4, 0x3210;\n", by_index, "", true, 0},
        {"prmt.b32 %r7, %r4, %r4, 0x3201;\n", by_index, "", false, 0},
        {"prmt.b32 %r9, %r4, %r4, 0x3210;\nprmt.b32 %r7, %r9, %r9, 0x3210;\n", by_index, "", true, 0},
        {"xor.b64 %rd4, %rd3, %rd1;\nxor.b64 %rd5, %rd4, %rd1;\n", "ld.global.u32 %r8, [%rd5];", "", true, 0},
        {"xor.b64 %rd4, %rd3, %rd1;\nxor.b64 %rd5, %rd4, %rd2;\n", "ld.global.u32 %r8, [%rd5];", "", false, 0},
        {"cvt.u32.u64 %r5, %rd3;\nprmt.b32 %r6, %r5, %r5, 0x3210;\ncvt.u64.u32 %rd4, %r6;\n",
         "and.b64 %rd5, %rd3, -4294967296;\nor.b64 %rd6, %rd4, %rd5;\n", "ld.global.u32 %r8, [%rd6];", true, 0},
        {"cvt.u32.u64 %r5, %rd3;\nprmt.b32 %r6, %r5, %r5, 0x3210;\ncvt.u64.u32 %rd4, %r6;\n",
         "and.b64 %rd5, %rd2, -4294967296;\nor.b64 %rd6, %rd4, %rd5;\n", "ld.global.u32 %r8, [%rd6];", false, 0},
        {own_word, "st.volatile.shared.b32 [%r5], %r4;\nld.volatile.shared.b32 %r7, [%r5];\n", by_index, true, 2},
        {own_word, "st.shared.b32 [%r5], %r4;\nld.shared.b32 %r7, [%r5];\n", by_index, false, 2},
        {own_word, "st.volatile.shared.b32 [%r5], %r4;\nld.volatile.shared.b32 %r7, [%r5+4];\n", by_index, false, 2},
        /* The place holds something else in the meantime. */
        {own_word, "st.volatile.shared.b32 [%r5], %r4;\nst.volatile.shared.b32 [%r5], %r20;\n"
         "ld.volatile.shared.b32 %r7, [%r5];\n", by_index, false, 3},
        /* 64 bits in two words. */
        {own_word, "cvt.u32.u64 %r10, %rd3;\nshr.u64 %rd4, %rd3, 32;\ncvt.u32.u64 %r11, %rd4;\n"
         "st.volatile.shared.b32 [%r5], %r10;\nst.volatile.shared.b32 [%r5+512], %r11;\n"
         "ld.volatile.shared.b32 %r12, [%r5];\nld.volatile.shared.b32 %r13, [%r5+512];\n",
         "cvt.u64.u32 %rd5, %r12;\ncvt.u64.u32 %rd6, %r13;\nshl.b64 %rd7, %rd6, 32;\nor.b64 %rd8, %rd5, %rd7;\n"
         "ld.global.u32 %r8, [%rd8];", true, 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s%s", load, cases[i].first, cases[i].second, cases[i].third);
        Test test = test_new(text);
        const Profile *profile = estimate(&test, 1, 128, 1);
        bool is_seen = profile->load_sectors == 2 * 4 * 4 && profile->load_footprint == 4 * 4;
        if (is_seen != cases[i].is_seen || profile->shared_accesses != 4 * cases[i].shared)
            fail_msg("case %zu: %g sectors loaded, %g different ones, %g shared accesses", i, profile->load_sectors,
                     profile->load_footprint, profile->shared_accesses);
        arena_free(test.arena);
    }
}

/* The sectors of the last load of a profile, for each execution by a warp. */
static double last_load_sectors(const Profile *profile)
{
    double sectors = 0;
    for (size_t i = 0; i < profile->instruction_count; i++)
        if (profile->instructions[i].sectors > 0)
            sectors = profile->instructions[i].sectors / profile->instructions[i].warps;
    return sectors;
}

/* Values do not differ between lanes just because some lanes are gone; they do if lanes leave a loop at different
 * times, or come by different paths. */
static void estimated_lanes(void **state)
{
    (void)state;
    static const char guard[] = "ld.param.u32 %r5, [data];\nsetp.ge.u32 %p1, %r4, %r5;\n@%p1 bra done;\n";
    static const char load[] = "mul.lo.u32 %r7, %r6, %r5;\nmul.wide.u32 %rd4, %r7, 4;\nadd.s64 %rd4, %rd1, %rd4;\n"
                               "ld.global.u32 %r8, [%rd4];\n";
    static const struct {
        const char *before, *after;
        double sectors;
    } cases[] = {
        {"mov.u32 %r6, 0;\nagain:\n", "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, %r5;\n@%p2 bra again;\ndone:", 1},
        {"ld.global.u32 %r9, [%rd3];\nmov.u32 %r6, 0;\nagain:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, %r9;\n"
         "@%p2 bra again;\n", "done:", 24},
        {"setp.eq.u32 %p2, %r5, 9;\nmov.u32 %r6, 3;\n@%p2 bra join;\nmov.u32 %r6, 5;\njoin:\n", "done:", 1},
        {"setp.eq.u32 %p2, %r1, 9;\nmov.u32 %r6, 3;\n@%p2 bra join;\nmov.u32 %r6, 5;\njoin:\n", "done:", 24},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s%s%s", guard, cases[i].before, load, cases[i].after);
        Test test = test_new(text);
        double sectors = last_load_sectors(estimate(&test, 1, 128, 1));
        if (fabs(sectors - cases[i].sectors) > 1e-6)
            fail_msg("case %zu: %g sectors", i, sectors);
        arena_free(test.arena);
    }
}

/* A guard at the start does not halve the kernel; a branch on loaded data has both sides executed. */
static void estimated_branches(void **state)
{
    (void)state;
    Test test = test_new("ld.param.u32 %r5, [data];\nsetp.ge.u32 %p1, %r4, %r5;\n@%p1 bra done;\n"
                         "st.global.u32 [%rd3], %r1;\ndone:");
    const Profile *profile = estimate(&test, 1, 128, 1);
    assert_true(profile->stores > 0.9 * 4 && profile->stores < 4);
    arena_free(test.arena);
    test = test_new("ld.global.u32 %r5, [%rd3];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra other;\n"
                    "st.global.u32 [%rd3], %r1;\nbra.uni done;\nother:\nst.global.u32 [%rd3+4], %r2;\ndone:");
    profile = estimate(&test, 1, 128, 1);
    assert_true(profile->stores > 1.5 * 4);
    arena_free(test.arena);
    /* Merged blocks: half of the grid's blocks exit. */
    test = test_new("shr.u32 %r5, %r2, 1;\nand.b32 %r6, %r2, 1;\nshr.u32 %r7, %r5, 6;\nand.b32 %r7, %r7, 1;\n"
                    "selp.b32 %r7, 0, %r7, %p2;\nsetp.ne.u32 %p1, %r6, %r7;\n@%p1 ret;\n"
                    "st.global.u32 [%rd3], %r1;");
    profile = estimate(&test, 1, 128, 1);
    assert_true(fabs(profile->stores - 0.5 * 4) < 1e-9);
    arena_free(test.arena);
    /* Or two thirds of them. */
    test = test_new("mul.hi.u32 %r5, %r2, 2863311531;\nshr.u32 %r5, %r5, 1;\nmad.lo.u32 %r6, %r5, -3, %r2;\n"
                    "shr.u32 %r7, %r5, 6;\nselp.b32 %r7, 0, %r7, %p2;\nsetp.ne.u32 %p1, %r6, %r7;\n@%p1 ret;\n"
                    "st.global.u32 [%rd3], %r1;");
    profile = estimate(&test, 1, 128, 1);
    assert_true(fabs(profile->stores - 4.0 / 3) < 1e-8);
    arena_free(test.arena);
}

/* Differences in length between warps are known of counted loops, also with a stride, and unknown if data end a
 * loop. */
static void estimated_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        bool uneven;
    } cases[] = {
        {"mov.u32 %r5, 0;\nagain:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, %r2;\n@%p1 bra again;", false},
        {"mov.u32 %r5, %r4;\nagain:\nadd.u32 %r5, %r5, %r3;\nsetp.lt.u32 %p1, %r5, 5000;\n@%p1 bra again;", false},
        {"ld.global.u32 %r5, [%rd3];\nagain:\nshr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra again;", true},
        {"cvt.rn.f32.u32 %f1, %r1;\nagain:\nmul.f32 %f1, %f1, %f1;\nsetp.lt.f32 %p1, %f1, %f2;\n@%p1 bra again;", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Test test = test_new(cases[i].code);
        if (estimate(&test, 1, 128, 1)->uneven != cases[i].uneven)
            fail_msg("case %zu", i);
        arena_free(test.arena);
    }
}

static void makespans(void **state)
{
    (void)state;
    double lengths[] = {1, 1, 4, 1, 1, 1};
    Profile profile = {.blocks = 6};
    assert_true(blocks_makespan(&profile, 2, 0, 1) == 3);
    assert_true(blocks_makespan(&profile, 6, 0, 1) == 1);
    assert_true(blocks_makespan(&profile, 2, 0.5, 1) == 4.5);
    profile.block_lengths = lengths;
    /* Two places: the long block starts at 1; the other place takes the three that are left. */
    assert_true(blocks_makespan(&profile, 2, 0, 1) == 5);
    assert_true(blocks_makespan(&profile, 2, 0.5, 1) == 6);
    assert_true(blocks_makespan(&profile, 8, 0, 1) == 4);
    assert_true(blocks_makespan(&profile, 8, 0.5, 1) == 4.5);
    /* Instructions beyond the mean warp's take half of their share of the path. */
    assert_true(blocks_makespan(&profile, 8, 0, 0.5) == 2.5);
    assert_true(blocks_makespan(&profile, 2, 0, 0.5) == 4);
}

/* Dependent instructions take a latency each, independent ones a cycle. */
static void paths(void **state)
{
    (void)state;
    Test chain = test_new("add.u32 %r5, %r1, %r1;\nadd.u32 %r5, %r5, %r5;\nadd.u32 %r5, %r5, %r5;\n"
                          "add.u32 %r5, %r5, %r5;\nadd.u32 %r5, %r5, %r5;\nst.global.u32 [%rd3], %r5;");
    Test loads = test_new("ld.global.u32 %r5, [%rd3];\nld.global.u32 %r6, [%rd3+128];\nadd.u32 %r5, %r5, %r6;\n"
                          "st.global.u32 [%rd3], %r5;");
    Test serial = test_new("ld.global.u32 %r5, [%rd3];\ncvt.u64.u32 %rd4, %r5;\nadd.s64 %rd4, %rd3, %rd4;\n"
                           "ld.global.u32 %r6, [%rd4];\nst.global.u32 [%rd3], %r6;");
    const Device *device = device_for(90);
    double latency = 400;
    double chain_path = warp_path(count(&chain, 1, 32), device, (LoadLatency){.global = latency}, 1).cycles;
    double loads_path = warp_path(count(&loads, 1, 32), device, (LoadLatency){.global = latency}, 1).cycles;
    double serial_path = warp_path(count(&serial, 1, 32), device, (LoadLatency){.global = latency}, 1).cycles;
    assert_true(chain_path < 100);
    assert_true(loads_path > latency && loads_path < 1.5 * latency);
    assert_true(serial_path > 2 * latency);
    arena_free(chain.arena);
    arena_free(loads.arena);
    arena_free(serial.arena);
}

/* A result is waited for at its scoreboard; a loop finds the results that its previous iteration left pending. */
static void sass_paths(void **state)
{
    (void)state;
    enum { NONE = MACHINE_STEP_NONE };
    const Device *device = device_for(90);
    double latency = 400;
    const SassStep load = {1, 0, 0, NONE, PIPE_GLOBAL, 0, 0, -1, 1},
                   add = {4, 0, NONE, NONE, PIPE_INTEGER, 0, 0, -1, 1},
                   use = {4, 1 << 0, NONE, NONE, PIPE_INTEGER, 0, 0, -1, 1},
                   branch = {5, 0, NONE, NONE, PIPE_CONTROL, 0, 0, -1, 1},
                   copy = {1, 0, NONE, NONE, PIPE_GLOBAL, STEP_COPIES, 0, -1, 1},
                   commit = {1, 0, NONE, NONE, PIPE_CONTROL, STEP_COMMITS, 0, -1, 1},
                   wait = {1, 0, NONE, NONE, PIPE_CONTROL, STEP_WAITS, 0, -1, 1},
                   leave = {1, 0, NONE, NONE, PIPE_CONTROL, STEP_WAITS, 1, -1, 1};
    const SassStep straight[] = {load, add, add, use}, ahead[] = {use, load, add, branch};
    SassRun runs[2] = {{straight, COUNT_OF(straight), 2, SIZE_MAX}};
    SassProfile sm = {.runs = runs, .run_count = 1};
    const Profile profile = {.sm = &sm};
    /* The two additions are done while the load is on its way. */
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 2).cycles == latency + 4);
    /* All lines that the block has not loaded miss, and half of the others. */
    const LoadLatency apart = {.global = latency, .hit = 40, .miss = 440, .fresh_misses = 1, .other_misses = 0.5};
    SassStep fresh[] = {load, add, add, use};
    runs[0].steps = fresh;
    for (unsigned i = 0; i <= 2; i++) {
        fresh[0].fresh = (float)i / 2;
        assert_true(sass_path(&profile, device, apart, 2).cycles == 240 + 100 * i + 4);
    }
    runs[0].steps = straight;
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == 2 * (latency + 4));
    /* Each iteration except the first uses the loads of the one before. */
    runs[0] = (SassRun){ahead, COUNT_OF(ahead), 10, 0};
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == 10 * (latency + 4));
    runs[0].before = SIZE_MAX;
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == 10 * 14);
    /* Half of the warps have a run that takes longer for each instruction than the others' mean, which counts as
     * their mean, or one that does not wait. */
    runs[1] = (SassRun){straight, COUNT_OF(straight), 0.5, SIZE_MAX};
    sm.run_count = 2;
    WarpPath path = sass_path(&profile, device, (LoadLatency){.global = latency}, 1);
    assert_true(path.other_cycles == 0.5 * (latency + 4) && path_spread(&path) == 1);
    runs[0] = (SassRun){straight, COUNT_OF(straight), 1, SIZE_MAX};
    runs[1] = (SassRun){ahead, COUNT_OF(ahead), 0.5, SIZE_MAX};
    path = sass_path(&profile, device, (LoadLatency){.global = latency}, 1);
    assert_true(path_spread(&path) < 0.1);
    runs[0] = (SassRun){ahead, COUNT_OF(ahead), 10, SIZE_MAX};
    /* A block that was never executed costs nothing; nor does it as a predecessor. */
    runs[1] = (SassRun){straight, COUNT_OF(straight), 0, SIZE_MAX};
    sm.run_count = 2;
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == 10 * 14);
    /* Asynchronous copies: all groups are waited for, or all but the latest. */
    const SassStep once[] = {copy, commit, wait}, later[] = {copy, commit, leave, add};
    runs[0] = (SassRun){once, COUNT_OF(once), 1, SIZE_MAX};
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == latency + 1);
    runs[0] = (SassRun){later, COUNT_OF(later), 10, SIZE_MAX};
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles == 10 * 7);
    /* Two iterations' copies are on their way at once, so two of them take about the latency. */
    runs[0].before = 0;
    double mean = sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles / 10;
    assert_true(mean > 0.45 * latency && mean < 0.55 * latency);
    /* A loop that loads in one block and uses that two blocks later, in the next iteration, waits for it, too. */
    const SassStep loads[] = {load, branch}, between[] = {add}, uses[] = {use, branch};
    SassRun around[4] = {{uses, 2, 10, 3}, {between, 1, 10, 0}, {loads, 2, 10, 1}, {between, 1, 10, 2}};
    sm = (SassProfile){.runs = around, .run_count = 4};
    assert_true(sass_path(&profile, device, (LoadLatency){.global = latency}, 1).cycles > 10 * latency);
}

/* Passes of the 32 banks of L1, which are those of shared memory. */
static void wavefronts(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        double of_a_load, passes; /* passes: of banks, or of looking lines up, three in a cycle: of load and store */
    } cases[] = {
        {"ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd3], %r5;", 1, 2},
        /* Eight bytes are served in two halves, sixteen in four quarters. */
        {"shl.b64 %rd4, %rd2, 1;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u64 %rd5, [%rd4];\nst.global.u64 [%rd4], %rd5;",
         2, 4},
        {"shl.b64 %rd4, %rd2, 2;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.v2.u64 {%rd5, %rd6}, [%rd4];\n"
         "st.global.v2.u64 [%rd4], {%rd5, %rd6};",
         4, 8},
        /* A column of rows of 128 bytes: all in one bank; of rows of 132 bytes: each in another. */
        {"mul.wide.u32 %rd4, %r4, 128;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r5, [%rd4];\n"
         "st.global.u32 [%rd4], %r5;",
         32, 64},
        {"mul.wide.u32 %rd4, %r4, 132;\nadd.s64 %rd4, %rd1, %rd4;\nld.global.u32 %r5, [%rd4];\n"
         "st.global.u32 [%rd4], %r5;",
         1, 64.0 / 3},
        /* All the same word. */
        {"ld.global.u32 %r5, [%rd1];\nst.global.u32 [%rd3], %r5;", 1, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Test test = test_new(cases[i].code);
        Profile *counted = count(&test, 4, 64), *estimated = estimate(&test, 4, 64, 1);
        if (counted->load_wavefronts != 8 * cases[i].of_a_load ||
            estimated->load_wavefronts != counted->load_wavefronts)
            fail_msg("case %zu: %g counted, %g estimated", i, counted->load_wavefronts, estimated->load_wavefronts);
        assert_float_equal(profile_l1_passes(counted, 3), 8 * cases[i].passes, 0.001);
        assert_float_equal(profile_l1_passes(estimated, 3), 8 * cases[i].passes, 0.001);
        arena_free(test.arena);
    }
}

/* Words 16 bytes apart have conflicts, which accesses of 16 bytes, as an assembler makes of them, have not. */
static void joined_words(void **state)
{
    (void)state;
    Test test = test_new("mov.u32 %r5, tile;\nshl.b32 %r6, %r1, 4;\nadd.u32 %r5, %r5, %r6;\n"
                         "ld.shared.u32 %r7, [%r5];\nld.shared.u32 %r8, [%r5+4];\nld.shared.u32 %r9, [%r5+8];\n"
                         "ld.shared.u32 %r10, [%r5+12];\nadd.u32 %r7, %r7, %r8;\nst.global.u32 [%rd3], %r7;");
    Profile *profile = count(&test, 1, 32);
    assert_true(profile->shared_words == 4 && profile->word_passes == 4 * 4 && profile->joined_passes == 4 * 4);
    SassProfile sm = {.pipe = {[PIPE_SHARED] = 1}};
    profile->sm = &sm;
    const double joined = predict(profile, 32).demand[RESOURCE_SHARED];
    sm.pipe[PIPE_SHARED] = 4;
    assert_float_equal(predict(profile, 32).demand[RESOURCE_SHARED] / joined, (16 + 1) / (4.0 + 1), 0.01);
    arena_free(test.arena);
}

static void times(void **state)
{
    (void)state;
    Test test = test_new("ld.global.u32 %r5, [%rd3];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd3], %r5;");
    const Profile *small = estimate(&test, 16, 256, 1), *large = estimate(&test, 1 << 20, 256, 1);
    Time one = predict(small, 32), many = predict(large, 32), fewer = predict(large, 200);
    assert_true(one.known && many.known);
    assert_int_equal(many.binding, RESOURCE_DRAM); /* blocks are started nearly as long */
    assert_true(many.demand[RESOURCE_LAUNCH] > 0.9 * many.demand[RESOURCE_DRAM]);
    assert_true(many.cycles > 100 * one.cycles);
    assert_true(fewer.resident_warps < many.resident_warps && fewer.cycles > many.cycles);
    assert_int_equal(many.resident_warps, 64);
    assert_true(one.resident_blocks == 1 && one.waves == 1);
    /* A kernel that moves 8 bytes for each thread cannot be faster than DRAM. */
    assert_true(many.cycles >= 8.0 * 256 * (1 << 20) / device_for(90)->dram_bytes);
    Profile huge = *large;
    huge.block_threads = 2048;
    assert_false(predict(&huge, 32).known);
    arena_free(test.arena);
}

static void devices(void **state)
{
    (void)state;
    assert_string_equal(device_for(90)->name, "H100");
    assert_int_equal(device_for(103)->architecture, 100);
    assert_string_equal(device_for(50)->name, "T4");
    assert_int_equal(device_for(89)->architecture, 89);
}

/* One of each two merged blocks exits at once, and the other loads for both. */
static void surplus_blocks(void **state)
{
    (void)state;
    Test test = test_new("mov.u32 %r5, %nctaid.x;\nshr.u32 %r6, %r5, 1;\n"
                         "shr.u32 %r13, %r2, 1;\nand.b32 %r14, %r2, 1;\nmov.u32 %r15, 0;\n"
                         "selp.b32 %r15, 0, %r15, %p2;\nsetp.ne.u32 %p1, %r14, %r15;\n@%p1 bra leave;\n"
                         "mad.lo.u32 %r16, %r13, %r3, %r1;\nmul.wide.u32 %rd6, %r16, 4;\nadd.s64 %rd3, %rd1, %rd6;\n"
                         "add.u32 %r8, %r13, %r6;\nmad.lo.u32 %r9, %r8, %r3, %r1;\nmul.wide.u32 %rd4, %r9, 4;\n"
                         "add.s64 %rd5, %rd1, %rd4;\nld.global.u32 %r10, [%rd3];\nld.global.u32 %r11, [%rd5];\n"
                         "add.u32 %r12, %r10, %r11;\nst.global.u32 [%rd3], %r12;\nleave:\n");
    const double sectors = 64 * 2 * 4; /* of 64 blocks, two warps each */
    Profile *estimated = estimate(&test, 64, 64, 1);
    assert_float_equal(estimated->load_sectors, sectors, 0.01);
    assert_float_equal(estimated->load_footprint, sectors, 0.01);
    assert_float_equal(estimated->stores, 64 * 2 / 2, 0.01);
    Profile *counted = count(&test, 64, 64);
    assert_float_equal(counted->load_sectors, sectors, 0.01);
    assert_float_equal(counted->stores, 64 * 2 / 2, 0.01);
    /* On as many SMs as blocks, one has twice the mean work, except for the instructions of surplus blocks. */
    Device device = *device_for(90);
    device.multiprocessors = 64;
    assert_in_range((unsigned)(busiest_share(counted, &device) * 64 * 100), 120, 200);
    device.multiprocessors = 1;
    assert_float_equal(busiest_share(counted, &device), 1, 0.01);
    arena_free(test.arena);
}

/* A form touches the data of the original, whatever its estimate says; merged blocks may share some of it. */
static void forms_keep_data(void **state)
{
    (void)state;
    const Profile original = {.working_blocks = 8, .load_footprint = 100, .store_footprint = 10,
                              .block_load_sectors = 200, .block_store_sectors = 10, .load_sectors = 300};
    Profile form = {.working_blocks = 8, .load_footprint = 25, .store_footprint = 40, .block_load_sectors = 50,
                    .block_store_sectors = 40, .load_sectors = 300};
    Profile merged = form, counted = form;
    profile_keep_data(&original, &form);
    assert_float_equal(form.load_footprint, 100, 0);
    assert_float_equal(form.store_footprint, 10, 0);
    assert_float_equal(form.block_load_sectors, 200, 0);
    assert_float_equal(form.block_store_sectors, 10, 0);
    assert_float_equal(form.shared_unknown, 100, 0);
    merged.working_blocks = 4;
    profile_keep_data(&original, &merged);
    assert_float_equal(merged.block_load_sectors, 100, 0);
    assert_float_equal(merged.block_store_sectors, 10, 0);
    counted.counted = true;
    profile_keep_data(&original, &counted);
    assert_float_equal(counted.load_footprint, 25, 0);
}

/* A loop that continues another one makes the remaining trips; one that begins anew makes all of them. */
static void rests_are_short(void **state)
{
    (void)state;
    static const char first[] = "mov.u32 %r5, %r1;\nsetp.ge.u32 %p2, %r4, %r6;\n@%p2 bra DONE;\n"
                                "mov.u32 %r7, %nctaid.x;\nmul.lo.u32 %r7, %r7, %r6;\n"
                                "FIRST: ld.global.f32 %f1, [%rd3]; add.u32 %r5, %r5, %r7;\n"
                                "setp.lt.u32 %p1, %r5, %r6; @%p1 bra FIRST;\n";
    static const char second[] = "SECOND: ld.global.f32 %f2, [%rd3+4]; add.u32 %r5, %r5, %r7;\n"
                                 "setp.lt.u32 %p1, %r5, %r6; @%p1 bra SECOND;\nDONE:";
    for (unsigned anew = 0; anew < 2; anew++) {
        Arena *text = arena_new();
        Test test = test_new(arena_printf(text, "ld.param.u32 %%r6, [data];\n%s%s%s", first,
                                          anew ? "mov.u32 %r5, %r1;\n" : "", second));
        Profile *profile = estimate(&test, 1, 64, 1);
        double loads = 0;
        for (size_t i = 0; i < profile->instruction_count; i++)
            loads += profile->instructions[i].unit.pipe == PIPE_GLOBAL ? profile->instructions[i].warps : 0;
        assert_float_equal(loads / 2, 0.97 * (anew ? 2 : 1) * ESTIMATED_TRIPS, 0.01);
        arena_free(test.arena);
        arena_free(text);
    }
}

/* True if an estimate knows the longest warp of a block where the thread's index decides, as a count does. */
static void longest_warps(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        /* one warp of four makes ten trips, two execute what follows, and all the rest */
        "setp.gt.u32 %p1, %r1, 2;\n@%p1 bra L;\nmov.u32 %r6, 0;\n"
        "M: ld.global.u32 %r5, [%rd3];\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 10;\n@%p2 bra M;\n"
        "L: setp.gt.u32 %p1, %r1, 60;\n@%p1 bra N;\nst.global.u32 [%rd3], %r1;\nst.global.u32 [%rd3+4], %r1;\n"
        "N: bar.sync 0;\n",
        /* every warp has threads that do */
        "and.b32 %r7, %r1, 31;\nsetp.gt.u32 %p1, %r7, 2;\n@%p1 bra L;\nst.global.u32 [%rd3], %r1;\nL: bar.sync 0;\n",
    };
    for (unsigned i = 0; i < COUNT_OF(bodies); i++) {
        Test test = test_new(bodies[i]);
        const Profile *counted = count(&test, 4, 128), *estimated = estimate(&test, 4, 128, 1);
        for (unsigned b = 0; b < 4; b++) {
            const double length = estimated->block_lengths ? estimated->block_lengths[b] : 1;
            if (!(fabs(length - counted->block_lengths[b]) < 0.03 * length))
                fail_msg("body %u: %.3f counted, %.3f estimated", i, counted->block_lengths[b], length);
            assert_true(i > 0 || length > 1.5);
        }
        arena_free(test.arena);
    }
    /* One warp is its own longest. */
    Test test = test_new(bodies[0]);
    assert_null(estimate(&test, 4, 32, 1)->block_lengths);
    arena_free(test.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units),     cmocka_unit_test(known_figures), cmocka_unit_test(estimated_shapes),
        cmocka_unit_test(copies_are_seen_through), cmocka_unit_test(replicas_share_rows),
        cmocka_unit_test(neighbours_share_rows),
        cmocka_unit_test(estimated_lanes), cmocka_unit_test(estimated_branches), cmocka_unit_test(estimated_lengths),
        cmocka_unit_test(makespans), cmocka_unit_test(paths), cmocka_unit_test(sass_paths),
        cmocka_unit_test(wavefronts), cmocka_unit_test(joined_words),
        cmocka_unit_test(times), cmocka_unit_test(devices), cmocka_unit_test(surplus_blocks),
        cmocka_unit_test(forms_keep_data), cmocka_unit_test(longest_warps), cmocka_unit_test(rests_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
