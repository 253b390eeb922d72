/* Refinement: addresses, followed through the rounds of a loop. */
#include "opt/refine/internal.h"

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

bool loop_access_follow(Refine *r, const SharedLoop *shared, Inst *inst, const Access *access, LoopAccess *out)
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
