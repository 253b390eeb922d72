/* What the files of emit/ share and nobody else sees. */
#ifndef PTXOPT_EMIT_INTERNAL_H
#define PTXOPT_EMIT_INTERNAL_H

#include "emit/emit.h"

/* A module in which one kernel has another body than its own. */
typedef struct Variant {
    const Function *kernel; /* NULL: every function has its own */
    const Body *body;       /* NULL: the kernel's statements */
} Variant;

static inline const Body *variant_body(Variant variant, const Function *function)
{
    return function == variant.kernel ? variant.body : function->body;
}

/* The names of the functions that a kernel needs, including its own. */
typedef struct Reached Reached;

/* What variant.kernel needs (NULL: everything), allocated in the arena. */
Reached *reached_find(const Module *module, Variant variant, Arena *arena);
bool reached_has(const Reached *reached, Name name);

#endif
