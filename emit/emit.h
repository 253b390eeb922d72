/* emit: PTX text from a module.
 *
 * A function with a Body is printed from it, another from its statements, in their order, or from the source. Text
 * that is not copied from the source is canonical: one instruction a line, labels flush left. Parsing and printing it
 * again gives the same text.
 *
 * All functions append to 'out', and change neither the module nor its bodies. */
#ifndef PTXOPT_EMIT_H
#define PTXOPT_EMIT_H

#include "ir/ir.h"

/* The whole module. Functions that were not kept (Function.is_text) are copied from the source. */
void emit_module(const Module *module, Buf *out);

/* True if the module is unchanged, so that its source can be written as it is. */
bool module_is_as_written(const Module *module);
/* The source, with each changed function printed in place of the original and the items that passes added after the
 * end: comments, blank lines and the spelling of everything else are preserved. */
void emit_module_as_written(const Module *module, Buf *out);

/* A smaller module that assembles to the same code for one form of a kernel, which must not be in SSA form: the kernel,
 * every function that the form can reach by a call or through a symbol (in code or in an initial value; a call through
 * a pointer reaches all functions), all variables, and the items that the form adds to the module. Debug information
 * is omitted unless the target has the option 'debug', for which the assembler requires it. NULL: all functions. */
void emit_module_with(const Module *module, const FunctionForm *form, Buf *out);

/* One form of a function, under the name of form->function, which need not be the module's, and the variable that it
 * adds. */
void emit_form(const FunctionForm *form, Buf *out);

#endif
