/* One pointer for each stride of a loop.
 *
 *     p = a + x, + s, ...; q = b + x, + s, ...      becomes      q = p + (b - a)
 *
 * where compilers have turned the indices of a loop into one pointer for each array. The distance is the same for all
 * threads, so that it takes a uniform register (sm_75 and later) or the constant bank, and q takes two registers only
 * where it is used: an addition there for the one that advanced it. Everything is modulo 2^64, so nothing wraps
 * differently. If the assembler unrolls the loop, it may not pay: there, one pointer serves several rounds. */
#include "opt/common/cleanup.h"

#include "opt/common/places.h"
#include "opt/common/sums.h"
#include "opt/pass.h"
#include "opt/registers/moves/offsets.h"
#include "opt/registers/moves/shifts.h"
#include "opt/registers/search/search.h"
#include "opt/replicas/induction.h"

enum {
    MOST_LEADERS = 32, /* strides of one loop */
    UNIFORM_DEPTH = 6, /* instructions that a uniform value is followed through */
    CLUSTER = 24,      /* instructions between two uses that share an addition */
};

typedef struct Offsets {
    Body *body;
    Analyses *analyses;
    const Affine *affine;
    const Values *values;
    Places places;
    unsigned joined;
} Offsets;

static bool inst_is_uniform(const Offsets *offsets, const Inst *inst, unsigned depth);

static bool value_is_uniform(const Offsets *offsets, RegId reg, unsigned depth)
{
    const Inst *inst = reg < offsets->values->reg_count ? value_inst(offsets->values, reg) : NULL;
    return inst && depth < UNIFORM_DEPTH && inst_is_uniform(offsets, inst, depth + 1);
}

static bool sreg_is_uniform(const Sreg *sreg)
{
    return sreg->dependence == SREG_BLOCK || sreg->dependence == SREG_LAUNCH || sreg->dependence == SREG_CONSTANT;
}

/* True if all threads of a block compute the same. */
static bool inst_is_uniform(const Offsets *offsets, const Inst *inst, unsigned depth)
{
    Access access;
    bool loads = inst_access(inst, &access);
    if (loads ? access.kind != ACCESS_LOAD || !access.read_only || access.space != SPACE_PARAM
              : !(inst->effects & EFFECT_PURE) || inst_is_opaque(inst))
        return false;
    const Sreg *sreg = inst_sreg(inst);
    if (sreg && !sreg_is_uniform(sreg))
        return false;
    for (unsigned r = 0; r < inst->ref_count; r++)
        if (ref_reads(&inst->refs[r]) && !value_is_uniform(offsets, inst->refs[r].reg, depth))
            return false;
    return true;
}

static bool term_is_uniform(const Offsets *offsets, const AffineTerm *term)
{
    switch (term->base) {
    case AFFINE_VALUE:
    case AFFINE_SIGNED: return value_is_uniform(offsets, term->reg, 0);
    case AFFINE_SREG: return sreg_is_uniform(term->sreg);
    default: return true;
    }
}

/* b - a, if that is uniform: its terms are in 'terms'. */
static bool distance_find(const Offsets *offsets, const AffineForm *a, const AffineForm *b,
                          AffineTerm terms[2 * AFFINE_TERMS], AffineForm *out)
{
    unsigned count = b->term_count;
    for (unsigned i = 0; i < count; i++)
        terms[i] = b->terms[i];
    for (unsigned i = 0; i < a->term_count; i++) {
        unsigned at = 0;
        while (at < count && !affine_base_equal(&terms[at], &a->terms[i]))
            at++;
        if (at == count) {
            terms[count] = a->terms[i];
            terms[count++].coefficient = 0;
        }
        terms[at].coefficient = (int64_t)((uint64_t)terms[at].coefficient - (uint64_t)a->terms[i].coefficient);
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!terms[i].coefficient)
            continue;
        if (!term_is_uniform(offsets, &terms[i]))
            return false;
        terms[kept++] = terms[i];
    }
    *out = (AffineForm){64, kept, (int64_t)((uint64_t)b->constant - (uint64_t)a->constant), terms};
    return kept <= AFFINE_TERMS;
}

