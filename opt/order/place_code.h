/* Code that computes a thread's place, at the end of a block, in new registers of 32 bits. */
#ifndef PTXOPT_OPT_ORDER_PLACE_CODE_H
#define PTXOPT_OPT_ORDER_PLACE_CODE_H

#include "ir/ir.h"

typedef struct PlaceCode {
    Body *body;
    Block *block;
} PlaceCode;

RegId place_reg(const PlaceCode *code);
/* Appends the instruction; gives the result. */
RegId place_put(const PlaceCode *code, RegId result, Inst *inst);
/* a 'op' b, a constant */
RegId place_number(const PlaceCode *code, const char *op, RegId a, int64_t b);
RegId place_regs(const PlaceCode *code, const char *op, RegId a, RegId b);
/* a * b + c */
RegId place_mad(const PlaceCode *code, RegId a, RegId b, RegId c);
RegId place_read(const PlaceCode *code, const char *sreg);
/* A predicate; 'also' REG_NONE: the instruction has no third source. */
RegId place_test(const PlaceCode *code, const char *op, RegId a, RegId b, RegId also);
/* The same of a register and a number. */
RegId place_compare(const PlaceCode *code, const char *op, RegId a, int64_t b, RegId also);
RegId place_choice(const PlaceCode *code, RegId a, RegId b, RegId first);

#endif
