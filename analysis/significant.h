/* How many bits of an integer hold anything. */
#ifndef PTXOPT_ANALYSIS_SIGNIFICANT_H
#define PTXOPT_ANALYSIS_SIGNIFICANT_H

#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* By RegId: the bits above so many are zero in every execution.  It is the register's size where no fewer are known,
 * and 64 for a register that is not an integer.  Follows loads of small types, phis, and what
 * analysis/evaluate/evaluate.h bounds. An undefined value may have any bits. O(I + R) for each of a few rounds. */
uint8_t *significant_bits(Arena *arena, const Values *values);

#endif
