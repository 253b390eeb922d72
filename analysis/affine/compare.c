/* Questions about sums: their base, their dependences, the distance between two. */
#include "analysis/affine/internal.h"

/* True if the register's sum is the register itself. */
static bool is_base(const AffineForm *form, RegId reg)
{
    return form->term_count == 1 && !form->constant && form->terms[0].coefficient == 1 &&
           form->terms[0].base == AFFINE_VALUE && form->terms[0].reg == reg;
}

bool affine_leaves(Arena *arena, const Affine *affine, const AffineForm *form, size_t most, RegIdVec *leaves)
{
    RegIdVec met = {0};
    VEC(const AffineForm *) pending = {0};
    VEC_PUSH(arena, pending, form);
    while (pending.count) {
        const AffineForm *at = VEC_POP(pending);
        for (unsigned i = 0; i < at->term_count; i++) {
            RegId reg = at->terms[i].reg;
            bool known = at->terms[i].base != AFFINE_VALUE && at->terms[i].base != AFFINE_SIGNED;
            for (size_t k = 0; k < met.count && !known; k++)
                known = met.data[k] == reg;
            if (known)
                continue;
            if (met.count > 4 * most)
                return false;
            VEC_PUSH(arena, met, reg);
            if (affine->factors[reg]) {
                for (unsigned k = 0; k < COUNT_OF(affine->factors[reg]->forms); k++)
                    VEC_PUSH(arena, pending, &affine->factors[reg]->forms[k]);
            } else if (!is_base(&affine->forms[reg], reg)) {
                VEC_PUSH(arena, pending, &affine->forms[reg]);
            } else {
                if (leaves->count >= most)
                    return false;
                VEC_PUSH(arena, *leaves, reg);
            }
        }
    }
    return true;
}

const Variable *affine_object(const AffineForm *form)
{
    const Variable *object = NULL;
    for (unsigned i = 0; i < form->term_count; i++) {
        if (form->terms[i].base != AFFINE_SYMBOL)
            continue;
        if (object || form->terms[i].coefficient != 1)
            return NULL;
        object = form->terms[i].variable;
    }
    return object;
}

Space affine_space(const AffineForm *form)
{
    const Variable *object = affine_object(form), *param = NULL;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        if (term->base == AFFINE_WINDOW)
            return term->coefficient == 1 ? (Space)term->offset : SPACE_NONE;
        if (term->base == AFFINE_PARAM && term->coefficient == 1 && term->variable->is_ptr)
            param = param ? NULL : term->variable;
    }
    if (object)
        return object->space == SPACE_GLOBAL ? SPACE_GLOBAL : SPACE_NONE;
    return param && param->ptr_space == SPACE_GLOBAL ? SPACE_GLOBAL : SPACE_NONE;
}

/* The number of terms that both begin with. */
static unsigned equal_terms(const AffineForm *a, const AffineForm *b)
{
    unsigned i = 0;
    while (i < a->term_count && i < b->term_count && a->terms[i].coefficient == b->terms[i].coefficient &&
           affine_base_equal(&a->terms[i], &b->terms[i]))
        i++;
    return i;
}

/* True if 'a' has a term of any size and an odd coefficient, such as a pointer, which 'b' lacks: the difference may
 * then be anything. */
static bool has_own_pointer(const AffineForm *a, const AffineForm *b)
{
    for (unsigned i = 0; i < a->term_count; i++) {
        const AffineTerm *term = &a->terms[i];
        if (term->bounded || !(term->coefficient & 1))
            continue;
        unsigned k = 0;
        while (k < b->term_count && !affine_base_equal(term, &b->terms[k]))
            k++;
        if (k == b->term_count)
            return true;
    }
    return false;
}

Alias affine_compare(const AffineForm *a, uint64_t a_bytes, const AffineForm *b, uint64_t b_bytes)
{
    if (!a->bits || !b->bits)
        return ALIAS_UNKNOWN;
    /* Accesses with no byte in common modulo 2^32 have none modulo 2^64 either. */
    Sum difference; /* not cleared: this is called for all pairs of accesses, and the terms take a kilobyte */
    difference.bits = a->bits < b->bits ? a->bits : b->bits;
    difference.term_count = 0;
    difference.constant = 0;
    __int128 period = (__int128)1 << difference.bits, low, high;
    if (a->terms == b->terms && a->bits == b->bits) {
        difference.constant =
            affine_sign_extend((uint64_t)a->constant - (uint64_t)b->constant, difference.bits);
    } else {
        /* Most addresses that are compared begin with the same terms, which cancel. */
        const unsigned same = a->bits == b->bits ? equal_terms(a, b) : 0;
        const AffineForm rest = {a->bits, a->term_count - same, a->constant, a->terms + same};
        const AffineForm other = {b->bits, b->term_count - same, b->constant, b->terms + same};
        /* Most others count from different pointers. Modulo 2^32, two bases may be one. */
        if (difference.bits == 64 && (has_own_pointer(&rest, &other) || has_own_pointer(&other, &rest)))
            return ALIAS_UNKNOWN;
        if (!affine_sum_add(&difference, &rest, 1))
            return ALIAS_UNKNOWN;
        affine_sum_add(&difference, &other, -1);
    }
    if (!difference.term_count && !difference.constant)
        return a->bits == b->bits ? ALIAS_SAME : ALIAS_UNKNOWN;
    if (!a_bytes || !b_bytes || a_bytes > UINT32_MAX || b_bytes > UINT32_MAX)
        return ALIAS_UNKNOWN;
    /* b covers [0, b_bytes), a covers [x, x + a_bytes), modulo 'period', with x known modulo 'step'. */
    uint64_t coefficients = 0;
    for (unsigned i = 0; i < difference.term_count; i++)
        coefficients |= (uint64_t)difference.terms[i].coefficient;
    __int128 step = coefficients ? (__int128)(coefficients & -coefficients) : period;
    __int128 remainder = difference.constant & (step - 1); /* not %, which gives negative ones and is slow */
    if (remainder >= b_bytes && remainder + a_bytes <= step)
        return ALIAS_NONE;
    if (!affine_terms_bounds(difference.terms, difference.term_count, difference.constant, &low, &high))
        return ALIAS_UNKNOWN;
    if (low >= b_bytes && high + a_bytes <= period)
        return ALIAS_NONE;
    if (high + a_bytes <= 0 && low + period >= b_bytes)
        return ALIAS_NONE;
    return ALIAS_UNKNOWN;
}

bool affine_bounds(const AffineForm *form, int64_t *low, int64_t *high)
{
    __int128 least, most;
    const int64_t end = form->bits == 32 ? INT32_MAX : INT64_MAX;
    if ((form->bits != 32 && form->bits != 64) ||
        !affine_terms_bounds(form->terms, form->term_count, form->constant, &least, &most) || least < -end - 1 ||
        most > end)
        return false;
    *low = (int64_t)least;
    *high = (int64_t)most;
    return true;
}

Bounds affine_reg_bounds(const void *affine, RegId reg)
{
    const Affine *a = affine;
    const AffineForm *form = &a->forms[reg];
    unsigned bits = type_bits(a->body->regs.data[reg].type);
    __int128 low, high;
    if (form->bits != bits || !affine_terms_bounds(form->terms, form->term_count, form->constant, &low, &high))
        return bounds_any(bits);
    return bounds_wrapped(bits, low, high);
}
