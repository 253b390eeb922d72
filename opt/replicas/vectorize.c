/* Loads and stores of neighbours in memory, as vectors.
 *
 * With the stride 'unit' the replicas of a thread access neighbours: four accesses of 4 bytes become one of 16 (Yang
 * and others, PLDI 2010, section 3.1), in one block, where nothing between them may touch what they access or orders
 * memory, except that stores of other replicas may be passed. A vector's address must be a multiple of its size
 * (vector_alignment.c), also by a test that control has passed already. The rest is tested before
 * the block or the outermost loop around it, and the code that follows is made twice (vector_versions.c). A place that
 * moves from round to round in a way that only the launch knows, as half of half of the block, is tested in each round,
 * if that saves more than the test costs.
 *
 * Everywhere, as in code that is not coarsened, elements may also have one or two bytes: words are loaded, and the
 * elements are taken from them (vector_pieces.c). Loads and stores that are in each other's way change places where a
 * test shows that they are apart (vector_distances.c). */
#include "opt/common/refusal.h"
#include "opt/passes.h"
#include "opt/replicas/vectorize.h"
#include "opt/common/trips.h"
#include "opt/replicas/vectors.h"

#include <string.h>

enum {
    MOST_ACCESSES = 512, /* of a block */
    MOST_VERSIONS = 2,
    MOST_VERSIONS_EVERYWHERE = 8,
};

/* True if the access can be part of a vector. */
static bool is_part(const Vectorizer *vectorizer, const PlainAccess *access)
{
    Access decoded;
    return access->count == 1 && access->inst->operand_count == 2 && access->data->kind == OPERAND_REG &&
           vector_is_element(vectorizer, access) && inst_access(access->inst, &decoded) &&
           address_base(access->inst, decoded.address) != REG_NONE && !decoded.address->unified &&
           !access->inst->pragma;
}

/* Says why the candidate is no vector, and gives false. */
static bool obstacle_set(Vectorizer *vectorizer, const Inst *inst, RefusalReason reason)
{
    vectorizer->obstacle = reason;
    vectorizer->obstacle_inst = inst;
    return false;
}

/* True if they are clones of one plain access for different replicas: accesses of different threads, which do not
 * conflict in a program without data races. Vectors, which are built anew, are clones of nothing. */
static bool of_different_threads(const Inst *a, const Inst *b)
{
    return a->operands == b->operands && a->form == b->form && a->replica != b->replica;
}

/* True if the two accesses, one of which writes, may change places: proven, or to be tested. Strong accesses order
 * others. */
static bool may_cross(Vectorizer *vectorizer, const Inst *moved, const Inst *crossed)
{
    if (crossed->sync != SYNC_NONE || crossed->effects & EFFECT_VOLATILE)
        return false;
    return of_different_threads(moved, crossed) ||
           accesses_apart(analyses_memory(vectorizer->analyses), moved, crossed) ||
           (vectorizer->everywhere && !vectorizer->proven_only && vector_distance_add(vectorizer, moved, crossed));
}

static bool is_of_vector(const Vector *vector, const Inst *inst)
{
    for (unsigned i = 0; i < vector->count; i++)
        if (vector->parts[i]->inst == inst)
            return true;
    return false;
}

/* True if the vector's accesses may cross an instruction between them: it does not end what is known of their location,
 * and, for stores, does not read it. */
static bool may_pass(Vectorizer *vectorizer, const Vector *vector, const Inst *inst)
{
    const BitSet *ended = vectorizer->locations->ended[inst->id];
    bool memory = inst->effects & (EFFECT_READ | EFFECT_WRITE), stores = vector->first->is_store;
    bool leaves = inst->effects & EFFECT_CONTROL || inst_is_call(inst), traps = inst->effects & EFFECT_TRAP && !memory;
    /* Other threads would see a fault or an exit between two stores; a load might fault before the thread leaves. */
    if ((leaves && stores) || ((leaves || traps) && vectorizer->everywhere))
        return false;
    for (unsigned i = 0; i < vector->count; i++) {
        /* Loads move up, stores down: the others stay on their side of it. */
        if (vectorizer->everywhere && (vector->parts[i]->inst->id < inst->id) != stores)
            continue;
        bool ends = ended && bitset_has(ended, vector->parts[i]->locations[0]);
        if ((ends || (stores && memory)) && !(memory && may_cross(vectorizer, vector->parts[i]->inst, inst)))
            return false;
    }
    return true;
}

static bool may_join(Vectorizer *vectorizer, const Vector *vector)
{
    for (const Inst *inst = vector->first->inst->next; inst != vector->last->inst; inst = inst->next)
        if (!is_of_vector(vector, inst) && !may_pass(vectorizer, vector, inst))
            return obstacle_set(vectorizer, inst, REFUSAL_VECTOR_ORDER);
    return true;
}

