/* Refinement: memory that the rounds of a loop share.
 *
 * A loop that stores can only be shared if no round touches what another one stores. Two accesses move by a constant in
 * each round. They do not meet in different rounds if
 * - they are in different state spaces or variables, or nothing writes what one of them reads; or
 * - both move by the same amount, and their distance in one round leaves room for both; or
 * - all that one touches in the whole loop is apart from all that the other touches.
 * If addresses alone do not tell, code before the loop compares them: where it fails, the group executes the
 * original. */
#include "opt/refine/internal.h"

#include <stdlib.h>

enum { ACCESSES_MOST = 32 };

/* An address in the first round, in the making. */
typedef struct First {
    AffineTerm terms[AFFINE_TERMS];
    unsigned count;
    int64_t constant;
} First;

static bool first_add(First *first, const AffineTerm *term, int64_t factor)
{
    AffineTerm scaled = *term;
    if (__builtin_mul_overflow(term->coefficient, factor, &scaled.coefficient))
        return false;
    for (unsigned i = 0; i < first->count; i++)
        if (affine_base_equal(&first->terms[i], term))
            return false; /* no address is written like that */
    if (first->count == AFFINE_TERMS)
        return false;
    first->terms[first->count++] = scaled;
    return true;
}

/* Adds a phi that grows: it is where it starts, and moves the address. */
static bool first_add_phi(const Refine *r, First *first, const SharedPhi *phi, const AffineTerm *term, int64_t *slope)
{
    const AffineForm *start = &analyses_affine(r->analyses)->forms[phi->start];
    int64_t constant;
    if (phi->merge != MERGE_NONE || phi->step.term_count || term->base != AFFINE_VALUE || phi->step.bits != 64 ||
        *slope || start->bits != 64 || __builtin_mul_overflow(term->coefficient, phi->step.constant, slope) ||
        __builtin_mul_overflow(term->coefficient, start->constant, &constant))
        return false;
    first->constant = (int64_t)((uint64_t)first->constant + (uint64_t)constant);
    for (unsigned t = 0; t < start->term_count; t++)
        if (!first_add(first, &start->terms[t], term->coefficient))
            return false;
    return true;
}

static const SharedPhi *phi_find(const SharedLoop *shared, const AffineTerm *term)
{
    for (unsigned p = 0; p < shared->phi_count && (term->base == AFFINE_VALUE || term->base == AFFINE_SIGNED); p++)
        if (shared->phis[p].reg == term->reg)
            return &shared->phis[p];
    return NULL;
}

