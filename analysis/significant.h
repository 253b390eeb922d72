/* How many bits of an integer hold anything. */
#ifndef PTXOPT_ANALYSIS_SIGNIFICANT_H
#define PTXOPT_ANALYSIS_SIGNIFICANT_H

#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* By RegId: the bits above so many are zero in every execution; the register's size, where no fewer are known, and for
 * what is no integer of 16, 32 or 64 bits.  Follows loads of small types, constants, selections, masks, shifts, sums,
 * products, remainders, conversions, counts of bits and phis.  A value that is undefined has any bits.
 * O(I + R) for each of a few rounds. */
uint8_t *significant_bits(Arena *arena, const Values *values);

#endif
