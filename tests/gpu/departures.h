/* departures: cases in which GPUs are known not to compute what the PTX ISA says.
 *
 * For most of these instructions ptxas has no machine instruction and composes them from others. The emulator follows
 * the ISA; a comparison of the two leaves these tuples out. */
#ifndef PTXOPT_TESTS_DEPARTURES_H
#define PTXOPT_TESTS_DEPARTURES_H

#include "tests/oracle/oracle.h"

typedef struct Departure {
    const char *rows, *kernels;                               /* globs; kernels NULL: all of those rows */
    bool (*concerns)(const Probe *probe, const uint64_t *in); /* true for the tuples concerned; NULL: all of them */
    const char *why;
} Departure;

enum { MOST_DEPARTURES = 32 };

extern const Departure departures[];
extern const unsigned departure_count; /* at most MOST_DEPARTURES */

/* The one that concerns tuples of this kernel; NULL if there is none. */
const Departure *departure_of(const Probe *probe);
bool departure_concerns(const Departure *departure, const Probe *probe, const uint64_t *in);

#endif
