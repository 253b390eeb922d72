#include "engine/judge/entries.h"

#include <stdlib.h>
#include <string.h>

#include "engine/judge/machine_cost.h"
#include "engine/spilled.h"
#include "sass/sass.h"

void assembler_judge_forget(AssemblerJudge *judge)
{
    assembler_judge_settle(judge);
    for (JudgeEntry *entry = judge->kept; entry; entry = entry->older) {
        free(entry->cubin);
        entry->cubin = NULL;
    }
    judge->kept = NULL;
    judge->kept_bytes = 0;
}

Figures figures_of_resources(const Resources *resources)
{
    return (Figures){
        .known = true,
        .registers = resources->registers,
        .barriers = resources->barriers,
        .spill_stores = resources->spill_stores,
        .spill_loads = resources->spill_loads,
        .stack = resources->stack,
        .shared = resources->shared,
        .constant = resources->constant,
        .instructions = resources->instructions,
    };
}

/* A form that is to be assembled. */
typedef struct Order {
    Buf text;
    TextKey key;
    const char *kernel;
    Tuning tuning; /* of the form: its knobs and controls */
} Order;

/* If times are predicted, lines are numbered, so that a prediction does not have to assemble again; the numbers do not
 * change the code. */
static AssemblyRequest order_request(const AssemblerJudge *judge, Arena *arena, const Order *order)
{
    AssemblyRequest request = assembly_request(buf_text(&order->text), order->text.length);
    request.options = knobs_words(arena, order->tuning.knobs, order->tuning.controls);
    request.arch = judge->arch;
    request.opt_level = judge->opt_level;
    request.timeout_ms = judge->timeout_ms;
    const bool keeps_code = judge->basis || judge->keeps_code;
    request.want_cubin = keeps_code || spills_need_counting(request.ptx, request.size);
    const Module *module = keeps_code ? judge_parse_text(arena, order->kernel, &order->text) : NULL;
    if (!module || module_is_debug(module))
        return request;
    const PtxLines lines = ptx_lines(arena, module);
    request.ptx = ptx_numbered(arena, module, &lines, &request.size);
    request.line_info = true;
    return request;
}

static Figures figures_of_assembly(const AssemblerJudge *judge, const Order *order, const Assembly *assembly)
{
    const char *kernel = order->kernel;
    Figures figures = {0};
    bool done = assembly->failure == ASSEMBLY_DONE;
    const Resources *resources = done ? assembly_find(assembly, kernel) : NULL;
    if (resources)
        figures = figures_of_resources(resources);
    else if (done)
        figures.message =
            arena_printf(judge->arena, "%s reports no figures for %s", assembler_name(judge->assembler), kernel);
    else
        figures.broke = assembly_broke(assembly->failure);
    if (figures.known && spills_need_counting(buf_text(&order->text), order->text.length))
        spills_count(assembly, kernel, &figures);
    if (!done)
        figures.message = arena_printf(judge->arena, "%s: %s", assembly_failure_word(assembly->failure),
                                       assembly->message ? assembly->message : "no reason given");
    /* "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ..." */
    figures.serialized = done && assembly->log && strstr(assembly->log, "(C75");
    return figures;
}

static void order_answer(AssemblerJudge *judge, const Order *order, const Assembly *assembly, bool is_numbered)
{
    Figures figures = figures_of_assembly(judge, order, assembly);
    JudgeEntry *entry = judge_entry_add(judge, &order->key, &figures);
    judge_entry_keep_cubin(judge, entry, assembly, is_numbered);
    figures_cache_store(&judge->cache, &order->key, &figures);
}

/* A form that is being assembled. */
typedef struct JudgeRun {
    Order order;
    Arena *arena;
    AssemblyRequest request;
    Assembly result;
    AssemblyRun *run;    /* NULL: it is done */
    bool is_answered;    /* its figures are known; only the code with numbered lines is needed */
    struct JudgeRun *next;
} JudgeRun;

/* Assembles the text without numbers, so that messages name its lines. */
static void assemble_plainly(AssemblerJudge *judge, JudgeRun *run)
{
    run->request.ptx = buf_text(&run->order.text);
    run->request.size = run->order.text.length;
    run->request.line_info = false;
    run->result = (Assembly){0};
    assembler_run(judge->assembler, run->arena, &run->request, &run->result);
    judge->calls++;
}

