/* Loops that compilers have unrolled: the accesses that were one, and the loops that do the rounds that are left. */
#include "analysis/patterns/internal.h"

enum { UNROLLED_MOST = 64 };

/* a * times == b. */
static bool is_multiple(const PatternSum *a, int64_t times, const PatternSum *b)
{
    if (!a->known || !b->known || a->term_count != b->term_count || a->constant * times != b->constant)
        return false;
    for (unsigned t = 0; t < a->term_count; t++)
        if (pattern_terms_compare(&a->terms[t], &b->terms[t]) ||
            a->terms[t].coefficient * times != b->terms[t].coefficient)
            return false;
    return true;
}

static PatternSum divided(Arena *arena, const PatternSum *sum, int64_t by)
{
    Terms terms = terms_of(sum);
    terms.known &= terms.constant % by == 0;
    terms.constant /= by;
    for (unsigned t = 0; t < terms.count; t++) {
        terms.known &= terms.terms[t].coefficient % by == 0;
        terms.terms[t].coefficient /= by;
    }
    return terms_store(arena, &terms);
}

static bool is_alike(const AccessPattern *a, const AccessPattern *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->loop == b->loop && a->group.count == 1 &&
           b->group.count == 1 && a->inst->form == b->inst->form;
}

/* The access that is this many distances after the first one; NULL: there is none. */
static AccessPattern *find_apart(Arena *scratch, Patterns *patterns, const AccessPattern *first,
                                 const PatternSum *distance, int64_t times)
{
    Terms wanted = terms_of(&first->address);
    terms_add(&wanted, distance, times);
    const PatternSum sum = terms_store(scratch, &wanted);
    for (size_t i = 0; i < patterns->access_count; i++)
        if (is_alike(first, &patterns->accesses[i]) && pattern_sums_equal(&patterns->accesses[i].address, &sum))
            return &patterns->accesses[i];
    return NULL;
}

/* Makes a group of as many accesses as make up the loop's step; false if there is not one for each distance. */
static bool group_try(Arena *arena, Arena *scratch, Patterns *patterns, AccessPattern *first, const PatternSum *step,
                      unsigned count)
{
    AccessPattern *members[UNROLLED_MOST] = {first};
    const PatternSum distance = divided(scratch, step, count);
    if (!distance.known || find_apart(scratch, patterns, first, &distance, -1))
        return false;
    for (unsigned i = 1; i < count; i++)
        if (!(members[i] = find_apart(scratch, patterns, first, &distance, i)))
            return false;
    const PatternGroup group = {first, count, divided(arena, step, count)};
    for (unsigned i = 0; i < count; i++)
        members[i]->group = group;
    return true;
}

static unsigned count_alike(const Patterns *patterns, const AccessPattern *access)
{
    unsigned count = 0;
    for (size_t i = 0; i < patterns->access_count; i++)
        count += is_alike(access, &patterns->accesses[i]);
    return count < UNROLLED_MOST ? count : UNROLLED_MOST;
}

void patterns_find_groups(Arena *arena, Patterns *patterns)
{
    for (size_t i = 0; i < patterns->access_count; i++) {
        AccessPattern *access = &patterns->accesses[i];
        Arena *scratch = arena_new();
        PatternSum step;
        if (access->loop && access->address.known && access->group.count == 1 &&
            pattern_slope(scratch, patterns, &access->address, access->inst->block,
                          PATTERN_LOOPS + access->loop->index, &step) &&
            (step.term_count || step.constant))
            for (unsigned count = count_alike(patterns, access); count > 1; count--)
                if (group_try(arena, scratch, patterns, access, &step, count))
                    break;
        arena_free(scratch);
    }
}

/* How often the step is contained in what one round of the loop before adds to the start; 0: it is not. */
static int64_t rounds_in(const Patterns *patterns, Arena *scratch, const PatternSum *sum, const Block *at,
                         const Loop *loop, const PatternSum *step, const Loop **of)
{
    for (unsigned t = 0; t < sum->term_count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && sum->terms[t].factors[f]; f++) {
            const uint16_t number = sum->terms[t].factors[f];
            const PatternBase *base = &patterns->bases.data[number];
            const Loop *before = base->kind == PATTERN_BASE_ROUND ? base->object : base->after;
            if (!before || before->parent != loop->parent || loop_contains(patterns->loops, before, at))
                continue;
            PatternTerm rest = {.coefficient = sum->terms[t].coefficient * (base->each ? base->each : 1)};
            unsigned count = 0;
            for (unsigned g = 0; g < PATTERN_FACTORS && sum->terms[t].factors[g]; g++)
                if (g != f)
                    rest.factors[count++] = sum->terms[t].factors[g];
            *of = before;
            Terms terms = terms_of_constant(count ? 0 : rest.coefficient);
            if (count)
                terms_add_term(&terms, &rest, 1);
            const PatternSum added = terms_store(scratch, &terms);
            for (int64_t times = 1; times <= UNROLLED_MOST; times++)
                if (is_multiple(step, times, &added))
                    return times;
        }
    return 0;
}

void patterns_find_rests(Patterns *patterns)
{
    Arena *scratch = arena_new();
    for (uint32_t l = 0; l < patterns->loops->loop_count; l++) {
        const Loop *loop = &patterns->loops->loops[l];
        for (size_t p = 0; p < loop->header->phis.count; p++) {
            const PatternSum *sum = &patterns->sums[loop->header->phis.data[p].dst];
            PatternRest rest = {0};
            PatternSum step;
            if (!sum->known || !pattern_slope(scratch, patterns, sum, loop->header, PATTERN_LOOPS + l, &step))
                continue;
            rest.rounds = rounds_in(patterns, scratch, sum, loop->header, loop, &step, &rest.of);
            if (rest.rounds > patterns->rests[l].rounds)
                patterns->rests[l] = rest;
        }
    }
    arena_free(scratch);
}
