/* The part of the report that is about vectors. */
#ifndef PTXOPT_ENGINE_REPORT_VECTORS_H
#define PTXOPT_ENGINE_REPORT_VECTORS_H

#include <jansson.h>

#include "engine/report/report.h"

/* Lines of the report's text; none if vectors were not asked for. */
void vectors_print(const Report *report, const KernelReport *kernel, Buf *out);
/* The same for the JSON report; the caller owns the value. */
json_t *vectors_json(const Report *report, const KernelReport *kernel);

#endif
