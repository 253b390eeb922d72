/* Loads and stores of neighbours in memory, as vectors.
 *
 * With the stride 'unit' the replicas of a thread access neighbours: four accesses of 4 bytes become one of 16 (Yang
 * and others, PLDI 2010, section 3.1), in one block, where nothing between them may touch what they access or orders
 * memory. A vector's address must be a multiple of its size. That is shown by the sum of the address: multiples of
 * the size, parameters declared .ptr .align, variables' own alignment, and phis that start and grow by such values.
 * The remaining terms, pointers and widths from the launch, are tested before the block or the outermost loop around
 * it, and the code that follows is made twice (opt/common/version.h). A place that moves from round to round in a way
 * that only the launch knows, as half of half of the block, is tested in each round, if that saves more than the test
 * costs. */
#include "opt/common/sums.h"
#include "opt/common/trips.h"
#include "opt/common/version.h"
#include "opt/passes.h"
#include "opt/replicas/vectorize.h"

#include <string.h>

enum {
    MOST_ELEMENTS = 4,
    MOST_BYTES = 16,
    MOST_TERMS = 12,     /* to be tested */
    MOST_ACCESSES = 512, /* of a block */
    MOST_FORMS = 24,     /* looked at for the alignment of one address */
    DEEPEST = 4,         /* factors within factors */
    MOST_COPIED = 3000,  /* instructions that are made twice */
    MOST_VERSIONS = 2,
    LEAST_SAVED = 2,     /* accesses: fewer do not pay for a test */
    LEAST_REPEATED = 3,  /* nor, for each term, for one in every round of a loop */
};

/* Accesses that become one vector, by address. */
typedef struct Vector {
    Block *block;
    unsigned count;
    const PlainAccess *parts[MOST_ELEMENTS];
    const PlainAccess *first, *last; /* in the order of the block */
} Vector;

typedef struct Vectorizer {
    Arena *scratch;
    Body *body;
    Analyses *analyses;
    const Locations *locations;
    uint32_t begin, end; /* the block's accesses */
    VEC(Vector) vectors;
    bool proven_only; /* no tests */
    /* The terms that have to be multiples of 'unit' for the vectors of one block. */
    AffineTerm terms[MOST_TERMS];
    unsigned term_count;
    uint64_t unit;
} Vectorizer;

static uint64_t lowest_bit(uint64_t value)
{
    return value ? value & -value : UINT64_C(1) << 63;
}

static uint64_t form_alignment(const Affine *affine, const AffineForm *form, unsigned depth);
static uint64_t terms_alignment(const Affine *affine, const AffineForm *form, unsigned depth);

/* The 32-bit sum that the term's register holds, whose low bits extending keeps; NULL: none that says more. */
static const AffineForm *held_sum(const Affine *affine, const AffineTerm *term)
{
    if ((term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED) || affine->factors[term->reg])
        return NULL;
    const AffineForm *form = &affine->forms[term->reg];
    bool itself = form->term_count == 1 && form->terms[0].reg == term->reg;
    return itself || form->bits != 32 ? NULL : form;
}

/* The sum's constant with those of the sums that its terms hold: of one replica's index, another's may be the base. */
static uint64_t form_constant(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t constant = (uint64_t)form->constant;
    for (unsigned i = 0; i < form->term_count && depth < DEEPEST; i++) {
        const AffineForm *held = held_sum(affine, &form->terms[i]);
        if (held)
            constant += (uint64_t)form->terms[i].coefficient * form_constant(affine, held, depth + 1);
    }
    return constant;
}

/* The largest power of two that is known to divide the base, the constants of held sums not counted. */
static uint64_t base_alignment(const Affine *affine, const AffineTerm *term, unsigned depth)
{
    const Variable *variable = term->variable;
    switch (term->base) {
    case AFFINE_PARAM: return variable->is_ptr && !term->offset && variable->ptr_align ? lowest_bit(variable->ptr_align)
                                                                                        : 1;
    case AFFINE_SYMBOL: return variable->align ? lowest_bit(variable->align) : 1;
    case AFFINE_VALUE:
    case AFFINE_SIGNED: break;
    default: return 1;
    }
    const AffineFactors *factors = affine->factors[term->reg];
    const AffineForm *held = held_sum(affine, term);
    if (depth >= DEEPEST)
        return 1;
    if (factors) {
        uint64_t product = form_alignment(affine, &factors->forms[0], depth + 1) *
                           form_alignment(affine, &factors->forms[1], depth + 1);
        uint64_t rest = form_alignment(affine, &factors->forms[2], depth + 1);
        return product && product < rest ? product : rest;
    }
    return held ? terms_alignment(affine, held, depth + 1) : 1;
}

