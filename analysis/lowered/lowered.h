/* The instructions and values of a body that remain in machine code, as far as registers are concerned. */
#ifndef PTXOPT_ANALYSIS_LOWERED_H
#define PTXOPT_ANALYSIS_LOWERED_H

#include "analysis/dependence.h"
#include "analysis/loops.h"
#include "analysis/values.h"
#include "ir/ir.h"
#include "target/target.h"
#include "support/support.h"

/* One machine instruction, or a few without a register between them. */
typedef struct LoweredInst {
    Inst *inst; /* NULL: not an instruction of the body, but a parameter that is loaded, or a phi within a region */
    const RegId *reads;  /* distinct; only values that take registers, and predicates */
    const RegId *writes; /* such results, whether read or not */
    uint16_t read_count, write_count;
    uint16_t latency; /* cycles until its result can be used: short, or that of a memory access */
    bool splits;      /* a call, or a rare case that is a subroutine: nothing is scheduled across it */
    bool loads;       /* it loads an address that is the same in all threads of a block and in all iterations of a
                       * loop */
} LoweredInst;

/* A block, with the short blocks after it that assemblers make conditional instead of branching around them. */
typedef struct LoweredBlock {
    Block *block;
    Block *last;        /* where the region ends: the block itself if nothing was merged */
    bool merged;        /* it is part of an earlier block's region, and has no instructions here */
    Block *latch;       /* the block from which it loops to itself until a counter with a constant step reaches its end;
                         * or NULL */
    uint32_t trips;     /* how often it then loops; 0: not known */
    uint8_t conditions; /* branches that the region has instead of predicates */
    LoweredInst *insts; /* in the body's order */
    uint32_t count;
    const RegId *out; /* live at the end, predicates too; with the arguments of the successors' phis */
    uint32_t out_count;
    const RegId *phis; /* results of phis at the top that take registers */
    uint32_t phi_count;
} LoweredBlock;

/* Values that take no register of their own in machine code:
 * - parameters, constants, addresses of variables and the launch's dimensions, which are operands;
 * - predicates, which have a file of their own;
 * - copies and conversions between address spaces, which are renamed;
 * - integers that are the same in all threads of a block: uniform registers hold them;
 * - sums of an address and a constant that only accesses read: accesses have offsets;
 * - products and shifts that are only added to something: one instruction does both. */
typedef struct Lowered {
    const Body *body;
    size_t reg_count;     /* the body's registers, and one for each parameter that is loaded where it is used */
    uint8_t *width;       /* by RegId: registers that the value takes; 0: none */
    LoweredBlock *blocks; /* by Block.id */
    uint32_t *numbers;    /* by RegId, all 0: for orders.c */
} Lowered;

/* The level of detail at which machine code is modelled. */
typedef enum LoweredDetail {
    LOWERED_PLAINLY, /* for passes, whose proposals were tuned and measured with it */
    /* for the estimate: copies of values that take no register take none themselves, nor do extensions to 64 bits;
     * values that the uniform datapath cannot compute, or that a phi reads, are in registers; and an address from a
     * parameter is loaded once in a block. */
    LOWERED_CLOSELY,
} LoweredDetail;

/* O(I + R + the size of all live sets). The body must be in SSA form. */
Lowered *lowered_compute(Arena *arena, const Body *body, const Values *values, ParameterLoads loads,
                         LoweredDetail detail);

#endif
