/* The outputs of a run: collected first and written at the end, all of them or none. */
#ifndef PTXOPT_ENGINE_OUTPUT_H
#define PTXOPT_ENGINE_OUTPUT_H

#include "support/support.h"

typedef struct Output {
    const char *path; /* "-": standard output */
    const void *bytes;
    size_t length;
} Output;

/* Checks, before any work is done, that a file can be written to 'path'. NULL if it can, else the reason. */
const char *output_check(Arena *arena, const char *path);

/* Writes files first and standard output last, because that cannot be undone. If one fails, the files that did not
 * exist before are removed. NULL if all were written, else a message that names the file. */
const char *outputs_write(Arena *arena, const Output *outputs, size_t count);

#endif
