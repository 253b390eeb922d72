/* What a run writes, gathered first and written at the end: all of it or nothing. */
#ifndef PTXOPT_CLI_OUTPUT_H
#define PTXOPT_CLI_OUTPUT_H

#include "support/support.h"

typedef struct Output {
    const char *path; /* "-": standard output */
    const void *bytes;
    size_t length;
} Output;

/* Whether a file could be written to 'path', told before any work is done.  NULL if so, else why not. */
const char *output_check(Arena *arena, const char *path);

/* Writes them: files first, standard output last, because what went there cannot be taken back.  When one fails, the
 * files that were not there before are removed again.  NULL when done, else a message that names the file. */
const char *outputs_write(Arena *arena, const Output *outputs, size_t count);

#endif
