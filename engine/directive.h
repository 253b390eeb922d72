/* Directives in the source: how a kernel is to be coarsened, and which loops are to be unrolled and jammed, said where
 * they are written, after CREST (CC'12, Fig. 7).
 *
 *     asm volatile("// ptxopt: coarsen x2,by2 stride unit");     CUDA C, anywhere in the kernel
 *     asm volatile("// ptxopt: uj 4");                           in the loop, outside of loops in it
 *     // ptxopt: coarsen x2,by2 stride unit                      the PTX that nvcc and clang make of it
 *
 * A compiler passes the text of inline assembly on, comments included, and an assembler ignores them. Text that the
 * compiler inlines or duplicates says the same again, which is allowed; two directives that differ are not. */
#ifndef PTXOPT_ENGINE_DIRECTIVE_H
#define PTXOPT_ENGINE_DIRECTIVE_H

#include "options/options.h"

typedef struct Directive {
    CoarsenOption coarsen; /* kernel: NULL */
    bool stride_given;
    Stride stride;
    Span span;         /* of the comment; empty: there is none */
    const char *error; /* what is wrong with it, without a full stop; NULL: nothing */
} Directive;

/* The directive in the kernel's text.  Its own texts are in the arena. */
Directive directive_find(Arena *arena, const Function *kernel);

/* A directive about a loop. */
typedef struct LoopDirective {
    UnrollJam jam;
    Span span;         /* of the comment */
    const char *error; /* as above */
} LoopDirective;

/* Those in the kernel's text; one for each loop, and those that are wrong.  Returns how many. */
unsigned directive_loops(Arena *arena, Function *kernel, LoopDirective **out);

#endif
