#include "support/bitset.h"

#include <string.h>

static size_t word_count(const BitSet *set)
{
    return (set->bits + 63) / 64;
}

BitSet bitset_new(Arena *arena, size_t bits)
{
    BitSet set = {NULL, bits};
    set.words = ARENA_ARRAY(arena, uint64_t, word_count(&set));
    return set;
}

void bitset_copy(BitSet *to, const BitSet *from)
{
    require(to->bits == from->bits);
    memcpy(to->words, from->words, word_count(from) * sizeof *from->words);
}

void bitset_clear(BitSet *set)
{
    memset(set->words, 0, word_count(set) * sizeof *set->words);
}

size_t bitset_next(const BitSet *set, size_t from)
{
    if (from >= set->bits)
        return SIZE_MAX;
    size_t i = from / 64;
    uint64_t word = set->words[i] & ~UINT64_C(0) << (from % 64);
    for (;;) {
        if (word)
            return i * 64 + (size_t)__builtin_ctzll(word);
        if (++i == word_count(set))
            return SIZE_MAX;
        word = set->words[i];
    }
}
