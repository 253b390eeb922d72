/* library: the public interface ptxopt.h, and functions beyond it for the programs of this tree.
 *
 * library.c has the objects of the interface, diagnostics.c parses a run's messages into diagnostics, execute.c runs
 * kernels in the emulator, picture.c draws their registers. */
#ifndef PTXOPT_LIBRARY_H
#define PTXOPT_LIBRARY_H

#include "engine/engine.h"
#include "library/ptxopt.h"

/* Options that a program has read from its command line, which must live as long as the result; messages are printed to
 * 'messages'. NULL: no memory. */
ptxopt_options *library_options(const Options *options, FILE *messages);
/* A module from a text that has already been read and is not copied: it must live as long as the result, and only one
 * run may use it at a time. NULL: no memory. */
ptxopt_module *library_module(Source *source);

#endif