/* Makes a run that takes over the order's text. */
static JudgeRun *run_new(const AssemblerJudge *judge, const Order *order)
{
    Arena *arena = arena_new();
    JudgeRun *run = ARENA_NEW(arena, JudgeRun);
    *run = (JudgeRun){.order = *order, .arena = arena, .request = order_request(judge, arena, order)};
    return run;
}

static void run_free(JudgeRun *run)
{
    buf_free(&run->order.text);
    arena_free(run->arena);
}

/* Waits for the run, and keeps its results. */
static void run_finish(AssemblerJudge *judge, JudgeRun *run)
{
    double begin = seconds_now();
    if (run->run)
        assembler_finish(run->run);
    if (run->request.line_info && run->result.failure == ASSEMBLY_REJECTED && !run->is_answered)
        assemble_plainly(judge, run);
    judge->seconds += seconds_now() - begin;
    if (!run->is_answered)
        order_answer(judge, &run->order, &run->result, run->request.line_info);
    else if (run->result.failure == ASSEMBLY_DONE)
        judge_entry_keep_cubin(judge, judge_entry_find(judge, &run->order.key), &run->result, true);
    run_free(run);
}

static void running_finish(AssemblerJudge *judge, JudgeRun *run)
{
    JudgeRun **at = &judge->running;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    run_finish(judge, run);
}

void assembler_judge_settle(AssemblerJudge *judge)
{
    while (judge->running)
        running_finish(judge, judge->running);
}

/* Assembles while the caller waits. */
static void run_now(AssemblerJudge *judge, JudgeRun *run)
{
    double begin = seconds_now();
    assembler_run(judge->assembler, run->arena, &run->request, &run->result);
    judge->calls++;
    judge->seconds += seconds_now() - begin;
    run_finish(judge, run);
}

/* Assembles in parallel with the caller, who first has to wait if the maximum number is running. */
static void run_start(AssemblerJudge *judge, JudgeRun *run)
{
    unsigned running = 0;
    for (const JudgeRun *other = judge->running; other; other = other->next)
        running++;
    if (running >= judge->judge.width)
        running_finish(judge, judge->running);
    run->run = assembler_start(judge->assembler, run->arena, &run->request, &run->result);
    judge->calls++;
    JudgeRun **last = &judge->running;
    while (*last)
        last = &(*last)->next;
    *last = run;
}

static Order order_of(AssemblerJudge *judge, const FunctionForm *form)
{
    Order order = {.kernel = form->function->name, .tuning = *form_tuning(form)};
    judge_print_form(form, &order.text);
    order.key = text_key_of(judge, buf_text(&order.text), order.text.length, order.kernel, &order.tuning);
    return order;
}

/* True if the figures are known already, from this run or from disk; they are then in judge->entries. */
static bool is_answered(AssemblerJudge *judge, const TextKey *key)
{
    Figures figures;
    if (judge_entry_find(judge, key))
        return true;
    if (!figures_cache_find(&judge->cache, key, &figures))
        return false;
    judge_entry_add(judge, key, &figures);
    return true;
}

void assembler_judge_answer(AssemblerJudge *judge, const FunctionForm *form, const Assembly *assembly)
{
    Order order = order_of(judge, form);
    if (!judge_entry_find(judge, &order.key))
        order_answer(judge, &order, assembly, false);
    buf_free(&order.text);
}

static JudgeRun *running_find(const AssemblerJudge *judge, const TextKey *key)
{
    JudgeRun *run = judge->running;
    while (run && memcmp(&run->order.key, key, sizeof *key) != 0)
        run = run->next;
    return run;
}

static bool form_measure(void *context, const FunctionForm *form, Figures *out)
{
    AssemblerJudge *judge = context;
    Order order = order_of(judge, form);
    const TextKey key = order.key;
    JudgeRun *run = running_find(judge, &key);
    if (run && !run->is_answered)
        running_finish(judge, run);
    if (is_answered(judge, &key)) {
        judge->repeats++;
        buf_free(&order.text);
    } else {
        run_now(judge, run_new(judge, &order));
    }
    JudgeEntry *entry = judge_entry_find(judge, &key);
    *out = entry->figures;
    out->repeated = entry->is_asked;
    entry->is_asked = true;
    return out->known;
}

static void form_prepare(void *context, const FunctionForm *form)
{
    AssemblerJudge *judge = context;
    Order order = order_of(judge, form);
    if (running_find(judge, &order.key) || is_answered(judge, &order.key))
        buf_free(&order.text);
    else
        run_start(judge, run_new(judge, &order));
}

