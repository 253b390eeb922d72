/* Nouns after a number: "1 warp", "2 warps". */
#ifndef PTXOPT_SUPPORT_PLURAL_H
#define PTXOPT_SUPPORT_PLURAL_H

#include <stdint.h>

/* The form of the noun that agrees with the count. */
static inline const char *plural_of(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* The end of a noun whose plural ends in "s": "%u warp%s". */
static inline const char *plural(uint64_t count) { return plural_of(count, "", "s"); }

#endif
