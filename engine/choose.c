/* See choose.h. The file is long because the steps of a choice, from the first form to the verdict, share its state. */
#include "engine/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/bases.h"
#include "engine/judge/machine_cost.h"
#include "engine/pays.h"
#include "engine/progress.h"
#include "engine/report/verdicts.h"

enum { LARGEST_FACTOR = 16, KINDS = 2, WARP = 32, PARENTS = 2 };
enum { FEWEST_COUNTED = 6, MOST_COUNTED = 24, MOST_CONFIRMED = 6, COUNTED_INSTRUCTIONS = 10000000 };
/* If a boundary is to be chosen too, it is searched for the MOST_SEARCHED fastest forms. */
enum { MOST_SEARCHED = 3, SEARCH_LEVEL = 1 };
/* A form that coarsening makes. */
typedef struct Candidate {
    CoarsenTrial *trial;
    KernelResult result; /* has a body while the candidate is in the running */
    Figures figures;     /* once it is assembled */
    bool is_narrow;      /* its blocks have less than a warp, while the input's have one */
    bool is_confirmed;   /* its speedup is by machine instructions, */
    bool is_searched;    /* and at the boundary that is best for it */
} Candidate;

typedef struct Choice {
    Arena *arena;
    Function *kernel;
    const KernelRequest *request; /* the kernel's, which does not coarsen yet */
    const PipelineOptions *options;
    PipelineOptions quiet; /* without an assembler or dumps */
    AssemblerJudge *judge;
    Progress *progress; /* NULL: not shown */
    /* The bases, three times, from the cheapest figures to the best: */
    Bases rough; /* estimated, to decide which forms are counted */
    Bases bases; /* counted if there is a launch, to rank forms */
    Bases exact; /* by machine instructions, to confirm the best; set up on first use */
    bool launch_decides; /* the original stays beside the form */
    bool is_block_known; /* otherwise, several sizes are assumed */
    bool reads_block_index[3]; /* along x, y, z; if not, merged blocks would repeat the same work */
    CoarsenTrial *trials;
    unsigned trial_count;
    Refusal refusal;       /* of the first trial that was refused */
    Candidate *candidates; /* for the sound forms */
    unsigned candidate_count;
    unsigned weighed_count; /* how many of them, the first ones, are assembled and counted */
    const CoarsenTrial **spilling; /* forms that spill more than the input */
    unsigned spilling_count;
    double plain_speedup; /* of the input without coarsening: the gain from registers alone */
} Choice;

static const char interrupted[] = "not coarsened: interrupted before a form was compared";

/* True if the user wants the search to end; the best form so far is then taken. */
static bool is_over(const Choice *choice)
{
    const Judge *judge = choice->options->judge;
    return judge->is_over && judge->is_over(judge->context);
}

/* The bases on which the forms are compared. */

const Launch *choice_launch(const ChoiceContext *context, const char *kernel)
{
    for (size_t i = 0; i < context->launch_count; i++)
        if (strcmp(context->launches[i]->kernel, kernel) == 0)
            return context->launches[i];
    return NULL;
}

static void set_bases(Choice *choice, const ChoiceContext *context, const BlockSize *block)
{
    const Launch *launch = choice_launch(context, choice->kernel->name);
    choice->is_block_known = launch || block_size_total(block);
    choice->bases = bases_new(choice->arena, choice->options->sm, &context->device, choice->kernel, launch, block,
                              choice->request->dynamic_shared, choice->launch_decides);
    for (unsigned i = 0; i < choice->bases.count; i++)
        choice->bases.of[i].basis.stop = context->judge ? context->judge->interrupted : NULL;
}

/* The launch that is counted; NULL: launches are assumed. */
static const Launch *launch_of(const Choice *choice)
{
    return choice->bases.of[0].basis.launch;
}

/* Whether there is enough to merge on every basis: blocks that the factors divide, and a grid that is as large. */
static bool fits(const Choice *choice, const Shape *shape)
{
    for (unsigned i = 0; i < choice->bases.count; i++) {
        const CostBasis *basis = &choice->bases.of[i].basis;
        for (unsigned k = 0; k < 3; k++) {
            const unsigned threads = shape->threads[k], blocks = shape->blocks[k];
            if (merges_any(shape->threads) && (basis->block[k] % threads || basis->block[k] < threads))
                return false;
            if (blocks > 1 && ((basis->launch && basis->launch->grid[k] < blocks) || !choice->reads_block_index[k]))
                return false;
        }
    }
    return true;
}

