/* Declarations of the files that lower a body (analysis/lowered/lowered.h): values.c decides how each value exists in
 * machine code, lowered.c lowers the instructions and finds what is live, regions.c joins blocks and finds loops. */
#ifndef PTXOPT_ANALYSIS_LOWERED_INTERNAL_H
#define PTXOPT_ANALYSIS_LOWERED_INTERNAL_H

#include "analysis/lowered/lowered.h"

enum { READS_MOST = 64 }; /* distinct registers that one instruction may read */

/* The way in which a value exists in machine code. */
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
    uint8_t *narrow; /* by RegId: only the low half of the 64 bits is used */
    RegId reads[READS_MOST];
    unsigned read_count;
    ParameterLoads loads;
    bool close;       /* LOWERED_CLOSELY */
    RegId *roots;     /* by RegId: the register that it is a copy of, or itself */
    uint32_t *loaded_in; /* by RegId, for an address: the block + 1 that it was last loaded in, and the register that
                          * holds it there */
    RegId *loaded_as;
    unsigned loaded;  /* for the operand that is being resolved: the number of addresses from parameters, and the last
                       * of them */
    RegId loaded_last;
    size_t reg_count; /* registers so far, with those for parameters */
    VEC(uint8_t) extra; /* widths of those */
    VEC(LoweredInst) insts; /* of the block that is being lowered */
} Lowering;

/* Nothing but the computation of its results, under no guard. */
bool is_plain(const Inst *inst);
bool reads_constant(const Inst *inst);

/* True if the value is the same in all threads of a block, or an operand that takes no register. */
bool operand_is_uniform(const Lowering *lowering, RegId reg);

/* True if 'sum' is the register plus a constant. */
bool adds_to(const Lowering *lowering, RegId sum, RegId reg);

/* Sets 'kinds' and 'narrow'. */
void values_classify(Lowering *lowering);

/* reads.c: adds to 'reads' the registers that machine code reads for a read of 'reg' in the body. */
void reads_resolve(Lowering *lowering, RegId reg, unsigned depth);
void reads_add(Lowering *lowering, RegId reg);
/* A copy of 'reads' in the arena. */
RegId *reads_take(Lowering *lowering, uint16_t *count);
/* Moves 'insts' to the block. */
void insts_take(Lowering *lowering, LoweredBlock *block);

/* Merges lowered blocks into regions. */
void regions_make(Lowering *lowering);

#endif
