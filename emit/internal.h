/* What the files of emit/ share and nobody else sees. */
#ifndef PTXOPT_EMIT_INTERNAL_H
#define PTXOPT_EMIT_INTERNAL_H

#include "emit/emit.h"

/* The names of the functions that a kernel needs, its own among them. */
typedef struct Reached Reached;

/* In the arena; kernel NULL reaches everything. */
Reached *reached_find(const Module *module, const Function *kernel, Arena *arena);
bool reached_has(const Reached *reached, Name name);

#endif
