/* The interface between the files that print. */
#ifndef PTXOPT_IR_TEXT_LISTING_H
#define PTXOPT_IR_TEXT_LISTING_H

#include "ir/internal.h"

/* The names that the body form uses where the parsed form uses labels. */
typedef struct InstNames {
    const Reg *regs;
    size_t reg_count;
    const PointerMap *blocks; /* Block to Name; NULL: Block.label, or the label in the operand */
    Name table;               /* of this brx.idx; NULL: as in the operand */
} InstNames;

void inst_print_named(const Inst *inst, const InstNames *names, Buf *out);

/* The .param variables of one call, which the listing declares in a scope of their own (call_scopes.c). */
typedef struct CallScope {
    VEC(const Variable *) variables;
} CallScope;

typedef struct CallScopes {
    PointerMap opens, closes; /* Inst to the CallScope that opens before it, or closes after it */
    PointerMap variables;     /* Variable to its CallScope */
} CallScopes;

/* Block ids must be up to date. The maps are in 'arena'. */
void call_scopes_find(CallScopes *scopes, Arena *arena, const Body *body);

#endif
