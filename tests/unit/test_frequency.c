/* Estimated frequencies: how often threads and warps execute the marked stores of small kernels, and the sectors they
 * touch. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"
#include "parser/parser.h"

/* %t is the thread, %g its index in the grid, %n a size, %d the data; marked instructions are stores. */
#define HEADER                                                                                                         \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                                                  \
    ".visible .entry k(.param .u64 data, .param .u32 n)\n{\n"                                                          \
    ".reg .pred %p<9>, %q<9>, %all, %any, %differ;\n.reg .b32 %t, %b, %w, %g, %h, %n, %i, %j, %r<9>;\n"                \
    ".reg .b64 %d, %e;\n.reg .f32 %f;\n"                                                                               \
    "ld.param.u64 %d, [data];\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\n"                    \
    "mov.u32 %w, %ntid.x;\nmad.lo.u32 %g, %b, %w, %t;\nadd.u32 %h, %g, 64;\n"
#define MARK "st.global.u32 [%d], %t;\n"

enum { BLOCKS = 8, THREADS = 128, WARPS = THREADS / 32 };

typedef struct Marked {
    double threads, warps; /* executions of all marked instructions by each thread, or warp */
    double sectors;        /* that a warp touches in them for the first time */
} Marked;

static Function *kernel_of(Arena *arena, const char *body)
{
    Diag diag;
    const char *text = arena_printf(arena, "%s%s\nret;\n}\n", HEADER, body);
    Source *source = source_from_memory(arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module_find_function(module, "k");
}

/* In BLOCKS blocks of THREADS threads. */
static Marked marked_in(Arena *arena, const Function *kernel, const AssumedLaunch *launch)
{
    const char *error = NULL;
    const FunctionForm form = {.function = kernel};
    const Profile *profile = profile_estimate(arena, &form, launch, NULL, &error);
    assert_non_null(profile);
    Marked marked = {.sectors = profile->block_store_sectors / (BLOCKS * WARPS)};
    for (size_t i = 0; i < profile->instruction_count; i++) {
        const InstProfile *inst = &profile->instructions[i];
        marked.threads += inst->unit.is_store ? inst->threads / (BLOCKS * THREADS) : 0;
        marked.warps += inst->unit.is_store ? inst->warps / (BLOCKS * WARPS) : 0;
    }
    return marked;
}

/* 'n': the value of the parameter, or -1: it is not known. */
static Marked marked_with(const char *body, double trips, int64_t n)
{
    Arena *arena = arena_new();
    const Function *kernel = kernel_of(arena, body);
    const Variable parameter = *kernel->prototype.params[1]; /* as of a copy of the kernel that was read */
    const KnownParameter known = {&parameter, &n, sizeof(uint32_t)};
    const AssumedLaunch launch = {
        .block = {THREADS, 1, 1}, .blocks = BLOCKS, .trips = trips, .known = {&known, n >= 0}};
    const Marked marked = marked_in(arena, kernel, &launch);
    arena_free(arena);
    return marked;
}

static Marked marked(const char *body)
{
    return marked_with(body, 0, -1);
}

static void check_known(const char *body, int64_t n, double threads, double warps)
{
    const Marked found = marked_with(body, 0, n);
    if (threads - found.threads > 0.001 || found.threads - threads > 0.001)
        fail_msg("%g of the threads, not %g:\n%s", found.threads, threads, body);
    if (warps - found.warps > 0.001 || found.warps - warps > 0.001)
        fail_msg("%g of the warps, not %g:\n%s", found.warps, warps, body);
}

static void check(const char *body, double threads, double warps)
{
    check_known(body, -1, threads, warps);
}

/* The marked instructions at the edge of the data; 'splits': it is within each warp. */
static Marked marked_at_edge(const char *body, bool splits)
{
    Arena *arena = arena_new();
    const AssumedLaunch launch = {
        .block = {THREADS, 1, 1}, .blocks = BLOCKS, .at_edge = true, .splits_warps = splits};
    const Marked marked = marked_in(arena, kernel_of(arena, body), &launch);
    arena_free(arena);
    return marked;
}

#define UNTIL_ZERO(shift) shift " %i, %i, 1;\nsetp.ne.u32 %p2, %i, 0;\n@%p2 bra L;\n"

/* Sums by halves, of 128 threads: 64, 32, ..., 1 of them take part in the rounds. */
static void halves_take_part(void **state)
{
    (void)state;
    check("shr.u32 %i, %w, 1;\nL: setp.ge.u32 %p1, %t, %i;\n@%p1 bra M;\n" MARK "M: " UNTIL_ZERO("shr.u32"), 127. / 128,
          8. / 4);
    check("shr.u32 %i, %w, 1;\nL: setp.eq.u32 %p2, %i, 0;\n@%p2 bra N;\nsetp.ge.u32 %p1, %t, %i;\n@%p1 bra M;\n" MARK
          "M: shr.u32 %i, %i, 1;\nbra L;\nN:", 127. / 128, 8. / 4);
    /* If the number is a parameter, as many as the block has threads at first; a signed division. */
    check("mov.u32 %i, %n;\nL: shr.u32 %r1, %i, 31;\nadd.s32 %r2, %i, %r1;\nshr.s32 %j, %r2, 1;\n"
          "setp.ge.u32 %p1, %t, %j;\n@%p1 bra M;\n" MARK
          "M: setp.gt.s32 %p2, %i, 3;\nmov.u32 %i, %j;\n@%p2 bra L;\n", 255. / 128, 12. / 4);
    /* By neighbours, then neighbours of neighbours. */
    check("mov.u32 %i, 1;\nL: shl.b32 %j, %i, 1;\nsub.u32 %r1, %j, 1;\nand.b32 %r2, %t, %r1;\n"
          "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra M;\n" MARK
          "M: shl.b32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, %w;\n@%p2 bra L;\n", 127. / 128, 23. / 4);
    /* The upper half of those that take part: rounds of a loop are known one by one. */
    check("shr.u32 %i, %w, 1;\nL: setp.ge.u32 %p1, %t, %i;\n@%p1 bra M;\nshr.u32 %j, %i, 1;\n"
          "setp.lt.u32 %p3, %t, %j;\n@%p3 bra M;\n" MARK "M: " UNTIL_ZERO("shr.u32"), 64. / 128, 7. / 4);
}

/* However long loops are assumed to be, a number has no more than 32 bits, and 1,024 eleven. */
static void numbers_are_divided_seldom(void **state)
{
    (void)state;
    static const char any[] = "mov.u32 %i, %n;\nL: " MARK UNTIL_ZERO("shr.u32");
    static const char small[] = "and.b32 %i, %n, 1024;\nL: " MARK UNTIL_ZERO("shr.u32");
    static const char thirds[] = "mov.u32 %i, %n;\nL: " MARK "div.u32 %i, %i, 3;\n"
                                 "setp.gt.u32 %p2, %i, 7;\n@%p2 bra L;\n";
    static const char doubled[] = "mov.u32 %i, 1;\nL: " MARK "add.u32 %i, %i, %i;\n"
                                  "setp.lt.u32 %p2, %i, %n;\n@%p2 bra L;\n";
    /* A start that another loop ends with. */
    check("mov.u32 %j, %n;\nK: add.u32 %j, %j, 1;\nsetp.lt.u32 %p3, %j, 4;\n@%p3 bra K;\n"
          "shl.b32 %i, %j, 3;\nL: " MARK UNTIL_ZERO("shr.u32"), 16, 16);
    static const char counted[] = "mov.u32 %i, %n;\nL: " MARK UNTIL_ZERO("sub.u32");
    assert_true(marked_with(any, 256, -1).threads == 32 && marked_with(any, 16, -1).threads == 16);
    assert_true(marked_with(small, 256, -1).threads == 11);
    assert_true(marked_with(thirds, 256, -1).threads == 20);
    assert_true(marked_with(doubled, 256, -1).threads == 32);
    assert_true(marked_with(counted, 256, -1).threads == 256);
}

/* Conditions on the variable of a loop whose number of rounds, 16, is assumed: the marked ones of all rounds. */
#define ROUNDS(condition, guard)                                                                                       \
    "mov.u32 %i, 0;\nL: " condition "@" guard " bra M;\n" MARK                                                         \
    "M: add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, %n;\n@%p2 bra L;\n"

static void rounds_are_evaluated(void **state)
{
    (void)state;
    check(ROUNDS("setp.ne.u32 %p1, %i, 0;\n", "%p1"), 1, 1);
    check(ROUNDS("add.u32 %j, %i, -1;\nsetp.lt.u32 %p1, %j, 3;\n", "%p1"), 13, 13);
    check(ROUNDS("and.b32 %j, %i, 3;\nsetp.eq.u32 %p1, %j, 2;\n", "%p1"), 12, 12);
    /* The bound has the value at which the loop ends after the rounds, wherever it is compared. */
    check(ROUNDS("add.u32 %j, %i, 3;\nsetp.ge.u32 %p1, %j, %n;\n", "%p1"), 13, 13);
    check(ROUNDS("add.u32 %j, %n, -1;\nsetp.eq.u32 %p1, %j, %i;\n", "!%p1"), 1, 1);
    check(ROUNDS("setp.ne.u32 %p1, %i, 0;\nadd.u32 %j, %i, 2;\nsetp.lt.and.u32 %p3, %j, %n, %p1;\n", "!%p3"), 13, 13);
    /* As many rounds as are known; those of the middle are a sample. */
    check_known(ROUNDS("setp.ne.u32 %p1, %i, 0;\n", "%p1"), 50, 1, 1);
    check_known(ROUNDS("and.b32 %j, %i, 3;\nsetp.eq.u32 %p1, %j, 2;\n", "%p1"), 4096, 3072, 3072);
    check_known(ROUNDS("setp.lt.u32 %p1, %i, 60;\n", "!%p1"), 100000, 60, 60);
    /* Loops that end before they start over, at <= or below the start, and count down. */
    check("mov.u32 %i, 2;\nL: setp.gt.s32 %p1, %i, 2;\n@%p1 bra M;\n" MARK
          "M: add.u32 %i, %i, 2;\nsetp.le.s32 %p2, %i, %n;\n@%p2 bra L;\n", 1, 1);
    check("mov.u32 %i, 40;\nL: add.u32 %j, %i, -2;\nsetp.le.s32 %p1, %j, %n;\n@!%p1 bra M;\n" MARK
          "M: add.s32 %i, %i, -1;\nsetp.gt.s32 %p2, %i, %n;\n@%p2 bra L;\n", 2, 2);
    check("mov.u32 %i, 0;\nL: setp.ge.s32 %p2, %i, %n;\n@%p2 bra N;\nadd.u32 %j, %i, 1;\n"
          "setp.eq.s32 %p1, %j, %n;\n@!%p1 bra M;\n" MARK "M: add.u32 %i, %i, 1;\nbra L;\nN:", 1, 1);
    check("mov.u32 %i, 0;\nL: setp.ne.u32 %p1, %i, %n;\n@%p1 bra M;\n" MARK
          "M: add.u32 %i, %i, 1;\nsetp.le.u32 %p2, %i, %n;\n@%p2 bra L;\n", 1, 1);
    /* One step, or two together, as always: eight rounds, in a fourth of which the variable is below four. */
    static const char steps[] =
        "mov.u32 %i, 0;\nL: setp.lt.u32 %p1, %i, 4;\n@%p1 " MARK "setp.lt.u32 %p3, %n, %i;\n@%p3 bra ONE;\n"
        "add.u32 %i, %i, 2;\nsetp.lt.u32 %p2, %i, %n;\n@%p2 bra L;\nbra N;\n"
        "ONE: add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, %n;\n@%p2 bra L;\nN:";
    assert_float_equal(marked(steps).threads, 2, 0.001);
    /* The start is a parameter: nothing is known. */
    check("mov.u32 %i, %n;\nL: setp.ne.u32 %p1, %i, 0;\n@%p1 bra M;\n" MARK
          "M: add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, 999;\n@%p2 bra L;\n", 8, 8);
}

/* Merged threads take turns in a loop, each with a condition of its own. */
static void turns_are_evaluated(void **state)
{
    (void)state;
    static const char next[] = "add.u32 %i, %i, 1;\nsetp.lt.u32 %p5, %i, 3;\n@%p5 bra L;\n";
    static const char conditions[] = "setp.lt.u32 %p1, %t, 32;\nsetp.lt.u32 %p2, %t, 64;\nsetp.lt.u32 %p3, %t, 96;\n"
                                     "mov.u32 %i, 0;\n";
    Arena *arena = arena_new();
    check(arena_printf(arena, "%sL: @!%%p1 bra M;\n%sM: mov.pred %%p1, %%p2;\nmov.pred %%p2, %%p3;\n%s", conditions,
                       MARK, next), 1.5, 1.5);
    check(arena_printf(arena, "%sL: @!%%p1 bra M;\n%sM: mov.pred %%p1, %%p2;\n%s", conditions, MARK, next), 1.25, 1.25);
    /* Two that are exchanged in each round. */
    check(arena_printf(arena, "%sL: @!%%p1 bra M;\n%sM: mov.pred %%p4, %%p1;\nmov.pred %%p1, %%p2;\n"
                       "mov.pred %%p2, %%p4;\n%s", conditions, MARK, next), 1, 1);
    arena_free(arena);
}

/* Threads that count from their index, in steps of the block or a constant, make as many rounds as follow from it. */
static void threads_count_their_rounds(void **state)
{
    (void)state;
    check("mov.u32 %i, %t;\nL: " MARK "add.u32 %i, %i, %w;\nsetp.lt.u32 %p2, %i, 192;\n@%p2 bra L;\n", 1.5, 1.5);
    check("mov.u32 %i, %t;\nL: " MARK "add.u32 %j, %i, 128;\nsetp.le.s32 %p2, %i, 63;\nmov.u32 %i, %j;\n"
          "@%p2 bra L;\n", 1.5, 1.5);
    check("mov.u32 %i, %t;\nL: setp.ge.u32 %p2, %i, 192;\n@%p2 bra N;\n" MARK
          "add.u32 %i, %i, %w;\nbra L;\nN:", 1.5, 1.5);
    check("shl.b32 %i, %t, 2;\nL: " MARK "add.u32 %i, %i, 512;\nsetp.lt.u32 %p2, %i, 2048;\n@%p2 bra L;\n", 4, 4);
    check("sub.u32 %i, 200, %t;\nL: " MARK "add.s32 %i, %i, -100;\nsetp.gt.s32 %p2, %i, 0;\n@%p2 bra L;\n",
          (100 * 2 + 28) / 128., (100 * 2 + 28) / 128.);
    /* A number of rounds that is counted down: what an unrolled loop leaves over. */
    check("setp.lt.u32 %p1, %t, 80;\nselp.u32 %i, 2, 1, %p1;\nand.b32 %i, %i, 3;\nL: " MARK
          "add.u32 %i, %i, -1;\nsetp.ne.u32 %p2, %i, 0;\n@%p2 bra L;\n", 1.625, 1.625);
    /* A fourth of the threads enters. */
    check("setp.ge.u32 %p1, %t, 32;\n@%p1 bra N;\nmov.u32 %i, %t;\nL: " MARK
          "add.u32 %i, %i, 16;\nsetp.lt.u32 %p2, %i, 32;\n@%p2 bra L;\nN:", 1.5 / 4, 1.5 / 4);
    /* Two merged threads go on together, and then the first one alone; the bound is half a block more. */
    for (unsigned i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "mov.u32 %%i, %%t;\nadd.u32 %%j, %%t, 128;\nL: %s%sadd.u32 %%i, %%i, 256;\nadd.u32 %%j, %%j, 256;\n"
                 "setp.lt.u32 %%p1, %%i, 320;\nsetp.lt.u32 %%p2, %%j, 320;\nand.pred %%all, %s;\n@%%all bra L;\n"
                 "@!%%p1 bra N;\nM: %sadd.u32 %%i, %%i, 256;\nsetp.lt.u32 %%p3, %%i, 320;\n@%%p3 bra M;\nN:", MARK,
                 MARK, i ? "%p1, %p2" : "%p2, %p1", MARK);
        check(text, 2.5, 2.5);
    }
}

