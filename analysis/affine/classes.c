/* Classes of sums that the ring of 32- or 64-bit integers does not decompose: extensions of 32-bit sums that may have
 * wrapped, and products. All sums with the same terms form a class, and are written as the register that was met first
 * plus a difference; the register represents the values that it was computed from, wherever that was.
 *
 *   extensions  two 32-bit sums that differ by a constant also differ by it as 64-bit integers if neither can be so
 *               large that the other has wrapped: by their bounds, or by the branches that lead here
 *   products    (a + 1) * b is a * b + b, and (4 * a) * b is 4 * (a * b), modulo 2^bits */
#include "analysis/affine/internal.h"

enum { TRIED = 8 }; /* members of a class that an extension is compared with */

typedef enum ClassKind { CLASS_EXTEND_SIGNED = 1, CLASS_EXTEND_UNSIGNED, CLASS_PRODUCT } ClassKind;

struct AffineClass {
    ClassKind kind;
    uint64_t hash;
    AffineForm a, b; /* the constants are 0, except that of an extension, which is that of what 'reg' holds; b: products
                      * only */
    AffineForm rest; /* products: 'reg' is scale * a * b + rest */
    int64_t scale;
    RegId reg;
    AffineTerm base; /* that register as a base */
    AffineClass *next;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The same in any order of the terms. */
static uint64_t terms_hash(const AffineTerm *terms, unsigned count)
{
    uint64_t hash = count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t term = mix(mix(terms[i].base, terms[i].reg), (uintptr_t)terms[i].object);
        hash += mix(mix(term, (uint64_t)terms[i].offset), (uint64_t)terms[i].coefficient);
    }
    return hash;
}

void affine_classes_start(Evaluator *evaluator)
{
    size_t size = 64;
    while (size < evaluator->body->regs.count)
        size *= 2;
    evaluator->classes = ARENA_ARRAY(evaluator->scratch, AffineClass *, size);
    evaluator->class_mask = size - 1;
}

static AffineClass *class_add(Evaluator *evaluator, ClassKind kind, uint64_t hash, RegId reg)
{
    AffineClass *class = ARENA_NEW(evaluator->scratch, AffineClass);
    AffineClass **link = &evaluator->classes[hash & evaluator->class_mask];
    *class = (AffineClass){.kind = kind, .hash = hash, .reg = reg, .next = *link};
    *link = class;
    return class;
}

static AffineTerm extension_base(AffineTerm base, bool is_signed)
{
    if (is_signed) {
        base.base = AFFINE_SIGNED;
        base.low = INT32_MIN;
        base.high = INT32_MAX;
    }
    return base;
}

/* True if the value, a 32-bit sum, and the value plus 'difference' are that far apart as 64-bit integers too. */
static bool stays_apart(const Evaluator *evaluator, const AffineForm *value, int64_t difference, bool is_signed)
{
    /* The values that would wrap. */
    int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    int64_t from = difference > 0 ? most - difference + 1 : least;
    int64_t to = difference > 0 ? most : least - difference - 1;
    __int128 low, high;
    if (!difference)
        return true;
    if (affine_terms_bounds(value->terms, value->term_count, value->constant, &low, &high) && low >= least &&
        high <= most && (high < from || low > to))
        return true;
    return affine_facts_exclude(evaluator, value, (uint32_t)from, (uint32_t)to);
}

static bool extension_by(const Evaluator *evaluator, const AffineTerm *base, const AffineForm *held,
                         const Sum *narrow, bool is_signed, Sum *out)
{
    int64_t difference = affine_sign_extend((uint64_t)narrow->constant - (uint64_t)held->constant, 32);
    if (!stays_apart(evaluator, held, difference, is_signed))
        return false;
    *out = (Sum){.bits = 64, .constant = difference};
    affine_sum_add_term(out, base, 1);
    return true;
}

void affine_class_extend(Evaluator *evaluator, const Sum *narrow, RegId reg, bool is_signed, Sum *out)
{
    ClassKind kind = is_signed ? CLASS_EXTEND_SIGNED : CLASS_EXTEND_UNSIGNED;
    uint64_t hash = mix(kind, terms_hash(narrow->terms, narrow->term_count));
    AffineForm form = {32, narrow->term_count, narrow->constant, narrow->terms};
    /* The sum of a register and a constant is written with that register if possible. */
    const AffineTerm *only = &narrow->terms[0];
    if (narrow->term_count == 1 && only->coefficient == 1 && only->base == AFFINE_VALUE &&
        type_bits(evaluator->body->regs.data[only->reg].type) == 32) {
        AffineTerm base = extension_base(*only, is_signed);
        AffineForm held = {32, 1, 0, only};
        if (extension_by(evaluator, &base, &held, narrow, is_signed, out))
            return;
    }
    unsigned tried = 0;
    for (const AffineClass *class = evaluator->classes[hash & evaluator->class_mask]; class && tried < TRIED;
         class = class->next) {
        if (class->hash != hash || class->kind != kind || !affine_terms_equal(&class->a, &form))
            continue;
        tried++;
        if (extension_by(evaluator, &class->base, &class->a, narrow, is_signed, out))
            return;
    }
    AffineClass *class = class_add(evaluator, kind, hash, reg);
    class->a = affine_terms_copy(evaluator->scratch, narrow, narrow->constant);
    class->base = extension_base(affine_reg_base(evaluator->body, reg, 0), is_signed);
    *out = (Sum){.bits = 64};
    affine_sum_add_term(out, &class->base, 1);
}

