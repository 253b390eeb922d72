/* Distances between accesses that change places when vectors are made of them.
 *
 *     x[i], y[i] = .., x[i+1], y[i+1] = ..    ->    {x[i], x[i+1]}, {y[i], y[i+1]} = ..
 *
 * is right if y - x is not within a few bytes of zero. The difference of the two sums is a sum, too: where both advance
 * by the same amount in each round of a loop, it is the same in all rounds, and one test before the loop is enough.
 *
 * Threads may disagree on a distance, as between a row of each thread and a vector for all rows: then only those take
 * the other version whose accesses meet. Neither has anything that threads do together (inst_may_version). */
#include "opt/common/trips.h"
#include "opt/replicas/vectors.h"

enum { MOST_TERMS = 24, MOST_EXPANDED = 8 };

/* A sum of more terms than a form has. */
typedef struct LongSum {
    AffineTerm terms[MOST_TERMS];
    unsigned count;
    uint64_t constant;
} LongSum;

static bool sum_add_term(LongSum *sum, const AffineTerm *term, int64_t factor)
{
    uint64_t by = (uint64_t)term->coefficient * (uint64_t)factor;
    for (unsigned i = 0; i < sum->count; i++)
        if (affine_base_equal(&sum->terms[i], term)) {
            sum->terms[i].coefficient = (int64_t)((uint64_t)sum->terms[i].coefficient + by);
            if (!sum->terms[i].coefficient)
                sum->terms[i] = sum->terms[--sum->count];
            return true;
        }
    if (sum->count == MOST_TERMS)
        return false;
    sum->terms[sum->count] = *term;
    sum->terms[sum->count++].coefficient = (int64_t)by;
    return true;
}

static bool sum_add(LongSum *sum, const AffineForm *form, int64_t factor)
{
    bool added = form->bits == 64;
    sum->constant += (uint64_t)form->constant * (uint64_t)factor;
    for (unsigned i = 0; i < form->term_count && added; i++)
        added = sum_add_term(sum, &form->terms[i], factor);
    return added;
}

/* Replaces the phis of one loop's header by the values that they start with, if the sum is the same in all rounds.
 * False if there is none to replace. */
static bool sum_leave_loop(const Vectorizer *vectorizer, LongSum *sum)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    const Loop *loop = NULL, *own;
    LongSum start = {.constant = sum->constant}, step = {0};
    for (unsigned i = 0; i < sum->count; i++)
        if (vector_phi(vectorizer, &sum->terms[i], &own) && (!loop || own->depth > loop->depth))
            loop = own;
    for (unsigned i = 0; i < sum->count && loop; i++) {
        AffineTerm terms[AFFINE_TERMS];
        AffineForm by;
        const Phi *phi = vector_phi(vectorizer, &sum->terms[i], &own);
        if (!phi || own != loop) {
            if (!sum_add_term(&start, &sum->terms[i], 1))
                return false;
            continue;
        }
        RegId first = loop_start(loop, phi);
        if (first == REG_NONE || !loop_step(loop, phi, affine, terms, &by) ||
            !sum_add(&start, &affine->forms[first], sum->terms[i].coefficient) ||
            !sum_add(&step, &by, sum->terms[i].coefficient))
            return false;
    }
    if (!loop || step.count || step.constant)
        return false;
    *sum = start;
    return true;
}

/* Makes the first sum's sign that of the second. */
static bool sums_equal(const AffineForm *a, const AffineForm *b, bool negated)
{
    LongSum sum = {0};
    return sum_add(&sum, a, 1) && sum_add(&sum, b, negated ? 1 : -1) && !sum.count;
}

/* Adds the condition that the sum is not within [low, high]. */
static bool distance_put(Vectorizer *vectorizer, const LongSum *sum, int64_t low, int64_t high)
{
    AffineTerm *terms = ARENA_ARRAY(vectorizer->scratch, AffineTerm, sum->count);
    for (unsigned i = 0; i < sum->count; i++)
        terms[i] = sum->terms[i];
    const AffineForm form = {64, sum->count, 0, terms};
    for (unsigned i = 0; i < vectorizer->distance_count; i++) {
        Distance *have = &vectorizer->distances[i];
        bool same = sums_equal(&have->sum, &form, false);
        if (!same && !sums_equal(&have->sum, &form, true))
            continue;
        int64_t least = same ? low : -high, most = same ? high : -low;
        have->low = least < have->low ? least : have->low;
        have->high = most > have->high ? most : have->high;
        return true;
    }
    if (vectorizer->distance_count == VECTOR_DISTANCES)
        return false;
    vectorizer->distances[vectorizer->distance_count++] = (Distance){form, low, high};
    return true;
}

bool vector_distance_add(Vectorizer *vectorizer, const Inst *moved, const Inst *crossed)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    Access a, b;
    AffineAddress x, y;
    LongSum sum = {0};
    if (!inst_access(moved, &a) || !inst_access(crossed, &b) || !b.weak || !b.address || !b.bytes ||
        crossed->sync != SYNC_NONE || (b.kind != ACCESS_LOAD && b.kind != ACCESS_STORE) ||
        !accesses_have_same_terms(&a, &b))
        return false;
    affine_of_address(affine, moved, a.address, &x);
    affine_of_address(affine, crossed, b.address, &y);
    if (!sum_add(&sum, &y.form, 1) || !sum_add(&sum, &x.form, -1))
        return false;
    for (unsigned i = 0; i < MOST_EXPANDED && sum_leave_loop(vectorizer, &sum); i++)
        ;
    /* They overlap if the crossed one's address, less the other's, is within (-its bytes, the other's bytes). */
    const int64_t constant = (int64_t)sum.constant;
    return sum.count && sum.count <= AFFINE_TERMS && constant > -VECTOR_BYTES * 64 && constant < VECTOR_BYTES * 64 &&
           distance_put(vectorizer, &sum, 1 - (int64_t)b.bytes - constant, (int64_t)a.bytes - 1 - constant);
}
