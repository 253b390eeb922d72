/* The properties of an instruction that constrain its order; shared by memory.c, dependence.c and
 * locations.c only. */
#ifndef PTXOPT_ANALYSIS_ORDERING_H
#define PTXOPT_ANALYSIS_ORDERING_H

#include "analysis/dependence.h"

typedef struct Ordering {
    bool full;        /* nothing crosses it */
    bool fence;       /* no 'ordered' instruction crosses it */
    bool ordered;     /* accesses memory that may be written, synchronises or is volatile */
    bool may_stop;    /* a call or a trap: may not return */
    bool may_fault;
    bool is_volatile;
    bool carry_read, carry_write;
    bool reads, writes; /* memory that may be written */
    bool decoded;       /* 'access' has an address */
    Space space;        /* including what the address itself shows; SPACE_NONE: unknown */
    Access access;
    RegId base;         /* without affine addresses: the register that the address is relative to, or REG_NONE */
    uint32_t version;   /* of that register, for the graph */
    AffineAddress address;
} Ordering;

/* 'out' must not be copied afterwards. */
void ordering_find(const MemoryModel *model, const Inst *inst, Ordering *out);
/* Tells whether memory keeps the two in order; ALIAS_NONE: it does not. */
Alias ordering_alias(const MemoryModel *model, const Ordering *a, const Ordering *b);

#endif
