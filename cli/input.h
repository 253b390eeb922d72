/* Reading the module. */
#ifndef PTXOPT_CLI_INPUT_H
#define PTXOPT_CLI_INPUT_H

#include "support/support.h"

/* Reads the PTX of a file, or of standard input for "-".  A NUL byte at its end, as NVRTC's buffer has it, is dropped.
 * NULL after a message: the file cannot be read, or is of another kind that is known. */
Source *input_read(Arena *arena, const char *path);

#endif
