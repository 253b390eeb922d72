/* The register model's view of a kernel, for reports. */
#ifndef PTXOPT_ENGINE_KERNEL_ESTIMATE_H
#define PTXOPT_ENGINE_KERNEL_ESTIMATE_H

#include <jansson.h>

#include "opt/opt.h"

/* The estimate for a form of a kernel: its body, or, with NULL, the function as it was parsed. Unknown if the body form
 * cannot express it, or without the SM's limits. */
RegisterEstimate kernel_estimate(Arena *arena, Function *function, const Body *body, const SmLimits *sm);

/* Prints the place at which pressure peaks and the values that are live there, on one line. */
void estimate_print_peak(const RegisterEstimate *estimate, const Source *source, Buf *out);
json_t *estimate_json(const RegisterEstimate *estimate, const Source *source);

#endif