static uint64_t term_alignment(const Affine *affine, const AffineTerm *term, unsigned depth)
{
    uint64_t base = base_alignment(affine, term, depth), by = lowest_bit((uint64_t)term->coefficient);
    return base > UINT32_MAX || by > UINT32_MAX ? UINT64_C(1) << 31 : base * by;
}

static uint64_t form_alignment(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t terms = terms_alignment(affine, form, depth), constant = lowest_bit(form_constant(affine, form, depth));
    return terms < constant ? terms : constant;
}

static uint64_t terms_alignment(const Affine *affine, const AffineForm *form, unsigned depth)
{
    uint64_t alignment = UINT64_C(1) << 31;
    for (unsigned i = 0; i < form->term_count; i++) {
        uint64_t term = term_alignment(affine, &form->terms[i], depth);
        alignment = term < alignment ? term : alignment;
    }
    return alignment;
}

/* The phi of a loop's header that the term is a multiple of; NULL: none. */
static const Phi *header_phi(const Vectorizer *vectorizer, const AffineTerm *term, const Loop **loop)
{
    if (term->base != AFFINE_VALUE)
        return NULL;
    const ValueDef *def = &analyses_values(vectorizer->analyses)->defs[term->reg];
    if (!def->block || def->inst || type_bits(vectorizer->body->regs.data[term->reg].type) != 64)
        return NULL;
    *loop = loop_of(analyses_loops(vectorizer->analyses), def->block);
    return *loop && (*loop)->header == def->block && (*loop)->preheader ? &def->block->phis.data[def->phi] : NULL;
}

/* The sum's constant with those of the sums that its terms hold, as in form_constant(), and of the values that its phis
 * start with: compilers let a pointer begin in the middle of what a round reads, and count back from there. */
static uint64_t whole_constant(const Vectorizer *vectorizer, const AffineForm *form, unsigned depth)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    uint64_t constant = (uint64_t)form->constant;
    for (unsigned i = 0; i < form->term_count && depth < DEEPEST; i++) {
        const Loop *loop;
        const Phi *phi = header_phi(vectorizer, &form->terms[i], &loop);
        RegId start = phi ? loop_start(loop, phi) : REG_NONE;
        const AffineForm *held = start != REG_NONE ? &affine->forms[start] : held_sum(affine, &form->terms[i]);
        if (held)
            constant += (uint64_t)form->terms[i].coefficient * whole_constant(vectorizer, held, depth + 1);
    }
    return constant;
}

/* The form without the constant that whole_constant() of a sum that has it as a term counts. */
static AffineForm without_constant(const Vectorizer *vectorizer, const AffineForm *form)
{
    AffineForm rest = *form;
    rest.constant = (int64_t)((uint64_t)form->constant - whole_constant(vectorizer, form, 1));
    return rest;
}

static bool term_add(Vectorizer *vectorizer, const AffineTerm *term)
{
    for (unsigned i = 0; i < vectorizer->term_count; i++)
        if (affine_base_equal(&vectorizer->terms[i], term) &&
            vectorizer->terms[i].coefficient == term->coefficient)
            return true;
    if (vectorizer->term_count == MOST_TERMS || vectorizer->proven_only)
        return false;
    vectorizer->terms[vectorizer->term_count++] = *term;
    return true;
}

/* True if all threads of a block agree on the term: a test of it then takes one way for all. */
static bool term_is_uniform(const Vectorizer *vectorizer, const AffineTerm *term)
{
    if (term->base == AFFINE_SREG)
        return term->sreg->dependence != SREG_THREAD;
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return term->base == AFFINE_PARAM || term->base == AFFINE_SYMBOL;
    return !variance_reg(analyses_variance(vectorizer->analyses, VARIANCE_ANY, NULL), term->reg);
}

