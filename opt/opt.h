/* opt: the passes, and the pipeline that orders them.
 *
 * Passes work on the body form (ir.h), most of them in SSA form. opt/passes.def states what each requires, preserves
 * and invalidates. Passes ask an assembler about candidates through a Judge: opt includes neither the assembler nor the
 * PTX writer. */
#ifndef PTXOPT_OPT_H
#define PTXOPT_OPT_H

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "support/support.h"
#include "target/target.h"

#include "opt/block_size.h"
#include "opt/coarsen/coarsen.h"
#include "opt/common/cleanup.h"
#include "opt/install.h"
#include "opt/judge.h"
#include "opt/pass.h"
#include "opt/pipeline.h"
#include "opt/policy.h"
#include "opt/pool.h"
#include "opt/registers/moves/knobs.h"
#include "opt/registers/registers.h"
#include "opt/registers/search/estimate.h"
#include "opt/shape.h"

#endif
