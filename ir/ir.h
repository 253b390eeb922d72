/* ir: PTX modules, in two forms that share one instruction type.
 *
 *   parsed form   a flat list of statements, built by the parser (ir/parsed.h)
 *   body form     blocks of instructions, optionally in SSA form; passes work on it (ir/body.h)
 *
 * Memory: the parsed form belongs to the module's arena, the body form to the Body's own. */
#ifndef PTXOPT_IR_H
#define PTXOPT_IR_H

#include "ir/body.h"
#include "ir/dominance.h"
#include "ir/edit.h"
#include "ir/instruction.h"
#include "ir/known.h"
#include "ir/launch_change.h"
#include "ir/match.h"
#include "ir/parsed.h"
#include "ir/table.h"
#include "ir/text.h"
#include "ir/types.h"

#endif