static bool form_is_uniform(const Vectorizer *vectorizer, const AffineForm *form)
{
    for (unsigned i = 0; i < form->term_count; i++)
        if (!term_is_uniform(vectorizer, &form->terms[i]))
            return false;
    return true;
}

/* Sums that have to be multiples of 'unit', except for the constant of the first, which is checked elsewhere. */
typedef struct Worklist {
    const AffineForm *forms[MOST_FORMS];
    unsigned count;
} Worklist;

/* Adds coefficient * form. False if there is no room. */
static bool work_add(Vectorizer *vectorizer, Worklist *work, const AffineForm *form, int64_t coefficient)
{
    AffineForm *scaled = ARENA_NEW(vectorizer->scratch, AffineForm);
    AffineTerm *terms = ARENA_ARRAY(vectorizer->scratch, AffineTerm, form->term_count);
    if (work->count == MOST_FORMS)
        return false;
    for (unsigned i = 0; i < form->term_count; i++) {
        terms[i] = form->terms[i];
        terms[i].coefficient = (int64_t)((uint64_t)terms[i].coefficient * (uint64_t)coefficient);
    }
    *scaled = (AffineForm){64, form->term_count, (int64_t)((uint64_t)form->constant * (uint64_t)coefficient), terms};
    work->forms[work->count++] = scaled;
    return true;
}

/* Adds the sums that make a phi's term a multiple in every round, except for the constant that it starts with: start
 * and step. */
static bool phi_expand(Vectorizer *vectorizer, Worklist *work, const Loop *loop, const Phi *phi)
{
    AffineTerm terms[AFFINE_TERMS];
    AffineForm step;
    const Affine *affine = analyses_affine(vectorizer->analyses);
    RegId start = loop_start(loop, phi);
    if (start == REG_NONE || !loop_step(loop, phi, affine, terms, &step))
        return false;
    AffineForm rest = without_constant(vectorizer, &affine->forms[start]);
    return work_add(vectorizer, work, &step, 1) && work_add(vectorizer, work, &rest, 1);
}

/* A term that differs between threads: a product is a multiple if a factor is that all threads share, as the width of
 * a row. */
static bool variant_expand(Vectorizer *vectorizer, Worklist *work, const AffineTerm *term)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    if (term->base != AFFINE_VALUE && term->base != AFFINE_SIGNED)
        return false;
    const AffineFactors *factors = affine->factors[term->reg];
    for (unsigned i = 0; factors && i < 2; i++)
        if (form_is_uniform(vectorizer, &factors->forms[i]))
            return work_add(vectorizer, work, &factors->forms[i], term->coefficient) &&
                   work_add(vectorizer, work, &factors->forms[2], term->coefficient);
    if (!held_sum(affine, term))
        return false;
    AffineForm rest = without_constant(vectorizer, &affine->forms[term->reg]);
    return work_add(vectorizer, work, &rest, term->coefficient);
}

/* Shows that the sum without its constant is a multiple of 'unit', or collects terms that have to be, on which all
 * threads of a block agree. False if that is not enough, or there are too many. */
static bool alignment_find(Vectorizer *vectorizer, const AffineForm *form, uint64_t unit)
{
    const Affine *affine = analyses_affine(vectorizer->analyses);
    const Phi *met[MOST_FORMS];
    Worklist work = {.forms = {form}, .count = 1};
    unsigned phis = 0;
    for (unsigned looked = 0; work.count; looked++) {
        const AffineForm *at = work.forms[--work.count];
        if ((at != form && whole_constant(vectorizer, at, 0) % unit) || looked > MOST_FORMS)
            return false;
        for (unsigned i = 0; i < at->term_count; i++) {
            const AffineTerm *term = &at->terms[i];
            const Loop *loop;
            if (term_alignment(affine, term, 0) >= unit)
                continue;
            const Phi *phi = header_phi(vectorizer, term, &loop);
            bool seen = false;
            for (unsigned k = 0; k < phis && phi; k++)
                seen |= met[k] == phi;
            if (seen && term->coefficient == 1)
                continue;
            if (phi) {
                if (term->coefficient != 1 || phis == MOST_FORMS || !phi_expand(vectorizer, &work, loop, phi))
                    return false;
                met[phis++] = phi;
                continue;
            }
            /* A held sum's constant is counted already, so the register itself cannot be tested. */
            bool tests = term_is_uniform(vectorizer, term) && !held_sum(affine, term);
            if (!(tests ? term_add(vectorizer, term) : variant_expand(vectorizer, &work, term)))
                return false;
        }
    }
    return true;
}

