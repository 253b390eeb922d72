/* The functions that the files of the evaluator share: integers of any width. */
#ifndef PTXOPT_ANALYSIS_EVALUATE_INTERNAL_H
#define PTXOPT_ANALYSIS_EVALUATE_INTERNAL_H

#include "analysis/evaluate/evaluate.h"

/* The low bits, 1 to 64 of them. */
static inline uint64_t bits_mask(unsigned bits) { return UINT64_MAX >> (64 - bits); }
static inline uint64_t bits_sign(unsigned bits) { return UINT64_C(1) << (bits - 1); }
static inline int64_t bits_signed(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

#endif