/* At the edge of the data half of the threads are out of bounds, in warps of their own or in each. Conditions on the
 * thread's index alone, and those that all threads share, hold as often as elsewhere. */
static void edges_may_split_warps(void **state)
{
    (void)state;
    static const char bounds[] = "setp.ge.u32 %p1, %g, %n;\n@%p1 bra L;\n" MARK "L:";
    static const char both[] = "setp.lt.u32 %p1, %g, %n;\n@%p1 bra L;\n" MARK "bra M;\nL: " MARK "M:";
    static const char index[] = "setp.ge.u32 %p1, %t, 32;\n@%p1 bra L;\n" MARK "L:";
    static const char common[] = "setp.ge.u32 %p1, %n, 9;\n@%p1 bra L;\n" MARK "L:";
    for (unsigned splits = 0; splits < 2; splits++) {
        const Marked one = marked_at_edge(bounds, splits), two = marked_at_edge(both, splits);
        assert_true(one.threads == 0.5 && one.warps == (splits ? 0.9 : 0.5));
        assert_true(two.threads == 1 && two.warps == (splits ? 1.8 : 1));
        assert_true(marked_at_edge(index, splits).warps == 0.25);
        assert_true(marked_at_edge(common, splits).warps == marked_at_edge(common, !splits).warps);
    }
}

