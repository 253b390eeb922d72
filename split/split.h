/* split: a module assembled in parts, at the same time, and made one cubin again.
 *
 * A part is the module with some of its kernels: all of its variables, these kernels, and the functions that they call.
 * ptxas gives each kernel of a part the machine code that it has in the whole module: a kernel has its own copy of each
 * function, and addresses of variables are in a table of all of them. Everything that kernels have in common is checked
 * to be the same in all parts, byte for byte. A module for which that does not hold is assembled whole.
 *
 * Only ptxas makes such cubins: nvJitLink compiles relocatable code, and the driver makes no file. */
#ifndef PTXOPT_SPLIT_H
#define PTXOPT_SPLIT_H

#include "assembler/assembler.h"
#include "support/support.h"

/* A time limit for one kernel, and what follows it. */
typedef struct SplitLimit {
    unsigned seconds; /* 0: there is none */
    unsigned level;   /* optimization level of the kernels that take longer, 0..2 */
} SplitLimit;

enum {
    SPLIT_NOT = -1,
    SPLIT_AUTO = 0, /* as many parts as pay for themselves */
};

typedef struct SplitRequest {
    AssemblyRequest request; /* for the whole module; want_cubin is implied */
    int parts;               /* at most so many; SPLIT_AUTO or SPLIT_NOT */
    SplitLimit limit;
} SplitRequest;

/* A kernel that took too long. */
typedef struct SplitLate {
    const char *kernel; /* NULL: the whole module, which was not split */
    double seconds;     /* at the lower level */
} SplitLate;

typedef struct SplitReport {
    unsigned parts;    /* 1: assembled whole */
    const char *whole; /* the reason for that; NULL if the request or the module has only one part */
    SplitLate *late;
    unsigned late_count;
} SplitReport;

/* Assembles as assembler_run() does, with the same result. The report is in 'arena' as well; error lines are those of
 * the module's own text. */
bool split_run(Assembler *assembler, Arena *arena, const SplitRequest *request, Assembly *result, SplitReport *report);

/* Appends a line for each thing of note in the report: "PREFIX: note: ...\n". */
void split_notes(const SplitReport *report, const SplitLimit *limit, const Assembly *assembly, const char *prefix,
                 Buf *text);

#endif
