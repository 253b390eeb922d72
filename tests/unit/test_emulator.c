/* The emulated machine: divergence, barriers, memory, calls, atomics, warp-level operations, and every fault it
 * reports.
 *
 * Each test writes the body of a kernel "k" whose first parameter is an output buffer of 256 words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

#define HEADER ".version 8.3\n.target sm_90\n.address_size 64\n"
#define WORDS 256

/* Registers of every test kernel: %rd1 is the output's address, %r1 the thread's number, %rd2 the address of its
 * word. */
#define ENTRY                                                                                                          \
    ".visible .entry k(.param .u64 out)\n{\n"                                                                          \
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .f64 %d<4>;\n"      \
    "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;\n"                                                       \
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n"

typedef struct Run {
    Arena *arena;
    Module *module;
    EmulatorResult *result;
    const uint32_t *out;
} Run;

static Module *parse(Arena *arena, const char *text)
{
    Diag diag;
    Source *source = source_from_memory(arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

static Run run_module(const char *text, unsigned blocks, unsigned threads, const EmulatorOptions *options)
{
    Run run = {.arena = arena_new()};
    LaunchArgument *argument = ARENA_NEW(run.arena, LaunchArgument);
    *argument =
        (LaunchArgument){.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_POISON};
    Launch launch = {
        .kernel = "k", .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arguments = argument, .argument_count = 1};
    run.module = parse(run.arena, text);
    run.result = emulator_run(run.arena, run.module, &launch, options);
    const EmulatorBuffer *buffer = emulator_buffer(run.result, "out");
    run.out = buffer ? (const uint32_t *)buffer->bytes : NULL;
    return run;
}

static Run run_kernel(const char *module_scope, const char *body, unsigned blocks, unsigned threads,
                      const EmulatorOptions *options)
{
    Buf text = {0};
    buf_printf(&text, "%s%s%s%s\n}\n", HEADER, module_scope, ENTRY, body);
    Run run = run_module(buf_text(&text), blocks, threads, options);
    buf_free(&text);
    return run;
}

static void expect_fine(Run *run)
{
    if (run->result->fault.kind != FAULT_NONE)
        fail_msg("%s", fault_text(run->arena, run->module, &run->result->fault));
}

/* The kind, the line (0: any) and a word of the message. */
static void expect_fault(Run *run, FaultKind kind, unsigned line, const char *word)
{
    const EmulatorFault *fault = &run->result->fault;
    if (fault->kind != kind)
        fail_msg("expected %s, got %s: %s", fault_name(kind), fault_name(fault->kind),
                 fault->message ? fault->message : "");
    if (line)
        assert_int_equal(fault->position.line, line);
    if (!strstr(fault->message, word))
        fail_msg("'%s' does not say '%s'", fault->message, word);
    arena_free(run->arena);
}

static void divergent_loops_meet_again(void **state)
{
    (void)state;
    /* sum of i < tid; odd and even lanes take different paths; threads from 60 on exit early */
    Run run = run_kernel("",
                         "setp.ge.u32 %p1, %r1, 60;\n@%p1 ret;\n"
                         "mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
                         "loop: setp.ge.u32 %p2, %r3, %r1; @%p2 bra done;\n"
                         "and.b32 %r4, %r3, 1; setp.eq.u32 %p3, %r4, 0; @%p3 bra even;\n"
                         "add.u32 %r2, %r2, %r3; bra next;\n"
                         "even: add.u32 %r2, %r2, %r3;\n"
                         "next: add.u32 %r3, %r3, 1; bra loop;\n"
                         "done: activemask.b32 %r5; popc.b32 %r5, %r5; mad.lo.u32 %r2, %r5, 65536, %r2;\n"
                         "st.global.u32 [%rd2], %r2; ret;",
                         1, 64, NULL);
    expect_fine(&run);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(run.out[i], i * (i - 1) / 2 + (i < 32 ? 32 : 28) * 65536);
    assert_int_equal(run.out[60], 0xcbcbcbcb);
    assert_true(run.result->counters.divergent_branches > 0);
    arena_free(run.arena);
}

static void table_branches_split_many_ways(void **state)
{
    (void)state;
    Run run =
        run_kernel("",
                   "rem.u32 %r2, %r1, 3;\nT: .branchtargets a, b, c;\nbrx.idx %r2, T;\n"
                   "a: mov.u32 %r3, 10; bra end;\nb: mov.u32 %r3, 20; bra end;\nc: mov.u32 %r3, 30;\n"
                   "end: activemask.b32 %r4; popc.b32 %r4, %r4; add.u32 %r3, %r3, %r4; st.global.u32 [%rd2], %r3; ret;",
                   1, 32, NULL);
    expect_fine(&run);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(run.out[i], 10 * (i % 3 + 1) + 32);
    arena_free(run.arena);
}

static void barriers_order_shared_memory(void **state)
{
    (void)state;
    EmulatorOptions options = {.check_races = true, .check_unwritten = true, .check_registers = true};
    Run run = run_kernel(".shared .align 4 .b8 tile[1024];\n",
                         "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1;\n"
                         "bar.sync 0;\n"
                         "mov.u32 %r5, %ntid.x; sub.u32 %r5, %r5, %r1; sub.u32 %r5, %r5, 1; shl.b32 %r5, %r5, 2;\n"
                         "add.u32 %r5, %r2, %r5; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd2], %r6; ret;",
                         1, 200, &options);
    expect_fine(&run);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(run.out[i], 199 - i);
    arena_free(run.arena);
}

static void exited_threads_are_not_waited_for(void **state)
{
    (void)state;
    Run run = run_kernel("", "setp.ge.u32 %p1, %r1, 40;\n@%p1 exit;\nbar.sync 0;\nst.global.u32 [%rd2], %r1; ret;", 1,
                         128, NULL);
    expect_fine(&run);
    assert_int_equal(run.out[39], 39);
    assert_int_equal(run.out[40], 0xcbcbcbcb);
    arena_free(run.arena);
}

static void named_barriers_pass_work_on(void **state)
{
    (void)state;
    /* warp 0 produces and arrives, warp 1 consumes; then bar.red counts odd threads */
    Run run = run_kernel(".shared .align 4 .u32 cell;\n",
                         "setp.lt.u32 %p1, %r1, 32; @!%p1 bra consume;\n"
                         "st.shared.u32 [cell], 77; bar.arrive 1, 64; bra join;\n"
                         "consume: bar.sync 1, 64; ld.shared.u32 %r2, [cell];\n"
                         "join: and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 1; bar.red.popc.u32 %r4, 0, %p2;\n"
                         "@!%p1 add.u32 %r4, %r4, %r2; st.global.u32 [%rd2], %r4; ret;",
                         1, 64, NULL);
    expect_fine(&run);
    assert_int_equal(run.out[5], 32);
    assert_int_equal(run.out[40], 109);
    arena_free(run.arena);
}

static void divergent_barrier_is_a_fault(void **state)
{
    (void)state;
    Run run = run_kernel(
        "",
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra over;\nbar.sync 0;\nadd.u32 %r1, %r1, 1; bar.sync 0;\nbra end;\n"
        "over: bar.sync 0;\nend: st.global.u32 [%rd2], %r1; ret;",
        1, 32, NULL);
    expect_fault(&run, FAULT_BARRIER, 0, "lanes");
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;\nst.global.u32 [%rd2], %r1; ret;", 1, 32, NULL);
    expect_fault(&run, FAULT_BARRIER, 0, "lanes");
    run = run_kernel("", "bar.sync 0, 96;\nret;", 1, 64, NULL);
    expect_fault(&run, FAULT_BARRIER, 9, "64 of 96");
}

/* Branches that decide whether threads reach a barrier: all threads of the block take them alike, each time. */
static void barriers_need_agreement(void **state)
{
    (void)state;
    const char *say = "do not agree";
    Run run =
        run_kernel("", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra over;\nbar.sync 0;\nover: st.global.u32 [%rd2], %r1; ret;",
                   1, 64, NULL);
    expect_fault(&run, FAULT_BARRIER, 10, say);
    /* a loop with a barrier, of which some threads make more iterations */
    run = run_kernel("", "shr.u32 %r3, %r1, 5; mov.u32 %r2, 0;\nagain: add.u32 %r2, %r2, 1; bar.sync 0;\n"
                         "setp.le.u32 %p1, %r2, %r3;\n@%p1 bra again;\nst.global.u32 [%rd2], %r1; ret;",
                     1, 64, NULL);
    expect_fault(&run, FAULT_BARRIER, 12, say);
    /* the same barrier in different iterations */
    run = run_kernel(
        "",
        "shr.u32 %r3, %r1, 5; mov.u32 %r2, 0;\nagain: setp.ne.u32 %p1, %r2, %r3;\n@%p1 bra over;\nbar.sync 0;\n"
        "over: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 2; @%p2 bra again; st.global.u32 [%rd2], %r1; ret;",
        1, 64, NULL);
    expect_fault(&run, FAULT_BARRIER, 11, say);
    /* either of two conditions, a barrier that all get to later, an exit, a barrier with another number */
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 32; setp.ge.u32 %p2, %r1, 32;\n@%p1 bra meet; @!%p2 bra over;\n"
                         "meet: bar.sync 0;\nover: st.global.u32 [%rd2], %r1; ret;",
                     1, 64, NULL);
    expect_fine(&run);
    arena_free(run.arena);
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra over; add.u32 %r1, %r1, 1;\nover: bar.sync 0;\n"
                         "st.global.u32 [%rd2], %r1; ret;",
                     1, 64, NULL);
    expect_fine(&run);
    arena_free(run.arena);
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 32; st.global.u32 [%rd2], %r1;\n@%p1 bra over;\nbar.sync 0;\n"
                         "st.global.u32 [%rd2], %r1;\nover: ret;",
                     1, 64, NULL);
    expect_fine(&run);
    arena_free(run.arena);
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 32; st.global.u32 [%rd2], %r1;\n@%p1 bra over;\nbar.sync 0;\n"
                         "st.global.u32 [%rd2], %r1;\nover: bra last;\nlast: ret;",
                     1, 64, NULL);
    expect_fine(&run);
    arena_free(run.arena);
    for (unsigned number = 0; number < 2; number++) {
        run = run_kernel("", number ? "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra other;\nbar.sync 1; bra over;\n"
                                      "other: bar.sync 1;\nover: st.global.u32 [%rd2], %r1; ret;"
                                    : "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra other;\nbar.sync 0; bra over;\n"
                                      "other: bar.sync 0;\nover: st.global.u32 [%rd2], %r1; ret;",
                         1, 64, NULL);
        expect_fine(&run);
        arena_free(run.arena);
    }
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra over;\nbar.red.popc.u32 %r2, 0, %p1;\n"
                         "over: st.global.u32 [%rd2], %r1; ret;",
                     1, 64, NULL);
    expect_fault(&run, FAULT_BARRIER, 10, say);
}

