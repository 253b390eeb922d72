/* Words for the registers that the warpgroups of a block pass on with setmaxnreg. */
#ifndef PTXOPT_ENGINE_REPORT_POOL_H
#define PTXOPT_ENGINE_REPORT_POOL_H

#include <jansson.h>

#include "engine/report/report.h"

/* The pool of a kernel as it was written, launched as its directives say; PoolReport.exists false: no setmaxnreg.
 * 'limit_is_given': an option of the assembler limits the registers at launch. */
PoolReport pool_report(Function *kernel, const BlockSize *block, bool limit_is_given);
/* A line of the report; nothing if there is no pool. */
void pool_print(const Report *report, const KernelReport *kernel, Buf *out);
json_t *pool_json(const Report *report, const KernelReport *kernel);
/* Warns of a setmaxnreg that waits forever, releases what its warps do not have, or that ptxas ignores. */
void pool_warn(Diag *diag, const Function *kernel, const PoolReport *pool);

#endif