/* The access whose place the vector takes. */
static const PlainAccess *vector_place(const Vector *vector)
{
    return vector->first->is_store ? vector->last : vector->first;
}

/* True if accesses of the two vectors that change places, because both are moved, may do so. */
static bool may_be_beside(Vectorizer *vectorizer, const Vector *a, const Vector *b)
{
    bool before = vector_place(a)->inst->id < vector_place(b)->inst->id;
    if (!a->first->is_store && !b->first->is_store)
        return true;
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned k = 0; k < b->count; k++) {
            const Inst *x = a->parts[i]->inst, *y = b->parts[k]->inst;
            if ((x->id < y->id) != before && !may_cross(vectorizer, x, y))
                return obstacle_set(vectorizer, y, REFUSAL_VECTOR_BESIDE);
        }
    return true;
}

static bool may_be_beside_all(Vectorizer *vectorizer, const Vector *vector)
{
    for (size_t i = 0; i < vectorizer->vectors.count; i++)
        if (!may_be_beside(vectorizer, vector, &vectorizer->vectors.data[i]))
            return false;
    return true;
}

static void vector_order(Vector *vector)
{
    vector->first = vector->last = vector->parts[0];
    for (unsigned i = 1; i < vector->count; i++) {
        if (vector->parts[i]->inst->id < vector->first->inst->id)
            vector->first = vector->parts[i];
        if (vector->parts[i]->inst->id > vector->last->inst->id)
            vector->last = vector->parts[i];
    }
}

/* The accesses at the access's address and after it, as many as make a vector of 'count'. */
static bool vector_collect(const Vectorizer *vectorizer, const BitSet *taken, uint32_t from, unsigned count,
                           Vector *vector)
{
    const Locations *locations = vectorizer->locations;
    const PlainAccess *base = &locations->accesses[from];
    int64_t bytes = vector_location(vectorizer, base)->bytes, distance;
    *vector = (Vector){.block = base->inst->block, .count = count};
    for (uint32_t i = vectorizer->begin; i < vectorizer->end; i++) {
        const PlainAccess *access = &locations->accesses[i];
        if (access->is_store != base->is_store || bitset_has(taken, i) || !is_part(vectorizer, access) ||
            !vector_related(vectorizer, base, access, &distance) || distance < 0 || distance >= count * bytes ||
            distance % bytes)
            continue;
        const PlainAccess **part = &vector->parts[distance / bytes];
        /* If two stores are to one place, neither is chosen; if two loads are, the first is. */
        if (*part && base->is_store)
            return false;
        if (!*part)
            *part = access;
    }
    for (unsigned i = 0; i < count; i++)
        if (!vector->parts[i])
            return false;
    vector_order(vector);
    return true;
}

/* By how many bytes the address grows in each round of the loop around the block; 0: in none, or by what is unknown. */
static uint64_t row_step(const Vectorizer *vectorizer, const AffineForm *form, const Block *block)
{
    const Loop *loop = loop_of(analyses_loops(vectorizer->analyses), block);
    int64_t step = 0;
    if (!loop || !loop->preheader ||
        !loop_sum_step(vectorizer->scratch, loop, vectorizer->analyses, form, &step))
        return 0;
    return (uint64_t)(step < 0 ? -step : step);
}

/* Whether the vector is only a part of what a round of a loop reads of a row. Tiles are made of whole elements of a
 * round, all of one size. */
static bool is_piece_of_row(const Vectorizer *vectorizer, const Vector *vector, uint64_t unit)
{
    const PlainAccess *first = vector->parts[0];
    const Location *location = vector_location(vectorizer, first);
    const uint64_t step = row_step(vectorizer, &location->form, vector->block);
    uint64_t read = 0;
    for (uint32_t i = vectorizer->begin; i < vectorizer->end; i++) {
        const PlainAccess *access = &vectorizer->locations->accesses[i];
        int64_t distance;
        if (access->is_store == first->is_store && is_part(vectorizer, access) &&
            vector_related(vectorizer, first, access, &distance) && distance > -(int64_t)step &&
            distance < (int64_t)step)
            read += location->bytes;
    }
    return step <= VECTOR_BYTES && unit < step && read >= step;
}

/* Sets the range of the block's accesses; false if there are too few or too many. */
static bool block_accesses(Vectorizer *vectorizer, const Block *block)
{
    const Locations *locations = vectorizer->locations;
    uint32_t begin = 0, end;
    while (begin < locations->access_count && locations->accesses[begin].inst->block != block)
        begin++;
    for (end = begin; end < locations->access_count && locations->accesses[end].inst->block == block; end++)
        ;
    vectorizer->begin = begin;
    vectorizer->end = end;
    return end - begin >= 2 && end - begin <= MOST_ACCESSES;
}

