/* Kernels in the emulator on the caller's memory (library/execute.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "library/ptxopt.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* out[i] = scale * in[i] for the threads of the grid, i < n. */
static const char scale[] = HEAD
    ".visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 scale, .param .u32 n) {\n"
    ".reg .b64 %o, %i, %d; .reg .b32 %t, %b, %s, %n; .reg .f32 %v, %f; .reg .pred %p;\n"
    "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; ld.param.f32 %f, [scale]; ld.param.u32 %n, [n];\n"
    "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.s32 %t, %b, %s, %t;\n"
    "setp.ge.u32 %p, %t, %n;\n@%p ret;\n"
    "mul.wide.u32 %d, %t, 4; add.s64 %o, %o, %d; add.s64 %i, %i, %d;\n"
    "ld.global.f32 %v, [%i];\nmul.f32 %v, %v, %f;\nst.global.f32 [%o], %v;\nret;\n}\n";

typedef struct Fixture {
    float in[100], out[100];
    void *pointers[2];
    float factor;
    unsigned n;
    const void *arguments[4];
    ptxopt_memory memories[2];
    ptxopt_launch launch;
} Fixture;

static void prepare(Fixture *f)
{
    *f = (Fixture){.factor = 2.5f, .n = 100};
    for (int i = 0; i < 100; i++)
        f->in[i] = (float)i;
    f->pointers[0] = f->out;
    f->pointers[1] = f->in;
    f->arguments[0] = &f->pointers[0];
    f->arguments[1] = &f->pointers[1];
    f->arguments[2] = &f->factor;
    f->arguments[3] = &f->n;
    f->memories[0] = (ptxopt_memory){"in", f->in, sizeof f->in};
    f->memories[1] = (ptxopt_memory){"out", f->out, sizeof f->out};
    f->launch = (ptxopt_launch){.grid = {2}, .block = {64}, .arguments = f->arguments, .argument_count = 4,
                                .memories = f->memories, .memory_count = 2};
}

static ptxopt_execution *execute(const char *text, const ptxopt_launch *launch)
{
    ptxopt_module *module = ptxopt_module_from_text("k.ptx", text, strlen(text));
    ptxopt_execution *execution = ptxopt_execute(module, launch, sizeof *launch);
    assert_non_null(execution);
    ptxopt_module_free(module); /* which the execution does not need */
    return execution;
}

/* The execution ends like this, with these words in its message. */
static void expect(const char *text, const ptxopt_launch *launch, ptxopt_status status, const char *words)
{
    ptxopt_execution *execution = execute(text, launch);
    assert_int_equal(ptxopt_execution_status(execution), status);
    if (!strstr(ptxopt_execution_message(execution), words))
        fail_msg("'%s' is not in '%s'", words, ptxopt_execution_message(execution));
    ptxopt_execution_free(execution);
}

static void kernels_run_on_the_callers_memory(void **state)
{
    (void)state;
    Fixture f;
    prepare(&f);
    f.launch.checks = PTXOPT_CHECK_RACES | PTXOPT_CHECK_REGISTERS | PTXOPT_CHECK_DIVISION | PTXOPT_COUNT_MEMORY;
    ptxopt_execution *execution = execute(scale, &f.launch);
    assert_int_equal(ptxopt_execution_status(execution), PTXOPT_DONE);
    assert_null(ptxopt_execution_message(execution));
    for (int i = 0; i < 100; i++)
        assert_true(f.out[i] == 2.5f * (float)i);
    assert_string_equal(ptxopt_execution_output(execution), "");
    assert_non_null(strstr(ptxopt_execution_counters(execution), "\"warp_instructions\""));
    ptxopt_execution_free(execution);
    ptxopt_execution_free(NULL);
}

static void faults_have_places(void **state)
{
    (void)state;
    Fixture f;
    prepare(&f);
    f.memories[0].size = 320; /* 80 elements of 'in' */
    ptxopt_execution *execution = execute(scale, &f.launch);
    ptxopt_fault fault;
    ptxopt_execution_fault(execution, &fault, sizeof fault);
    assert_int_equal(ptxopt_execution_status(execution), PTXOPT_DIFFERENT);
    assert_string_equal(fault.kind, "out of bounds");
    assert_string_equal(fault.kernel, "scale");
    assert_int_equal(fault.line, 11);
    assert_true(fault.has_thread);
    assert_int_equal(fault.block[0], 1);
    assert_int_equal(fault.thread[0], 16);
    assert_non_null(strstr(ptxopt_execution_message(execution), "k.ptx:11"));
    assert_non_null(strstr(ptxopt_execution_message(execution), "offset 320 of in"));
    /* A caller that knows only the first member. */
    memset(&fault, 0xff, sizeof fault);
    ptxopt_execution_fault(execution, &fault, offsetof(ptxopt_fault, kernel));
    assert_string_equal(fault.kind, "out of bounds");
    assert_true(fault.line == UINT32_MAX);
    ptxopt_execution_free(execution);
}