/* The largest value of a * b + addend, if it is known not to wrap; 0: unknown. */
static uint64_t product_bound(const Sum *a, const Sum *b, const Sum *addend)
{
    const Sum *parts[3] = {a, b, addend};
    __int128 low[3], high[3], most = a->bits == 32 ? UINT32_MAX : INT64_MAX;
    for (unsigned i = 0; i < 3; i++)
        if (!affine_terms_bounds(parts[i]->terms, parts[i]->term_count, parts[i]->constant, &low[i], &high[i]) ||
            low[i] < 0 || high[i] > most)
            return 0;
    /* Each factor is below 2^63. */
    __int128 bound = high[0] * high[1] + high[2];
    return bound <= most ? (uint64_t)bound : 0;
}

/* a * b + addend without the product of the terms: the products with a constant. */
static bool product_rest(const Sum *a, const Sum *b, const Sum *addend, Sum *rest)
{
    AffineForm x = {a->bits, a->term_count, 0, a->terms}, y = {b->bits, b->term_count, b->constant, b->terms};
    AffineForm more = {addend->bits, addend->term_count, addend->constant, addend->terms};
    *rest = (Sum){.bits = a->bits};
    return affine_sum_add(rest, &y, a->constant) && affine_sum_add(rest, &x, b->constant) &&
           affine_sum_add(rest, &more, 1);
}

/* Divides the terms by the greatest number that divides all of them. Gives that number. */
static int64_t divide_by_content(AffineTerm *terms, unsigned count)
{
    uint64_t content = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t coefficient = (uint64_t)terms[i].coefficient;
        uint64_t other = terms[i].coefficient < 0 ? -coefficient : coefficient;
        while (other) {
            const uint64_t rest = content % other;
            content = other;
            other = rest;
        }
    }
    if (!content || content > INT32_MAX)
        return 1;
    for (unsigned i = 0; i < count; i++)
        terms[i].coefficient /= (int64_t)content;
    return (int64_t)content;
}

bool affine_class_multiply(Evaluator *evaluator, const Sum *a, const Sum *b, const Sum *addend, RegId reg, Sum *out)
{
    Sum x = *a, y = *b, rest;
    const int64_t scale = divide_by_content(x.terms, x.term_count) * divide_by_content(y.terms, y.term_count);
    const uint64_t hash = mix(CLASS_PRODUCT + a->bits,
                              terms_hash(x.terms, x.term_count) + terms_hash(y.terms, y.term_count));
    AffineForm left = {x.bits, x.term_count, 0, x.terms}, right = {y.bits, y.term_count, 0, y.terms};
    if (!product_rest(a, b, addend, &rest))
        return false;
    for (const AffineClass *class = evaluator->classes[hash & evaluator->class_mask]; class; class = class->next) {
        if (class->hash != hash || class->kind != CLASS_PRODUCT || class->a.bits != a->bits)
            continue;
        bool same = affine_terms_equal(&class->a, &left) && affine_terms_equal(&class->b, &right);
        bool swapped = affine_terms_equal(&class->a, &right) && affine_terms_equal(&class->b, &left);
        if ((!same && !swapped) || scale % class->scale)
            continue;
        AffineForm form = {rest.bits, rest.term_count, rest.constant, rest.terms};
        *out = (Sum){.bits = a->bits};
        affine_sum_add_term(out, &class->base, scale / class->scale);
        return affine_sum_add(out, &form, 1) && affine_sum_add(out, &class->rest, -(scale / class->scale));
    }
    AffineClass *class = class_add(evaluator, CLASS_PRODUCT, hash, reg);
    AffineFactors *factors = ARENA_NEW(evaluator->arena, AffineFactors);
    factors->forms[0] = affine_terms_copy(evaluator->arena, a, 0);
    factors->forms[1] = affine_terms_copy(evaluator->arena, b, 0);
    class->scale = scale;
    class->a = affine_terms_copy(evaluator->scratch, &x, 0);
    class->b = affine_terms_copy(evaluator->scratch, &y, 0);
    factors->forms[2] = class->rest = affine_terms_copy(evaluator->arena, &rest, rest.constant);
    evaluator->affine->factors[reg] = factors;
    class->base = affine_reg_base(evaluator->body, reg, product_bound(a, b, addend));
    *out = (Sum){.bits = a->bits};
    affine_sum_add_term(out, &class->base, 1);
    return true;
}