/* The run to be assembled for the prediction of a form, whose text it takes over; NULL: none is needed. */
static JudgeRun *prediction_run(const AssemblerJudge *judge, Order *order)
{
    const JudgeEntry *entry = judge_entry_find(judge, &order->key);
    if ((entry && entry->cubin && entry->is_numbered) || running_find(judge, &order->key)) {
        buf_free(&order->text);
        return NULL;
    }
    JudgeRun *run = run_new(judge, order);
    run->is_answered = entry != NULL;
    if (run->request.line_info)
        return run;
    run_free(run);
    return NULL;
}

static void prediction_prepare(void *context, const FunctionForm *form)
{
    AssemblerJudge *judge = context;
    if (!judge->basis || judge->judge.width < 2)
        return;
    Order order = order_of(judge, form);
    is_answered(judge, &order.key);
    JudgeRun *run = prediction_run(judge, &order);
    if (run)
        run_start(judge, run);
}

static bool search_is_over(void *context)
{
    return assembler_judge_is_over(context);
}

typedef struct PredictedForm {
    TextKey key;
    const CostBasis *basis;
    FormCost cost;
    struct PredictedForm *next;
} PredictedForm;

static const PredictedForm *predicted_find(const AssemblerJudge *judge, const TextKey *key)
{
    const PredictedForm *form = judge->predicted;
    while (form && (form->basis != judge->basis || memcmp(key, &form->key, sizeof *key) != 0))
        form = form->next;
    return form;
}

FormCost assembler_judge_cost(AssemblerJudge *judge, const FunctionForm *form, const Figures *figures,
                              const LaunchChange *change, bool *is_new)
{
    Order order = order_of(judge, form);
    FormCost cost;
    /* The instructions that a form executes do not depend on its register count, and searches compare many counts of
     * one form. */
    const PredictedForm *known = predicted_find(judge, &order.key);
    *is_new = !known;
    if (known) {
        cost = known->cost;
        cost.figures = *figures;
        cost.time = form_time(judge->basis, &cost);
        cost.known = cost.time.known;
    } else {
        /* The other runs end first: after an interrupt by the user, signals would be held until all of them have
         * noticed it. */
        assembler_judge_settle(judge);
        JudgeRun *run = prediction_run(judge, &order);
        order.text = (Buf){0};
        if (run)
            run_now(judge, run);
        cost = machine_cost(judge, judge->basis, form, figures, change, NULL);
        if (cost.profile) {
            PredictedForm *predicted = ARENA_NEW(judge->arena, PredictedForm);
            *predicted = (PredictedForm){order.key, judge->basis, cost, judge->predicted};
            judge->predicted = predicted;
        }
    }
    buf_free(&order.text);
    return cost;
}

static Prediction form_predict(void *context, const FunctionForm *form, const Figures *figures,
                               const LaunchChange *change)
{
    AssemblerJudge *judge = context;
    bool is_new;
    if (!judge->basis)
        return (Prediction){0};
    FormCost cost = assembler_judge_cost(judge, form, figures, change, &is_new);
    if (!cost.known)
        return (Prediction){.is_new = is_new};
    const SassProfile *sm = cost.profile->sm;
    return (Prediction){.known = true,
                        .is_new = is_new,
                        .is_machine = sm != NULL,
                        .cycles = cost.time.cycles,
                        .instructions = profile_executed(cost.profile),
                        .looped = sm ? sm->looped : profile_executed(cost.profile),
                        .warps = cost.time.resident_warps,
                        .path = sm ? cost.time.path : 0,
                        .accesses = cost.profile->shared_accesses +
                                    (sm ? sm->spills + sm->shared_spills : 0),
                        .spills = sm ? sm->spills : 0};
}

void assembler_judge_init(AssemblerJudge *judge, Arena *arena, Assembler *assembler)
{
    *judge = (AssemblerJudge){.assembler = assembler, .opt_level = 3, .arena = arena, .entries = {.arena = arena}};
    judge->cache = figures_cache_open();
    judge->poll = assembler_judge_poll(judge);
    judge->judge = (Judge){.context = judge,
                           .measure = form_measure,
                           .prepare = form_prepare,
                           .prepare_prediction = prediction_prepare,
                           .width = assembler_width(),
                           .is_over = search_is_over,
                           .predict = form_predict};
}

void assembler_judge_close(AssemblerJudge *judge)
{
    if (!judge->assembler)
        return;
    assembler_judge_forget(judge);
    figures_cache_close(&judge->cache);
}
