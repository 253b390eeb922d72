/* Counts of a part of a grid against those of all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

/* The index of the thread: %r3 = x, %r6 = y, %r10 = y * pitch + x, where all rows of all blocks are 'pitch' long. */
#define BEGIN                                                                                                          \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                                                  \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"                                                          \
    ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<12>;\n"                                                         \
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"                                                            \
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r3, %r1, %r2, %r4;\n"            \
    "mov.u32 %r5, %ctaid.y;\nmov.u32 %r7, %ntid.y;\nmov.u32 %r8, %tid.y;\nmad.lo.u32 %r6, %r5, %r7, %r8;\n"            \
    "mov.u32 %r9, %nctaid.x;\nmul.lo.u32 %r9, %r9, %r2;\nmad.lo.u32 %r10, %r6, %r9, %r3;\n"                            \
    "mul.wide.u32 %rd3, %r10, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
#define COUNT_TO(limit)                                                                                                \
    "loop:\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, " limit ";\n@%p2 bra loop;\n"
#define STORE "st.global.u32 [%rd5], %r11;\nret;\n}\n"

/* Each thread loads its word and its neighbours along both axes, but not beyond the first and the last. */
static const char *const stencil = BEGIN
    "ld.global.u32 %r11, [%rd4];\n"
    "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra left;\nld.global.u32 %r12, [%rd4+-4];\nadd.u32 %r11, %r11, %r12;\nleft:\n"
    "add.u32 %r13, %r3, 1;\nsetp.eq.u32 %p1, %r13, %r9;\n@%p1 bra right;\n"
    "ld.global.u32 %r12, [%rd4+4];\nadd.u32 %r11, %r11, %r12;\nright:\n"
    "setp.eq.u32 %p1, %r6, 0;\n@%p1 bra up;\n"
    "sub.u32 %r13, %r10, %r9;\nmul.wide.u32 %rd6, %r13, 4;\nadd.s64 %rd6, %rd1, %rd6;\n"
    "ld.global.u32 %r12, [%rd6];\nadd.u32 %r11, %r11, %r12;\nup:\n" STORE;

/* Each block has loaded a row that its neighbours along x share, a column that those along y share, and 8 bytes more
 * than its neighbour. */
static const char *const sharing = BEGIN
    "mul.wide.u32 %rd6, %r6, 4096;\nmul.wide.u32 %rd8, %r4, 4;\nadd.s64 %rd6, %rd6, %rd8;\nadd.s64 %rd6, %rd1, %rd6;\n"
    "ld.global.u32 %r11, [%rd6];\n"
    "mul.wide.u32 %rd7, %r3, 4;\nadd.s64 %rd7, %rd1, %rd7;\nld.global.u32 %r12, [%rd7+1048576];\n"
    "add.u32 %r11, %r11, %r12;\n"
    "mul.wide.u32 %rd9, %r1, 8;\nmul.wide.u32 %rd10, %r5, 4096;\n"
    "add.s64 %rd9, %rd9, %rd10;\nadd.s64 %rd9, %rd1, %rd9;\n"
    "ld.global.u32 %r12, [%rd9+2097152];\nadd.u32 %r11, %r11, %r12;\n" STORE;

/* The last blocks along x have a long loop. */
static const char *const slow_edge = BEGIN
    "mov.u32 %r11, 0;\nmov.u32 %r14, %nctaid.x;\nadd.u32 %r13, %r1, 1;\nsetp.ne.u32 %p1, %r13, %r14;\n@%p1 bra done;\n"
    COUNT_TO("1000") "done:\n" STORE;

/* The first of three neighbours has all the work. */
static const char *const merged = BEGIN
    "rem.u32 %r12, %r1, 3;\nsetp.ne.u32 %p1, %r12, 0;\n@%p1 bra done;\nld.global.u32 %r11, [%rd4];\n"
    "st.global.u32 [%rd5], %r11;\ndone:\nret;\n}\n";

/* The first half of the blocks has all the work. */
static const char *const half = BEGIN
    "setp.ge.u32 %p1, %r1, 1500;\n@%p1 bra done;\nld.global.u32 %r11, [%rd4];\n"
    "st.global.u32 [%rd5], %r11;\ndone:\nret;\n}\n";

/* Runs of 16 blocks have loops of lengths that nothing foretells. */
static const char *const uneven = BEGIN
    "shr.u32 %r12, %r1, 4;\nmad.lo.u32 %r12, %r12, 1640531535, 12345;\nshr.u32 %r12, %r12, 22;\nmov.u32 %r11, 0;\n"
    COUNT_TO("%r12") STORE;

/* Some of the blocks in the middle have long loops. */
static const char *const hot_spot = BEGIN
    "mov.u32 %r11, 0;\nsub.u32 %r12, %r1, 1000;\nsetp.ge.u32 %p1, %r12, 150;\n@%p1 bra done;\n"
    COUNT_TO("1000") "done:\n" STORE;

