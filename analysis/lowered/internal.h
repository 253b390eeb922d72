/* Declarations of the files that lower a body (analysis/lowered/lowered.h): values.c says how each value exists in
 * machine code, lowered.c lowers the instructions and finds what is live, regions.c joins blocks and finds loops. */
#ifndef PTXOPT_ANALYSIS_LOWERED_INTERNAL_H
#define PTXOPT_ANALYSIS_LOWERED_INTERNAL_H

#include "analysis/lowered/lowered.h"

enum { READS_MOST = 64 }; /* distinct registers that one instruction may read */

/* How a value exists in machine code. */
typedef enum ValueKind {
    VALUE_OWN,     /* in registers of its own, or a predicate */
    VALUE_FREE,    /* an operand from the constant bank, or an immediate */
    VALUE_UNIFORM, /* in uniform registers */
    VALUE_ALIAS,   /* another value under another name */
    VALUE_FUSED,   /* computed by the instructions that read it */
} ValueKind;

typedef struct Lowering {
    Arena *arena, *scratch;
    const Values *values;
    Lowered *out;
    uint8_t *kinds;  /* by RegId: ValueKind */
    uint8_t *narrow; /* by RegId: of the 64 bits only the low half is used */
    RegId reads[READS_MOST];
    unsigned read_count;
    ParameterLoads loads;
    bool close;       /* LOWERED_CLOSELY */
    RegId *roots;     /* by RegId: what it is a copy of, or itself */
    uint32_t *loaded_in; /* by RegId, of an address: the block + 1 that it was last loaded in, and what it is there */
    RegId *loaded_as;
    unsigned loaded;  /* of what is being resolved: addresses from parameters, and the last of them */
    RegId loaded_last;
    size_t reg_count; /* registers so far, with those for parameters */
    VEC(uint8_t) extra; /* widths of those */
    VEC(LoweredInst) insts; /* of the block that is being lowered */
} Lowering;

/* The register that the instruction writes; REG_NONE if there is none, or there are several. */
RegId only_result(const Inst *inst);

/* Nothing but the computation of its results, under no guard. */
bool is_plain(const Inst *inst);
bool reads_constant(const Inst *inst);

/* Whether the value is the same in all threads of a block, or an operand that takes no register. */
bool operand_is_uniform(const Lowering *lowering, RegId reg);

/* Whether 'sum' is the register and a constant. */
bool adds_to(const Lowering *lowering, RegId sum, RegId reg);

/* Sets 'kinds' and 'narrow'. */
void values_classify(Lowering *lowering);

/* reads.c: adds to 'reads' the registers that machine code reads where the body reads 'reg'. */
void reads_resolve(Lowering *lowering, RegId reg, unsigned depth);
void reads_add(Lowering *lowering, RegId reg);
/* A copy of them in the arena. */
RegId *reads_take(Lowering *lowering, uint16_t *count);

/* Makes regions of the lowered blocks. */
void regions_make(Lowering *lowering);

#endif
