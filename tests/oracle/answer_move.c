/* mov of registers, packing and unpacking; createpolicy and the like have no oracle. */
#include "tests/oracle/oracle.h"

/* Elements to words and back: element i of a list is at bit i times its width. */
static void copy_bits(const ProbeOperand *from, const uint64_t *in, const ProbeOperand *to, Answer *answer)
{
    unsigned from_count = from->count ? from->count : 1, to_count = to->count ? to->count : 1;
    unsigned __int128 whole = 0;
    for (unsigned i = 0; i < from_count; i++) {
        const uint64_t *word = in + from->word + i * (from->reg_bits == 128 ? 2 : 1);
        unsigned __int128 value = low_bits(word[0], from->reg_bits);
        if (from->reg_bits == 128)
            value |= (unsigned __int128)word[1] << 64;
        whole |= value << i * from->reg_bits % 128;
    }
    for (unsigned i = 0; i < to_count; i++) {
        struct AnswerWord *word = &answer->words[to->word + i * (to->reg_bits == 128 ? 2 : 1)];
        unsigned __int128 value = whole >> i * to->reg_bits % 128;
        word[0].bits = low_bits((uint64_t)value, to->reg_bits);
        if (to->reg_bits == 128)
            word[1].bits = (uint64_t)(value >> 64);
    }
}

bool answer_move(const Probe *probe, const uint64_t *in, Answer *answer)
{
    const ProbeOperand *to = &probe->dests[0], *from = &probe->sources[0];
    if (probe->op != OP_MOV || probe->source_count != 1)
        return false;
    if (to->reg_bits == 1) {
        answer->words[0].bits = (in[0] != 0) != from->inverted;
        return true;
    }
    /* A copy of vectors can be wider than 128 bits. */
    if (from->count && from->count == to->count) {
        for (unsigned i = 0; i < to->count; i++)
            answer->words[to->word + i].bits = low_bits(in[from->word + i], to->reg_bits);
        return true;
    }
    copy_bits(from, in, to, answer);
    return true;
}
