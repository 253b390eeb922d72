/* The origins of a kernel's memory traffic: each access with its place in the PTX and in the CUDA source. */
#ifndef PTXOPT_ENGINE_REPORT_ACCESSES_H
#define PTXOPT_ENGINE_REPORT_ACCESSES_H

#include <jansson.h>

#include "cost/cost.h"
#include "engine/kernel_patterns.h"

/* The accesses of a profile made of 'module' itself (its places are in the module's text), to global and shared memory,
 * in the order of the code: per execution by a warp, sectors of 32 bytes, lines of 128 bytes and, in shared memory,
 * cycles that bank conflicts add. */
void accesses_print_text(const Module *module, const Profile *profile, Buf *out);
/* The same as an array of objects, those for global memory with their patterns: docs/formats.md. */
json_t *accesses_json(const Module *module, const Profile *profile, const KernelPatterns *patterns);

#endif
