/* The comparisons of set, setp and vset. */
#ifndef PTXOPT_EMULATOR_COMPARE_H
#define PTXOPT_EMULATOR_COMPARE_H

typedef enum CompareKind {
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE,
    COMPARE_EQU,
    COMPARE_NEU,
    COMPARE_LTU,
    COMPARE_LEU,
    COMPARE_GTU,
    COMPARE_GEU,
    COMPARE_NUM,
    COMPARE_NAN,
    COMPARE_COUNT
} CompareKind;

#endif
