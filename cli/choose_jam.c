#include "cli/choose_jam.h"

#include <string.h>

#include "cli/machine_cost.h"

enum { MOST_LOOPS = 12 };
static const unsigned factors[] = {2, 4, 8};
/* What is chosen is at least so much faster; of forms that are about as fast, it is the one with fewer instructions. */
static const double least_gain = 1.03, as_fast = 1.005;

typedef struct JamChoice {
    Arena *arena;
    KernelReport *kernel;
    PipelineOptions quiet; /* without an assembler, and without dumps */
    const PipelineOptions *options;
    AssemblerJudge *judge;
    CostBasis basis;
    UnrollJam *jams;       /* those of the request, then those that were chosen */
    unsigned jam_count;
    FormCost best;         /* with these */
} JamChoice;

/* The kernel with the first so many of the jams, assembled, and its cost.  False, with the verdict, if it is out of the
 * running. */
static bool form_weigh(JamChoice *choice, unsigned jam_count, FormCost *cost, const char **verdict)
{
    const Judge *judge = choice->options->judge;
    KernelRequest request = choice->kernel->request;
    KernelResult result;
    Figures figures = {0};
    request.registers = false;
    request.jams = choice->jams;
    request.jam_count = jam_count;
    pipeline_run(choice->arena, choice->kernel->result.kernel, &request, &choice->quiet, &result);
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

/* Tries one factor; true if it is sound. */
static bool factor_try(JamChoice *choice, JamTrial *trial, FormCost *cost)
{
    choice->jams[choice->jam_count] = trial->jam;
    if (!form_weigh(choice, choice->jam_count + 1, cost, &trial->verdict))
        return false;
    FormCost before = choice->best;
    machine_costs_align(&choice->basis, &before, cost);
    trial->speedup = cost_speedup(&before, cost);
    trial->verdict = cost_verdict(choice->arena, &before, cost);
    uint64_t were = figures_spills(&before.figures), are = figures_spills(&cost->figures);
    if (are > were) {
        trial->verdict = arena_printf(choice->arena, "rejected: %llu bytes spilled instead of %llu (else %s)",
                                      (unsigned long long)are, (unsigned long long)were, trial->verdict);
        trial->speedup = 0;
    }
    return true;
}

static bool is_better(const JamTrial *a, const FormCost *a_cost, const JamTrial *b, const FormCost *b_cost)
{
    if (a->speedup > b->speedup * as_fast || b->speedup > a->speedup * as_fast)
        return a->speedup > b->speedup;
    return profile_executed(a_cost->profile) < profile_executed(b_cost->profile);
}

static void loop_try(JamChoice *choice, const char *label)
{
    KernelReport *kernel = choice->kernel;
    JamTrial *best = NULL;
    FormCost best_cost = {0};
    for (unsigned i = 0; i < choice->jam_count; i++)
        if (strcmp(choice->jams[i].loop, label) == 0)
            return;
    for (unsigned i = 0; i < COUNT_OF(factors); i++) {
        JamTrial *trial = &kernel->jam_trials[kernel->jam_trial_count++];
        FormCost cost;
        *trial = (JamTrial){.jam = {label, factors[i]}};
        if (!factor_try(choice, trial, &cost))
            break;
        if (trial->speedup >= least_gain && (!best || is_better(trial, &cost, best, &best_cost))) {
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
    KernelReport *kernel = choice->kernel;
    Buf text = {0};
    if (!loops)
        return "not done: the kernel has no loop";
    if (choice->jam_count == kernel->request.jam_count)
        return "not done: no loop's iterations side by side are predicted to be 3% faster";
    for (unsigned i = kernel->request.jam_count; i < choice->jam_count; i++)
        buf_printf(&text, "%s%s x%u", text.length ? ", " : "", choice->jams[i].loop, choice->jams[i].factor);
    buf_printf(&text, ", predicted (%s) to be %s", choice->basis.launch ? "counted" : "estimated",
               cost_verdict(choice->arena, before, &choice->best));
    const char *taken = arena_strndup(choice->arena, buf_text(&text), text.length);
    buf_free(&text);
    return taken;
}

void choose_jams(Arena *arena, KernelReport *kernel, const PipelineOptions *options, const ChoiceContext *context)
{
    Function *function = kernel->result.kernel;
    const Launch *launch = choice_launch(context, function->name);
    const BlockSize block = block_size_resolve(&function->tuning, kernel->request.block);
    const char **labels, *verdict;
    if (!options->judge || !options->machine) {
        kernel->jam_choice = "not done: there is no assembler, which choosing needs";
        return;
    }
    if (!launch && !block_size_total(&block)) {
        kernel->jam_choice = "not done: times are predicted for a block size, which -block or -launch would tell";
        return;
    }
    unsigned count = unroll_jam_loops(arena, function, &labels);
    if (count > MOST_LOOPS)
        count = MOST_LOOPS;
    JamChoice choice = {.arena = arena,
                        .kernel = kernel,
                        .quiet = pipeline_quiet(options),
                        .options = options,
                        .judge = context->judge,
                        .basis = cost_basis(arena, options->machine, &context->device, launch, block.threads,
                                             kernel->request.dynamic_shared),
                        .jams = ARENA_ARRAY(arena, UnrollJam, kernel->request.jam_count + count + 1),
                        .jam_count = kernel->request.jam_count};
    for (unsigned i = 0; i < choice.jam_count; i++)
        choice.jams[i] = kernel->request.jams[i];
    if (!form_weigh(&choice, choice.jam_count, &choice.best, &verdict)) {
        kernel->jam_choice = arena_printf(arena, "not done: the time without is unknown: %s", verdict);
        return;
    }
    const FormCost before = choice.best;
    kernel->jam_trials = ARENA_ARRAY(arena, JamTrial, count * COUNT_OF(factors));
    for (unsigned i = 0; i < count; i++)
        loop_try(&choice, labels[i]);
    kernel->jam_choice = choice_text(&choice, count, &before);
    kernel->request.jams = choice.jams;
    kernel->request.jam_count = choice.jam_count;
}
