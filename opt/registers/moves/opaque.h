/* Copies of registers that assemblers do not see through. */
#ifndef PTXOPT_OPT_REGISTERS_MOVES_OPAQUE_H
#define PTXOPT_OPT_REGISTERS_MOVES_OPAQUE_H

#include "opt/common/places.h"

/* The halves of a 64-bit register that a copy hides. */
typedef enum OpaqueHalves { OPAQUE_LOW = 1, OPAQUE_BOTH } OpaqueHalves;

/* True if there is an opaque copy for registers of this type: scalars of 32 and 64 bits. */
bool opaque_copy_exists(const Body *body, RegId reg);
/* The halves of a copy of 'reg' that have to be opaque, so that the assembler merges nothing that the instruction
 * computes from the copy with what it computes from the register. */
OpaqueHalves opaque_halves_for(const Inst *inst, RegId reg);
/* A load of 64 bits from a parameter; NULL: the body has none. */
const Inst *opaque_mask_find(const Body *body);
/* Inserts code before the point that makes 'copy' a copy of 'reg', which has the same type; 'mask' is what
 * opaque_mask_find gave. It costs one machine instruction for each 32 bits that are opaque. */
void opaque_copy_place(Body *body, const Inst *mask, RegId reg, RegId copy, OpaqueHalves halves, const Point *point);

#endif
