/* The words for launch contracts and their conditions. */
#ifndef PTXOPT_ENGINE_REPORT_CONTRACT_WORDS_H
#define PTXOPT_ENGINE_REPORT_CONTRACT_WORDS_H

#include "opt/opt.h"

/* All are in the arena. */
/* "block.x is a multiple of 64" */
const char *condition_text(Arena *arena, const LaunchCondition *condition);
/* "block.x is 100, not a multiple of 64" */
const char *unmet_text(Arena *arena, const LaunchUnmet *unmet);
/* The reason why the symbol of a kernel's contract cannot be used; NULL if it can, or there is none. */
const char *contract_error_text(Arena *arena, ContractState state, const char *kernel);

#endif
