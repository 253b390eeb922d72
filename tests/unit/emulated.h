/* For tests: kernels of a few lines of PTX, run in the emulator.
 *
 * Each is a kernel "k" with a buffer "out" of OUT_WORDS words, initially 0.  %rd1 is the buffer's address, %r1 the
 * thread's number, %rd2 the address of the thread's word. */
#ifndef PTXOPT_TESTS_EMULATED_H
#define PTXOPT_TESTS_EMULATED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emulator/emulator.h"
#include "parser/parser.h"

#define OUT_WORDS 512
#define EMULATED_ENTRY                                                                                                 \
    ".visible .entry k(.param .u64 out)%s\n{\n"                                                                        \
    ".reg .pred %%p<8>; .reg .b16 %%h<16>; .reg .b32 %%r<64>; .reg .b64 %%rd<24>; .reg .f32 %%f<16>;\n"                \
    ".reg .f64 %%d<32>; .reg .b128 %%q<4>;\n"                                                                          \
    "ld.param.u64 %%rd1, [out]; cvta.to.global.u64 %%rd1, %%rd1;\n"                                                    \
    "mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd2, %%r1, 4; add.s64 %%rd2, %%rd1, %%rd2;\n%s\nret;\n}\n"

typedef struct Emulated {
    const char *version, *target; /* "8.8", "sm_100a"; NULL: 9.0, sm_90 */
    const char *globals;          /* at module scope; NULL: none */
    const char *directives;       /* of the entry; NULL: none */
    unsigned grid, block;         /* 0: 1 */
    unsigned jobs;                /* cores; 0: 1 */
    FILE *output;
    bool unwatched; /* no checks, so loads and stores take the fast path */
} Emulated;

static inline EmulatorResult *emulate(Arena *arena, const Emulated *kernel, const char *body)
{
    Buf text = {0};
    Diag diag;
    buf_printf(&text, ".version %s\n.target %s\n.address_size 64\n%s\n", kernel->version ? kernel->version : "9.0",
               kernel->target ? kernel->target : "sm_90", kernel->globals ? kernel->globals : "");
    buf_printf(&text, EMULATED_ENTRY, kernel->directives ? kernel->directives : "", body);
    Source *source = source_from_memory(arena, "test.ptx", buf_text(&text), text.length);
    buf_free(&text);
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    LaunchArgument *argument = ARENA_NEW(arena, LaunchArgument);
    *argument = (LaunchArgument){
        .kind = ARGUMENT_BUFFER, .name = "out", .type = TYPE_U32, .count = OUT_WORDS, .fill = FILL_ZERO};
    Launch launch = {.kernel = "k",
                     .grid = {kernel->grid ? kernel->grid : 1, 1, 1},
                     .block = {kernel->block ? kernel->block : 1, 1, 1},
                     .arguments = argument,
                     .argument_count = 1};
    EmulatorOptions options = {
        .check_races = !kernel->unwatched, .check_registers = !kernel->unwatched, .output = kernel->output,
        .jobs = kernel->jobs};
    EmulatorResult *result = emulator_run(arena, module, &launch, &options);
    if (result->fault.kind != FAULT_NONE)
        result->fault.message = fault_text(arena, module, &result->fault);
    return result;
}

/* The output words, in the arena. */
static inline const uint32_t *emulated_words(Arena *arena, const Emulated *kernel, const char *body)
{
    EmulatorResult *result = emulate(arena, kernel, body);
    if (result->fault.kind != FAULT_NONE)
        fail_msg("%s", result->fault.message);
    return (const uint32_t *)emulator_buffer(result, "out")->bytes;
}

static inline void expect_words(const Emulated *kernel, const char *body, const uint32_t *expected, unsigned count)
{
    Arena *arena = arena_new();
    const uint32_t *got = emulated_words(arena, kernel, body);
    for (unsigned i = 0; i < count; i++)
        if (got[i] != expected[i])
            fail_msg("word %u is 0x%x, not 0x%x, after %s", i, got[i], expected[i], body);
    arena_free(arena);
}

/* The fault's kind, and a word of its message. */
static inline void expect_fault(const Emulated *kernel, const char *body, FaultKind kind, const char *word)
{
    Arena *arena = arena_new();
    EmulatorResult *result = emulate(arena, kernel, body);
    if (result->fault.kind != kind || !strstr(result->fault.message, word))
        fail_msg("expected %s with \"%s\", got: %s", fault_name(kind), word,
                 result->fault.message ? result->fault.message : "no fault");
    arena_free(arena);
}

#endif
