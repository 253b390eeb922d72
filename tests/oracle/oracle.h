/* oracle: the expected result of a pure instruction, computed independently of the emulator.
 *
 * A Probe is one spelling of one row of the instruction table together with operands: the row's operand
 * patterns say which registers it takes, and a kernel is written in which thread i applies the instruction to the i-th
 * tuple of inputs. The kernel runs in the emulator (tests/unit/test_oracle_pure.c) or on a device (tests/gpu).
 *
 * The oracle computes the same tuple with exact integers (__int128) or MPFR and says what is acceptable. It follows
 * the PTX ISA as summarized in tests/isa/semantics.md and shares no code with the emulator except the instruction table
 * and the support library. */
#ifndef PTXOPT_TESTS_ORACLE_H
#define PTXOPT_TESTS_ORACLE_H

#include "ir/ir.h"
#include "ir/table/internal.h"
#include "support/support.h"

enum { PROBE_OPERANDS = 8, PROBE_WORDS = 12, PROBE_MODS = 16 };

/* One operand as the kernel has it. */
typedef struct ProbeOperand {
    Type type;          /* of the value; of an element of a list */
    unsigned reg_bits;  /* of the register; 1: a predicate */
    unsigned count;     /* elements of a brace list, 0: no list */
    bool inverted;      /* !p */
    bool negated;       /* -r (vmad) */
    bool immediate;     /* 'value', in no buffer */
    int64_t value;
    const char *selector; /* ".b0"; "" if there is none */
    unsigned word;        /* its first word in the input or output buffer */
} ProbeOperand;

typedef struct Probe {
    const Form *form;
    Opcode op;
    char spelling[160]; /* "add.rn.ftz.f32" */
    char name[200];     /* the spelling and what tells its variants apart */
    const char *mods[PROBE_MODS];
    unsigned mod_count;
    Type types[4]; /* the type modifiers in written order */
    unsigned type_count;
    ProbeOperand dests[PROBE_OPERANDS], sources[PROBE_OPERANDS];
    unsigned dest_count, source_count;
    bool pair;                /* dests[0]|dests[1] */
    bool carry_in, carry_out; /* the flag is the last input word, and the last output word */
    unsigned input_words, output_words; /* of 64 bits, in each tuple */
    const char *target;                 /* "sm_90" ... */
    unsigned version;                   /* times 10 */
} Probe;

/* Calls 'visit' with every spelling and variant of a pure row. 'target' NULL: each for the first of a list of targets
 * and versions that has it; else only what that target has in version 9.0. Returns how many there were; 0 if the row
 * has operands that no kernel of this kind can supply (addresses, special registers). */
typedef void ProbeVisitor(const Probe *probe, void *context);
unsigned probes_visit(const Form *form, const char *target, ProbeVisitor *visit, void *context);

bool probe_has(const Probe *probe, const char *mod);
/* A whole module with the entry "probe": parameters are the addresses of the inputs and of the results, and the number
 * of tuples; a thread for each tuple, in one dimension. */
void probe_write_kernel(const Probe *probe, Buf *text);

/* Inputs: the corner values of every operand, all of their combinations where these are few, and random ones; the same
 * for the same probe. The array belongs to the arena; *count is a multiple of 64. */
uint64_t *probe_inputs(const Probe *probe, Arena *arena, unsigned *count);

typedef enum PartKind { PART_NAN, PART_RANGE } PartKind;

/* A floating-point part of a result that need not match bit by bit: any NaN, or a range of values. */
typedef struct AnswerPart {
    PartKind kind;
    unsigned shift;
    const struct Spec *spec;
    double low, high;
} AnswerPart;

typedef struct Answer {
    struct AnswerWord {
        uint64_t bits, care; /* compared where 'care' is set */
        unsigned part_count;
        AnswerPart parts[4];
    } words[PROBE_WORDS];
} Answer;

/* False if the oracle does not know the instruction. */
bool oracle_answer(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_accepts(const Probe *probe, const Answer *answer, const uint64_t *got);

typedef struct Spec {
    int exponent_bits, mantissa_bits;
    bool infinities;
    uint64_t nan;     /* canonical; 0: the format has none */
    uint64_t largest; /* finite */
} Spec;

typedef enum SpecId {
    SPEC_F64,
    SPEC_F32,
    SPEC_F16,
    SPEC_BF16,
    SPEC_TF32,
    SPEC_E4M3,
    SPEC_E5M2,
    SPEC_E2M1,
    SPEC_E2M3,
    SPEC_E3M2,
    SPEC_COUNT
} SpecId;
extern const Spec specs[SPEC_COUNT];

typedef enum Mode { MODE_EVEN, MODE_ZERO, MODE_DOWN, MODE_UP, MODE_AWAY } Mode;

unsigned spec_bits(const Spec *spec);
bool spec_is_nan(const Spec *spec, uint64_t bits);
bool spec_is_infinite(const Spec *spec, uint64_t bits);
bool spec_is_subnormal(const Spec *spec, uint64_t bits);
double spec_decode(const Spec *spec, uint64_t bits); /* exact: no format is wider than double */
/* -1, 0, 1, or 2 where one is NaN */
int spec_compare(const Spec *spec, uint64_t a, uint64_t b);
const Spec *spec_of_type(Type type); /* of one element; NULL for integers */

/* The families, each in a file of its own; false if the instruction belongs to another. */
bool answer_integer(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_float(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_convert(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_compare(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_move(const Probe *probe, const uint64_t *inputs, Answer *answer);
bool answer_video(const Probe *probe, const uint64_t *inputs, Answer *answer);
/* The result of a scalar video instruction, vmad excepted, before it is cut off, clamped and combined with c. */
bool answer_video_exact(const Probe *probe, const uint64_t *inputs, __int128 *value);

Mode probe_mode(const Probe *probe); /* .rn, .rni: MODE_EVEN and so on */
uint64_t low_bits(uint64_t value, unsigned bits);
int64_t signed_bits(uint64_t value, unsigned bits);
bool type_is_signed(Type type);

#endif
