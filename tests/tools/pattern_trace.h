/* Notes of the accesses that the threads of a kernel make. */
#ifndef PTXOPT_TESTS_PATTERN_TRACE_H
#define PTXOPT_TESTS_PATTERN_TRACE_H

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "support/support.h"

enum {
    TRACE_LOOPS = 5,      /* that are followed */
    TRACE_THREADS = 4096, /* of all blocks */
};

/* The module's variable that the notes are in. */
#define TRACE_VARIABLE "pattern_check_trace"

/* An execution of an access. */
typedef struct Record {
    unsigned access;
    unsigned block, thread; /* as one number */
    unsigned nth;           /* with equal rounds, in this thread */
    int64_t rounds[TRACE_LOOPS];
    int64_t address;
} Record;

typedef VEC(Record) RecordVec;

/* The module with room for notes; the lines of the text keep their numbers. NULL: it does not parse. */
Module *trace_parse(const char *name, const Buf *text);
/* A body of the kernel, not in SSA form, whose threads note the accesses that have patterns. NULL: it has no body form,
 * or too many loops. The caller frees it. */
Body *trace_body(Function *kernel, const Patterns *patterns, Variable *trace);
/* The notes of all threads, ordered by thread, and for each thread by time. */
RecordVec trace_read(Arena *arena, const Patterns *patterns, unsigned blocks, unsigned threads, const uint8_t *trace);

#endif
