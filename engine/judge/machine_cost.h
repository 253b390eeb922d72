/* Costs by executed machine instructions instead of PTX instructions. */
#ifndef PTXOPT_ENGINE_MACHINE_COST_H
#define PTXOPT_ENGINE_MACHINE_COST_H

#include "engine/judge/judge.h"
#include "sass/sass.h"

/* Like form_cost(), but if the judge's assembler reveals the PTX instruction of each machine instruction, the executed
 * instructions and the time are those of the machine code (sass/). 'listing' (may be NULL) then receives the annotated
 * machine code. */
FormCost machine_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                      const LaunchChange *change, Buf *listing);

/* The executions of each part of the machine code, in the arena, by the profile of a launch of the same module. NULL if
 * the code is not mapped to PTX, or the counts cannot be right. */
const SassExecutions *machine_executions(Arena *arena, const SassMap *map, const Profile *profile);

/* Makes the costs of a kernel and of a changed form of it comparable: if machine instructions are known of only one,
 * both are costed by PTX instructions, and if they are estimated, both touch the same data. */
void costs_align(const CostBasis *basis, FormCost *before, FormCost *after);

#endif
