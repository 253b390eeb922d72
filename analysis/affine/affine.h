/* Integer values and addresses as sums: constant + coefficient * base + ... */
#ifndef PTXOPT_ANALYSIS_AFFINE_H
#define PTXOPT_ANALYSIS_AFFINE_H

#include "analysis/evaluate/evaluate.h"
#include "analysis/loops.h"
#include "analysis/values.h"
#include "ir/ir.h"
#include "support/support.h"

/* The base that a term is a multiple of: an unsigned integer that does not change while the sum is compared. */
typedef enum AffineBase {
    AFFINE_VALUE,   /* the bits of register 'reg' */
    AFFINE_SIGNED,  /* the 32 bits of register 'reg' as a signed integer */
    AFFINE_SREG,    /* special register 'sreg' */
    AFFINE_SYMBOL,  /* the address of 'variable' in its own space */
    AFFINE_PARAM,   /* the value of the entry parameter 'variable' at byte 'offset' (reg: the width of the load in
                     * bits) */
    AFFINE_WINDOW,  /* the difference between a generic address in state space 'offset' (a Space) and the address in
                     * that space */
} AffineBase;

typedef struct AffineTerm {
    AffineBase base;
    RegId reg;
    union {
        const void *object;
        const Sreg *sreg;
        const Variable *variable;
    };
    int64_t offset;
    int64_t coefficient; /* never 0; sign-extended from the form's width */
    bool bounded;        /* low <= base <= high is known */
    int64_t low, high;
} AffineTerm;

enum { AFFINE_TERMS = 8 }; /* a longer sum is treated as a value of its own */

/* A sum modulo 2^bits. The sum of the terms as integers and the value agree modulo 2^bits and no more: 32-bit
 * arithmetic may wrap, and a sum that is extended to 64 bits afterwards is split into terms only if their bounds (block
 * sizes, masks) show that it cannot have wrapped. */
typedef struct AffineForm {
    unsigned bits; /* 32 or 64; 0: no integer of these widths */
    unsigned term_count;
    int64_t constant; /* sign-extended from 'bits' */
    const AffineTerm *terms;
} AffineForm;

/* The factors and the addend of a register that sums treat as a base: forms[0] * forms[1] + forms[2]. */
typedef struct AffineFactors {
    AffineForm forms[3];
} AffineFactors;

typedef struct Affine {
    const Body *body;
    size_t reg_count;
    AffineForm *forms;       /* by RegId */
    AffineFactors **factors; /* by RegId: for a register that is the base of products; else NULL */
} Affine;

/* Follows everything that analysis/evaluate/evaluate.h gives as a sum, and addresses, special registers, cvta and
 * ld.param; phis and everything else are bases. SSA only. O(I + R). 'dominance' may be NULL (it is computed then), and
 * so may 'known': no parameter's value is used.
 *
 * Extensions to 64 bits of 32-bit sums that differ by a constant, and products whose factors differ only by constants,
 * are written with one common base: a register that holds one of them, which need not dominate the others. If that
 * depends on a branch (i < n, so i + 1 does not wrap), the sum is right wherever its register has been computed. */
Affine *affine_compute(Arena *arena, const Body *body, const Dominance *dominance, const KnownParameters *known);
/* True if the register existed when the forms were computed; passes add others. */
static inline bool affine_knows(const Affine *affine, RegId reg) { return reg < affine->reg_count; }
static inline AffineForm affine_of_reg(const Affine *affine, RegId reg)
{
    require(affine_knows(affine, reg));
    return affine->forms[reg];
}

/* The address of an OPERAND_ADDRESS of the instruction: not to be copied, because 'form' may point into it. */
typedef struct AffineAddress {
    AffineForm form; /* bits 0: unknown */
    AffineTerm own;
} AffineAddress;
void affine_of_address(const Affine *affine, const Inst *inst, const Operand *address, AffineAddress *out);

/* The registers that the sum is computed from, down to those that are not sums: phis, loads and the like. Appends each
 * to 'leaves' once; false if there are more than 'most'. Their definitions dominate everything with this sum. */
typedef VEC(RegId) RegIdVec;
bool affine_leaves(Arena *arena, const Affine *affine, const AffineForm *form, size_t most, RegIdVec *leaves);

/* a + factor * b, of the width of both, with its terms in the arena; false if they differ in width or are too many. */
bool affine_add(Arena *arena, const AffineForm *a, const AffineForm *b, int64_t factor, AffineForm *out);

/* The bounds of a sum of 32 or 64 bits as a signed integer; false: none narrower than its type are known. */
bool affine_bounds(const AffineForm *form, int64_t *low, int64_t *high);

/* Bounds of any register of at most 64 bits, from its sum; 'affine' is an Affine that knows it. */
Bounds affine_reg_bounds(const void *affine, RegId reg);

/* True if the two terms are multiples of the same base. */
bool affine_base_equal(const AffineTerm *a, const AffineTerm *b);

/* The only variable whose address is in the sum, once; else NULL. */
const Variable *affine_object(const AffineForm *form);
/* The state space that a generic address with this form lies in; SPACE_NONE: unknown. */
Space affine_space(const AffineForm *form);
/* Whether the access is to global memory: by its state space, or by its address. */
bool access_is_global(const Affine *affine, const Inst *inst, const Access *access);

typedef enum Alias {
    ALIAS_UNKNOWN,
    ALIAS_NONE, /* not one byte in common */
    ALIAS_SAME, /* the same first byte */
} Alias;
/* Compares two accesses of a_bytes and b_bytes bytes (0: unknown) in one address space, both made in one execution of
 * the code: between them, no back edge of a loop may change a register in either. Three tests: constant difference, the
 * remainder modulo the common power of two of the coefficients, and the bounds. */
Alias affine_compare(const AffineForm *a, uint64_t a_bytes, const AffineForm *b, uint64_t b_bytes);

/* Writes "4*%tid.x + %rd1 + 16". */
void affine_print(const Affine *affine, const AffineForm *form, Buf *out);

#endif
