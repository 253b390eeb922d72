/* Loops along rows, unrolled so that their accesses become vectors.
 *
 *     for (k = 0; k < n; k++)                for (k = 0; k + 3 < n; k += 4)
 *         sum += row[k];             ->          sum += row[k], sum += row[k + 1], ..
 *                                            for (; k < n; k++)
 *                                                sum += row[k];
 *
 * A thread that walks along a row loads 16 bytes in a round (Yang and others, PLDI 2010, section 3.1): the loop is
 * unrolled by what that takes, and the vectorizer, which runs later, joins the accesses and tests their alignment. The
 * loop itself does the rounds that are left over. opt/jam/ puts the rounds side by side: it keeps the order of sums,
 * and executes rounds together only where all of them follow, so that nothing is loaded that was not loaded before. It
 * refuses loops whose rounds cannot change places.
 *
 * An innermost loop qualifies if
 * - its rounds, together, access some global memory without gaps: an element, or as many as a round steps by;
 * - the alignment of these accesses can be shown, or tested by all threads of a block alike;
 * - it may go often enough, as far as bounds of the values tell. */
#include "opt/common/preheader.h"
#include "opt/common/trips.h"
#include "opt/jam/unroll_jam.h"
#include "opt/passes.h"
#include "opt/replicas/vectors.h"

enum {
    MOST_INSTS = 512, /* of the unrolled loop */
    MOST_LEAVES = 24,
};

typedef struct RowLoop {
    Vectorizer vectorizer;
    const Loop *loop;
    unsigned insts;
} RowLoop;

static bool is_invariant(const RowLoop *row, const AffineTerm *term)
{
    Vectorizer const *vectorizer = &row->vectorizer;
    const AffineForm one = {64, 1, 0, term};
    RegIdVec leaves = {0};
    if (!affine_leaves(vectorizer->scratch, analyses_affine(vectorizer->analyses), &one, MOST_LEAVES, &leaves))
        return false;
    for (size_t i = 0; i < leaves.count; i++) {
        const Block *block = analyses_values(vectorizer->analyses)->defs[leaves.data[i]].block;
        if (!block || loop_contains(analyses_loops(vectorizer->analyses), row->loop, block))
            return false;
    }
    return true;
}

/* The 32-bit sum that the term extends; NULL: it does not extend one. */
static const AffineForm *extended_sum(const RowLoop *row, const AffineTerm *term)
{
    const Affine *affine = analyses_affine(row->vectorizer.analyses);
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return NULL;
    return affine->forms[term->reg].bits == 32 ? &affine->forms[term->reg] : NULL;
}

/* Adds by how much the phis of the loop that are terms of the sum grow in each round, times 'factor'. False if the sum
 * has other terms that are not the same in all rounds. */
static bool phi_steps(const RowLoop *row, const AffineForm *form, uint64_t factor, uint64_t *step)
{
    const Vectorizer *vectorizer = &row->vectorizer;
    for (unsigned i = 0; i < form->term_count; i++) {
        const AffineTerm *term = &form->terms[i];
        const Loop *loop = NULL;
        const Phi *phi = vector_phi(vectorizer, term, &loop);
        AffineTerm terms[AFFINE_TERMS];
        AffineForm by;
        if (!phi || loop != row->loop) {
            const AffineForm *narrow = extended_sum(row, term);
            if (!is_invariant(row, term) &&
                (!narrow || form->bits == 32 || !phi_steps(row, narrow, factor * (uint64_t)term->coefficient, step)))
                return false;
            continue;
        }
        if (!loop_step(loop, phi, analyses_affine(vectorizer->analyses), terms, &by) || by.term_count)
            return false;
        *step += factor * (uint64_t)term->coefficient * (uint64_t)by.constant;
    }
    return true;
}

/* By how many bytes the address grows in each round, if indices do not wrap; 0: by none, or by what is not known. */
static int64_t address_step(const RowLoop *row, const AffineForm *form)
{
    uint64_t step = 0;
    return phi_steps(row, form, 1, &step) ? (int64_t)step : 0;
}

