/* Instructions executed on whole register rows: one function for each of the frequent ones, in loops that compilers
 * vectorise.
 *
 * A row holds one register of a warp: 32 elements of 2, 4 or 8 bytes (registers of 8 bits take 2 bytes), or for a
 * predicate one 32-bit mask. All 32 lanes are computed; the caller keeps those that are active. Source and
 * destination rows are the same or do not overlap.
 *
 * The bodies are in lanes.inc, compiled twice: for any machine, and for x86-64 with AVX2 and FMA. */
#ifndef PTXOPT_EMULATOR_LANES_H
#define PTXOPT_EMULATOR_LANES_H

#include "emulator/semantics/numbers.h"

#define LANES 32
#define ALL_LANES UINT32_MAX

typedef void RowFunction(void *d, const void *const *s);

#define FLOAT_BINARY(X, ID, e) X(ID, float, float, float, arithmetic(e))
#define FLOAT_BINARY_FTZ(X, ID, e) X(ID##_FTZ, float, float, float, flush(arithmetic(e)))
/* 'scaled' is the same value times FLUSH_SCALE. Sums of normal numbers need none: a subnormal sum is exact. */
#define FLOAT_BINARY_TINY(X, ID, e, scaled) X(ID##_FTZ, float, float, float, flush_tiny(arithmetic(e), scaled))

