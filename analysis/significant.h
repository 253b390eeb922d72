/* The number of significant bits of integers. */
#ifndef PTXOPT_ANALYSIS_SIGNIFICANT_H
#define PTXOPT_ANALYSIS_SIGNIFICANT_H

#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* By RegId, the number of low bits above which all are zero in every execution: the register's size if no fewer are
 * known, and 64 for a register that is not an integer. Follows loads of small types, phis, and everything that
 * analysis/evaluate/evaluate.h bounds. An undefined value may have any bits. O(I + R) for each of a few rounds. */
uint8_t *significant_bits(Arena *arena, const Values *values);

#endif
