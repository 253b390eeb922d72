/* One run: from the text of a module to its products, which are in memory. */
#ifndef PTXOPT_ENGINE_RUN_H
#define PTXOPT_ENGINE_RUN_H

#include <stdio.h>

#include "options/options.h"

typedef enum ExitStatus {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,    /* the input is wrong, or a file cannot be read or written */
    EXIT_USAGE = 2,
    EXIT_REFUSED = 3,  /* a request by kernel name was refused, or fewer registers were requested without an assembler;
                        * the PTX is written */
    EXIT_REJECTED = 4, /* by the assembler; nothing is written */
    EXIT_DIFFERENT = 5, /* -verify found a difference, and nothing is written; "run": the kernel has a fault */
    EXIT_UNVERIFIED = 6, /* the emulator could not run it, so -verify can say nothing; nothing is written */
} ExitStatus;

typedef struct Products {
    const char *ptx; /* NULL unless the status is EXIT_DONE or EXIT_REFUSED */
    size_t ptx_length;
    const void *cubin; /* NULL unless requested */
    size_t cubin_size;
    const char *knobs; /* the ptxas options that 'ptx' is for, separated by spaces; "": none; NULL with 'ptx' */
    Buf printed;       /* the text that 'ptx' points into, if not the source */
    Buf launch, report; /* if requested; the report also with EXIT_DIFFERENT and EXIT_UNVERIFIED */
    const struct Report
        *kernels;         /* engine/report/report.h; with a report only; NULL before the options have been checked */
    Assembler *assembler; /* during the run */
    Arena *assemblies[2]; /* the arenas that 'cubin' points into, if any */
} Products;

/* Does everything that the options request, except reading and writing PTX files: the source is the input. The results
 * are in the arena and in *products, which may refer to the source and is freed by products_free. */
ExitStatus run_source(Arena *arena, const Options *options, Source *source, FILE *messages, Products *products);
/* Frees the products; may be called wherever a run was left. */
void products_free(Products *products);

#endif
