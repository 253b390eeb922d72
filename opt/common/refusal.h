/* Refusals: the reason why a kernel or a loop is left unchanged, with the place of the instruction that causes it. */
#ifndef PTXOPT_OPT_COMMON_REFUSAL_H
#define PTXOPT_OPT_COMMON_REFUSAL_H

#include "ir/ir.h"

typedef struct Refusal {
    const char *reason; /* a sentence without its full stop; NULL: there is no refusal, or: */
    const struct DemandObjection *demand; /* the reason as a fact, which the engine words (refusal_word) */
    Span span;          /* of the instruction that causes it; 0,0 if there is none */
    bool has_span;
} Refusal;

/* Sets the refusal, its text in the module's arena; 'inst' may be NULL. */
void refusal_set(Refusal *refusal, const Body *body, const Inst *inst, const char *format, va_list arguments);
/* The line of the source that the instruction is on; 0: there is none. */
unsigned inst_line(const Body *body, const Inst *inst);

#endif
