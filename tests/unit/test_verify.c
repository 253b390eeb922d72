/* Planted miscompiles that verify_launch must find; counters against values counted by hand; several cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/verify.h"
#include "parser/parser.h"

#define HEAD                                                                                                           \
    ".version 7.8\n.target sm_75\n.address_size 64\n.shared .align 16 .b8 s[8192];\n"                                  \
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .f32 %f<4>;\n"  \
    ".reg .b64 %rd<12>;\n"                                                                                             \
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\ncvta.to.global.u64 %rd1, %rd1;\n"                            \
    "cvta.to.global.u64 %rd2, %rd2;\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"    \
    "add.s64 %rd5, %rd2, %rd3;\n"
#define TAIL "ret;\n}\n"

static Module *parse(Arena *arena, const char *body)
{
    Buf text = {0};
    Diag diag;
    buf_printf(&text, "%s%s%s", HEAD, body, TAIL);
    Source *source = source_from_memory(arena, "test.ptx", buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

static const char *launch_file(Arena *arena, unsigned blocks, unsigned threads)
{
    const char *folder = getenv("TEST_TMP");
    const char *path = arena_printf(arena, "%s/verify-%ld.launch.json", folder ? folder : "/tmp", (long)getpid());
    const char *text = arena_printf(arena,
                                    "{\"kernel\": \"k\", \"grid\": [%u], \"block\": [%u], \"args\": ["
                                    "{\"buffer\": \"in\", \"type\": \"u32\", \"count\": 256, \"init\": \"uniform\","
                                    " \"low\": 1, \"high\": 1000000, \"seed\": 5},"
                                    "{\"buffer\": \"out\", \"type\": \"u32\", \"count\": 4096, \"init\": \"zero\"}]}",
                                    blocks, threads);
    assert_null(write_file(arena, path, text, strlen(text)));
    return path;
}

typedef struct Miscompile {
    const char *what, *before, *after;
    const char *message; /* a part of the message */
} Miscompile;

static const Miscompile miscompiles[] = {
    {"a wrong operation", "ld.global.u32 %r2, [%rd4];\nshr.u32 %r3, %r2, 4;\nst.global.u32 [%rd5], %r3;\n",
     "ld.global.u32 %r2, [%rd4];\nshr.u32 %r3, %r2, 5;\nst.global.u32 [%rd5], %r3;\n", "out[0] is "},
    {"swapped operands", "ld.global.u32 %r2, [%rd4];\nsub.u32 %r3, %r2, %r1;\nst.global.u32 [%rd5], %r3;\n",
     "ld.global.u32 %r2, [%rd4];\nsub.u32 %r3, %r1, %r2;\nst.global.u32 [%rd5], %r3;\n", "out[0] is "},
    {"a wrong sign",
     "ld.global.u32 %r2, [%rd4];\nsub.u32 %r2, 7, %r2;\nshr.s32 %r3, %r2, 1;\nst.global.u32 [%rd5], %r3;\n",
     "ld.global.u32 %r2, [%rd4];\nsub.u32 %r2, 7, %r2;\nshr.u32 %r3, %r2, 1;\nst.global.u32 [%rd5], %r3;\n",
     "out[0] is "},
    {"a lost store", "st.global.u32 [%rd5], 3;\nst.global.u32 [%rd5+1024], %r1;\n", "st.global.u32 [%rd5], 3;\n",
     "out[257] is 0, but 1 in the input"},
    {"a store too many", "st.global.u32 [%rd5], 3;\n", "st.global.u32 [%rd5], 3;\nst.global.u32 [%rd5+1024], 9;\n",
     "out[256] is 9, but 0 in the input"},
    {"an input that is overwritten", "ld.global.u32 %r2, [%rd4];\nst.global.u32 [%rd5], %r2;\n",
     "ld.global.u32 %r2, [%rd4];\nst.global.u32 [%rd5], %r2;\nst.global.u32 [%rd4], 0;\n", "in[0] is 0, but "},
    {"a lost guard", "setp.lt.u32 %p1, %r1, 10;\n@%p1 st.global.u32 [%rd5], 1;\n",
     "setp.lt.u32 %p1, %r1, 10;\nst.global.u32 [%rd5], 1;\n", "out[10] is 1, but 0 in the input"},
    {"an inverted branch", "setp.lt.u32 %p1, %r1, 10;\n@%p1 bra L;\nst.global.u32 [%rd5], 1;\nL:\n",
     "setp.lt.u32 %p1, %r1, 10;\n@!%p1 bra L;\nst.global.u32 [%rd5], 1;\nL:\n", "out[0] is 1, but 0 in the input"},
    {"an iteration too few",
     "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, %r1;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n"
     "@%p1 bra L;\nst.global.u32 [%rd5], %r3;\n",
     "mov.u32 %r2, 1;\nmov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, %r1;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n"
     "@%p1 bra L;\nst.global.u32 [%rd5], %r3;\n",
     "out[1] is 7, but 8 in the input"},
    {"a load moved over a store",
     "ld.global.u32 %r2, [%rd5];\nst.global.u32 [%rd5], 5;\nst.global.u32 [%rd5+2048], %r2;\n",
     "st.global.u32 [%rd5], 5;\nld.global.u32 %r2, [%rd5];\nst.global.u32 [%rd5+2048], %r2;\n",
     "out[512] is 5, but 0 in the input"},
    {"a lost barrier",
     "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\nxor.b32 %r4, %r1, 1;\n"
     "mad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd5], %r5;\n",
     "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3], %r1;\nxor.b32 %r4, %r1, 1;\n"
     "mad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd5], %r5;\n",
     "data race"},
    {"an atomic made plain", "red.global.add.u32 [%rd2], 1;\n",
     "ld.global.u32 %r2, [%rd2];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd2], %r2;\n", "data race"},
    {"a register that is not written",
     "setp.lt.u32 %p1, %r1, 64;\nmov.u32 %r2, 4;\n@%p1 mov.u32 %r2, 5;\n"
     "st.global.u32 [%rd5], %r2;\n",
     "setp.lt.u32 %p1, %r1, 64;\n@%p1 mov.u32 %r2, 5;\nst.global.u32 [%rd5], %r2;\n", "undefined register"},
    {"an index that goes too far", "st.global.u32 [%rd5], 5;\n", "st.global.u32 [%rd5+16000], 5;\n", "out of bounds"},
    {"an endless loop", "mov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra L;\n",
     "mov.u32 %r2, 0;\nL:\nadd.u32 %r3, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra L;\n", "hang"},
};

