/* Buffers whose contents nothing reads after the kernel: what a block writes there can stay in shared memory. */
#ifndef PTXOPT_OPT_DEAD_DEAD_BUFFERS_H
#define PTXOPT_OPT_DEAD_DEAD_BUFFERS_H

#include "opt/common/refusal.h"

/* Parameters of the kernel that point to such buffers, by name. */
typedef struct DeadBuffers {
    const char *const *names;
    unsigned count;
} DeadBuffers;

typedef struct DeadBuffer {
    const char *parameter;
    bool done;
    unsigned element;  /* done: bytes of one */
    unsigned elements; /* done: of a block that shared memory has, at most */
    unsigned accesses; /* done: loads and stores that may go there */
    Span span;         /* done: of the store that fills it first */
    Refusal refusal;   /* not done */
} DeadBuffer;

typedef struct DeadBuffersResult {
    DeadBuffer *buffers;
    unsigned count;
} DeadBuffersResult;

/* The buffers of which shared memory has a part. */
unsigned dead_buffers_count(const DeadBuffersResult *result);

#endif
