/* The declarations that the files of buffers that are dead on return share. */
#ifndef PTXOPT_OPT_DEAD_INTERNAL_H
#define PTXOPT_OPT_DEAD_INTERNAL_H

#include "opt/common/early.h"
#include "opt/dead/dead_buffers.h"

/* How an access finds the number of its element. */
typedef enum ElementWay {
    ELEMENT_ANYWHERE, /* by its address */
    ELEMENT_NEAR,     /* by the low half of its address: it is less than 4 GiB behind the first one */
    ELEMENT_THREAD,   /* it is %tid.x and a constant; a negative one is as good as a large one */
    ELEMENT_INDEX,    /* it is a 32-bit register, of either kind */
} ElementWay;

typedef struct DeadAccess {
    Inst *inst;
    Access access;
    ElementWay way;
    RegId index;    /* ELEMENT_INDEX */
    int64_t offset; /* ELEMENT_THREAD: the constant */
} DeadAccess;

/* Threads with an index below the bound: the index is a 32-bit register, of this kind, with the sum of %tid.x and terms
 * that the threads of a block have in common. */
typedef struct FillBound {
    RegId index;
    bool is_thread;   /* the index is %tid.x itself */
    bool is_signed;
    RegId bound;      /* 32 bits, of the same kind, in common; REG_NONE: */
    int64_t constant; /* the bound */
} FillBound;

enum { FILL_BOUNDS_MOST = 2 };

/* A store by which thread t writes element t, if all bounds admit it. */
typedef struct Filling {
    Inst *store;
    Inst *before; /* the threads of a block get to this instruction together; those that store do so right after it */
    FillBound bounds[FILL_BOUNDS_MOST];
    unsigned bound_count;
    bool has_index; /* its address is made of a 32-bit index, not of %tid.x itself */
} Filling;

typedef struct Dead {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Values *values;
    const Dominance *dominance;
    const Variance *variance; /* between the threads of a block */
    BitSet derived;           /* by RegId: computed from the parameter */
    VEC(DeadAccess) accesses; /* of elements of one size */
    Filling filling;
    unsigned elements; /* that shared memory is to have */
    DeadBuffer *result;
} Dead;

/* rewrite.c */
void dead_rewrite(Dead *d);

#endif