static const Location *part_location(const Vectorizer *vectorizer, const PlainAccess *access)
{
    return &vectorizer->locations->items[access->locations[0]];
}

/* True if the access can be part of a vector. */
static bool is_part(const Vectorizer *vectorizer, const PlainAccess *access)
{
    const Location *location = part_location(vectorizer, access);
    Access decoded;
    return access->count == 1 && access->inst->operand_count == 2 && access->data->kind == OPERAND_REG &&
           location->narrow == TYPE_NONE && (location->bytes == 4 || location->bytes == 8) &&
           inst_access(access->inst, &decoded) && address_base(access->inst, decoded.address) != REG_NONE &&
           !decoded.address->unified && !access->inst->pragma;
}

/* True if two accesses belong to one array of neighbours: one spelling, and sums that differ by a constant. */
static bool are_related(const Vectorizer *vectorizer, const PlainAccess *a, const PlainAccess *b, int64_t *distance)
{
    const Location *x = part_location(vectorizer, a), *y = part_location(vectorizer, b);
    AffineForm moved = x->form;
    moved.constant = y->form.constant;
    if (a->inst->signature != b->inst->signature || affine_compare(&moved, 1, &y->form, 1) != ALIAS_SAME)
        return false;
    *distance = (int64_t)((uint64_t)y->form.constant - (uint64_t)x->form.constant);
    return true;
}

/* True if a load may be moved up to 'first', or a store down to 'last': nothing between them ends what is known of its
 * location, and, for a store, nothing between reads it. */
