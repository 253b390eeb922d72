/* The gaps between a value's uses, in which it need not be in a register. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_GAPS_H
#define PTXOPT_OPT_REGISTERS_MOVES_GAPS_H

#include "opt/common/places.h"
#include "target/target.h"

/* Positions [from, to), in layout order (opt/common/places.h). */
typedef struct Range {
    uint32_t from, to;
} Range;

typedef VEC(Range) RangeList;

/* The places of a body in SSA form where too many values are live, while values leave the registers one after the
 * other. */
typedef struct Gaps {
    Body *body;
    Arena *arena;
    int32_t limit; /* live registers that are not too many */
    const Liveness *liveness;
    const Values *values;
    BitSet undefined; /* by RegId: perhaps, so that it cannot be kept elsewhere (values_maybe_undefined) */
    const LoopForest *loops;
    const Lowered *lowered;
    Places places;
    int32_t *pressure; /* by position: registers live there */
    uint32_t *high;    /* by position: places before it where too many are */
    uint32_t *out_start, *out_blocks; /* by RegId: the blocks that it is live out of */
} Gaps;

/* 'more' registers are taken everywhere, for what values are found by again. Numbers the instructions (Inst.id); the
 * body may be changed afterwards, but not the analyses' results. */
void gaps_start(Gaps *gaps, Arena *arena, Body *body, Analyses *analyses, const SmLimits *sm, int32_t limit,
                int32_t more);
/* True if any place is left where too many are live. */
bool gaps_are_wanted(const Gaps *gaps);
/* True if the value may be kept elsewhere: it takes registers, and what it is is known from its definition on. */
bool gaps_may_leave(const Gaps *gaps, RegId value);

/* Finds the ranges where the value is live, and those of them where it stays in a register if it leaves: after its
 * definition and around its uses. Returns the cost of its departure and its returns, each weighted by its loop; 0:
 * there is nothing to gain. */
uint64_t gaps_find(Gaps *gaps, RegId value, RangeList *live, RangeList *kept);
/* How often it returns then. */
unsigned gaps_returns(Gaps *gaps, RegId value);
/* The places where too many are live, and the value's register is freed if it leaves. */
uint64_t gaps_freed(const Gaps *gaps, const RangeList *live, const RangeList *kept);
/* The same for each instruction that it costs, in units of 2^-16, with the ranges of gaps_find(). */
uint64_t gaps_gain(Gaps *gaps, RegId value, RangeList *live, RangeList *kept);
/* Takes 'width' registers off the pressure where the value leaves them. gaps_update() when all have left. */
void gaps_leave(Gaps *gaps, const RangeList *live, const RangeList *kept, unsigned width);
void gaps_update(Gaps *gaps);

/* Makes instructions before the point and returns the register that the uses from there on read; the value itself: they
 * are left alone. */
typedef RegId GapReturn(void *context, RegId value, const Point *point);
/* Lets uses after gaps read what 'back' returns for them, one register for each cluster of uses. */
void gaps_close(Gaps *gaps, RegId value, GapReturn *back, void *context);
/* Inserts an instruction up to 'ahead' instructions before the point, in the same block: as many as leave no more than
 * the limit live, or in any case. */
void gaps_insert_ahead(const Gaps *gaps, const Point *point, unsigned ahead, bool in_any_case, Inst *inst);
/* Inserts an instruction right after the value's definition. */
void gaps_insert_after_definition(const Gaps *gaps, RegId value, Inst *inst);

#endif
