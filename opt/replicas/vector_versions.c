/* Tests of what vectors need, and the two versions of the code that follows. */
#include "opt/common/sums.h"
#include "opt/common/version.h"
#include "opt/replicas/vectors.h"

#include <string.h>

enum {
    MOST_COPIED = 3000,  /* instructions that are made twice */
    LEAST_SAVED = 2,     /* accesses: fewer do not pay for a test */
    LEAST_REPEATED = 3,  /* nor, for each term, for one in every round of a loop */
};

/* The place where the block's test can be made: the end of the preheader of a loop around it, the outermost that has
 * all that is needed, or before its first access. */
static Block *test_place(const Vectorizer *vectorizer, const Block *block, unsigned level)
{
    const Loop *loop = loop_of(analyses_loops(vectorizer->analyses), block);
    unsigned depth = loop ? loop->depth : 0;
    if (level >= depth)
        return NULL;
    while (loop->depth > level + 1)
        loop = loop->parent;
    return loop->preheader;
}

/* All terms, or-ed together, are multiples of the unit; REG_NONE if there are none, and *built says whether they could
 * be computed. */
static RegId alignment_build(const Vectorizer *vectorizer, const SumPlace *place, bool *built)
{
    Body *body = vectorizer->body;
    RegId all = REG_NONE, rest, fits;
    *built = true;
    for (unsigned i = 0; i < vectorizer->term_count; i++) {
        AffineForm form = {64, 1, 0, &vectorizer->terms[i]};
        RegId value = sum_build(place, &form), both;
        *built &= value != REG_NONE;
        if (!*built)
            return REG_NONE;
        if (all == REG_NONE) {
            all = value;
            continue;
        }
        both = sum_reg(place, TYPE_B64, "%bits");
        sum_put(place, inst_build(body, "or.b64", "drr", both, all, value));
        all = both;
    }
    if (all == REG_NONE)
        return REG_NONE;
    rest = sum_reg(place, TYPE_B64, "%bits");
    fits = sum_reg(place, TYPE_PRED, "%aligned");
    sum_put(place, inst_build(body, "and.b64", "dri", rest, all, (int64_t)vectorizer->unit - 1));
    sum_put(place, inst_build(body, "setp.eq.u64", "dri", fits, rest, (int64_t)0));
    return fits;
}

/* The distance is not within its bounds, and 'holds' (REG_NONE: true) holds. */
static RegId distance_build(const Vectorizer *vectorizer, const SumPlace *place, const Distance *distance, RegId holds)
{
    Body *body = vectorizer->body;
    RegId value = sum_build(place, &distance->sum), way, apart;
    if (value == REG_NONE)
        return REG_NONE;
    way = sum_reg(place, TYPE_B64, "%way");
    apart = sum_reg(place, TYPE_PRED, "%apart");
    sum_put(place, inst_build(body, "sub.s64", "dri", way, value, distance->low));
    if (holds == REG_NONE)
        sum_put(place, inst_build(body, "setp.gt.u64", "dri", apart, way, distance->high - distance->low));
    else
        sum_put(place, inst_build(body, "setp.gt.and.u64", "drir", apart, way, distance->high - distance->low, holds));
    return apart;
}

/* A predicate that says whether the vectors may be used; REG_NONE if that cannot be computed at the place. */
static RegId test_build(const Vectorizer *vectorizer, const SumPlace *place)
{
    bool built;
    Inst *end = sum_place_end(place);
    RegId holds = alignment_build(vectorizer, place, &built);
    for (unsigned i = 0; i < vectorizer->distance_count && built; i++) {
        holds = distance_build(vectorizer, place, &vectorizer->distances[i], holds);
        built = holds != REG_NONE;
    }
    if (!built)
        holds = REG_NONE;
    if (holds == REG_NONE)
        sum_place_undo(place, end);
    return holds;
}

static Inst *block_end(const Block *block)
{
    return block->last && inst_is_terminator(block->last) ? block->last : NULL;
}

/* True if the block leads only to blocks of the loop that others lead to as well: no round, and nothing after the loop,
 * is in the part that body_version() copies. */
static bool stays_in_loop(const Vectorizer *vectorizer, const Loop *loop, const Block *block)
{
    const LoopForest *loops = analyses_loops(vectorizer->analyses);
    const Dominance *dominance = analyses_dominance(vectorizer->analyses);
    bool stays = block != loop->header;
    for (size_t b = 0; b < vectorizer->body->blocks.count && stays; b++) {
        const Block *other = vectorizer->body->blocks.data[b];
        stays = !dominance_has(dominance, block, other) || loop_contains(loops, loop, other);
    }
    return stays;
}

/* The blocks from a loop's header on to where all paths meet again after the loop. */
typedef struct Region {
    VEC(Block *) blocks; /* the header first */
    Block *join;
} Region;

/* The first block outside the loop that all paths from its header come to; NULL: there is none. */
static Block *loop_join(const Vectorizer *vectorizer, const Loop *loop)
{
    const Dominance *after = analyses_postdominance(vectorizer->analyses);
    const LoopForest *loops = analyses_loops(vectorizer->analyses);
    const Body *body = vectorizer->body;
    uint32_t at = loop->header->id;
    do
        at = after->parent[at];
    while (at < body->blocks.count && loop_contains(loops, loop, body->blocks.data[at]));
    return at < body->blocks.count ? body->blocks.data[at] : NULL;
}