static void bad_addresses_are_faults(void **state)
{
    (void)state;
    EmulatorOptions checks = {.check_unwritten = true};
    Run run = run_kernel("", "st.global.u32 [%rd2+1020], %r1;\nret;", 1, 32, NULL);
    expect_fault(&run, FAULT_BOUNDS, 9, "offset 1024 of out");
    run = run_kernel("", "st.global.u16 [%rd2+1], 5;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_ALIGNMENT, 9, "2 bytes");
    run = run_kernel("", "mov.u64 %rd3, 0;\nld.u32 %r2, [%rd3];\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_BOUNDS, 10, "address 0x0");
    run = run_kernel("", "ld.global.u32 %r2, [%rd2];\nret;", 1, 1, &checks);
    expect_fault(&run, FAULT_UNWRITTEN, 9, "byte 0 of out");
    run = run_kernel(".const .u32 c = 1;\n", "mov.u64 %rd3, c; cvta.const.u64 %rd3, %rd3;\nst.u32 [%rd3], 1;\nret;", 1,
                     1, NULL);
    expect_fault(&run, FAULT_READ_ONLY, 11, "constant memory");
    run = run_kernel("", ".local .align 4 .b8 l[8]; mov.u64 %rd3, l;\nst.local.u32 [%rd3+16], 1;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_BOUNDS, 0, "local");
}

static void undefined_registers_are_faults(void **state)
{
    (void)state;
    EmulatorOptions checks = {.check_registers = true};
    Run run = run_kernel("", "setp.lt.u32 %p1, %r1, 3;\n@%p1 mov.u32 %r2, 5;\nst.global.u32 [%rd2], %r2;\nret;", 1, 8,
                         &checks);
    assert_int_equal(run.result->fault.thread[0], 3);
    expect_fault(&run, FAULT_UNDEFINED, 11, "%r2");
}

static void races_are_faults(void **state)
{
    (void)state;
    EmulatorOptions checks = {.check_races = true};
    const char *shared = ".shared .align 4 .b8 s[1024];\n";
    Run run =
        run_kernel(shared,
                   "mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3;\nst.shared.u32 [%r3], %r1;\n"
                   "xor.b32 %r4, %r1, 32; shl.b32 %r4, %r4, 2; add.u32 %r4, %r2, %r4;\nld.shared.u32 %r5, [%r4];\n"
                   "st.global.u32 [%rd2], %r5; ret;",
                   1, 64, &checks);
    expect_fault(&run, FAULT_RACE, 11, "shared memory");
    /* two blocks write different values to one word */
    run = run_kernel("", "mov.u32 %r2, %ctaid.x;\nst.global.u32 [%rd1], %r2;\nret;", 2, 1, &checks);
    expect_fault(&run, FAULT_RACE, 10, "byte 0 of out");
    /* the same value, and atomics, do not race; bar.warp.sync orders within a warp */
    run = run_kernel(shared,
                     "st.global.u32 [%rd1+512], 7; atom.global.add.u32 %r2, [%rd1+516], 1;\n"
                     "mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3; st.shared.u32 [%r3], %r1;\n"
                     "bar.warp.sync 0xffffffff; xor.b32 %r4, %r1, 1; shl.b32 %r4, %r4, 2; add.u32 %r4, %r2, %r4;\n"
                     "ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2], %r5; ret;",
                     1, 64, &checks);
    expect_fine(&run);
    assert_int_equal(run.out[7], 6);
    arena_free(run.arena);
}

static void spinning_is_a_hang_or_is_served(void **state)
{
    (void)state;
    EmulatorOptions quick = {.hang_steps = 300000};
    Run run = run_kernel(".global .u32 flag;\n",
                         "wait: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p1, %r2, 0; @%p1 bra wait;\nret;", 1,
                         32, &quick);
    expect_fault(&run, FAULT_HANG, 0, "32 threads wait in this loop");
    run = run_kernel("", "wait: add.u32 %r2, %r1, 1; add.u32 %r1, %r1, 1; bra wait;", 1, 32, &quick);
    expect_fault(&run, FAULT_HANG, 0, "without a visible effect");
    /* lane 5 of warp 1 sets the flag: all others wait, also those of its own warp */
    run = run_kernel(".global .u32 flag;\n",
                     "setp.eq.u32 %p2, %r1, 37; @%p2 bra set;\n"
                     "wait: ld.volatile.global.u32 %r2, [flag]; setp.eq.u32 %p1, %r2, 0; @%p1 bra wait; bra end;\n"
                     "set: st.volatile.global.u32 [flag], 9; mov.u32 %r2, 9;\nend: st.global.u32 [%rd2], %r2; ret;",
                     1, 64, NULL);
    expect_fine(&run);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(run.out[i], 9);
    arena_free(run.arena);
    /* a lock that lanes of one warp take in turn */
    run = run_kernel(".global .u32 lock; .global .u32 sum;\n",
                     "take: atom.global.cas.b32 %r2, [lock], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra take;\n"
                     "ld.volatile.global.u32 %r3, [sum]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [sum], %r3;\n"
                     "membar.gl; atom.global.exch.b32 %r4, [lock], 0; st.global.u32 [%rd2], %r3; ret;",
                     1, 64, NULL);
    expect_fine(&run);
    uint32_t most = 0;
    for (unsigned i = 0; i < 64; i++)
        most = run.out[i] > most ? run.out[i] : most;
    assert_int_equal(most, 64);
    arena_free(run.arena);
    /* blocks that wait for each other must be resident together */
    EmulatorOptions resident = {.resident_blocks = 4};
    run = run_kernel(".global .u32 count;\n",
                     "mov.u32 %r3, %ctaid.x; atom.global.add.u32 %r2, [count], 1;\n"
                     "wait: ld.volatile.global.u32 %r2, [count]; setp.lt.u32 %p1, %r2, 4; @%p1 bra wait;\n"
                     "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd3, %rd1; st.global.u32 [%rd3], %r2; ret;",
                     4, 1, &resident);
    expect_fine(&run);
    assert_int_equal(run.out[0] + run.out[3], 8);
    arena_free(run.arena);
}

static const char *const functions =
    ".func (.param .b32 r) fact(.param .b32 n)\n"
    "{ .reg .pred %p<2>; .reg .b32 %a<5>; ld.param.u32 %a1, [n]; setp.lt.u32 %p1, %a1, 2; mov.u32 %a2, 1; @%p1 bra "
    "out;\n"
    "sub.u32 %a3, %a1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %a3; call.uni (y), fact, (x); ld.param.b32 "
    "%a4, [y]; }\n"
    "mul.lo.u32 %a2, %a1, %a4;\nout: st.param.b32 [r], %a2; ret; }\n"
    ".func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %a<3>; ld.param.u32 %a1, [n]; add.u32 %a2, %a1, %a1; "
    "st.param.b32 [r], %a2; ret; }\n"
    ".func bump(.param .b64 p) { .reg .b64 %q<3>; .reg .b32 %a<3>; .local .align 8 .b8 pad[16]; ld.param.u64 %q1, [p]; "
    "ld.u32 %a1, [%q1]; mov.u64 %q2, pad; st.local.u32 [%q2], %a1; ld.local.u32 %a1, [%q2]; add.u32 %a1, %a1, 100; "
    "st.u32 [%q1], %a1; ret; }\n";

static void calls_recurse_and_diverge(void **state)
{
    (void)state;
    EmulatorOptions checks = {.check_unwritten = true, .check_registers = true, .check_races = true};
    Run run = run_kernel(functions,
                         "rem.u32 %r2, %r1, 7; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; "
                         "call (y), fact, (x); ld.param.b32 %r3, [y]; }\nst.global.u32 [%rd2], %r3; ret;",
                         1, 40, &checks);
    expect_fine(&run);
    static const uint32_t factorials[] = {1, 1, 2, 6, 24, 120, 720};
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(run.out[i], factorials[i % 7]);
    arena_free(run.arena);

    run =
        run_kernel(functions,
                   "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; mov.u64 %rd3, fact; mov.u64 %rd4, twice;\n"
                   "selp.b64 %rd5, %rd3, %rd4, %p1; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                   "mov.u32 %r3, 5; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), %rd5, (x), P;\n"
                   "ld.param.b32 %r4, [y]; }\nactivemask.b32 %r5; popc.b32 %r5, %r5; mad.lo.u32 %r4, %r5, 1000, %r4;\n"
                   "st.global.u32 [%rd2], %r4; ret;",
                   1, 32, &checks);
    expect_fine(&run);
    assert_int_equal(run.out[0], 32010);
    assert_int_equal(run.out[1], 32120);
    arena_free(run.arena);

    /* a pointer to local memory of the caller; a guarded call */
    run = run_kernel(
        functions,
        ".local .align 8 .b8 mine[8]; mov.u64 %rd3, mine; cvta.local.u64 %rd4, %rd3; st.local.u32 [%rd3], %r1;\n"
        "setp.gt.u32 %p1, %r1, 3; .param .b64 x; st.param.b64 [x], %rd4; @%p1 call bump, (x);\n"
        "ld.local.u32 %r2, [%rd3]; st.global.u32 [%rd2], %r2; ret;",
        1, 32, &checks);
    expect_fine(&run);
    assert_int_equal(run.out[3], 3);
    assert_int_equal(run.out[4], 104);
    arena_free(run.arena);

    run = run_kernel(".func endless() { call endless; ret; }\n", "call endless;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_CALL, 0, "deep");
    run = run_kernel(functions, "mov.u64 %rd3, 48; P: .callprototype _ ();\ncall %rd3, P;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_CALL, 0, "not the address");
}

static void printf_prints(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    EmulatorOptions options = {.output = open_memstream(&text, &size)};
    Run run = run_kernel(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 fmt[24] = {37,100,32,37,115,32,37,46,50,102,32,37,108,108,120,37,37,10,0};\n"
        ".global .align 1 .b8 word[4] = {97, 98, 99, 0};\n",
        ".local .align 8 .b8 args[32]; mov.u64 %rd3, args; sub.u32 %r2, 0, %r1; st.local.u32 [%rd3], %r2;\n"
        "mov.u64 %rd4, word; cvta.global.u64 %rd4, %rd4; st.local.u64 [%rd3+8], %rd4;\n"
        "mov.f64 %d1, 0d3FF8000000000000; st.local.f64 [%rd3+16], %d1; mov.u64 %rd6, 0x123456789a;\n"
        "st.local.u64 [%rd3+24], %rd6; cvta.local.u64 %rd3, %rd3; mov.u64 %rd5, fmt; cvta.global.u64 %rd5, %rd5;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd5; st.param.b64 [b], %rd3;\n"
        "call.uni (c), vprintf, (a, b); }\nret;",
        1, 2, &options);
    fclose(options.output);
    expect_fine(&run);
    assert_string_equal(text, "0 abc 1.50 123456789a%\n-1 abc 1.50 123456789a%\n");
    free(text);
    arena_free(run.arena);
}

static void atomics_are_atomic(void **state)
{
    (void)state;
    Run run = run_kernel(
        "",
        "setp.ne.u32 %p1, %r1, 0; mov.u32 %r2, %ctaid.x; setp.ne.or.u32 %p1, %r2, 0, %p1; @%p1 bra go;\n"
        "mov.u32 %r3, 0; st.global.v4.u32 [%rd1], {%r3, %r3, %r3, %r3}; mov.u32 %r4, 0x80000000;\n"
        "st.global.v4.u32 [%rd1+16], {%r3, %r4, 0xffffffff, %r3};\n"
        "go: bar.sync 0; atom.global.add.u32 %r5, [%rd1], 1; red.global.max.u32 [%rd1+4], %r1;\n"
        "atom.global.inc.u32 %r5, [%rd1+8], 9; red.global.add.f32 [%rd1+12], 0f3F800000;\n"
        "red.global.or.b32 [%rd1+16], %r1; red.global.max.s32 [%rd1+20], %r1; red.global.min.u32 [%rd1+24], %r1;\n"
        "mov.u32 %r6, 0x3c003c00; red.global.add.noftz.f16x2 [%rd1+28], %r6; ret;",
        1, 64, NULL);
    expect_fine(&run);
    static const uint32_t expected[] = {64, 63, 64 % 10, 0x42800000, 63, 63, 0, 0x54005400};
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(run.out[i], expected[i]);
    arena_free(run.arena);
}

static void warps_exchange_values(void **state)
{
    (void)state;
    Run run =
        run_kernel("",
                   "mul.lo.u32 %r2, %r1, 10; mov.u32 %r9, 0;\n"
                   "shfl.sync.up.b32 %r3|%p1, %r2, 1, 0, -1; shfl.sync.down.b32 %r4|%p2, %r2, 2, 31, -1;\n"
                   "shfl.sync.bfly.b32 %r5, %r2, 16, 31, -1; shfl.sync.idx.b32 %r6, %r2, 3, 0x181f, -1;\n"
                   "add.u32 %r9, %r3, %r4; add.u32 %r9, %r9, %r5; add.u32 %r9, %r9, %r6;\n"
                   "@%p1 add.u32 %r9, %r9, 100000; @%p2 add.u32 %r9, %r9, 200000; st.global.u32 [%rd2], %r9; ret;",
                   1, 32, NULL);
    expect_fine(&run);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t up = i ? i - 1 : i, down = i < 30 ? i + 2 : i, expected = up * 10 + down * 10 + (i ^ 16) * 10;
        expected += ((i & 24) + 3) * 10 + (i ? 100000 : 0) + (i < 30 ? 200000 : 0);
        assert_int_equal(run.out[i], expected);
    }
    arena_free(run.arena);

    run = run_kernel("",
                     "setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, -1; vote.sync.any.pred %p2, %p1, -1;\n"
                     "vote.sync.all.pred %p3, %p1, -1; and.b32 %r3, %r1, 3; match.any.sync.b32 %r4, %r3, -1;\n"
                     "redux.sync.add.s32 %r5, %r1, -1; redux.sync.max.u32 %r6, %r1, -1; elect.sync %r7|%p4, -1;\n"
                     "xor.b32 %r2, %r2, %r4; add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r6; @%p2 add.u32 %r2, %r2, 1;\n"
                     "@%p3 add.u32 %r2, %r2, 1000; @%p4 add.u32 %r2, %r2, 7; st.global.u32 [%rd2], %r2; ret;",
                     1, 32, NULL);
    expect_fine(&run);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(run.out[i], (0x1fu ^ (0x11111111u << (i & 3))) + 496 + 31 + 1 + (i == 0 ? 7 : 0));
    arena_free(run.arena);

    /* lanes that reach the same shfl by different paths wait for each other */
    run = run_kernel("",
                     "setp.lt.u32 %p1, %r1, 16; @%p1 bra low;\nmov.u32 %r3, 5; bra meet;\nlow: mov.u32 %r3, 6;\n"
                     "meet: shfl.sync.bfly.b32 %r4, %r3, 16, 31, -1; st.global.u32 [%rd2], %r4; ret;",
                     1, 32, NULL);
    expect_fine(&run);
    assert_int_equal(run.out[0], 5);
    assert_int_equal(run.out[20], 6);
    arena_free(run.arena);

    run = run_kernel("", "setp.lt.u32 %p1, %r1, 16;\n@%p1 shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\nret;", 1, 32, NULL);
    arena_free(run.arena); /* the others exit, so nothing waits for them */
    run = run_kernel("", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync 0xffff0000;\nret;", 1, 32, NULL);
    expect_fault(&run, FAULT_WARP_SYNC, 10, "member mask");
    run = run_kernel(
        "", "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra low;\nbar.sync 0;\nbra end;\nlow: bar.warp.sync -1;\nend: ret;", 1, 32,
        NULL);
    assert_true(run.result->fault.kind == FAULT_BARRIER || run.result->fault.kind == FAULT_WARP_SYNC);
    arena_free(run.arena);
}

static void carries_and_wide_moves(void **state)
{
    (void)state;
    Run run = run_kernel(
        "",
        ".reg .b128 %q<2>; mov.b64 %rd3, {0xffffffff, 1}; mov.b64 {%r2, %r3}, %rd3; add.cc.u32 %r4, %r2, 1; addc.u32 "
        "%r5, %r3, 0;\n"
        "sub.cc.u32 %r6, 0, 1; subc.u32 %r7, 5, 0; mad.lo.cc.u32 %r8, 0x10000, 0x10000, 0xffffffff;\n"
        "mov.u32 %r9, 0x12345678; mov.b32 {%h1, %h2}, %r9; mov.b32 %r10, {%h2, %h1};\n"
        "cvt.s16.s8 %h3, %h1; cvt.s32.s16 %r11, %h3; madc.hi.u32 %r12, 0x80000000, 4, 0;\n"
        "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; st.global.v4.u32 [%rd1+16], {%r8, %r10, %r11, %r12};\n"
        "mov.b128 %q1, {%rd3, %rd1}; mov.b128 {%rd4, _}, %q1; st.global.u64 [%rd1+32], %rd4;\n"
        "mov.v2.b32 {%r2, %r3}, {%r3, %r2}; st.global.v2.u32 [%rd1+40], {%r2, %r3}; ret;",
        1, 1, NULL);
    expect_fine(&run);
    static const uint32_t expected[] = {0,          2, 0xffffffff, 4, 0xffffffff, 0x56781234,
                                        0x00000078, 2, 0xffffffff, 1, 1,          0xffffffff};
    for (unsigned i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(run.out[i], expected[i]);
    arena_free(run.arena);
}

static void spaces_and_initialisers(void **state)
{
    (void)state;
    Run run = run_kernel(
        ".const .align 4 .u32 table[2][3] = {{1, 2}, {4, 5, 6}};\n.global .u32 target = 11;\n"
        ".global .u64 pointer = generic(target);\n.global .align 4 .f32 fs[2] = {1.5, 0f40000000};\n"
        ".shared .align 8 .b8 sm[64];\n",
        "ld.const.u32 %r2, [table+8]; ld.const.u32 %r3, [table+16]; st.global.v2.u32 [%rd1], {%r2, %r3};\n"
        "mov.u64 %rd3, pointer; ld.global.u64 %rd4, [%rd3]; ld.u32 %r4, [%rd4]; st.global.u32 [%rd1+8], %r4;\n"
        "ld.global.v2.f32 {%f1, %f2}, [fs]; add.f32 %f1, %f1, %f2; st.global.f32 [%rd1+12], %f1;\n"
        "mov.u32 %r5, sm; cvt.u64.u32 %rd5, %r5; cvta.shared.u64 %rd6, %rd5; st.u32 [%rd6+4], 99;\n"
        "ld.shared.u32 %r6, [sm+4]; isspacep.shared %p1, %rd6; isspacep.global %p2, %rd6;\n"
        "@%p1 add.u32 %r6, %r6, 1; @%p2 add.u32 %r6, %r6, 1000; st.global.u32 [%rd1+16], %r6;\n"
        ".local .align 4 .b8 lo[16]; mov.u64 %rd7, lo; cvta.local.u64 %rd7, %rd7; st.u8 [%rd7+3], 200;\n"
        "ld.local.s8 %r7, [lo+3]; st.global.u32 [%rd1+20], %r7; mov.u64 %rd8, lo; ld.local.u8 %h1, [%rd8+3];\n"
        "cvt.u32.u16 %r8, %h1; st.global.u32 [%rd1+24], %r8; ret;",
        1, 1, NULL);
    expect_fine(&run);
    static const uint32_t expected[] = {0, 5, 11, 0x40600000, 100, (uint32_t)-56, 200};
    for (unsigned i = 0; i < COUNT_OF(expected); i++)
        assert_int_equal(run.out[i], expected[i]);
    arena_free(run.arena);
}

static void asynchronous_copies_and_mbarriers(void **state)
{
    (void)state;
    Run run = run_kernel(
        ".shared .align 16 .b8 sm[256]; .shared .align 8 .b64 bar; .global .align 16 .u32 src[4] = {1, 2, 3, 4};\n",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra skip; mbarrier.init.shared.b64 [bar], 64;\n"
        "cp.async.ca.shared.global [sm], [src], 16; cp.async.ca.shared.global [sm+16], [src], 16, 4;\n"
        "cp.async.commit_group; cp.async.wait_group 0;\nskip: bar.sync 0;\n"
        "mbarrier.arrive.shared.b64 %rd3, [bar];\nwait: mbarrier.test_wait.shared.b64 %p2, [bar], %rd3;\n"
        "@!%p2 bra wait;\nld.shared.u32 %r2, [sm+8]; ld.shared.u32 %r3, [sm+16]; ld.shared.u32 %r4, [sm+20];\n"
        "mad.lo.u32 %r2, %r3, 10, %r2; mad.lo.u32 %r2, %r4, 100, %r2; st.global.u32 [%rd2], %r2; ret;",
        1, 64, NULL);
    expect_fine(&run);
    assert_int_equal(run.out[63], 13);
    arena_free(run.arena);
}

static void bulk_copies_signal(void **state)
{
    (void)state;
    EmulatorOptions checks = {.check_races = true, .check_unwritten = true};
    Run run = run_kernel(
        ".shared .align 16 .b8 sm[256]; .shared .align 8 .b64 bar;\n"
        ".global .align 16 .u32 src[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra skip; mbarrier.init.shared.b64 [bar], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 36; mov.u64 %rd3, src;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd3], 32, [bar];\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [sm+32], 50, [bar];\nskip: bar.sync 0;\n"
        "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra wait;\n"
        "and.b32 %r2, %r1, 7; shl.b32 %r2, %r2, 2; mov.u32 %r3, sm; add.u32 %r2, %r2, %r3; ld.shared.u32 %r4, [%r2];\n"
        "ld.shared.u32 %r5, [sm+32]; add.u32 %r4, %r4, %r5; st.global.u32 [%rd2], %r4;\n"
        "bar.sync 0; @%p1 bra end; cp.async.bulk.global.shared::cta.bulk_group [%rd1+256], [sm], 16;\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nend: ret;",
        1, 64, &checks);
    expect_fine(&run);
    assert_int_equal(run.out[3], 54);
    assert_int_equal(run.out[63], 58);
    assert_int_equal(run.out[67], 4);
    arena_free(run.arena);
}

static void refusals_name_the_line(void **state)
{
    (void)state;
    Run run = run_kernel("", "mov.u32 %r2, 0;\nmultimem.red.relaxed.sys.global.add.u32 [%rd1], %r2;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_UNSUPPORTED, 10, "multimem.red");
    run = run_module(HEADER ".visible .entry other() { ret; }\n", 1, 1, NULL);
    expect_fault(&run, FAULT_LAUNCH, 0, "no kernel k");
    run = run_module(HEADER ".visible .entry k(.param .u64 a, .param .u32 b) { ret; }\n", 1, 1, NULL);
    expect_fault(&run, FAULT_LAUNCH, 0, "has 2 parameters");
    run = run_module(HEADER ".visible .entry k(.param .u32 a) { ret; }\n", 1, 1, NULL);
    expect_fault(&run, FAULT_LAUNCH, 0, "has 4 bytes");
    run = run_module(HEADER ".visible .entry k(.param .u64 a) .reqntid 64 { ret; }\n", 1, 32, NULL);
    expect_fault(&run, FAULT_LAUNCH, 0, ".reqntid");
    run = run_kernel("", "trap;\nret;", 1, 1, NULL);
    expect_fault(&run, FAULT_TRAP, 9, "trap");
}

/* A kernel, the same coarsened by hand, and one that forgets the second replica. */
static void comparisons_find_the_difference(void **state)
{
    (void)state;
    static const char *const tail[] = {
        "",
        "mov.u32 %r2, %ntid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd2, %rd3; add.u32 %r3, %r1, %r2;\n"
        "mul.lo.u32 %r4, %r3, %r3; st.global.u32 [%rd3], %r4;\n",
    };
    static const LaunchChange change = {.block = {2, 1, 1}}, odd = {.block = {1, 1, 3}};
    Arena *arena = arena_new();
    LaunchArgument argument = {
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = WORDS, .fill = FILL_POISON};
    Launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = &argument, .argument_count = 1};
    Module *modules[3];
    for (unsigned i = 0; i < 3; i++) {
        Buf text = {0};
        buf_printf(&text, "%s%smul.lo.u32 %%r4, %%r1, %%r1; st.global.u32 [%%rd2], %%r4;\n%sret;\n}\n", HEADER, ENTRY,
                   tail[i == 1]);
        modules[i] = parse(arena_new(), buf_text(&text));
        buf_free(&text);
    }
    EmulatorComparison *same = emulator_compare(arena, modules[0], modules[1], NULL, &launch, &change, NULL);
    assert_true(same->equal);
    assert_true(same->changed->counters.warp_instructions < same->original->counters.warp_instructions * 2);
    EmulatorComparison *other = emulator_compare(arena, modules[0], modules[2], "k", &launch, &change, NULL);
    assert_false(other->equal);
    assert_non_null(strstr(other->message, "out[32]"));
    EmulatorComparison *undivided = emulator_compare(arena, modules[0], modules[1], NULL, &launch, &odd, NULL);
    assert_false(undivided->equal);
    assert_non_null(strstr(undivided->message, "along z"));
    for (unsigned i = 0; i < 3; i++)
        arena_free(modules[i]->arena);
    arena_free(arena);
}

static void fills_are_reproducible(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    LaunchArgument uniform = {.type = TYPE_F32, .count = 1000, .fill = FILL_UNIFORM, .low = -1, .high = 1, .seed = 1};
    const float *values = launch_fill(arena, &uniform), *again = launch_fill(arena, &uniform);
    double sum = 0;
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(values[i] >= -1 && values[i] <= 1 && values[i] == again[i]);
        sum += values[i];
    }
    assert_true(sum > -60 && sum < 60);
    LaunchArgument bytes = {.type = TYPE_U8, .count = 4000, .fill = FILL_UNIFORM, .low = 0, .high = 3, .seed = 2};
    const uint8_t *small = launch_fill(arena, &bytes);
    unsigned seen[4] = {0};
    for (unsigned i = 0; i < 4000; i++) {
        assert_true(small[i] < 4);
        seen[small[i]]++;
    }
    for (unsigned i = 0; i < 4; i++)
        assert_true(seen[i] > 800);
    LaunchArgument iota = {.type = TYPE_S32, .count = 4, .fill = FILL_IOTA, .low = -1, .step = 2};
    const int32_t *numbers = launch_fill(arena, &iota);
    assert_int_equal(numbers[0], -1);
    assert_int_equal(numbers[3], 5);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergent_loops_meet_again),
        cmocka_unit_test(table_branches_split_many_ways),
        cmocka_unit_test(barriers_order_shared_memory),
        cmocka_unit_test(exited_threads_are_not_waited_for),
        cmocka_unit_test(named_barriers_pass_work_on),
        cmocka_unit_test(divergent_barrier_is_a_fault),
        cmocka_unit_test(barriers_need_agreement),
        cmocka_unit_test(bad_addresses_are_faults),
        cmocka_unit_test(undefined_registers_are_faults),
        cmocka_unit_test(races_are_faults),
        cmocka_unit_test(spinning_is_a_hang_or_is_served),
        cmocka_unit_test(calls_recurse_and_diverge),
        cmocka_unit_test(printf_prints),
        cmocka_unit_test(atomics_are_atomic),
        cmocka_unit_test(warps_exchange_values),
        cmocka_unit_test(carries_and_wide_moves),
        cmocka_unit_test(spaces_and_initialisers),
        cmocka_unit_test(asynchronous_copies_and_mbarriers),
        cmocka_unit_test(bulk_copies_signal),
        cmocka_unit_test(refusals_name_the_line),
        cmocka_unit_test(comparisons_find_the_difference),
        cmocka_unit_test(fills_are_reproducible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