/* R1/R2/R3(ID, result type, operand types, value): the expression has the operands' elements as a, b, c. */
#define ROW_LIST(R1, R2, R3, RS)                                                                                       \
    R1(COPY_16, uint16_t, uint16_t, a)                                                                                 \
    R1(COPY_32, uint32_t, uint32_t, a)                                                                                 \
    R1(COPY_64, uint64_t, uint64_t, a)                                                                                 \
    R2(ADD_16, uint16_t, uint16_t, uint16_t, a + b)                                                                    \
    R2(ADD_32, uint32_t, uint32_t, uint32_t, a + b)                                                                    \
    R2(ADD_64, uint64_t, uint64_t, uint64_t, a + b)                                                                    \
    R2(SUB_16, uint16_t, uint16_t, uint16_t, a - b)                                                                    \
    R2(SUB_32, uint32_t, uint32_t, uint32_t, a - b)                                                                    \
    R2(SUB_64, uint64_t, uint64_t, uint64_t, a - b)                                                                    \
    R2(MUL_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b)                                                           \
    R2(MUL_32, uint32_t, uint32_t, uint32_t, a *b)                                                                     \
    R2(MUL_64, uint64_t, uint64_t, uint64_t, a *b)                                                                     \
    R2(MULHI_U32, uint32_t, uint32_t, uint32_t, (uint64_t)a *b >> 32)                                                  \
    R2(MULHI_S32, uint32_t, int32_t, int32_t, (int64_t)a *b >> 32)                                                     \
    R2(MULWIDE_U16, uint32_t, uint16_t, uint16_t, (uint32_t)a *b)                                                      \
    R2(MULWIDE_S16, uint32_t, int16_t, int16_t, (int32_t)a *b)                                                         \
    R2(MULWIDE_U32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)                                                      \
    R2(MULWIDE_S32, uint64_t, int32_t, int32_t, (int64_t)a *b)                                                         \
    R3(MAD_16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)                                             \
    R3(MAD_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)                                                       \
    R3(MAD_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)                                                       \
    R3(MADWIDE_U16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a *b + c)                                        \
    R3(MADWIDE_S16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)a * b) + c)                              \
    R3(MADWIDE_U32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)                                        \
    R3(MADWIDE_S32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a * b) + c)                              \
    R1(NEG_16, uint16_t, uint16_t, 0u - a)                                                                             \
    R1(NEG_32, uint32_t, uint32_t, 0u - a)                                                                             \
    R1(NEG_64, uint64_t, uint64_t, 0u - a)                                                                             \
    R2(MIN_U16, uint16_t, uint16_t, uint16_t, a < b ? a : b)                                                           \
    R2(MIN_U32, uint32_t, uint32_t, uint32_t, a < b ? a : b)                                                           \
    R2(MIN_U64, uint64_t, uint64_t, uint64_t, a < b ? a : b)                                                           \
    R2(MIN_S16, int16_t, int16_t, int16_t, a < b ? a : b)                                                              \
    R2(MIN_S32, int32_t, int32_t, int32_t, a < b ? a : b)                                                              \
    R2(MIN_S64, int64_t, int64_t, int64_t, a < b ? a : b)                                                              \
    R2(MAX_U16, uint16_t, uint16_t, uint16_t, a > b ? a : b)                                                           \
    R2(MAX_U32, uint32_t, uint32_t, uint32_t, a > b ? a : b)                                                           \
    R2(MAX_U64, uint64_t, uint64_t, uint64_t, a > b ? a : b)                                                           \
    R2(MAX_S16, int16_t, int16_t, int16_t, a > b ? a : b)                                                              \
    R2(MAX_S32, int32_t, int32_t, int32_t, a > b ? a : b)                                                              \
    R2(MAX_S64, int64_t, int64_t, int64_t, a > b ? a : b)                                                              \
    R2(AND_16, uint16_t, uint16_t, uint16_t, a &b)                                                                     \
    R2(AND_32, uint32_t, uint32_t, uint32_t, a &b)                                                                     \
    R2(AND_64, uint64_t, uint64_t, uint64_t, a &b)                                                                     \
    R2(OR_16, uint16_t, uint16_t, uint16_t, a | b)                                                                     \
    R2(OR_32, uint32_t, uint32_t, uint32_t, a | b)                                                                     \
    R2(OR_64, uint64_t, uint64_t, uint64_t, a | b)                                                                     \
    R2(XOR_16, uint16_t, uint16_t, uint16_t, a ^ b)                                                                    \
    R2(XOR_32, uint32_t, uint32_t, uint32_t, a ^ b)                                                                    \
    R2(XOR_64, uint64_t, uint64_t, uint64_t, a ^ b)                                                                    \
    R1(NOT_16, uint16_t, uint16_t, ~a)                                                                                 \
    R1(NOT_32, uint32_t, uint32_t, ~a)                                                                                 \
    R1(NOT_64, uint64_t, uint64_t, ~a)                                                                                 \
    R2(SHL_16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : (uint32_t)a << b)                                            \
    R2(SHL_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << (b & 31))                                               \
    R2(SHL_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << (b & 63))                                               \
    R2(SHR_U16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : a >> b)                                                     \
    R2(SHR_U32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> (b & 31))                                              \
    R2(SHR_U64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> (b & 63))                                              \
    R2(SHR_S16, int16_t, int16_t, uint32_t, a >> (b > 15 ? 15 : b))                                                    \
    R2(SHR_S32, int32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))                                                    \
    R2(SHR_S64, int64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))                                                    \
    RS(SELECT_16, uint16_t)                                                                                            \
    RS(SELECT_32, uint32_t)                                                                                            \
    RS(SELECT_64, uint64_t)                                                                                            \
    FLOAT_BINARY(R2, ADD_F32, a + b)                                                                                   \
    FLOAT_BINARY(R2, SUB_F32, a - b)                                                                                   \
    FLOAT_BINARY(R2, MUL_F32, a *b)                                                                                    \
    FLOAT_BINARY(R2, DIV_F32, a / b)                                                                                   \
    FLOAT_BINARY_FTZ(R2, ADD_F32, flush(a) + flush(b))                                                                 \
    FLOAT_BINARY_FTZ(R2, SUB_F32, flush(a) - flush(b))                                                                 \
    FLOAT_BINARY_TINY(R2, MUL_F32, flush(a) * flush(b), flush(a) * FLUSH_SCALE * flush(b))                             \
    FLOAT_BINARY_TINY(R2, DIV_F32, flush(a) / flush(b), flush(a) * FLUSH_SCALE / flush(b))                             \
    R3(FMA_F32, float, float, float, float, arithmetic(__builtin_fmaf(a, b, c)))                                       \
    R3(FMA_F32_FTZ, float, float, float, float,                                                                        \
       flush_tiny(arithmetic(__builtin_fmaf(flush(a), flush(b), flush(c))),                                            \
                  __builtin_fmaf(flush(a) * FLUSH_SCALE, flush(b), flush(c) * FLUSH_SCALE)))                           \
    R2(ADD_F64, double, double, double, arithmetic_double(a + b))                                                      \
    R2(SUB_F64, double, double, double, arithmetic_double(a - b))                                                      \
    R2(MUL_F64, double, double, double, arithmetic_double(a *b))                                                       \
    R2(DIV_F64, double, double, double, arithmetic_double(a / b))                                                      \
    R3(FMA_F64, double, double, double, double, arithmetic_double(__builtin_fma(a, b, c)))                             \
    R1(SQRT_F32, float, float, arithmetic(__builtin_sqrtf(a)))                                                         \
    R1(SQRT_F64, double, double, arithmetic_double(__builtin_sqrt(a)))                                                 \
    R1(RCP_F32, float, float, arithmetic(1.0f / a))                                                                    \
    R1(RSQRT_F32, float, float, arithmetic((float)(1.0 / __builtin_sqrt((double)a))))                                  \
    R1(NEG_F32, uint32_t, uint32_t, quiet(a ^ 0x80000000))                                                             \
    R1(ABS_F32, uint32_t, uint32_t, quiet(a & 0x7fffffff))                                                             \
    R1(NEG_F64, uint64_t, uint64_t, a ^ UINT64_C(0x8000000000000000))                                                  \
    R1(ABS_F64, uint64_t, uint64_t, a &UINT64_C(0x7fffffffffffffff))                                                   \
    R1(CVT_F32_S32, float, int32_t, a)                                                                                 \
    R1(CVT_F32_U32, float, uint32_t, a)                                                                                \
    R1(CVT_F64_S32, double, int32_t, a)                                                                                \
    R1(CVT_F64_U32, double, uint32_t, a)                                                                               \
    R1(CVT_F64_F32, double, float, a)                                                                                  \
    R1(EXTEND_U8_16, uint16_t, uint16_t, (uint8_t)a)                                                                   \
    R1(EXTEND_S8_16, uint16_t, uint16_t, (int8_t)a)                                                                    \
    R1(EXTEND_U8_32, uint32_t, uint16_t, (uint8_t)a)                                                                   \
    R1(EXTEND_S8_32, uint32_t, uint16_t, (int32_t)(int8_t)a)                                                           \
    R1(EXTEND_U8_64, uint64_t, uint16_t, (uint8_t)a)                                                                   \
    R1(EXTEND_S8_64, uint64_t, uint16_t, (int64_t)(int8_t)a)                                                           \
    R1(EXTEND_U16_32, uint32_t, uint16_t, a)                                                                           \
    R1(EXTEND_S16_32, uint32_t, int16_t, (int32_t)a)                                                                   \
    R1(EXTEND_U16_64, uint64_t, uint16_t, a)                                                                           \
    R1(EXTEND_S16_64, uint64_t, int16_t, (int64_t)a)                                                                   \
    R1(EXTEND_U32_64, uint64_t, uint32_t, a)                                                                           \
    R1(EXTEND_S32_64, uint64_t, int32_t, (int64_t)a)                                                                   \
    R1(CUT_32_16, uint16_t, uint32_t, a)                                                                               \
    R1(CUT_64_16, uint16_t, uint64_t, a)                                                                               \
    R1(CUT_64_32, uint32_t, uint64_t, a)                                                                               \
    R1(HIGH_32_16, uint16_t, uint32_t, a >> 16)                                                                        \
    R1(HIGH_64_32, uint32_t, uint64_t, a >> 32)                                                                        \
    R2(JOIN_16_32, uint32_t, uint16_t, uint16_t, a | (uint32_t)b << 16)                                                \
    R2(JOIN_32_64, uint64_t, uint32_t, uint32_t, a | (uint64_t)b << 32)                                                \
    COMPARE_LIST(R2, U16, uint16_t)                                                                                    \
    COMPARE_LIST(R2, S16, int16_t)                                                                                     \
    COMPARE_LIST(R2, U32, uint32_t)                                                                                    \
    COMPARE_LIST(R2, S32, int32_t)                                                                                     \
    COMPARE_LIST(R2, U64, uint64_t)                                                                                    \
    COMPARE_LIST(R2, S64, int64_t)                                                                                     \
    COMPARE_LIST(R2, F32, float)                                                                                       \
    COMPARE_LIST(R2, F64, double)                                                                                      \
    UNORDERED_LIST(R2, F32, float)                                                                                     \
    UNORDERED_LIST(R2, F64, double)

