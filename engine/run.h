/* One run: from the text of a module to its products, which are in memory. */
#ifndef PTXOPT_ENGINE_RUN_H
#define PTXOPT_ENGINE_RUN_H

#include <stdio.h>

#include "options/options.h"

typedef enum ExitStatus {
    EXIT_DONE = 0,
    EXIT_INPUT = 1,    /* the input is wrong, or a file cannot be read or written */
    EXIT_USAGE = 2,
    EXIT_REFUSED = 3,  /* what was asked for by kernel name, or fewer registers where there is no assembler; the PTX is
                          written */
    EXIT_REJECTED = 4, /* by the assembler; nothing is written */
    EXIT_DIFFERENT = 5, /* -verify found a difference, and nothing is written; "run": the kernel did something wrong */
    EXIT_UNVERIFIED = 6, /* the emulator could not run it, so -verify can say nothing; nothing is written */
} ExitStatus;

typedef struct Products {
    const char *ptx; /* NULL unless the status is EXIT_DONE or EXIT_REFUSED */
    size_t ptx_length;
    const void *cubin; /* NULL unless asked for */
    size_t cubin_size;
    const char *knobs; /* the options of ptxas that 'ptx' is for, with spaces between them; "": none; NULL with 'ptx' */
    Buf printed;       /* what 'ptx' points into, if not the source */
    Buf launch, report; /* if asked for; the report also with EXIT_DIFFERENT and EXIT_UNVERIFIED */
    const struct Report
        *kernels;         /* engine/report/report.h; with a report only; NULL before the options have been checked */
    Assembler *assembler; /* during the run */
    Arena *assemblies[2]; /* what 'cubin' points into, if they are there */
} Products;

/* Does what the options ask for, apart from reading and writing files of PTX: the source is the input. What the run
 * makes is in the arena, in *products, which may refer to the source, and goes with products_free. */
ExitStatus run_source(Arena *arena, const Options *options, Source *source, FILE *messages, Products *products);
/* May be called at any point of a run that was left. */
void products_free(Products *products);

#endif
