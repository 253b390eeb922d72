/* Which bytes registers are made of. */
#ifndef PTXOPT_OPT_MEMORY_BYTES_H
#define PTXOPT_OPT_MEMORY_BYTES_H

#include "analysis/analysis.h"

enum { WORD_BYTES = 4 };

/* A byte of a register, or eight copies of its highest bit; reg REG_NONE: zero. */
typedef struct Byte {
    RegId reg;
    uint8_t place;
    bool is_sign;
} Byte;

typedef struct Word {
    Byte bytes[WORD_BYTES];
} Word;

typedef struct Bytes {
    const Body *body;
    Word *words; /* by RegId; the first byte is of the register itself, in place 0: nothing else is known */
    size_t reg_count;
} Bytes;

/* Follows bytes through permutations, conversions and copies, to the registers that loads and other instructions write,
 * and knows which bytes of these are filled. The body is in SSA form. O(I). */
Bytes bytes_compute(Arena *arena, const Body *body);

/* A byte of a register of 16 or 32 bits. */
Byte byte_of(const Bytes *bytes, RegId reg, unsigned place);
/* A byte of an operand of 32 bits: what it reads of its register is extended to these. False if it is neither such a
 * register nor a constant with a zero there. */
bool byte_of_source(const Bytes *bytes, const ComputeSource *source, unsigned place, Byte *out);

static inline bool byte_equal(Byte a, Byte b)
{
    return a.reg == b.reg && (a.reg == REG_NONE || (a.place == b.place && a.is_sign == b.is_sign));
}

#endif
