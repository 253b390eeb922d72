/* Making the forms that -coarsen auto compares. */
#include <string.h>

#include "engine/choose/internal.h"

enum { LARGEST_FACTOR = 16, WARP = 32, PARENTS = 2 }; /* of products */

/* True if there is enough to merge on every basis: blocks that the factors divide, and a grid that is as large. */
static bool fits(const Choice *choice, const Shape *shape)
{
    for (unsigned i = 0; i < choice->bases.count; i++) {
        const CostBasis *basis = &choice->bases.of[i].basis;
        if (choice->launches == FOR_FEW_BLOCKS && shape_is_narrow(basis, shape))
            return false; /* no idle lanes, and warps enough for the registers of each */
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

bool shape_is_narrow(const CostBasis *basis, const Shape *shape)
{
    unsigned before = basis->block[0] * basis->block[1] * basis->block[2];
    return before >= WARP && before / merged_count(shape->threads) < WARP;
}

/* The request for the trial's coarsening. */
KernelRequest trial_request(const Choice *choice, const CoarsenTrial *trial)
{
    KernelRequest request = *choice->request;
    trial_ask(trial, &request);
    if (launch_of(choice))
        memcpy(request.block, choice->bases.of[0].basis.block, sizeof request.block);
    return request;
}

/* Takes down how coarsening ended, and whether the launch or the block size lets the form be used. */
static TrialVerdict form_verdict(const Choice *choice, const KernelResult *result)
{
    const CostBasis *basis = &choice->bases.of[0].basis;
    if (result->coarsening == OUTCOME_REFUSED)
        return (TrialVerdict){.state = TRIAL_REFUSED, .refusal = result->refusal};
    if (result->coarsening != OUTCOME_DONE)
        return (TrialVerdict){.state = TRIAL_UNCHANGED};
    TrialVerdict verdict = {.state = TRIAL_MADE};
    if (!basis_fits(basis, &result->contract, &verdict.unmet))
        verdict.state = TRIAL_UNMET;
    return verdict;
}

/* Coarsens the kernel as the trial says; true if that is sound. */
static bool make_form_as_is(Choice *choice, CoarsenTrial *trial)
{
    KernelRequest request = trial_request(choice, trial);
    Candidate *candidate = &choice->candidates[choice->candidate_count];
    KernelResult *result = &candidate->result;
    request.reduce = false;
    *candidate = (Candidate){.trial = trial};
    pipeline_run(choice->arena, choice->kernel, &request, &choice->quiet, result);
    trial->verdict = form_verdict(choice, result);
    const TrialState state = trial->verdict.state;
    trial->sound = state == TRIAL_MADE || (state == TRIAL_UNMET && !choice->is_block_known);
    candidate->is_narrow = trial->sound && shape_is_narrow(&choice->bases.of[0].basis, &result->contract.shape);
    if (!is_refusal(&choice->refusal))
        choice->refusal = trial->verdict.refusal;
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

/* Two strides and three forms of guards; then blocks of what is merged already. */
enum { FACTORS = 3 + 6 + 10 + 15, FORMS = (KINDS * 6 + PARENTS) * FACTORS };

void forms_allocate(Choice *choice)
{
    choice->trials = ARENA_ARRAY(choice->arena, CoarsenTrial, FORMS);
    choice->candidates = ARENA_ARRAY(choice->arena, Candidate, FORMS);
    choice->reserve = ARENA_ARRAY(choice->arena, Candidate, FORMS);
    choice->spilling = ARENA_ARRAY(choice->arena, const CoarsenTrial *, FORMS);
    choice->hopeless = ARENA_ARRAY(choice->arena, const CoarsenTrial *, FORMS);
}

static CoarsenTrial *trial_new(Choice *choice, const CoarsenTrial *like)
{
    CoarsenTrial *trial = &choice->trials[choice->trial_count++];
    *trial = *like;
    return trial;
}

/* Notes a form that makes the ones that merge more hopeless. */
static void note_hopeless(Choice *choice)
{
    Candidate *made = &choice->candidates[choice->candidate_count - 1];
    const TrialVerdict *verdict = &made->trial->verdict;
    const bool is_allowed = candidate_estimate(choice, made);
    const double speedup = is_allowed ? made->trial->speedup : verdict->elsewhere_speedup;
    if (verdict->state != TRIAL_UNKNOWN && speedup < threshold(THRESHOLD_COARSEN_HOPELESS))
        choice->hopeless[choice->hopeless_count++] = made->trial;
}

/* True if the shape merges more than a hopeless form with this stride. */
static bool is_hopeless(const Choice *choice, const CoarsenTrial *wanted)
{
    for (unsigned i = 0; i < choice->hopeless_count && choice->options->level < 3; i++) {
        const CoarsenTrial *part = choice->hopeless[i];
        if (shape_is_of_blocks(&part->shape) == shape_is_of_blocks(&wanted->shape) &&
            part->stride.kind == wanted->stride.kind && part->guards == wanted->guards &&
            shape_is_within(&part->shape, &wanted->shape))
            return true;
    }
    return false;
}

/* Makes the form whose loops have versions without guards, if any loop can have one. */
static void make_interior(Choice *choice, const CoarsenTrial *wanted)
{
    CoarsenTrial *trial = trial_new(choice, wanted);
    trial->guards = GUARDS_INTERIOR;
    if (!make_form(choice, trial))
        return;
    Candidate *made = &choice->candidates[choice->candidate_count - 1];
    if (made->result.has_interior) {
        note_hopeless(choice);
        return;
    }
    choice->has_no_interior = true;
    choice->trial_count--;
    choice->candidate_count--;
    kernel_discard(&made->result);
}

/* Makes the form with this shape and stride and, where they differ, those with other guards; true if that is sound, or
 * not worth making. */
static bool make_pair(Choice *choice, const ChoiceContext *context, const CoarsenTrial *wanted)
{
    if (is_hopeless(choice, wanted))
        return true;
    CoarsenTrial *trial = trial_new(choice, wanted);
    if (!make_form(choice, trial))
        return false;
    const Candidate *made = &choice->candidates[choice->candidate_count - 1];
    const bool has_fast_paths = made->result.has_fast_paths;
    note_hopeless(choice);
    if (!context->guards_given && has_fast_paths) {
        trial = trial_new(choice, wanted);
        trial->guards = GUARDS_SEQUENTIAL;
        if (make_form(choice, trial))
            note_hopeless(choice);
    }
    if (!context->guards_given && !choice->has_no_interior)
        make_interior(choice, wanted);
    return true;
}

/* Factors along x, y, z, powers of two, in the order of their products: 2, 4, 8, 16. */
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
    Shape shape = {.threads = {1, 1, 1}, .blocks = {1, 1, 1}};
    memcpy(of_blocks ? shape.blocks : shape.threads, factor, sizeof shape.blocks);
    return shape;
}

/* Makes every form that merges only blocks, or only threads. A dimension that is refused alone is not tried together
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

void forms_make(Choice *choice, const ChoiceContext *context)
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
        const CoarsenTrial wanted = {.shape = shape,
                                     .stride = parent->stride,
                                     .guards = parent->guards,
                                     .shrinks_grid = choice->request->coarsening.shrinks_grid};
        make_form(choice, trial_new(choice, &wanted));
    }
}

/* The best of the forms that merge threads, other than this one, by machine code if any has been compared so; NULL if
 * there is none. */
static const CoarsenTrial *parent_beside(const Choice *choice, const CoarsenTrial *other)
{
    const Candidate *best = NULL;
    for (unsigned i = 0; i < choice->weighed_count; i++) {
        const Candidate *candidate = &choice->candidates[i];
        if (shape_is_of_blocks(&candidate->trial->shape) || candidate->trial == other)
            continue;
        if (!best || candidate_is_first(candidate, best, candidate_worth(candidate) > candidate_worth(best)))
            best = candidate;
    }
    return best ? best->trial : NULL;
}

void forms_make_products(Choice *choice)
{
    const CoarsenTrial *first = parent_beside(choice, NULL), *second = first ? parent_beside(choice, first) : NULL;
    if (first)
        make_products_of(choice, first);
    if (second)
        make_products_of(choice, second);
}

