/* Matrix instructions: what is shared between decoding and execution. */
#ifndef PTXOPT_EMULATOR_MATRIX_H
#define PTXOPT_EMULATOR_MATRIX_H

#include "emulator/simt.h"

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
} Fragment;

typedef struct MatrixOp {
    MatrixKind kind;
    unsigned m, n, k;
    Fragment a, b, c, d;
    bool transposed;
    bool column_major; /* wmma load and store */
    char role;         /* wmma load and store: 'a', 'b', 'c' */
    bool saturates, is_and;
    Rounding rounding;
    MemoryOp memory;
    uint32_t stride; /* source row; NO_ROW: the matrix's own width */
} MatrixOp;

#endif
