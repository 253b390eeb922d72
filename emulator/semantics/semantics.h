/* The meaning of instructions: functions of values, and the choice of one by an instruction's row and modifiers.
 *
 * A scalar function takes its operands as bit patterns, zero-extended (predicates 0 or 1), and a control word that says
 * width, signedness and modifiers. */
#ifndef PTXOPT_EMULATOR_SEMANTICS_H
#define PTXOPT_EMULATOR_SEMANTICS_H

#include "emulator/semantics/lanes.h"
#include "ir/ir.h"

#define MAX_SOURCES 6

enum {
    CONTROL_WIDTH = 0x7f, /* 8 to 64 bits */
    CONTROL_SIGNED = 1 << 7,
    CONTROL_ROUNDING_SHIFT = 8, /* a Rounding */
    CONTROL_FTZ = 1 << 11,
    CONTROL_SAT = 1 << 12,
    CONTROL_RELU = 1 << 13,
    CONTROL_NAN = 1 << 14,
    CONTROL_XORSIGN = 1 << 15,
    CONTROL_ABS = 1 << 16,
    CONTROL_HIGH = 1 << 17,
    CONTROL_WRAP = 1 << 18,
    CONTROL_FINITE = 1 << 19,
    CONTROL_OOB = 1 << 20,
    CONTROL_PAIR = 1 << 21,  /* two elements in one register */
    CONTROL_KIND_SHIFT = 22, /* an enumeration of the function's own, up to 10 bits */
};

#define CONTROL_ROUNDING(control) ((Rounding)((control) >> CONTROL_ROUNDING_SHIFT & 7))
#define CONTROL_KIND(control) ((control) >> CONTROL_KIND_SHIFT)

typedef uint64_t ScalarFunction(const uint64_t *s, uint32_t control);

typedef enum BoolKind { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR } BoolKind;

/* The computation of an instruction's value. */
typedef struct Operation {
    RowFunction *row;       /* either on rows ... */
    ScalarFunction *scalar; /* ... or lane by lane */
    uint32_t control;
    Type dest;
    Type sources[MAX_SOURCES];
    unsigned source_count;
    BoolKind combine; /* setp: the operation that combines the last source with the comparison */
    bool divides;     /* an integer division, which may be checked for a divisor of zero */
} Operation;

/* Selects the operation by an instruction's row of the table and its modifiers; false if the row names none. */
bool operation_select(Operation *operation, const Signature *signature, const Form *form);
/* setp. A function of rows makes a row of bytes, one of lanes 0 or 1 (f16x2: bit 0 for the low half, bit 1 for the
 * high half). */
Operation comparison_select(const Signature *signature);

/* Bytes a row element of the type takes; 0 for predicates. */
unsigned type_row_bytes(Type type);
uint64_t width_mask(unsigned bits);
int64_t sign_extend(uint64_t value, unsigned bits);
uint32_t integer_control(Type type); /* the control bits of width and signedness */

/* Values that more than one instruction needs. */
ScalarFunction scalar_mul_hi, scalar_not_pred, scalar_mov_pred, scalar_prmt, scalar_lop3, scalar_double;
enum { PRMT_INDEX, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };

typedef enum FloatOperation {
    FLOAT_ADD,
    FLOAT_SUB,
    FLOAT_MUL,
    FLOAT_FMA,
    FLOAT_DIV,
    FLOAT_RCP,
    FLOAT_SQRT,
    FLOAT_MIN,
    FLOAT_MAX,
    FLOAT_NEG,
    FLOAT_ABS,
    FLOAT_RSQRT,
    FLOAT_SIN,
    FLOAT_COS,
    FLOAT_LG2,
    FLOAT_EX2,
    FLOAT_TANH,
    FLOAT_DIV_APPROX,
    FLOAT_MIN3,
    FLOAT_MAX3,
} FloatOperation;
enum { FORMAT_ID_F32, FORMAT_ID_F16, FORMAT_ID_BF16 };
/* The operation on two patterns of a format. */
uint64_t float_operation(FloatOperation operation, unsigned format, uint64_t a, uint64_t b, uint32_t control);

/* The control word of video instructions: the computation, the parts of its operands, and the combination with c. */

/* One part of each operand; vmad; two or four parts at once. */
ScalarFunction scalar_video, scalar_video_parts;

enum {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_SET,
    VIDEO_AVRG,
    VIDEO_SHL,
    VIDEO_SHR,
    VIDEO_MAD,
};
enum { VIDEO_WHOLE, VIDEO_B0, VIDEO_H0 = VIDEO_B0 + 4 }; /* parts of a register */
enum { VIDEO_SECOND_NONE, VIDEO_SECOND_ADD, VIDEO_SECOND_MIN, VIDEO_SECOND_MAX };
enum {
    VIDEO_D_SIGNED = 1 << 4,
    VIDEO_A_SIGNED = 1 << 5,
    VIDEO_B_SIGNED = 1 << 6,
    VIDEO_SAT = 1 << 7,
    VIDEO_SECOND_SHIFT = 8,
    VIDEO_COMPARE_SHIFT = 10, /* a CompareKind up to COMPARE_GE */
    VIDEO_D_SHIFT = 13,       /* parts */
    VIDEO_A_SHIFT = 16,
    VIDEO_B_SHIFT = 19,
    VIDEO_WRAP = 1 << 22,
    VIDEO_PLUS_ONE = 1 << 23,
    VIDEO_SHIFT_7 = 1 << 24,
    VIDEO_SHIFT_15 = 1 << 25,
    VIDEO_NEGATE_A = 1 << 26,
    VIDEO_NEGATE_B = 1 << 27,
    VIDEO_NEGATE_C = 1 << 28,
    VIDEO_FOUR = 1 << 29,   /* four parts, else two */
    VIDEO_MASK_SHIFT = 13, /* of the parts; where others have VIDEO_D_SHIFT and VIDEO_A_SHIFT */
};
#define VIDEO_OPERATION(control) ((control) & 15)
#define VIDEO_SECOND(control) ((control) >> VIDEO_SECOND_SHIFT & 3)
#define VIDEO_COMPARE(control) ((control) >> VIDEO_COMPARE_SHIFT & 7)
#define VIDEO_PART(control, shift) ((control) >> (shift)&7)
#define VIDEO_MASK(control) ((control) >> VIDEO_MASK_SHIFT & 15)

#endif
