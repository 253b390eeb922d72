/* The declarations that the files of edges share. */
#ifndef PTXOPT_OPT_EDGES_INTERNAL_H
#define PTXOPT_OPT_EDGES_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/edges/edges.h"

enum {
    EDGE_GUARDS_MOST = 4,
    EDGE_TERMS_MOST = 12,
    AXES_UNKNOWN = 1 << 7, /* it depends on more than the axes of the thread's place in the grid */
};

/* A part of a guard's condition: a thread passes only if the predicate has this value. */
typedef struct EdgeTerm {
    RegId predicate;
    bool passes_if;
    uint8_t axes;
} EdgeTerm;

typedef struct Edges {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Dominance *dominance;
    const LoopForest *loops;
    const Values *values;
    const EdgesRequest *request;
    EdgesResult *result;
    bool awaits;                /* it may wait for other grids, and read then what they have written */
    Block *guards[EDGE_GUARDS_MOST]; /* each leads to the next, or to 'outside' */
    unsigned guard_count;
    Block *inside, *outside;
    BitSet region;              /* by Block.id: the blocks that 'inside' dominates */
    EdgeTerm terms[EDGE_TERMS_MOST];
    unsigned term_count;
    RegId exists[3];            /* by axis: whether the block is in the grid; REG_NONE: it is */
    uint8_t groups[3];          /* by axis: itself and those that terms connect it with; 0: no term depends on it */
    uint8_t *axes;              /* by RegId: a bit for each axis that the value depends on, or AXES_UNKNOWN */
    Block *last;                /* the block of the region before whose end ... */
    Inst *effect;               /* ... or before this instruction of it nothing is stored; NULL: before its end */
    VEC(Inst *) stored;         /* loads of the region before that of what the kernel may store */
} Edges;

/* axes.c */
/* Sets the refusal, with the place of the instruction (NULL: none), and returns false. */
bool edges_refuse(Edges *e, const Inst *inst, RefusalReason reason);
/* The axis whose index of thread or block the instruction reads, as the only thing that it does; 3: none. */
unsigned edges_axis(const Inst *inst);
/* Sets e->axes. */
void edges_find_axes(Edges *e);

/* conditions.c */
/* Takes tests of branches apart that compare with the greater or lesser of two values. */
void edges_split_conditions(Body *body, const LoopForest *loops, const Values *values);

/* rewrite.c */
/* False, and refused, if a value that the region uses cannot be made for another thread: the body is then in an
 * unspecified state. */
bool edges_rewrite(Edges *e);

#endif
