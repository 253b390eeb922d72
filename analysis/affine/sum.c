/* Sums in the making, and questions about a single one. */
#include "analysis/affine/internal.h"

#include <string.h>

int64_t affine_sign_extend(uint64_t value, unsigned bits)
{
    return bits == 32 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

bool affine_base_equal(const AffineTerm *a, const AffineTerm *b)
{
    return a->base == b->base && a->reg == b->reg && a->object == b->object && a->offset == b->offset;
}

void affine_sum_add_term(Sum *sum, const AffineTerm *term, int64_t factor)
{
    uint64_t added = (uint64_t)term->coefficient * (uint64_t)factor;
    AffineTerm extended;
    /* Modulo 2^32, the way in which a register is extended does not matter. */
    if (sum->bits == 32 && term->base == AFFINE_SIGNED) {
        extended = *term;
        extended.base = AFFINE_VALUE;
        extended.low = 0;
        extended.high = UINT32_MAX;
        term = &extended;
    }
    for (unsigned i = 0; i < sum->term_count; i++) {
        AffineTerm *have = &sum->terms[i];
        if (!affine_base_equal(have, term))
            continue;
        have->coefficient = affine_sign_extend((uint64_t)have->coefficient + added, sum->bits);
        if (!have->coefficient)
            *have = sum->terms[--sum->term_count];
        return;
    }
    int64_t coefficient = affine_sign_extend(added, sum->bits);
    if (!coefficient)
        return;
    sum->terms[sum->term_count] = *term;
    sum->terms[sum->term_count++].coefficient = coefficient;
}

void affine_sum_add_constant(Sum *sum, int64_t constant, int64_t factor)
{
    sum->constant = affine_sign_extend((uint64_t)sum->constant + (uint64_t)constant * (uint64_t)factor, sum->bits);
}

bool affine_sum_add(Sum *sum, const AffineForm *form, int64_t factor)
{
    affine_sum_add_constant(sum, form->constant, factor);
    for (unsigned i = 0; i < form->term_count; i++)
        affine_sum_add_term(sum, &form->terms[i], factor);
    return sum->term_count <= AFFINE_TERMS;
}

bool affine_terms_bounds(const AffineTerm *terms, unsigned count, int64_t constant, __int128 *low, __int128 *high)
{
    *low = *high = constant;
    for (unsigned i = 0; i < count; i++) {
        const AffineTerm *term = &terms[i];
        if (!term->bounded)
            return false;
        __int128 a = (__int128)term->coefficient * term->low, b = (__int128)term->coefficient * term->high;
        *low += a < b ? a : b;
        *high += a < b ? b : a;
    }
    return true;
}

AffineForm affine_terms_copy(Arena *arena, const Sum *sum, int64_t constant)
{
    AffineTerm *terms = ARENA_ARRAY(arena, AffineTerm, sum->term_count);
    memcpy(terms, sum->terms, sum->term_count * sizeof *terms);
    return (AffineForm){sum->bits, sum->term_count, constant, terms};
}

bool affine_add(Arena *arena, const AffineForm *a, const AffineForm *b, int64_t factor, AffineForm *out)
{
    Sum sum;
    sum.bits = a->bits;
    sum.term_count = 0;
    sum.constant = 0;
    if (!a->bits || a->bits != b->bits || !affine_sum_add(&sum, a, 1) || !affine_sum_add(&sum, b, factor))
        return false;
    *out = affine_terms_copy(arena, &sum, sum.constant);
    return true;
}

bool affine_terms_equal(const AffineForm *a, const AffineForm *b)
{
    if (a->bits != b->bits || a->term_count != b->term_count)
        return false;
    for (unsigned i = 0; i < a->term_count && a->terms != b->terms; i++) {
        unsigned k = 0;
        while (k < b->term_count && !affine_base_equal(&a->terms[i], &b->terms[k]))
            k++;
        if (k == b->term_count || a->terms[i].coefficient != b->terms[k].coefficient)
            return false;
    }
    return true;
}

AffineTerm affine_reg_base(const Body *body, RegId reg, uint64_t high)
{
    unsigned bits = type_bits(body->regs.data[reg].type);
    AffineTerm term = {.base = AFFINE_VALUE, .reg = reg, .coefficient = 1, .bounded = true, .high = UINT32_MAX};
    if (high && high <= INT64_MAX)
        term.high = (int64_t)high;
    else if (bits > 32)
        term.bounded = false;
    return term;
}