static void test_miscompiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(miscompiles); i++) {
        const Miscompile *it = &miscompiles[i];
        Arena *arena = arena_new();
        const char *path = launch_file(arena, 1, 128);
        Module *before = parse(arena, it->before), *again = parse(arena, it->before), *after = parse(arena, it->after);
        Verification same, other;
        verify_launch(arena, before, again, path, NULL, &same);
        verify_launch(arena, before, after, path, NULL, &other);
        if (same.outcome != VERIFY_EQUAL || other.outcome != VERIFY_DIFFERENT || !strstr(other.message, it->message))
            fail_msg("%s: %s, then %s", it->what, same.message ? same.message : "equal",
                     other.message ? other.message : "equal");
        if (other.has_difference && strcmp(it->what, "a lost store") == 0)
            assert_true(other.writers[0].found && !other.writers[1].found && other.writers[0].thread[0] == 1);
        unlink(path);
        arena_free(arena);
    }
}

static void test_tolerance(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *path = launch_file(arena, 1, 32);
    const char *text = "{\"kernel\": \"k\", \"grid\": [1], \"block\": [32], \"tolerance\": {\"kind\": \"close\", "
                       "\"relative\": 1e-6}, \"args\": [{\"buffer\": \"in\", \"type\": \"f32\", \"count\": 32, "
                       "\"init\": \"uniform\", \"low\": 1, \"high\": 2}, {\"buffer\": \"out\", \"type\": \"f32\", "
                       "\"count\": 32, \"init\": \"zero\"}]}";
    assert_null(write_file(arena, path, text, strlen(text)));
    Module *before =
        parse(arena, "ld.global.f32 %f1, [%rd4];\nmul.f32 %f2, %f1, 0f3eaaaaab;\nst.global.f32 [%rd5], %f2;\n");
    Module *close =
        parse(arena, "ld.global.f32 %f1, [%rd4];\ndiv.rn.f32 %f2, %f1, 0f40400000;\nst.global.f32 [%rd5], %f2;\n");
    Module *far =
        parse(arena, "ld.global.f32 %f1, [%rd4];\nmul.f32 %f2, %f1, 0f3eaaab00;\nst.global.f32 [%rd5], %f2;\n");
    Verification verification;
    verify_launch(arena, before, close, path, NULL, &verification);
    assert_int_equal(verification.outcome, VERIFY_EQUAL);
    verify_launch(arena, before, far, path, NULL, &verification);
    assert_int_equal(verification.outcome, VERIFY_DIFFERENT);
    unlink(path);
    arena_free(arena);
}

static EmulatorResult *count(Arena *arena, const char *body, unsigned blocks, unsigned threads, unsigned jobs)
{
    const char *error, *path = launch_file(arena, blocks, threads);
    Launch *launch = launch_read(arena, path, &error);
    unlink(path);
    assert_non_null(launch);
    EmulatorOptions options = {.count_memory = true, .count_lines = true, .check_races = true, .jobs = jobs};
    return emulator_run(arena, parse(arena, body), launch, &options);
}

