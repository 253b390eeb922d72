/* Directives in the source: how a kernel is to be coarsened, said where it is written, after CREST (CC'12).
 *
 *     asm volatile("// ptxopt: coarsen x2,by2 stride unit");     CUDA C, anywhere in the kernel
 *     // ptxopt: coarsen x2,by2 stride unit                      the PTX that nvcc and clang make of it
 *
 * A compiler passes the text of inline assembly on, comments included, and an assembler ignores them.  What the
 * compiler inlines or duplicates says the same again, which is allowed; two directives that differ are not. */
#ifndef PTXOPT_CLI_DIRECTIVE_H
#define PTXOPT_CLI_DIRECTIVE_H

#include "cli/options.h"

typedef struct Directive {
    CoarsenOption coarsen; /* kernel: NULL */
    bool stride_given;
    Stride stride;
    Span span;         /* of the comment; empty: there is none */
    const char *error; /* what is wrong with it, without a full stop; NULL: nothing */
} Directive;

/* The directive in the kernel's text.  Its own texts are in the arena. */
Directive directive_find(Arena *arena, const Function *kernel);

#endif
