/* Clocks, in seconds. */
#ifndef PTXOPT_SUPPORT_CLOCK_H
#define PTXOPT_SUPPORT_CLOCK_H

#include <time.h>

static inline double clock_seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Seconds since some moment; nothing sets them back. */
static inline double seconds_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

#endif
