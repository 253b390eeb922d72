#include "engine/choose_jam.h"

#include <string.h>

#include "engine/judge/machine_cost.h"

enum { MOST_LOOPS = 12 };
static const unsigned factors[] = {2, 4, 8};

typedef struct JamChoice {
    Arena *arena;
    Function *kernel;
    const KernelRequest *request;
    PipelineOptions quiet; /* without an assembler or dumps */
    const PipelineOptions *options;
    AssemblerJudge *judge;
    CostBasis basis;
    UnrollJam *jams;       /* those of the request, then those that were chosen */
    unsigned jam_count;
    FormCost best;         /* the cost with these */
    JamTrial *trials;
    unsigned trial_count;
} JamChoice;

/* The kernel with the first 'jam_count' jams, assembled, and its cost. False, with the verdict, if it is out of the
 * running. */
static bool form_weigh(JamChoice *choice, unsigned jam_count, FormCost *cost, const char **verdict)
{
    const Judge *judge = choice->options->judge;
    KernelRequest request = *choice->request;
    KernelResult result;
    Figures figures = {0};
    request.reduce = false;
    request.jams = choice->jams;
    request.jam_count = jam_count;
    pipeline_run(choice->arena, choice->kernel, &request, &choice->quiet, &result);
    const UnrollJamResult *last = result.jam_count ? &result.jams[result.jam_count - 1] : NULL;
    const FunctionForm form = kernel_form(&result);
    const LaunchChange change = kernel_launch_change(&result);
    *cost = (FormCost){.error = "it does not assemble"};
    if (jam_count > choice->jam_count && !last->done)
        *verdict = arena_printf(choice->arena, "refused: %s", last->refusal.reason);
    else if (!judge->measure(judge->context, &form, &figures))
        *verdict = arena_printf(choice->arena, "does not assemble: %s",
                                figures.message ? figures.message : "no reason given");
    else {
        *cost = machine_cost(choice->judge, &choice->basis, &form, &figures, &change, NULL);
        *verdict = cost->known ? "" : arena_printf(choice->arena, "rejected: %s", cost->error);
    }
    kernel_discard(&result);
    return cost->known;
}

/* Tries one factor; true if the form is sound. */
static bool factor_try(JamChoice *choice, JamTrial *trial, FormCost *cost)
{
    choice->jams[choice->jam_count] = trial->jam;
    if (!form_weigh(choice, choice->jam_count + 1, cost, &trial->verdict))
        return false;
    FormCost before = choice->best;
    costs_align(&choice->basis, &before, cost);
    trial->speedup = cost_speedup(&before, cost);
    trial->verdict = cost_verdict(choice->arena, &before, cost);
    uint64_t were = figures_spills(&before.figures), are = figures_spills(&cost->figures);
    if (are > were) {
        trial->verdict = arena_printf(choice->arena, "rejected: %llu byte%s spilled instead of %llu (else %s)",
                                      (unsigned long long)are, plural(are), (unsigned long long)were, trial->verdict);
        trial->speedup = 0;
    }
    return true;
}

/* Among forms that are about as fast, the one that executes fewer instructions is better. */
static bool is_better(const JamTrial *a, const FormCost *a_cost, const JamTrial *b, const FormCost *b_cost)
{
    if (time_is_longer(a->speedup, b->speedup) || time_is_longer(b->speedup, a->speedup))
        return a->speedup > b->speedup;
    return profile_executed(a_cost->profile) < profile_executed(b_cost->profile);
}

/* True if the user wants the search to end; the loops chosen so far are then taken. */
static bool is_over(const JamChoice *choice)
{
    const Judge *judge = choice->options->judge;
    return judge->is_over && judge->is_over(judge->context);
}