/* Comparisons give one byte a lane, 0 or 1: see row_mask. The order within a type is that of CompareKind. */
#define COMPARE_LIST(R2, NAME, T)                                                                                      \
    R2(EQ_##NAME, uint8_t, T, T, a == b)                                                                               \
    R2(NE_##NAME, uint8_t, T, T, (a < b) | (a > b))                                                                    \
    R2(LT_##NAME, uint8_t, T, T, a < b)                                                                                \
    R2(LE_##NAME, uint8_t, T, T, a <= b)                                                                               \
    R2(GT_##NAME, uint8_t, T, T, a > b)                                                                                \
    R2(GE_##NAME, uint8_t, T, T, a >= b)
#define UNORDERED_LIST(R2, NAME, T)                                                                                    \
    R2(EQU_##NAME, uint8_t, T, T, !((a < b) | (a > b)))                                                                \
    R2(NEU_##NAME, uint8_t, T, T, a != b)                                                                              \
    R2(LTU_##NAME, uint8_t, T, T, !(a >= b))                                                                           \
    R2(LEU_##NAME, uint8_t, T, T, !(a > b))                                                                            \
    R2(GTU_##NAME, uint8_t, T, T, !(a <= b))                                                                           \
    R2(GEU_##NAME, uint8_t, T, T, !(a < b))                                                                            \
    R2(NUM_##NAME, uint8_t, T, T, (a == a) & (b == b))                                                                 \
    R2(NAN_##NAME, uint8_t, T, T, (a != a) | (b != b))

typedef enum RowId {
    ROW_NONE,
#define ROW1(id, D, A, value) ROW_##id,
#define ROW2(id, D, A, B, value) ROW_##id,
#define ROW3(id, D, A, B, C, value) ROW_##id,
#define ROWS(id, T) ROW_##id,
    ROW_LIST(ROW1, ROW2, ROW3, ROWS)
#undef ROW1
#undef ROW2
#undef ROW3
#undef ROWS
        ROW_COUNT
} RowId;

/* The best version for this machine; looked up while decoding. */
RowFunction *row_function(RowId id);

/* 32 bytes of 0 or 1, as a mask. */
static inline uint32_t row_mask(const uint8_t *bytes)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t eight;
        memcpy(&eight, bytes + 8 * i, sizeof eight);
        /* Gathers bit 0 of each byte in the top byte. */
        mask |= (uint32_t)(eight * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
    }
    return mask;
}

/* Loops over the addresses of a warp and over the words that record accesses to memory (state/race.c), in the same two
 * versions. Such a word is 0, or a stamp: the time in its upper 26 bits, the lane in bits 1 to 5, the kind in bit 0. */
#define STAMP_SHIFT 6
#define STAMP_LANE UINT32_C(0x3e)

typedef struct LaneLoops {
    /* offsets[i] = cells[i] + add for the lanes of the mask, and for all others the one of lane 'first'. False, with
     * 'offsets' undefined, if one of them is above 'limit', which is less than 2^32, or has a bit of 'unaligned'. */
    bool (*offsets)(uint32_t *offsets, const uint64_t *cells, uint64_t add, uint32_t mask, unsigned first,
                    uint64_t limit, uint32_t unaligned);
    bool (*offsets_narrow)(uint32_t *offsets, const uint32_t *cells, uint32_t add, uint32_t mask, unsigned first,
                           uint32_t limit, uint32_t unaligned);
    /* True if offsets[i] - offsets[0] == relative[i] for all lanes. */
    bool (*are_relative)(const uint32_t *offsets, const uint32_t *relative);
    /* The number of the first 'count' values, at most 32, that differ from all before them. */
    unsigned (*distinct)(const uint64_t *values, unsigned count);
    /* words[i] = the word at from + offsets[i], and the other way around: true if that changes a word. If several lanes
     * store to one place, the last wins. */
    void (*load_words)(uint32_t *words, const uint8_t *from, const uint32_t *offsets);
    bool (*store_words)(uint8_t *to, const uint32_t *offsets, const uint32_t *words);
    /* True if each word is 0, has the time of 'when', or is now | lanes[i] except for bit 0. */
    bool (*are_settled)(const uint32_t *words, const uint32_t *lanes, unsigned count, uint32_t now, uint32_t when);
    bool (*are_stamped)(const uint32_t *words, const uint32_t *lanes, unsigned count, uint32_t now);
    bool (*are_same_time)(const uint32_t *words, unsigned count, uint32_t when);
    void (*stamp)(uint32_t *words, const uint32_t *lanes, unsigned count, uint32_t now);
    /* newer[i] = now | lanes[i]. Its old value goes to older[i], unless 'keeps' is set and it is from the same lane. */
    void (*push)(uint32_t *newer, uint32_t *older, const uint32_t *lanes, unsigned count, uint32_t now, bool keeps);
} LaneLoops;

const LaneLoops *lane_loops(void);

/* d takes the lanes of 'value' that are in the mask. */
void row_blend(void *d, const void *value, uint32_t mask, unsigned element_bytes);

#endif
