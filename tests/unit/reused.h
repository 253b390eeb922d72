/* For tests of the passes that reuse values: kernels from a few lines of code, and the accesses that remain of them. */
#ifndef PTXOPT_TESTS_REUSED_H
#define PTXOPT_TESTS_REUSED_H

#include "parsed.h"

#include "opt/opt.h"
#include "opt/passes.h"
#include "tests/tools/one_pass.h"

/* A kernel with this code; %a and %b are addresses of buffers, %w and %n integers from the launch, %t the index of the
 * thread. */
static inline Body *body_of(Module **module, const char *code)
{
    Buf text = {0};
    buf_puts(&text, SM_90 ".shared .align 16 .b8 tile[1024];\n.const .align 4 .u32 fixed;\n"
                           ".func (.param .b32 r) f(.param .b32 x)\n{\n\tret;\n}\n"
                           ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u32 pw, .param .u32 pn)\n{\n"
                           "\t.reg .b32 %r<30>, %w, %n, %t;\n\t.reg .b64 %a, %b, %d<20>;\n\t.reg .f32 %f<20>;\n"
                           "\t.reg .pred %p<8>;\n\t.reg .b16 %h<4>;\n"
                           "\tld.param.u64 %a, [pa];\n\tld.param.u64 %b, [pb];\n"
                           "\tld.param.u32 %w, [pw];\n\tld.param.u32 %n, [pn];\n\tmov.u32 %t, %tid.x;\n"
                           "\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r29, %ntid.x;\n\tmad.lo.s32 %t, %r0, %r29, %t;\n");
    buf_puts(&text, code);
    buf_puts(&text, "\tret;\n}\n");
    *module = module_from(buf_text(&text));
    Body *body = body_from(*module);
    body_to_ssa(body);
    buf_free(&text);
    return body;
}

/* Loads, and with 'stores' stores, in blocks that are in a loop or not; the minima of two addresses, and the
 * comparisons of which one has to hold. */
typedef struct Count {
    unsigned loads, stores, looped_loads, looped_stores, minima, choices;
} Count;

static inline Count count_accesses(const Body *body)
{
    Count count = {0};
    Arena *arena = arena_new();
    LoopForest *loops = loops_compute(arena, dominance_compute(arena, body));
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            bool is_load = inst_op(inst) == OP_LD && inst->signature->space != SPACE_PARAM;
            bool is_store = inst_op(inst) == OP_ST && inst->signature->space != SPACE_PARAM;
            bool in_loop = loop_of(loops, body->blocks.data[b]) != NULL;
            count.loads += is_load;
            count.stores += is_store;
            count.looped_loads += is_load && in_loop;
            count.looped_stores += is_store && in_loop;
            count.minima += inst_op(inst) == OP_MIN;
            count.choices += inst_op(inst) == OP_SETP && inst_has(inst, MOD_OR);
        }
    arena_free(arena);
    return count;
}

/* Runs these passes, with a clean-up after each. */
static inline Count run(const char *code, const PassId *passes, size_t count)
{
    Module *module;
    Body *body = body_clone(body_of(&module, code));
    for (size_t i = 0; i < count; i++) {
        one_pass(&body, passes[i]);
        one_pass(&body, PASS_CLEANUP);
    }
    Count result = count_accesses(body);
    body_free(body);
    release(module);
    return result;
}

/* A loop over %d9, an address that starts with %b, after the passes that reuse values and keep what a loop updates. */
static inline Count run_loop(const char *head, const char *code)
{
    static const PassId passes[] = {PASS_LOAD_REUSE, PASS_FORWARD, PASS_ACCUMULATOR};
    Buf text = {0};
    buf_printf(&text, "%s\tmov.u32 %%r9, 0;\n\tmov.u64 %%d9, %%b;\nL:\n%s\tadd.s64 %%d9, %%d9, 4;\n"
                      "\tadd.s32 %%r9, %%r9, 1;\n\tsetp.lt.s32 %%p1, %%r9, %%n;\n\t@%%p1 bra L;\n",
               head, code);
    Count count = run(buf_text(&text), passes, COUNT_OF(passes));
    buf_free(&text);
    return count;
}

#endif
