/* Shared by the harnesses that change kernels. */
#ifndef PTXOPT_FUZZ_FORMS_H
#define PTXOPT_FUZZ_FORMS_H

#include "opt/opt.h"
#include "opt/registers/moves/schedule.h"

#include "fuzz.h"

/* The passes depend only on the text, so that a failing input fails again. */
Random random_of_text(const char *text, size_t size);
/* Takes every kernel that has a body form through SSA form and some passes. */
void module_change(Module *module, Random *random, bool coarsen);

#endif