/* A test whether the data and the rows of n words are aligned to 16 bytes. */
#define ALIGNED                                                                                                        \
    ".reg .b64 %o, %m;\nmul.wide.u32 %e, %n, 4;\nor.b64 %o, %d, %e;\nmul.wide.u32 %e, %n, 12;\nor.b64 %o, %o, %e;\n" \
    "and.b64 %m, %o, 15;\nsetp.eq.u64 %p1, %m, 0;\n@%p1 bra L;\nbra M;\nL: " MARK "M:"

/* Rows are taken to be aligned unless their width is known, and a form tells which parameter that is. */
static void widths_tell_what_is_aligned(void **state)
{
    (void)state;
    check_known(ALIGNED, -1, 0.97, 0.97);
    check_known(ALIGNED, 64, 0.97, 0.97);
    check_known(ALIGNED, 1055, 0, 0);
    check_known(ALIGNED, 2, 0, 0);
    Arena *arena = arena_new();
    const FunctionForm form = {.function = kernel_of(arena, ALIGNED)};
    const AlignedParameters found = alignment_parameters(&form);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.of[0].index, 1);
    assert_int_equal(found.of[0].multiple, 4);
    const FunctionForm other = {
        .function = kernel_of(arena, "mul.wide.u32 %e, %n, 4;\nsetp.eq.u64 %p1, %e, 0;\n@%p1 bra L;\n" MARK "L:")};
    assert_int_equal(alignment_parameters(&other).count, 0);
    arena_free(arena);
}