static void loop_try(JamChoice *choice, const char *label)
{
    JamTrial *best = NULL;
    FormCost best_cost = {0};
    for (unsigned i = 0; i < choice->jam_count; i++)
        if (strcmp(choice->jams[i].loop, label) == 0)
            return;
    for (unsigned i = 0; i < COUNT_OF(factors) && !is_over(choice); i++) {
        JamTrial *trial = &choice->trials[choice->trial_count++];
        FormCost cost;
        *trial = (JamTrial){.jam = {label, factors[i]}};
        if (!factor_try(choice, trial, &cost))
            break;
        if (trial->speedup >= threshold(THRESHOLD_JAM_GAIN) && (!best || is_better(trial, &cost, best, &best_cost))) {
            best = trial;
            best_cost = cost;
        }
    }
    if (!best)
        return;
    best->chosen = true;
    choice->best = best_cost;
    choice->jams[choice->jam_count++] = best->jam;
}

static const char *choice_text(const JamChoice *choice, unsigned loops, const FormCost *before)
{
    const unsigned given = choice->request->jam_count;
    Buf text = {0};
    if (!loops)
        return "not done: the kernel has no loop";
    if (choice->jam_count == given)
        return "not done: no loop's iterations side by side are predicted to be 3% faster";
    for (unsigned i = given; i < choice->jam_count; i++)
        buf_printf(&text, "%s%s x%u", text.length ? ", " : "", choice->jams[i].loop, choice->jams[i].factor);
    buf_printf(&text, ", predicted (%s) to be %s", choice->basis.launch ? "counted" : "estimated",
               cost_verdict(choice->arena, before, &choice->best));
    const char *taken = arena_strndup(choice->arena, buf_text(&text), text.length);
    buf_free(&text);
    return taken;
}

/* The decision not to add loops; those that were given stay. */
static LoopsChoice decline(const KernelRequest *request, const char *words)
{
    return (LoopsChoice){.jams = request->jams, .jam_count = request->jam_count, .words = words};
}

static LoopsChoice choose(JamChoice *choice, const char *const *labels, unsigned label_count)
{
    const KernelRequest *request = choice->request;
    const char *verdict;
    choice->jams = ARENA_ARRAY(choice->arena, UnrollJam, request->jam_count + label_count + 1);
    for (; choice->jam_count < request->jam_count; choice->jam_count++)
        choice->jams[choice->jam_count] = request->jams[choice->jam_count];
    if (!form_weigh(choice, choice->jam_count, &choice->best, &verdict))
        return decline(request, arena_printf(choice->arena, "not done: the time without is unknown: %s", verdict));
    const FormCost before = choice->best;
    choice->trials = ARENA_ARRAY(choice->arena, JamTrial, label_count * COUNT_OF(factors));
    for (unsigned i = 0; i < label_count && !is_over(choice); i++)
        loop_try(choice, labels[i]);
    return (LoopsChoice){.jams = choice->jams,
                         .jam_count = choice->jam_count,
                         .cycles = choice->best.time.cycles,
                         .words = choice_text(choice, label_count, &before),
                         .trials = choice->trials,
                         .trial_count = choice->trial_count};
}

LoopsChoice choose_jams(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                        const ChoiceContext *context)
{
    const Launch *launch = choice_launch(context, kernel->name);
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    if (!options->judge || !options->sm)
        return decline(request, "not done: there is no assembler, which choosing needs");
    if (!launch && !block_size_total(&block))
        return decline(request, "not done: times are predicted for a block size, which -block or -launch would tell");
    const char **labels;
    unsigned count = unroll_jam_loops(arena, kernel, &labels);
    JamChoice choice = {.arena = arena,
                        .kernel = kernel,
                        .request = request,
                        .quiet = pipeline_quiet(options),
                        .options = options,
                        .judge = context->judge,
                        .basis = cost_basis(arena, options->sm, &context->device, launch, block.threads,
                                            request->dynamic_shared)};
    choice.basis.stop = context->judge ? context->judge->interrupted : NULL;
    return choose(&choice, labels, count < MOST_LOOPS ? count : MOST_LOOPS);
}