/* The distance of two addresses with the same terms, if indices do not wrap. */
static bool address_distance(const RowLoop *row, const AffineForm *x, const AffineForm *y, int64_t *distance)
{
    uint64_t way = (uint64_t)y->constant - (uint64_t)x->constant;
    if (x->term_count != y->term_count)
        return false;
    for (unsigned i = 0; i < x->term_count; i++) {
        const AffineTerm *a = &x->terms[i], *b = &y->terms[i];
        const AffineForm *narrow = extended_sum(row, a), *other = extended_sum(row, b);
        if (a->coefficient != b->coefficient)
            return false;
        if (affine_base_equal(a, b))
            continue;
        if (a->base != b->base || !narrow || !other)
            return false;
        AffineForm moved = *narrow;
        moved.constant = other->constant;
        if (affine_compare(&moved, 1, other, 1) != ALIAS_SAME)
            return false;
        way += (uint64_t)a->coefficient * ((uint64_t)other->constant - (uint64_t)narrow->constant);
    }
    *distance = (int64_t)way;
    return true;
}

/* True if every round executes the access, once. */
static bool is_in_every_round(const RowLoop *row, const PlainAccess *access)
{
    const Block *block = access->inst->block;
    return loop_of(analyses_loops(row->vectorizer.analyses), block) == row->loop &&
           dominance_has(analyses_dominance(row->vectorizer.analyses), block, row->loop->latches[0]);
}

/* True if a round's accesses to the array of this one leave no gap of the step; 'is_shown': their distances are known,
 * whether or not indices wrap. */
static bool is_whole(const RowLoop *row, const PlainAccess *access, unsigned step, bool *is_shown)
{
    const Vectorizer *vectorizer = &row->vectorizer;
    const Locations *locations = vectorizer->locations;
    const AffineForm *form = &vector_location(vectorizer, access)->form;
    const unsigned bytes = vector_location(vectorizer, access)->bytes;
    unsigned found = 0;
    *is_shown = true;
    for (uint32_t i = 0; i < locations->access_count; i++) {
        const PlainAccess *other = &locations->accesses[i];
        int64_t distance, shown;
        if (other->count == 1 && other->is_store == access->is_store && other->inst->block == access->inst->block &&
            other->inst->signature == access->inst->signature &&
            address_distance(row, form, &vector_location(vectorizer, other)->form, &distance) && distance >= 0 &&
            distance < step && distance % bytes == 0) {
            found |= 1u << distance / bytes;
            *is_shown &= vector_related(vectorizer, access, other, &shown);
        }
    }
    return found == (1u << step / bytes) - 1;
}

/* By which factor the loop has to be unrolled for a vector of the access; 1: it has none. */
static unsigned access_factor(RowLoop *row, const PlainAccess *access)
{
    Vectorizer *vectorizer = &row->vectorizer;
    const Location *location = vector_location(vectorizer, access);
    if (!vector_is_element(vectorizer, access) || location->lies_in != SPACE_GLOBAL || location->form.bits != 64 ||
        !is_in_every_round(row, access))
        return 1;
    const int64_t step = address_step(row, &location->form), size = step < 0 ? -step : step;
    bool is_shown;
    if (!size || size > VECTOR_BYTES || VECTOR_BYTES % size || size % location->bytes ||
        !is_whole(row, access, (unsigned)size, &is_shown))
        return 1;
    /* The test of the unrolled loop shows that its indices do not wrap: that alone may be worth it. */
    if (size == VECTOR_BYTES)
        return !is_shown && vector_is_aligned(vectorizer, &location->form, VECTOR_BYTES) ? 2 : 1;
    for (unsigned unit = VECTOR_BYTES; unit > size && unit >= 4; unit /= 2) {
        AffineForm first = location->form;
        vectorizer->term_count = 0;
        vectorizer->factor = unit / (unsigned)size;
        if (vector_is_aligned(vectorizer, &first, unit))
            return vectorizer->factor;
    }
    return 1;
}

static bool is_large(const RowLoop *row, unsigned factor)
{
    return row->insts * factor > MOST_INSTS;
}

/* The most that one of the loop's accesses asks for; 1: none asks for any. */
static unsigned loop_factor(RowLoop *row)
{
    const Locations *locations = row->vectorizer.locations;
    unsigned factor = 1;
    for (uint32_t b = 0; b < row->loop->block_count; b++)
        for (const Inst *inst = row->loop->blocks[b]->first; inst; inst = inst->next)
            row->insts++;
    for (uint32_t i = 0; i < locations->access_count; i++) {
        const PlainAccess *access = &locations->accesses[i];
        unsigned own = access->count == 1 ? access_factor(row, access) : 1;
        factor = own > factor ? own : factor;
    }
    while (factor > 1 && is_large(row, factor))
        factor /= 2;
    return factor;
}

