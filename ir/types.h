/* Types, state spaces, linkage. */
#ifndef PTXOPT_IR_TYPES_H
#define PTXOPT_IR_TYPES_H

#include "support/support.h"

typedef struct Module Module;
typedef struct Function Function;
typedef struct Variable Variable;
typedef struct Body Body;
typedef struct Block Block;
typedef struct Inst Inst;
typedef struct Operand Operand;

typedef enum TypeClass {
    CLASS_NONE, CLASS_PRED, CLASS_BITS, CLASS_UNSIGNED, CLASS_SIGNED, CLASS_FLOAT, CLASS_OPAQUE
} TypeClass;

/* X(ENUM, spelling without the dot, bits, class): the fundamental and packed types of the PTX ISA, chapter "Types". */
#define TYPE_LIST(X)                                                                                                   \
    X(PRED, "pred", 1, PRED)                                                                                           \
    X(B8, "b8", 8, BITS)                                                                                               \
    X(B16, "b16", 16, BITS)                                                                                            \
    X(B32, "b32", 32, BITS)                                                                                            \
    X(B64, "b64", 64, BITS)                                                                                            \
    X(B128, "b128", 128, BITS)                                                                                         \
    X(U8, "u8", 8, UNSIGNED)                                                                                           \
    X(U16, "u16", 16, UNSIGNED)                                                                                        \
    X(U32, "u32", 32, UNSIGNED)                                                                                        \
    X(U64, "u64", 64, UNSIGNED)                                                                                        \
    X(S8, "s8", 8, SIGNED)                                                                                             \
    X(S16, "s16", 16, SIGNED)                                                                                          \
    X(S32, "s32", 32, SIGNED)                                                                                          \
    X(S64, "s64", 64, SIGNED)                                                                                          \
    X(F16, "f16", 16, FLOAT)                                                                                           \
    X(F16X2, "f16x2", 32, FLOAT)                                                                                       \
    X(BF16, "bf16", 16, FLOAT)                                                                                         \
    X(BF16X2, "bf16x2", 32, FLOAT)                                                                                     \
    X(TF32, "tf32", 32, FLOAT)                                                                                         \
    X(F32, "f32", 32, FLOAT)                                                                                           \
    X(F32X2, "f32x2", 64, FLOAT)                                                                                       \
    X(F64, "f64", 64, FLOAT)                                                                                           \
    X(U16X2, "u16x2", 32, UNSIGNED)                                                                                    \
    X(S16X2, "s16x2", 32, SIGNED)                                                                                      \
    X(U8X4, "u8x4", 32, UNSIGNED)                                                                                      \
    X(S8X4, "s8x4", 32, SIGNED)                                                                                        \
    X(TEXREF, "texref", 64, OPAQUE)                                                                                    \
    X(SAMPLERREF, "samplerref", 64, OPAQUE)                                                                            \
    X(SURFREF, "surfref", 64, OPAQUE)

typedef enum Type {
    TYPE_NONE,
#define X(id, spelling, bits, class) TYPE_##id,
    TYPE_LIST(X)
#undef X
        TYPE_COUNT
} Type;

const char *type_name(Type type); /* "u32", no dot; "" for TYPE_NONE */
unsigned type_bits(Type type);
TypeClass type_class(Type type);
/* Bits, unsigned and signed integers. */
static inline bool class_is_integer(TypeClass class)
{
    return class == CLASS_BITS || class == CLASS_UNSIGNED || class == CLASS_SIGNED;
}
Type type_from_name(const char *name); /* without the dot; TYPE_NONE if it is not a type */
Type type_bits_of_width(unsigned bits); /* 32 -> TYPE_B32 */
/* The number of 32-bit registers that a value takes (b64 2, b128 4, predicates 0, narrower than 32 bits 1). */
unsigned type_registers(Type type);

typedef enum Space {
    SPACE_NONE, /* in an Access: generic */
    SPACE_REG,
    SPACE_CONST,
    SPACE_GLOBAL,
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_SHARED,
    SPACE_TEX, /* only before PTX 1.5 */
    SPACE_COUNT
} Space;
const char *space_name(Space space); /* "global" */

typedef enum Linkage { LINKAGE_NONE, LINKAGE_EXTERN, LINKAGE_VISIBLE, LINKAGE_WEAK, LINKAGE_COMMON } Linkage;

#endif
