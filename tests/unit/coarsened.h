/* Small kernels, coarsened: for the unit tests of coarsening. */
#ifndef PTXOPT_TESTS_COARSENED_H
#define PTXOPT_TESTS_COARSENED_H

#include "parsed.h"

#include "engine/report/contract_words.h"
#include "engine/report/refusal_words.h"
#include "opt/opt.h"
#include "tests/tools/one_pass.h"

/* The address of the thread's own word, in %d1. */
#define OWN "\tmad.wide.u32 %d1, %t, 4, %a;\n"

typedef struct Try {
    Module *module;
    Body *body;
    LaunchContract contract;
    Refusal refusal;
    bool done;
} Try;

/* 'head' goes before the kernel, 'tuning' after its parameters. */
static inline Try try_with(const char *head, const char *tuning, const char *code, const CoarsenRequest *request)
{
    Try it = {0};
    Buf text = {0};
    buf_printf(&text, "%s%s\n.visible .entry k(.param .u64 out, .param .u32 n)%s\n{\n"
                      "\t.reg .b32 %%r<20>, %%t;\n\t.reg .b64 %%a, %%d<8>;\n\t.reg .pred %%p<8>;\n\t.reg .b16 %%h<4>;\n"
                      "\tld.param.u64 %%a, [out];\n\tld.param.u32 %%r0, [n];\n\tmov.u32 %%t, %%tid.x;\n%s\tret;\n}\n",
               strstr(head, ".version") ? "" : HEADER, head, tuning, code);
    it.module = module_from(buf_text(&text));
    it.body = body_from(it.module);
    body_to_ssa(it.body);
    CoarsenRequest wanted = *request;
    wanted.block = block_size_resolve(&it.body->tuning, request->block.threads);
    it.done = coarsen_body(it.body, &wanted, &it.contract, &it.refusal, NULL);
    if (it.done) {
        body_verify(it.body, "coarsening");
        one_merge(it.body);
        one_dead_code(it.body);
        body_verify(it.body, "clean-up");
    }
    buf_free(&text);
    return it;
}

static const CoarsenRequest by_four = {.shape.threads = {4, 1, 1}, .guards = GUARDS_SEQUENTIAL};

/* Coarsened by four, the code must have this many instructions of the opcode. */
static inline void check_count(const char *code, Opcode op, size_t count)
{
    Try it = try_with("", "", code, &by_four);
    if (!it.done)
        fail_msg("refused: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    if (count_op(it.body, op) != count)
        fail_msg("%zu %s, not %zu:\n%s", count_op(it.body, op), opcode_name(op), count, code);
    release(it.module);
}

static inline void check_refused_with(const char *head, const char *tuning, const char *code,
                                      const CoarsenRequest *request, const char *reason, const char *at)
{
    Try it = try_with(head, tuning, code, request);
    if (it.done)
        fail_msg("not refused:\n%s", code);
    if (!strstr(refusal_text(it.module->arena, &it.refusal), reason))
        fail_msg("refused for another reason: %s\n%s", refusal_text(it.module->arena, &it.refusal), code);
    if (at) {
        assert_true(it.refusal.has_span);
        const char *place = it.module->source->text + it.refusal.span.begin;
        if (strncmp(place, at, strlen(at)) != 0)
            fail_msg("the reason is seen in '%.20s', not in '%s'", place, at);
    } else
        assert_false(it.refusal.has_span);
    release(it.module);
}

#endif
