/* What harnesses of changed kernels share. */
#ifndef PTXOPT_FUZZ_FORMS_H
#define PTXOPT_FUZZ_FORMS_H

#include "opt/opt.h"
#include "opt/schedule.h"

#include "fuzz.h"

/* The passes depend on the text alone, so that an input that fails does so again. */
Random random_of_text(const char *text, size_t size);
/* Takes every kernel that has a body form through SSA form and some passes. */
void module_change(Module *module, Random *random, bool coarsen);

#endif
