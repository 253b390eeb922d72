/* The nounroll pass: loops that the assembler must not unroll.
 *
 * Proposes copies of the search's current form with the pragma "nounroll" (PTX ISA, chapter on
 * pragma strings) at the heads of loops, and changes nothing else. ptxas unrolls loops whose counter has a constant
 * step, under a cap, too, and may have to spill what it then has side by side. All loops that the model expects it to
 * unroll get the pragma at once (analysis/orders.h); if that is better and there are several, each half of them alone.
 * Code with fewer instructions does not execute fewer, so the pass comes after others that keep loops as they are, and
 * the search does not use what is predicted to be slower.
 */
#include "opt/registers/search/search.h"

typedef VEC(uint32_t) Heads; /* Block.id, which copies of a body keep */

static Heads heads_find(const Search *search, Arena *arena, Candidate *candidate)
{
    Heads heads = {0};
    const Lowered *lowered = lowered_compute(arena, candidate->body, analyses_values(candidate->analyses),
                                             search->passes.sm->loads_parameters, LOWERED_PLAINLY);
    for (uint32_t b = 0; b < candidate->body->blocks.count; b++)
        if (!lowered->blocks[b].merged && orders_unrolled(&lowered->blocks[b]) > 1)
            VEC_PUSH(arena, heads, b);
    return heads;
}

/* Proposes the pragma for the loops from 'first' to before 'end'; true if that became the current form. */
static bool propose(Search *search, const Body *form, const Heads *heads, size_t first, size_t end)
{
    Body *body = body_clone(form);
    for (size_t i = first; i < end; i++)
        block_add_pragma(body, body->blocks.data[heads->data[i]], "nounroll");
    const Move move = move_of(MOVE_NOUNROLL, (unsigned)(end - first));
    bool taken = search_consider(search, PASS_NOUNROLL, body, move, 0, false);
    body_free(body);
    return taken;
}

unsigned nounroll_effort(const Search *search)
{
    if (!pass_is_enabled(search->passes.options, PASS_NOUNROLL))
        return 0;
    Arena *arena = arena_new();
    Candidate candidate = candidate_new(search);
    const Heads heads = heads_find(search, arena, &candidate);
    candidate_free(&candidate);
    arena_free(arena);
    return heads.count > 0;
}

bool pass_nounroll(PassContext *context)
{
    Search *search = context->search;
    if (!search)
        return false;
    Arena *arena = arena_new();
    Candidate candidate = candidate_new(search);
    const Heads heads = heads_find(search, arena, &candidate);
    const size_t half = heads.count / 2;
    bool taken = heads.count && propose(search, candidate.body, &heads, 0, heads.count);
    if (taken && half) {
        propose(search, candidate.body, &heads, 0, half);
        propose(search, candidate.body, &heads, half, heads.count);
    }
    candidate_free(&candidate);
    arena_free(arena);
    return taken;
}
