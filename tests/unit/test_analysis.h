/* Helpers for the tests of analysis/: bodies from PTX text, from files and from plain flow graphs. */
#ifndef PTXOPT_TEST_ANALYSIS_H
#define PTXOPT_TEST_ANALYSIS_H

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "parser/parser.h"

#define PTX_HEADER ".version 8.5\n.target sm_90\n.address_size 64\n"

static inline Module *module_parse(Arena *arena, const char *path, const char *text, size_t size)
{
    Diag diag;
    Source *source = source_from_memory(arena, path, text, size);
    diag_init(&diag, source, stderr);
    diag.quiet = true;
    Module *module = parse_module(arena, source, &diag);
    assert_non_null(module);
    return module;
}

/* Unites two sets of the same size. True if 'to' grew. */
static inline bool bitset_union(BitSet *to, const BitSet *from)
{
    bool grown = false;
    for (size_t bit = bitset_next(from, 0); bit != SIZE_MAX; bit = bitset_next(from, bit + 1)) {
        grown |= !bitset_has(to, bit);
        bitset_add(to, bit);
    }
    return grown;
}

static inline size_t bitset_count(const BitSet *set)
{
    size_t count = 0;
    for (size_t bit = bitset_next(set, 0); bit != SIZE_MAX; bit = bitset_next(set, bit + 1))
        count++;
    return count;
}

/* The body of the text's last function, in SSA form. The header lines are added to the text. */
static inline Body *body_parse(const char *text)
{
    Arena *arena = arena_new();
    const char *whole = arena_printf(arena, "%s%s", PTX_HEADER, text), *reason = NULL;
    Module *module = module_parse(arena, "test.ptx", whole, strlen(whole));
    Function *function = NULL;
    for (size_t i = 0; i < module->items.count; i++)
        if (module->items.data[i].kind == ITEM_FUNCTION)
            function = module->items.data[i].function;
    assert_non_null(function);
    Body *body = body_build(function, &reason);
    assert_non_null(body);
    body_to_ssa(body);
    body_verify(body, "test");
    return body;
}

static inline void body_drop(Body *body)
{
    Arena *arena = body->module->arena;
    body_free(body);
    arena_free(arena);
}

static inline RegId reg_named(const Body *body, const char *name)
{
    for (RegId reg = 0; reg < body->regs.count; reg++)
        if (!strcmp(body->regs.data[reg].name, name))
            return reg;
    fail_msg("no register %s", name);
    return REG_NONE;
}

static inline Block *block_named(const Body *body, const char *label)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        if (body->blocks.data[i]->label && !strcmp(body->blocks.data[i]->label, label))
            return body->blocks.data[i];
    fail_msg("no block %s", label);
    return NULL;
}

/* The n-th instruction, from 0, with this opcode. */
static inline Inst *inst_nth(const Body *body, const char *opcode, unsigned n)
{
    for (size_t i = 0; i < body->blocks.count; i++)
        for (Inst *inst = body->blocks.data[i]->first; inst; inst = inst->next)
            if (!strcmp(inst->signature->opcode, opcode) && !n--)
                return inst;
    fail_msg("no instruction %s", opcode);
    return NULL;
}

/* Calls 'visit' with every body of the kernels in the repository, before and after going into SSA form. */
static inline void each_body(const char *pattern, void (*visit)(Body *body))
{
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        Arena *arena = arena_new();
        const char *error = NULL;
        Source *source = source_read(arena, files.gl_pathv[i], &error);
        assert_non_null(source);
        Module *module = module_parse(arena, source->path, source->text, source->size);
        for (size_t f = 0; f < module->items.count; f++) {
            if (module->items.data[f].kind != ITEM_FUNCTION || !module->items.data[f].function->has_body)
                continue;
            const char *reason = NULL;
            Body *body = body_build(module->items.data[f].function, &reason);
            if (!body)
                continue;
            visit(body);
            body_to_ssa(body);
            visit(body);
            body_free(body);
        }
        arena_free(arena);
    }
    globfree(&files);
}

/* A body whose blocks have the edges in 'edges' (from, to pairs, ended by -1); a block without edges exits the
 * function. */
static inline Body *body_of_edges(Arena *arena, unsigned count, const int *edges)
{
    static const Signature branch = {.op = OP_BRX, .opcode = "brx"};
    Body *body = ARENA_NEW(arena, Body);
    body->arena = arena;
    for (unsigned i = 0; i < count; i++)
        body_add_block(body, NULL);
    for (unsigned i = 0; i < count; i++) {
        Inst *inst = ARENA_NEW(arena, Inst);
        inst->signature = &branch;
        inst->guard = REF_NONE;
        inst->effects = EFFECT_CONTROL;
        inst->targets = ARENA_ARRAY(arena, Block *, count * 2);
        for (const int *edge = edges; *edge >= 0; edge += 2)
            if ((unsigned)edge[0] == i)
                inst->targets[inst->target_count++] = body->blocks.data[edge[1]];
        if (inst->target_count)
            inst_append(body->blocks.data[i], inst);
    }
    body_update_preds(body);
    return body;
}

#endif
