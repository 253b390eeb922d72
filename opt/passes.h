/* The passes by their ids: pass_run(context, PASS_NAME). */
#ifndef PTXOPT_OPT_PASSES_H
#define PTXOPT_OPT_PASSES_H

#include "opt/pass.h"

typedef enum PassId {
#define PASS(id, ...) PASS_##id,
#include "opt/passes.def"
#undef PASS
    PASS_COUNT
} PassId;

/* pass_NAME is in the file NAME.c. */
#define PASS(id, name, ...) PassFunction pass_##name;
#include "opt/passes.def"
#undef PASS

#endif
