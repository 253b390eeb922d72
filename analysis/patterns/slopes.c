/* How sums depend on the indices. */
#include "analysis/patterns/internal.h"

int pattern_index(const Patterns *patterns, const PatternBase *base, const Block *at)
{
    const Sreg *sreg = base->kind == PATTERN_BASE_SREG ? base->object : NULL;
    const Loop *loop = base->kind == PATTERN_BASE_ROUND ? base->object : NULL;
    if (sreg && sreg->axis <= SREG_AXIS_Z && sreg->role == SREG_ROLE_TID)
        return PATTERN_X + sreg->axis;
    if (sreg && sreg->axis <= SREG_AXIS_Z && sreg->role == SREG_ROLE_CTAID)
        return PATTERN_BLOCK_X + sreg->axis;
    return loop && loop_contains(patterns->loops, loop, at) ? (int)(PATTERN_LOOPS + loop->index) : -1;
}

PatternMask pattern_depends(const Patterns *patterns, const PatternSum *sum, const Block *at, PatternMask *unknown)
{
    PatternMask mask = 0;
    *unknown = 0;
    for (unsigned t = 0; t < sum->term_count; t++)
        for (unsigned f = 0; f < PATTERN_FACTORS && sum->terms[t].factors[f]; f++) {
            const PatternBase *base = &patterns->bases.data[sum->terms[t].factors[f]];
            const PatternMask own = pattern_mask_at(patterns->loops, patterns->exits, base->depends, at);
            mask |= own;
            *unknown |= pattern_index(patterns, base, at) < 0 ? own : 0;
        }
    return mask;
}

bool pattern_slope(Arena *arena, const Patterns *patterns, const PatternSum *sum, const Block *at, unsigned index,
                   PatternSum *slope)
{
    const PatternMask bit = pattern_index_bit(index);
    Terms result = terms_of_constant(0);
    for (unsigned t = 0; t < sum->term_count; t++) {
        PatternTerm rest = {.coefficient = sum->terms[t].coefficient};
        unsigned found = 0, count = 0;
        PatternMask others = 0;
        for (unsigned f = 0; f < PATTERN_FACTORS && sum->terms[t].factors[f]; f++) {
            const PatternBase *base = &patterns->bases.data[sum->terms[t].factors[f]];
            if (pattern_index(patterns, base, at) == (int)index) {
                found++;
                continue;
            }
            others |= pattern_mask_at(patterns->loops, patterns->exits, base->depends, at);
            rest.factors[count++] = sum->terms[t].factors[f];
        }
        if (found ? found > 1 || others & ~PATTERN_BLOCKS : (others & bit) != 0)
            return false;
        const PatternSum one = {true, 1, 0, &rest};
        const PatternSum number = {.known = true, .constant = rest.coefficient};
        if (found)
            terms_add(&result, count ? &one : &number, 1);
    }
    *slope = terms_store(arena, &result);
    return sum->known && slope->known;
}
