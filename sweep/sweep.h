/* sweep: the space of coarsening that Magni, Dubach and O'Boyle explore (SC'13, section 5.1): factors, dimensions,
 * strides and block sizes of kernels, for several architectures, into one table with a row for each configuration.
 *
 * A form is made once, counted once for each block size and assembled once for each architecture; times are predicted
 * (cost/). Forms are shared out to processes, so a fault in one of them costs one form. */
#ifndef PTXOPT_SWEEP_H
#define PTXOPT_SWEEP_H

#include <signal.h>
#include <stdio.h>

#include "emulator/emulator.h"
#include "opt/opt.h"
#include "options/options.h"

/* What is merged, and along which axis. */
typedef struct SweepDimension {
    bool of_blocks;
    unsigned axis; /* 0 to 2 for x, y, z */
} SweepDimension;

typedef struct SweepBlock {
    unsigned threads[3];
} SweepBlock;

typedef struct SweepRequest {
    const char *input; /* PTX */
    VEC(const char *) launches; /* files; each is swept for the kernel that it names */
    PathList archs;             /* none: the module's .target */
    VEC(unsigned) factors;
    VEC(SweepDimension) dimensions; /* none: those along which the kernel has threads, and blocks */
    VEC(Stride) strides;            /* of merged threads */
    VEC(SweepBlock) blocks;         /* besides the launch's own */
    bool usual_blocks;              /* powers of two as well */
    const char *machine; /* a file; NULL: the devices as the table has them */
    AssemblerKind assembler;
    bool assembler_given;
    bool measures;       /* times on a GPU as well */
    bool reassociates;   /* tuning: forms may add floating-point numbers in another order */
    bool quiet;          /* no progress, no summary */
    unsigned jobs;       /* processes; 0: one for each core */
    const char *output;  /* the table, whose rows are kept; NULL: standard output */
    const volatile sig_atomic_t *stop; /* once it is not 0, what is known is written; NULL: never */
} SweepRequest;

/* What became of a configuration. */
typedef enum SweepStatus {
    SWEEP_OK,
    SWEEP_REFUSED,  /* coarsening is not sound, or there is nothing to coarsen */
    SWEEP_UNMET,    /* the launch does not meet the form's contract */
    SWEEP_REJECTED, /* the assembler made no code of it */
    SWEEP_FAULT,    /* the launch cannot be run to its end */
    SWEEP_NO_ROOM,  /* an SM cannot hold a block */
    SWEEP_DIFFERENT, /* its results on the GPU are not the original's */
    SWEEP_STATUS_COUNT
} SweepStatus;

/* Figures of a configuration. */
typedef enum SweepColumn {
#define COLUMN(id, ...) SWEEP_##id,
#include "sweep/columns.def"
    SWEEP_COLUMN_COUNT
} SweepColumn;

typedef struct SweepRow {
    const char *kernel, *launch, *arch; /* the launch's file as the user named it */
    unsigned block[3];                  /* of the original */
    SweepDimension dimension;
    unsigned factor; /* 1: the original, of which dimension and stride mean nothing */
    Stride stride;   /* of merged threads */
    SweepStatus status;
    bool by_machine;    /* times are of machine code, else of PTX; an original has a row of each kind */
    const char *bound;  /* the resource that binds; "-": unknown */
    const char *reason; /* of a status that is not SWEEP_OK; "-": none */
    uint64_t inputs;    /* a hash of all that decides the row */
    double values[SWEEP_COLUMN_COUNT]; /* NAN: unknown */
} SweepRow;

typedef struct SweepTable {
    Arena *arena;
    VEC(SweepRow) rows;
} SweepTable;

/* Adds a table's rows; NULL when done, or a message in the arena that names the file and the line. */
const char *sweep_read(SweepTable *table, const char *path);
/* Prints rows from 'first' on, tab-separated, with the names of the columns before them if first is 0. */
void sweep_print(const SweepTable *table, size_t first, Buf *out);

/* Sweeps the space and writes the table; an ExitStatus. Says on standard error what is wrong, and how far it is. */
int sweep_run(Arena *arena, const SweepRequest *request);

/* Looks for the configuration of each launch's kernel that is predicted, or on a GPU measured, to be the fastest:
 * estimates all, measures the best as sweep_run() does, adds fewer registers, staging, vectors and interleaved loops to
 * the fastest of these as far as that helps, and compares the results of what is left with the original's. Prints the
 * best, with the options of ptxopt that make it. The request's first architecture counts. An ExitStatus. */
int tune_run(Arena *arena, const SweepRequest *request);

#endif
