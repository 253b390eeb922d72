/* For tests: parses modules from text. */
#ifndef PTXOPT_TESTS_PARSED_H
#define PTXOPT_TESTS_PARSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ir.h"
#include "parser/parser.h"
#include "support/support.h"

#include <string.h>

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define SM_90 ".version 8.0\n.target sm_90\n.address_size 64\n"

/* The module owns an arena of its own; free it with arena_free(module->arena). */
static inline Module *module_from(const char *text)
{
    Arena *arena = arena_new();
    Diag diag;
    Source *source = source_from_memory(arena, "test.ptx", text, strlen(text));
    diag_init(&diag, source, stderr);
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

static inline Function *function_of(Module *module, const char *name)
{
    Function *function = module_find_function(module, name);
    assert_non_null(function);
    return function;
}

/* The body form of kernel "k". It is the function's body, so release() frees it. */
static inline Body *body_from(Module *module)
{
    const char *reason = NULL;
    Function *function = function_of(module, "k");
    Body *body = body_build(function, &reason);
    assert_non_null(body);
    body_verify(body, "body_build");
    function_set_body(function, body);
    return body;
}

static inline void release(Module *module)
{
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION)
            function_set_body(module->items.data[i].function, NULL);
    arena_free(module->arena);
}

/* How often the word is in the text. */
static inline unsigned count_of(const Buf *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = buf_text(text); (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

static inline RegId reg_named(const Body *body, const char *name)
{
    for (size_t i = 0; i < body->regs.count; i++)
        if (strcmp(body->regs.data[i].name, name) == 0)
            return (RegId)i;
    return REG_NONE;
}

static inline Block *block_labelled(const Body *body, const char *label)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        if (body->blocks.data[i]->label && strcmp(body->blocks.data[i]->label, label) == 0)
            return body->blocks.data[i];
    return NULL;
}

static inline size_t inst_count(const Body *body)
{
    size_t count = 0;
    for (size_t i = 0; i < body->blocks.count; i++)
        for (const Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            count++;
    return count;
}

static inline bool buf_has(const Buf *buf, const char *text)
{
    return strstr(buf_text(buf), text) != NULL;
}

/* Instructions of an opcode. */
static inline size_t count_op(const Body *body, Opcode op)
{
    size_t count = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next)
            count += inst_op(inst) == op;
    return count;
}

#endif
