/* Access patterns in words. */
#ifndef PTXOPT_ENGINE_REPORT_PATTERN_WORDS_H
#define PTXOPT_ENGINE_REPORT_PATTERN_WORDS_H

#include <jansson.h>

#include "engine/kernel_patterns.h"

/* A line for each access to global memory, after one for the blocks that they are about; each begins with this many
 * spaces. Accesses of an unrolled loop are one. Nothing if there is none. */
void patterns_print(Arena *arena, const KernelPatterns *patterns, unsigned indent, Buf *out);
/* The same for a kernel as the input has it, in blocks of this size, which is assumed if it is unknown. */
void patterns_print_input(Function *kernel, const BlockSize *block, unsigned indent, Buf *out);
/* The pattern of an access, as an object: docs/formats.md. JSON null if there is none at this place. */
json_t *pattern_json(Arena *arena, const KernelPatterns *patterns, Span span);

#endif
