/* The register search on a kernel whose figures come from a model of an assembler. */
#ifndef PTXOPT_TESTS_REGISTERS_MODEL_H
#define PTXOPT_TESTS_REGISTERS_MODEL_H

#include "engine/report/verdicts.h"
#include "tests/unit/test_registers_support.h"

typedef enum Temper { HONEST, ERRATIC, REFUSING, REFUSING_CAPS, OBLIGING } Temper;

enum { LEAST_CAP = 24 }; /* assemblers raise lower ones */

/* HONEST: uses pressure + 4 registers and spills those above the cap. ERRATIC: takes its figures from a hash of the
 * text. OBLIGING: like HONEST, but needs no spills for any cap. */
typedef struct ModelJudge {
    Judge judge;
    Temper temper;
    unsigned shared; /* bytes that every form takes */
    unsigned places; /* bytes of shared memory for spills, for each thread of .maxntid, if the pragma requests it */
    unsigned places_with; /* registers, with which only they are used; 0: with any */
    Figures at_places;    /* added to the figures of a form that uses them */
    unsigned calls;
    unsigned prepared;   /* forms that prepare() was given */
    unsigned ends_after; /* calls, after which the time is over; 0: never */
    bool serializes;     /* it warns of every form but the input's */
    bool repeats;        /* it claims that it has answered for every form before */
    unsigned added;      /* instructions of every form with a cap */
} ModelJudge;

static inline bool model_measure(void *context, const FunctionForm *form, Figures *out)
{
    ModelJudge *judge = context;
    const Body *candidate = form->body;
    judge->calls++;
    *out = (Figures){0};
    if (judge->temper == REFUSING || (judge->temper == REFUSING_CAPS && candidate->tuning.maxnreg)) {
        out->message = "it does not want to";
        return false;
    }
    unsigned count = 0, registers = (unsigned)body_peak(candidate) + 4, cap = candidate->tuning.maxnreg;
    assert_true(!cap || cap >= LEAST_CAP);
    for (size_t i = 0; i < candidate->blocks.count; i++)
        for (const Inst *inst = candidate->blocks.data[i]->first; inst; inst = inst->next)
            count++;
    if (judge->temper == ERRATIC) {
        uint64_t hash = text_hash(candidate);
        registers = 24 + hash % 9;
        out->spill_stores = cap ? hash / 64 % 8 * 4 : 0;
        count = 100 + hash / 1024 % 20;
    } else if (cap && registers > cap && judge->temper == OBLIGING) {
        registers = cap;
    } else if (cap && registers > cap) {
        out->spill_stores = out->spill_loads = 4 * (registers - cap);
        count += 2 * (registers - cap);
        registers = cap;
    }
    bool uses_places = !judge->places_with || judge->places_with == registers;
    if (judge->places && uses_places && candidate->blocks.data[0]->pragmas.count) {
        assert_int_equal(candidate->blocks.data[0]->pragmas.count, 1);
        out->spill_stores = 0;
        out->spill_loads = judge->at_places.spill_loads;
        registers += judge->at_places.registers;
        count += (unsigned)judge->at_places.instructions;
        out->shared = judge->places * (candidate->tuning.maxntid_count ? candidate->tuning.maxntid[0] : 1024);
    }
    out->known = true;
    out->repeated = judge->repeats;
    count += cap ? judge->added : 0;
    out->serialized = judge->serializes && judge->calls > 2;
    out->registers = registers;
    out->shared += judge->shared;
    out->instructions = count;
    return true;
}

static inline void model_prepare(void *context, const FunctionForm *form)
{
    ModelJudge *judge = context;
    assert_true(judge->judge.width > 1);
    assert_non_null(form->body);
    judge->prepared++;
}

static inline bool model_is_over(void *context)
{
    const ModelJudge *judge = context;
    return judge->ends_after && judge->calls >= judge->ends_after;
}

static inline void model_init(ModelJudge *judge, Temper temper)
{
    *judge = (ModelJudge){.temper = temper};
    judge->judge = (Judge){.context = judge, .measure = model_measure, .is_over = model_is_over};
}

typedef struct Case {
    Arena *arena;
    Module *module;
    Function *kernel;
    Body *body;
    ModelJudge judge;
    PassOptions passes;
    unsigned block_threads; /* 0: unknown */
    RegistersRequest request;
    RegistersResult result;
} Case;

static unsigned registers_before; /* in the first prediction; 0: none was requested yet */

static inline void case_start(Case *test, const char *text, Temper temper)
{
    const char *reason;
    *test = (Case){.arena = arena_new(), .module = module_of_text(text)};
    test->kernel = module_find_function(test->module, "k");
    test->body = body_build(test->kernel, &reason);
    model_init(&test->judge, temper);
    registers_before = 0;
    test->request = (RegistersRequest){.target = 32, .spill = true, .effort = 60};
    memset(test->passes.enabled, true, sizeof test->passes.enabled);
}

static inline void case_run(Case *test)
{
    const unsigned given[3] = {test->block_threads, 1, 1};
    PassContext context = pass_context_new(test->arena, &test->passes, test->kernel, test->body);
    context.sm = sm_limits_for("sm_90");
    context.judge = &test->judge.judge;
    context.block = block_size_resolve(&test->body->tuning, given);
    registers_reduce(&context, &test->request, &test->result);
    test->body = pass_take_body(&context);
    assert_false(test->body->ssa);
    assert_true(test->judge.repeats || test->judge.calls <= (test->request.effort > 2 ? test->request.effort : 2));
    assert_true(has_explanation(&test->result));
    body_verify(test->body, "registers");
}

/* The words that explain the result. */
static inline const char *explanation_text(const Case *test)
{
    Buf words = {0};
    explanation_print(&test->result, test->module->source, &words);
    const char *text = arena_strndup(test->arena, buf_text(&words), words.length);
    buf_free(&words);
    return text;
}

/* The words for a step. */
static inline const char *step_text(const Case *test, unsigned step)
{
    Buf words = {0};
    move_print(&test->result.steps[step].move, &words);
    const char *text = arena_strndup(test->arena, buf_text(&words), words.length);
    buf_free(&words);
    return text;
}

static inline void case_end(Case *test)
{
    body_free(test->body);
    arena_free(test->module->arena);
    arena_free(test->arena);
}

static Arena *text_arena;

static inline int texts_start(void **state)
{
    (void)state;
    text_arena = arena_new();
    return 0;
}

static inline int texts_end(void **state)
{
    (void)state;
    arena_free(text_arena);
    return 0;
}

#endif
