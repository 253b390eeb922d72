/* The rematerialize pass: the recomputations that it proposes to the register search. */
#include "opt/registers/moves/rematerialize.h"
#include "opt/registers/search/estimate.h"
#include "opt/registers/search/search.h"

enum { AHEAD = 4 }; /* batches that are assembled together */

/* True if a candidate is too long to be worth assembling: tens of thousands of instructions take assemblers minutes. */
static bool has_exploded(const Search *search, const Body *body)
{
    return body_inst_count(body) > 2 * body_inst_count(search->passes.body) + 200;
}

/* True if the model sees more registers live than without the recomputations. The model cannot tell which orders are
 * better, because the assembler chooses its own; but operands that stay live have their cost in any order. */
static bool needs_more(Search *search, Candidate *candidate)
{
    PassContext *passes = &search->passes;
    uint64_t now = register_excess(passes->body, passes->analyses, passes->sm, search->target.registers);
    uint64_t then = register_excess(candidate->body, candidate->analyses, passes->sm, search->target.registers);
    return then > now + now / 4;
}

/* Recomputes the values in a copy of the current form; false if that is not worth assembling. */
static bool batch_make(Search *search, const RematerializeRequest *request, const RematerializeCandidate *values,
                       uint32_t count, Candidate *candidate)
{
    *candidate = candidate_new(search);
    if (rematerialize_values(candidate->body, candidate->analyses, request, values, count) &&
        !has_exploded(search, candidate->body) && !needs_more(search, candidate))
        return true;
    candidate_free(candidate);
    return false;
}

static bool batch_try(Search *search, const RematerializeRequest *request, const RematerializeCandidate *values,
                      uint32_t count)
{
    Candidate candidate;
    if (!batch_make(search, request, values, count, &candidate))
        return false;
    const Move move = move_of(request->opaque ? MOVE_OPAQUE : MOVE_REMATERIALIZE, count);
    return candidate_propose(search, PASS_REMATERIALIZE, &candidate, move);
}

/* Assembles the batch together with those that come next while batches do not help; returns how many that are. */
static unsigned batches_prepare(Search *search, const RematerializeRequest *request,
                                const RematerializeCandidate *values, uint32_t count)
{
    Proposals proposals = proposals_new(search, search->turn.budget, AHEAD);
    unsigned sizes = 0;
    for (uint32_t size = count; size && proposals.count < proposals.capacity; size /= 2, sizes++) {
        Candidate candidate;
        if (!batch_make(search, request, values, size, &candidate))
            continue;
        proposals_add(search, &proposals, candidate.body);
        candidate_free(&candidate);
    }
    return sizes ? sizes : 1;
}

/* Recomputes the best values together; while that does not help, half as many. 'begun': assemblies before the pass. */
static bool batches_try(Search *search, const RematerializeRequest *request, unsigned begun)
{
    Arena *arena = arena_new();
    RematerializeCandidate *values;
    PassContext *passes = &search->passes;
    uint32_t count = rematerialize_candidates(arena, passes->body, passes->analyses, request, &values);
    uint32_t at = 0, size = count;
    unsigned ahead = 0;
    bool taken = false;
    while (at < count && size && search->spent.used - begun < search->turn.assemblies && !search_should_stop(search)) {
        uint32_t now = size < count - at ? size : count - at;
        if (!ahead)
            ahead = batches_prepare(search, request, values + at, now);
        ahead--;
        if (batch_try(search, request, values + at, now)) {
            taken = true;
            at += now;
            ahead = 0;
        } else if (now > 1) {
            size = now / 2;
        } else {
            at++;
            ahead = 0;
            size = count - at < 4 ? 1 : 4;
        }
    }
    arena_free(arena);
    return taken;
}

bool pass_rematerialize(PassContext *context)
{
    Search *search = context->search;
    const unsigned begun = search->spent.used;
    bool taken = false;
    int32_t limit = search->target.registers > 8 ? (int32_t)search->target.registers - 8 : 1;
    /* Opaque copies first: plain recomputations look as good to the model, but the assembler merges them again. */
    const RematerializeRequest requests[] = {
        {.limit = limit, .cost = 2, .opaque = true, .distance = 24},
        {.limit = limit, .cost = 5, .opaque = true, .distance = 12, .extend = true},
        {.limit = limit, .cost = 3, .opaque = false, .distance = 24},
        {.limit = limit, .cost = 1, .opaque = false, .distance = 6, .extend = true},
        {.limit = limit, .cost = 6, .opaque = false, .distance = 12, .extend = true, .ignore_pressure = true},
    };
    for (size_t i = 0; i < COUNT_OF(requests) && !search_should_stop(search); i++)
        taken |= batches_try(search, &requests[i], begun);
    return taken;
}
