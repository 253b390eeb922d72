/* For tests of passes that change which thread does what: a form of kernel "k" for a launch, in the emulator. */
#ifndef PTXOPT_TESTS_LAUNCHED_FORM_H
#define PTXOPT_TESTS_LAUNCHED_FORM_H

#include "parsed.h"

#include "emit/emit.h"
#include "emulator/emulator.h"
#include "opt/opt.h"
#include "tests/tools/form_difference.h"

/* Whether a pipeline has done what the test is about. */
typedef bool FormIsDone(const KernelRequest *request, const KernelResult *result);

/* Runs all passes on the kernel; 'after' gets the form's text, *change how it is launched. False: it is not done. */
static inline bool form_make(Arena *arena, Module *module, const KernelRequest *request, FormIsDone *is_done,
                             Buf *after, LaunchChange *change)
{
    Function *kernel = module_find_function(module, "k");
    PipelineOptions options = {.no_figures = true};
    KernelResult result = {0};
    memset(options.passes.enabled, true, sizeof options.passes.enabled);
    pipeline_run(arena, kernel, request, &options, &result);
    const bool done = is_done(request, &result);
    *change = kernel_launch_change(&result);
    if (done) {
        kernel_install(&result);
        emit_module(module, after);
        function_set_body(kernel, NULL);
    }
    kernel_discard(&result);
    return done;
}

/* Fails if the form of the kernel in the text, which computes the same without a fault, does not. False: it is not
 * done. *counters: what the form executed. */
static inline bool form_check(Arena *arena, const Buf *text, const Launch *launch, const KernelRequest *request,
                              FormIsDone *is_done, EmulatorCounters *counters)
{
    Module *module = module_from(buf_text(text));
    const EmulatorOptions options = {.check_races = true, .check_registers = true, .count_memory = true};
    EmulatorResult *expected = emulator_run(arena, module, launch, &options);
    Buf after = {0};
    LaunchChange change;
    assert_int_equal(expected->fault.kind, FAULT_NONE);
    const bool done = form_make(arena, module, request, is_done, &after, &change);
    const char *message =
        done ? form_difference(arena, &after, launch, &change, expected, &options, counters) : NULL;
    if (message)
        fail_msg("%s\n%s", message, buf_text(&after));
    release(module);
    buf_free(&after);
    return done;
}

/* Fails if the form of the kernel in the text is done. */
static inline void form_check_left(const Buf *text, const KernelRequest *request, FormIsDone *is_done)
{
    Arena *arena = arena_new();
    Buf after = {0};
    LaunchChange change;
    Module *module = module_from(buf_text(text));
    if (form_make(arena, module, request, is_done, &after, &change))
        fail_msg("changed:\n%s", buf_text(text));
    release(module);
    arena_free(arena);
    buf_free(&after);
}

#endif