/* Follows the access's address through the rounds. False if it moves in another way. */
static bool follow(Refine *r, const SharedLoop *shared, Inst *inst, const Access *access, LoopAccess *out)
{
    AffineAddress address;
    *out = (LoopAccess){.inst = inst, .bytes = access->bytes, .is_store = access->kind == ACCESS_STORE};
    if (!access->address || !access->bytes)
        return false;
    affine_of_address(analyses_affine(r->analyses), inst, access->address, &address);
    if (address.form.bits != 64)
        return false;
    First *first = ARENA_NEW(r->scratch, First);
    first->constant = address.form.constant;
    for (unsigned t = 0; t < address.form.term_count; t++) {
        const AffineTerm *term = &address.form.terms[t];
        const SharedPhi *phi = phi_find(shared, term);
        if (phi ? !first_add_phi(r, first, phi, term, &out->slope)
                : !term_is_fixed(r, shared->loop, term) || !first_add(first, term, 1))
            return false;
    }
    out->first = (AffineForm){64, first->count, first->constant, first->terms};
    return out->slope > INT32_MIN && out->slope < INT32_MAX;
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* The room that the two have around them in a round, if both move by the same amount. */
static int64_t room(const LoopAccess *a, const LoopAccess *b)
{
    return a->slope == b->slope ? llabs(a->slope) - larger(a->bytes, b->bytes) : -1;
}

/* True if the distance of the two in one round is known. */
static bool distance_find(const LoopAccess *a, const LoopAccess *b, int64_t *distance)
{
    AffineForm moved = b->first;
    moved.constant = a->first.constant;
    *distance = (int64_t)((uint64_t)b->first.constant - (uint64_t)a->first.constant);
    return affine_compare(&a->first, 1, &moved, 1) == ALIAS_SAME && *distance > INT32_MIN && *distance < INT32_MAX;
}

/* Whether the two meet in different rounds, as far as addresses tell. */
typedef enum Meeting { MEETING_NEVER, MEETING_UNKNOWN, MEETING_SURE } Meeting;

static Meeting meeting_find(const LoopAccess *a, const LoopAccess *b, unsigned rounds)
{
    int64_t distance;
    if (!distance_find(a, b, &distance))
        return MEETING_UNKNOWN;
    if (llabs(distance) <= room(a, b))
        return MEETING_NEVER;
    return a->slope == b->slope && llabs(distance) < rounds * llabs(a->slope) ? MEETING_SURE : MEETING_UNKNOWN;
}

static bool add_pairs(Refine *r, SharedLoop *shared, unsigned store)
{
    const MemoryModel *memory = analyses_memory(r->analyses);
    for (unsigned i = 0; i < shared->access_count; i++) {
        const LoopAccess *a = &shared->accesses[store], *b = &shared->accesses[i];
        if ((b->is_store && i < store) || (i != store && accesses_apart_always(memory, a->inst, b->inst)))
            continue;
        const Meeting meeting = meeting_find(a, b, r->request->threads);
        if (meeting == MEETING_NEVER)
            continue;
        if (i == store || meeting == MEETING_SURE || shared->apart_count == APARTS_MOST)
            return refine_refuse(r, b->inst, REFUSAL_REFINE_MEMORY);
        shared->aparts[shared->apart_count++] = (Apart){store, i};
    }
    return true;
}

/* True if the load may be from where the loop stores. */
static bool may_meet_store(const Refine *r, const SharedLoop *shared, const Inst *load)
{
    for (unsigned i = 0; i < shared->access_count; i++)
        if (!accesses_apart_always(analyses_memory(r->analyses), load, shared->accesses[i].inst))
            return true;
    return false;
}

/* Neighbours of one kind, as of rounds that the compiler has unrolled, are taken for one access, if rounds still do not
 * overlap then. False if the access has none. */
static bool join_neighbour(SharedLoop *shared, const LoopAccess *access)
{
    for (unsigned i = 0; i < shared->access_count; i++) {
        LoopAccess *other = &shared->accesses[i];
        int64_t distance;
        if (other->is_store != access->is_store || other->slope != access->slope ||
            !distance_find(other, access, &distance))
            continue;
        const int64_t low = distance < 0 ? distance : 0, end = distance + access->bytes;
        const int64_t bytes = (end > (int64_t)other->bytes ? end : (int64_t)other->bytes) - low;
        if (bytes > llabs(access->slope))
            continue;
        other->first.constant = (int64_t)((uint64_t)other->first.constant + (uint64_t)low);
        other->bytes = (unsigned)bytes;
        return true;
    }
    return false;
}

/* Lists the loop's stores, or those of its loads that may be from where it stores. */
static bool list_accesses(Refine *r, SharedLoop *shared, bool loads)
{
    for (uint32_t b = 0; b < shared->loop->block_count; b++)
        for (Inst *inst = shared->loop->blocks[b]->first; inst; inst = inst->next) {
            Access access;
            LoopAccess followed;
            if (!inst_access(inst, &access) || access.read_only || (access.kind == ACCESS_LOAD) != loads ||
                (loads && !may_meet_store(r, shared, inst)))
                continue;
            /* Each thread of the group has local memory of its own. */
            if (access.space == SPACE_LOCAL || access.kind == ACCESS_ATOMIC ||
                !follow(r, shared, inst, &access, &followed))
                return refine_refuse(r, inst, REFUSAL_REFINE_MEMORY);
            if (join_neighbour(shared, &followed))
                continue;
            if (shared->access_count == ACCESSES_MOST)
                return refine_refuse(r, inst, REFUSAL_REFINE_MEMORY);
            shared->accesses[shared->access_count++] = followed;
        }
    return true;
}

bool shared_loop_check_memory(Refine *r, SharedLoop *shared)
{
    shared->accesses = ARENA_ARRAY(r->scratch, LoopAccess, ACCESSES_MOST);
    if (!list_accesses(r, shared, false))
        return false;
    shared->stores = shared->access_count;
    if (shared->stores && !list_accesses(r, shared, true))
        return false;
    for (unsigned i = 0; i < shared->access_count; i++)
        if (shared->accesses[i].is_store && !add_pairs(r, shared, i))
            return false;
    return true;
}

/* The bytes that an access touches in all rounds. */
typedef struct Touched {
    RegId first; /* its address in the first round; REG_NONE: not computed yet */
    RegId low, high;
} Touched;

static bool touched_build(const SumPlace *place, const LoopAccess *access, RegId last, Touched *out)
{
    Body *body = place->body;
    RegId span = sum_reg(place, TYPE_B64, "%span"), end = sum_reg(place, TYPE_B64, "%end");
    out->first = sum_build(place, &access->first);
    if (out->first == REG_NONE)
        return false;
    sum_put(place, inst_build(body, "mul.lo.s64", "dri", span, last, access->slope));
    sum_put(place, inst_build(body, "add.s64", "drr", end, out->first, span));
    out->low = access->slope < 0 ? end : out->first;
    out->high = sum_reg(place, TYPE_B64, "%end");
    sum_put(place, inst_build(body, "add.s64", "dri", out->high, access->slope < 0 ? out->first : end,
                              (int64_t)access->bytes));
    return true;
}

/* Whether the two do not meet in different rounds. */
static RegId apart_build(const SumPlace *place, const LoopAccess *a, const LoopAccess *b, const Touched *of_a,
                         const Touched *of_b)
{
    Body *body = place->body;
    RegId below = sum_reg(place, TYPE_PRED, "%apart"), apart = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(body, "setp.le.u64", "drr", below, of_a->high, of_b->low));
    sum_put(place, inst_build(body, "setp.le.or.u64", "drrr", apart, of_b->high, of_a->low, below));
    const int64_t around = room(a, b);
    if (around < 0)
        return apart;
    RegId distance = sum_reg(place, TYPE_B64, "%distance"), from = sum_reg(place, TYPE_B64, "%distance");
    RegId near = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(body, "sub.s64", "drr", distance, of_b->first, of_a->first));
    sum_put(place, inst_build(body, "add.s64", "dri", from, distance, around));
    sum_put(place, inst_build(body, "setp.le.or.u64", "drir", near, from, 2 * around, apart));
    return near;
}

RegId shared_loop_build_aparts(const SharedLoop *shared, const SumPlace *place, RegId last, RegId holds)
{
    Touched touched[ACCESSES_MOST];
    for (unsigned i = 0; i < shared->access_count; i++)
        touched[i] = (Touched){REG_NONE, REG_NONE, REG_NONE};
    for (unsigned i = 0; i < shared->apart_count; i++) {
        const unsigned pair[2] = {shared->aparts[i].a, shared->aparts[i].b};
        for (unsigned k = 0; k < 2; k++)
            if (touched[pair[k]].first == REG_NONE &&
                !touched_build(place, &shared->accesses[pair[k]], last, &touched[pair[k]]))
                return REG_NONE;
        RegId apart = apart_build(place, &shared->accesses[pair[0]], &shared->accesses[pair[1]], &touched[pair[0]],
                                  &touched[pair[1]]);
        RegId both = sum_reg(place, TYPE_PRED, "%shared");
        sum_put(place, inst_build(place->body, "and.pred", "drr", both, holds, apart));
        holds = both;
    }
    return holds;
}