/* True if the thread's index decides. */
static void indices_are_evaluated(void **state)
{
    (void)state;
    check("setp.ne.u32 %p1, %t, 0;\n@%p1 bra L;\n" MARK "L:", 1.0 / THREADS, 1.0 / WARPS);
    check("setp.ge.u32 %p1, %t, 32;\n@%p1 bra L;\n" MARK "L:", 0.25, 0.25);
    check("and.b32 %r1, %t, 31;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L;\n" MARK "L:", 1.0 / 32, 1);
    /* No thread has such an index: the second replica of thread 0. */
    check("add.u32 %r1, %t, 64;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra L;\n" MARK "L:", 0, 0);
    check("mad.lo.u32 %r1, %t, 2, 1;\nsetp.ne.u32 %p1, %r1, 1;\n@%p1 bra L;\n" MARK "L:", 1.0 / THREADS, 1.0 / WARPS);
    /* The second test is made by the threads that passed the first one. */
    check("setp.ge.u32 %p1, %t, 32;\n@%p1 bra L;\nsetp.ge.u32 %p2, %t, 8;\n@%p2 bra L;\n" MARK "L:", 1.0 / 16, 0.25);
    /* Only the second round has a thread 65. */
    check("mov.u32 %r1, %t;\nmov.u32 %j, 2;\nR: setp.ne.u32 %p1, %r1, 129;\n@%p1 bra L;\n" MARK
          "L: add.u32 %r1, %r1, 128;\nadd.u32 %j, %j, -1;\nsetp.ne.u32 %p2, %j, 0;\n@%p2 bra R;", 1.0 / THREADS,
          0.25);
}

