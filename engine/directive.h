/* Directives in the source, after CREST (CC'12, Fig. 7): they say, in the kernel or loop itself, how a kernel is to be
 * coarsened and which loops are to be unrolled and jammed.
 *
 *     asm volatile("// ptxopt: coarsen x2,by2 stride unit");     CUDA C, anywhere in the kernel
 *     asm volatile("// ptxopt: uj 4");                           in the loop, outside of loops in it
 *     // ptxopt: coarsen x2,by2 stride unit                      the PTX that nvcc and clang make of the first
 *
 * A compiler passes the text of inline assembly on, including its comments, which an assembler ignores. A directive may
 * occur several times, because compilers inline and duplicate code; two directives that differ are an error. */
#ifndef PTXOPT_ENGINE_DIRECTIVE_H
#define PTXOPT_ENGINE_DIRECTIVE_H

#include "options/options.h"

typedef struct Directive {
    CoarsenOption coarsen; /* NULL: the directive is about its own kernel */
    bool stride_given;
    Stride stride;
    Span span;         /* of the comment; empty: there is none */
    const char *error; /* the error in it, without a full stop; NULL: none */
} Directive;

/* The directive in the kernel's text. Its texts are in the arena. */
Directive directive_find(Arena *arena, const Function *kernel);

/* A directive about a loop. */
typedef struct LoopDirective {
    UnrollJam jam;
    Span span;         /* of the comment */
    const char *error; /* as above */
} LoopDirective;

/* Finds those in the kernel's text: one for each loop, and the erroneous ones. Returns their number. */
unsigned directive_loops(Arena *arena, Function *kernel, LoopDirective **out);

#endif
