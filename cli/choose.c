#include "cli/choose.h"

#include <stdlib.h>
#include <string.h>

#include "cli/emulate.h"
#include "cli/machine_cost.h"

enum { LARGEST_FACTOR = 16, MOST_BASES = 3, FEWEST_COUNTED = 6, COUNTED_INSTRUCTIONS = 5000000 };
/* What is kept is at least so much faster; by estimates for warps of unknown lengths, whose tails nobody sees, more. */
static const double least_gain = 1.03, least_uneven_gain = 1.15;

/* A form that coarsening gives. */
typedef struct Candidate {
    CoarsenTrial *trial;
    KernelResult result;   /* with a body, while the candidate is in the running */
    double speedup;        /* the least over the bases */
    FormCost cost;         /* on the basis with the least */
} Candidate;

typedef struct Choice {
    Arena *arena;
    KernelReport *kernel;
    const PipelineOptions *options;
    PipelineOptions quiet; /* without an assembler, and without dumps */
    CostBasis bases[MOST_BASES];
    FormCost before[MOST_BASES];
    AssemblerJudge *judge;
    unsigned basis_count;
    Candidate *candidates; /* of those that are sound */
    unsigned candidate_count;
} Choice;

/* No form can even be tried. */
static void decline(KernelReport *kernel, const char *reason)
{
    kernel->refusal = (Refusal){.reason = reason};
    kernel->choice = reason;
}

/* The bases: what the forms are compared for. */

const Launch *choice_launch(const ChoiceContext *context, const char *kernel)
{
    for (size_t i = 0; i < context->launch_count; i++)
        if (strcmp(context->launches[i]->kernel, kernel) == 0)
            return context->launches[i];
    return NULL;
}

static void set_bases(Choice *choice, const ChoiceContext *context, const BlockSize *block)
{
    static const unsigned usual_blocks[MOST_BASES] = {128, 256, 1024};
    const Launch *launch = choice_launch(context, choice->kernel->result.kernel->name);
    CostBasis basis = {.arena = choice->arena, .machine = choice->options->machine, .device = context->device};
    choice->basis_count = 1;
    if (launch) {
        basis.launch = launch;
        basis.jobs = launch_jobs(launch);
        basis.dynamic_shared = launch->dynamic_shared;
        memcpy(basis.block, launch->block, sizeof basis.block);
        choice->bases[0] = basis;
    } else if (block_size_total(block)) {
        memcpy(basis.block, block->threads, sizeof basis.block);
        choice->bases[0] = basis;
    } else {
        choice->basis_count = MOST_BASES;
        for (unsigned i = 0; i < MOST_BASES; i++) {
            choice->bases[i] = basis;
            choice->bases[i].block[0] = usual_blocks[i];
            choice->bases[i].block[1] = choice->bases[i].block[2] = 1;
        }
    }
}

/* Whether every basis has blocks that the factors divide. */
static bool divides(const Choice *choice, const unsigned factor[3])
{
    for (unsigned i = 0; i < choice->basis_count; i++)
        for (unsigned k = 0; k < 3; k++)
            if (choice->bases[i].block[k] % factor[k] || choice->bases[i].block[k] < factor[k])
                return false;
    return true;
}

/* The cost of a form on every basis; the least speedup decides. */
static bool candidate_cost(Choice *choice, Candidate *candidate, const Figures *figures, bool estimated)
{
    const KernelResult *result = &candidate->result;
    const FunctionForm form = {.function = result->kernel,
                               .body = result->body,
                               .tuning = &result->tuning,
                               .added = result->contract_symbol};
    candidate->speedup = 0;
    for (unsigned i = 0; i < choice->basis_count; i++) {
        CostBasis basis = choice->bases[i];
        FormCost before = choice->before[i];
        if (estimated) {
            const FunctionForm input = {.function = result->kernel};
            const unsigned none[3] = {1, 1, 1};
            if (basis.launch)
                basis.blocks = (double)basis.launch->grid[0] * basis.launch->grid[1] * basis.launch->grid[2];
            basis.launch = NULL;
            before = form_cost(&basis, &input, &before.figures, none);
        }
        FormCost cost = estimated ? form_cost(&basis, &form, figures, candidate->trial->factor)
                                  : machine_cost(choice->judge, &basis, &form, figures, candidate->trial->factor, NULL);
        if (!cost.known || !before.known) {
            candidate->trial->verdict =
                arena_printf(choice->arena, "rejected: %s", cost.error ? cost.error : "unknown");
            return false;
        }
        double speedup = cost_speedup(&before, &cost);
        if (!i || speedup < candidate->speedup) {
            candidate->speedup = speedup;
            candidate->cost = cost;
            candidate->trial->verdict = cost_verdict(choice->arena, &before, &cost);
        }
    }
    candidate->trial->speedup = candidate->speedup;
    return true;
}

