/* "ptxopt run -template": a launch file to fill in. */
#ifndef PTXOPT_CLI_TEMPLATE_H
#define PTXOPT_CLI_TEMPLATE_H

#include "ir/ir.h"
#include "support/support.h"

/* A launch file (docs/formats.md) for the kernel: a buffer for each 64-bit parameter, which may be a pointer, zeros for
 * the others. A known block size is that of the launch. */
void launch_template(const Function *kernel, Buf *out);

#endif
