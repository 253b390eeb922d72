/* emit: PTX text from a module.
 *
 * Functions that have a Body are printed from it, the others from their statements as they stood, or from the source.
 * Text that is not the source's is canonical (one instruction a line, labels flush left), so printing what was parsed
 * from it gives the same text again. */
#ifndef PTXOPT_EMIT_H
#define PTXOPT_EMIT_H

#include "ir/ir.h"

/* The whole module, appended to 'out'.  Functions that were not kept (Function.is_text) stand as in the source. */
void emit_module(const Module *module, Buf *out);

/* Whether the module is still what its source says, to the byte. */
bool module_is_as_written(const Module *module);
/* The source, appended to 'out', with the changed functions in the place of the written ones and what passes have added
 * behind it: comments, blank lines and the spelling of everything else stay. */
void emit_module_as_written(const Module *module, Buf *out);

/* A smaller module that assembles to the same code for one kernel: the kernel, every function that it can reach by a
 * call or through a symbol (in code or in an initialiser; a call through a pointer reaches all of them), and all
 * variables.  Debug information is left out unless the module is for the debug target, whose assembler insists on it.
 * With kernel NULL, the same for all functions. */
void emit_module_for(const Module *module, const Function *kernel, Buf *out);
/* The same for one form of a kernel: prints only what this form needs, and what it adds to the module. */
void emit_module_with(const Module *module, const FunctionForm *form, Buf *out);

#endif