/* Runs of 16 blocks have loops whose lengths differ by a third at most. */
static const char *const patchy = BEGIN
    "shr.u32 %r12, %r1, 4;\nmad.lo.u32 %r12, %r12, 1640531535, 12345;\nshr.u32 %r12, %r12, 25;\n"
    "add.u32 %r12, %r12, 300;\nmov.u32 %r11, 0;\n"
    COUNT_TO("%r12") STORE;

/* All threads update one of 8 counters, and each block one of its own. */
static const char *const histogram = BEGIN
    "and.b32 %r11, %r3, 7;\nmul.wide.u32 %rd6, %r11, 32;\nadd.s64 %rd6, %rd2, %rd6;\n"
    "red.global.add.u32 [%rd6], 1;\nret;\n}\n";

/* The order of the blocks is visible. */
static const char *const queue = BEGIN
    "atom.global.add.u32 %r11, [%rd2], 1;\nmul.wide.u32 %rd6, %r11, 4;\nadd.s64 %rd6, %rd2, %rd6;\n"
    "st.global.u32 [%rd6+64], %r10;\nret;\n}\n";

/* The blocks in the middle store beyond their buffer. */
static const char *const wild = BEGIN
    "mov.u32 %r11, 0;\nmul.wide.u32 %rd6, %r10, 65536;\nadd.s64 %rd5, %rd5, %rd6;\n" STORE;

typedef struct Grid {
    unsigned blocks[3], threads[3];
} Grid;

static const Grid wide = {{40, 60, 1}, {16, 4, 1}}, line = {{3000, 1, 1}, {64, 1, 1}},
                  long_line = {{6000, 1, 1}, {64, 1, 1}}, deep = {{20, 16, 12}, {8, 4, 2}},
                  small = {{10, 10, 1}, {16, 4, 1}};

enum { BYTES = 4 << 20, BOX = 16 };

/* Runs boxes of at most 'box' blocks along x (0: all blocks), where 'cell' blocks along x belong together. */
static const EmulatorResult *run(Arena *arena, const char *text, const Grid *grid, unsigned box, unsigned cell)
{
    Diag diag;
    Source *source = source_from_memory(arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = BYTES / 4, .fill = FILL_IOTA},
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = BYTES / 4, .fill = FILL_ZERO},
    };
    Launch launch = {.kernel = "k", .arguments = arguments, .argument_count = 2};
    memcpy(launch.grid, grid->blocks, sizeof launch.grid);
    memcpy(launch.block, grid->threads, sizeof launch.block);
    launch.contents = launch_contents_new(&launch);
    const EmulatorOptions options = {.count_memory = true,
                                     .count_reuse = true,
                                     .count_blocks = true,
                                     .count_instructions = true,
                                     .drops_buffers = box > 0,
                                     .sample_box = box,
                                     .sample_cell = {cell}};
    const EmulatorResult *result = emulator_run(arena, module, &launch, &options);
    launch_contents_free(launch.contents);
    return result;
}

typedef struct Runs {
    Arena *arena;
    const EmulatorResult *whole, *sample;
} Runs;

static Runs run_cells(const char *text, const Grid *grid, unsigned cell)
{
    Runs runs = {.arena = arena_new()};
    runs.whole = run(runs.arena, text, grid, 0, 1);
    runs.sample = run(runs.arena, text, grid, BOX, cell);
    assert_int_equal(runs.whole->fault.kind, FAULT_NONE);
    assert_int_equal(runs.sample->fault.kind, FAULT_NONE);
    assert_int_equal(runs.whole->sampled_blocks, 0);
    assert_int_equal(runs.whole->buffer_count, 2);
    assert_int_equal(runs.sample->buffer_count, 0);
    return runs;
}

static Runs run_both(const char *text, const Grid *grid)
{
    return run_cells(text, grid, 1);
}

static void assert_near(uint64_t value, uint64_t expected, double tolerance)
{
    const double error = (double)value - (double)expected;
    if (error > tolerance * (double)expected || -error > tolerance * (double)expected)
        fail_msg("%llu instead of %llu", (unsigned long long)value, (unsigned long long)expected);
}

static uint64_t sum_distances(const uint64_t counts[REUSE_DISTANCES])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < REUSE_DISTANCES; i++)
        sum += counts[i];
    return sum;
}

