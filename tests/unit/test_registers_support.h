/* Helpers for the tests of the register passes. */
#ifndef PTXOPT_TESTS_REGISTERS_SUPPORT_H
#define PTXOPT_TESTS_REGISTERS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "opt/registers/registers.h"
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

static inline void body_and_module_free(Module *module, Body *body)
{
    body_free(body);
    arena_free(module->arena);
}

static inline unsigned block_count(const Block *block, const char *opcode)
{
    unsigned count = 0;
    for (const Inst *inst = block->first; inst; inst = inst->next)
        count += strcmp(inst->signature->opcode, opcode) == 0;
    return count;
}

static inline unsigned body_count(const Body *body, const char *opcode)
{
    unsigned count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        count += block_count(body->blocks.data[b], opcode);
    return count;
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

/* A hash of the dump of a body. */
static inline uint64_t text_hash(const Body *body)
{
    Buf text = {0};
    uint64_t hash = 1469598103934665603u;
    body_dump(body, &text);
    for (const char *c = buf_text(&text); *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    buf_free(&text);
    return hash ^ hash >> 31;
}

/* Forty steps from the thread's index, and then stores of 'count' values. */
static inline const char *values_stored_late(Arena *arena, const char *text, int count)
{
    for (int i = 0; i < 40; i++)
        text = arena_printf(arena, "%sxor.b32 %%r%d, %%r%d, %d;\n", text, 201 + i, 200 + i, i);
    text = arena_printf(arena, "%sst.global.u32 [%%rd1+400], %%r240;\n", text);
    for (int i = 0; i < count; i++)
        text = arena_printf(arena, "%sst.global.u32 [%%rd1+%d], %%r%d;\n", text, 4 * i, i);
    return text;
}

/* 'count' values made early from the thread's index and read late. */
static inline const char *values_read_late(Arena *arena, int count)
{
    const char *text = KERNEL_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<300>;\n.reg .b64 %rd<2>;\n"
                                   "ld.param.u64 %rd1, [out];\nmov.u32 %r200, %tid.x;\n";
    for (int i = 0; i < count; i++)
        text = arena_printf(arena, "%smad.lo.s32 %%r%d, %%r200, %d, %d;\n", text, i, 2 * i + 3, i + 1);
    text = values_stored_late(arena, text, count);
    return arena_printf(arena, "%sst.global.u32 [%%rd1+404], %%r200;\nret;\n}\n", text);
}

#endif