/* Coarsens the kernel as the trial says; true if that is sound. */
static bool make_form(Choice *choice, CoarsenTrial *trial)
{
    KernelReport *kernel = choice->kernel;
    KernelRequest request = kernel->request;
    Candidate *candidate = &choice->candidates[choice->candidate_count];
    request.coarsen = true;
    request.registers = false;
    request.stride = trial->stride;
    memcpy(request.factor, trial->factor, sizeof trial->factor);
    if (choice->bases[0].launch)
        memcpy(request.block, choice->bases[0].block, sizeof request.block);
    *candidate = (Candidate){.trial = trial};
    pipeline_run(choice->arena, kernel->result.kernel, &request, &choice->quiet, &candidate->result);
    KernelResult *result = &candidate->result;
    if (result->coarsening == OUTCOME_DONE) {
        const char *unmet = contract_unmet(choice->arena, &result->contract, choice->bases[0].block);
        trial->sound = unmet == NULL || choice->basis_count > 1;
        trial->verdict = unmet ? arena_printf(choice->arena, "rejected: %s", unmet) : "";
    } else {
        bool is_refused = result->coarsening == OUTCOME_REFUSED;
        trial->verdict =
            arena_printf(choice->arena, "refused: %s", is_refused ? result->refusal.reason : "nothing to do");
        if (is_refused && !kernel->refusal.reason)
            kernel->refusal = result->refusal;
    }
    if (!trial->sound)
        kernel_discard(result);
    choice->candidate_count += trial->sound;
    return trial->sound;
}

/* Makes every form.  A dimension that is refused alone is not tried together with others. */
static void make_forms(Choice *choice, const ChoiceContext *context)
{
    KernelReport *kernel = choice->kernel;
    const Stride strides[] = {{.kind = STRIDE_BLOCK}, {.kind = STRIDE_UNIT}};
    bool refused[3] = {false, false, false};
    for (unsigned total = 2; total <= LARGEST_FACTOR; total *= 2)
        for (unsigned x = 1; x <= total; x *= 2)
            for (unsigned y = 1; x * y <= total; y *= 2) {
                const unsigned factor[3] = {x, y, total / x / y};
                bool hopeless = false;
                for (unsigned k = 0; k < 3; k++)
                    hopeless |= factor[k] > 1 && refused[k];
                if (hopeless || !divides(choice, factor))
                    continue;
                for (unsigned s = 0; s < (context->stride_given ? 1 : COUNT_OF(strides)); s++) {
                    CoarsenTrial *trial = &kernel->trials[kernel->trial_count++];
                    *trial = (CoarsenTrial){.factor = {factor[0], factor[1], factor[2]},
                                            .stride = context->stride_given ? kernel->request.stride : strides[s]};
                    bool is_sound = make_form(choice, trial);
                    for (unsigned k = 0; !is_sound && total == 2 && k < 3; k++)
                        refused[k] |= factor[k] > 1;
                    if (!is_sound)
                        break;
                }
            }
}

static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->speedup != y->speedup)
        return x->speedup < y->speedup ? 1 : -1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* Forms beyond the ones that estimates rank first are not assembled and counted. */
static void prune(Choice *choice)
{
    unsigned most = choice->options->level >= 3 ? choice->candidate_count : 2 * FEWEST_COUNTED;
    if (choice->bases[0].launch) {
        double each = choice->before[0].profile->warp_instructions;
        double affordable = each > 0 ? COUNTED_INSTRUCTIONS / each : most;
        most = affordable < FEWEST_COUNTED ? FEWEST_COUNTED : affordable < most ? (unsigned)affordable : most;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (candidate_cost(choice, candidate, &choice->before[0].figures, true))
            choice->candidates[kept++] = *candidate;
        else
            kernel_discard(&candidate->result);
    }
    choice->candidate_count = kept;
    qsort(choice->candidates, kept, sizeof *choice->candidates, compare_candidates);
    for (unsigned i = most; i < kept; i++) {
        choice->candidates[i].trial->verdict =
            arena_printf(choice->arena, "not assembled: estimated %s", choice->candidates[i].trial->verdict);
        kernel_discard(&choice->candidates[i].result);
    }
    choice->candidate_count = kept < most ? kept : most;
}