/* True if the phi counts down from a small number, as in what is left over of a loop that a compiler has unrolled. */
static bool counts_down(const Loop *loop, const Phi *phi, const Affine *affine, unsigned factor)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    const RegId start = loop_start(loop, phi);
    if (start == REG_NONE || !loop_step(loop, phi, affine, terms, &step) || step.term_count || step.constant >= 0)
        return false;
    return affine_reg_bounds(affine, start).high < factor * (uint64_t)-step.constant;
}

/* True if the loop seems to go fewer rounds than the factor. */
static bool is_short(const RowLoop *row, unsigned factor, Analyses *analyses)
{
    const Affine *affine = analyses_affine(analyses);
    const Block *header = row->loop->header;
    TripCount trips;
    for (size_t p = 0; p < header->phis.count; p++)
        if (counts_down(row->loop, &header->phis.data[p], affine, factor))
            return true;
    return trip_count_find(row->loop, analyses_loops(analyses), analyses, &trips) &&
           trip_count_bound(&trips, affine) < factor;
}

static void note_loop(PassContext *context, const Block *header, VectorFate fate, unsigned rounds,
                      const Refusal *refusal)
{
    const Inst *first = header->first;
    vector_record(context->arena, &context->vectors,
                  &(VectorNote){.fate = fate, .span = first ? first->span : (Span){0, 0},
                                .loc = first ? first->loc : NULL, .count = rounds, .refusal = *refusal});
}

/* Sets the factor of the loop with this header; 1: it stays as it is. */
static unsigned find_factor(Arena *scratch, PassContext *context, Block *header)
{
    const LoopForest *loops = analyses_loops(context->analyses);
    RowLoop row = {.vectorizer = {.scratch = scratch, .body = context->body, .analyses = context->analyses,
                                  .everywhere = true, .by_thread = context->tests_by_thread},
                   .loop = loop_headed(loops, header)};
    const Loop *loop = row.loop;
    if (!loop || loop->end != loop->index + 1 || loop->latch_count != 1 || !loop->preheader || header->is_cold)
        return 1;
    row.vectorizer.unrolled = loop;
    row.vectorizer.locations =
        locations_compute(scratch, context->body, analyses_memory(context->analyses),
                          analyses_values(context->analyses), LOCATION_STORES);
    unsigned factor = row.vectorizer.locations ? loop_factor(&row) : 1;
    if (factor == 1 || !is_short(&row, factor, context->analyses))
        return factor;
    Refusal refusal;
    refusal_set(&refusal, context->body, NULL, REFUSAL_VECTOR_FEW, NULL);
    note_loop(context, header, VECTOR_LEFT, 0, &refusal);
    return 1;
}

static bool loop_unroll(PassContext *context, Block *header)
{
    Arena *scratch = arena_new();
    Refusal refusal = {0};
    unsigned factor = find_factor(scratch, context, header);
    bool done = factor > 1 && loop_unroll_jam(context->body, header, factor, &refusal) != NULL;
    if (factor > 1) {
        note_loop(context, header, done ? VECTOR_UNROLLED : VECTOR_LEFT, done ? factor : 0, &refusal);
        analyses_invalidate(context->analyses, ANALYSES_ALL);
    }
    arena_free(scratch);
    return done;
}

bool pass_row_vectors(PassContext *context)
{
    Arena *scratch = arena_new();
    VEC(Block *) headers = {0};
    bool changed = loops_add_preheaders(context->body, context->analyses);
    const LoopForest *loops = analyses_loops(context->analyses);
    for (uint32_t i = 0; i < loops->loop_count; i++)
        VEC_PUSH(scratch, headers, loops->loops[i].header);
    for (size_t i = 0; i < headers.count; i++) {
        bool is_there = false;
        for (size_t b = 0; b < context->body->blocks.count; b++)
            is_there |= context->body->blocks.data[b] == headers.data[i];
        changed |= is_there && loop_unroll(context, headers.data[i]);
    }
    arena_free(scratch);
    return changed;
}