static MeasuredForm measured_form(const Candidate *candidate, const Figures *figures)
{
    return (MeasuredForm){.form = kernel_form(&candidate->result),
                          .figures = figures,
                          .change = contract_change(&candidate->result.contract)};
}

/* Compares a form with the input on every basis; the lowest speedup of those in which it must gain decides. Machine
 * instructions are counted by 'judge' (NULL: PTX instructions), and everywhere else the speedup must be at least the
 * threshold 'least_elsewhere'. False, with the verdict, if a time is unknown or a launch forbids the form. */
static bool candidate_compare(const Choice *choice, Candidate *candidate, const Bases *bases, AssemblerJudge *judge,
                              const Figures *figures, Threshold least_elsewhere)
{
    CoarsenTrial *trial = candidate->trial;
    const MeasuredForm form = measured_form(candidate, figures);
    trial->is_forbidden = false;
    for (unsigned i = 0; i < bases->count; i++) {
        const Basis *basis = &bases->of[i];
        FormCost before, after;
        if (!basis_compare(basis, judge, &form, &before, &after)) {
            trial->verdict = arena_printf(choice->arena, "rejected: %s", after.error ? after.error : "unknown");
            return false;
        }
        const double speedup = cost_speedup(&before, &after);
        if (basis->is_elsewhere && speedup < threshold(least_elsewhere)) {
            trial->is_forbidden = true;
            trial->elsewhere = speedup;
            trial->where = basis->where;
            trial->verdict = arena_printf(choice->arena, "rejected: %.2fx %s (else estimated %s)", speedup,
                                          basis->where, trial->verdict);
            return false;
        }
        if (!basis->is_elsewhere && (!i || speedup < trial->speedup)) {
            trial->speedup = speedup;
            trial->verdict = cost_verdict(choice->arena, &before, &after);
        }
    }
    return true;
}

static bool is_narrow(const CostBasis *basis, const Shape *shape)
{
    unsigned before = basis->block[0] * basis->block[1] * basis->block[2];
    return before >= WARP && before / merged_count(shape->threads) < WARP;
}

/* Both threads and blocks are merged. */
static bool is_product(const Shape *shape)
{
    return merges_any(shape->threads) && merges_any(shape->blocks);
}

/* The request for the trial's coarsening. */
static KernelRequest trial_request(const Choice *choice, const CoarsenTrial *trial)
{
    KernelRequest request = *choice->request;
    request.coarsen = true;
    request.coarsening.shape = trial->shape;
    request.coarsening.stride = trial->stride;
    request.coarsening.guards = trial->guards;
    request.coarsening.shrinks_grid = trial->shrinks_grid;
    if (launch_of(choice))
        memcpy(request.block, choice->bases.of[0].basis.block, sizeof request.block);
    return request;
}

/* Coarsens the kernel as the trial says; true if that is sound. */
static bool make_form_as_is(Choice *choice, CoarsenTrial *trial)
{
    KernelRequest request = trial_request(choice, trial);
    Candidate *candidate = &choice->candidates[choice->candidate_count];
    request.reduce = false;
    *candidate = (Candidate){.trial = trial};
    pipeline_run(choice->arena, choice->kernel, &request, &choice->quiet, &candidate->result);
    KernelResult *result = &candidate->result;
    if (result->coarsening == OUTCOME_DONE) {
        const CostBasis *basis = &choice->bases.of[0].basis;
        const char *unmet = contract_unmet(choice->arena, &result->contract, basis->block,
                                           basis->launch ? basis->launch->grid : NULL);
        trial->sound = unmet == NULL || !choice->is_block_known;
        trial->verdict = unmet ? arena_printf(choice->arena, "rejected: %s", unmet) : "";
        candidate->is_narrow = is_narrow(&choice->bases.of[0].basis, &result->contract.shape);
    } else {
        bool is_refused = result->coarsening == OUTCOME_REFUSED;
        trial->verdict =
            arena_printf(choice->arena, "refused: %s", is_refused ? result->refusal.reason : "nothing to do");
        if (is_refused && !choice->refusal.reason)
            choice->refusal = result->refusal;
    }
    if (!trial->sound)
        kernel_discard(result);
    choice->candidate_count += trial->sound;
    return trial->sound;
}

/* The same; blocks that the launch's grid does not let be merged into fewer are merged with the grid kept. */
static bool make_form(Choice *choice, CoarsenTrial *trial)
{
    trial->fits_seldom = trial->shrinks_grid && choice->launch_decides && !launch_of(choice);
    const bool is_made = make_form_as_is(choice, trial);
    if (is_made || !trial->shrinks_grid || !launch_of(choice))
        return is_made;
    trial->shrinks_grid = false;
    return make_form_as_is(choice, trial);
}