/* The sample's counts are those of the grid, to this share; footprints to a share of their own. */
static void check_alike(const Runs *runs, double tolerance, double footprint)
{
    const EmulatorResult *whole = runs->whole, *sample = runs->sample;
    const EmulatorCounters *x = &whole->counters, *y = &sample->counters;
    assert_near(y->warp_instructions, x->warp_instructions, tolerance);
    assert_near(y->thread_instructions, x->thread_instructions, tolerance);
    assert_near(y->branches, x->branches, tolerance);
    assert_near(y->divergent_branches, x->divergent_branches, tolerance);
    assert_near(y->load_sectors, x->load_sectors, tolerance);
    assert_near(y->store_sectors, x->store_sectors, tolerance);
    assert_near(y->load_bytes[SPACE_GLOBAL], x->load_bytes[SPACE_GLOBAL], tolerance);
    assert_near(y->block_load_sectors, x->block_load_sectors, tolerance);
    assert_near(sum_distances(y->shared_reuse), sum_distances(x->shared_reuse), tolerance);
    assert_near(y->load_footprint, x->load_footprint, footprint);
    assert_near(y->store_footprint, x->store_footprint, footprint);
    assert_near(y->unread_footprint, x->unread_footprint, footprint);
    assert_near(y->stored, x->stored, tolerance);
    assert_int_equal(sample->instruction_count, whole->instruction_count);
    for (size_t i = 0; i < whole->instruction_count; i++) {
        assert_near(sample->instructions[i].warps, whole->instructions[i].warps, tolerance);
        assert_near(sample->instructions[i].sectors, whole->instructions[i].sectors, tolerance);
    }
    uint64_t works[2] = {0};
    assert_int_equal(sample->block_count, whole->block_count);
    for (uint64_t i = 0; i < whole->block_count; i++) {
        works[0] += whole->blocks[i].all_warps;
        works[1] += sample->blocks[i].all_warps;
    }
    assert_near(works[1], works[0], tolerance);
}

/* The first and last blocks along each axis differ from the others, which are alike. */
static void test_edges(void **state)
{
    (void)state;
    /* A footprint has the sectors beside its edge that only blocks within the grid load: 2 beside 20 in a row. */
    const struct {
        const Grid *grid;
        double footprint;
    } cases[] = {{&wide, 0.03}, {&line, 0.01}, {&deep, 0.12}};
    for (unsigned i = 0; i < 3; i++) {
        const Runs runs = run_both(stencil, cases[i].grid);
        assert_in_range(runs.sample->sampled_blocks, 64, runs.whole->block_count / 3);
        check_alike(&runs, 0, cases[i].footprint);
        arena_free(runs.arena);
    }
}

static void test_slow_edge(void **state)
{
    (void)state;
    const Runs runs = run_both(slow_edge, &wide);
    assert_true(runs.sample->sampled_blocks > 0);
    check_alike(&runs, 0, 0);
    assert_int_equal(runs.sample->blocks[39].longest_warp, runs.whole->blocks[39].longest_warp);
    assert_int_equal(runs.sample->blocks[38].longest_warp, runs.whole->blocks[38].longest_warp);
    arena_free(runs.arena);
}

/* Sectors that blocks share count once, along either axis, also where less than a sector is each block's own. */
static void test_footprint(void **state)
{
    (void)state;
    const Runs runs = run_both(sharing, &wide);
    assert_true(runs.sample->sampled_blocks > 0);
    check_alike(&runs, 0, 0.03);
    arena_free(runs.arena);
}

/* Blocks that were merged, next to each other and apart. */
static void test_merged(void **state)
{
    (void)state;
    const Runs runs[] = {run_cells(merged, &line, 3), run_both(half, &line)};
    for (unsigned i = 0; i < 2; i++) {
        assert_true(runs[i].sample->sampled_blocks > 0);
        check_alike(&runs[i], 0, 0.05);
        arena_free(runs[i].arena);
    }
}

static void test_updates(void **state)
{
    (void)state;
    const Runs runs = run_both(histogram, &line);
    assert_true(runs.sample->sampled_blocks > 0);
    assert_int_equal(runs.whole->counters.most_updates, 3000 * 64 / 8);
    assert_near(runs.sample->counters.most_updates, runs.whole->counters.most_updates, 0.02);
    arena_free(runs.arena);
}

/* More places are looked at if the first ones differ a little. */
static void test_more(void **state)
{
    (void)state;
    const Runs runs = run_both(patchy, &long_line);
    assert_in_range(runs.sample->sampled_blocks, 512, 2000);
    assert_true(runs.sample->sample_error > 0 && runs.sample->sample_error <= 0.01);
    check_alike(&runs, 0.02, 0.02);
    arena_free(runs.arena);
}

/* All blocks run if those of the sample differ, if their order is visible, or if there are few. */
static void test_all(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const Grid *grid;
    } cases[] = {{uneven, &line}, {hot_spot, &line}, {queue, &line}, {stencil, &small}};
    for (unsigned i = 0; i < 4; i++) {
        const Runs runs = run_both(cases[i].text, cases[i].grid);
        assert_int_equal(runs.sample->sampled_blocks, 0);
        check_alike(&runs, 0, 0);
        assert_memory_equal(&runs.sample->counters, &runs.whole->counters, sizeof runs.whole->counters);
        arena_free(runs.arena);
    }
}

static void test_fault(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    assert_int_equal(run(arena, wild, &line, BOX, 1)->fault.kind, FAULT_BOUNDS);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),  cmocka_unit_test(test_slow_edge), cmocka_unit_test(test_footprint),
        cmocka_unit_test(test_merged), cmocka_unit_test(test_updates),   cmocka_unit_test(test_more),
        cmocka_unit_test(test_all),    cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