static bool may_join(const Vectorizer *vectorizer, const Vector *vector)
{
    const Locations *locations = vectorizer->locations;
    const MemoryModel *model = analyses_memory(vectorizer->analyses);
    for (const Inst *inst = vector->first->inst->next; inst != vector->last->inst; inst = inst->next) {
        bool own = false;
        for (unsigned i = 0; i < vector->count; i++)
            own |= vector->parts[i]->inst == inst;
        if (own)
            continue;
        const BitSet *ended = locations->ended[inst->id];
        bool memory = inst->effects & (EFFECT_READ | EFFECT_WRITE);
        for (unsigned i = 0; i < vector->count; i++) {
            if (ended && bitset_has(ended, vector->parts[i]->locations[0]))
                return false;
            if (vector->first->is_store && memory && !accesses_apart(model, vector->parts[i]->inst, inst))
                return false;
        }
        /* Other threads would see a fault or an exit between the two stores. */
        if (vector->first->is_store && (inst->effects & EFFECT_CONTROL || inst_is_call(inst)))
            return false;
    }
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
    int64_t bytes = part_location(vectorizer, base)->bytes, distance;
    *vector = (Vector){.block = base->inst->block, .count = count};
    for (uint32_t i = vectorizer->begin; i < vectorizer->end; i++) {
        const PlainAccess *access = &locations->accesses[i];
        if (access->is_store != base->is_store || bitset_has(taken, i) || !is_part(vectorizer, access) ||
            !are_related(vectorizer, base, access, &distance) || distance < 0 || distance >= count * bytes ||
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

static const char *vector_spelling(Arena *arena, const Inst *inst, unsigned count)
{
    const char *spelling = inst->signature->spelling, *type = strrchr(spelling, '.');
    return arena_printf(arena, "%.*s.v%u%s", (int)(type - spelling), spelling, count, type);
}

/* The vectors of the block, the longest first, and how many accesses they save. */
static unsigned vectors_find(Vectorizer *vectorizer, const Block *block, bool proven_only)
{
    const Locations *locations = vectorizer->locations;
    uint32_t begin = 0, end;
    unsigned saved = 0;
    vectorizer->proven_only = proven_only;
    vectorizer->vectors.count = 0;
    vectorizer->term_count = 0;
    vectorizer->unit = 0;
    while (begin < locations->access_count && locations->accesses[begin].inst->block != block)
        begin++;
    for (end = begin; end < locations->access_count && locations->accesses[end].inst->block == block; end++)
        ;
    if (end - begin < 2 || end - begin > MOST_ACCESSES)
        return 0;
    vectorizer->begin = begin;
    vectorizer->end = end;
    BitSet taken = bitset_new(vectorizer->scratch, locations->access_count);
    for (unsigned count = MOST_ELEMENTS; count > 1; count /= 2)
        for (uint32_t i = begin; i < end; i++) {
            const PlainAccess *access = &locations->accesses[i];
            Vector vector;
            if (bitset_has(&taken, i) || !is_part(vectorizer, access))
                continue;
            const Location *location = part_location(vectorizer, access);
            uint64_t unit = (uint64_t)count * location->bytes;
            if (unit > MOST_BYTES || whole_constant(vectorizer, &location->form, 0) % unit ||
                !vector_collect(vectorizer, &taken, i, count, &vector) || !may_join(vectorizer, &vector) ||
                !signature_parse(vectorizer->body->module, vector_spelling(vectorizer->scratch, access->inst, count))
                     ->match_count)
                continue;
            unsigned terms = vectorizer->term_count;
            if (!alignment_find(vectorizer, &location->form, unit)) {
                vectorizer->term_count = terms;
                continue;
            }
            if (unit > vectorizer->unit)
                vectorizer->unit = unit;
            for (unsigned e = 0; e < count; e++)
                bitset_add(&taken, (size_t)(vector.parts[e] - locations->accesses));
            VEC_PUSH(vectorizer->scratch, vectorizer->vectors, vector);
            saved += count - 1;
        }
    return saved;
}

static void vector_build(const Vectorizer *vectorizer, const Vector *vector)
{
    RegId regs[MOST_ELEMENTS];
    Access access;
    int64_t distance;
    const PlainAccess *place = vector->first->is_store ? vector->last : vector->first;
    for (unsigned i = 0; i < vector->count; i++)
        regs[i] = operand_reg(vector->parts[i]->inst, vector->parts[i]->data);
    /* The base register of the access whose place the vector takes is there. */
    bool related = are_related(vectorizer, place, vector->parts[0], &distance);
    require(related && inst_access(place->inst, &access));
    RegId base = address_base(place->inst, access.address);
    int64_t offset = distance + (access.address->constant ? (int64_t)access.address->constant->bits : 0);
    Inst *inst = inst_build_vector(vectorizer->body, vector_spelling(vectorizer->scratch, place->inst, vector->count),
                                   place->is_store, regs, vector->count, base, offset);
    inst->span = place->inst->span;
    inst->loc = place->inst->loc;
    inst->replica = place->inst->replica;
    inst_insert_before(place->inst, inst);
    for (unsigned i = 0; i < vector->count; i++)
        inst_remove(vector->parts[i]->inst);
}

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

static RegId test_build(const Vectorizer *vectorizer, const SumPlace *place)
{
    Body *body = vectorizer->body;
    RegId all = REG_NONE, rest, fits;
    for (unsigned i = 0; i < vectorizer->term_count; i++) {
        AffineForm form = {64, 1, 0, &vectorizer->terms[i]};
        RegId value = sum_build(place, &form), both;
        if (value == REG_NONE)
            return REG_NONE;
        if (all == REG_NONE) {
            all = value;
            continue;
        }
        both = sum_reg(place, TYPE_B64, "%bits");
        sum_put(place, inst_build(body, "or.b64", "drr", both, all, value));
        all = both;
    }
    rest = sum_reg(place, TYPE_B64, "%bits");
    fits = sum_reg(place, TYPE_PRED, "%aligned");
    sum_put(place, inst_build(body, "and.b64", "dri", rest, all, (int64_t)vectorizer->unit - 1));
    sum_put(place, inst_build(body, "setp.eq.u64", "dri", fits, rest, (int64_t)0));
    return fits;
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

/* Tests the block's alignments and makes two versions of the code that follows: of the loops around it or, if those
 * hold threads together, of the code that the block alone leads to. */
static bool versions_make(Vectorizer *vectorizer, Block *block, unsigned saved)
{
    Body *body = vectorizer->body;
    const Loop *loop = loop_of(analyses_loops(vectorizer->analyses), block);
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
        body_version(body, at, block_end(at), fits);
        return true;
    }
    Inst *first = NULL;
    for (size_t i = 0; i < vectorizer->vectors.count; i++) {
        Inst *inst = vectorizer->vectors.data[i].first->inst;
        if (!first || inst->id < first->id)
            first = inst;
    }
    if ((loop && (saved < LEAST_REPEATED * vectorizer->term_count || !stays_in_loop(vectorizer, loop, block))) ||
        !body_may_version(body, analyses_dominance(vectorizer->analyses), block, first, MOST_COPIED))
        return false;
    body_split(body, first);
    analyses_invalidate(vectorizer->analyses, ANALYSES_ALL);
    SumPlace place = sum_place_new(body, block, vectorizer->analyses);
    RegId fits = test_build(vectorizer, &place);
    if (fits == REG_NONE)
        return false;
    body_version(body, block, NULL, fits);
    return true;
}

/* Joins the block's accesses; *versions counts the tests made. */
static bool block_vectorize(PassContext *context, const Locations *locations, Block *block, unsigned *versions)
{
    Arena *scratch = arena_new();
    Vectorizer vectorizer = {
        .scratch = scratch, .body = context->body, .analyses = context->analyses, .locations = locations};
    unsigned proven = vectors_find(&vectorizer, block, true);
    unsigned saved = vectors_find(&vectorizer, block, false);
    size_t blocks = context->body->blocks.count;
    bool changed = saved > 0;
    if (changed && vectorizer.term_count) {
        changed = *versions < MOST_VERSIONS && saved > proven && versions_make(&vectorizer, block, saved - proven);
        *versions += changed;
        if (!changed && proven && context->body->blocks.count == blocks)
            changed = vectors_find(&vectorizer, block, true) > 0;
    }
    for (size_t i = 0; i < vectorizer.vectors.count && changed; i++)
        vector_build(&vectorizer, &vectorizer.vectors.data[i]);
    arena_free(scratch);
    return changed;
}

unsigned vectors_count(Body *body, Analyses *analyses)
{
    Arena *scratch = arena_new();
    Vectorizer vectorizer = {.scratch = scratch, .body = body, .analyses = analyses};
    unsigned saved = 0;
    vectorizer.locations =
        locations_compute(scratch, body, analyses_memory(analyses), analyses_values(analyses), LOCATION_STORES);
    for (size_t b = 0; b < body->blocks.count && vectorizer.locations; b++)
        saved += vectors_find(&vectorizer, body->blocks.data[b], false);
    arena_free(scratch);
    return saved;
}

bool pass_vectorize(PassContext *context)
{
    Arena *scratch = arena_new(), *arena = arena_new();
    VEC(Block *) blocks = {0};
    const Locations *locations = NULL;
    unsigned versions = 0;
    bool changed = false, is_current = false;
    for (size_t b = 0; b < context->body->blocks.count; b++)
        VEC_PUSH(scratch, blocks, context->body->blocks.data[b]);
    for (size_t b = 0; b < blocks.count; b++) {
        if (!is_current) {
            arena_clear(arena);
            analyses_invalidate(context->analyses, ANALYSES_ALL);
            locations = locations_compute(arena, context->body, analyses_memory(context->analyses),
                                          analyses_values(context->analyses), LOCATION_STORES);
            is_current = true;
        }
        if (!locations)
            break;
        size_t count = context->body->blocks.count;
        is_current = !block_vectorize(context, locations, blocks.data[b], &versions);
        changed |= !is_current;
        /* A block that was split for nothing. */
        is_current &= context->body->blocks.count == count;
    }
    analyses_invalidate(context->analyses, ANALYSES_ALL);
    arena_free(arena);
    arena_free(scratch);
    return changed;
}
