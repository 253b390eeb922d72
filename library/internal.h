/* The interface between the files of this folder. */
#ifndef PTXOPT_LIBRARY_INTERNAL_H
#define PTXOPT_LIBRARY_INTERNAL_H

#include "library/library.h"

struct ptxopt_options {
    Arena *arena; /* NULL for a program, whose options are its own */
    Options options;
    FILE *messages; /* a program's */
    const char *error;
    ptxopt_diagnostic_function function;
    void *context;
};

struct ptxopt_module {
    Source *source; /* NULL: each run makes its own */
    const char *text;
    size_t length;
    char name[];
};

/* diagnostics.c: calls the function for each diagnostic that a run has printed. The text is changed. */
void diagnostics_report(char *text, const char *name, ptxopt_diagnostic_function function, void *context);

/* library.c */
/* The status for a guarded function that did not end by itself. */
ptxopt_status guard_status(GuardEnd end);
/* The module's text as a source of its own, or the one that it was made from. */
Source *module_source(Arena *arena, const ptxopt_module *module);

#endif
