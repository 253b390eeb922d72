/* The interface between the files of this folder, which no other folder includes. In the order of their calls, each
 * calling only those before it: table.c, relative.c; space.c; kernel.c; measure.c; workers.c; progress.c; sweep.c. */
#ifndef PTXOPT_SWEEP_INTERNAL_H
#define PTXOPT_SWEEP_INTERNAL_H

#include <math.h>

#include "engine/engine.h"
#include "sweep/sweep.h"

/* table.c */
/* A row without figures. */
SweepRow sweep_row_new(void);
/* Reads a line of a table, without its end, into *row, with texts in the arena. False if it is none. */
bool sweep_row_read(Arena *arena, char *line, SweepRow *row);
void sweep_row_print(const SweepRow *row, Buf *out);
/* Orders configurations; 0: they are the same, whatever was found out about them. */
int sweep_row_compare(const SweepRow *a, const SweepRow *b);

/* relative.c: sorts the rows, keeps the last of several for one configuration, and computes speedups. */
void sweep_settle(SweepTable *table);

/* An architecture that forms are assembled for. */
typedef struct SweepTarget {
    Options options;
    Run run; /* with a module of its own */
    Device device;
    uint64_t inputs; /* a hash of what decides its figures, apart from the launch */
} SweepTarget;

/* A launch file, and the kernel that it names. */
typedef struct SweepKernel {
    const char *path;
    const Launch *launch;
    Function *kernel; /* in the first target's module */
    uint64_t inputs;  /* a hash of the file */
    VEC(const Launch *) launches; /* with each block size, the file's own first */
    VEC(SweepDimension) dimensions;
} SweepKernel;

/* A form that is to be measured with all block sizes and for all architectures. */
typedef struct SweepForm {
    const SweepKernel *kernel;
    SweepDimension dimension;
    unsigned factor; /* 1: the original */
    Stride stride;
} SweepForm;

/* What the time of a sweep goes into, in seconds. */
typedef struct SweepSeconds {
    double coarsening, counting, assembling, mapping;
} SweepSeconds;

typedef struct Sweep {
    Arena *arena;
    const SweepRequest *request;
    Source *source;
    SweepTarget *targets;
    size_t target_count;
    VEC(SweepKernel) kernels;
    VEC(SweepForm) forms; /* those whose rows are not all known */
    size_t row_count;     /* of these */
    SweepTable table;
    SweepSeconds seconds;
} Sweep;

/* space.c */
/* Sets the kernel's block sizes and dimensions. */
void sweep_kernel_space(Sweep *sweep, SweepKernel *kernel);
/* Lists the forms of all kernels, without those whose rows the table has. */
void sweep_list_forms(Sweep *sweep);
/* The row of a form with a block size, for an architecture, without figures. */
SweepRow sweep_row_of(const SweepForm *form, const Launch *launch, const SweepTarget *target);

/* kernel.c: each prints an error and returns false if the sweep must end. */
/* Reads the module once for each architecture, and looks for the assembler, which is not left open. */
bool sweep_open_targets(Sweep *sweep);
bool sweep_read_launches(Sweep *sweep);

/* measure.c */
/* Opens the assemblers, for this process. */
bool sweep_open_assemblers(Sweep *sweep);
/* Prints the rows of a form. */
void sweep_measure(Sweep *sweep, const SweepForm *form, Buf *out);

/* progress.c */
typedef struct SweepProgress {
    bool is_shown, is_terminal;
    double begin, last; /* seconds */
} SweepProgress;

double sweep_now(void); /* seconds, on the monotonic clock */
SweepProgress sweep_progress_new(const SweepRequest *request);
/* Shows how many rows are done, at intervals. */
void sweep_progress_show(SweepProgress *progress, const Sweep *sweep, size_t done);
/* Says how long it took, and what for. */
void sweep_progress_end(SweepProgress *progress, const Sweep *sweep, size_t done);

/* workers.c: measures the forms in several processes, whose rows join the table and the end of the output file.
 * Returns the number of forms that were lost because a process ended early. */
size_t sweep_measure_all(Sweep *sweep);

#endif
