/* Costs by executed machine instructions instead of PTX instructions. */
#ifndef PTXOPT_CLI_MACHINE_COST_H
#define PTXOPT_CLI_MACHINE_COST_H

#include "cli/judge.h"

/* As form_cost(), and where the judge's assembler can tell which PTX instruction each machine instruction comes from,
 * the executed machine instructions and the time are those of the machine code (sass/).  'listing' (may be NULL) then
 * receives the annotated machine code. */
FormCost machine_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                      const LaunchChange *change, Buf *listing);

/* Where machine instructions are known of only one of two costs, makes that one by PTX instructions, like the other. */
void machine_costs_align(const CostBasis *basis, FormCost *a, FormCost *b);

#endif
