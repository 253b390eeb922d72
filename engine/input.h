/* Reading the module. */
#ifndef PTXOPT_ENGINE_INPUT_H
#define PTXOPT_ENGINE_INPUT_H

#include <stdio.h>

#include "support/support.h"

/* False after a message: the text is of another kind that is known.  A NUL byte at its end, as NVRTC's buffer has it,
 * is dropped. */
bool input_is_ptx(Source *source, FILE *messages);
/* Reads the PTX of a file, or of standard input for "-".  NULL after a message: it cannot be read, or is not PTX. */
Source *input_read(Arena *arena, const char *path);

#endif
