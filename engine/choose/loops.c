/* -uj auto: see loops.h. */
#include "engine/choose/loops.h"

#include <string.h>

#include "engine/judge/machine_cost.h"
#include "engine/progress.h"
#include "engine/report/trial_words.h"

enum { MOST_LOOPS = 12 };
static const unsigned factors[] = {2, 4, 8};

typedef struct JamChoice {
    Arena *arena;
    Function *kernel;
    const KernelRequest *request;
    PipelineOptions quiet; /* without an assembler or dumps */
    const PipelineOptions *options;
    AssemblerJudge *judge;
    struct Progress *progress; /* NULL: not shown */
    CostBasis basis;
    Risk risk;
    bool is_unsure;        /* a form is predicted to gain, but may well lose */
    UnrollJam *jams;       /* those of the request, then those that were chosen */
    unsigned jam_count;
    FormCost best;         /* the cost with these */
    JamTrial *trials;
    unsigned trial_count;
} JamChoice;

/* The cost of the result; unknown, with the verdict, if it does not assemble or its time is unknown. */
static FormCost form_measure(const JamChoice *choice, const KernelResult *result, TrialVerdict *verdict)
{
    const Judge *judge = choice->options->judge;
    const FunctionForm form = kernel_form(result);
    const LaunchChange change = kernel_launch_change(result);
    Figures figures = {0};
    if (!judge->measure(judge->context, &form, &figures)) {
        *verdict = (TrialVerdict){.state = TRIAL_BROKEN, .message = figures.message};
        return (FormCost){.error = NULL};
    }
    const FormCost cost = machine_cost(choice->judge, &choice->basis, &form, &figures, &change, NULL);
    *verdict = (TrialVerdict){.state = cost.known ? TRIAL_MADE : TRIAL_UNKNOWN, .message = cost.error};
    return cost;
}

/* The kernel with the first 'jam_count' jams, assembled, and its cost. False, with the verdict, if it is out of the
 * running. */
static bool form_weigh(JamChoice *choice, unsigned jam_count, FormCost *cost, TrialVerdict *verdict)
{
    KernelRequest request = *choice->request;
    KernelResult result;
    request.reduce = false;
    request.jams = choice->jams;
    request.jam_count = jam_count;
    pipeline_run(choice->arena, choice->kernel, &request, &choice->quiet, &result);
    const UnrollJamResult *last = result.jam_count ? &result.jams[result.jam_count - 1] : NULL;
    const bool is_refused = jam_count > choice->jam_count && !last->done;
    if (is_refused)
        *verdict = (TrialVerdict){.state = TRIAL_REFUSED, .refusal = last->refusal};
    *cost = is_refused ? (FormCost){.error = NULL} : form_measure(choice, &result, verdict);
    kernel_discard(&result);
    return cost->known;
}

/* Tries one factor; true if the form is sound. */
static bool factor_try(JamChoice *choice, JamTrial *trial, FormCost *cost)
{
    TrialVerdict *verdict = &trial->verdict;
    choice->jams[choice->jam_count] = trial->jam;
    if (!form_weigh(choice, choice->jam_count + 1, cost, verdict))
        return false;
    FormCost before = choice->best;
    costs_align(&choice->basis, &before, cost);
    *verdict = (TrialVerdict){.state = TRIAL_COMPARED, .cost = cost_verdict(&before, cost)};
    trial->speedup = verdict->cost.speedup;
    if (spills_judge(&cost->figures, &before.figures) == VERDICT_TAKE)
        return true;
    verdict->state = TRIAL_SPILLS;
    verdict->spills = figures_spills(&cost->figures);
    verdict->spills_before = figures_spills(&before.figures);
    trial->speedup = 0;
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
        progress_form(choice->progress, jam_trial_text(choice->arena, trial));
        progress_step(choice->progress, choice->trial_count - 1, 0);
        if (!factor_try(choice, trial, &cost))
            break;
        const bool gains = speedup_judge(trial->speedup, THRESHOLD_JAM_GAIN) == VERDICT_TAKE;
        const bool is_sure = sure_speedup(&trial->verdict.cost, choice->risk) >= 1;
        choice->is_unsure |= gains && !is_sure;
        if (gains && is_sure && (!best || is_better(trial, &cost, best, &best_cost))) {
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

/* The decision not to add loops; those that were given stay. */
static LoopsChoice decline(const KernelRequest *request, LoopsOutcome outcome)
{
    return (LoopsChoice){.jams = request->jams,
                         .jam_count = request->jam_count,
                         .given = request->jam_count,
                         .outcome = outcome};
}

/* The decision once all loops have been tried. */
static LoopsChoice decide(const JamChoice *choice, const FormCost *before)
{
    const unsigned given = choice->request->jam_count;
    const bool is_any_chosen = choice->jam_count > given;
    LoopsChoice made = {.jams = choice->jams,
                        .jam_count = choice->jam_count,
                        .given = given,
                        .outcome = is_any_chosen ? LOOPS_CHOSEN : LOOPS_NO_GAIN,
                        .is_unsure = choice->is_unsure,
                        .counted = counted_part(&choice->basis, before),
                        .cycles = choice->best.time.cycles,
                        .trials = choice->trials,
                        .trial_count = choice->trial_count};
    if (is_any_chosen)
        made.gain = cost_verdict(before, &choice->best);
    return made;
}

static LoopsChoice choose(JamChoice *choice, const char *const *labels, unsigned label_count)
{
    const KernelRequest *request = choice->request;
    LoopsChoice declined = decline(request, label_count ? LOOPS_UNKNOWN : LOOPS_NONE);
    if (!label_count)
        return declined;
    choice->jams = ARENA_ARRAY(choice->arena, UnrollJam, request->jam_count + label_count + 1);
    for (; choice->jam_count < request->jam_count; choice->jam_count++)
        choice->jams[choice->jam_count] = request->jams[choice->jam_count];
    if (!form_weigh(choice, choice->jam_count, &choice->best, &declined.without))
        return declined;
    const FormCost before = choice->best;
    basis_set_jobs(&choice->basis, &before);
    choice->trials = ARENA_ARRAY(choice->arena, JamTrial, label_count * COUNT_OF(factors));
    for (unsigned i = 0; i < label_count && !is_over(choice); i++)
        loop_try(choice, labels[i]);
    progress_form(choice->progress, NULL);
    return decide(choice, &before);
}

LoopsChoice choose_jams(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                        const ChoiceContext *context)
{
    const Launch *launch = choice_launch(context, kernel->name);
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    if (!options->judge || !options->sm)
        return decline(request, LOOPS_NO_ASSEMBLER);
    if (!launch && !block_size_total(&block))
        return decline(request, LOOPS_NO_BLOCK);
    Span reading;
    if (loops_end_by_clock(kernel, &reading)) {
        LoopsChoice declined = decline(request, LOOPS_UNKNOWN);
        declined.without = (TrialVerdict){.state = TRIAL_UNKNOWN, .message = ENDS_BY_CLOCK};
        return declined;
    }
    const char **labels;
    unsigned count = unroll_jam_loops(arena, kernel, &labels);
    JamChoice choice = {.arena = arena,
                        .kernel = kernel,
                        .request = request,
                        .quiet = pipeline_quiet(options),
                        .options = options,
                        .judge = context->judge,
                        .progress = context->progress,
                        .basis = cost_basis(arena, options->sm, &context->device, launch, block.threads,
                                            request->dynamic_shared),
                        .risk = context->risk};
    basis_follow(&choice.basis, context);
    return choose(&choice, labels, count < MOST_LOOPS ? count : MOST_LOOPS);
}
