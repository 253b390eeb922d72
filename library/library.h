/* library: the public interface ptxopt.h, for the programs of this tree, which also have what it does not show.
 *
 * library.c has the objects of the interface, diagnostics.c turns what a run prints into diagnostics. */
#ifndef PTXOPT_LIBRARY_H
#define PTXOPT_LIBRARY_H

#include "engine/engine.h"
#include "library/ptxopt.h"

/* For a program: options that were read from its command line, and that live as long as the result; messages are
 * printed to 'messages'. NULL: no memory. */
ptxopt_options *library_options(const Options *options, FILE *messages);
/* A text that was read already and is not copied; one run at a time, and it lives as long as the result. NULL: no
 * memory. */
ptxopt_module *library_module(Source *source);

#endif
