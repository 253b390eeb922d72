/* Launches adapted to the launch contract of a module. */
#ifndef PTXOPT_ENGINE_LAUNCH_H
#define PTXOPT_ENGINE_LAUNCH_H

#include "emulator/emulator.h"
#include "opt/opt.h"

/* Adapts a launch of the original kernel to the module: if the module has a launch contract for the kernel, the launch
 * is changed accordingly, and *has_contract is set. NULL with *error set if the launch does not meet the contract. */
Launch *launch_by_contract(Arena *arena, const Module *module, const Launch *launch, bool *has_contract,
                           const char **error);

/* A coarsened kernel's original, if it is kept beside it, has the kernel's name with this at its end. */
#define ORIGINAL_SUFFIX "__ptxopt_original"

/* A form beside a kernel (-tune) has the kernel's name with this and the form's number, from 1, at its end. */
#define FORM_SUFFIX "__ptxopt_form"

/* The launch of the original that the module has beside a coarsened kernel, if the contract does not allow the launch,
 * with *why set; NULL if the module has none, or the contract allows it. */
Launch *launch_of_original(Arena *arena, const Module *module, const Launch *launch, const char **why);

/* The kernel's parameters that the launch gives as scalars. The values are the launch's. */
KnownParameters launch_scalars(Arena *arena, const Function *kernel, const Launch *launch);
/* The bytes from where the kernel's parameters point on, of those that have at most 'most'. */
KnownExtents launch_extents(Arena *arena, const Function *kernel, const Launch *launch, uint64_t most);
/* Makes comparisons ignore the buffer that the launch gives for this parameter of the kernel, if it gives any. */
void launch_ignore_parameter(Arena *arena, const Function *kernel, Launch *launch, const char *parameter);

/* The number of cores that pay off for a launch which executes this many warp instructions (0: not known): all that the
 * process may use, or one if it has few threads and executes little. */
unsigned launch_jobs(const Launch *launch, double instructions);

#endif