/* Assembles the form and predicts its time; false, with the verdict, if it is out of the running. */
static bool weigh(Choice *choice, Candidate *candidate)
{
    const Judge *judge = choice->options->judge;
    KernelResult *result = &candidate->result;
    const FunctionForm form = {.function = result->kernel,
                               .body = result->body,
                               .tuning = &result->tuning,
                               .added = result->contract_symbol};
    Figures figures;
    if (!judge->measure(judge->context, &form, &figures)) {
        candidate->trial->verdict = arena_printf(choice->arena, "does not assemble: %s",
                                                 figures.message ? figures.message : "no reason given");
        return false;
    }
    if (!candidate_cost(choice, candidate, &figures, false))
        return false;
    uint64_t before = figures_spills(&choice->before[0].figures), after = figures_spills(&figures);
    if (after > before)
        candidate->trial->verdict =
            arena_printf(choice->arena, "rejected: %llu bytes spilled instead of %llu (else %s)",
                         (unsigned long long)after, (unsigned long long)before, candidate->trial->verdict);
    return after <= before;
}

static Candidate *fastest(Choice *choice)
{
    Candidate *best = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (weigh(choice, candidate) && (!best || candidate->speedup > best->speedup))
            best = candidate;
    }
    return best;
}

static void decide(Choice *choice, const Candidate *best)
{
    KernelReport *kernel = choice->kernel;
    char factor[32], stride[16];
    const char *basis = choice->bases[0].launch ? "counted" : "estimated";
    if (!best) {
        kernel->choice = kernel->trial_count ? "not coarsened: no factor is sound and spills no more than the input"
                                             : "not coarsened: the block size is not divisible by 2";
        return;
    }
    const char *name = arena_printf(choice->arena, "%s with stride %s", factor_text(best->trial->factor, factor),
                                    stride_text(&best->trial->stride, stride));
    bool is_uneven = choice->before[0].profile->uneven;
    if (best->speedup < (is_uneven ? least_uneven_gain : least_gain)) {
        kernel->choice = arena_printf(
            choice->arena, "not coarsened: the best form, %s, is predicted (%s%s) to be %s", name, basis,
            is_uneven ? ", while threads make different numbers of trips" : "", best->trial->verdict);
        return;
    }
    best->trial->chosen = true;
    kernel->request.coarsen = true;
    kernel->request.stride = best->trial->stride;
    memcpy(kernel->request.factor, best->trial->factor, sizeof best->trial->factor);
    if (choice->bases[0].launch)
        memcpy(kernel->request.block, choice->bases[0].block, sizeof kernel->request.block);
    kernel->choice = arena_printf(choice->arena, "%s, predicted (%s) to be %s", name, basis, best->trial->verdict);
}

/* The input's cost on every basis; false, declining, if one is unknown. */
static bool weigh_input(Choice *choice)
{
    const FunctionForm input = {.function = choice->kernel->result.kernel};
    const unsigned none[3] = {1, 1, 1};
    const Judge *judge = choice->options->judge;
    Figures figures = {0};
    if (!judge->measure(judge->context, &input, &figures)) {
        decline(choice->kernel, arena_printf(choice->arena, "the input does not assemble: %s",
                                             figures.message ? figures.message : "no reason given"));
        return false;
    }
    for (unsigned i = 0; i < choice->basis_count; i++) {
        choice->before[i] = machine_cost(choice->judge, &choice->bases[i], &input, &figures, none, NULL);
        if (!choice->before[i].known && choice->basis_count == 1) {
            decline(choice->kernel, arena_printf(choice->arena, "the time of the input is unknown: %s",
                                                 choice->before[i].error));
            return false;
        }
    }
    return true;
}

void choose_factor(Arena *arena, KernelReport *kernel, const PipelineOptions *options, const ChoiceContext *context)
{
    enum { FORMS = 64 }; /* products of powers of two up to 16 along three dimensions, with two strides: 68 less x16 */
    const BlockSize block = block_size_resolve(&kernel->result.kernel->tuning, kernel->request.block);
    kernel->request.coarsen = false;
    if (!options->judge || !options->machine) {
        decline(kernel, "there is no assembler, which choosing a factor needs");
        return;
    }
    Choice choice = {
        .arena = arena, .kernel = kernel, .options = options, .quiet = *options, .judge = context->judge};
    choice.quiet.judge = NULL;
    memset(choice.quiet.passes.dumped, 0, sizeof choice.quiet.passes.dumped);
    set_bases(&choice, context, &block);
    if (!weigh_input(&choice))
        return;
    kernel->trials = ARENA_ARRAY(arena, CoarsenTrial, 2 * FORMS);
    choice.candidates = ARENA_ARRAY(arena, Candidate, 2 * FORMS);
    make_forms(&choice, context);
    if (choice.candidate_count)
        kernel->refusal = (Refusal){0};
    prune(&choice);
    Candidate *best = fastest(&choice);
    decide(&choice, best);
    for (unsigned i = 0; i < choice.candidate_count; i++)
        kernel_discard(&choice.candidates[i].result);
}
