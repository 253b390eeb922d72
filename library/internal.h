/* What the files of this folder share. */
#ifndef PTXOPT_LIBRARY_INTERNAL_H
#define PTXOPT_LIBRARY_INTERNAL_H

#include "library/library.h"

/* diagnostics.c: calls the function for each diagnostic in what a run has printed. The text is changed. */
void diagnostics_report(char *text, const char *name, ptxopt_diagnostic_function function, void *context);

#endif