/* True if conditions that are combined one by one are followed, however many there are. */
static void combinations_are_followed(void **state)
{
    (void)state;
    enum { CONDITIONS = 30 };
    char text[4096] = "mad.wide.s32 %e, %n, 4, %d;\nsetp.eq.s64 %p1, %d, %e;\n";
    for (unsigned i = 1; i <= CONDITIONS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "add.s64 %%e, %%e, %u;\nsetp.eq.s64 %%p2, %%d, %%e;\nand.pred %%p1, %%p1, %%p2;\n", i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "@!%%p1 bra SLOW;\n%sbra L;\n"
             "SLOW: ld.global.u32 %%r1, [%%d];\nL:", MARK);
    check(text, 0.97, 0.97);
}

/* The share that goes to the first of two sides, where %p2 holds; %e is another address. */
static void check_sides(const char *condition, double share)
{
    char text[512];
    snprintf(text, sizeof text, "mad.wide.s32 %%e, %%n, 4, %%d;\n%s@!%%p2 bra SLOW;\n%sbra L;\n"
                                "SLOW: ld.global.u32 %%r1, [%%d];\nL:", condition, MARK);
    check(text, share, share);
}

/* True if guards of one kind have one share, in whatever form: a branch, its other outcome, or a predicate. */
static void guards_are_passed(void **state)
{
    (void)state;
    check("setp.ge.s32 %p1, %g, %n;\n@%p1 bra L;\n" MARK "L:", 0.97, 0.97);
    check("setp.lt.s32 %p1, %g, %n;\n@!%p1 bra L;\n" MARK "L:", 0.97, 0.97);
    check("setp.ge.s32 %p1, %g, %n;\n@%p1 ret;\n" MARK, 0.97, 0.97);
    check("setp.lt.s32 %p1, %g, %n;\n@%p1 " MARK, 0.97, 1);
    check("setp.lt.s32 %p1, %g, %n;\nnot.pred %p2, %p1;\n@!%p2 " MARK, 0.97, 1);
    /* Data decide for each thread. */
    check("ld.global.u32 %r1, [%d];\nsetp.gt.s32 %p1, %r1, 5;\n@%p1 bra L;\n" MARK "L:", 0.5, 0.9);
    /* Hardly any number is as large as what the slow paths of math functions are for. */
    static const char *const comparisons[] = {"ltu.f32 %p1, %f, 0f47CE4780", "gt.f32 %p1, %f, 0fC7CE4780",
                                              "lt.f32 %p1, 0fC7CE4780, %f", "neu.f32 %p1, %f, 0f7F800000",
                                              "geu.f32 %p1, %f, 0f00800000"};
    char text[256];
    for (unsigned i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        snprintf(text, sizeof text, "ld.global.f32 %%f, [%%d];\nsetp.%s;\n@%%p1 bra L;\n%sL:", comparisons[i], MARK);
        check(text, 0.001, 1 - pow(0.999, 32));
    }
    check("ld.global.f32 %f, [%d];\nsetp.lt.f32 %p1, %f, 0f42C80000;\n@%p1 bra L;\n" MARK "L:", 0.5, 0.9);
    check("setp.lt.s32 %p1, %g, %n;\n@%p1 bra L;\ntrap;\nL:\n" MARK, 1, 1);
    check("and.b32 %r1, %n, 3;\nsetp.gt.u32 %p1, %r1, 7;\n@%p1 bra L;\n" MARK "L:", 1, 1); /* by its bounds */
    /* Addresses are as the tests before two versions expect them, and ranges hardly ever overlap. */
    check_sides("setp.eq.s64 %p2, %d, %e;\n", 0.97);
    check_sides("setp.eq.s64 %p1, %d, %e;\nsetp.lt.and.s32 %p2, %g, %n, %p1;\n", 0.97);
    check_sides("setp.le.u64 %p1, %d, %e;\nsetp.le.or.u64 %p2, %e, %d, %p1;\n", 0.999);
    check_sides("setp.le.u64 %p2, %d, %e;\n", 0.5);
    check_sides("setp.le.u64 %p1, %d, %e;\nsetp.eq.and.s64 %p2, %d, %e, %p1;\n", 0.5);
    /* Others ask whether a counter that was rounded down to a multiple is one, and how many rounds a loop makes. */
    static const char rounded[] = "and.b32 %%i, %%n, 3;\nsub.s32 %%j, %%n, %%i;\nadd.s32 %%j, %%j, -4;\n"
                                  "and.b32 %%r1, %%j, %u;\nsetp.eq.u32 %%p2, %%r1, 0;\n";
    for (unsigned mask = 1; mask <= 7; mask = 2 * mask + 1) {
        snprintf(text, sizeof text, rounded, mask);
        check_sides(text, mask > 3 ? 0.125 : 1);
    }
    check_sides("setp.lt.u32 %p2, %n, 16777216;\n", 0.999);
    check_sides("setp.lt.u32 %p2, %n, 65536;\n", 0.5);
    /* Hardly any index wraps, whichever thread's it is, and addresses are below the end of the address space. */
    check_sides("cvt.s64.s32 %e, %g;\nadd.s64 %e, %e, 2147483648;\nsetp.lt.u64 %p2, %e, 4294967295;\n", 0.999);
    check_sides("or.b64 %e, %e, %d;\nsetp.lt.u64 %p2, %e, 4611686018427387904;\n", 0.999);
    check_sides("cvt.s64.s32 %e, %g;\nsetp.lt.u64 %p2, %e, 65536;\n", 0.97);
    check_sides("setp.lt.u64 %p2, %e, 65536;\n", 0.5);
    check("ld.global.u64 %e, [%d];\nsetp.lt.u64 %p1, %e, 4294967295;\n@%p1 bra L;\n" MARK "L:", 0.5, 0.9);
}

