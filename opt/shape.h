/* The shape of coarsening: what becomes one, of the threads of a block and of the blocks of the grid. */
#ifndef PTXOPT_OPT_SHAPE_H
#define PTXOPT_OPT_SHAPE_H

#include <stdbool.h>

/* Along x, y, z; 1: nothing is merged along it, and 0 counts as 1. */
typedef struct Shape {
    unsigned threads[3]; /* how many threads of a block become one */
    unsigned blocks[3];  /* how many of the resulting blocks become one */
    unsigned refined[3]; /* in place of all that: how many threads take the place of one ... */
    unsigned spread[3];  /* ... among which this many times as many blocks are divided; the blocks have the others */
    unsigned grown[3];   /* before that: how many blocks of the grid become a larger one, with the threads of all */
} Shape;

/* Either part of a shape: how many become one along all dimensions, and whether that is more than one. */
unsigned merged_count(const unsigned merged[3]);
bool merges_any(const unsigned merged[3]);
/* The threads of the original whose work one thread does. */
unsigned shape_replicas(const Shape *shape);
/* True if nothing is merged, no block grows, and no thread is divided. */
bool shape_is_identity(const Shape *shape);
/* True if blocks are merged, but no threads within them, and none grows: the size of a block stays. */
bool shape_is_of_blocks(const Shape *shape);
/* True if threads or blocks are merged, whether or not blocks grow as well. */
bool shape_merges(const Shape *shape);
bool shape_is_equal(const Shape *a, const Shape *b);
/* True if the whole merges at least as many as the part along each dimension. */
bool shape_is_within(const Shape *part, const Shape *whole);
/* The same shape without zeros. */
Shape shape_complete(const Shape *shape);

#endif
