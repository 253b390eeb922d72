/* Accesses to global memory, and atomic ones whose order does not show, because nothing reads what they return. */
#ifndef PTXOPT_OPT_MEMORY_ATOMICS_H
#define PTXOPT_OPT_MEMORY_ATOMICS_H

#include "analysis/analysis.h"

/* An update: [address] = [address] op value, on integers, or a sum of floating-point numbers. */
typedef struct AtomicUpdate {
    Inst *inst;
    Access access;
    const Operand *value;
    const char *op;     /* "add", "and", "or", "xor", "min", "max" */
    Type type;          /* of the operation; "add.s32" counts as "add.u32" */
    unsigned bytes;     /* 4 or 8 */
    int64_t identity;   /* the value that changes nothing */
} AtomicUpdate;

/* The reason why an atomic operation is not an update. */
typedef enum AtomicKind {
    ATOMIC_IS_UPDATE,
    ATOMIC_IS_READ,    /* something uses its result */
    ATOMIC_IS_ORDERED, /* it orders other accesses, or is seen by the whole system */
    ATOMIC_IS_FLOAT,   /* on floating-point numbers: not a sum, or one whose order must stay */
    ATOMIC_IS_OTHER,   /* an exchange, a wrapping counter, a vector ... */
} AtomicKind;

/* Decodes an instruction that is an atomic operation (ACCESS_ATOMIC). 'out' is set for updates only. 'reassociates':
 * sums of floating-point numbers of 32 and 64 bits are updates, too. */
AtomicKind atomic_update(const Body *body, const Values *values, Inst *inst, bool reassociates, AtomicUpdate *out);
/* Whether the body has any atomic operation. */
bool body_has_atomics(const Body *body);
/* Whether the two may be executed in any order on the same address, whichever it is. */
bool updates_commute(const AtomicUpdate *a, const AtomicUpdate *b);
/* An instruction that combines two registers as the update does: "add.u32", "min.s64". */
const char *update_combine(Arena *arena, const AtomicUpdate *update);

#endif
