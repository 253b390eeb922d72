/* See bytes.h. Compilers put four bytes that they have loaded one by one together for dp4a:
 *
 *     prmt t, b0, b1, ..    prmt u, b2, b3, ..    prmt w, t, u, ..
 *
 * If the four are bytes of one word that is now loaded as a whole, w is that word, its bytes perhaps in another order.
 * dp4a adds the products of bytes at equal places, in whichever order these are. O(I). */
#include "opt/memory/bytes.h"

#include "analysis/analysis.h"

enum { BYTES = 4 };

/* A byte of a register; reg REG_NONE: zero. */
typedef struct Byte {
    RegId reg;
    unsigned place;
} Byte;

/* The bytes of a register, which is one word, if they are known. */
typedef struct Word {
    bool known;
    Byte bytes[BYTES];
} Word;

typedef struct Merger {
    Body *body;
    Word *words; /* by RegId */
    size_t reg_count;
} Merger;

static Byte byte_of(const Merger *merger, RegId reg, unsigned place)
{
    if (reg < merger->reg_count && merger->words[reg].known)
        return merger->words[reg].bytes[place];
    return (Byte){reg, place};
}

/* A byte of one of the two sources. False if it is a constant other than zero. */
static bool source_byte(const Merger *merger, const ComputeSource *source, unsigned place, Byte *out)
{
    *out = (Byte){REG_NONE, 0};
    if (source->is_constant)
        return (source->constant >> (8 * place) & 0xff) == 0;
    *out = byte_of(merger, source->reg, place);
    return source->reg != REG_NONE && type_bits(merger->body->regs.data[source->reg].type) == 32;
}

/* The bytes that the permutation gives. False if some are not bytes of registers, or zero. */
static bool permute_find(const Merger *merger, const Computation *c, Word *out)
{
    const ComputeSource *select = &c->sources[2];
    if (c->op != COMPUTE_PERMUTE || c->source_count != 3 || !select->is_constant || c->result == REG_NONE ||
        type_bits(merger->body->regs.data[c->result].type) != 32)
        return false;
    for (unsigned i = 0; i < BYTES; i++) {
        const unsigned chosen = select->constant >> (4 * i) & 0xf;
        if (chosen & 8 || !source_byte(merger, &c->sources[chosen / BYTES], chosen % BYTES, &out->bytes[i]))
            return false;
    }
    out->known = true;
    return true;
}

/* The words that the bytes come from, with REG_NONE for zeros; 0 if there are more than two. */
static unsigned sources_find(const Word *word, RegId sources[2])
{
    unsigned count = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        bool seen = false;
        for (unsigned k = 0; k < count; k++)
            seen |= sources[k] == word->bytes[i].reg;
        if (!seen && count == 2)
            return 0;
        if (!seen)
            sources[count++] = word->bytes[i].reg;
    }
    return count;
}

static Inst *permute_build(const Merger *merger, RegId to, const Word *word, const RegId sources[2], unsigned count)
{
    int64_t select = 0;
    /* A register first. */
    const bool swaps = sources[0] == REG_NONE;
    const RegId first = sources[swaps], second = swaps ? sources[0] : count > 1 ? sources[1] : REG_NONE;
    for (unsigned i = 0; i < BYTES; i++) {
        const Byte *byte = &word->bytes[i];
        const unsigned chosen = byte->reg == first ? byte->place : BYTES + byte->place;
        select |= (int64_t)chosen << (4 * i);
    }
    if (second == REG_NONE)
        return inst_build(merger->body, "prmt.b32", "drii", to, first, (int64_t)0, select);
    return inst_build(merger->body, "prmt.b32", "drri", to, first, second, select);
}

static bool permute_merge(Merger *merger, Inst *inst)
{
    Computation c;
    Word word;
    RegId sources[2];
    if (!inst_is_plain(inst) || !computation_of(merger->body, inst, &c) || !permute_find(merger, &c, &word))
        return false;
    merger->words[c.result] = word;
    unsigned count = sources_find(&word, sources);
    bool from_word = count == 1 && sources[0] == REG_NONE;
    if (!count || from_word || ((c.sources[0].reg == sources[0] || c.sources[0].reg == sources[count - 1]) &&
                                (c.sources[1].reg == sources[0] || c.sources[1].reg == sources[count - 1] ||
                                 c.sources[1].is_constant)))
        return false;
    inst_insert_before(inst, permute_build(merger, c.result, &word, sources, count));
    inst_remove(inst);
    return true;
}

/* The word whose bytes, all of them in some order, the register has; REG_NONE: there is none. */
static RegId permuted_word(const Merger *merger, RegId reg, unsigned places[BYTES])
{
    const Byte first = byte_of(merger, reg, 0);
    unsigned seen = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        const Byte byte = byte_of(merger, reg, i);
        if (byte.reg != first.reg || byte.reg == reg)
            return REG_NONE;
        places[i] = byte.place;
        seen |= 1u << byte.place;
    }
    return seen == (1u << BYTES) - 1 ? first.reg : REG_NONE;
}

static bool product_merge(const Merger *merger, Inst *inst)
{
    unsigned a[BYTES], b[BYTES];
    if (inst_op(inst) != OP_DP4A || inst_reg(inst, 1) == REG_NONE || inst_reg(inst, 2) == REG_NONE)
        return false;
    RegId x = permuted_word(merger, inst_reg(inst, 1), a), y = permuted_word(merger, inst_reg(inst, 2), b);
    if (x == REG_NONE || y == REG_NONE)
        return false;
    for (unsigned i = 0; i < BYTES; i++)
        if (a[i] != b[i])
            return false;
    operand_ref(inst, &inst->operands[1])->reg = x;
    operand_ref(inst, &inst->operands[2])->reg = y;
    return true;
}

unsigned permutes_merge(Body *body)
{
    require(body->ssa);
    Arena *scratch = arena_new();
    Merger merger = {body, ARENA_ARRAY(scratch, Word, body->regs.count), body->regs.count};
    unsigned changed = 0;
    for (size_t b = 0; b < body->blocks.count; b++)
        for (Inst *inst = body->blocks.data[b]->first, *next; inst; inst = next) {
            next = inst->next;
            changed += permute_merge(&merger, inst) || product_merge(&merger, inst);
        }
    arena_free(scratch);
    return changed;
}