/* True if copies for several replicas execute together what one condition for each would: two replicas are two. */
static void replicas_agree(void **state)
{
    (void)state;
    static const char conditions[] = "setp.lt.s32 %p1, %g, %n;\nsetp.lt.s32 %p2, %h, %n;\n";
    static const char data[] = "ld.global.u32 %r1, [%d];\nld.global.u32 %r2, [%d+4];\nsetp.gt.s32 %p1, %r1, 5;\n"
                               "setp.gt.s32 %p2, %r2, 5;\n";
    static const char one_side[] = "and.pred %all, %p1, %p2;\n@!%all bra SLOW;\n" MARK MARK "bra L;\n"
                                   "SLOW: @!%p1 bra A;\n" MARK "A: @!%p2 bra L;\n" MARK "L:";
    static const char other_side[] = "or.pred %any, %q1, %q2;\n@%any bra SLOW;\n" MARK MARK "bra L;\n"
                                     "SLOW: @%q1 bra A;\n" MARK "A: @%q2 bra L;\n" MARK "L:";
    static const char both[] = "and.pred %all, %p1, %p2;\nor.pred %any, %p1, %p2;\nxor.pred %differ, %all, %any;\n"
                               "@%differ bra SLOW;\n@!%any bra L;\n" MARK MARK "bra L;\n"
                               "SLOW: @!%p1 bra A;\n" MARK "A: @!%p2 bra L;\n" MARK "L:";
    char text[1024];
    for (unsigned i = 0; i < 2; i++) {
        const char *tests[] = {conditions, data}, *forms[] = {one_side, other_side, both};
        for (unsigned k = 0; k < 3; k++) {
            snprintf(text, sizeof text, "%snot.pred %%q1, %%p1;\nnot.pred %%q2, %%p2;\n%s", tests[i], forms[k]);
            const Marked found = marked(text);
            if (found.threads < (i ? 0.99 : 1.92) || found.threads > (i ? 1.01 : 1.96))
                fail_msg("%g for two replicas:\n%s", found.threads, text);
        }
    }
}

/* True if loops that continue one another make the iterations of one loop. */
static void chains_conserve(void **state)
{
    (void)state;
    static const char rest[] = "@!%p2 bra L;\nREST: " MARK "add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %n;\n"
                               "@%p1 bra REST;\nL:";
    static const unsigned steps[] = {1, 2, 4, 8};
    char text[1024];
    for (unsigned i = 0; i < 4; i++) {
        char marks[512] = "";
        for (unsigned k = 0; k < steps[i]; k++)
            strcat(marks, MARK);
        snprintf(text, sizeof text, "mov.u32 %%i, %%g;\nMAIN: %sadd.u32 %%i, %%i, %u;\nsetp.lt.u32 %%p1, %%i, %%n;\n"
                                    "@%%p1 bra MAIN;\nsetp.lt.u32 %%p2, %%i, %%n;\n%s", marks, steps[i], rest);
        for (unsigned trips = 16; trips <= 256; trips *= 16) {
            const double found = marked_with(text, trips, -1).threads;
            if (found < trips - 0.01 || found > trips + 0.01)
                fail_msg("%g iterations instead of %u:\n%s", found, trips, text);
        }
    }
    /* Constants: 21 iterations, of which the first loop makes 5 times 4. */
    check("mov.u32 %i, 0;\nMAIN: " MARK MARK MARK MARK "add.u32 %i, %i, 4;\nsetp.lt.u32 %p1, %i, 18;\n@%p1 bra MAIN;\n"
          "REST: " MARK "add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 21;\n@%p1 bra REST;", 21, 21);
    /* A loop that tests first executes its header once more than the rest. */
    check("mov.u32 %i, 0;\nH: setp.ge.u32 %p1, %i, 10;\n@%p1 bra L;\n" MARK "add.u32 %i, %i, 1;\nbra H;\nL:", 10, 10);
    /* A condition on the counter that does not end the loop says nothing about its length. */
    check("mov.u32 %i, 0;\nH: setp.eq.u32 %p1, %i, 0;\n@%p1 bra S;\n" MARK "S: add.u32 %i, %i, 1;\n"
          "setp.lt.u32 %p2, %i, %n;\n@%p2 bra H;", 15, 15);
    /* One iteration, or four together. */
    check("mov.u32 %i, 0;\nH: setp.lt.u32 %p1, %n, %i;\n@%p1 bra ONE;\n" MARK MARK MARK MARK "add.u32 %i, %i, 4;\n"
          "setp.lt.u32 %p2, %i, %n;\n@%p2 bra H;\nbra L;\nONE: " MARK "add.u32 %i, %i, 1;\nsetp.lt.u32 %p2, %i, %n;\n"
          "@%p2 bra H;\nL:", 16, 16);
    check("mov.u32 %i, 0;\nH: " MARK "setp.ge.u32 %p1, %i, 10;\n@%p1 bra L;\nadd.u32 %i, %i, 1;\nbra H;\nL:", 11, 11);
    /* The rest of a division by four: none for a quarter of all numbers, and else 1, 2 or 3 rounds. */
    check("and.b32 %i, %n, 3;\nsetp.eq.u32 %p1, %i, 0;\n@%p1 bra L;\n" MARK "L:", 0.75, 0.75);
    check("and.b32 %i, %n, 3;\nsetp.eq.u32 %p1, %i, 0;\n@%p1 bra L;\nH: " MARK "add.u32 %i, %i, -1;\n"
          "setp.ne.u32 %p2, %i, 0;\n@%p2 bra H;\nL:", 1.5, 1.5);
}