static void wrong_launches(void **state)
{
    (void)state;
    Fixture f;
    prepare(&f);
    f.launch.argument_count = 3;
    expect(scale, &f.launch, PTXOPT_USAGE, "has 4 parameters, and there are 3 arguments");
    f.launch.argument_count = 4;
    f.launch.kernel = "scalar";
    expect(scale, &f.launch, PTXOPT_USAGE, "did you mean 'scale'?");
    f.launch.kernel = NULL;
    f.launch.block[0] = 2000;
    expect(scale, &f.launch, PTXOPT_USAGE, "");
    f.launch.block[0] = 64;
    f.memories[1].bytes = (char *)f.in + 4;
    expect(scale, &f.launch, PTXOPT_USAGE, "overlap");
    expect("junk", &f.launch, PTXOPT_INPUT, "k.ptx:1:1: error");
    expect(HEAD, &f.launch, PTXOPT_USAGE, "the module has no kernel");
    expect(HEAD ".visible .entry a() { ret; }\n.visible .entry b() { ret; }\n", &f.launch, PTXOPT_USAGE,
           "the module has 2 kernels; one has to be named");
}

static void forbidden_and_unknown_instructions(void **state)
{
    (void)state;
    Fixture f;
    prepare(&f);
    f.launch.argument_count = 0;
    expect(HEAD ".visible .entry k() { trap; }\n", &f.launch, PTXOPT_DIFFERENT, "trap");
    expect(".version 9.9\n.target sm_90\n.address_size 64\n.visible .entry k() { future.b32; ret; }\n", &f.launch,
           PTXOPT_UNVERIFIED, "future");
}

static void coarsened_kernels_are_launched_as_their_originals(void **state)
{
    (void)state;
    Fixture f;
    prepare(&f);
    ptxopt_options *options = ptxopt_options_new();
    ptxopt_options_set(options, "coarsen", "2");
    ptxopt_options_set(options, "block", "64");
    ptxopt_options_set(options, "assembler", "none");
    ptxopt_module *module = ptxopt_module_from_text("k.ptx", scale, strlen(scale));
    ptxopt_result *result = ptxopt_run(module, options);
    assert_int_equal(ptxopt_result_status(result), PTXOPT_DONE);
    ptxopt_execution *execution = execute(ptxopt_result_ptx(result, NULL), &f.launch);
    assert_int_equal(ptxopt_execution_status(execution), PTXOPT_DONE);
    for (int i = 0; i < 100; i++)
        assert_true(f.out[i] == 2.5f * (float)i);
    ptxopt_execution_free(execution);
    ptxopt_result_free(result);
    ptxopt_module_free(module);
    ptxopt_options_free(options);
}

static void parameters_are_described(void **state)
{
    (void)state;
    ptxopt_parameter parameters[4];
    ptxopt_module *module = ptxopt_module_from_text("k.ptx", scale, strlen(scale));
    assert_int_equal(ptxopt_module_parameters(module, NULL, parameters, 4), 4);
    assert_string_equal(parameters[0].type, "u64");
    assert_int_equal(parameters[0].size, 8);
    assert_string_equal(parameters[2].type, "f32");
    assert_int_equal(parameters[3].size, 4);
    memset(parameters, 0xff, sizeof parameters);
    assert_int_equal(ptxopt_module_parameters(module, "scale", parameters, 1), 4);
    assert_true(parameters[1].size == SIZE_MAX);
    assert_int_equal(ptxopt_module_parameters(module, "other", parameters, 4), -1);
    ptxopt_module_free(module);
    module = ptxopt_module_from_text("k.ptx", "junk", 4);
    assert_int_equal(ptxopt_module_parameters(module, NULL, NULL, 0), -1);
    ptxopt_module_free(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_run_on_the_callers_memory),
        cmocka_unit_test(faults_have_places),
        cmocka_unit_test(wrong_launches),
        cmocka_unit_test(forbidden_and_unknown_instructions),
        cmocka_unit_test(coarsened_kernels_are_launched_as_their_originals),
        cmocka_unit_test(parameters_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