/* False if the region has other ways in. */
static bool region_find(const Vectorizer *vectorizer, const Loop *loop, Region *region)
{
    Arena *scratch = vectorizer->scratch;
    const Dominance *dominance = analyses_dominance(vectorizer->analyses);
    BitSet seen = bitset_new(scratch, vectorizer->body->blocks.count);
    *region = (Region){.join = loop_join(vectorizer, loop)};
    if (!region->join || !loop->preheader)
        return false;
    bitset_add(&seen, region->join->id);
    bitset_add(&seen, loop->header->id);
    VEC_PUSH(scratch, region->blocks, loop->header);
    for (size_t i = 0; i < region->blocks.count; i++)
        FOR_EACH_SUCC(region->blocks.data[i], succ) {
            if (bitset_has(&seen, succ->id))
                continue;
            if (!dominance_has(dominance, loop->header, succ))
                return false;
            bitset_add(&seen, succ->id);
            VEC_PUSH(scratch, region->blocks, succ);
        }
    return true;
}

/* Tests before a loop, and makes that loop, and what follows until its paths meet, twice. */
static bool loop_version(Vectorizer *vectorizer, const Loop *loop)
{
    Region region;
    if (!region_find(vectorizer, loop, &region) ||
        !blocks_may_version(region.blocks.data, region.blocks.count, MOST_COPIED))
        return false;
    SumPlace place = sum_place_new(vectorizer->body, loop->preheader, vectorizer->analyses);
    RegId fits = test_build(vectorizer, &place);
    if (fits == REG_NONE)
        return false;
    blocks_version(vectorizer->body, analyses_values(vectorizer->analyses), region.blocks.data, region.blocks.count,
                   loop->preheader, region.join, fits, NULL);
    return true;
}

/* The first, or last, place of an access of the vectors. */
static Inst *vectors_end(const Vectorizer *vectorizer, bool last)
{
    Inst *end = NULL;
    for (size_t i = 0; i < vectorizer->vectors.count; i++) {
        const Vector *vector = &vectorizer->vectors.data[i];
        Inst *inst = last ? vector->last->inst : vector->first->inst;
        if (!end || (inst->id > end->id) == last)
            end = inst;
    }
    return end;
}

/* Tests before the block's first access, and makes what is between that and its last twice. */
static bool segment_version(Vectorizer *vectorizer, Block *block)
{
    Body *body = vectorizer->body;
    Inst *first = vectors_end(vectorizer, false), *next = vectors_end(vectorizer, true)->next;
    SumPlace place = sum_place_new(body, block, vectorizer->analyses);
    for (const Inst *inst = first; inst != next; inst = inst->next)
        if (inst_is_terminator(inst) || !inst_may_version(inst))
            return false;
    Block *middle = body_split(body, first), *rest = next ? body_split(body, next) : body_split_end(body, middle);
    analyses_invalidate(vectorizer->analyses, ANALYSES_ALL);
    place = sum_place_new(body, block, vectorizer->analyses);
    RegId fits = test_build(vectorizer, &place);
    if (fits == REG_NONE)
        return false;
    blocks_version(body, analyses_values(vectorizer->analyses), &middle, 1, block, rest, fits, NULL);
    return true;
}

/* The same where little is copied: the loops around the block, the outermost that can be, or a part of the block. */
static bool versions_make_small(Vectorizer *vectorizer, Block *block, unsigned saved)
{
    const Loop *loop = loop_of(analyses_loops(vectorizer->analyses), block);
    for (unsigned level = 0; loop && level < loop->depth; level++) {
        const Loop *outer = loop;
        while (outer->depth > level + 1)
            outer = outer->parent;
        if (loop_version(vectorizer, outer))
            return true;
    }
    const unsigned tests = vectorizer->term_count + vectorizer->distance_count;
    return (!loop || saved >= LEAST_REPEATED * tests) && segment_version(vectorizer, block);
}

/* Makes two versions of the code from the place on, and remembers what the test shows in the first. */
static void version_make(Vectorizer *vectorizer, Block *before, Inst *at, RegId fits)
{
    const Block *head = body_version(vectorizer->body, before, at, fits);
    if (!vectorizer->term_count || !vectorizer->lasting)
        return;
    AffineTerm *terms = ARENA_ARRAY(vectorizer->lasting, AffineTerm, vectorizer->term_count);
    memcpy(terms, vectorizer->terms, vectorizer->term_count * sizeof *terms);
    const Tested tested = {head, terms, vectorizer->term_count, vectorizer->unit};
    VEC_PUSH(vectorizer->lasting, vectorizer->tested, tested);
}

bool vector_versions_make(Vectorizer *vectorizer, Block *block, unsigned saved)
{
    Body *body = vectorizer->body;
    const Loop *loop = loop_of(analyses_loops(vectorizer->analyses), block);
    if (vectorizer->everywhere)
        return versions_make_small(vectorizer, block, saved);
    if (saved < LEAST_SAVED)
        return false;
    for (unsigned level = 0; loop && level < loop->depth; level++) {
        Block *at = test_place(vectorizer, block, level);
        SumPlace place = at ? sum_place_new(body, at, vectorizer->analyses) : (SumPlace){0};
        if (!at || !body_may_version(body, place.dominance, at, block_end(at), MOST_COPIED))
            continue;
        RegId fits = test_build(vectorizer, &place);
        if (fits == REG_NONE)
            continue;
        version_make(vectorizer, at, block_end(at), fits);
        return true;
    }
    Inst *first = vectors_end(vectorizer, false);
    if ((loop && (saved < LEAST_REPEATED * vectorizer->term_count || !stays_in_loop(vectorizer, loop, block))) ||
        !body_may_version(body, analyses_dominance(vectorizer->analyses), block, first, MOST_COPIED))
        return false;
    body_split(body, first);
    analyses_invalidate(vectorizer->analyses, ANALYSES_ALL);
    SumPlace place = sum_place_new(body, block, vectorizer->analyses);
    RegId fits = test_build(vectorizer, &place);
    if (fits == REG_NONE)
        return false;
    version_make(vectorizer, block, NULL, fits);
    return true;
}