/* True if what is known of the launch's arguments decides how long loops are, and which branches are taken. */
static void arguments_decide(void **state)
{
    (void)state;
    static const char loop[] = "mov.u32 %i, 0;\nH: " MARK "add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, %n;\n@%p1 bra H;";
    check(loop, 16, 16);
    check_known(loop, 5, 5, 5);
    /* From -n to n, with the bound on the left, and a latch that only leads back. */
    check_known("neg.s32 %i, %n;\nH: " MARK "setp.eq.s32 %p1, %n, %i;\nadd.s32 %i, %i, 1;\n@%p1 bra L;\nbra H;\nL:",
                2, 5, 5);
    /* The first rounds of an unrolled loop: of 2 n + 1, those left over by four. */
    static const char peeled[] =
        "shl.b32 %r1, %n, 1;\nadd.s32 %r1, %r1, 1;\nand.b32 %r2, %r1, 3;\nmov.u32 %i, 0;\nsetp.eq.s32 %p1, %r2, 0;\n"
        "@%p1 bra M;\n" MARK "mov.u32 %i, 1;\nsetp.eq.s32 %p2, %r2, 1;\n@%p2 bra M;\n" MARK "mov.u32 %i, 2;\n"
        "M: setp.lt.u32 %p3, %r1, 4;\n@%p3 bra L;\nH: " MARK MARK MARK MARK "add.u32 %i, %i, 4;\n"
        "setp.lt.u32 %p4, %i, %r1;\n@%p4 bra H;\nL:";
    check_known(peeled, 2, 5, 5);
    check_known(peeled, 8, 17, 17);
    /* Each round is on one of two sides, which lead back by themselves. */
    check_known("mov.u32 %i, %n;\nH: setp.lt.u32 %p1, %r2, %i;\n@%p1 bra S;\n" MARK "sub.u32 %i, %i, 2;\n"
                "setp.ne.u32 %p2, %i, 0;\n@%p2 bra H;\nbra L;\nS: " MARK "sub.u32 %i, %i, 2;\n"
                "setp.ne.u32 %p3, %i, 0;\n@%p3 bra H;\nL:", 12, 6, 6);
    /* Merged threads go on together while each of them does. */
    check_known("mov.u32 %i, 0;\nmov.u32 %j, 1;\nH: " MARK "add.u32 %i, %i, 1;\nadd.u32 %j, %j, 1;\n"
                "setp.lt.u32 %p1, %i, %n;\nsetp.lt.u32 %p2, %j, %n;\nand.pred %p3, %p1, %p2;\n@%p3 bra H;", 9, 8, 8);
    /* A store that is not executed touches nothing that others could touch again. */
    static const char twice[] = "mul.wide.u32 %e, %t, 4;\nadd.s64 %e, %d, %e;\nsetp.lt.u32 %p1, %n, 4;\n@%p1 bra M;\n"
                                "st.global.u32 [%e], %t;\nM: st.global.u32 [%e], %t;";
    assert_float_equal(marked_with(twice, 0, 3).sectors, 4, 0.001);
    assert_float_equal(marked_with(twice, 0, 4).sectors, 4, 0.001);
}

