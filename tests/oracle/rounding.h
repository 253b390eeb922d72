/* Exact values as MPFR numbers, and their one rounding into a format. */
#ifndef PTXOPT_TESTS_ROUNDING_H
#define PTXOPT_TESTS_ROUNDING_H

#include "tests/oracle/oracle.h"

#include <mpfr.h>

/* Enough for a sum of a product and an operand in the format: nothing is rounded before the end. */
unsigned exact_bits(const Spec *spec);
void exact_set(mpfr_t value, const Spec *spec, uint64_t bits);
mpfr_rnd_t mpfr_mode(Mode mode);
/* The pattern of the value rounded once; 'finite': overflow and infinity become the largest finite number. NaN is the
 * canonical one, or the largest number where the format has none. */
uint64_t exact_round(const mpfr_t value, const Spec *spec, Mode mode, bool finite);
/* True if the value is subnormal once it is rounded to the format's precision with no limit to the exponent. The PTX
 * ISA only says that .ftz flushes subnormal results; devices decide it like this. */
bool exact_is_tiny(const mpfr_t value, const Spec *spec, Mode mode);
uint64_t spec_flush(const Spec *spec, uint64_t bits);
/* Clamped to [0, 1]; NaN and -0 become +0. */
void exact_saturate(mpfr_t value);

#endif
