/* Buffers that are dead on return: the option, and what the pass says of kernels that it refuses. */
#include "parsed.h"

#include "engine/report/refusal_words.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "options/options.h"

static const char *set_dead(Arena *arena, Options *options, const char *value)
{
    options_init(options);
    return options_set(arena, options, "dead-on-return", value);
}

static void check_value(const char *value, const char *parameter, const char *kernel, unsigned number)
{
    Arena *arena = arena_new();
    Options options;
    assert_null(set_dead(arena, &options, value));
    const DeadOption *read = &options.dead.data[0];
    assert_string_equal(read->parameter ? read->parameter : "", parameter);
    assert_string_equal(read->kernel ? read->kernel : "", kernel);
    assert_int_equal(read->number, number);
    arena_free(arena);
}

static void check_wrong(const char *value, const char *words)
{
    Arena *arena = arena_new();
    Options options;
    const char *error = set_dead(arena, &options, value);
    if (!error || !strstr(error, words))
        fail_msg("'%s': %s", value, error ? error : "accepted");
    arena_free(arena);
}

static void test_option(void **state)
{
    (void)state;
    check_value("k_param_0", "k_param_0", "", 0);
    check_value("k:0", "", "k", 0);
    check_value("a::k:12", "", "a::k", 12);
    check_wrong("k:x", "expected a parameter's name, or KERNEL:N with its number, from 0");
    check_wrong("k:", "expected a parameter's name");
    check_wrong("", "expected a parameter's name");
    check_wrong(":0", "no kernel before the ':'");
}

/* A kernel with the address of the thread's own element of the buffer in %d2, and its index in %t. */
static void check(const char *code, const char *expected)
{
    static const char *const names[] = {"a"};
    const KernelRequest request = {.dead = {names, 1}, .block = {64, 1, 1}};
    PipelineOptions pipeline = {.no_figures = true};
    KernelResult result = {0};
    Buf text = {0};
    buf_printf(&text,
               "%s.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n\t.reg .b32 %%r<9>, %%t, %%n;\n"
               "\t.reg .b64 %%d<9>;\n\t.reg .pred %%p<4>;\n\tld.param.u64 %%d1, [a];\n\tld.param.u64 %%d5, [b];\n"
               "\tld.param.u32 %%n, [n];\n\tmov.u32 %%t, %%tid.x;\n\tmul.wide.u32 %%d3, %%t, 4;\n"
               "\tadd.s64 %%d2, %%d1, %%d3;\n\tadd.s64 %%d6, %%d5, %%d3;\n%s\tret;\n}\n", SM_90, code);
    Module *module = module_from(buf_text(&text));
    for (unsigned i = 0; i < PASS_COUNT; i++)
        pipeline.passes.enabled[i] = true;
    pipeline_run(module->arena, module_find_function(module, "k"), &request, &pipeline, &result);
    assert_int_equal(result.dead.count, 1);
    const DeadBuffer *buffer = &result.dead.buffers[0];
    const char *said = buffer->done ? "done" : refusal_text(module->arena, &buffer->refusal);
    if (!strstr(said, expected))
        fail_msg("'%s', not '%s', of\n%s", said, expected, code);
    kernel_discard(&result);
    release(module);
    buf_free(&text);
}

#define STORE "\tst.global.u32 [%d2], %n;\n"
#define EXCHANGE STORE "\tbar.sync 0;\n\tld.global.u32 %r1, [%d1+4];\n\tst.global.u32 [%d6], %r1;\n"

static void test_refusals(void **state)
{
    static const char filling[] = "no store fills", access[] = "no plain load or store", escapes[] = "does more with";
    (void)state;
    check(EXCHANGE, "done");
    check("\tsetp.lt.s32 %p1, %t, %n;\n\t@%p1 st.global.u32 [%d2], %t;\n", "done");
    check("\tld.global.u32 %r1, [%d6];\n\tst.global.u32 [%d6], %r1;\n", "nothing in the kernel accesses memory by it");
    /* other accesses */
    check(EXCHANGE "\tatom.global.add.u32 %r2, [%d2], 1;\n", access);
    check(EXCHANGE "\tld.volatile.global.u32 %r2, [%d2];\n", "other blocks may learn by 'ld.volatile.global.u32'");
    check(EXCHANGE "\tld.global.v2.u32 {%r2, %r3}, [%d1];\n", access);
    check(EXCHANGE "\tld.global.u8 %r2, [%d2];\n", access);
    check(EXCHANGE "\tld.u32 %r2, [%d2];\n", access);
    check(EXCHANGE "\tld.global.nc.u32 %r2, [%d2];\n", access);
    check(EXCHANGE "\tprefetch.global.L1 [%d2];\n", "prefetch");
    /* the address goes elsewhere */
    check(EXCHANGE "\tst.global.u64 [%d5], %d2;\n", escapes);
    check(EXCHANGE "\tcvt.u32.u64 %r2, %d2;\n\tst.global.u32 [%d6], %r2;\n", escapes);
    check(EXCHANGE "\tcvt.u32.u64 %r2, %d2;\n\tshfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;\n\tst.global.u32 [%d6], %r2;\n",
          escapes);
    check(EXCHANGE "\tmov.b64 %d7, a;\n", escapes);
    /* order */
    check(EXCHANGE "\tmembar.gl;\n", "other blocks may learn by 'membar.gl'");
    check(EXCHANGE "\tld.acquire.gpu.global.u32 %r2, [%d6];\n", "other blocks may learn");
    check(EXCHANGE "\tred.release.gpu.global.add.u32 [%d5], 1;\n", "other blocks may learn");
    check(EXCHANGE "\tred.relaxed.gpu.global.add.u32 [%d5], 1;\n", "done");
    /* the filling */
    check("\tadd.s64 %d2, %d2, %d3;\n" STORE, filling);                                      /* every other element */
    check("\tand.b32 %r1, %t, 1;\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 st.global.u32 [%d2], %t;\n", filling);
    check("\tld.global.u32 %r1, [%d6];\n\tsetp.lt.u32 %p1, %t, %r1;\n\t@%p1 st.global.u32 [%d2], %t;\n", filling);
    check("\tsetp.gt.u32 %p1, %t, 3;\n\t@%p1 bra E;\n" STORE "E:\n", filling);                /* at most 3, not below */
    check("\tsetp.ge.u32 %p1, %t, 7;\n\t@%p1 bra E;\n" STORE "E:\n", "done");
    check("\tsetp.ge.u32 %p1, %t, 7;\n\t@%p1 ret;\n\tadd.u32 %r1, %t, 1;\n\tsetp.lt.u32 %p2, %r1, 4;\n"
          "\t@%p2 st.global.u32 [%d2], %t;\n", filling);                                      /* some have left */
    check("\tmov.u32 %r1, %tid.y;\n\tmul.wide.u32 %d4, %r1, 64;\n\tadd.s64 %d2, %d2, %d4;\n" STORE, filling);
}

static void test_room(void **state)
{
    (void)state;
    check("\t.shared .align 16 .b8 tile[49152];\n\tmov.u32 %r1, tile;\n\tst.shared.u32 [%r1], %n;\n" EXCHANGE,
          "there is no shared memory left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
