/* The accesses of single threads that became vectors, the loops that were unrolled for them, and those that were left
 * alone, for the report. */
#ifndef PTXOPT_OPT_COMMON_VECTOR_LIST_H
#define PTXOPT_OPT_COMMON_VECTOR_LIST_H

#include "opt/common/refusal.h"

typedef enum VectorFate {
    VECTOR_JOINED,   /* accesses became one */
    VECTOR_UNROLLED, /* a loop was unrolled, so that its accesses may */
    VECTOR_LEFT,     /* accesses or a loop that stay as they are, for a reason */
} VectorFate;

typedef struct VectorNote {
    VectorFate fate;
    Span span;          /* of the first access, or of the loop's first instruction; 0,0: unknown */
    const Loc *loc;     /* of the same; NULL: unknown */
    bool is_store;      /* JOINED */
    bool is_tested;     /* JOINED: only where a test holds when the kernel runs */
    unsigned count;     /* JOINED: accesses; UNROLLED: rounds */
    unsigned bytes;     /* JOINED: of the vector */
    Refusal refusal;    /* LEFT */
} VectorNote;

typedef struct VectorList {
    VEC(VectorNote) items;
} VectorList;

/* How many vectors were made. */
unsigned vectors_joined(const VectorList *list);

/* Adds the note, in the arena, unless the list has it. */
void vector_record(Arena *arena, VectorList *list, const VectorNote *note);

#endif
