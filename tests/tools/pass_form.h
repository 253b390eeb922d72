/* Making a form of a random kernel with a pass, or without it. */
#ifndef PTXOPT_TESTS_PASS_FORM_H
#define PTXOPT_TESTS_PASS_FORM_H

#include "form_difference.h"

#include "emit/emit.h"
#include "opt/passes.h"

/* Makes the form of kernel k of the module, which is freed, with all passes but this one, and with it if 'with_pass' is
 * set; 'after' gets its text, *instructions what its threads execute. The first difference from what the original
 * wrote; NULL: there is none. */
static inline const char *pass_form_check(Arena *arena, Module *module, const KernelRequest *request, PassId pass,
                                          bool with_pass, const Launch *launch, const EmulatorResult *expected,
                                          Buf *after, uint64_t *instructions)
{
    const EmulatorOptions options = {0};
    PipelineOptions pipeline = {.no_figures = true};
    KernelResult result = {0};
    for (unsigned i = 0; i < PASS_COUNT; i++)
        pipeline.passes.enabled[i] = i != pass || with_pass;
    pipeline_run(arena, module_find_function(module, "k"), request, &pipeline, &result);
    kernel_install(&result);
    emit_module(module, after);
    const LaunchChange change = kernel_launch_change(&result);
    const char *message = form_difference(arena, after, launch, &change, expected, &options, NULL);
    const EmulatorResult *run = emulator_run(arena, module, launch_changed(arena, launch, &change), &options);
    *instructions = run->counters.thread_instructions;
    function_set_body(module_find_function(module, "k"), NULL);
    arena_free(module->arena);
    return message;
}

#endif
