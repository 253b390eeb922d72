/* Definitions and uses of the values of a body in SSA form. */
#ifndef PTXOPT_ANALYSIS_VALUES_H
#define PTXOPT_ANALYSIS_VALUES_H

#include "ir/ir.h"
#include "support/support.h"

/* The place that makes a value. */
typedef struct ValueDef {
    Block *block;  /* NULL: the value is undefined */
    Inst *inst;    /* NULL: a phi */
    uint32_t phi;  /* index into block->phis */
    uint16_t ref;  /* index into inst->refs */
} ValueDef;

typedef struct ValueUse {
    Block *block;
    Inst *inst;     /* NULL: a phi of 'block' */
    uint32_t index; /* into inst->refs, or into block->phis */
    uint32_t arg;   /* phis: which argument */
} ValueUse;

typedef struct Values {
    const Body *body;
    size_t reg_count;
    ValueDef *defs;      /* by RegId */
    uint32_t *use_start; /* by RegId, one more at the end */
    ValueUse *uses;
} Values;

/* O(I + R). The body must be in SSA form. */
Values *values_compute(Arena *arena, const Body *body);

/* The values that are not computed on some path, by RegId: those without a definition, phis of them, and the results of
 * guarded instructions that keep one of them if the guard is false. The code does not read them on such a path. */
BitSet values_maybe_undefined(Arena *arena, const Values *values);

/* Makes all instructions and phis that read the value read another; 'values' is then out of date. */
void value_replace_uses(const Values *values, RegId old, RegId replacement);

/* True if the value has been computed whenever control reaches the instruction. O(1), but within a block O(distance);
 * instructions may have been added since the values were computed. */
bool value_is_available(const Values *values, const Dominance *dominance, RegId reg, const Inst *at);

static inline bool value_is_undefined(const Values *values, RegId reg) { return !values->defs[reg].block; }
static inline uint32_t value_use_count(const Values *values, RegId reg)
{
    return values->use_start[reg + 1] - values->use_start[reg];
}
static inline const ValueUse *value_uses(const Values *values, RegId reg)
{
    return values->uses + values->use_start[reg];
}
/* The block in which the use reads: a phi reads at the end of a predecessor. */
static inline Block *value_use_block(const ValueUse *use)
{
    return use->inst ? use->block : use->block->phis.data[use->index].args.data[use->arg].pred;
}
/* The value that the register has a copy of, through any number of copies; itself, also REG_NONE, if it is no copy. */
RegId value_copied_from(const Values *values, RegId reg);
/* Whether the threads of a block read the same from the special register. */
bool sreg_is_common(const Sreg *sreg);
/* Whether the instruction only computes: it can be executed by any thread, anywhere and any number of times. */
bool inst_is_computation(const Inst *inst);

/* NULL: a phi, or undefined. */
static inline Inst *value_inst(const Values *values, RegId reg) { return values->defs[reg].inst; }

#endif
