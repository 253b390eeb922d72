/* The lowest bits of integers, as far as they are known. */
#ifndef PTXOPT_OPT_REPLICAS_LOW_BITS_H
#define PTXOPT_OPT_REPLICAS_LOW_BITS_H

#include "analysis/analysis.h"

enum { LOW_BITS_MOST = 5 }; /* bits: neighbours are at most 32 apart */

/* The lowest 'count' bits of a register, which are those of 'value'. */
typedef struct LowBits {
    uint8_t count, value;
} LowBits;

/* Those of the result's register, given those of the sources' registers; those of constants are not read. */
LowBits low_bits_of(const Computation *c, const LowBits *sources);
/* The bounds of a register with these lowest bits, given others. */
Bounds low_bits_bounds(LowBits low, Bounds bounds);

#endif
