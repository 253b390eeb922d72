/* opt: the passes, and the pipeline that orders them.
 *
 * Passes work on the body form (ir.h), most of them in SSA form, and say at their head what they require, keep and
 * break. What an assembler thinks of a candidate is asked through a Judge: opt knows neither the assembler nor the PTX
 * writer. */
#ifndef PTXOPT_OPT_H
#define PTXOPT_OPT_H

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "machine/machine.h"
#include "support/support.h"

#include "opt/block_size.h"
#include "opt/cleanup.h"
#include "opt/coarsen.h"
#include "opt/judge.h"
#include "opt/pass.h"
#include "opt/pipeline.h"
#include "opt/registers.h"

#endif
