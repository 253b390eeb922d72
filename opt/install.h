/* From a result of the pipeline to the module. */
#ifndef PTXOPT_OPT_INSTALL_H
#define PTXOPT_OPT_INSTALL_H

#include "opt/pipeline.h"

/* Puts a result into the module, which takes its body over. True if that changes what is printed. */
bool kernel_install(KernelResult *result);
/* Takes an installed result out again: the kernel is as it was written, with the tuning that it had, and all that was
 * done is refused. */
void kernel_restore(KernelResult *result, const Tuning *tuning, const Refusal *refusal);
/* Calls bug() if what an installed or restored result says and what is in the module disagree: outcomes, body, launch
 * contract, its symbol, and the block size that the kernel declares. 'tuning' is the kernel's as it was written. */
void kernel_check(const KernelResult *result, const Tuning *tuning);

#endif