/* Lets what reads the value read leader + distance. */
static void uses_replace(Offsets *offsets, RegId value, RegId leader, RegId distance)
{
    uint32_t count = places_collect(&offsets->places, value);
    for (uint32_t i = 0, end; i < count; i = end) {
        Point *points = offsets->places.points;
        RegId sum = body_clone_reg(offsets->body, value);
        end = places_cluster_end(&offsets->places, i, count);
        place_inst(offsets->body, &points[i], inst_build(offsets->body, "add.s64", "drr", sum, leader, distance));
        for (uint32_t j = i; j < end; j++)
            use_set(points[j].use, sum);
    }
}

static bool pointer_join(Offsets *offsets, const Loop *loop, const Induction *leader, const Induction *other)
{
    AffineTerm terms[2 * AFFINE_TERMS];
    AffineForm distance;
    if (!inductions_step_alike(leader, other) ||
        !distance_find(offsets, &leader->start, &other->start, terms, &distance) ||
        !places_collect(&offsets->places, other->reg))
        return false;
    SumPlace place = sum_place_new(offsets->body, loop->preheader, offsets->analyses);
    RegId reg = sum_build(&place, &distance);
    if (reg == REG_NONE)
        return false;
    uses_replace(offsets, other->reg, leader->reg, reg);
    offsets->joined++;
    return true;
}

static void header_join(Offsets *offsets, const Loop *loop)
{
    Arena *scratch = arena_new();
    Induction *leaders = ARENA_ARRAY(scratch, Induction, MOST_LEADERS);
    unsigned count = 0;
    for (size_t p = 0; p < loop->header->phis.count && count < MOST_LEADERS; p++) {
        Induction *found = &leaders[count];
        if (!induction_find(loop, &loop->header->phis.data[p], offsets->affine, found) || found->start.bits != 64)
            continue;
        unsigned at = 0;
        while (at < count && !pointer_join(offsets, loop, &leaders[at], found))
            at++;
        count += at == count;
    }
    arena_free(scratch);
}

unsigned offset_pointers(Body *body, Analyses *analyses)
{
    require(body->ssa);
    const LoopForest *loops = analyses_loops(analyses);
    Arena *arena = arena_new();
    Offsets offsets = {.body = body, .analyses = analyses, .affine = analyses_affine(analyses),
                       .values = analyses_values(analyses)};
    places_number(&offsets.places, arena, body, offsets.values, CLUSTER);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        if (loops->loops[i].header->phis.count > 1)
            header_join(&offsets, &loops->loops[i]);
    arena_free(arena);
    analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    if (offsets.joined) {
        remove_dead_code(body, analyses);
        analyses_invalidate(analyses, ANALYSES_INSTRUCTIONS);
    }
    return offsets.joined;
}

/* Runs passes on the candidate that otherwise follow coarsening; whether one of them changed it. */
static bool addresses_join(const Search *search, Candidate *candidate)
{
    bool changed = candidate_run(search, candidate, PASS_INDUCTION);
    changed |= candidate_run(search, candidate, PASS_BASES);
    changed |= candidate_run(search, candidate, PASS_POINTERS);
    candidate_run(search, candidate, PASS_CLEANUP);
    return changed;
}

/* All offsets of addresses as shifts, and each half of them: the better choice differs from one address to the next,
 * because the base of some is in registers anyway. The shifts add instructions, so only the search for the fewest
 * registers tries them. */
static bool offsets_shift(Search *search)
{
    static const ShiftPart parts[] = {SHIFT_ALL, SHIFT_FIRST_HALF, SHIFT_SECOND_HALF};
    bool taken = false;
    for (unsigned i = 0; i < COUNT_OF(parts) && !search_should_stop(search); i++) {
        Candidate candidate = candidate_new(search);
        unsigned shifted = shift_offsets(candidate.body, analyses_values(candidate.analyses), parts[i]);
        taken |= candidate_propose(search, PASS_OFFSETS, &candidate, move_of(MOVE_SHIFTS, shifted));
    }
    return taken;
}

/* The form that helps more often comes first. */
bool pass_offsets(PassContext *context)
{
    Search *search = context->search;
    bool taken = false;
    for (unsigned way = 0; way < 2 && !search_should_stop(search); way++) {
        Candidate candidate = candidate_new(search);
        unsigned joined = way ? offset_pointers(candidate.body, candidate.analyses)
                              : addresses_join(search, &candidate);
        const Move move = move_of(way ? MOVE_DISTANCES : MOVE_ONE_BASE, joined);
        taken |= candidate_propose(search, PASS_OFFSETS, &candidate, move);
    }
    if (search->request->goal == GOAL_FEWEST)
        taken |= offsets_shift(search);
    return taken;
}