static CoarsenTrial *trial_new(Choice *choice, const CoarsenTrial *like)
{
    CoarsenTrial *trial = &choice->trials[choice->trial_count++];
    *trial = *like;
    return trial;
}

/* Makes the form with this shape and stride and, where it has fast paths, the one without; true if that is sound. */
static bool make_pair(Choice *choice, const ChoiceContext *context, const CoarsenTrial *wanted)
{
    CoarsenTrial *trial = trial_new(choice, wanted);
    if (!make_form(choice, trial))
        return false;
    const Candidate *made = &choice->candidates[choice->candidate_count - 1];
    if (!context->guards_given && made->result.has_fast_paths) {
        trial = trial_new(choice, wanted);
        trial->guards = GUARDS_SEQUENTIAL;
        make_form(choice, trial);
    }
    return true;
}

/* Factors along x, y, z, powers of two, in the order of their products: 2, 4, 8, 16. */
enum { FACTORS = 3 + 6 + 10 + 15 };
static void list_factors(unsigned factors[FACTORS][3])
{
    unsigned count = 0;
    for (unsigned total = 2; total <= LARGEST_FACTOR; total *= 2)
        for (unsigned x = 1; x <= total; x *= 2)
            for (unsigned y = 1; x * y <= total; y *= 2) {
                const unsigned factor[3] = {x, y, total / x / y};
                memcpy(factors[count++], factor, sizeof factor);
            }
}

static bool is_along_any(const unsigned factor[3], const bool axes[3])
{
    return (factor[0] > 1 && axes[0]) || (factor[1] > 1 && axes[1]) || (factor[2] > 1 && axes[2]);
}

static Shape shape_of(const unsigned factor[3], bool of_blocks)
{
    Shape shape = {{1, 1, 1}, {1, 1, 1}};
    memcpy(of_blocks ? shape.blocks : shape.threads, factor, sizeof shape.blocks);
    return shape;
}

/* Makes every form that merges only blocks, or only threads.  A dimension that is refused alone is not tried together
 * with others. */
static void make_kind(Choice *choice, const ChoiceContext *context, bool of_blocks)
{
    const Stride strides[] = {{.kind = STRIDE_BLOCK}, {.kind = STRIDE_UNIT}};
    bool refused[3] = {false, false, false};
    unsigned factors[FACTORS][3];
    list_factors(factors);
    for (unsigned i = 0; i < FACTORS; i++) {
        const unsigned *factor = factors[i];
        const Shape shape = shape_of(factor, of_blocks);
        if (is_over(choice) || is_along_any(factor, refused) || !fits(choice, &shape))
            continue;
        bool is_sound = true;
        for (unsigned s = 0; is_sound && s < (context->stride_given ? 1 : COUNT_OF(strides)); s++) {
            const CoarsenRequest *asked = &choice->request->coarsening;
            const CoarsenTrial wanted = {.shape = shape,
                                         .stride = context->stride_given ? asked->stride : strides[s],
                                         .guards = asked->guards,
                                         .shrinks_grid = asked->shrinks_grid && of_blocks};
            is_sound = make_pair(choice, context, &wanted);
        }
        for (unsigned k = 0; !is_sound && merged_count(factor) == 2 && k < 3; k++)
            refused[k] |= factor[k] > 1;
    }
}

static void make_forms(Choice *choice, const ChoiceContext *context)
{
    if (!context->blocks_only)
        make_kind(choice, context, false);
    if (!context->threads_only)
        make_kind(choice, context, true);
}

/* True if two blocks next to each other along the axis can be merged. */
static bool merges_along(const Choice *choice, unsigned axis)
{
    for (unsigned i = 0; i < choice->trial_count; i++) {
        const CoarsenTrial *trial = &choice->trials[i];
        const Shape *shape = &trial->shape;
        if (trial->sound && shape_replicas(shape) == 2 && shape->blocks[axis] == 2)
            return true;
    }
    return false;
}

/* Makes the forms that also merge blocks of the trial's form. */
static void make_products_of(Choice *choice, const CoarsenTrial *parent)
{
    unsigned factors[FACTORS][3];
    bool hopeless[3];
    list_factors(factors);
    for (unsigned k = 0; k < 3; k++)
        hopeless[k] = !merges_along(choice, k);
    for (unsigned i = 0; i < FACTORS; i++) {
        Shape shape = parent->shape;
        memcpy(shape.blocks, factors[i], sizeof shape.blocks);
        if (is_over(choice) || shape_replicas(&shape) > LARGEST_FACTOR || is_along_any(factors[i], hopeless) ||
            !fits(choice, &shape))
            continue;
        CoarsenTrial *trial = trial_new(choice, parent);
        trial->shape = shape;
        trial->sound = false;
        trial->speedup = 0;
        trial->shrinks_grid = choice->request->coarsening.shrinks_grid;
        make_form(choice, trial);
    }
}

