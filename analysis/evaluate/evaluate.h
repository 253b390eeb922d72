/* The meaning of instructions: the only place outside the emulator that defines what they compute.
 *
 * A Computation is a decoded instruction: the operation, how many bits of each operand it reads and as which kind of
 * integer, and how the result fills its register. It answers three questions: the value for given operands, the bounds
 * on it for bounded operands, and whether it is a sum of multiples of its operands.
 *
 * The list of supported rows of the instruction table is in evaluate.c. Everything else, above all floating-point
 * arithmetic, is refused. tests/unit/test_evaluate.c compares all rows of the list with the emulator, on extreme and
 * random operands. */
#ifndef PTXOPT_ANALYSIS_EVALUATE_H
#define PTXOPT_ANALYSIS_EVALUATE_H

#include "ir/ir.h"
#include "support/support.h"

typedef enum ComputeOp {
    COMPUTE_NOTHING, /* the row is not on the list */
    COMPUTE_COPY,
    COMPUTE_CONVERT, /* from integer to integer */
    COMPUTE_ADD, COMPUTE_SUB, COMPUTE_NEG, COMPUTE_ABS,
    COMPUTE_MUL, COMPUTE_MAD,           /* the low bits, or all bits of a product that is wider than its factors */
    COMPUTE_MUL_HIGH, COMPUTE_MAD_HIGH, /* the high half of the product */
    COMPUTE_MUL_24, COMPUTE_MAD_24,     /* the low bits of a product of 24-bit factors */
    COMPUTE_DIV, COMPUTE_REM,
    COMPUTE_DISTANCE, /* |a - b| + c */
    COMPUTE_MIN, COMPUTE_MAX,
    COMPUTE_HALVES_ADD, COMPUTE_HALVES_MIN, COMPUTE_HALVES_MAX, /* of two integers of 16 bits each */
    COMPUTE_AND, COMPUTE_OR, COMPUTE_XOR, COMPUTE_NOT, COMPUTE_IS_ZERO,
    COMPUTE_TABLE, /* lop3 */
    COMPUTE_SHIFT_LEFT, COMPUTE_SHIFT_RIGHT, COMPUTE_FUNNEL_LEFT, COMPUTE_FUNNEL_RIGHT,
    COMPUTE_EXTRACT, COMPUTE_INSERT, COMPUTE_MASK, COMPUTE_EXTEND, COMPUTE_REVERSE, COMPUTE_PERMUTE,
    COMPUTE_COUNT_ONES, COMPUTE_COUNT_ZEROS, COMPUTE_FIND,
    COMPUTE_SELECT, COMPUTE_SELECT_SIGN,
    COMPUTE_COMPARE, /* the result is a predicate, or fills all bits of the register */
} ComputeOp;

typedef enum Relation {
    RELATION_NONE, RELATION_EQUAL, RELATION_NOT_EQUAL, RELATION_LESS, RELATION_LESS_EQUAL, RELATION_GREATER,
    RELATION_GREATER_EQUAL
} Relation;
/* The relation that holds if the other does not, and the relation of b to a. */
Relation relation_negated(Relation relation);
Relation relation_swapped(Relation relation);

/* The operation that combines a comparison with a predicate, its third operand. */
typedef enum Combination { COMBINE_NOTHING, COMBINE_AND, COMBINE_OR, COMBINE_XOR } Combination;

/* An operand that is read. */
typedef struct ComputeSource {
    const Operand *operand;
    RegId reg;         /* REG_NONE: it is not just a register */
    bool is_constant;  /* an integer constant, 'constant', which has 'bits' bits */
    bool is_inverted;  /* a predicate that is read as its opposite */
    bool is_signed;    /* how it is extended if the operation has more bits */
    uint8_t bits;      /* the bits that are read of the register, which may have more */
    uint8_t reg_bits;
    uint64_t constant;
} ComputeSource;

enum { COMPUTE_SOURCES = 4 };

typedef struct Computation {
    ComputeOp op;
    uint8_t bits;      /* of the result, before it is extended to the register's; 1: a predicate */
    uint8_t reg_bits;
    bool is_signed;    /* the integers that the operation orders, shifts, divides */
    bool extends_sign; /* how the result fills a wider register */
    bool saturates;    /* to the least or greatest integer of the type instead of wrapping */
    bool clips;        /* .relu: negative results become 0 */
    bool clamps;       /* .clamp rather than .wrap, for the amount of a funnel shift and the like */
    bool shift_amount; /* bfind.shiftamt */
    Relation relation;       /* COMPARE */
    Combination combination; /* COMPARE */
    uint8_t table;           /* TABLE */
    RegId result;
    unsigned source_count;
    ComputeSource sources[COMPUTE_SOURCES];
} Computation;