typedef struct Pattern {
    const char *what, *body;
    uint64_t load_sectors, load_lines, store_sectors, store_lines, conflicts;
} Pattern;

/* Two warps each. */
static const Pattern patterns[] = {
    {"coalesced", "ld.global.u32 %r2, [%rd4];\nst.global.u32 [%rd5], %r2;\n", 8, 2, 8, 2, 0},
    {"coalesced, one element off", "st.global.u32 [%rd5+4], %r1;\n", 0, 0, 10, 4, 0},
    {"every second element", "add.s64 %rd6, %rd5, %rd3;\nst.global.u32 [%rd6], %r1;\n", 0, 0, 16, 4, 0},
    {"every 32nd element", "mul.wide.u32 %rd6, %r1, 128;\nadd.s64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6], %r1;\n", 0,
     0, 64, 64, 0},
    {"one element for all", "ld.global.u32 %r2, [%rd1];\nst.global.u32 [%rd5], %r2;\n", 2, 2, 8, 2, 0},
    {"vectors of four",
     "mul.wide.u32 %rd6, %r1, 16;\nadd.s64 %rd6, %rd2, %rd6;\n"
     "st.global.v4.u32 [%rd6], {%r1, %r1, %r1, %r1};\n",
     0, 0, 32, 8, 0},
    {"shared, one word a lane", "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\nst.shared.u32 [%r3], %r1;\n", 0, 0, 0,
     0, 0},
    {"shared, every second word", "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 8, %r2;\nst.shared.u32 [%r3], %r1;\n", 0, 0, 0,
     0, 2},
    {"shared, every 32nd word", "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 128, %r2;\nst.shared.u32 [%r3], %r1;\n", 0, 0, 0,
     0, 62},
    {"shared, 33 words apart",
     "mov.u32 %r2, s;\nand.b32 %r4, %r1, 31;\nmad.lo.u32 %r3, %r4, 132, %r2;\n"
     "ld.shared.u32 %r5, [%r3];\n",
     0, 0, 0, 0, 0},
    {"shared, one word for all", "mov.u32 %r2, s;\nld.shared.u32 %r3, [%r2];\n", 0, 0, 0, 0, 0},
    {"shared, two words of one bank",
     "mov.u32 %r2, s;\nand.b32 %r4, %r1, 1;\nmad.lo.u32 %r3, %r4, 128, %r2;\n"
     "ld.shared.u32 %r5, [%r3];\n",
     0, 0, 0, 0, 2},
    {"shared, 8 bytes a lane", "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 8, %r2;\nst.shared.v2.u32 [%r3], {%r1, %r1};\n",
     0, 0, 0, 0, 0},
};

static void test_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        const Pattern *it = &patterns[i];
        Arena *arena = arena_new();
        const EmulatorResult *result = count(arena, it->body, 1, 64, 1);
        const EmulatorCounters *counters = &result->counters;
        if (result->fault.kind != FAULT_NONE)
            fail_msg("%s: %s", it->what, result->fault.message);
        if (counters->load_sectors != it->load_sectors || counters->load_lines != it->load_lines ||
            counters->store_sectors != it->store_sectors || counters->store_lines != it->store_lines ||
            counters->bank_conflicts != it->conflicts)
            fail_msg("%s: %d %d %d %d %d", it->what, (int)counters->load_sectors, (int)counters->load_lines,
                     (int)counters->store_sectors, (int)counters->store_lines, (int)counters->bank_conflicts);
        uint64_t sectors = 0, conflicts = 0, instructions = 0;
        for (size_t k = 0; k < result->line_count; k++) {
            sectors += result->lines[k].sectors;
            conflicts += result->lines[k].bank_conflicts;
            instructions += result->lines[k].thread_instructions;
        }
        assert_int_equal(sectors, it->load_sectors + it->store_sectors);
        assert_int_equal(conflicts, it->conflicts);
        assert_int_equal(instructions, counters->thread_instructions);
        arena_free(arena);
    }
}

static void test_counts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    /* 8 instructions of the head and ret; setp, a branch that divides the first warp, an add for its upper half and the
     * whole second warp, a branch that divides no warp, a barrier. */
    const EmulatorCounters *counters = &count(arena,
                                              "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L;\nadd.u32 %r2, %r1, 1;\nL:\n"
                                              "setp.lt.u32 %p2, %r1, 1000;\n@!%p2 bra M;\nM:\nbar.sync 0;\n",
                                              2, 64, 1)
                                            ->counters;
    assert_int_equal(counters->branches, 8);
    assert_int_equal(counters->divergent_branches, 2);
    assert_int_equal(counters->barriers, 4);
    assert_int_equal(counters->warp_category[CATEGORY_COMPARE], 8);
    assert_int_equal(counters->thread_category[CATEGORY_COMPARE], 256);
    /* mul.wide and two add.s64 of the head for each, the add for 48 of 64 threads in two blocks. */
    assert_int_equal(counters->thread_category[CATEGORY_INT], 3 * 128 + 96);
    assert_int_equal(counters->loads[SPACE_PARAM], 8);
    assert_int_equal(counters->load_bytes[SPACE_PARAM], 2 * 8 * 128);
    arena_free(arena);
}

