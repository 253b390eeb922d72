/* Sets of small numbers. */
#ifndef PTXOPT_SUPPORT_BITSET_H
#define PTXOPT_SUPPORT_BITSET_H

#include "support/memory.h"

typedef struct BitSet {
    uint64_t *words;
    size_t bits;
} BitSet;

BitSet bitset_new(Arena *arena, size_t bits); /* all clear */
static inline bool bitset_has(const BitSet *set, size_t bit) { return set->words[bit / 64] >> (bit % 64) & 1; }
static inline void bitset_add(BitSet *set, size_t bit) { set->words[bit / 64] |= UINT64_C(1) << (bit % 64); }
static inline void bitset_remove(BitSet *set, size_t bit) { set->words[bit / 64] &= ~(UINT64_C(1) << (bit % 64)); }
void bitset_copy(BitSet *to, const BitSet *from); /* same size */
void bitset_clear(BitSet *set);
/* The lowest member at or above 'from', or SIZE_MAX. */
size_t bitset_next(const BitSet *set, size_t from);

#endif
