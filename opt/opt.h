/* opt: the passes, and the pipeline that orders them.
 *
 * Passes work on the body form (ir.h), most of them in SSA form.  The head of each file states what its pass requires,
 * preserves and invalidates; opt/pass.c has the table.  Passes ask an assembler about candidates through a Judge: opt
 * includes neither the assembler nor the PTX writer. */
#ifndef PTXOPT_OPT_H
#define PTXOPT_OPT_H

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "machine/machine.h"
#include "support/support.h"

#include "opt/block_size.h"
#include "opt/cleanup.h"
#include "opt/coarsen.h"
#include "opt/estimate.h"
#include "opt/inline.h"
#include "opt/install.h"
#include "opt/judge.h"
#include "opt/knobs.h"
#include "opt/pass.h"
#include "opt/pipeline.h"
#include "opt/registers.h"

#endif