/* Instructions that cannot be masked are branched around: they count for the lanes that execute them, 16 of the first
 * warp. */
static void test_counts_guarded(void **state)
{
    (void)state;
    static const char *const insts[] = {"shfl.sync.idx.b32 %r2, %r1, 0, 31, 65535;\n", "bar.warp.sync 65535;\n"};
    for (size_t i = 0; i < COUNT_OF(insts); i++) {
        Arena *arena = arena_new();
        const char *body = arena_printf(arena, "setp.lt.u32 %%p1, %%r1, 16;\n@%%p1 %s", insts[i]);
        uint64_t without = count(arena, "setp.lt.u32 %p1, %r1, 16;\n", 2, 64, 1)->counters.thread_instructions;
        assert_int_equal(count(arena, body, 2, 64, 1)->counters.thread_instructions - without, 2 * 16);
        arena_free(arena);
    }
}

typedef struct Shared {
    const char *what, *body;
    FaultKind fault;
} Shared;

static const Shared shared_kernels[] = {
    {"no sharing",
     "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r1;\nmul.wide.u32 %rd6, %r3, 4;\n"
     "add.s64 %rd6, %rd2, %rd6;\nld.global.u32 %r4, [%rd4];\nst.global.u32 [%rd6], %r4;\n",
     FAULT_NONE},
    {"atomics that commute",
     "and.b32 %r2, %r1, 3;\nmul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd6, %rd2, %rd6;\n"
     "red.global.add.u32 [%rd6], %r1;\nred.global.max.s32 [%rd6+64], %r1;\n",
     FAULT_NONE},
    {"tickets",
     "atom.global.add.u32 %r2, [%rd2], 1;\nadd.u32 %r3, %r2, 1;\nmul.wide.u32 %rd6, %r3, 4;\n"
     "add.s64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6], %r1;\n",
     FAULT_NONE},
    {"the same value from all", "st.global.u32 [%rd5], %r1;\n", FAULT_NONE},
    {"a race between blocks", "mov.u32 %r2, %ctaid.x;\nst.global.u32 [%rd5], %r2;\n", FAULT_RACE},
    {"a read of what another block writes",
     "mov.u32 %r2, %ctaid.x;\nxor.b32 %r4, %r2, 7;\nmul.wide.u32 %rd6, %r2, 4;\nmul.wide.u32 %rd7, %r4, 4;\n"
     "add.s64 %rd6, %rd2, %rd6;\nadd.s64 %rd7, %rd2, %rd7;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 ret;\n"
     "ld.global.u32 %r5, [%rd7];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd6], %r5;\n",
     FAULT_RACE},
    {"atomics and plain reads",
     "red.global.add.u32 [%rd2], 1;\nmov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 9;\n"
     "@%p1 ret;\nld.global.u32 %r3, [%rd2];\nst.global.u32 [%rd5+512], %r3;\n",
     FAULT_RACE},
    {"a fault in one block",
     "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, 11;\n@%p1 ret;\nst.global.u32 [%rd2+-4], 0;\n", FAULT_BOUNDS},
};

static void test_cores(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shared_kernels); i++) {
        const Shared *it = &shared_kernels[i];
        Arena *arena = arena_new();
        const EmulatorResult *one = count(arena, it->body, 16, 64, 1), *many = count(arena, it->body, 16, 64, 4);
        if (one->fault.kind != it->fault || many->fault.kind != it->fault)
            fail_msg("%s: %s and %s", it->what, fault_name(one->fault.kind), fault_name(many->fault.kind));
        if (it->fault != FAULT_NONE) {
            assert_string_equal(one->fault.message, many->fault.message);
            assert_memory_equal(one->fault.block, many->fault.block, sizeof one->fault.block);
            assert_memory_equal(one->fault.thread, many->fault.thread, sizeof one->fault.thread);
        }
        assert_memory_equal(&one->counters, &many->counters, sizeof one->counters);
        assert_int_equal(one->line_count, many->line_count);
        for (unsigned k = 0; k < one->buffer_count; k++)
            if (memcmp(one->buffers[k].bytes, many->buffers[k].bytes, (size_t)one->buffers[k].size) != 0)
                fail_msg("%s: %s differs", it->what, one->buffers[k].name);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_miscompiles), cmocka_unit_test(test_tolerance), cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_counts), cmocka_unit_test(test_counts_guarded),      cmocka_unit_test(test_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
