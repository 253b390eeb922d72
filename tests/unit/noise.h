/* Random numbers for tests that are the same in each run. */
#ifndef PTXOPT_TESTS_NOISE_H
#define PTXOPT_TESTS_NOISE_H

#include <math.h>
#include <stdint.h>

static uint64_t random_state;

static double random_unit(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double random_normal(void)
{
    const double turn = 6.283185307179586;
    return sqrt(-2 * log(random_unit())) * cos(turn * random_unit());
}

#endif