/* The vector of 'count' accesses that begins with the access 'from', with the tests that it takes. False, with the
 * vectorizer's tests as before, if there is none. */
static bool vector_find(Vectorizer *vectorizer, const BitSet *taken, uint32_t from, unsigned count, Vector *vector)
{
    const PlainAccess *access = &vectorizer->locations->accesses[from];
    if (bitset_has(taken, from) || !is_part(vectorizer, access))
        return false;
    const Location *location = vector_location(vectorizer, access);
    const uint64_t unit = (uint64_t)count * location->bytes;
    const unsigned terms = vectorizer->term_count, distances = vectorizer->distance_count;
    Distance before[VECTOR_DISTANCES];
    memcpy(before, vectorizer->distances, sizeof before);
    if (unit > VECTOR_BYTES || (location->bytes < 4 && unit < 4) ||
        !vector_collect(vectorizer, taken, from, count, vector) || !vector_spelling(vectorizer, vector))
        return false;
    if (!vector_is_aligned(vectorizer, &location->form, unit) ||
        (vectorizer->everywhere && !vectorizer->by_thread && is_piece_of_row(vectorizer, vector, unit)))
        return obstacle_set(vectorizer, NULL, REFUSAL_VECTOR_ALIGNMENT);
    if (may_join(vectorizer, vector) && may_be_beside_all(vectorizer, vector))
        return true;
    vectorizer->term_count = terms;
    vectorizer->distance_count = distances;
    memcpy(vectorizer->distances, before, sizeof before);
    return false;
}

static void note_add(Vectorizer *vectorizer, const VectorNote *note)
{
    if (vectorizer->list)
        vector_record(vectorizer->list_arena, vectorizer->list, note);
}

/* Remembers why the access is in no vector. */
static void note_obstacle(Vectorizer *vectorizer, uint32_t access)
{
    const Inst *inst = vectorizer->locations->accesses[access].inst;
    VectorNote *note = &vectorizer->left[access - vectorizer->begin];
    if (vectorizer->obstacle == REFUSAL_NONE || vectorizer->proven_only || !vectorizer->list)
        return;
    *note = (VectorNote){.fate = VECTOR_LEFT, .span = inst->span, .loc = inst->loc};
    refusal_set(&note->refusal, vectorizer->body, vectorizer->obstacle_inst, vectorizer->obstacle, NULL);
}

/* Adds notes about the accesses of the block that are in no vector. */
static void note_left(Vectorizer *vectorizer, const BitSet *taken)
{
    for (uint32_t i = vectorizer->begin; i < vectorizer->end && !vectorizer->proven_only && vectorizer->list; i++)
        if (!bitset_has(taken, i) && is_refusal(&vectorizer->left[i - vectorizer->begin].refusal))
            note_add(vectorizer, &vectorizer->left[i - vectorizer->begin]);
}

static void note_vector(Vectorizer *vectorizer, const Vector *vector, bool is_tested)
{
    const Inst *inst = vector->first->inst;
    const unsigned bytes = vector->count * vector_location(vectorizer, vector->first)->bytes;
    note_add(vectorizer, &(VectorNote){.fate = VECTOR_JOINED, .span = inst->span, .loc = inst->loc,
                                       .is_store = vector->first->is_store, .is_tested = is_tested,
                                       .count = vector->count, .bytes = bytes});
}

static void note_untested(Vectorizer *vectorizer)
{
    for (size_t i = 0; i < vectorizer->vectors.count; i++) {
        const Inst *inst = vectorizer->vectors.data[i].first->inst;
        VectorNote note = {.fate = VECTOR_LEFT, .span = inst->span, .loc = inst->loc};
        refusal_set(&note.refusal, vectorizer->body, NULL, REFUSAL_VECTOR_TEST, NULL);
        note_add(vectorizer, &note);
    }
}

