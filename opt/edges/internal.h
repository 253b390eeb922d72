/* The declarations that the files of edges share. */
#ifndef PTXOPT_OPT_EDGES_INTERNAL_H
#define PTXOPT_OPT_EDGES_INTERNAL_H

#include "analysis/analysis.h"
#include "opt/edges/edges.h"

enum {
    EDGE_GUARDS_MOST = 4,
    EDGE_TERMS_MOST = 12,
    AXES_ALL = 7,
    AXES_UNKNOWN = 1 << 7, /* it depends on more than the axes of the thread's place in the grid */
};

/* A part of a guard's condition: a thread passes only if the predicate has this value. */
typedef struct EdgeTerm {
    RegId predicate;
    bool passes_if;
    uint8_t axes;
} EdgeTerm;

/* A pointer among the entry parameters. */
typedef struct EdgePointer {
    const Variable *parameter; /* NULL: none, or unknown which */
    int64_t offset;            /* in it, in bytes: it may be a structure */
} EdgePointer;

/* A store, or an atomic operation, of the kernel. */
typedef struct EdgeStore {
    const Inst *inst;
    EdgePointer pointer; /* by which it stores */
} EdgeStore;

typedef struct Edges {
    Body *body;
    Arena *scratch;
    Analyses *analyses;
    const Dominance *dominance;
    const LoopForest *loops;
    const Values *values;
    const EdgesRequest *request;
    EdgesResult *result;
    Span diagonal;              /* of a branch that threads beside a diagonal pass, and is no guard; 0,0: none */
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
    VEC(EdgeStore) stores;      /* of the kernel; */
    bool knows_stores;          /* they have been found */
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

/* edges.c */
void edges_find_facts(Edges *e, Analyses *analyses, Arena *scratch);
/* The terms that together mean that the predicate has this value; false if there are too many. */
bool edges_parts(const Edges *e, RegId predicate, bool passes_if, EdgeTerm parts[EDGE_TERMS_MOST], unsigned *count);
/* Whether the part of a condition compares the indices along two axes; else it is about the edges of the data. */
bool edges_is_joint(const EdgeTerm *part);
/* An instruction that may end threads, other than at the end of a block; NULL: there is none. */
const Inst *edges_find_end(const Body *body);
/* The blocks from which control may come to the block. */
BitSet edges_sources(const Edges *e, Block *to);
/* Sets the region; false if the blocks that 'inside' dominates lead elsewhere than to 'outside', or have no loop. */
bool edges_find_region(Edges *e);
/* Sets 'last' and 'effect'. Refuses a region that has no effect, or whose first effects are in a loop. */
bool edges_find_last(Edges *e);
/* Whether control comes to the instruction of the block before the first effect. */
bool edges_is_before(const Edges *e, const Block *block, const Inst *inst);
/* False, and refused, if a thread may not execute the region up to the first effect in the place of another, or no loop
 * is there. Sets 'stored'. */
bool edges_check_region(Edges *e);

/* remake.c */
/* Whose index the reads of an axis become. */
typedef enum Place {
    PLACE_ORIGIN, /* the first thread's of the first block */
    PLACE_FIRST,  /* the first thread's of the block, or of the first of those that become one */
    PLACE_LAST,   /* the last thread's, of the last of them that is in the grid */
} Place;

/* The values that are made of others, in one way. */
typedef struct Remake {
    Edges *e;
    Place place;
    unsigned axes; /* of the place; along the others, the thread keeps its indices */
    Block *at;
    Inst *before;  /* an instruction of the block; NULL: at its end, before a branch */
    RegId *known;  /* by RegId: the value made of it; REG_NONE: not yet */
    struct Remake *origin; /* NULL: all values that depend on an axis are made of the place's indices; else those that
                            * depend on axes with a condition are chosen between the thread's and the origin's */
    const RegId *within;   /* by axis: whether the thread keeps its indices */
} Remake;

/* The place of a thread that has its own indices along all axes but these. Code is added at the end of the block. */
Remake remake_new(Edges *e, Place place, unsigned axes, Block *at);
void remake_put(const Remake *m, Inst *inst);
RegId remake_reg(const Remake *m, Type type, const char *base);
/* The value there. All that it comes from has known axes. */
RegId remade(Remake *m, RegId reg);
/* Adds "and the predicate has this value" to a condition; REG_NONE is one that always holds. */
RegId remake_both(const Remake *m, RegId condition, RegId predicate, bool value);
/* Whether all terms hold in the place, along the axes of 'group'; all of them if that is 0. */
RegId remake_condition(Remake *m, RegId condition, unsigned group);
/* "selp.b32", of values of this type; NULL: they cannot be selected. */
const char *edges_select(Type type);
/* The axes with a condition that the value depends on. */
unsigned edges_bounded(const Edges *e, RegId reg);

/* rewrite.c */
/* False, and refused, if a value that the region uses cannot be made for another thread: the body is then in an
 * unspecified state. */
bool edges_rewrite(Edges *e);
/* Makes the block lead to 'inside' if the predicate holds, or always (REG_NONE), else to 'outside'. */
void edges_set_branch(Edges *e, Block *block, RegId predicate, Block *inside);
/* Threads that are not within get 0 in the place of what only the thread itself may load. */
void edges_guard_stored(Edges *e, RegId within);
/* They leave before the first effect. */
void edges_leave(Edges *e, RegId within);

#endif
