/* Reading the module. */
#ifndef PTXOPT_ENGINE_INPUT_H
#define PTXOPT_ENGINE_INPUT_H

#include <stdio.h>

#include "support/support.h"

/* False, after a message, if the text is of another known kind. A NUL byte at its end, as in NVRTC's buffer, is
 * dropped. */
bool input_is_ptx(Source *source, FILE *messages);
/* Reads the PTX of a file, or of standard input for "-". NULL, after a message, if it cannot be read or is not PTX. */
Source *input_read(Arena *arena, const char *path);

#endif
