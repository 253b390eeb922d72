/* Messages about kernels that a module does not have, with those that may have been meant; labels of kernels. */
#ifndef PTXOPT_ENGINE_KERNEL_FIND_H
#define PTXOPT_ENGINE_KERNEL_FIND_H

#include "emulator/emulator.h"
#include "options/options.h"

/* "; did you mean 'saxpy'?", or "; it has 'saxpy', 'scale'", in the arena. */
const char *kernel_hint(Arena *arena, const Module *module, const char *name);
/* The kernel that a launch file names, with the file's line: "L.json:2:15: k.ptx has no kernel 'x'; ...". NULL if the
 * module has it. */
const char *launch_kernel_missing(Arena *arena, const Module *module, const Launch *launch);
/* True if a statement of the kernel has this label. */
bool kernel_has_label(const Function *kernel, const char *label);
/* The parameter of the kernel that the option is about; NULL: none of this kernel. */
const Variable *dead_parameter(const DeadOption *option, const Function *kernel);

#endif
