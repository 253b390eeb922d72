/* Sums of products. */
#include "analysis/patterns/internal.h"

#include <stdlib.h>
#include <string.h>

Terms terms_of_constant(int64_t constant)
{
    return (Terms){.known = true, .constant = constant};
}

Terms terms_of_base(uint16_t base)
{
    Terms sum = {.known = base != 0, .count = 1};
    sum.terms[0] = (PatternTerm){1, {base}};
    return sum;
}

Terms terms_of(const PatternSum *sum)
{
    Terms terms = {.known = sum->known, .count = sum->term_count, .constant = sum->constant};
    memcpy(terms.terms, sum->terms, sum->term_count * sizeof *sum->terms);
    return terms;
}

int pattern_terms_compare(const PatternTerm *a, const PatternTerm *b)
{
    for (unsigned i = 0; i < PATTERN_FACTORS; i++)
        if (a->factors[i] != b->factors[i])
            return a->factors[i] < b->factors[i] ? -1 : 1;
    return 0;
}

static int64_t multiple(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

void terms_add_term(Terms *sum, const PatternTerm *term, int64_t factor)
{
    unsigned at = 0;
    const int64_t added = multiple(term->coefficient, factor);
    while (at < sum->count && pattern_terms_compare(&sum->terms[at], term) < 0)
        at++;
    if (!added || !sum->known)
        return;
    if (at < sum->count && !pattern_terms_compare(&sum->terms[at], term)) {
        PatternTerm *have = &sum->terms[at];
        have->coefficient = (int64_t)((uint64_t)have->coefficient + (uint64_t)added);
        if (!have->coefficient)
            memmove(have, have + 1, (--sum->count - at) * sizeof *have);
        return;
    }
    if (sum->count == PATTERN_TERMS) {
        sum->known = false;
        return;
    }
    memmove(&sum->terms[at + 1], &sum->terms[at], (sum->count++ - at) * sizeof *sum->terms);
    sum->terms[at] = *term;
    sum->terms[at].coefficient = added;
}

void terms_add(Terms *sum, const PatternSum *added, int64_t factor)
{
    sum->known &= added->known;
    sum->constant = (int64_t)((uint64_t)sum->constant + (uint64_t)multiple(added->constant, factor));
    for (unsigned i = 0; i < added->term_count; i++)
        terms_add_term(sum, &added->terms[i], factor);
}

/* The product of two terms; false if it has too many factors. */
static bool term_multiply(const PatternTerm *a, const PatternTerm *b, PatternTerm *out)
{
    unsigned i = 0, k = 0;
    *out = (PatternTerm){multiple(a->coefficient, b->coefficient), {0}};
    for (unsigned n = 0; n < PATTERN_FACTORS; n++) {
        const uint16_t left = i < PATTERN_FACTORS ? a->factors[i] : 0, right = k < PATTERN_FACTORS ? b->factors[k] : 0;
        out->factors[n] = left > right ? left : right;
        i += left > right || (left == right && left);
        k += left < right;
    }
    return (i == PATTERN_FACTORS || !a->factors[i]) && (k == PATTERN_FACTORS || !b->factors[k]);
}

void terms_multiply(Terms *out, const PatternSum *a, const PatternSum *b)
{
    *out = terms_of_constant(multiple(a->constant, b->constant));
    out->known = a->known && b->known;
    for (unsigned i = 0; i < a->term_count; i++)
        terms_add_term(out, &a->terms[i], b->constant);
    for (unsigned k = 0; k < b->term_count; k++)
        terms_add_term(out, &b->terms[k], a->constant);
    for (unsigned i = 0; i < a->term_count; i++)
        for (unsigned k = 0; k < b->term_count; k++) {
            PatternTerm product;
            out->known &= term_multiply(&a->terms[i], &b->terms[k], &product);
            terms_add_term(out, &product, 1);
        }
}

PatternSum terms_store(Arena *arena, const Terms *terms)
{
    if (!terms->known)
        return (PatternSum){0};
    PatternTerm *copy = ARENA_ARRAY(arena, PatternTerm, terms->count + 1);
    memcpy(copy, terms->terms, terms->count * sizeof *copy);
    return (PatternSum){true, terms->count, terms->constant, copy};
}

bool pattern_sums_equal(const PatternSum *a, const PatternSum *b)
{
    if (!a->known || !b->known || a->term_count != b->term_count || a->constant != b->constant)
        return false;
    for (unsigned i = 0; i < a->term_count; i++)
        if (pattern_terms_compare(&a->terms[i], &b->terms[i]) || a->terms[i].coefficient != b->terms[i].coefficient)
            return false;
    return true;
}

uint16_t pattern_base(Patterns *patterns, Arena *arena, const PatternBase *base)
{
    for (size_t i = 1; i < patterns->bases.count; i++) {
        const PatternBase *have = &patterns->bases.data[i];
        if (have->kind == base->kind && have->object == base->object && have->reg == base->reg &&
            have->offset == base->offset)
            return (uint16_t)i;
    }
    if (patterns->bases.count > UINT16_MAX)
        return 0;
    VEC_PUSH(arena, patterns->bases, *base);
    return (uint16_t)(patterns->bases.count - 1);
}

static void print_base(const Patterns *patterns, const PatternBase *base, Buf *out)
{
    const Loop *loop = base->kind == PATTERN_BASE_ROUND ? base->object : base->after;
    const Inst *head = loop ? loop->header->first : NULL;
    switch (base->kind) {
    case PATTERN_BASE_SREG: buf_puts(out, ((const Sreg *)base->object)->name + 1); return;
    case PATTERN_BASE_WINDOW: buf_puts(out, "window"); return;
    case PATTERN_BASE_SYMBOL: buf_printf(out, "%s", ((const Variable *)base->object)->name); return;
    case PATTERN_BASE_PARAM:
        buf_printf(out, "%s", ((const Variable *)base->object)->name);
        if (base->offset)
            buf_printf(out, "[%lld]", (long long)base->offset);
        return;
    case PATTERN_BASE_ROUND:
        buf_printf(out, "round(line %u)",
                   head ? source_position(patterns->body->module->source, head->span.begin).line : 0);
        return;
    case PATTERN_BASE_VALUE:
    case PATTERN_BASE_JOIN:
        buf_printf(out, base->kind == PATTERN_BASE_JOIN && base->offset ? "part(%s)" : "%s",
                   body_reg_name(patterns->body, base->reg));
        return;
    }
}

void pattern_print(const Patterns *patterns, const PatternSum *sum, Buf *out)
{
    for (unsigned i = 0; i < sum->term_count; i++) {
        const PatternTerm *term = &sum->terms[i];
        const int64_t size = term->coefficient < 0 ? -term->coefficient : term->coefficient;
        buf_puts(out, i ? (term->coefficient < 0 ? " - " : " + ") : (term->coefficient < 0 ? "-" : ""));
        if (size != 1)
            buf_printf(out, "%lld*", (long long)size);
        for (unsigned f = 0; f < PATTERN_FACTORS && term->factors[f]; f++) {
            buf_puts(out, f ? "*" : "");
            print_base(patterns, &patterns->bases.data[term->factors[f]], out);
        }
    }
    if (!sum->term_count)
        buf_printf(out, "%lld", (long long)sum->constant);
    else if (sum->constant)
        buf_printf(out, " %c %lld", sum->constant < 0 ? '-' : '+', llabs(sum->constant));
}