/* Decodes an instruction of the body. False if it is not on the list, writes anything but one register (besides the
 * carry flag), or keeps the old value if a guard is false. O(1). */
bool computation_of(const Body *body, const Inst *inst, Computation *out);
/* The same for an instruction that may be guarded: what it computes if it is executed. */
bool computation_if_executed(const Body *body, const Inst *inst, Computation *out);

/* Takes the instruction apart if all that it does is this operation, with 'bits' of result, on sources of these kinds,
 * one letter each: r a register that is not inverted, i an integer constant, x anything. False otherwise, and for NULL.
 * An addition of two 64-bit registers, .s64 or .u64, is computation_matches(body, inst, COMPUTE_ADD, 64, "rr", &c).
 * A match has no guard, keeps no old value, and neither reads nor writes the carry flag; it may saturate (c.saturates),
 * and a product may be wider than its factors (c.sources[0].bits). */
bool computation_matches(const Body *body, const Inst *inst, ComputeOp op, unsigned bits, const char *sources,
                         Computation *out);
/* The register that the instruction makes a copy of, whole, also as a choice between it and itself; REG_NONE if
 * it does anything else. */
RegId computation_copied(const Body *body, const Inst *inst);
/* Makes a shift to the right, or a mask of the lowest bits, of 32 bits a division by a power of two, or its remainder:
 * the same for values below 2^31. Other computations stay. */
void computation_take_division(Computation *c);
/* True if it makes a predicate just by comparing two integers of this many bits. */
bool computation_is_comparison(const Computation *c, unsigned bits);

/* The bits that the result's register holds if the sources' registers hold these ('values' has an element for each
 * source; those of constants are not read). False if the ISA leaves the value undefined, as for a division by zero. */
bool computation_value(const Computation *c, const uint64_t *values, uint64_t *result);

/* The possible values of a register, at least one: those within all three kinds of bounds. */
typedef struct Bounds {
    uint64_t low, high;   /* as an unsigned integer */
    int64_t least, most;  /* as a signed one */
    uint64_t zeros;       /* bits that are 0 */
    uint8_t bits;         /* of the register, 1 to 64 */
} Bounds;

Bounds bounds_any(unsigned bits);
Bounds bounds_point(unsigned bits, uint64_t value);
/* From low to high, as unsigned integers that the register can hold. */
Bounds bounds_unsigned(unsigned bits, uint64_t low, uint64_t high);
/* The same, with the bits in 'zeros' known to be 0. */
Bounds bounds_with_zeros(Bounds bounds, uint64_t zeros);
/* From low to high, as integers whose low bits the register holds. */
Bounds bounds_wrapped(unsigned bits, __int128 low, __int128 high);
static inline bool bounds_is_point(const Bounds *bounds) { return bounds->low == bounds->high; }

/* Bounds on the result's register, given those of the sources' registers; sources that are neither a register nor a
 * constant may have any value. */
typedef Bounds RegisterBounds(const void *context, RegId reg);
Bounds computation_bounds(const Computation *c, RegisterBounds *of, const void *context);
/* The same, with bounds given for each source, including constants and other sources that are not registers. */
Bounds computation_bounds_of(const Computation *c, const Bounds *sources);
/* Bounds of a register that 'ld' or 'ldu' with this type loads to; the bounds of its type for any other instruction. */
Bounds bounds_of_load(const Body *body, const Inst *inst, RegId reg);

/* constant + sum of factor * source + product of two sources, modulo 2^bits: each source with as many bits as the
 * computation reads of it, extended by its kind. */
typedef struct ComputedSum {
    unsigned bits;
    uint64_t constant;
    unsigned term_count;
    struct ComputedTerm {
        unsigned source;
        uint64_t factor; /* modulo 2^bits */
    } terms[3];
    bool has_product;
    unsigned factors[2]; /* the sources of the product */
} ComputedSum;

/* True if the result is such a sum, given the bounds of the sources: a source with one possible value counts as a
 * constant. The result's register then has no more bits than the sum. */
bool computation_sum(const Computation *c, const Bounds *sources, ComputedSum *out);

#endif
