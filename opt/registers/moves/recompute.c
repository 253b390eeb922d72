/* The recompute pass: the recomputations across places that it proposes to the register search. */
#include "opt/registers/moves/recompute.h"
#include "opt/registers/search/estimate.h"
#include "opt/registers/search/search.h"

/* The forms, in the order in which they are tried. */
static const struct {
    unsigned worth; /* instructions that a register is worth; a spill costs about four: a store, and a load with its
                     * latency */
    int32_t below;  /* live registers below what the target has room for, that recomputation leaves */
} worths[] = {{4, 0}, {16, 4}, {2, 0}, {64, 4}};
enum {
    FORMS_FIRST = 2, /* that are tried with little effort */
    FEW = 30,        /* assemblies */
};

/* The current form with values recomputed; false if the model sees hardly fewer registers live where there are too many
 * than the 'excess' of the current form. */
static bool form_make(Search *search, unsigned index, uint64_t excess, Candidate *candidate, unsigned *made)
{
    PassContext *passes = &search->passes;
    const RecomputeRequest request = {register_room(passes->sm, search->target.registers) - worths[index].below,
                                      worths[index].worth, search_growth_allowed(search)};
    *candidate = candidate_new(search);
    *made = recompute_values(candidate->body, candidate->analyses, passes->sm, &request);
    if (*made && register_excess(candidate->body, candidate->analyses, passes->sm, search->target.registers) <
                     excess - excess / 16)
        return true;
    candidate_free(candidate);
    return false;
}

bool pass_recompute(PassContext *context)
{
    Search *search = context->search;
    Candidate candidates[COUNT_OF(worths)];
    Move moves[COUNT_OF(worths)];
    unsigned count = 0;
    bool taken = false;
    unsigned most = search->turn.budget.effort < FEW ? FORMS_FIRST : COUNT_OF(worths);
    PassContext *passes = &search->passes;
    uint64_t excess = register_excess(passes->body, passes->analyses, passes->sm, search->target.registers);
    Proposals proposals = proposals_new(search, search->turn.budget, most);
    for (unsigned i = 0; i < COUNT_OF(worths) && count < most && !search_should_stop(search); i++) {
        unsigned made;
        if (!form_make(search, i, excess, &candidates[count], &made))
            continue;
        proposals_add(search, &proposals, candidates[count].body);
        moves[count++] = (Move){MOVE_RECOMPUTE, made, .worth = worths[i].worth};
    }
    for (unsigned i = 0; i < count; i++) {
        if (search_should_stop(search))
            candidate_free(&candidates[i]);
        else
            taken |= candidate_propose(search, PASS_RECOMPUTE, &candidates[i], moves[i]);
    }
    return taken;
}
