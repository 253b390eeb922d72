/* Runs a kernel and a changed form of it in the emulator. */
#ifndef PTXOPT_TESTS_EXECUTED_H
#define PTXOPT_TESTS_EXECUTED_H

#include "emulator/emulator.h"

/* Fails if 64 threads of the kernel 'k' of both modules leave different results in its first parameter, a buffer of
 * five words of 64 bits for each. The second is a buffer of 256 words of 32 bits, the third the value, of 32 bits. */
static inline void expect_executed_alike(Module *original, Module *changed, uint32_t value)
{
    LaunchArgument arguments[] = {
        {.kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U64, .count = 64 * 5, .fill = FILL_ZERO},
        {.kind = ARGUMENT_BUFFER, .name = "in", .type = TYPE_U32, .count = 256, .fill = FILL_IOTA, .low = 7, .step = 3},
        {.kind = ARGUMENT_SCALAR, .type = TYPE_U32, .bytes = &value, .size = sizeof value},
    };
    Launch launch = {.kernel = "k", .block = {64, 1, 1}, .arguments = arguments, .argument_count = COUNT_OF(arguments)};
    launch.tolerance.kind = TOLERANCE_EXACT;
    EmulatorOptions options = {0};
    Arena *arena = arena_new();
    EmulatorComparison *comparison = emulator_compare(arena, original, changed, "k", &launch, NULL, &options);
    if (!comparison->equal)
        fail_msg("%s", comparison->message);
    arena_free(arena);
}

/* Fails unless the body, in SSA form, is well-formed and computes what 'original' does. 'changed' is a second copy of
 * the module, and the body that of its 'kernel'. Frees both modules. */
static inline void expect_body_alike(Module *original, Module *changed, Function *kernel, Body *body, const char *what,
                                     uint32_t value)
{
    body_verify(body, what);
    body_from_ssa(body);
    function_set_body(kernel, body);
    expect_executed_alike(original, changed, value);
    function_set_body(kernel, NULL);
    arena_free(original->arena);
    arena_free(changed->arena);
}

#endif
