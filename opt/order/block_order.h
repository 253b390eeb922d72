/* The order in which the blocks of a grid do their work, along x and y. */
#ifndef PTXOPT_OPT_ORDER_H
#define PTXOPT_OPT_ORDER_H

typedef enum GridOrderKind {
    GRID_ORDER_ROWS,     /* as the launch numbers them: all along x, then the next y */
    GRID_ORDER_GROUPS,   /* down 'rows' of them, then the next column, then the next group of rows */
    GRID_ORDER_DIAGONAL, /* x is (x + y) modulo the number of blocks along x */
} GridOrderKind;

typedef struct GridOrder {
    GridOrderKind kind;
    unsigned rows; /* GRID_ORDER_GROUPS: GRID_ORDER_LEAST to GRID_ORDER_MOST */
} GridOrder;

enum { GRID_ORDER_LEAST = 2, GRID_ORDER_MOST = 1024 };

#endif
