/* See bytes.h. */
#include "opt/memory/bytes.h"

static const Byte zero = {.reg = REG_NONE};

static unsigned reg_bytes(const Body *body, RegId reg)
{
    return type_bits(body->regs.data[reg].type) / 8;
}

/* Eight copies of the highest bit of the byte. */
static Byte sign_of(Byte byte)
{
    byte.is_sign = byte.reg != REG_NONE;
    return byte;
}

Byte byte_of(const Bytes *bytes, RegId reg, unsigned place)
{
    return reg < bytes->reg_count ? bytes->words[reg].bytes[place] : (Byte){reg, (uint8_t)place, false};
}

bool byte_of_source(const Bytes *bytes, const ComputeSource *source, unsigned place, Byte *out)
{
    const unsigned read = source->bits / 8;
    *out = zero;
    if (source->is_constant)
        return source->bits == 32 && (source->constant >> (8 * place) & 0xff) == 0;
    if (source->reg == REG_NONE || source->bits % 8 || !read || read > reg_bytes(bytes->body, source->reg) ||
        reg_bytes(bytes->body, source->reg) > WORD_BYTES)
        return false;
    if (place < read)
        *out = byte_of(bytes, source->reg, place);
    else if (source->is_signed)
        *out = sign_of(byte_of(bytes, source->reg, read - 1));
    return true;
}

static bool permute(const Bytes *bytes, const Computation *c, Word *word)
{
    const ComputeSource *select = &c->sources[2];
    if (c->source_count != 3 || !select->is_constant)
        return false;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        const unsigned chosen = select->constant >> (4 * i) & 0xf, place = chosen % WORD_BYTES;
        if (!byte_of_source(bytes, &c->sources[chosen / WORD_BYTES % 2], place, &word->bytes[i]))
            return false;
        if (chosen & 8)
            word->bytes[i] = sign_of(word->bytes[i]);
    }
    return true;
}

/* A copy or a conversion, to as many bits as 'c' has, which are extended to those of the register. */
static bool convert(const Bytes *bytes, const Computation *c, Word *word)
{
    const unsigned filled = c->bits / 8;
    if (c->bits % 8 || !filled || filled > WORD_BYTES || c->saturates || c->sources[0].is_constant)
        return false;
    for (unsigned i = 0; i < WORD_BYTES; i++)
        if (i >= filled)
            word->bytes[i] = c->extends_sign ? sign_of(word->bytes[filled - 1]) : zero;
        else if (!byte_of_source(bytes, &c->sources[0], i, &word->bytes[i]))
            return false;
    return true;
}

/* A load of a byte, which fills the register. */
static void extend(const Body *body, const Inst *inst, RegId reg, Word *word)
{
    const Bounds bounds = bounds_of_load(body, inst, reg);
    const bool is_signed = bounds.least == INT8_MIN && bounds.most == INT8_MAX;
    for (unsigned i = 1; i < WORD_BYTES && (is_signed || bounds.high == UINT8_MAX); i++)
        word->bytes[i] = is_signed ? sign_of(word->bytes[0]) : zero;
}

static void follow(const Bytes *bytes, const Inst *inst, RegId reg)
{
    Computation c;
    Word word;
    if (reg_bytes(bytes->body, reg) != 2 && reg_bytes(bytes->body, reg) != WORD_BYTES)
        return;
    if (!computation_of(bytes->body, inst, &c)) {
        extend(bytes->body, inst, reg, &bytes->words[reg]);
    } else if ((c.op == COMPUTE_PERMUTE && permute(bytes, &c, &word)) ||
               ((c.op == COMPUTE_CONVERT || c.op == COMPUTE_COPY) && convert(bytes, &c, &word))) {
        bytes->words[reg] = word;
    }
}

Bytes bytes_compute(Arena *arena, const Body *body)
{
    const Bytes bytes = {body, ARENA_ARRAY(arena, Word, body->regs.count), body->regs.count};
    for (RegId reg = 0; reg < bytes.reg_count; reg++)
        for (unsigned i = 0; i < WORD_BYTES; i++)
            bytes.words[reg].bytes[i] = (Byte){reg, (uint8_t)i, false};
    for (size_t b = 0; b < body->blocks.count; b++)
        for (const Inst *inst = body->blocks.data[b]->first; inst; inst = inst->next) {
            const RegId reg = inst_is_plain(inst) ? inst_result(inst) : REG_NONE;
            if (reg != REG_NONE)
                follow(&bytes, inst, reg);
        }
    return bytes;
}
