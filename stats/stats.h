/* stats: what assemblers made of the kernels of a whole build: a row of figures for each kernel and architecture, from
 * PTX, cubins, and the programs and objects that hold them; comparisons of two builds, kernel by kernel; and conditions
 * on both, by which a build can fail. */
#ifndef PTXOPT_STATS_H
#define PTXOPT_STATS_H

#include <stdio.h>

#include "emulator/emulator.h"
#include "options/options.h"
#include "support/support.h"

typedef enum StatsColumn {
#define COLUMN(id, ...) STATS_##id,
#include "stats/columns.def"
    STATS_COLUMN_COUNT
} StatsColumn;

typedef enum StatsBetter { NEITHER, LESS, MORE } StatsBetter;

typedef struct StatsColumnInfo {
    const char *name;
    StatsBetter better;
    int places; /* decimal */
    const char *help;
} StatsColumnInfo;

extern const StatsColumnInfo stats_columns[STATS_COLUMN_COUNT];

typedef struct StatsRow {
    const char *file;   /* that the user named, or a file below a folder that he named; "lib.a(member.o)" */
    const char *kernel; /* as the code has it */
    const char *arch;   /* "sm_90" */
    double values[STATS_COLUMN_COUNT]; /* NAN: unknown */
} StatsRow;

typedef VEC(StatsRow) StatsRows;

/* A launch bound that is met by spilling, and the same kernel without it. */
typedef struct StatsBound {
    const char *file, *kernel, *arch;
    unsigned line;                      /* of the kernel in the PTX */
    unsigned maxnreg, minnctapersm;     /* 0: not given */
    unsigned registers, free_registers; /* with it and without it */
    double spills, free_spills;         /* bytes */
    double speedup;                     /* predicted, of the kernel without it; 0: unknown */
} StatsBound;

typedef struct StatsRequest {
    const char *arch;           /* for PTX; NULL: the module's .target */
    unsigned block[3];          /* of kernels that do not say; 0: unknown */
    bool predicts;              /* times of kernels in PTX: estimated, or counted for those that have a launch */
    const Launch *const *launches; /* of which each counts for the kernel that it names */
    size_t launch_count;
    AssemblerKind assembler;
    bool assembler_given;
    const char *controls;       /* a file of compiler controls for ptxas; NULL: none */
    bool quiet;                 /* no warnings */
} StatsRequest;

typedef struct Stats {
    Arena *arena;
    StatsRows rows;
    VEC(StatsBound) bounds;
    size_t files; /* that had kernels */
} Stats;

/* Adds the rows of all kernels in a file: PTX, which is assembled; a cubin; an object, program, library or archive with
 * cubins in it; a table that stats_print_tsv or stats_print_json wrote; or a folder, in which other files are passed
 * over. False, after a message to standard error, if something cannot be read. */
bool stats_collect(Stats *stats, const StatsRequest *request, const char *path);
/* Adds the rows of a cubin; 'log', which may be NULL, is what ptxas -v printed when it made it. False if it is none. */
bool stats_add_cubin(Stats *stats, const StatsRequest *request, const char *file, const void *bytes, size_t size,
                     const char *log);

/* A table for people. */
void stats_print_text(const Stats *stats, Buf *out);
/* A table of all columns, the first line of which names them, between tabs; "-": unknown. */
void stats_print_tsv(const Stats *stats, Buf *out);
void stats_print_json(const Stats *stats, Buf *out);
/* A sentence about a bound, without a line end. */
void stats_print_bound(Arena *arena, const StatsBound *bound, Buf *out);

/* Appends rows to a table of tab-separated values that several processes may be writing; makes it if there is none.
 * NULL, or an error message in the arena. */
const char *stats_append(Arena *arena, const char *path, const StatsRows *rows);

/* A kernel in two builds. */
typedef struct StatsPair {
    const StatsRow *base, *now; /* NULL: it is not there */
} StatsPair;

typedef struct StatsDiff {
    const Stats *base, *now;
    VEC(StatsPair) pairs; /* in the order of 'now', then those that are gone */
} StatsDiff;

/* Matches kernels by name and architecture. Parts of names that hold a hash of the file do not count; of kernels that
 * are several times in a build, those of the same file are matched, and the others in their order. */
void stats_match(const Stats *base, const Stats *now, StatsDiff *diff);
/* Helped, hurt, added and removed kernels, and for each column the sums and the changes. 'lists_all': also kernels that
 * did not change. */
void stats_print_diff(const StatsDiff *diff, bool lists_all, Buf *out);
void stats_print_diff_tsv(const StatsDiff *diff, Buf *out);
void stats_print_diff_json(const StatsDiff *diff, Buf *out);

/* A condition by which a build fails: "spills>0", "registers+8" (8 more or worse), "time+2%", or "KERNEL:spills>0". */
typedef struct StatsCondition StatsCondition;

/* NULL, with *error in the arena, if the text is none. */
const StatsCondition *stats_condition_read(Arena *arena, const char *text, const char **error);
/* True if it is about a change, which needs two builds. */
bool stats_condition_compares(const StatsCondition *condition);

/* A kernel for which a condition holds. */
typedef struct StatsFailure {
    const StatsRow *row;
    const char *reason; /* "spills 104 > 0" */
} StatsFailure;

typedef VEC(StatsFailure) StatsFailures;

/* Adds the failures of one kernel. */
void stats_condition_check(Arena *arena, const StatsCondition *condition, const StatsPair *pair,
                           StatsFailures *failures);

/* A kernel's name for people, in the arena. */
const char *stats_name_shown(Arena *arena, const char *kernel);

/* Annotations of a GitHub workflow, one on a line. */
void stats_print_github(Arena *arena, const StatsFailures *failures, const Stats *stats, Buf *out);

#endif
