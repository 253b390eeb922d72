/* Staging, and buffers that are dead on return, in reports. */
#ifndef PTXOPT_ENGINE_REPORT_REPORT_MEMORY_H
#define PTXOPT_ENGINE_REPORT_REPORT_MEMORY_H

#include <jansson.h>

#include "engine/report/report.h"

/* A line for each loop and load that was looked at; nothing if staging was not requested. */
void staging_print(const Report *report, const KernelReport *kernel, Buf *out);
json_t *staging_json(const Report *report, const KernelReport *kernel);

/* A line of the report's text for each buffer that is dead on return. */
void dead_print(const Report *report, const KernelReport *kernel, Buf *out);
/* The same for the JSON report; the caller owns the value. */
json_t *dead_json(const Report *report, const KernelReport *kernel);

#endif
