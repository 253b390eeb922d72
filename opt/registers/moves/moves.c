/* The hoist, offsets and pack passes: the one form, or two, that they propose to the register search. */
#include "opt/registers/moves/hoist.h"
#include "opt/registers/moves/offsets.h"
#include "opt/registers/moves/pack.h"
#include "opt/registers/moves/shifts.h"
#include "opt/registers/search/estimate.h"
#include "opt/registers/search/search.h"

bool pass_hoist(PassContext *context)
{
    Search *search = context->search;
    unsigned replaced = search->replaced;
    Candidate candidate = candidate_new(search);
    unsigned moved = hoist_values(candidate.body, candidate.analyses);
    const char *what = arena_printf(context->arena, "hoist where it saves registers: %u", moved);
    if (moved)
        search_consider(search, PASS_HOIST, candidate.body, what, 0, false);
    candidate_free(&candidate);
    return search->replaced > replaced;
}

/* Runs passes on the candidate that otherwise follow coarsening; whether one of them changed it. */
static bool addresses_join(const Search *search, Candidate *candidate)
{
    static const PassId passes[] = {PASS_INDUCTION, PASS_BASES, PASS_POINTERS, PASS_CLEANUP};
    PassContext context = search->passes;
    bool changed = false;
    context.body = candidate->body;
    context.analyses = candidate->analyses;
    context.search = NULL;
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        if (pass_table[passes[i]].run(&context)) {
            analyses_invalidate(context.analyses, pass_table[passes[i]].invalidates);
            changed |= passes[i] != PASS_CLEANUP;
        }
    candidate->body = context.body;
    candidate->analyses = context.analyses;
    return changed;
}

/* All offsets of addresses as shifts, and each half of them: what helps differs from one address to the next, for the
 * base of some is in registers anyway.  They take instructions, so only the fewest registers are worth it. */
static void offsets_shift(Search *search)
{
    static const ShiftPart parts[] = {SHIFT_ALL, SHIFT_FIRST_HALF, SHIFT_SECOND_HALF};
    for (unsigned i = 0; i < COUNT_OF(parts) && !search_should_stop(search); i++) {
        Candidate candidate = candidate_new(search);
        unsigned shifted = shift_offsets(candidate.body, analyses_values(candidate.analyses), parts[i]);
        const char *what = arena_printf(search->passes.arena, "%u offset%s shifted", shifted, shifted == 1 ? "" : "s");
        if (shifted)
            search_consider(search, PASS_OFFSETS, candidate.body, what, 0, false);
        candidate_free(&candidate);
    }
}

/* The form that helps more often comes first. */
bool pass_offsets(PassContext *context)
{
    Search *search = context->search;
    unsigned replaced = search->replaced;
    for (unsigned way = 0; way < 2 && !search_should_stop(search); way++) {
        Candidate candidate = candidate_new(search);
        unsigned joined = way ? offset_pointers(candidate.body, candidate.analyses)
                              : addresses_join(search, &candidate);
        const char *what = way ? arena_printf(context->arena, "%u pointer%s by uniform distances", joined,
                                              joined == 1 ? "" : "s")
                               : "addresses from one base";
        if (joined)
            search_consider(search, PASS_OFFSETS, candidate.body, what, 0, false);
        candidate_free(&candidate);
    }
    if (search->request->goal == GOAL_FEWEST)
        offsets_shift(search);
    return search->replaced > replaced;
}

/* How many instructions may be added where the last candidate, to which at most so many were, is too long; else 0. */
static uint64_t growth_instead(const Search *search, unsigned most)
{
    const uint64_t now = search->current.instructions;
    if (!search_is_too_long(search))
        return 0;
    return most * (search->most_instructions - now) / (search->last.instructions - now) * 7 / 8;
}

/* A second form, if the first one is too long. */
bool pass_pack(PassContext *context)
{
    Search *search = context->search;
    unsigned replaced = search->replaced;
    const SmLimits *sm = search->passes.sm;
    PackRequest request = {register_room(sm, search->target), search_growth_allowed(search)};
    for (unsigned form = 0; form < 2 && request.most && !search_should_stop(search); form++) {
        Candidate candidate = candidate_new(search);
        Packing packing = pack_values(candidate.body, candidate.analyses, sm, &request);
        const char *what = arena_printf(context->arena, "%u small values in %u register%s", packing.values,
                                        packing.words, packing.words == 1 ? "" : "s");
        if (packing.values)
            search_consider(search, PASS_PACK, candidate.body, what, 0, false);
        request.most = packing.values ? growth_instead(search, packing.insts) : 0;
        candidate_free(&candidate);
    }
    return search->replaced > replaced;
}