/* Products of both, of the forms that are the fastest with threads merged alone. */
static void make_products(Choice *choice, const ChoiceContext *context)
{
    unsigned made = 0;
    if (context->threads_only || context->blocks_only)
        return;
    for (unsigned i = 0; i < choice->weighed_count && made < PARENTS; i++)
        if (!shape_is_of_blocks(&choice->candidates[i].trial->shape)) {
            make_products_of(choice, choice->candidates[i].trial);
            made++;
        }
}

/* The speedup that a form must promise. */
static double gain_asked(const Choice *choice, const Candidate *candidate)
{
    bool is_doubtful = choice->bases.of[0].before.profile->uneven || candidate->is_narrow;
    return threshold(is_doubtful ? THRESHOLD_COARSEN_DOUBTFUL : THRESHOLD_COARSEN_GAIN);
}

static bool is_worthwhile(const Choice *choice, const Candidate *candidate)
{
    return candidate->trial->speedup >= choice->plain_speedup * gain_asked(choice, candidate);
}

/* The speedup to rank by: less for narrow blocks, whose speedup is doubtful, and for products, which have to pay for
 * themselves. */
static double worth(const Candidate *candidate)
{
    const double doubt = threshold(THRESHOLD_COARSEN_GAIN) / threshold(THRESHOLD_COARSEN_DOUBTFUL);
    const double fits = candidate->trial->fits_seldom ? threshold(THRESHOLD_COARSEN_FITS) : 1;
    const double speedup = 1 + fits * (candidate->trial->speedup - 1);
    return speedup * (candidate->is_narrow ? doubt : 1) /
           (is_product(&candidate->trial->shape) ? threshold(THRESHOLD_COARSEN_PRODUCT) : 1);
}

static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (worth(x) != worth(y))
        return worth(x) < worth(y) ? 1 : -1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* Orders trials from small factors to large ones. */