/* The vectors of the block, the longest first, and how many accesses they save. */
static unsigned vectors_find(Vectorizer *vectorizer, const Block *block, bool proven_only)
{
    unsigned saved = 0;
    vectorizer->proven_only = proven_only;
    vectorizer->block = block;
    vectorizer->vectors.count = 0;
    vectorizer->term_count = vectorizer->distance_count = 0;
    vectorizer->unit = 0;
    if (!block_accesses(vectorizer, block))
        return 0;
    vectorizer->left = ARENA_ARRAY(vectorizer->scratch, VectorNote, vectorizer->end - vectorizer->begin);
    BitSet taken = bitset_new(vectorizer->scratch, vectorizer->locations->access_count);
    for (unsigned count = vectorizer->everywhere ? VECTOR_PARTS : 4; count > 1; count /= 2)
        for (uint32_t i = vectorizer->begin; i < vectorizer->end; i++) {
            Vector vector;
            vectorizer->obstacle = REFUSAL_NONE;
            if (!vector_find(vectorizer, &taken, i, count, &vector)) {
                note_obstacle(vectorizer, i);
                continue;
            }
            const uint64_t unit = (uint64_t)count * vector_location(vectorizer, vector.parts[0])->bytes;
            if (unit > vectorizer->unit)
                vectorizer->unit = unit;
            for (unsigned e = 0; e < count; e++)
                bitset_add(&taken, (size_t)(vector.parts[e] - vectorizer->locations->accesses));
            VEC_PUSH(vectorizer->scratch, vectorizer->vectors, vector);
            saved += count - 1;
        }
    note_left(vectorizer, &taken);
    return saved;
}

/* Joins the block's accesses; *versions counts the tests made. */
static bool block_vectorize(Vectorizer *vectorizer, Block *block, unsigned *versions)
{
    const unsigned most = vectorizer->everywhere ? MOST_VERSIONS_EVERYWHERE : MOST_VERSIONS;
    unsigned proven = vectors_find(vectorizer, block, true);
    unsigned saved = vectors_find(vectorizer, block, false);
    size_t blocks = vectorizer->body->blocks.count;
    bool changed = saved > 0, is_tested = vectorizer->term_count || vectorizer->distance_count;
    if (changed && (vectorizer->term_count || vectorizer->distance_count)) {
        changed = *versions < most && saved > proven && vector_versions_make(vectorizer, block, saved - proven);
        *versions += changed;
        is_tested = changed;
        if (!changed)
            note_untested(vectorizer);
        if (!changed && proven && vectorizer->body->blocks.count == blocks)
            changed = vectors_find(vectorizer, block, true) > 0;
    }
    for (size_t i = 0; i < vectorizer->vectors.count && changed; i++) {
        note_vector(vectorizer, &vectorizer->vectors.data[i], is_tested);
        vector_build(vectorizer, &vectorizer->vectors.data[i]);
    }
    return changed;
}

unsigned vectors_count(Body *body, Analyses *analyses, bool on_slow_sides, bool everywhere)
{
    Arena *scratch = arena_new();
    Vectorizer vectorizer = {.scratch = scratch, .body = body, .analyses = analyses, .everywhere = everywhere,
                             .by_thread = true};
    unsigned saved = 0;
    vectorizer.locations =
        locations_compute(scratch, body, analyses_memory(analyses), analyses_values(analyses), LOCATION_STORES);
    for (size_t b = 0; b < body->blocks.count && vectorizer.locations; b++)
        if (body->blocks.data[b]->is_cold == on_slow_sides)
            saved += vectors_find(&vectorizer, body->blocks.data[b], false);
    arena_free(scratch);
    return saved;
}

bool body_vectorize(Body *body, Analyses *analyses, const VectorWish *wish, Arena *list_arena, VectorList *list)
{
    Arena *scratch = arena_new(), *arena = arena_new();
    VEC(Block *) blocks = {0};
    Vectorizer vectorizer = {.scratch = arena, .lasting = scratch, .body = body, .analyses = analyses,
                             .everywhere = wish->everywhere, .by_thread = wish->by_thread, .list = list,
                             .list_arena = list_arena};
    unsigned versions = 0;
    bool changed = false, is_current = false;
    /* Elsewhere, the slow sides of tests are not worth more of them. */
    for (size_t b = 0; b < body->blocks.count; b++)
        if (!wish->everywhere || !body->blocks.data[b]->is_cold)
            VEC_PUSH(scratch, blocks, body->blocks.data[b]);
    for (size_t b = 0; b < blocks.count; b++) {
        if (!is_current) {
            arena_clear(arena);
            vectorizer.vectors = (typeof(vectorizer.vectors)){0};
            analyses_invalidate(analyses, ANALYSES_ALL);
            vectorizer.locations = locations_compute(arena, body, analyses_memory(analyses),
                                                     analyses_values(analyses), LOCATION_STORES);
            is_current = true;
        }
        if (!vectorizer.locations)
            break;
        size_t count = body->blocks.count;
        is_current = !block_vectorize(&vectorizer, blocks.data[b], &versions);
        changed |= !is_current;
        /* A block that was split for nothing. */
        is_current &= body->blocks.count == count;
    }
    analyses_invalidate(analyses, ANALYSES_ALL);
    arena_free(arena);
    arena_free(scratch);
    return changed;
}

bool pass_vectorize(PassContext *context)
{
    return body_vectorize(context->body, context->analyses, &(VectorWish){0}, NULL, NULL);
}
