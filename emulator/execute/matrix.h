/* Matrix instructions: the interface between decoding and execution. */
#ifndef PTXOPT_EMULATOR_MATRIX_H
#define PTXOPT_EMULATOR_MATRIX_H

#include "emulator/state/state.h"

typedef enum MatrixKind {
    MATRIX_LDMATRIX,
    MATRIX_STMATRIX,
    MATRIX_MOVMATRIX,
    MATRIX_MMA,
    MATRIX_WMMA_LOAD,
    MATRIX_WMMA_STORE,
    MATRIX_WMMA,
} MatrixKind;

typedef enum ElementType {
    ELEMENT_NONE,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_TF32,
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_E4M3,
    ELEMENT_E5M2,
    ELEMENT_E3M2,
    ELEMENT_E2M3,
    ELEMENT_E2M1,
    ELEMENT_S8,
    ELEMENT_U8,
    ELEMENT_S4,
    ELEMENT_U4,
    ELEMENT_B1,
    ELEMENT_S32,
} ElementType;
unsigned element_bits(ElementType type);

#define MAX_FRAGMENT 8

/* The registers of one operand, as source rows or (destinations) frame offsets; NO_ROW: sink. */
typedef struct Fragment {
    ElementType type;
    unsigned count; /* registers */
    uint32_t rows[MAX_FRAGMENT];
    unsigned row_bytes;
    unsigned bits; /* an element's place in a register: 8 for narrower types with .kind::f8f6f4 */
} Fragment;

/* A factor for each 'k / vector' elements of a row of A or column of B. */
typedef struct Scale {
    unsigned vector;              /* factors along k; 0: not scaled */
    bool is_ue4m3;                /* else ue8m0 */
    uint32_t data, byte, thread; /* source rows */
} Scale;

typedef struct MatrixOp {
    MatrixKind kind;
    unsigned m, n, k;
    Fragment a, b, c, d;
    bool transposed;
    bool column_major; /* wmma load and store */
    char role;         /* wmma load and store: 'a', 'b', 'c' */
    bool saturates, is_and;
    bool quarters;        /* m8n8k4 of f16: four products, each by eight lanes */
    bool a_column, b_row; /* set if the layouts differ from .row.col */
    Scale a_scale, b_scale;
    Rounding rounding;
    MemoryOp memory;
    uint32_t stride; /* source row; NO_ROW: the matrix's own width */
} MatrixOp;

#endif
