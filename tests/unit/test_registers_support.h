/* Helpers for the tests of the register passes. */
#ifndef PTXOPT_TESTS_REGISTERS_SUPPORT_H
#define PTXOPT_TESTS_REGISTERS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "opt/registers.h"
#include "parser/parser.h"
#include "tests/tools/one_pass.h"

static inline Module *module_of_text(const char *text)
{
    Arena *arena = arena_new();
    Source *source = source_from_memory(arena, "test", text, strlen(text));
    Diag diag;
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

static inline Module *module_of_file(const char *path)
{
    Arena *arena = arena_new();
    const char *error = NULL;
    Source *source = source_read(arena, path, &error);
    Diag diag;
    assert_non_null(source);
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

static inline Body *body_in_ssa(Function *kernel)
{
    const char *reason;
    Body *body = body_build(kernel, &reason);
    assert_non_null(body);
    body_to_ssa(body);
    return body;
}

static inline int32_t body_peak(const Body *body)
{
    Arena *arena = arena_new();
    int32_t peak = pressure_compute(arena, liveness_compute(arena, body))->peak.regs32;
    arena_free(arena);
    return peak;
}

/* "op op ..." of a block, for expectations. */
static inline const char *block_opcodes(Arena *arena, const Block *block)
{
    const char *text = "";
    for (const Inst *inst = block->first; inst; inst = inst->next)
        text = arena_printf(arena, "%s%s%s", text, *text ? " " : "", inst->signature->opcode);
    return text;
}

#define KERNEL_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

#endif
