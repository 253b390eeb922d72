/* Shared by the files of emit/ only. */
#ifndef PTXOPT_EMIT_INTERNAL_H
#define PTXOPT_EMIT_INTERNAL_H

#include "emit/emit.h"

/* The form in which a function is printed: 'form' (NULL: none) where it is one of that function, else its own. */
static inline FunctionForm form_of(const FunctionForm *form, const Function *function)
{
    return form && form->function == function ? *form
                                              : (FunctionForm){.function = function, .body = function->body};
}

/* The names of the functions that a kernel needs, including its own. */
typedef struct Reached Reached;

/* The declarations that a form of a kernel needs (NULL: everything), allocated in the arena. */
Reached *reached_find(const Module *module, const FunctionForm *form, Arena *arena);
bool reached_has(const Reached *reached, Name name);

#endif