static int compare_trials(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

/* Drops, among the forms not weighed yet, all but the first 'most' of those that merge threads, and of those that merge
 * only blocks: estimates compare forms of one kind better than kinds.  Merged blocks get half as many where the grid
 * stays, which pays less often. */
static void take_first(Choice *choice, unsigned most)
{
    const bool halves = !choice->request->coarsening.shrinks_grid;
    const unsigned share[KINDS] = {most, halves ? (most + 1) / 2 : most};
    unsigned kept = choice->weighed_count, taken[KINDS] = {0};
    for (unsigned i = kept; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        CoarsenTrial *trial = candidate->trial;
        const bool of_blocks = shape_is_of_blocks(&trial->shape);
        if (taken[of_blocks]++ < share[of_blocks]) {
            choice->candidates[kept++] = *candidate;
            continue;
        }
        trial->verdict = arena_printf(choice->arena, "not assembled: estimated %s", trial->verdict);
        kernel_discard(&candidate->result);
    }
    choice->candidate_count = kept;
}

/* How many forms of either kind can be assembled and counted: fewer where the launch executes much. */
static unsigned most_weighed(const Choice *choice)
{
    const double each = choice->bases.of[0].before.profile->warp_instructions;
    if (choice->options->level >= 3)
        return choice->candidate_count;
    if (choice->weighed_count) /* products */
        return FEWEST_COUNTED;
    if (!launch_of(choice) || each * MOST_COUNTED <= COUNTED_INSTRUCTIONS)
        return MOST_COUNTED;
    unsigned affordable = (unsigned)(COUNTED_INSTRUCTIONS / each);
    return affordable < FEWEST_COUNTED ? FEWEST_COUNTED : affordable;
}

/* Drops the forms that are not weighed yet and not among those that estimates rank first: they are not assembled and
 * counted. */
static void prune(Choice *choice)
{
    const unsigned weighed = choice->weighed_count;
    unsigned kept = weighed;
    for (unsigned i = weighed; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (!is_over(choice) &&
            candidate_compare(choice, candidate, &choice->rough, NULL, &choice->bases.of[0].before.figures,
                              THRESHOLD_COARSEN_ELSEWHERE_ROUGH))
            choice->candidates[kept++] = *candidate;
        else
            kernel_discard(&candidate->result);
    }
    choice->candidate_count = kept;
    qsort(choice->candidates + weighed, kept - weighed, sizeof *choice->candidates, compare_candidates);
    take_first(choice, most_weighed(choice));
}

/* A form that spills and makes up a part of this one, which then spills, too; NULL if there is none. */
static const CoarsenTrial *spilling_part(const Choice *choice, const CoarsenTrial *trial)
{
    for (unsigned i = 0; i < choice->spilling_count; i++) {
        const CoarsenTrial *part = choice->spilling[i];
        if (shape_is_of_blocks(&part->shape) == shape_is_of_blocks(&trial->shape) && part->guards == trial->guards &&
            shape_is_within(&part->shape, &trial->shape))
            return part;
    }
    return NULL;
}

/* Assembles the form and predicts its time; false, with the verdict, if it is out of the running. */
static bool weigh(Choice *choice, Candidate *candidate)
{
    const Judge *judge = choice->options->judge;
    const FunctionForm form = kernel_form(&candidate->result);
    CoarsenTrial *trial = candidate->trial;
    const CoarsenTrial *part = spilling_part(choice, trial);
    char parts[SHAPE_TEXT];
    if (part) {
        trial->verdict = arena_printf(choice->arena, "not assembled: %s spills already (else estimated %s)",
                                      shape_text(&part->shape, parts), trial->verdict);
        return false;
    }
    Figures *figures = &candidate->figures;
    if (!judge->measure(judge->context, &form, figures)) {
        trial->verdict = arena_printf(choice->arena, "does not assemble: %s",
                                      figures->message ? figures->message : "no reason given");
        return false;
    }
    const char *estimate = trial->verdict;
    if (!candidate_compare(choice, candidate, &choice->bases, NULL, figures, THRESHOLD_COARSEN_ELSEWHERE_ROUGH)) {
        if (is_over(choice))
            trial->verdict = arena_printf(choice->arena, "not compared: interrupted (estimated %s)", estimate);
        return false;
    }
    const DemandObjection objection =
        kernel_objection(&candidate->result, choice->options->sm, choice->request->dynamic_shared,
                         &choice->bases.of[0].before.figures, figures);
    if (objection.kind != DEMAND_MET) {
        trial->verdict = demand_text(choice->arena, &objection);
        return false;
    }
    uint64_t before = figures_spills(&choice->bases.of[0].before.figures), after = figures_spills(figures);
    if (after > before) {
        choice->spilling[choice->spilling_count++] = trial;
        trial->verdict =
            arena_printf(choice->arena, "rejected: %llu byte%s spilled instead of %llu (else %s)",
                         (unsigned long long)after, plural(after), (unsigned long long)before, trial->verdict);
    }
    trial->is_compared = after <= before;
    return trial->is_compared;
}

/* Compares the form with the input again, now by the machine instructions that both execute. */
static void confirm(Choice *choice, Candidate *candidate)
{
    const FunctionForm input = {.function = choice->kernel};
    choice->exact.count = choice->bases.count;
    for (unsigned i = 0; i < choice->bases.count && !choice->exact.of[i].before.known; i++) {
        choice->exact.of[i] = choice->bases.of[i];
        choice->exact.of[i].before = machine_cost(choice->judge, &choice->exact.of[i].basis, &input,
                                               &choice->bases.of[i].before.figures, NULL, NULL);
    }
    /* If that is unknown, because the user wants the search to end, the verdict by PTX instructions remains true. */
    const char *verdict = candidate->trial->verdict;
    bool is_compared = candidate_compare(choice, candidate, &choice->exact, choice->judge, &candidate->figures,
                                         THRESHOLD_COARSEN_ELSEWHERE);
    if (!is_compared && !candidate->trial->is_forbidden)
        candidate->trial->verdict = verdict;
    candidate->is_confirmed = !candidate->trial->is_forbidden;
}

/* Makes the judge start assembling the forms from 'first' on, as many as it can at once. */
static void prepare(const Choice *choice, unsigned first)
{
    const Judge *judge = choice->options->judge;
    unsigned width = judge->prepare ? judge->width : 0, count = 0;
    for (unsigned i = first; i < choice->candidate_count && count < width; i++) {
        if (spilling_part(choice, choice->candidates[i].trial))
            continue;
        const FunctionForm form = kernel_form(&choice->candidates[i].result);
        judge->prepare(judge->context, &form);
        count++;
    }
}

/* Prunes the forms that are not weighed yet, weighs the rest, and ranks all remaining ones. */
static void weigh_all(Choice *choice)
{
    prune(choice);
    const unsigned first = choice->weighed_count;
    unsigned kept = first;
    qsort(choice->candidates + first, choice->candidate_count - first, sizeof *choice->candidates, compare_trials);
    unsigned width = choice->options->judge->width > 1 ? choice->options->judge->width : 1;
    for (unsigned i = first; i < choice->candidate_count; i++) {
        if (is_over(choice)) {
            choice->candidates[i].trial->verdict =
                arena_printf(choice->arena, "not assembled: interrupted (estimated %s)",
                             choice->candidates[i].trial->verdict);
            kernel_discard(&choice->candidates[i].result);
            continue;
        }
        progress_step(choice->progress, i - first, choice->candidate_count - first);
        if ((i - first) % width == 0)
            prepare(choice, i);
        if (weigh(choice, &choice->candidates[i]))
            choice->candidates[kept++] = choice->candidates[i];
        else
            kernel_discard(&choice->candidates[i].result);
    }
    choice->candidate_count = choice->weighed_count = kept;
    qsort(choice->candidates, kept, sizeof *choice->candidates, compare_candidates);
}

/* The fastest form by machine code, among those that PTX instructions rank first of the forms that merge threads,
 * blocks, or both. */
static Candidate *fastest(Choice *choice)
{
    Candidate *best = NULL;
    unsigned confirmed[KINDS + 1] = {0};
    progress_phase(choice->progress, "predicting times of the best forms", HUGE_VAL);
    for (unsigned i = 0; i < choice->candidate_count && !is_over(choice); i++) {
        Candidate *candidate = &choice->candidates[i];
        const Shape *shape = &candidate->trial->shape;
        unsigned *count = &confirmed[is_product(shape) ? KINDS : shape_is_of_blocks(shape)];
        if (*count >= MOST_CONFIRMED)
            continue;
        confirm(choice, candidate);
        *count += candidate->is_confirmed;
        if (candidate->is_confirmed && (!best || worth(candidate) > worth(best)))
            best = candidate;
    }
    const bool is_unconfirmed = !best && is_over(choice) && choice->candidate_count > 0;
    return is_unconfirmed && !choice->candidates[0].trial->is_forbidden ? &choice->candidates[0] : best;
}

/* Briefly searches for the boundary at which the form is the fastest, and predicts its speedup there; 0: nothing is
 * changed, or the time is unknown. */
static double searched_speedup(Choice *choice, const KernelRequest *request, const char **verdict)
{
    PipelineOptions options = *choice->options;
    KernelResult result;
    double speedup = 0;
    const Basis *exact = &choice->exact.of[0];
    memset(options.passes.dumped, 0, sizeof options.passes.dumped);
    options.level = options.level < SEARCH_LEVEL ? options.level : SEARCH_LEVEL;
    choice->judge->basis = &exact->basis;
    pipeline_run(choice->arena, choice->kernel, request, &options, &result);
    if (result.registers == OUTCOME_DONE && result.reduction.after.known) {
        const MeasuredForm form = {.form = kernel_form(&result),
                                   .figures = &result.reduction.after,
                                   .change = kernel_launch_change(&result)};
        FormCost before, cost;
        if (basis_compare(exact, choice->judge, &form, &before, &cost)) {
            speedup = cost_speedup(&before, &cost);
            *verdict =
                arena_printf(choice->arena, "%s, with %u register%s", cost_verdict(choice->arena, &before, &cost),
                             result.reduction.after.registers, plural(result.reduction.after.registers));
        }
    }
    assembler_judge_settle(choice->judge);
    choice->judge->basis = NULL;
    kernel_discard(&result);
    return speedup;
}

/* The fastest of the confirmed forms that have not been searched yet; NULL if there is none. */
static Candidate *next_searched(const Choice *choice)
{
    Candidate *next = NULL;
    for (unsigned i = 0; i < choice->candidate_count; i++) {
        Candidate *candidate = &choice->candidates[i];
        if (candidate->is_confirmed && !candidate->is_searched && (!next || worth(candidate) > worth(next)))
            next = candidate;
    }
    return next;
}

/* Factor and boundary are chosen together: the fastest form may depend on how far its registers can be reduced, and
 * coarsening has to beat the input at its own best boundary. */
static Candidate *fastest_with_boundary(Choice *choice, Candidate *best)
{
    const KernelRequest *plain = choice->request;
    const char *verdict;
    Candidate *candidate;
    if (!best || !choice->judge || !plain->reduce || plain->registers.goal != GOAL_AUTO || !choice->is_block_known ||
        is_over(choice))
        return best;
    progress_phase(choice->progress, "fewer registers in the best forms", HUGE_VAL);
    double speedup = searched_speedup(choice, plain, &verdict);
    choice->plain_speedup = speedup > 1 ? speedup : 1;
    for (unsigned i = 0; i < MOST_SEARCHED && !is_over(choice) && (candidate = next_searched(choice)) != NULL; i++) {
        const KernelRequest request = trial_request(choice, candidate->trial);
        speedup = searched_speedup(choice, &request, &verdict);
        candidate->is_searched = true;
        if (speedup > candidate->trial->speedup) {
            candidate->trial->speedup = speedup;
            candidate->trial->verdict = verdict;
        }
        if (worth(candidate) > worth(best))
            best = candidate;
    }
    return best;
}

/* Without a launch, the grid's size is assumed: among the forms that are about as fast as the best, the one that merges
 * the least needs the fewest threads to be so. */
static const Candidate *thriftiest(const Choice *choice, const Candidate *best)
{
    const Candidate *found = best;
    for (unsigned i = 0; best && !launch_of(choice) && i < choice->candidate_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        unsigned merged = shape_replicas(&candidate->trial->shape), least = shape_replicas(&found->trial->shape);
        bool is_alike = worth(candidate) * threshold(THRESHOLD_COARSEN_ALIKE) >= worth(best);
        if (!candidate->is_confirmed || !is_alike || !is_worthwhile(choice, candidate))
            continue;
        if (merged < least || (merged == least && worth(candidate) > worth(found)))
            found = candidate;
    }
    return found;
}

/* The choice not to coarsen, with the reason in words. */
static FactorChoice stay(const Choice *choice, const char *words)
{
    return (FactorChoice){.request = *choice->request,
                          .words = words,
                          .trials = choice->trials,
                          .trial_count = choice->trial_count};
}

/* The choice if nothing can be coarsened, which the result must report. */
static FactorChoice refuse(const Choice *choice, Refusal refusal, const char *words)
{
    FactorChoice refused = stay(choice, words);
    refused.request.refused = refusal;
    return refused;
}

/* The reason why even the best form is not worthwhile. */
static const char *reluctance(const Choice *choice, const Candidate *best, const char *name, const char *basis)
{
    const char *doubt = choice->bases.of[0].before.profile->uneven ? ", while threads make different numbers of trips"
                        : best->is_narrow                       ? ", with blocks below a warp"
                                                                : "";
    const char *alone = "";
    if (choice->plain_speedup > 1)
        alone = arena_printf(choice->arena, "; without it, another number of registers alone gives %.2fx",
                             choice->plain_speedup);
    return arena_printf(choice->arena, "not coarsened: the best form, %s, is predicted (%s%s) to be %s%s", name, basis,
                        doubt, best->trial->verdict, alone);
}

static const char *trial_name(const Choice *choice, const CoarsenTrial *trial)
{
    char parts[SHAPE_TEXT], stride[16];
    return arena_printf(choice->arena, "%s with stride %s%s", shape_text(&trial->shape, parts),
                        stride_text(&trial->stride, stride), guards_text(trial));
}

/* The form that would gain the most if a launch did not forbid it; NULL if none is forbidden. */
static const CoarsenTrial *best_forbidden(const Choice *choice)
{
    const CoarsenTrial *best = NULL;
    for (unsigned i = 0; i < choice->trial_count; i++) {
        const CoarsenTrial *trial = &choice->trials[i];
        if (trial->is_forbidden && (!best || trial->speedup > best->speedup))
            best = trial;
    }
    return best;
}

static const char *forbiddance(const Choice *choice, const CoarsenTrial *trial)
{
    const char *name = trial_name(choice, trial);
    if (trial->speedup < threshold(THRESHOLD_COARSEN_GAIN))
        return arena_printf(choice->arena, "not coarsened: the best form, %s, is estimated at %.2fx in large launches, "
                                           "and at %.2fx %s",
                            name, trial->speedup, trial->elsewhere, trial->where);
    return arena_printf(choice->arena,
                        "not coarsened: the best form, %s, would be %.2fx faster in large launches (estimated), but "
                        "%.2fx %s; a launch file (-launch) would decide",
                        name, trial->speedup, trial->elsewhere, trial->where);
}

/* 'best' may be NULL; 'is_any_sound': some form was sound before it was assembled. */
static FactorChoice decide(const Choice *choice, const Candidate *best, bool is_any_sound)
{
    const CoarsenTrial *forbidden;
    const char *basis = launch_of(choice) ? "counted" : "estimated";
    const char *none = choice->trial_count ? "not coarsened: no factor is sound and spills no more than the input"
                                           : "not coarsened: the block size is not divisible by 2, and there are no "
                                             "blocks to merge";
    if (!best && is_over(choice))
        return stay(choice, interrupted);
    if (!best && (forbidden = best_forbidden(choice)) != NULL)
        return stay(choice, forbiddance(choice, forbidden));
    if (!best)
        return is_any_sound ? stay(choice, none) : refuse(choice, choice->refusal, none);
    const char *name = trial_name(choice, best->trial);
    if (!is_worthwhile(choice, best))
        return stay(choice, reluctance(choice, best, name, basis));
    best->trial->chosen = true;
    FactorChoice chosen = stay(choice, arena_printf(choice->arena, "%s, predicted (%s) to be %s", name, basis,
                                                    best->trial->verdict));
    chosen.request = trial_request(choice, best->trial);
    chosen.speedup = best->trial->speedup;
    return chosen;
}

/* The input's cost on every basis; returns the reason if one is unknown, else NULL. */
static const char *weigh_input(Choice *choice)
{
    const FunctionForm input = {.function = choice->kernel};
    const Judge *judge = choice->options->judge;
    Figures figures = {0};
    if (!judge->measure(judge->context, &input, &figures))
        return arena_printf(choice->arena, "the input does not assemble: %s",
                            figures.message ? figures.message : "no reason given");
    for (unsigned i = 0; i < choice->bases.count; i++) {
        Basis *basis = &choice->bases.of[i];
        basis->before = form_cost(&basis->basis, &input, &figures, NULL);
    }
    const FormCost *first = &choice->bases.of[0].before;
    if (!first->known && choice->is_block_known)
        return arena_printf(choice->arena, "the time of the input is unknown: %s", first->error);
    bases_drop_alike(&choice->bases);
    choice->rough = choice->bases;
    for (unsigned i = 0; i < choice->rough.count; i++) {
        Basis *rough = &choice->rough.of[i];
        if (!rough->basis.launch)
            continue;
        rough->basis.launch = NULL;
        rough->before = form_cost(&rough->basis, &input, &figures, NULL);
    }
    return NULL;
}

static FactorChoice choose(Choice *choice, const ChoiceContext *context)
{
    /* Two strides and two forms of guards; then blocks of what is merged already. */
    enum { FORMS = (KINDS * 4 + PARENTS) * FACTORS };
    choice->trials = ARENA_ARRAY(choice->arena, CoarsenTrial, FORMS);
    choice->candidates = ARENA_ARRAY(choice->arena, Candidate, FORMS);
    choice->spilling = ARENA_ARRAY(choice->arena, const CoarsenTrial *, FORMS);
    kernel_axes(choice->kernel, SREG_ROLE_CTAID, choice->reads_block_index);
    make_forms(choice, context);
    const bool is_any_sound = choice->candidate_count > 0;
    weigh_all(choice);
    make_products(choice, context);
    weigh_all(choice);
    const Candidate *best = thriftiest(choice, fastest_with_boundary(choice, fastest(choice)));
    FactorChoice made = decide(choice, best, is_any_sound);
    if (made.request.coarsen && choice->launch_decides && !launch_of(choice)) {
        const FunctionForm input = {.function = choice->kernel};
        const MeasuredForm form = measured_form(best, &best->figures);
        made.pays_from = pays_from(choice->judge, &choice->bases.of[choice->bases.usual], &input, &form);
    }
    for (unsigned i = 0; i < choice->candidate_count; i++)
        kernel_discard(&choice->candidates[i].result);
    return made;
}

FactorChoice choose_factor(Arena *arena, Function *kernel, const KernelRequest *request, const PipelineOptions *options,
                           const ChoiceContext *context)
{
    const BlockSize block = block_size_resolve(&kernel->tuning, request->block);
    Choice choice = {.arena = arena,
                     .kernel = kernel,
                     .request = request,
                     .options = options,
                     .quiet = pipeline_quiet(options),
                     .judge = context->judge,
                     .progress = context->progress,
                     .launch_decides = context->launch_decides,
                     .plain_speedup = 1};
    const char *obstacle = "there is no assembler, which choosing a factor needs";
    require(!request->coarsen);
    if (options->judge && is_over(&choice))
        return stay(&choice, interrupted);
    if (options->judge && options->sm) {
        set_bases(&choice, context, &block);
        obstacle = weigh_input(&choice);
    }
    if (obstacle && options->judge && is_over(&choice))
        return stay(&choice, interrupted);
    return obstacle ? refuse(&choice, (Refusal){.reason = obstacle}, obstacle) : choose(&choice, context);
}
