/* The part of the report that is about private counters. */
#ifndef PTXOPT_ENGINE_REPORT_COUNTERS_H
#define PTXOPT_ENGINE_REPORT_COUNTERS_H

#include <jansson.h>

#include "engine/report/report.h"

/* Lines of the report's text; none if counters were not asked for. */
void counted_print(const Report *report, const KernelReport *kernel, Buf *out);
/* The same for the JSON report; the caller owns the value. */
json_t *counted_json(const Report *report, const KernelReport *kernel);

#endif