/* Two joins of the same values, as before loops that go over the same data, lead to the same sectors. */
static void joins_share_sectors(void **state)
{
    (void)state;
    static const struct {
        unsigned other;
        double sectors;
    } cases[] = {{128, 4}, {256, 8}};
    Arena *arena = arena_new();
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *body = arena_printf(
            arena,
            "setp.lt.u32 %%p1, %%g, %%n;\nmov.u32 %%i, %%t;\n@%%p1 bra FIRST;\nadd.u32 %%i, %%t, 128;\n"
            "FIRST: mul.wide.u32 %%e, %%i, 4;\nadd.s64 %%e, %%d, %%e;\nst.global.u32 [%%e], %%t;\n"
            "mov.u32 %%j, %%t;\n@%%p1 bra SECOND;\nadd.u32 %%j, %%t, %u;\n"
            "SECOND: mul.wide.u32 %%e, %%j, 4;\nadd.s64 %%e, %%d, %%e;\nst.global.u32 [%%e], %%t;\n",
            cases[k].other);
        assert_float_equal(marked(body).sectors, cases[k].sectors, 0.001);
    }
    arena_free(arena);
}

/* The class of distances at which warps load again what they have loaded, and how much of it, in sectors a warp. */
static int returning(const char *body, double *again)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    const FunctionForm form = {.function = kernel_of(arena, body)};
    const AssumedLaunch launch = {.block = {THREADS, 1, 1}, .blocks = BLOCKS};
    const Profile *profile = profile_estimate(arena, &form, &launch, NULL, &error);
    assert_non_null(profile);
    int found = -1;
    double sum = 0;
    for (int k = 0; k < REUSE_DISTANCES; k++) {
        found = profile->own_reuse[k] > 0 ? k : found;
        sum += profile->own_reuse[k];
    }
    const double others = profile->block_load_sectors + profile->near_loads + profile->shared_unknown;
    assert_true(fabs(sum + others - profile->load_sectors) < 0.001 * profile->load_sectors);
    *again = sum / (BLOCKS * WARPS);
    arena_free(arena);
    return found;
}

/* A loop of 16 rounds in which each thread goes along a row of its own. */
#define ROWS(loads, step)                                                                                              \
    "mul.lo.u32 %r1, %g, %n;\nmul.wide.u32 %e, %r1, 4;\nadd.s64 %e, %e, %d;\nmov.u32 %i, 0;\n"                         \
    "R:\n" loads "add.s64 %e, %e, " step ";\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 16;\n@%p1 bra R;\n"
#define LOAD(at) "ld.global.u32 %r2, [%e+" at "];\nadd.u32 %t, %t, %r2;\n"

/* True if warps come back to the sectors of their threads' rows after the lines that they load meanwhile. */
static void rows_are_come_back_to(void **state)
{
    (void)state;
    double again;
    /* Two of 16 rounds begin a sector, 32 of them; 32 lines in each round. */
    assert_int_equal(returning(ROWS(LOAD("0"), "4"), &again), 5);
    assert_true(fabs(again - 14 * 32) < 40);
    /* Two loads of a round, of the same sector, and of other rows. */
    assert_int_equal(returning(ROWS(LOAD("0") LOAD("4"), "8"), &again), 5);
    assert_true(fabs(again - (32 - 4) * 32) < 80);
    static const char two[] = ".reg .b64 %o;\nmul.wide.u32 %o, %b, 65536;\n"
                              ROWS(LOAD("0") "add.s64 %o, %o, %e;\nld.global.u32 %r3, [%o];\nadd.u32 %t, %t, %r3;\n"
                                   "sub.s64 %o, %o, %e;\n", "4");
    assert_int_equal(returning(two, &again), 6);
    assert_true(fabs(again - 2 * 14 * 32) < 80);
    /* Whole sectors, or what all threads share. */
    assert_int_equal(returning(ROWS(LOAD("0"), "32"), &again), -1);
    assert_int_equal(returning("mov.u32 %i, 0;\nmov.u64 %e, %d;\nR:\n" LOAD("0") "add.s64 %e, %e, 4;\n"
                               "add.u32 %i, %i, 1;\nsetp.lt.u32 %p1, %i, 16;\n@%p1 bra R;\n", &again), -1);
}

/* Counts of a smaller grid are taken for each thread, but no grid touches more than its blocks do. */
static void counted_footprints_are_taken(void **state)
{
    (void)state;
    const Profile counted = {.original_threads = 100, .load_footprint = 10, .store_footprint = 30};
    Profile estimate = {.original_threads = 400, .load_footprint = 90, .store_footprint = 20, .block_load_sectors = 95,
                        .block_store_sectors = 100};
    profile_take_footprint(&counted, &estimate);
    assert_float_equal(estimate.load_footprint, 40, 0);
    assert_float_equal(estimate.store_footprint, 100, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_evaluated),
        cmocka_unit_test(turns_are_evaluated),
        cmocka_unit_test(threads_count_their_rounds),
        cmocka_unit_test(halves_take_part),
        cmocka_unit_test(numbers_are_divided_seldom),
        cmocka_unit_test(edges_may_split_warps),
        cmocka_unit_test(widths_tell_what_is_aligned),
        cmocka_unit_test(indices_are_evaluated),
        cmocka_unit_test(guards_are_passed),
        cmocka_unit_test(combinations_are_followed),
        cmocka_unit_test(replicas_agree),
        cmocka_unit_test(chains_conserve),
        cmocka_unit_test(arguments_decide),
        cmocka_unit_test(joins_share_sectors),
        cmocka_unit_test(rows_are_come_back_to),
        cmocka_unit_test(counted_footprints_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
