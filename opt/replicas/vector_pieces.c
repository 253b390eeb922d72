/* The accesses that may be parts of vectors, the instruction of a vector, and the elements of one or two bytes that are
 * taken from words, or put together in them. */
#include "opt/common/sums.h"
#include "opt/replicas/vectors.h"

#include <string.h>

enum { WORD = 4, MOST_WORDS = VECTOR_BYTES / WORD };

const Location *vector_location(const Vectorizer *vectorizer, const PlainAccess *access)
{
    return &vectorizer->locations->items[access->locations[0]];
}

bool vector_is_element(const Vectorizer *vectorizer, const PlainAccess *access)
{
    const Location *location = vector_location(vectorizer, access);
    if (location->bytes == 4 || location->bytes == 8)
        return location->narrow == TYPE_NONE;
    if (access->is_store && (location->bytes != 2 || location->reg_bits != 16))
        return false;
    return vectorizer->everywhere && location->bytes < 4 &&
           type_class(access->inst->signature->types[access->inst->signature->type_count - 1]) != CLASS_FLOAT &&
           (location->reg_bits == 16 || location->reg_bits == 32);
}

bool vector_related(const Vectorizer *vectorizer, const PlainAccess *a, const PlainAccess *b, int64_t *distance)
{
    const Location *x = vector_location(vectorizer, a), *y = vector_location(vectorizer, b);
    AffineForm moved = x->form;
    moved.constant = y->form.constant;
    if (a->inst->signature != b->inst->signature || affine_compare(&moved, 1, &y->form, 1) != ALIAS_SAME)
        return false;
    *distance = (int64_t)((uint64_t)y->form.constant - (uint64_t)x->form.constant);
    return true;
}

static unsigned element_bytes(const Vectorizer *vectorizer, const Vector *vector)
{
    return vector_location(vectorizer, vector->parts[0])->bytes;
}

static bool is_of_words(const Vectorizer *vectorizer, const Vector *vector)
{
    return element_bytes(vectorizer, vector) < WORD;
}

const char *vector_spelling(const Vectorizer *vectorizer, const Vector *vector)
{
    const char *spelling = vector->first->inst->signature->spelling, *type = strrchr(spelling, '.');
    bool of_words = is_of_words(vectorizer, vector);
    unsigned count = of_words ? vector->count * element_bytes(vectorizer, vector) / WORD : vector->count;
    const char *length = count > 1 ? arena_printf(vectorizer->scratch, ".v%u", count) : "";
    const char *whole = arena_printf(vectorizer->scratch, "%.*s%s%s", (int)(type - spelling), spelling, length,
                                     of_words ? ".b32" : type);
    return signature_parse(vectorizer->body->module, whole)->match_count ? whole : NULL;
}

/* The selection of prmt.b32 that gives 'bytes' bytes of a word, from byte 'first' on, extended to 32 bits: with bytes
 * of zeros, or with the sign (prmt's 8 replicates the sign of a byte). */
static int64_t selection(unsigned first, unsigned bytes, bool is_signed)
{
    int64_t select = 0;
    for (unsigned i = 0; i < WORD; i++) {
        unsigned byte = i < bytes ? first + i : is_signed ? 8 | (first + bytes - 1) : WORD;
        select |= (int64_t)byte << (4 * i);
    }
    return select;
}

/* Gives the element its register, from the word that it is in. */
static void element_take(const Vectorizer *vectorizer, const PlainAccess *part, RegId word, unsigned offset,
                         Inst *position)
{
    Body *body = vectorizer->body;
    const Location *location = vector_location(vectorizer, part);
    const Type type = part->inst->signature->types[part->inst->signature->type_count - 1];
    const RegId to = operand_reg(part->inst, part->data);
    const bool is_wide = location->reg_bits == 32;
    RegId whole = is_wide ? to : body_add_reg(body, TYPE_B32, intern(body->module->names, "%element"));
    int64_t select = selection(offset, location->bytes, type_class(type) == CLASS_SIGNED);
    inst_insert_before(position, inst_build(body, "prmt.b32", "drii", whole, word, (int64_t)0, select));
    if (!is_wide)
        inst_insert_before(position, inst_build(body, "cvt.u16.u32", "dr", to, whole));
}

/* The element, extended to a word of its own. */
static RegId element_extend(Body *body, const PlainAccess *part, Inst *position)
{
    RegId word = body_add_reg(body, TYPE_B32, intern(body->module->names, "%element"));
    inst_insert_before(position, inst_build(body, "cvt.u32.u16", "dr", word, operand_reg(part->inst, part->data)));
    return word;
}

/* Puts the halves together in words, which are stored. */
static void words_fill(Body *body, const Vector *vector, const RegId words[MOST_WORDS], Inst *position)
{
    for (unsigned i = 0; i < vector->count; i += 2) {
        RegId low = element_extend(body, vector->parts[i], position);
        RegId high = element_extend(body, vector->parts[i + 1], position);
        inst_insert_before(position, inst_build(body, "prmt.b32", "drri", words[i / 2], low, high, (int64_t)0x5410));
    }
}

/* Takes the elements from the words that are loaded. */
static void words_take(const Vectorizer *vectorizer, const Vector *vector, const RegId words[MOST_WORDS],
                       Inst *position)
{
    const unsigned bytes = element_bytes(vectorizer, vector);
    for (unsigned i = 0; i < vector->count; i++)
        element_take(vectorizer, vector->parts[i], words[i * bytes / WORD], i * bytes % WORD, position);
}

void vector_build(const Vectorizer *vectorizer, const Vector *vector)
{
    Body *body = vectorizer->body;
    RegId regs[VECTOR_PARTS];
    unsigned count = vector->count;
    Access access;
    int64_t distance;
    const bool of_words = is_of_words(vectorizer, vector);
    const PlainAccess *place = vector->first->is_store ? vector->last : vector->first;
    if (of_words)
        count = count * element_bytes(vectorizer, vector) / WORD;
    for (unsigned i = 0; i < count; i++)
        regs[i] = of_words ? body_add_reg(body, TYPE_B32, intern(body->module->names, "%word"))
                           : operand_reg(vector->parts[i]->inst, vector->parts[i]->data);
    /* The base register of the access whose place the vector takes is there. */
    bool related = vector_related(vectorizer, place, vector->parts[0], &distance);
    require(related && inst_access(place->inst, &access));
    RegId base = address_base(place->inst, access.address);
    int64_t offset = distance + address_offset(access.address);
    const char *spelling = vector_spelling(vectorizer, vector);
    Inst *inst = count > 1 ? inst_build_vector(body, spelling, place->is_store, regs, count, base, offset)
                 : place->is_store
                     ? inst_build(body, spelling, "ar", base, offset, regs[0])
                     : inst_build(body, spelling, "da", regs[0], base, offset);
    inst->span = place->inst->span;
    inst->loc = place->inst->loc;
    inst->replica = place->inst->replica;
    if (of_words && place->is_store)
        words_fill(body, vector, regs, place->inst);
    inst_insert_before(place->inst, inst);
    if (of_words && !place->is_store)
        words_take(vectorizer, vector, regs, place->inst);
    for (unsigned i = 0; i < vector->count; i++)
        inst_remove(vector->parts[i]->inst);
}
