/* The random generator of this program: SplitMix64 (Steele, Lea and Flood: "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014). The same seed gives the same numbers on every machine: searches, launch files and fuzzers
 * rely on it. */
#ifndef PTXOPT_SUPPORT_RANDOM_H
#define PTXOPT_SUPPORT_RANDOM_H

#include <stdint.h>

/* Any state is a valid seed. */
typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    uint64_t bits = random->state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* A number below 'bound', which must not be 0. */
static inline uint32_t random_below(Random *random, uint32_t bound)
{
    return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

#endif
