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

/* The same by PTX instructions. With a launch, what the emulator counted is remembered by the form's text, so that
 * either function counts each form once. */
FormCost text_cost(AssemblerJudge *judge, const CostBasis *basis, const FunctionForm *form, const Figures *figures,
                   const LaunchChange *change);

/* The steps of machine_cost(), for a form that is costed for several launches and architectures: */
/* The form in a module of its own in the arena, printed and parsed again, so that its instructions have places in a
 * text, by which those of machine code are found; NULL if that does not parse. */
Function *form_place(Arena *arena, const FunctionForm *form);
/* Its machine code for the judge's architecture, in the arena; NULL if there is none. */
SassMap *machine_map(AssemblerJudge *judge, Arena *arena, const Function *placed);
/* Adds the executed machine instructions, in the arena, to a profile of the placed form; NULL if they are not known.
 * The executions themselves are in 'scratch'. */
const SassExecutions *profile_add_machine(Arena *arena, Arena *scratch, const SassMap *map, Profile *profile);

/* The executions of each part of the machine code, in the arena, by the profile of a launch of the same module. NULL if
 * the code is not mapped to PTX, or the counts cannot be right. */
const SassExecutions *machine_executions(Arena *arena, const SassMap *map, const Profile *profile);

/* Makes the costs of a kernel and of a changed form of it comparable: if machine instructions are known of only one,
 * both are costed by PTX instructions, and if they are estimated, both touch the same data. If the code of either
 * should have been known and is not, the form has at least the kernel's latency. */
void costs_align(const CostBasis *basis, FormCost *before, FormCost *after);

/* Before costs_align(), for a form whose blocks are in another order: the grid touches the same data. Boxes of
 * neighbouring blocks, from which samples learn that, are not neighbours any more. */
void cost_keep_footprint(const CostBasis *basis, const FormCost *before, FormCost *after);

#endif
