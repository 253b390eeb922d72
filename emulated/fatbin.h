/* The PTX in the images that nvcc embeds. */
#ifndef PTXOPT_EMULATED_FATBIN_H
#define PTXOPT_EMULATED_FATBIN_H

#include "support/support.h"

/* Machine code beside the PTX. */
typedef struct Cubin {
    const void *bytes; /* in the arena; NULL: none */
    size_t size;
} Cubin;

/* 'image' is PTX, a fat binary, or the structure that compiled host code has for one. Returns the PTX, in the arena, or
 * NULL with *error set; if there are several, the last, which is that of the newest architecture. *cubin is set to the
 * machine code for architecture 'number' (90 for sm_90), if it can be read. */
const char *image_ptx(Arena *arena, const void *image, unsigned number, Cubin *cubin, const char **error);

/* The PTX of several units as one. NULL with *error set if one of them cannot be read. */
const char *link_ptx(Arena *arena, const char *const *texts, size_t count, const char **error);

#endif
